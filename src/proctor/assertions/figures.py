"""The kinds `latency` and `cost`: what was recorded with the answer is within a limit."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar, Self, cast

from proctor.assertions.answers import AnswerView, Failure, NoVerdict
from proctor.assertions.base import MatchingAssertion, invalid
from proctor.protocols import Scope
from proctor.records import Answered, AssertionSpec, Case, Json


class FigureSpec(AssertionSpec, frozen=True, kw_only=True):
    """The fields of `latency` and `cost`.

    Args:
        max: The most that passes: milliseconds, or USD.
    """

    max: float


class _FigureLimit(MatchingAssertion[bool]):
    """A recorded figure is at most `max`. Where it is not known there is no verdict."""

    Spec: ClassVar[type[AssertionSpec]] = FigureSpec
    NAME: ClassVar[str]
    """What the figure is, in reasons."""

    def __init__(self, spec: FigureSpec) -> None:
        super().__init__(spec)
        self._max = spec.max

    @classmethod
    def compile(cls, spec: AssertionSpec, scope: Scope) -> Self:
        """Make the assertion ready.

        Raises:
            SuiteError: P6201 when `max` is below 0 or not finite.
        """
        spec = cast("FigureSpec", spec)
        if not 0 <= spec.max < math.inf:
            raise invalid("`max` must be 0 or more")
        return cls(spec)

    def select(self, view: AnswerView, case: Case) -> Json | Failure:
        """The figure."""
        figure = self.figure_of(view)
        return NoVerdict(f"unknown_{self.NAME}") if figure is None else figure

    def match(self, value: Json, case: Case) -> bool:
        """Whether the figure is within the limit."""
        return bool(value <= self._max)

    def explain(self, value: Json, case: Case, result: bool) -> Failure:
        """That the figure is above the limit, or that it is not."""
        code = "within" if result else "above_max"
        return Failure(code, evidence=self.evidence(got=value, max=self._max))

    @staticmethod
    @abstractmethod
    def figure_of(answered: Answered) -> float | None:
        """The figure, None when it was not recorded."""


class LatencyLimit(_FigureLimit):
    """The answer took at most `max` milliseconds when it was recorded."""

    NAME: ClassVar[str] = "latency"

    @staticmethod
    def figure_of(answered: Answered) -> float | None:
        """Milliseconds."""
        return answered.latency_ms


class CostLimit(_FigureLimit):
    """The answer cost at most `max` USD when it was recorded."""

    NAME: ClassVar[str] = "cost"

    @staticmethod
    def figure_of(answered: Answered) -> float | None:
        """USD."""
        return answered.cost_usd
