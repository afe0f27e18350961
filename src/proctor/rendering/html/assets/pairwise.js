// Pairs of answers: who wins, both answers side by side, and what each judge says.

const SHOWN_AT_ONCE = 100;
const PAIR_WORDS = { a: "A wins", b: "B wins", tie: "tie", errored: "errored", unmeasured: "unmeasured" };
const PAIR_MARKS = { a: "passed", b: "passed", tie: "unmeasured", errored: "errored", unmeasured: "unmeasured" };
const CHOSEN = { a_first: { first: "A", second: "B", tie: "tie" }, b_first: { first: "B", second: "A", tie: "tie" } };

const block = document.getElementById("data");
const held = JSON.parse(block.textContent);
block.remove();
const found = held.pairwise;
const nameOf = (one) => JSON.stringify([one.case, one.scenario, one.repeat]);
const answersOf = new Map(held.answers.map((one) => [nameOf(one), one]));
const isRepeated = found.pairs.some((pair) => pair.repeat > 1);
const pairs = found.pairs.map((pair, place) => {
  const answers = answersOf.get(nameOf(pair));
  return { pair, answers, said: held.facts.pairs[place], text: null };
});
let fitting = pairs;
let shown = 0;

/** What a word stands for; a word that is none stands for itself. */
function meaning(words, word) {
  return Object.hasOwn(words, word) ? words[word] : flat(word);
}

function at(id) {
  return document.getElementById(id);
}

/** Everything of a pair that can be searched, in lower case; made when somebody searches. */
function textOf(one) {
  one.text ??= JSON.stringify([one.pair, one.answers, one.said]).toLowerCase();
  return one.text;
}

function answer(side, text, won) {
  return element(
    "section",
    { class: won ? "duel-answer won" : "duel-answer" },
    element("h3", {}, won ? `${side}, the winner` : side),
    text === null
      ? element("p", { class: "muted" }, "no text")
      : element("pre", { class: "data" }, visible(text, { lines: true })),
  );
}

function vote(one, number) {
  const verdict = one.verdict === null ? "no verdict" : meaning(PAIR_WORDS, one.verdict);
  const orders = [["A first", "a_first"], ["B first", "b_first"]].map(([words, order]) => {
    const said = one[order];
    const chosen = said.winner === null ? "no verdict" : meaning(CHOSEN[order], said.winner);
    return element("li", {}, `${words}: ${chosen}: `, data(said.reason));
  });
  return element(
    "li",
    {},
    element("strong", {}, `Judge ${number + 1}: ${verdict}`),
    " ",
    element("span", { class: "muted" }, data(one.model)),
    element("ul", { class: "plain" }, orders),
  );
}

function inside(one) {
  const { pair, answers } = one;
  return element(
    "div",
    { class: "duel-inside" },
    element(
      "div",
      {},
      element("h3", {}, "Inputs"),
      element("pre", { class: "data" }, visible(JSON.stringify(answers.inputs, null, 2), { lines: true })),
    ),
    element(
      "div",
      { class: "duel-both" },
      answer("A", answers.a, pair.outcome === "a"),
      answer("B", answers.b, pair.outcome === "b"),
    ),
    pair.votes.length ? element("ol", { class: "duel-judges plain" }, pair.votes.map(vote)) : null,
  );
}

function entry(one) {
  const { pair } = one;
  const name = [pair.case, pair.scenario].filter((part) => part !== null).join(" / ");
  const repeat = isRepeated ? element("span", { class: "muted" }, `repeat ${pair.repeat}`) : null;
  const made = element(
    "details",
    {
      class: "duel",
      ontoggle: () => {
        if (made.open && made.children.length === 1) made.append(inside(one));
      },
    },
    element(
      "summary",
      {},
      badge(PAIR_MARKS[pair.outcome], PAIR_WORDS[pair.outcome]),
      data(name),
      repeat,
      one.said === PAIR_WORDS[pair.outcome] ? null : element("span", { class: "muted" }, one.said),
    ),
  );
  return made;
}

function showMore() {
  const next = fitting.slice(shown, shown + SHOWN_AT_ONCE);
  at("pairs").append(...next.map(entry));
  shown += next.length;
  at("more").hidden = shown === fitting.length;
  at("more").textContent = `Show more of ${counted(fitting.length, "pair")}`;
}

function choose() {
  const wanted = at("outcome").value;
  const searched = at("search").value.trim().toLowerCase();
  fitting = pairs.filter(
    (one) => (!wanted || one.pair.outcome === wanted) && (!searched || textOf(one).includes(searched)),
  );
  at("count").textContent = `${count(fitting.length)} of ${counted(pairs.length, "pair")}`;
  at("pairs").replaceChildren();
  shown = 0;
  showMore();
}

function start() {
  const { facts } = held;
  const marked = { a: "passed", b: "passed", undecided: "unmeasured", unmeasured: "errored" };
  at("suite").append(...visible(`${found.project}: ${found.suite}`));
  at("verdict").append(badge(marked[found.verdict] ?? "errored", facts.verdict));
  at("headline").append(facts.headline);
  for (const [name, side] of [["A", found.a], ["B", found.b]]) {
    const id = side.prompt === null ? side.model : `${side.prompt}@${side.model}`;
    const report = element("span", { class: "muted" }, ` report ${side.report_sha256.slice(0, 12)}`);
    at("sides").append(element("dt", {}, name), element("dd", {}, data(id), report));
  }
  at("said").append(...facts.said.map((line) => element("li", {}, line)));
  for (const { said, cases } of facts.unpaired) {
    const names = cases.flatMap((name, place) => [place ? ", " : ": ", data(name)]);
    at("said").append(element("li", {}, said, names));
  }
  for (const warning of found.warnings) {
    at("said").append(element("li", {}, `warning ${warning.code ?? ""}: `, data(warning.message)));
  }
  const outcomes = Object.keys(PAIR_WORDS).filter((one) => found.counts[one] > 0);
  at("outcome").append(
    element("option", { value: "" }, "Every outcome"),
    ...outcomes.map((one) => element("option", { value: one }, `${PAIR_WORDS[one]}: ${count(found.counts[one])}`)),
  );
  at("outcome").addEventListener("change", choose);
  at("search").addEventListener("input", choose);
  at("more").addEventListener("click", showMore);
  choose();
  document.documentElement.dataset.ready = "";
}

start();
