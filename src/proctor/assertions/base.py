"""What the kinds share: the fields of a spec, what is read of an answer, and how a check is made.

A check selects a value from the answer, matches it, turns the result round when it is negated, and
explains itself only when it fails.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, Generic, Literal, TypeVar

from msgspec import UNSET, Struct, UnsetType

from proctor.assertions.answers import AnswerView, Failure
from proctor.assertions.matching import Fold, folding, join_places, spell_place
from proctor.errors import SuiteError
from proctor.pointers import MISSING, Tokens, descend, parse_pointer
from proctor.records import (
    Answered,
    AssertionSpec,
    Case,
    Check,
    Json,
    JsonObject,
    Outcome,
    encode_json,
)

Result = TypeVar("Result")
"""What a kind's `match` hands to its `explain`."""

MAX_EVIDENCE_BYTES: Final = 4_096
MAX_SHOWN: Final = 200
"""Characters of a place or message that are shown; keys of an answer can be of any length."""


class SelectingSpec(AssertionSpec, frozen=True, kw_only=True):
    """Fields of the kinds that read a part of the answer.

    Args:
        field: The part of the answer that is read: a name, or a JSON Pointer when it starts
            with `/`. Without it, the whole text.
        extract: `json` takes the only JSON value in the text first.
    """

    field: str | UnsetType = UNSET
    extract: Literal["json"] | UnsetType = UNSET


class ExpectingSpec(SelectingSpec, frozen=True, kw_only=True):
    """Fields of the kinds that compare with an expected value; null is a value.

    Args:
        value: The expected value. Without it, the case's `expected`.
        expected: The part of the case's `expected` to compare with.
    """

    value: Json | UnsetType = UNSET
    expected: str | UnsetType = UNSET


class ComparingSpec(ExpectingSpec, frozen=True, kw_only=True):
    """Fields of the kinds that compare strings.

    Args:
        trim: Ignore white space at both ends of a string.
        ignore_case: Compare strings without regard to case.
    """

    trim: bool = False
    ignore_case: bool = False

    @property
    def fold(self) -> Fold | None:
        """What is done to both strings before they are compared."""
        return folding(trim=self.trim, ignore_case=self.ignore_case)


def invalid(message: str, hint: str | None = None) -> SuiteError:
    """A spec that cannot work (P6201)."""
    return SuiteError(message, code="P6201", hint=hint)


def cannot_fail(message: str, hint: str | None = None) -> SuiteError:
    """A spec that would pass whatever the answer is (P6202)."""
    return SuiteError(message, code="P6202", hint=hint)


class Part(Struct, frozen=True, gc=False):
    """A selected part of a value: the steps to it, and how a person writes them.

    `name` is the only step, None when there are several; most parts are one member of an object.
    """

    written: str
    tokens: Tokens
    place: str
    name: str | None

    def of(self, value: Json) -> Json:
        """The part of a value, `MISSING` when it has none."""
        if self.name is not None and value.__class__ is dict:
            return value.get(self.name, MISSING)
        return descend(value, self.tokens)


def selected_part(written: str | UnsetType, key: str) -> Part | None:
    """What a `field` or `expected` selects, None when it is not given.

    Raises:
        SuiteError: P6201 when it starts with `/` and is not a JSON Pointer.
    """
    if isinstance(written, UnsetType):
        return None
    if not written.startswith("/"):
        return Part(written, (written,), spell_place((written,)), written)
    tokens = parse_pointer(written)
    if tokens is None:
        raise invalid(
            f"`{key}`: `{written}` is not a JSON Pointer", "write `~0` for `~` and `~1` for `/`"
        )
    steps = [int(token) if _is_index(token) else token for token in tokens]
    name = tokens[0] if len(tokens) == 1 else None
    return Part(written, tokens, spell_place(steps), name)


def _is_index(token: str) -> bool:
    return token.isascii() and token.isdigit() and len(token) < 10 and str(int(token)) == token


