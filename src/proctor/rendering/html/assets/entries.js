// Cases of a report, or pairs of cases of two reports, as entries that can be filtered.

const GROUPS = {
  before: ["Passed only before", "✓→✕", "failed"],
  now: ["Passes only now", "✕→✓", "passed"],
  neither: ["Passes in neither", "✕→✕", "failed"],
  both: ["Passes in both", "✓→✓", "passed"],
  changed: ["Expects something else", "≠", "unmeasured"],
  removed: ["Only in the baseline", "−", "unmeasured"],
  added: ["Only in the candidate", "+", "unmeasured"],
};

/** The subjects of the page: where each stands in the report of now and in the baseline. */
function subjectsOf(page) {
  if (page.comparison) {
    return page.facts.comparison.subjects.map((one) => ({ ...one, id: one.name }));
  }
  return page.report.suites.flatMap((suite, place) =>
    suite.subjects.map((subject, number) => {
      const { name } = page.facts.report.suites[place].subjects[number];
      const isOnly = page.report.suites.length === 1;
      return { id: name, name: isOnly ? name : `${suite.suite}: ${name}`, now: [place, number], before: null };
    }),
  );
}

/** Names of subjects without what all of them share: the model, or the prompt. */
function shortNames(subjects) {
  const parts = subjects.map(({ name }) => {
    const at = name.indexOf("@");
    return at < 0 ? [name, ""] : [name.slice(0, at), name.slice(at + 1)];
  });
  const isShared = (side) => parts.every((part) => part[side] === parts[0][side]);
  const side = isShared(1) ? 0 : isShared(0) ? 1 : null;
  return subjects.map(({ name }, place) => (side === null ? name : parts[place][side]));
}

function casesAt(report, place) {
  return place === null ? [] : report.suites[place[0]].subjects[place[1]].cases;
}

/** All entries, those that need a look first. */
function entriesOf(page, subjects) {
  const found = page.comparison
    ? subjects.flatMap((subject, number) => [...pairsOf(page, subject, number)])
    : subjects.flatMap((subject, number) =>
        casesAt(page.report, subject.now).map((one) => entry(one, null, one.outcome, number)),
      );
  const order = Object.keys(groupNames(page));
  const rank = new Map(order.map((group, place) => [group, place]));
  return found
    .map((one, place) => [one, place])
    .sort(([one, at], [other, after]) => rank.get(one.group) - rank.get(other.group) || at - after)
    .map(([one]) => one);
}

function groupNames(page) {
  if (page.comparison) return GROUPS;
  return Object.fromEntries(
    OUTCOMES.map((outcome) => [outcome, [outcome[0].toUpperCase() + outcome.slice(1), MARKS[outcome], outcome]]),
  );
}

function entry(now, before, group, subject) {
  return { id: (now ?? before).id, now, before, group, subject, text: null };
}

/** The cases of one subject in both reports. What was not to be compared is left out. */
function* pairsOf(page, subject, number) {
  const said = page.comparison.subjects[number];
  const changed = new Set(said.changed);
  const missing = new Set([...said.removed, ...said.units.map((unit) => unit.id)]);
  const before = new Map(casesAt(page.baseline, subject.before).map((one) => [one.id, one]));
  for (const now of casesAt(page.report, subject.now)) {
    const old = before.get(now.id) ?? null;
    before.delete(now.id);
    yield entry(now, old, old && changed.has(now.id) ? "changed" : groupOf(old, now), number);
  }
  for (const old of before.values()) {
    if (missing.has(old.id)) yield entry(null, old, "removed", number);
  }
}

function groupOf(before, now) {
  if (before === null) return "added";
  if (before.outcome === "passed") return now.outcome === "passed" ? "both" : "before";
  return now.outcome === "passed" ? "now" : "neither";
}

function sidesOf(one) {
  return [one.now, one.before].filter((found) => found !== null);
}

