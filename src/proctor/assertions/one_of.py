"""The kind `one-of`: the answer, or a part of it, is one of several values."""

from __future__ import annotations

from typing import ClassVar, cast

from msgspec import UNSET, UnsetType

from proctor.assertions.answers import Failure
from proctor.assertions.base import (
    AnswerAssertion,
    Expectation,
    SelectingSpec,
    cannot_fail,
    invalid,
)
from proctor.assertions.matching import folding, json_equal
from proctor.protocols import Scope
from proctor.records import AssertionSpec, Case, Json


class OneOfSpec(SelectingSpec, frozen=True, kw_only=True):
    """The fields of `one-of`.

    Args:
        values: What the answer may be. Without them, the case's `expected`, a list.
        expected: The part of the case's `expected` that is the list.
        trim: Ignore white space at both ends of a string.
        ignore_case: Compare strings without regard to case.
    """

    values: list[Json] | UnsetType = UNSET
    expected: str | UnsetType = UNSET
    trim: bool = False
    ignore_case: bool = False


class OneOf(AnswerAssertion[bool]):
    """The answer equals one of the values, by the rules of `equals`.

    Without `values`, the expected value of the case is the list of them.
    """

    Spec: ClassVar[type[AssertionSpec]] = OneOfSpec

    def __init__(self, spec: OneOfSpec) -> None:
        super().__init__(spec)
        self._expectation = Expectation(spec.values, spec.expected, field=spec.field, key="values")
        self._fold = folding(trim=spec.trim, ignore_case=spec.ignore_case)
        self._given = None if isinstance(spec.values, UnsetType) else spec.values
        self._texts: frozenset[str] | None = None
        if self._given is not None and self._fold is None and _all_text(self._given):
            self._texts = frozenset(self._given)

    @staticmethod
    def compile(spec: AssertionSpec, scope: Scope) -> OneOf:
        """Make the assertion ready.

        Raises:
            SuiteError: P6201 when there are no values to choose from, or `values` and `expected`
                are both given; P6202 when it is negated besides, and could never fail.
        """
        spec = cast("OneOfSpec", spec)
        if spec.values == []:
            refuse = cannot_fail if spec.negate else invalid
            raise refuse("`values` is empty", "write what the answer may be")
        return OneOf(spec)

    def needs(self, case: Case) -> str | None:
        """What this case lacks for the assertion to be asked, as a sentence, or None."""
        return self._expectation.unfit(case, _no_values)

    def reads_json(self, case: Case) -> bool:
        """Whether one of the values is something else than a text."""
        return self._texts is None and not _all_text(self._values(case))

    def match(self, value: Json, case: Case) -> bool:
        """Whether the value is one of those."""
        if self._texts is not None:
            return value.__class__ is str and value in self._texts
        return any(json_equal(one, value, self._fold) for one in self._values(case))

    def explain(self, value: Json, case: Case, result: bool) -> Failure:
        """That the value is one of those, or that it is none."""
        evidence = self.evidence(expected=self._values(case), got=value)
        return Failure("one_of" if result else "not_one_of", self.place, evidence)

    def _values(self, case: Case) -> list[Json]:
        return cast("list[Json]", self._expectation.of(case))


def _all_text(values: list[Json]) -> bool:
    return all(isinstance(one, str) for one in values)


def _no_values(value: Json) -> str | None:
    if isinstance(value, list) and value:
        return None
    return "its expected value is not a list of values"