class Expectation:
    """Where the expected value comes from: written in the suite, or a part of the case.

    Args:
        value: The value as written, if it is.
        part: Which part of the case's `expected` it is, as written under `expected`.
        field: What is read of the answer; the part of that name is the default.
        key: Under which key `value` is written.

    Raises:
        SuiteError: P6201 when `value` and `part` are both given, or a pointer is none.
    """

    def __init__(
        self,
        value: Json | UnsetType,
        part: str | UnsetType,
        *,
        field: str | UnsetType = UNSET,
        key: str = "value",
    ) -> None:
        self.value = value
        if value is not UNSET and part is not UNSET:
            raise invalid(f"`{key}` and `expected` exclude each other")
        self._part = selected_part(part, "expected")
        self._field = selected_part(field, "field")

    @staticmethod
    def of_spec(spec: ExpectingSpec) -> Expectation:
        """Of a spec with a `value`."""
        return Expectation(spec.value, spec.expected, field=spec.field)

    def of(self, case: Case) -> Json:
        """The expected value of a case, `MISSING` when it has none."""
        if self.value is not UNSET:
            return self.value
        whole = case.expected
        if whole is UNSET:
            return MISSING
        part = self._part_of(whole)
        return whole if part is None else part.of(whole)

    def lacks(self, case: Case) -> str | None:
        """What the case lacks, as a sentence, or None."""
        if self.of(case) is not MISSING:
            return None
        part = None if case.expected is UNSET else self._part_of(case.expected)
        if part is None:
            return "the case has no `expected`"
        return f"the case has no `{part.written}` in its `expected`"

    def unfit(self, case: Case, fault: Callable[[Json], str | None]) -> str | None:
        """What the case lacks, or what is wrong with the value it gives, as a sentence, or None.

        Args:
            case: The case. A value of the spec was looked at when it was compiled.
            fault: Says what is wrong with a value.
        """
        if self.value is not UNSET:
            return None
        return self.lacks(case) or fault(self.of(case))

    def _part_of(self, whole: Json) -> Part | None:
        if self._part is not None:
            return self._part
        return self._field if isinstance(whole, dict) else None


class CheckMaker:
    """Makes the checks of one assertion."""

    spec: AssertionSpec
    place: str = ""
    """Where what is judged stands in the answer; an empty text for all of it."""
    extracts: bool = False

    def __init__(self, spec: AssertionSpec) -> None:
        self.spec = spec
        self._passed = Check(spec.id, spec.kind, Outcome.PASSED, spec.severity)

    def passed(self, view: AnswerView) -> Check:
        """The check of an answer that passed."""
        if view.notes is None and not self.extracts:
            return self._passed
        return self.checked(view, Outcome.PASSED)

    def failed(self, view: AnswerView, failure: Failure) -> Check:
        """The check of an answer that did not pass."""
        reason = failure.code
        if failure.place:
            reason = f"{reason}: {shortened(failure.place)}"
        return self.checked(view, failure.outcome, reason, failure.evidence)

    def checked(
        self,
        view: AnswerView,
        outcome: Outcome,
        reason: str | None = None,
        evidence: JsonObject | None = None,
    ) -> Check:
        """A check with everything that belongs into its evidence."""
        more = dict(view.notes or {})
        if self.extracts and view.source is not None:
            more["extracted"] = view.source.value
        spec = self.spec
        whole = within_limit({**(evidence or {}), **more}) or None
        return Check(spec.id, spec.kind, outcome, spec.severity, reason, whole)

    def evidence(self, place: str = "", **items: Json) -> JsonObject:
        """Evidence with the place in it where there is one; what is `MISSING` is left out."""
        evidence = {name: item for name, item in items.items() if item is not MISSING}
        whole = join_places(self.place, place)
        return {"path": whole, **evidence} if whole else evidence


class CompiledAssertion(CheckMaker, ABC):
    """What every kind that checks by itself has once it is compiled."""

    def needs(self, case: Case) -> str | None:
        """What this case lacks for the assertion to be asked, as a sentence, or None."""
        return None

    @abstractmethod
    def check(self, answered: Answered, case: Case) -> Check:
        """Judge one answer."""


