// The page: reads its data, puts the parts together, and keeps filters and the chosen case.

function byId(id) {
  return document.getElementById(id);
}

function readPage() {
  const block = byId("data");
  const page = readJson(block.textContent);
  block.remove();
  return { comparison: null, baseline: null, ...page };
}

class Page {
  constructor(page) {
    this.page = page;
    this.subjects = subjectsOf(page);
    this.entries = entriesOf(page, this.subjects);
    this.shortNames = shortNames(this.subjects);
    this.groups = groupNames(page);
    this.sign = page.comparison ? "mark wide" : "mark";
    this.filters = { groups: new Set(), subject: null, check: "", tag: "", text: "" };
    this.details = new Details(byId("details"), page, this.subjects);
    this.listing = new Listing({
      list: byId("list"),
      rows: byId("rows"),
      draw: (one) => this.drawEntry(one),
      heading: (group, size) => `${this.groups[group][0]} ${count(size)}`,
      chosen: (one) => this.choose(one),
    });
  }

  start() {
    this.drawHead();
    this.drawFilters();
    byId("summary").append(...summaryOf(this.page, this.subjects));
    byId("show-cases").addEventListener("click", () => this.view("cases"));
    byId("show-summary").addEventListener("click", () => this.view("summary"));
    byId("theme").addEventListener("click", nextTheme);
    byId("clear").addEventListener("click", () => this.clear());
    byId("search").addEventListener("input", (event) => this.filter({ text: event.target.value }));
    byId("check").addEventListener("change", (event) => this.filter({ check: event.target.value }));
    byId("tag").addEventListener("change", (event) => this.filter({ tag: event.target.value }));
    byId("list").addEventListener("keydown", ({ key }) => {
      if (key === "Enter") byId("details").focus();
    });
    setKeys(this.keys());
    const wanted = this.entryOfAddress();
    this.apply();
    if (wanted) this.listing.select(this.listing.items.findIndex((item) => item.entry === wanted));
    this.readAhead(0);
    document.documentElement.dataset.ready = "";
  }

  drawHead() {
    const { report, facts } = this.page;
    const [verdict, word, said] = facts.comparison
      ? [facts.comparison.verdict, facts.comparison.word, facts.comparison.said]
      : [report.verdict, report.verdict.toUpperCase(), facts.report.headline];
    const colours = { clean: "passed", regressed: "failed", cannot_tell: "unmeasured", interrupted: "errored" };
    document.title = flat(`${word} ${report.project} - Proctor`);
    byId("project").append(...visible(report.project));
    byId("verdict").append(badge(colours[verdict] ?? verdict, word));
    byId("headline").append(...visible(said));
    // A clean comparison may be one of runs that failed.
    const run = [badge(colours[report.verdict] ?? report.verdict, `now ${report.verdict}`), ` ${facts.report.headline}`];
    const asides = facts.comparison ? [run] : [];
    byId("headline").append(...[...asides, ...facts.report.notes].map((note) => element("span", { class: "aside" }, note)));
    byId("headline").append(...facts.report.remarks
      .filter(({ met }) => !facts.comparison || met !== true)
      .map(({ word: name, text }) => element("span", { class: "aside" }, `${name} `, data(text))));
    byId("outcome-bar").append(chart("report-outcomes"));
  }

  drawFilters() {
    const sizes = new Map();
    for (const { group } of this.entries) sizes.set(group, (sizes.get(group) ?? 0) + 1);
    if (this.page.comparison) byId("outcome-legend").textContent = "What became of it";
    byId("outcomes").append(
      ...Object.entries(this.groups)
        .filter(([group]) => !this.page.comparison || sizes.has(group) || "before now neither both".includes(group))
        .map(([group, [name, sign, colour]]) =>
          element("button", {
            type: "button", class: "toggle", "data-group": group, "aria-pressed": "false",
            onclick: () => this.toggle(group),
          },
            element("span", { class: `${this.sign} ${colour}`, "aria-hidden": "true" }, sign),
            element("span", {}, name), element("span", { class: "size" }, count(sizes.get(group) ?? 0)))),
    );
    byId("subjects").append(...this.subjects.map((one, place) => this.card(one, place)));
    byId("subject-filter").hidden = this.subjects.length === 0;
    this.options("check", "Any check", checksNotPassed);
    this.options("tag", "Any tag", tagsOf);
  }

  /** A subject with its pass rates; choosing it shows its cases only. */
  card(one, place) {
    const said = one.now && this.page.facts.report.suites[one.now[0]].subjects[one.now[1]];
    const rate = (where, name) => where && chart(`${name}-${where[0]}-${where[1]}-rate`);
    const charts = [[one.before, "baseline", "then"], [one.now, "report", this.page.comparison ? "now" : null]]
      .filter(([where]) => where !== null)
      .map(([where, name, when]) => element("span", { class: "rate" }, rate(where, name), when && element("span", { class: "muted" }, when)));
    return element("button", {
      type: "button", class: "card", "data-subject": place, "aria-pressed": "false",
      onclick: () => this.filter({ subject: this.filters.subject === place ? null : place }),
    },
      data(one.name),
      charts,
      said ? element("span", { class: "muted" }, `${said.rate ?? DASH} passed (${said.measured}), cost ${said.cost.answers ?? DASH}`) : null);
  }

