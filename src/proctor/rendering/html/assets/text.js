// Data as text: nothing in it is markup, and what cannot be seen is spelled out.

// What draws nothing, or changes the direction of what follows; the same that other formats spell.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\ud800-\udfff]/gu;
const SHORT = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function spelled(character) {
  if (Object.hasOwn(SHORT, character)) return SHORT[character];
  const hex = character.codePointAt(0).toString(16);
  if (hex.length <= 2) return `\\x${hex.padStart(2, "0")}`;
  return hex.length <= 4 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

/** Data in one line, as a string. */
function flat(text) {
  return text.replace(UNSEEN, spelled);
}

/** Data as nodes. `lines` keeps line ends and tabs as they are. */
function visible(text, { lines = false } = {}) {
  const parts = [];
  let start = 0;
  for (const match of text.matchAll(UNSEEN)) {
    if (lines && (match[0] === "\n" || match[0] === "\t")) continue;
    if (match.index > start) parts.push(text.slice(start, match.index));
    parts.push(element("span", { class: "unseen" }, spelled(match[0])));
    start = match.index + match[0].length;
  }
  parts.push(text.slice(start));
  return parts;
}

/** An element. Children are elements, or strings, which become text. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "onclick" || key === "onchange" || key === "ontoggle") {
      made.addEventListener(key.slice(2), value);
    } else if (value === true) {
      made.setAttribute(key, "");
    } else if (value !== false && value !== null && value !== undefined) {
      made.setAttribute(key, value);
    }
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

/** Data of one line inside an element of its own, so that its direction stays there. */
function data(text, name = "bdi") {
  return element(name, { class: "data" }, visible(text));
}

const DASH = "–";

/** USD in plain digits, never 0 when it is not; a dash when it is unknown. */
function money(usd) {
  if (usd === null || usd === undefined) return DASH;
  if (usd && !(usd >= 5e-7 && usd < 1e12)) {
    const [digits, exponent] = usd.toExponential(1).split("e");
    const power = Math.abs(Number(exponent)).toString().padStart(2, "0");
    return `$${digits.replace(/\.0$/, "")}e${exponent[0]}${power}`;
  }
  return `$${usd.toFixed(6).replace(/0+$/, "").replace(/\.$/, "")}`;
}

function count(number) {
  return number === null || number === undefined ? DASH : number.toLocaleString("en-US");
}

function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** A code of ours like `not_equal`, in words. */
function words(code) {
  return code.replaceAll("_", " ");
}

const OUTCOMES = ["failed", "errored", "unmeasured", "passed"];
const MARKS = { failed: "✕", errored: "!", unmeasured: "?", passed: "✓", none: "·" };

/** The sign of an outcome; its word is there for those who do not see it. */
function mark(outcome, { named = true } = {}) {
  return element(
    "span",
    { class: `mark ${outcome}`, title: named ? words(outcome) : null },
    element("span", { "aria-hidden": "true" }, MARKS[outcome] ?? MARKS.none),
    named ? element("span", { class: "hidden" }, words(outcome)) : null,
  );
}

function badge(outcome, text = words(outcome)) {
  return element("span", { class: `badge ${outcome}` }, mark(outcome, { named: false }), ` ${text}`);
}

/** A chart that was drawn when the page was made. */
function chart(id) {
  const found = document.getElementById("charts").content.getElementById(id);
  return found === null ? "" : document.importNode(found, true);
}