class MatchingAssertion(CompiledAssertion, Generic[Result]):
    """A compiled assertion that matches one thing of an answer."""

    def check(self, answered: Answered, case: Case) -> Check:
        """Judge one answer."""
        view = answered if answered.__class__ is AnswerView else AnswerView.of(answered)
        value = self.select(view, case)
        result = value if isinstance(value, Failure) else self.match(value, case)
        if isinstance(result, Failure):
            return self.failed(view, result)
        if bool(result) is self.spec.negate:
            return self.failed(view, self.explain(value, case, result))
        if view.notes is None and not self.extracts:
            return self._passed
        return self.passed(view)

    @abstractmethod
    def select(self, view: AnswerView, case: Case) -> Json | Failure:
        """What of the answer is judged, or why it is not there."""

    @abstractmethod
    def match(self, value: Json, case: Case) -> Result | Failure:
        """Whether the selected value is as asked, before `negate`; truthy when it is.

        Returns:
            Anything `explain` has a use for, or a `Failure` when that cannot be told.
        """

    @abstractmethod
    def explain(self, value: Json, case: Case, result: Result) -> Failure:
        """Why the check fails: a mismatch, or a match that is negated."""


class AnswerAssertion(MatchingAssertion[Result]):
    """A compiled assertion on the text of an answer, or on one part of it parsed as JSON."""

    def __init__(self, spec: SelectingSpec) -> None:
        super().__init__(spec)
        self._part = selected_part(spec.field, "field")
        self.place = "" if self._part is None else self._part.place
        self.extracts = spec.extract is not UNSET

    def reads_json(self, case: Case) -> bool:
        """Whether the whole answer is parsed as JSON although no part of it is selected."""
        return False

    def select(self, view: AnswerView, case: Case) -> Json | Failure:
        """The whole text, or the part that `field` names."""
        parses = self._part is None and not self.extracts and self.reads_json(case)
        return select_value(view, self._part, extracts=self.extracts, parses=parses)


def select_value(
    view: AnswerView, part: Part | None, *, extracts: bool, parses: bool = False
) -> Json | Failure:
    """What an assertion reads of an answer, or why it is not there.

    Args:
        view: The answer.
        part: The part of it that is read, None for all of it.
        extracts: Whether the only JSON value in the text is taken first.
        parses: Whether the whole text is read as JSON although no part is asked for.
    """
    if part is None and not extracts:
        return view.document() if parses else view.text()
    document = view.extracted() if extracts else view.document()
    if part is None or isinstance(document, Failure):
        return document
    value = part.of(document)
    if value is MISSING:
        return Failure("missing_field", part.place, {"path": part.place})
    return value


def within_limit(evidence: JsonObject) -> JsonObject:
    """Evidence of at most 4,096 bytes of JSON.

    The largest values are replaced by a note of their size until it fits. A list of issues loses
    its last ones instead, and says how many.
    """
    evidence = {
        name: shortened(item) if name == "path" else item for name, item in evidence.items()
    }
    if len(encode_json(evidence)) <= MAX_EVIDENCE_BYTES:
        return evidence
    sizes = {
        name: len(encode_json(item))
        for name, item in evidence.items()
        if name not in ("path", "issues")
    }
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        if sizes[name] <= MAX_SHOWN or len(encode_json(evidence)) <= MAX_EVIDENCE_BYTES:
            break
        evidence[name] = {
            "kind": "omitted",
            "reason": "size_limit",
            "original_bytes": sizes[name],
        }
    issues = evidence.get("issues", [])
    kept = len(issues)
    while kept and len(encode_json(evidence)) > MAX_EVIDENCE_BYTES:
        kept -= 1
        evidence |= {"issues": issues[:kept], "issues_left_out": len(issues) - kept}
    return evidence


def shortened(text: str) -> str:
    """A place or message, cut to 200 characters."""
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."
