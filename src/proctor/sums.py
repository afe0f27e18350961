"""Sums over the calls of a run: money, tokens, and how clearly judges decided."""

from __future__ import annotations

import sys

from proctor.protocols import BuildCall
from proctor.records import Check, Outcome, RowResult, Tokens

_PASSED, _FAILED = Outcome.PASSED, Outcome.FAILED

_MOST_TOKENS = 1_000_000_000
_FLOAT_SHIFT = 1074
"""Every finite float is a whole number of 2**-1074."""


class CostSum:
    """A sum of USD over calls, rounded once at its end like `math.fsum`, in constant memory."""

    __slots__ = ("_units", "calls", "unknown")

    def __init__(self) -> None:
        self.calls = 0
        self.unknown = 0
        self._units = 0

    def add(self, cost_usd: float | None) -> None:
        """Add what one call cost, None when that is not known."""
        self.calls += 1
        if cost_usd is None:
            self.unknown += 1
            return
        numerator, denominator = cost_usd.as_integer_ratio()
        self._units += numerator << (_FLOAT_SHIFT + 1 - denominator.bit_length())

    def merge(self, other: CostSum) -> None:
        """Add another sum."""
        self.calls += other.calls
        self.unknown += other.unknown
        self._units += other._units

    @property
    def known(self) -> float:
        """The sum over the calls whose cost is known."""
        try:
            return self._units / (1 << _FLOAT_SHIFT)
        except OverflowError:
            return sys.float_info.max

    @property
    def total(self) -> float | None:
        """The same, but None when there were calls and none has a known cost."""
        return None if self.calls and self.unknown == self.calls else self.known


class SplitCost:
    """The cost of calls: of those that were paid now, and of those that were replayed."""

    __slots__ = ("paid", "replayed")

    def __init__(self) -> None:
        self.paid, self.replayed = CostSum(), CostSum()

    @property
    def whole(self) -> CostSum:
        """Both together."""
        return merged(self.paid, self.replayed)


def merged(*sums: CostSum) -> CostSum:
    """Some sums as one."""
    whole = CostSum()
    for one in sums:
        whole.merge(one)
    return whole


class TokenSum:
    """Sums of tokens over calls. Usage is known when both its input and its output are."""

    __slots__ = ("cached", "cached_known", "calls", "input", "output", "unknown")

    def __init__(self) -> None:
        self.calls = self.unknown = self.cached_known = 0
        self.input = self.output = self.cached = 0

    def add(self, call: RowResult | BuildCall) -> None:
        """Add the usage of one call."""
        self.calls += 1
        usage = call.usage
        if (
            usage is None
            or usage.input is None
            or usage.output is None
            or usage.input > _MOST_TOKENS
            or usage.output > _MOST_TOKENS
        ):
            self.unknown += 1
            return
        self.input += usage.input
        self.output += usage.output
        if usage.cached is not None and usage.cached <= _MOST_TOKENS:
            self.cached_known += 1
            self.cached += usage.cached

    def report(self) -> Tokens:
        """The sums as reports hold them."""
        nothing = self.calls > 0 and self.unknown == self.calls
        return Tokens(
            input=None if nothing else self.input,
            output=None if nothing else self.output,
            cached=None if self.calls and not self.cached_known else self.cached,
            unknown=self.unknown,
        )


class JudgingSum:
    """How often one assertion was judged, and how clearly."""

    __slots__ = ("measured", "total", "unanimous")

    def __init__(self) -> None:
        self.measured = self.total = self.unanimous = 0

    def add(self, check: Check) -> None:
        """Count one check of the assertion, unless there was nothing to judge."""
        if not check.votes:
            return
        self.total += 1
        if check.outcome in (_PASSED, _FAILED):
            self.measured += 1
            self.unanimous += len({vote.verdict for vote in check.votes}) == 1
