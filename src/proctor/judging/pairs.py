"""What judges are told about two answers to one case, and what they make of them together.

Each judge is asked twice, with the answers in either order. Only what it says both times counts:
a judge that prefers whatever stands first prefers neither answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from proctor.canonical import canonical_json, digest
from proctor.contracts import answer_schema, with_defaults
from proctor.errors import UsageError
from proctor.judging.boundary import as_text, boundary
from proctor.judging.questions import judges
from proctor.judging.rubrics import Rubric
from proctor.judging.votes import NO_VALID_VERDICT, read_choice, read_object
from proctor.records import Answer, Json, JsonObject, JudgeSetup, Request, Subject


class Place(StrEnum):
    """What a judge says in one order: which of the two answers, by their places, is better."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"


class Preference(StrEnum):
    """What a judge says of a pair in both orders; `inconsistent` when the orders disagree."""

    A = "a"
    B = "b"
    TIE = "tie"
    INCONSISTENT = "inconsistent"


_PLACES = {place.value: place for place in Place}
_OF_A_FIRST = {Place.FIRST: Preference.A, Place.SECOND: Preference.B, Place.TIE: Preference.TIE}
_OF_B_FIRST = {Place.FIRST: Preference.B, Place.SECOND: Preference.A, Place.TIE: Preference.TIE}


class Pair(Struct, frozen=True, kw_only=True, gc=False):
    """Two answers to one case.

    Args:
        a: The text of the one.
        b: The text of the other.
        inputs: The inputs of the case.
        expected: What the case expects; unset when it says nothing of that.
    """

    a: str
    b: str
    inputs: JsonObject
    expected: Json | UnsetType = UNSET


class PairQuestion(Struct, frozen=True, gc=False):
    """One judge asked in one order about one pair."""

    rubric: Rubric
    subject: Subject
    values: JsonObject
    inputs_sha256: str
    take: int
    case: str

    def request(self) -> Request:
        """What would be sent."""
        return Request(
            model=self.subject.model,
            messages=self.rubric.messages(self.values),
            output_schema=answer_schema(self.rubric.prompt),
        )


class Said(NamedTuple):
    """What a judge says in one order; None and why when its reply does not count."""

    place: Place | None
    reason: str


class Decided(NamedTuple):
    """What all judges make of one pair.

    `preference` is None when more than half of them have no verdict that counts. `reason` is a
    short code for what is no win: why it is a tie, or why nothing was measured.
    """

    preference: Preference | None
    reason: str | None


SAID_TIE: Final = "said_tie"
INCONSISTENT: Final = "inconsistent"
NO_MAJORITY: Final = "no_majority"
IDENTICAL: Final = "identical"
"""Why a pair is a tie: more than half of the judges call it one, or contradict themselves; no
answer has more than half of the judges; or both answers are the same, so that nobody is asked."""


def pair_judges(rubric: Rubric, setup: JudgeSetup, number: int | None) -> tuple[Subject, ...]:
    """The rubric on the model of each judge, in the order of their numbers.

    Args:
        rubric: What is judged by.
        setup: Who judges, as far as the suite says.
        number: How many judges are asked. None for each of the suite's panel once, or one.

    Raises:
        SuiteError: P6201 when neither the suite nor the rubric names a model.
        UsageError: P6002 when the suite's panel has fewer.
    """
    panel = setup.panel
    if not panel:
        return judges(rubric, replace(setup, runs=number or 1))
    if number is not None and number > len(panel):
        raise UsageError(
            f"`--judges {number}` asks for more judges than the suite's panel has, {len(panel)}",
            code="P6002",
            hint="ask for fewer, or name one model as `judge.model` in place of the panel",
        )
    return judges(rubric, replace(setup, panel=panel[:number]))


def pair_needs(rubric: Rubric, pair: Pair) -> str | None:
    """What a case lacks for this rubric, as a sentence, or None."""
    field = rubric.prompt.inputs.get("expected")
    if field is None or pair.expected is not UNSET or field.default is not UNSET:
        return None
    if "expected" not in rubric.used and field.optional:
        return None
    return f"the case has no `expected`, which the rubric `{rubric.prompt.id}` uses"


def pair_questions(
    rubric: Rubric, asked: Sequence[Subject], pair: Pair, *, case: str
) -> list[PairQuestion]:
    """What each judge is asked, judge by judge: with the answer of A first, then with that of B.

    Args:
        rubric: What is judged by.
        asked: The judges.
        pair: Two answers, to a case of which `pair_needs` said nothing.
        case: The case, a label.
    """
    orders = [_values(rubric, pair, *texts) for texts in ((pair.a, pair.b), (pair.b, pair.a))]
    known = [(values, digest(values)) for values in orders]
    return [
        PairQuestion(rubric, judge, values, sha256, take, case)
        for take, judge in enumerate(asked, 1)
        for values, sha256 in known
    ]


def _values(rubric: Rubric, pair: Pair, first: str, second: str) -> JsonObject:
    declared = rubric.prompt.inputs
    given: JsonObject = {
        "first": first,
        "second": second,
        "case_inputs": canonical_json(pair.inputs).decode("utf-8"),
    }
    if pair.expected is not UNSET:
        given["expected"] = as_text(pair.expected)
    values = with_defaults(declared, {name: one for name, one in given.items() if name in declared})
    # Without one there are no fences, and such a rubric is refused.
    return {**values, "boundary": boundary(values)}


def read_winner(answer: Answer) -> Said:
    """What a judge says in its reply. A reply that cannot be read says nothing."""
    value = read_object(answer)
    return (
        Said(None, value)
        if isinstance(value, str)
        else Said(*read_choice(value, "winner", _PLACES))
    )


def preference(a_first: Place | None, b_first: Place | None) -> Preference | None:
    """What a judge says of a pair, from what it says in either order.

    None when it says nothing that counts in one of them.

    Example:
        >>> preference(Place.FIRST, Place.SECOND), preference(Place.FIRST, Place.FIRST)
        (<Preference.A: 'a'>, <Preference.INCONSISTENT: 'inconsistent'>)
    """
    if a_first is None or b_first is None:
        return None
    one, other = _OF_A_FIRST[a_first], _OF_B_FIRST[b_first]
    return one if one is other else Preference.INCONSISTENT


def decide_pair(preferences: Sequence[Preference | None]) -> Decided:
    """What the judges decide together: the answer that more than half of them prefer, else a tie.

    Args:
        preferences: One of each judge, None of one without a verdict that counts.
    """
    said, half = Counter(preferences), len(preferences) / 2
    for winner in (Preference.A, Preference.B):
        if said[winner] > half:
            return Decided(winner, None)
    if said[None] > half:
        return Decided(None, f"{NO_VALID_VERDICT}: no valid verdict")
    if said[Preference.TIE] > half:
        return Decided(Preference.TIE, SAID_TIE)
    why = INCONSISTENT if said[Preference.INCONSISTENT] > half else NO_MAJORITY
    return Decided(Preference.TIE, why)
