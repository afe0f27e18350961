// JSON values: reading, showing, and finding what differs between two of them, field by field.

const LONG_NUMBER = /[:,[]\s*-?\d{16}/;
const NAME = /^[A-Za-z_][\w-]*$/;
const MANY_FIELDS = 400;
const DEEP = 256;

/** Reads JSON; integers that a double cannot hold keep all of their digits. */
function readJson(text) {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  return JSON.parse(text, (key, value, context) => {
    if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
    const source = context?.source ?? "";
    return /^-?\d+$/.test(source) ? BigInt(source) : value;
  });
}

/** Whether a value goes deeper than so many levels. */
function isDeep(value, levels) {
  if (!isContainer(value)) return false;
  return levels === 0 || Object.values(value).some((member) => isDeep(member, levels - 1));
}

/** The JSON in an answer, undefined when it is none, or so deep that nobody wants it laid out. */
function jsonIn(text) {
  if (typeof text !== "string" || !/^\s*[{[]/.test(text)) return undefined;
  try {
    const value = readJson(text);
    return isDeep(value, DEEP) ? undefined : value;
  } catch {
    return undefined;
  }
}

function isContainer(value) {
  return typeof value === "object" && value !== null;
}

/** A value as JSON, with an indent or in one line. */
function jsonText(value, indent = 0) {
  // Where a number was kept whole, the browser can write it as well.
  const whole = (key, member) => (typeof member === "bigint" ? JSON.rawJSON(`${member}`) : member);
  return JSON.stringify(value, whole, indent);
}

function isEqual(one, other) {
  if (!isContainer(one) || !isContainer(other)) return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isEqual(one[key], other[key]))
  );
}

/**
 * What differs between two values: `{path, kind, before, after}`, one for each field.
 * `kind` is `equal`, `changed`, `missing` (only in the first) or `additional` (only in the second).
 */
function differences(before, after) {
  const found = [];
  const walk = (one, other, path) => {
    const alike =
      isContainer(one) && isContainer(other) && Array.isArray(one) === Array.isArray(other);
    if (!alike || (Object.keys(one).length === 0 && Object.keys(other).length === 0)) {
      found.push({ path, kind: isEqual(one, other) ? "equal" : "changed", before: one, after: other });
      return;
    }
    for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
      const inner = fieldPath(path, key, Array.isArray(one));
      if (!Object.hasOwn(other, key)) {
        found.push({ path: inner, kind: "missing", before: one[key] });
      } else if (!Object.hasOwn(one, key)) {
        found.push({ path: inner, kind: "additional", after: other[key] });
      } else {
        walk(one[key], other[key], inner);
      }
    }
  };
  walk(before, after, "");
  return found;
}

