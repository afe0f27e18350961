// Everything about one case: its rows, what is wrong with them, answers beside what was expected.

/** Shows cases in an element, one at a time, and remembers which of its rows. */
class Details {
  constructor(place, page, subjects) {
    Object.assign(this, { place, page, subjects, entry: null, chosen: {} });
  }

  show(one) {
    this.entry = one;
    this.chosen = {};
    for (const side of ["now", "before"]) this.chosen[side] = one?.[side] ? worstRow(one[side]) : 0;
    this.place.scrollTop = 0;
    this.draw();
  }

  /** Goes to the next row of the case, or to the one before. */
  step(steps) {
    if (this.entry === null) return;
    for (const side of ["now", "before"]) {
      const rows = this.entry[side]?.rows.length ?? 0;
      this.chosen[side] = Math.max(0, Math.min(rows - 1, this.chosen[side] + steps));
    }
    this.draw();
  }

  draw() {
    const one = this.entry;
    if (one === null) {
      this.place.replaceChildren(element("p", { class: "nothing" }, "No case is chosen."));
      return;
    }
    const parts = this.page.comparison ? this.pair(one) : this.single(one);
    this.place.replaceChildren(this.head(one), ...parts.filter((part) => part !== null));
  }

  head(one) {
    const subject = this.subjects[one.subject];
    const found = one.now ?? one.before;
    const groups = groupNames(this.page);
    const [name, , colour] = groups[one.group];
    const isFlaky = sidesOf(one).some(({ flaky }) => flaky);
    return element(
      "header",
      { class: "case-head" },
      element("h2", {}, data(one.id, "span")),
      element(
        "p",
        { class: "badges" },
        this.page.comparison
          ? element("span", { class: `badge ${colour}` }, name)
          : badge(one.group),
        isFlaky ? element("span", { class: "badge unmeasured" }, "flaky") : null,
        [...tagsOf(one)].map((tag) => element("span", { class: "tag" }, data(tag))),
      ),
      element("p", { class: "muted" }, data(subject.name), `, case ${count(found.index + 1)} of its dataset`,
        found.tiers.length === 0 ? null : [", tiers ", data(found.tiers.join(", "))]),
    );
  }

  single(one) {
    const { now } = one;
    const row = now.rows[this.chosen.now];
    if (row === undefined) return [element("p", { class: "nothing" }, "No row of this case was run.")];
    const pair = comparable(now.expected, row.answer);
    return [
      this.picker(now, "now"),
      errorOf(row),
      section("Checks that did not pass", wrongChecks(row)),
      pair && isContainer(pair[0])
        ? section("Answer and expected value, field by field",
            differenceTable(pair[0], pair[1], { names: ["Expected", "Answer"], isSubset: true }))
        : null,
      sideBySide([
        ["Answer", answerOf(row)],
        now.expected === null ? null : ["Expected", valueBlock(now.expected)],
      ]),
      section("Checks that passed", passedChecks(row)),
      section("Expectations", expectationsOf(now)),
      inputsOf(now),
      moreOf(row.answer),
      section("Figures", figuresOf(row)),
    ];
  }

  pair(one) {
    const rows = ["before", "now"].map((side) => one[side]?.rows[this.chosen[side]] ?? null);
    const [old, now] = rows;
    const expected = one.now ?? one.before;
    const texts = rows.map((row) => row?.answer?.text ?? null);
    const parsed = texts.map(jsonIn);
    const values = parsed.some((value) => value === undefined) ? texts : parsed;
    const both = (make) => rows.map((row) => (row === null ? null : make(row)));
    const [answerBefore, answerNow] = both(answerOf);
    const [checksBefore, checksNow] = both(passedChecks);
    const [figuresBefore, figuresNow] = both(figuresOf);
    return [
      section("What became of it", this.units(one)),
      texts.some((text) => text === null) || texts[0] === texts[1]
        ? null
        : section("Between both answers",
            differenceTable(values[0], values[1], { names: ["Baseline", "Now"] })),
      sideBySide([
        ["Baseline", one.before ? this.column(one.before, old, "before") : absent("baseline")],
        ["Now", one.now ? this.column(one.now, now, "now") : absent("candidate")],
      ]),
      sideBySide([["Answer of the baseline", answerBefore], ["Answer now", answerNow]]),
      one.group === "changed"
        ? section("What is expected",
            differenceTable(one.before.expected, one.now.expected, { names: ["Baseline", "Now"] }))
        : expected.expected === null
          ? null
          : section("Expected", valueBlock(expected.expected)),
      inputsOf(expected),
      sideBySide([["Checks that passed in the baseline", checksBefore], ["Checks that pass now", checksNow]]),
      sideBySide([["Figures of the baseline", figuresBefore], ["Figures now", figuresNow]]),
    ];
  }

