"""The kinds `starts-with` and `ends-with`: a text begins, or ends, with another one."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self, cast

from msgspec import UNSET

from proctor.assertions.answers import Failure
from proctor.assertions.base import (
    AnswerAssertion,
    ComparingSpec,
    Expectation,
    cannot_fail,
    invalid,
)
from proctor.assertions.matching import spell
from proctor.protocols import Scope
from proctor.records import AssertionSpec, Case, Json


class _Affix(AnswerAssertion[bool]):
    """The expected text is at one end of the answer, or of a part of it.

    Numbers, booleans and null are spelled as JSON, on both sides.
    """

    Spec: ClassVar[type[AssertionSpec]] = ComparingSpec
    END: ClassVar[str]
    """Where the text is looked for, in reasons."""

    def __init__(self, spec: ComparingSpec) -> None:
        super().__init__(spec)
        self._expectation = Expectation.of_spec(spec)
        self._fold = spec.fold
        self._given = None if spec.value is UNSET else self._spell(spec.value)

    @classmethod
    def compile(cls, spec: AssertionSpec, scope: Scope) -> Self:
        """Make the assertion ready.

        Raises:
            SuiteError: P6201 when the value is not a text, or `value` and `expected` are both
                given; P6202 when it is empty, since every text starts and ends with that.
        """
        spec = cast("ComparingSpec", spec)
        assertion = cls(spec)
        if spec.value is not UNSET:
            if assertion._given is None:
                raise invalid("`value` must be a text", "write a string")
            if not assertion._given:
                raise cannot_fail(
                    "the assertion looks for an empty text, which is in every text",
                    "write what the answer must hold",
                )
        return assertion

    def needs(self, case: Case) -> str | None:
        """What this case lacks, or that it gives nothing that could be looked for."""
        return self._expectation.unfit(case, self._fault)

    def _fault(self, value: Json) -> str | None:
        text = self._spell(value)
        if text is None:
            return "its expected value is not a text"
        return None if text else "it looks for an empty text, which is in every text"

    def reads_json(self, case: Case) -> bool:
        """Whether the expected value is something else than a text."""
        return not isinstance(self._expectation.of(case), str)

    def match(self, value: Json, case: Case) -> bool | Failure:
        """Whether the text is there."""
        text = self._spell(value)
        wanted = self._spell(self._expectation.of(case)) if self._given is None else self._given
        if text is None or wanted is None:
            return Failure("not_text", self.place, self.evidence())
        return self.has(text, wanted)

    def explain(self, value: Json, case: Case, result: bool) -> Failure:
        """That the text is there, or that it is not."""
        code = f"at_{self.END}" if result else f"not_at_{self.END}"
        evidence = self.evidence(expected=self._expectation.of(case), got=value)
        return Failure(code, self.place, evidence)

    @staticmethod
    @abstractmethod
    def has(text: str, wanted: str) -> bool:
        """Whether `wanted` is at this end of `text`."""

    def _spell(self, value: Json) -> str | None:
        text = value if value.__class__ is str else spell(value)
        return text if text is None or self._fold is None else self._fold(text)


class StartsWith(_Affix):
    """The answer, or a part of it, starts with the expected text."""

    END: ClassVar[str] = "start"

    @staticmethod
    def has(text: str, wanted: str) -> bool:
        """Whether `text` starts with `wanted`."""
        return text.startswith(wanted)


class EndsWith(_Affix):
    """The answer, or a part of it, ends with the expected text."""

    END: ClassVar[str] = "end"

    @staticmethod
    def has(text: str, wanted: str) -> bool:
        """Whether `text` ends with `wanted`."""
        return text.endswith(wanted)