function fieldPath(path, key, isArray) {
  if (isArray) return `${path}[${key}]`;
  if (!NAME.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

/** What is expected and the answer, when they can be set side by side field by field. */
function comparable(expected, answer) {
  if (expected === null || !answer || answer.text === null) return undefined;
  const found = jsonIn(answer.text);
  if (isContainer(expected)) return found === undefined ? undefined : [expected, found];
  return typeof expected === "string" && found === undefined ? [expected, answer.text] : undefined;
}

/** Where two texts differ: how much is the same at the start and at the end. */
function commonEnds(one, other) {
  const most = Math.min(one.length, other.length);
  let start = 0;
  while (start < most && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < most - start && one[one.length - 1 - end] === other[other.length - 1 - end]) end += 1;
  // No character of two halves is divided.
  const isHalf = (text, place) => /[\udc00-\udfff]/.test(text[place] ?? "");
  if (start > 0 && (isHalf(one, start) || isHalf(other, start))) start -= 1;
  if (end > 0 && (isHalf(one, one.length - end) || isHalf(other, other.length - end))) end -= 1;
  return [start, end];
}

function leaf(value) {
  return typeof value === "string" ? value : jsonText(value, 1);
}

function side(value, other, kind) {
  if (value === undefined) return element("td", { class: "absent" }, "absent");
  const text = leaf(value);
  if (kind !== "changed" || typeof value !== "string" || typeof other !== "string") {
    return element("td", {}, element("pre", {}, visible(text, { lines: true })));
  }
  const [start, end] = commonEnds(text, other);
  const middle = text.slice(start, text.length - end);
  return element(
    "td",
    {},
    element(
      "pre",
      {},
      visible(text.slice(0, start), { lines: true }),
      middle === "" ? null : element("mark", {}, visible(middle, { lines: true })),
      end === 0 ? null : visible(text.slice(text.length - end), { lines: true }),
    ),
  );
}

const KINDS = { equal: "same", changed: "differs", missing: "missing", additional: "new" };

/**
 * A table of what differs between two values. Fields that are the same stand behind a button, and
 * with `isSubset` those that only the second has as well.
 */
function differenceTable(before, after, { names, isSubset = false }) {
  const found = differences(before, after);
  const order = { changed: 0, missing: 0, additional: 1, equal: 2 };
  found.sort((one, other) => order[one.kind] - order[other.kind]);
  const kinds = isSubset ? { ...KINDS, additional: "not asked for" } : KINDS;
  const isMinor = ({ kind }) => kind === "equal" || (isSubset && kind === "additional");
  const line = ({ path, kind, before: one, after: other }) =>
    element(
      "tr",
      { class: `field-${kind}` },
      element("th", { scope: "row" }, path === "" ? "whole value" : data(path, "code")),
      side(one, other, kind),
      side(other, one, kind),
      element("td", { class: "kind" }, kinds[kind]),
    );
  const shown = found.filter((field) => !isMinor(field)).slice(0, MANY_FIELDS);
  const minor = found.filter(isMinor).slice(0, MANY_FIELDS);
  const left = found.length - shown.length - minor.length;
  const body = element("tbody", {}, shown.map(line));
  const more =
    minor.length === 0
      ? null
      : element(
          "button",
          {
            type: "button",
            class: "quiet",
            onclick: (event) => {
              body.append(...minor.map(line));
              table.hidden = false;
              event.currentTarget.remove();
            },
          },
          `Show ${counted(minor.length, "other field")}`,
        );
  const table = element(
    "div",
    { class: "scroll", hidden: shown.length === 0 },
    element(
      "table",
      { class: "diff" },
      element(
        "thead",
        {},
        element("tr", {}, ["Field", ...names, ""].map((name) =>
          name === "" ? element("td", {}) : element("th", { scope: "col" }, name))),
      ),
      body,
    ),
  );
  return element(
    "div",
    { class: "differences" },
    shown.length > 0 ? null
      : element("p", { class: "muted" }, isSubset ? "Every expected field is there, with this value." : "Every field is the same."),
    table,
    more,
    left > 0 ? element("p", { class: "muted" }, `${counted(left, "field")} more`) : null,
  );
}

function block(text) {
  return element("pre", { class: "block", tabindex: "0" }, visible(text, { lines: true }));
}

/** A value by itself: text as it is, everything else as JSON. */
function valueBlock(value) {
  return block(typeof value === "string" ? value : jsonText(value, 2));
}

/** An answer's text; JSON is laid out, and a button shows it as it came. */
function answerBlock(text) {
  const parsed = jsonIn(text);
  if (parsed === undefined) return block(text);
  const laidOut = jsonText(parsed, 2);
  if (laidOut === text) return block(text);
  const shown = element("div", {}, block(laidOut));
  let isRaw = false;
  const button = element(
    "button",
    {
      type: "button",
      class: "quiet small",
      "aria-pressed": "false",
      onclick: () => {
        isRaw = !isRaw;
        button.setAttribute("aria-pressed", isRaw);
        shown.replaceChildren(block(isRaw ? text : laidOut));
      },
    },
    "As it came",
  );
  return element("div", { class: "answer" }, shown, button);
}