  column(found, row, side) {
    if (row === null) return element("p", { class: "nothing" }, "No row of this case was run.");
    return element(
      "div",
      { class: "column" },
      this.picker(found, side) ?? element("p", {}, badge(row.outcome)),
      errorOf(row),
      wrongChecks(row),
    );
  }

  units(one) {
    const units = this.page.comparison.subjects[one.subject].units.filter(({ id }) => id === one.id);
    if (units.length === 0) return null;
    const share = ({ passed, measured }) => `${passed}/${measured}`;
    const part = ({ scenario, expectation }) => [scenario, expectation].filter(Boolean).join(" / ");
    return element(
      "ul",
      { class: "plain" },
      units.map((unit) =>
        element("li", {},
          element("strong", {}, words(unit.label)),
          part(unit) === "" ? null : [" ", data(part(unit))],
          `: passed ${share(unit.baseline)} then, ${share(unit.now)} now`,
          unit.flagged ? `, more than chance explains (p ${Number(unit.p.toPrecision(3))})` : null),
      ),
    );
  }

  /** Buttons for the rows of a repeated case. */
  picker(found, side) {
    if (found.rows.length < 2) return null;
    const passed = found.rows.filter(({ outcome }) => outcome === "passed").length;
    return element(
      "div",
      { class: "picker", role: "group", "aria-label": "Repeats", "data-side": side },
      element("span", { class: "muted" }, `${passed} of ${found.rows.length} passed`),
      found.rows.map((row, place) =>
        element(
          "button",
          {
            type: "button",
            class: `repeat ${row.outcome}`,
            "aria-pressed": `${place === this.chosen[side]}`,
            onclick: () => {
              this.chosen[side] = place;
              this.draw();
              const same = `.picker[data-side=${side}] button[aria-pressed=true]`;
              this.place.querySelector(same)?.focus();
            },
          },
          mark(row.outcome),
          row.scenario === null ? ` ${row.repeat}` : [" ", data(scenarioOf(row)), ` ${row.repeat}`],
        ),
      ),
    );
  }
}

function scenarioOf({ scenario }) {
  return scenario === "__build_only__" ? "build" : scenario;
}

function worstRow(found) {
  const place = found.rows.findIndex(({ outcome }) => outcome !== "passed");
  return Math.max(0, place);
}

function absent(where) {
  return element("p", { class: "nothing" }, `The ${where} does not have this case.`);
}

function section(title, content) {
  if (content === null) return null;
  return element("section", {}, element("h3", {}, title), content);
}

function sideBySide(columns) {
  const there = columns.filter((column) => column !== null && column[1] !== null);
  if (there.length === 0) return null;
  return element(
    "div",
    { class: there.length > 1 ? "pair" : null },
    there.map(([title, content]) => section(title, content)),
  );
}

function errorOf(row) {
  if (row.error === null) return null;
  return element("p", { class: "error" }, element("strong", {}, data(row.error.code)), " ",
    visible(row.error.message, { lines: true }));
}

function wrongChecks(row) {
  const wrong = row.checks.filter(({ outcome }) => outcome !== "passed");
  if (wrong.length === 0) return null;
  const rank = (check) => (check.severity === "warn" ? 1 : 0);
  wrong.sort((one, other) => rank(one) - rank(other));
  return element("ul", { class: "checks" }, wrong.map((check) => element("li", {}, checkCard(check))));
}

function checkCard(check) {
  const [code, place] = reasonOf(check);
  const { expected, got, path, ...others } = check.evidence ?? {};
  const where = typeof path === "string" ? path : place;
  const isPair = isContainer(expected) && isContainer(got);
  const values = isPair
    ? [differenceTable(expected, got, { names: ["Expected", "Got"] })]
    : [["Expected", expected], ["Got", got]]
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => element("div", { class: "value" }, element("span", { class: "muted" }, name), valueBlock(value)));
  return element(
    "article",
    { class: `check ${check.outcome} ${check.severity}` },
    element("h4", {}, mark(check.outcome), " ", data(check.id), " ",
      element("span", { class: "muted" }, data(check.kind)),
      check.severity === "warn" ? element("span", { class: "tag" }, "warning") : null),
    check.reason === null ? null
      : element("p", {}, data(code), where ? [" at ", data(where, "code")] : null),
    values.length === 0 ? null : element("div", { class: isPair ? null : "values" }, values),
    Object.keys(others).length === 0 ? null : evidence(others),
    votesOf(check.votes),
  );
}

