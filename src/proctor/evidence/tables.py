"""How likely each division of a unit's passes between two reports is, if nothing changed.

A unit passed cb of nb rows in the baseline and cn of nn rows now. If nothing changed between the
two, its K = cb + cn passes fell on the N = nb + nn rows by chance alone, and how many of them are
among the rows of now is hypergeometric. That is Fisher's exact test.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from math import comb
from typing import NamedTuple

TOLERANCE = 1e-9
"""How far a limit may be missed, relative to it, and still hold: what rounding can cost."""


class Counted(NamedTuple):
    """The rows of one unit in two reports: how many were measured, and how many passed."""

    base_passed: int
    base_rows: int
    now_passed: int
    now_rows: int

    @property
    def passed(self) -> int:
        """Passes of both sides, K."""
        return self.base_passed + self.now_passed

    @property
    def rows(self) -> int:
        """Rows of both sides, N."""
        return self.base_rows + self.now_rows

    @property
    def drop(self) -> int:
        """How far the rate fell, as the numerator over `base_rows * now_rows`."""
        return self.base_passed * self.now_rows - self.now_passed * self.base_rows

    @property
    def table(self) -> Table:
        """All divisions of these passes over these rows."""
        return table_of(self.passed, self.rows, self.now_rows)


class Table:
    """The chance of each number of passes now.

    Args:
        passed: Passes of both sides, K.
        rows: Rows of both sides, N.
        now: Rows of now.
    """

    __slots__ = ("_falling", "_rising", "chances", "least")

    def __init__(self, passed: int, rows: int, now: int) -> None:
        self.least = max(0, passed - (rows - now))
        """The fewest passes that can be among the rows of now."""
        ways = list(_ways(passed, rows, now, self.least))
        whole = comb(rows, now)
        self.chances = [number / whole for number in ways]
        """The chance of `least` passes, of one more, and so on."""
        self._rising = [number / whole for number in accumulate(ways)]
        self._falling = [number / whole for number in accumulate(reversed(ways))]

    def at_most(self, passed: int) -> float:
        """The chance of so few passes now: Fisher's p against a regression."""
        return self._rising[passed - self.least]

    def at_least(self, passed: int) -> float:
        """The chance of so many passes now: Fisher's p for an improvement."""
        return self._falling[-1 - (passed - self.least)]


@lru_cache(maxsize=4_096)
def table_of(passed: int, rows: int, now: int) -> Table:
    """The table of these margins; there are few different ones, however many units there are."""
    return Table(passed, rows, now)


def _ways(passed: int, rows: int, now: int, least: int) -> Iterator[int]:
    """In how many ways `least` passes can be among the rows of now, one more, and so on."""
    ways = comb(passed, least) * comb(rows - passed, now - least)
    for x in range(least, min(passed, now) + 1):
        yield ways
        # Each from the one before, in whole numbers: exact, and faster than anew.
        ways = ways * (passed - x) * (now - x) // ((x + 1) * (rows - passed - now + x + 1))


def at_most(p: float, limit: float) -> bool:
    """Whether a probability is at most a limit, which rounding does not decide."""
    return p <= limit * (1 + TOLERANCE)
