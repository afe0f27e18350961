"""The kind `length`: the answer, or a part of it, is neither too short nor too long."""

from __future__ import annotations

from typing import ClassVar, Literal, cast

from msgspec import UNSET, Struct, UnsetType

from proctor.assertions.answers import AnswerView, Failure, NoVerdict
from proctor.assertions.base import AnswerAssertion, SelectingSpec, cannot_fail, invalid
from proctor.assertions.matching import spell
from proctor.pointers import MISSING
from proctor.protocols import Scope
from proctor.records import AssertionSpec, Case, Json


class LengthSpec(SelectingSpec, frozen=True, kw_only=True):
    """The fields of `length`.

    Args:
        min: The least length that passes.
        max: The greatest length that passes.
        unit: What is counted; `tokens` are those recorded for the whole answer.
    """

    min: int | UnsetType = UNSET
    max: int | UnsetType = UNSET
    unit: Literal["chars", "words", "tokens"] = "chars"


class Counted(Struct, frozen=True, gc=False):
    """How long something is, and what is wrong with that; true when nothing is."""

    length: int
    fault: str | None

    def __bool__(self) -> bool:
        return self.fault is None


class Length(AnswerAssertion[Counted]):
    """The length in characters, in words between whitespace, or in tokens as recorded.

    Tokens are those of the whole answer; where they were not recorded there is no verdict.
    """

    Spec: ClassVar[type[AssertionSpec]] = LengthSpec

    def __init__(self, spec: LengthSpec) -> None:
        super().__init__(spec)
        self._unit = spec.unit
        self._min = 0 if isinstance(spec.min, UnsetType) else spec.min
        self._max = None if isinstance(spec.max, UnsetType) else spec.max

    @staticmethod
    def compile(spec: AssertionSpec, scope: Scope) -> Length:
        """Make the assertion ready.

        Raises:
            SuiteError: P6201 when a limit is below 0 or `min` above `max`, or tokens of a part are
                asked for; P6202 when every length is within the limits.
        """
        spec = cast("LengthSpec", spec)
        for key, limit in (("min", spec.min), ("max", spec.max)):
            if not isinstance(limit, UnsetType) and limit < 0:
                raise invalid(f"`{key}` must be 0 or more")
        length = Length(spec)
        if not length._min and length._max is None:
            raise cannot_fail("every length is within the limits", "write a `max`, or a `min`")
        if length._max is not None and length._min > length._max:
            raise invalid("`min` is above `max`, so no length passes")
        for key in ("field", "extract"):
            if spec.unit == "tokens" and getattr(spec, key) is not UNSET:
                raise invalid(
                    f"`unit: tokens` counts the whole answer, not what `{key}` reads",
                    "count `chars` or `words`",
                )
        return length

    def select(self, view: AnswerView, case: Case) -> Json | Failure:
        """What is counted: the text, a part of it, or the recorded number of tokens."""
        if self._unit != "tokens":
            return super().select(view, case)
        tokens = None if view.usage is None else view.usage.output
        return NoVerdict("unknown_usage") if tokens is None else tokens

    def match(self, value: Json, case: Case) -> Counted | Failure:
        """Whether the length is within the limits."""
        if self._unit == "tokens":
            length = cast("int", value)
        else:
            text = spell(value)
            if text is None:
                return Failure("not_text", self.place, self.evidence())
            length = len(text) if self._unit == "chars" else len(text.split())
        if length < self._min:
            return Counted(length, "too_short")
        if self._max is not None and length > self._max:
            return Counted(length, "too_long")
        return Counted(length, None)

    def explain(self, value: Json, case: Case, result: Counted) -> Failure:
        """That something is too short or too long, or that it is not."""
        evidence = self.evidence(
            got=result.length,
            unit=self._unit,
            min=MISSING if not self._min or result.fault == "too_long" else self._min,
            max=MISSING if self._max is None or result.fault == "too_short" else self._max,
        )
        return Failure(result.fault or "within", self.place, evidence)
