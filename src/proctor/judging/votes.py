"""What one run of a judge says, and what several of them decide.

A reply counts only when nothing has to be guessed: it is one JSON object with the fields the rubric
asks for and nothing else, by itself or as the one fenced block there is. Text around it could be a
quotation of the answer, and so could a second object.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeVar

from msgspec import Struct

from proctor.judging.rubrics import Rubric, RubricKind
from proctor.records import Answer, Finish, Json, JsonObject, Outcome
from proctor.strict_json import JsonProblem, parse_json

Said = Literal["pass", "fail"]
T = TypeVar("T")

NO_VALID_VERDICT: Final = "P6601"
_MAX_SHOWN = 60

# What takes no room and is not seen; a reason loses it too.
_ZERO_WIDTH = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u2060-\u2064\ufeff]")
_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"(`{3,}|~{3,})[^`~\n]*\n(.*)\n[ \t]*\1", re.DOTALL)
_WORDS: dict[str, Said] = {"pass": "pass", "fail": "fail"}
_CUT_SHORT = {
    Finish.LENGTH: "truncated",
    Finish.CONTENT_FILTER: "content_filter",
    Finish.REFUSAL: "refusal",
}


class Ballot(Struct, frozen=True, gc=False):
    """What one run of a judge says.

    Args:
        verdict: None when the reply gives none that counts.
        reason: The judge's, or why the reply does not count: a short code, and after `: ` what it
            is about.
        credit: The share of rules that are kept, where the rubric judges by rules.
    """

    verdict: Said | None
    reason: str
    credit: float | None = None


class Decision(Struct, frozen=True, gc=False):
    """What all runs of a judge make of one answer.

    Args:
        outcome: Passed when more than half of all runs say pass, unmeasured when more than half
            give no valid verdict, otherwise failed.
        reason: None when it passed, else a short code.
        passed: Runs that say pass.
        failed: Runs that say fail.
        invalid: Runs without a valid verdict.
    """

    outcome: Outcome
    reason: str | None
    passed: int
    failed: int
    invalid: int

    @property
    def is_unanimous(self) -> bool:
        """Whether every run gave a verdict, and the same one."""
        return not self.invalid and not (self.passed and self.failed)


def read_vote(
    rubric: Rubric, answer: Answer, *, dos: Sequence[str] = (), donts: Sequence[str] = ()
) -> Ballot:
    """What a judge says in its reply. A reply that cannot be read is a vote without a verdict.

    Args:
        rubric: What was judged by.
        answer: The judge's reply.
        dos: What the case wants; each has to be listed exactly once, with the same words.
        donts: What it does not want, likewise.
    """
    value = read_object(answer)
    if isinstance(value, str):
        return Ballot(None, value)
    if rubric.kind is RubricKind.VERDICT:
        return Ballot(*read_choice(value, "verdict", _WORDS))
    return _criteria(value, [*dos, *donts])


def read_object(answer: Answer) -> JsonObject | str:
    """The object that a judge's reply consists of, or a short code that says why it is not one."""
    cut_short = _CUT_SHORT.get(answer.finish)
    if cut_short is not None:
        return cut_short
    return "no_text" if answer.text is None else _only_object(_seen(answer.text))


def read_choice(value: JsonObject, name: str, words: Mapping[str, T]) -> tuple[T | None, str]:
    """Which of some words a judge says, and its reason.

    Args:
        value: The judge's reply; it has to have this field and `reason`, and no other.
        name: The field that holds the word.
        words: By the words as they are spelled, what each stands for.

    Returns:
        None for a reply that says none of them, and why in place of a reason.
    """
    reason = value.get("reason")
    if value.keys() != {name, "reason"} or not isinstance(reason, str):
        return None, "wrong_fields"
    said = value[name]
    # Not `casefold`, which makes two letters of a sharp s and a verdict of what is none.
    chosen = words.get(_seen(said).lower()) if isinstance(said, str) else None
    if chosen is None:
        return None, f"no_{name}: {_shortened(said if isinstance(said, str) else 'not a word')}"
    return chosen, reason


def decide(votes: Sequence[Ballot], runs: int) -> Decision:
    """What the runs of a judge decide together.

    Args:
        votes: One per run that was made.
        runs: How many there should be; one that is missing gave no verdict.
    """
    said = Counter(vote.verdict for vote in votes)
    passed, failed = said["pass"], said["fail"]
    invalid = runs - passed - failed
    if 2 * passed > runs:
        outcome, reason = Outcome.PASSED, None
    elif 2 * invalid > runs:
        outcome, reason = Outcome.UNMEASURED, f"{NO_VALID_VERDICT}: no valid verdict"
    else:
        outcome, reason = Outcome.FAILED, "judged_fail"
    return Decision(outcome, reason, passed, failed, invalid)


def _only_object(text: str) -> JsonObject | str:
    """The object that a reply consists of, or why it is not one."""
    text = text.strip()
    thoughts = _THOUGHTS.match(text)
    if thoughts is not None:
        text = text[thoughts.end() :].strip()
    fence = _FENCE.fullmatch(text)
    try:
        value = parse_json(text if fence is None else fence[2].strip())
    except JsonProblem as problem:
        return f"not_json: {problem.detail}"
    return value if isinstance(value, dict) else "not_an_object"


def _criteria(value: JsonObject, rules: list[str]) -> Ballot:
    violations, passes = _listed(value.get("violations")), _listed(value.get("passes"))
    if value.keys() != {"violations", "passes"} or violations is None or passes is None:
        return Ballot(None, "wrong_fields")
    wanted = Counter(map(_seen, rules))
    listed = Counter(_seen(rule) for rule, _ in (*violations, *passes))
    if not wanted:
        return Ballot(None, "no_rules")
    for rule in wanted | listed:
        if wanted[rule] != listed[rule]:
            code = "rule_not_once" if listed[rule] else "rule_missing"
            shown = _shortened(rule)
            return Ballot(None, f"{code if wanted[rule] else 'rule_unknown'}: {shown}")
    said = "; ".join(f"{rule}: {reason}" for rule, reason in violations or passes)
    return Ballot("fail" if violations else "pass", said, len(passes) / len(rules))


def _listed(value: Json) -> list[tuple[str, str]] | None:
    """The rules of a list and what is said of each; None when it is not such a list."""
    if not isinstance(value, list):
        return None
    listed: list[tuple[str, str]] = []
    for one in value:
        if not isinstance(one, dict) or one.keys() != {"rule", "reason"}:
            return None
        if not isinstance(one["rule"], str) or not isinstance(one["reason"], str):
            return None
        listed.append((one["rule"], one["reason"]))
    return listed


def _seen(text: str) -> str:
    """A text without its zero-width characters."""
    return _ZERO_WIDTH.sub("", text)


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."
