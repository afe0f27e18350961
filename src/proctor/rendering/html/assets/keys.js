// What readers choose for themselves, and what single keys do.

const THEMES = { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" };

/** Something a browser may refuse to keep for a file. */
function kept(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(`proctor-${name}`);
    localStorage.setItem(`proctor-${name}`, value);
  } catch {
    // Then the next page starts with the default.
  }
  return null;
}

function setTheme(theme) {
  const known = Object.hasOwn(THEMES, theme) ? theme : "auto";
  document.documentElement.dataset.theme = known;
  document.getElementById("theme").textContent = THEMES[known];
}

function nextTheme() {
  const names = Object.keys(THEMES);
  const theme = names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length];
  setTheme(theme);
  kept("theme", theme);
}

/** Sets up single keys. `actions` is a list of `[key, what it does in words, function]`. */
function setKeys(actions) {
  const dialog = document.getElementById("keys");
  const isOn = document.getElementById("keys-on");
  const byKey = new Map(actions.map(([key, , action]) => [key, action]));
  document.getElementById("keys-list").append(
    ...actions.map(([key, said]) =>
      element("div", {}, element("dt", {}, element("kbd", {}, key)), element("dd", {}, said)),
    ),
  );
  isOn.checked = kept("keys") !== "off";
  isOn.addEventListener("change", () => kept("keys", isOn.checked ? "on" : "off"));
  document.getElementById("help").addEventListener("click", () => dialog.showModal());
  document.getElementById("keys-close").addEventListener("click", () => dialog.close());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    const isTyping = event.target.closest?.("input[type=search], select, textarea") !== null;
    if (isTyping && event.key !== "Escape") return;
    if (!isOn.checked && event.key.length === 1) return;
    const action = byKey.get(event.key === "Escape" ? "Esc" : event.key);
    if (action) {
      event.preventDefault();
      action();
    }
  });
}
