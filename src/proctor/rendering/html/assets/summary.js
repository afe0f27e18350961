// The figures of the whole run: subjects, thresholds, checks, judges, data, warnings.

function summaryOf(page, subjects) {
  const { facts, report } = page;
  return [
    ...(page.comparison ? comparisonSummary(page, subjects) : []),
    element("section", {},
      element("h2", {}, page.comparison ? "The run now" : "The run"),
      facts.report.notes.map((note) => element("p", { class: "notice" }, note)),
      remarksOf(facts.report.remarks),
      subjectTable(page),
      element("ul", { class: "plain totals" }, facts.report.totals.map((total) => element("li", {}, total)))),
    ...report.suites.map((suite, place) => suiteSummary(suite, facts.report.suites[place])),
    element("footer", { class: "muted" },
      data(report.schema), ", made by ", data(`${report.tool.name} ${report.tool.version}`),
      `, exit code ${report.exit_code}`),
  ];
}

function remarksOf(remarks) {
  if (remarks.length === 0) return null;
  return element("ul", { class: "plain" },
    remarks.map(({ met, word, text }) => element("li", {}, badge(outcomeOf(met), word), " ", data(text))));
}

function outcomeOf(met) {
  return met === null ? "unmeasured" : met ? "passed" : "failed";
}

function table(caption, head, rows) {
  return element("div", { class: "scroll" },
    element("table", {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, head.map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, rows.map(([first, ...others]) =>
        element("tr", {}, element("th", { scope: "row" }, first), others.map((cell) => element("td", {}, cell)))))));
}

function subjectTable(page) {
  const rows = page.report.suites.flatMap((suite, place) =>
    suite.subjects.map((subject, number) => {
      const said = page.facts.report.suites[place].subjects[number];
      return [
        data(page.report.suites.length === 1 ? said.name : `${suite.suite}: ${said.name}`),
        chart(`report-${place}-${number}-rate`),
        element("span", { class: "figure" }, said.rate ?? DASH, " ", element("span", { class: "muted" }, said.interval ?? "")),
        said.counts,
        chart(`report-${place}-${number}-cost`),
        [said.cost.answers ?? DASH, said.cost.unknown ? `, unknown for ${counted(said.cost.unknown, "call")}` : ""],
        said.cost.judges ?? DASH,
      ];
    }));
  if (rows.length === 0) return element("p", { class: "nothing" }, "Nothing was run.");
  return table("Subjects", ["Subject", "Pass rate", "Rate [95%]", "Rows", "Cost", "Answers", "Judges"], rows);
}

function suiteSummary(suite, said) {
  const { dataset, cache } = suite;
  return element("section", { class: "suite" },
    element("h2", {}, data(suite.suite)),
    thresholdsOf(said),
    warningsOf(suite.warnings, said),
    checksOf(suite),
    said.subjects.map(({ name, repeats, tokens }) =>
      repeats.length === 0 ? null
        : element("div", {}, element("h3", {}, data(name)), element("ul", { class: "plain" }, [...repeats, tokens].map((line) => element("li", {}, line))))),
    categoriesOf(suite),
    said.judges === null ? null
      : element("div", {}, element("h3", {}, "Judges"), element("p", {}, data(said.judges)),
          element("ul", { class: "plain" },
            said.judged.map(([id, text]) => element("li", {}, data(id), `: ${text}`)),
            said.agreement === null ? null : element("li", {}, said.agreement))),
    element("h3", {}, "Data and recordings"),
    figures([
      ["Dataset", data(dataset.path)],
      ["Cases", `${count(dataset.selected)} of ${count(dataset.cases)}`],
      ["Repeats", count(suite.repeats)],
      ["Tiers", data(suite.tiers.join(", "))],
      ["Cache", `${cache.mode}, replayed ${count(cache.replayed)}, recorded ${count(cache.recorded)}`],
      ["Dataset SHA-256", data(dataset.sha256, "code")],
      ["Recordings SHA-256", data(cache.digest, "code")],
    ]),
    suite.subjects.map((subject, number) =>
      element("details", {}, element("summary", {}, "Model of ", data(said.subjects[number].name)),
        valueBlock({ model: subject.model, params: subject.params, bundle_sha256: subject.bundle_sha256 }))),
    findingsOf(dataset));
}

