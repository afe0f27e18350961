"""The kind `equals`: the answer, or a part of it, is the expected value."""

from __future__ import annotations

from typing import ClassVar, cast

from proctor.assertions.answers import Failure
from proctor.assertions.base import AnswerAssertion, ComparingSpec, Expectation
from proctor.assertions.matching import first_difference, json_equal
from proctor.protocols import Scope
from proctor.records import AssertionSpec, Case, Json


class Equals(AnswerAssertion[bool]):
    """Deep, type-aware equality; `trim` and `ignoreCase` hold for strings at any depth, not keys.

    An expected value that is not a string is compared with the answer parsed as JSON.
    """

    Spec: ClassVar[type[AssertionSpec]] = ComparingSpec

    def __init__(self, spec: ComparingSpec) -> None:
        super().__init__(spec)
        self._expectation = Expectation.of_spec(spec)
        self._fold = spec.fold

    @staticmethod
    def compile(spec: AssertionSpec, scope: Scope) -> Equals:
        """Make the assertion ready.

        Raises:
            SuiteError: P6201 when `value` and `expected` are both given, or a pointer is none.
        """
        return Equals(cast("ComparingSpec", spec))

    def needs(self, case: Case) -> str | None:
        """What this case lacks for the assertion to be asked, as a sentence, or None."""
        return self._expectation.lacks(case)

    def reads_json(self, case: Case) -> bool:
        """Whether the expected value is compared with more than the text."""
        return not isinstance(self._expectation.of(case), str)

    def match(self, value: Json, case: Case) -> bool:
        """Whether the value is the expected one."""
        expected = self._expectation.of(case)
        if self._fold is None and isinstance(expected, str):
            return bool(value == expected)
        return json_equal(expected, value, self._fold)

    def explain(self, value: Json, case: Case, result: bool) -> Failure:
        """Where the values differ, or that they do not."""
        difference = first_difference(self._expectation.of(case), value, self._fold)
        if difference is None:
            return Failure("equal", self.place, self.evidence(got=value))
        evidence = self.evidence(difference.place, expected=difference.expected, got=difference.got)
        return Failure("not_equal", evidence.get("path", ""), evidence)
