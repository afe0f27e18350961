"""What a judge is told about an answer, and the boundary that no text of it can know."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Final

from msgspec import UNSET, Struct, UnsetType

from proctor.canonical import canonical_json, digest, sha256_hex
from proctor.contracts import with_defaults
from proctor.judging.rubrics import Rubric, RubricKind
from proctor.records import Json, JsonObject

_LENGTH: Final = 16
_OF_ANSWERS: Final = ("evidence", "artifact", "transcript")


class Judged(Struct, frozen=True, kw_only=True, gc=False):
    """An answer under judgement and what belongs to it. What is None or unset is not there.

    Args:
        response: The answer, or the field of it that is judged.
        case_inputs: The inputs of the case.
        expected: What the case expects.
        context: The context of the case.
        dos: What the case wants of an answer.
        donts: What it does not want.
        evidence: What a target says for its answer.
        artifact: What a target has built.
        transcript: How a target got there.
    """

    response: Json
    case_inputs: JsonObject
    expected: Json | UnsetType = UNSET
    context: Json = None
    dos: list[str] = []
    donts: list[str] = []
    evidence: Json = None
    artifact: Json = None
    transcript: Json = None


class JudgeInputs(Struct, frozen=True, gc=False):
    """The inputs of a rubric for one answer.

    Args:
        values: By name, the boundary among them.
        sha256: What identifies them in the key of a recording.
        response_sha256: What a label of this answer has as `answer_sha256`.
    """

    values: JsonObject
    sha256: str
    response_sha256: str


def boundary(inputs: JsonObject) -> str:
    """Sixteen hex digits that none of the inputs contains, made from all of them.

    So nothing that is judged can hold the end of its own fence.

    Args:
        inputs: The other inputs of the rubric.

    Example:
        >>> boundary({"case_inputs": "{}", "response": "Sure."})
        '5742a462c08e1426'
    """
    texts = [as_text(value) for value in inputs.values()]
    candidates = (digest({"inputs": inputs, "n": n})[:_LENGTH] for n in count())
    return next(each for each in candidates if not any(each in text for text in texts))


def judge_inputs(rubric: Rubric, judged: Judged) -> JudgeInputs:
    """What a rubric is given for one answer, of which `case_needs` and `answer_needs` said nothing.

    Text goes in as it is, any other value as canonical JSON; `dos` and `donts` stay lists.
    """
    declared = rubric.prompt.inputs
    given = {name: value for name, value in _values(judged).items() if name in declared}
    values = with_defaults(declared, given)
    if "boundary" in declared:
        values = {**values, "boundary": boundary(values)}
    return JudgeInputs(values, digest(values), response_sha256(values["response"]))


def response_sha256(response: str) -> str:
    """The digest by which labels name the text that was judged."""
    # A lone surrogate has no UTF-8; it is spelled the way it is stored.
    return sha256_hex(response.encode("utf-8", "backslashreplace"))


def case_needs(rubric: Rubric, judged: Judged) -> str | None:
    """What a case lacks for this rubric, as a sentence, or None; the answer is not looked at."""
    if rubric.kind is RubricKind.CRITERIA and not judged.dos and not judged.donts:
        return "the case has neither `dos` nor `donts` to judge by"
    for name in _lacking(rubric, judged):
        if name not in _OF_ANSWERS:
            return f"the case has no `{name}`, which the rubric `{rubric.prompt.id}` uses"
    return None


def answer_needs(rubric: Rubric, judged: Judged) -> str | None:
    """What an answer lacks for this rubric, as a sentence, or None.

    Only a target brings evidence, an artifact or a transcript; the answer of a model never does.
    """
    for name in _lacking(rubric, judged):
        if name in _OF_ANSWERS:
            return f"the answer has no `{name}`, which the rubric `{rubric.prompt.id}` uses"
    return None


def _lacking(rubric: Rubric, judged: Judged) -> Iterator[str]:
    """Inputs without a value that the rubric cannot do without."""
    values = {"boundary": "", **_values(judged)}
    used = rubric.used
    for name, field in rubric.prompt.inputs.items():
        if name in values or field.default is not UNSET:
            continue
        if name in used or not field.optional:
            yield name


def _values(judged: Judged) -> JsonObject:
    values: JsonObject = {
        "response": as_text(judged.response),
        "case_inputs": canonical_json(judged.case_inputs).decode("utf-8"),
        "dos": judged.dos,
        "donts": judged.donts,
    }
    if judged.expected is not UNSET:
        values["expected"] = as_text(judged.expected)
    for name in ("context", *_OF_ANSWERS):
        value = getattr(judged, name)
        if value is not None:
            values[name] = as_text(value)
    return values


def as_text(value: Json) -> str:
    """A value as a judge is shown it: text as it is, any other value as canonical JSON."""
    return value if isinstance(value, str) else canonical_json(value).decode("utf-8")