function thresholdsOf({ thresholds }) {
  if (thresholds.length === 0) return null;
  const words = { true: "met", false: "not met", null: "not available" };
  return table("Thresholds", ["Threshold", "Asked for", "Found", ""],
    thresholds.map(({ name, subject, asked, actual, met }) => [
      [name, subject === null ? null : [" of ", data(subject)]],
      asked,
      actual ?? DASH,
      badge(outcomeOf(met), words[met]),
    ]));
}

function warningsOf(warnings, said) {
  const mild = said.subjects.flatMap(({ name, warned }) => warned.map(([id, text]) => [name, id, text]));
  if (warnings.length + mild.length === 0) return null;
  return element("div", {}, element("h3", {}, "Warnings"),
    element("ul", { class: "plain" },
      warnings.map(({ code, message, where }) =>
        element("li", {}, badge("errored", code === null ? "warning" : flat(code)), " ", data(message),
          where === null ? null : element("span", { class: "muted" }, " (", data(where), ")"))),
      mild.map(([name, id, text]) => element("li", {}, badge("errored", "warning"), " ", data(`${name}: ${id}`), ` ${text}`))));
}

function checksOf(suite) {
  const rows = suite.subjects.flatMap((subject) =>
    Object.entries(subject.checks).map(([id, { passed, failed, errored, unmeasured }]) => [
      data(id),
      ...(suite.subjects.length > 1 ? [data(subject.prompt === null ? subject.model : `${subject.prompt}@${subject.model}`)] : []),
      ...[passed, failed, errored, unmeasured].map(count),
    ]));
  if (rows.length === 0) return null;
  const who = suite.subjects.length > 1 ? ["Subject"] : [];
  return table("Checks", ["Check", ...who, "Passed", "Failed", "Errored", "Unmeasured"], rows);
}

function categoriesOf(suite) {
  const rows = new Map();
  for (const { categories } of suite.subjects) {
    for (const [name, found] of Object.entries(categories)) rows.set(name, (rows.get(name) ?? 0) + found);
  }
  if (rows.size === 0) return null;
  const sorted = [...rows].sort(([, one], [, other]) => other - one);
  return table("Failure categories", ["Category", "Rows"], sorted.map(([name, found]) => [data(name), count(found)]));
}

function findingsOf({ findings, allow, allow_pii: allowed }) {
  const parts = [];
  if (findings.length > 0) {
    parts.push(table("Found by the safety scan", ["Rule", "Code", "Place", "Case"],
      findings.map(({ rule, code, file, line, case: id }) =>
        [data(rule), data(code), data(`${file}:${line}`), id === null ? "in its id" : data(id)])));
  }
  const reasons = [...allow.map(({ rule, reason }) => [rule, reason]), ...(allowed ? [["personal data", allowed.reason]] : [])];
  if (reasons.length > 0) {
    parts.push(table("Allowed", ["Rule", "Reason"], reasons.map(([rule, reason]) => [data(rule), data(reason)])));
  }
  return parts;
}

function comparisonSummary(page, subjects) {
  const { comparison: said } = page.facts;
  const rate = (place, name) => (place === null ? DASH : chart(`${name}-${place[0]}-${place[1]}-rate`));
  return [
    element("section", {},
      element("h2", {}, "The comparison"),
      said.doubts.map((doubt) => element("p", { class: "notice" }, data(doubt))),
      table("Pass rates", ["Subject", "Baseline", "Now", "Change"],
        subjects.map((one) => [
          data(one.name), rate(one.before, "baseline"), rate(one.now, "report"),
          [one.rates, one.presence === null ? null : `, ${one.presence}`, one.single === null ? null : element("p", { class: "muted" }, one.single)],
        ])),
      element("h3", {}, `Gates (${said.mode})`),
      element("ul", { class: "plain" },
        said.gates.map(({ red, text }) => element("li", {}, badge(red ? "failed" : "passed", red ? "red" : "ok"), ` ${text}`))),
      said.labels.length === 0 ? null
        : table("Units", ["Label", "Found", "By chance"], said.labels.map(({ label, found, chance }) => [label, count(found), chance])),
      listOf("Failure categories that changed", said.drift),
      listOf("Warnings", page.comparison.warnings.map(({ code, message }) => (code === null ? message : `${code}: ${message}`))),
      said.flips === null ? null : element("p", {}, data(said.flips)),
      said.limits.map((limit) => element("p", { class: "muted" }, limit)),
      element("p", { class: "muted" }, said.claim)),
  ];
}

function listOf(title, lines) {
  if (lines.length === 0) return null;
  return element("div", {}, element("h3", {}, title),
    element("ul", { class: "plain" }, lines.map((line) => element("li", {}, data(line)))));
}