  /** Fills a choice with the names that entries have, each with how many have it. */
  options(id, any, namesOf) {
    const sizes = new Map();
    for (const one of this.entries) {
      for (const name of namesOf(one)) sizes.set(name, (sizes.get(name) ?? 0) + 1);
    }
    const sorted = [...sizes].sort(([one], [other]) => (one < other ? -1 : 1));
    byId(id).append(
      element("option", { value: "" }, any),
      ...sorted.map(([name, size]) => element("option", { value: name }, `${flat(name)} (${count(size)})`)),
    );
    byId(id).closest(".field").hidden = sizes.size === 0;
  }

  drawEntry(one) {
    const found = one.now ?? one.before;
    const [, sign, colour] = this.groups[one.group];
    const said = glimpse(found);
    const rows = found.rows.length > 1
      ? `${found.rows.filter(({ outcome }) => outcome === "passed").length}/${found.rows.length}` : null;
    const isWarned = one.group === "passed" && checksNotPassed(one).size > 0;
    return [
      element("span", { class: `${this.sign} ${colour}`, "aria-hidden": "true" }, sign),
      element("span", { class: "name" }, element("span", { class: "hidden" }, `${this.groups[one.group][0]}: `), data(one.id)),
      element("span", { class: "badges" },
        isWarned ? element("span", { class: "tag" }, "warning") : null,
        found.flaky ? element("span", { class: "tag" }, "flaky") : null,
        rows && element("span", { class: "size" }, rows)),
      element("span", { class: "glimpse" },
        this.subjects.length > 1 && this.filters.subject === null
          ? [element("strong", {}, data(this.shortNames[one.subject])), said === null ? null : " · "] : null,
        said === null ? null : data(said.slice(0, 300))),
    ];
  }

  toggle(group) {
    const groups = new Set(this.filters.groups);
    if (!groups.delete(group)) groups.add(group);
    this.filter({ groups });
  }

  clear() {
    byId("search").value = byId("check").value = byId("tag").value = "";
    this.filter({ groups: new Set(), subject: null, check: "", tag: "", text: "" });
  }

  filter(changes) {
    Object.assign(this.filters, changes);
    this.apply();
  }

  apply() {
    const { groups, subject, check, tag, text } = this.filters;
    const found = filtered(this.entries, this.filters);
    for (const button of document.querySelectorAll("[data-group]")) {
      button.setAttribute("aria-pressed", groups.has(button.dataset.group));
    }
    for (const button of document.querySelectorAll("[data-subject]")) {
      button.setAttribute("aria-pressed", Number(button.dataset.subject) === subject);
    }
    const isAll = groups.size === 0 && subject === null && check === "" && tag === "" && text.trim() === "";
    byId("clear").hidden = isAll;
    byId("count").textContent = isAll
      ? counted(found.length, "case") : `${count(found.length)} of ${counted(this.entries.length, "case")}`;
    byId("nothing").textContent = this.entries.length === 0 ? "There are no cases." : "No case fits these filters.";
    byId("nothing").hidden = found.length > 0;
    byId("list").hidden = found.length === 0;
    this.listing.show(found);
  }

  choose(one) {
    this.details.show(one);
    // Not for each case that is only passed on the way.
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (one !== null) location.replace(`#case=${this.entries.indexOf(one)}`);
    }, 250);
  }

  entryOfAddress() {
    const place = /^#case=(\d{1,9})$/.exec(location.hash)?.[1];
    return place === undefined ? null : (this.entries[Number(place)] ?? null);
  }

  view(name) {
    for (const one of ["cases", "summary"]) {
      byId(one).hidden = one !== name;
      byId(`show-${one}`).setAttribute("aria-pressed", one === name);
    }
    if (name === "cases") this.listing.paint();
    else byId("summary").focus();
  }

  keys() {
    const steps = (number) => () => this.listing.move(number);
    const groups = Object.keys(this.groups).slice(0, 4);
    return [
      ["j", "next case", steps(1)],
      ["k", "case before", steps(-1)],
      ["]", "next repeat", () => this.details.step(1)],
      ["[", "repeat before", () => this.details.step(-1)],
      ["Enter", "from the list to the case", null],
      ["/", "search", () => { this.view("cases"); byId("search").focus(); byId("search").select(); }],
      ["Esc", "back to the list", () => { this.view("cases"); byId("list").focus(); }],
      ...groups.map((group, place) => [`${place + 1}`, `only: ${this.groups[group][0].toLowerCase()}`, () => this.toggle(group)]),
      ["x", "clear filters", () => this.clear()],
      ["s", "summary, and back", () => this.view(byId("summary").hidden ? "summary" : "cases")],
      ["t", "theme", nextTheme],
      ["?", "these keys", () => byId("keys").showModal()],
    ];
  }

  /** Makes the texts that are searched, a few at a time, so that the first search need not. */
  readAhead(from) {
    const until = Math.min(this.entries.length, from + 250);
    for (let place = from; place < until; place += 1) textOf(this.entries[place]);
    if (until < this.entries.length) setTimeout(() => this.readAhead(until));
  }
}

setTheme(kept("theme"));
new Page(readPage()).start();