/** The checks that did not pass in some row of a case. */
function checksNotPassed(one) {
  const found = new Set();
  for (const { rows, expectations } of sidesOf(one)) {
    for (const row of rows) {
      for (const check of row.checks) if (check.outcome !== "passed") found.add(check.id);
    }
    if (expectations.some(({ outcome }) => outcome !== "passed")) found.add("expectations");
  }
  return found;
}

function tagsOf(one) {
  return new Set(sidesOf(one).flatMap((found) => found.tags));
}

/** Everything of an entry that a reader may look for, in lower case. */
function textOf(one) {
  one.text ??= sidesOf(one).map(caseText).join("\n").toLowerCase();
  return one.text;
}

function caseText(one) {
  const parts = [one.id, ...one.tags];
  const collect = (value) => {
    if (typeof value === "string") parts.push(value);
    else if (isContainer(value)) {
      for (const [key, member] of Object.entries(value)) {
        if (!Array.isArray(value)) parts.push(key);
        collect(member);
      }
    } else if (value !== null && value !== undefined) parts.push(`${value}`);
  };
  collect(one.inputs);
  collect(one.expected);
  for (const row of one.rows) {
    if (row.answer) {
      const { text, tool_calls: calls, evidence, artifact, transcript, context } = row.answer;
      for (const value of [text, evidence, artifact, transcript, context]) collect(value);
      for (const call of calls) {
        parts.push(call.name);
        collect(call.args);
      }
    }
    if (row.error) parts.push(row.error.code, row.error.message);
    parts.push(row.category ?? "");
    for (const check of row.checks) {
      parts.push(check.id, check.reason ?? "");
      collect(check.evidence);
      for (const vote of check.votes) parts.push(vote.reason ?? "", vote.model ?? "");
    }
  }
  return parts.join("\n");
}

/** The entries that fit: of some groups (none: of all), a subject, a check, a tag, and with a text. */
function filtered(entries, { groups, subject, check, tag, text }) {
  const wanted = text.trim().toLowerCase();
  return entries.filter(
    (one) =>
      (groups.size === 0 || groups.has(one.group)) &&
      (subject === null || one.subject === subject) &&
      (check === "" || checksNotPassed(one).has(check)) &&
      (tag === "" || tagsOf(one).has(tag)) &&
      (wanted === "" || textOf(one).includes(wanted)),
  );
}

/** What is wrong with a case in a line, or how its answer begins; null when there is neither. */
function glimpse(one) {
  const rows = [...one.rows].sort((row, other) => (row.outcome === "passed") - (other.outcome === "passed"));
  for (const row of rows) {
    if (row.error) return `${row.error.code}: ${row.error.message}`;
    const wrong = row.checks.filter((check) => check.outcome !== "passed");
    const check = wrong.find(({ severity }) => severity !== "warn") ?? wrong[0];
    if (check) return `${check.id}: ${explained(check)}`;
  }
  const unmet = one.expectations.find(({ outcome }) => outcome !== "passed");
  if (unmet) return `expectation ${unmet.outcome}: ${unmet.text}`;
  return rows[0]?.answer?.text ?? null;
}

/** Why a check did not pass, in a line. */
function explained(check) {
  if (check.votes.length > 0) {
    const passed = check.votes.filter((vote) => vote.verdict === "pass").length;
    return `${passed} of ${counted(check.votes.length, "vote")} pass`;
  }
  const { expected, got, path } = check.evidence ?? {};
  const [code, place] = reasonOf(check);
  const where = typeof path === "string" ? path : place;
  const said = [];
  if (expected !== undefined) said.push(`expected ${jsonText(expected)}`);
  if (got !== undefined) said.push(`got ${jsonText(got)}`);
  if (code !== "not equal" || said.length < 2) said.unshift(code);
  return `${where ? `${where}: ` : ""}${said.join(", ")}`;
}

/** The reason of a check in words, and the place in the answer it names. */
function reasonOf(check) {
  const [code, ...rest] = (check.reason ?? "no reason given").split(": ");
  return [words(code), rest.join(": ")];
}