function evidence(value) {
  return element("details", {}, element("summary", {}, "Evidence"), valueBlock(value));
}

function votesOf(votes) {
  if (votes.length === 0) return null;
  return element(
    "ol",
    { class: "votes", "aria-label": "Votes" },
    votes.map(({ verdict, reason, model }) =>
      element("li", {},
        verdict === "pass" ? mark("passed") : mark(verdict === "fail" ? "failed" : "unmeasured"),
        " ", element("strong", {}, verdict === null ? "no verdict" : data(verdict)),
        model === null ? null : [" ", element("span", { class: "muted" }, data(model))],
        reason === null ? null : element("p", { class: "reason" }, visible(reason, { lines: true }))),
    ),
  );
}

function passedChecks(row) {
  const passed = row.checks.filter(({ outcome }) => outcome === "passed");
  if (passed.length === 0) return null;
  return element(
    "ul",
    { class: "passed-checks" },
    passed.map((check) => {
      const line = [mark("passed"), " ", data(check.id), " ", element("span", { class: "muted" }, data(check.kind))];
      if (check.votes.length === 0 && check.evidence === null) return element("li", {}, line);
      return element("li", {}, element("details", {}, element("summary", {}, line),
        check.evidence === null ? null : valueBlock(check.evidence), votesOf(check.votes)));
    }),
  );
}

function expectationsOf(found) {
  if (found.expectations.length === 0) return null;
  return element(
    "ul",
    { class: "checks" },
    found.expectations.map(({ text, repeat, outcome, votes }) =>
      element("li", {},
        element("article", { class: `check ${outcome}` },
          element("p", {}, mark(outcome), " ", data(text),
            element("span", { class: "muted" }, ` repeat ${repeat}`)),
          votesOf(votes)))),
  );
}

function answerOf(row) {
  const { answer } = row;
  if (answer === null) {
    const isBuild = row.error === null && row.scenario === "__build_only__";
    const why = isBuild ? "It was built and not asked." : row.error === null ? "This report holds no answers." : "There is no answer.";
    return element("p", { class: "nothing" }, why);
  }
  return element(
    "div",
    { class: "reply" },
    answer.text === null ? element("p", { class: "nothing" }, "The answer holds no text.")
      : answer.text === "" ? element("p", { class: "nothing" }, "The answer is empty.")
        : answerBlock(answer.text),
    answer.tool_calls.map(({ name, args, id }) =>
      element("div", { class: "call" },
        element("p", {}, "calls ", data(name, "code"), id === null ? null : [" ", element("span", { class: "muted" }, data(id))]),
        valueBlock(args))),
  );
}

function inputsOf(found) {
  if (found.inputs === null) return null;
  const isMap = isContainer(found.inputs) && !Array.isArray(found.inputs);
  const content = !isMap
    ? valueBlock(found.inputs)
    : element("dl", { class: "inputs" },
        Object.entries(found.inputs).map(([name, value]) =>
          element("div", {}, element("dt", {}, data(name, "code")), element("dd", {}, valueBlock(value)))));
  return section("Inputs", content);
}

/** What targets add to an answer. */
function moreOf(answer) {
  if (answer === null) return null;
  const named = ["evidence", "artifact", "transcript", "context", "debug", "turns"]
    .filter((name) => answer[name] !== null)
    .map((name) => element("details", {}, element("summary", {}, name[0].toUpperCase() + name.slice(1)), valueBlock(answer[name])));
  return named.length === 0 ? null : section("More of the answer", element("div", {}, named));
}

function figuresOf(row) {
  const { usage } = row;
  const known = [
    ["Cost", money(row.cost_usd)],
    ["Latency", row.latency_ms === null ? DASH : `${count(row.latency_ms)} ms`],
    ["Tokens in", count(usage?.input)],
    ["Tokens out", count(usage?.output)],
    ["Tokens cached", count(usage?.cached)],
    ["Finish", row.answer === null ? null : words(row.answer.finish)],
    ["Category", row.category && data(row.category)],
    ["Attribution", row.attribution && data(row.attribution)],
    ["Recording", row.recording && data(row.recording, "code")],
  ];
  return figures(known.filter(([, value]) => value !== null));
}

function figures(pairs) {
  return element("dl", { class: "figures" },
    pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}
