"""The tests that decide between two reports: one over all units, one for each.

Both are exact. Each takes half of the allowed chance of calling a regression what is none, so that
together they do so in at most one comparison in twenty.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from fractions import Fraction
from itertools import accumulate
from math import erfc, fsum, sqrt

from msgspec import Struct

from proctor.evidence.labels import is_hard, left_p
from proctor.evidence.tables import TOLERANCE, Counted, at_most

ALPHA = 0.05
"""How often two reports of the same thing may be called a regression."""

ALPHA_EACH = ALPHA / 2

MOST_EXACT = 2_000
"""Up to how many possible sums less one the exact distribution is worked out."""

Family = Mapping[Counted, int]
"""How many units have each division of rows; units measured on one side only are not in it."""


class Aggregate(Struct, frozen=True):
    """What all units say together: whether fewer rows pass than chance would explain.

    `passed` and `rows`, of the baseline and of now, are those of the units that can tell anything.
    """

    p: float
    is_exact: bool
    base_passed: int
    base_rows: int
    now_passed: int
    now_rows: int

    def is_red(self, tolerance: Fraction) -> bool:
        """Whether it is a regression: beyond chance, and more than is tolerated."""
        if not self.base_rows:
            return False
        fell = Fraction(self.base_passed, self.base_rows) - Fraction(self.now_passed, self.now_rows)
        return at_most(self.p, ALPHA_EACH) and fell > tolerance


def aggregate(family: Family) -> Aggregate:
    """The exact test over all units, stratified by unit.

    Within each unit the passes of both sides are taken as given, so units may differ as they like.
    With one row a side it is McNemar's test, one-sided. A unit whose rows all passed, or all
    failed, says nothing.

    Source:
        W. G. Cochran, Some Methods for Strengthening the Common Chi-Square Tests (1954); N. Mantel
        and W. Haenszel, Statistical Aspects of the Analysis of Data from Retrospective Studies of
        Disease (1959); here with the exact distribution.

    Example:
        >>> aggregate({Counted(5, 5, 4, 5): 5}).p
        0.03125
    """
    telling = {counted: n for counted, n in family.items() if 0 < counted.passed < counted.rows}
    strata: dict[tuple[int, int, int], int] = {}
    for counted, units in telling.items():
        margins = (counted.passed, counted.rows, counted.now_rows)
        strata[margins] = strata.get(margins, 0) + units
    tables = [
        (Counted(passed, rows - now, 0, now), units)
        for (passed, rows, now), units in sorted(strata.items())
    ]
    now_passed = _total(telling, 2)
    is_exact = sum((len(one.table.chances) - 1) * n for one, n in tables) <= MOST_EXACT
    return Aggregate(
        p=_exact_p(tables, now_passed) if is_exact else _normal_p(tables, now_passed),
        is_exact=is_exact,
        base_passed=_total(telling, 0),
        base_rows=_total(telling, 1),
        now_passed=now_passed,
        now_rows=_total(telling, 3),
    )


def _total(family: Family, part: int) -> int:
    return sum(units * counted[part] for counted, units in family.items())


def _exact_p(tables: list[tuple[Counted, int]], observed: int) -> float:
    """P(sum <= observed), the distributions of all units convolved."""
    size = 1 + observed - sum(one.table.least * units for one, units in tables)
    whole = [1.0]
    for one, units in tables:
        power, left = one.table.chances, units
        while True:
            if left % 2:
                whole = _convolved(whole, power, size)
            left //= 2
            if not left:
                break
            power = _convolved(power, power, size)
    return min(1.0, fsum(whole[:size]))


def _convolved(one: list[float], other: list[float], size: int) -> list[float]:
    """The distribution of the sum of two numbers, the first `size` values of it."""
    short, long = sorted((one, other), key=len)
    total = [0.0] * min(size, len(one) + len(other) - 1)
    for shift, chance in enumerate(short[: len(total)]):
        part = total[shift : shift + len(long)]
        total[shift : shift + len(long)] = [
            before + chance * more for before, more in zip(part, long, strict=False)
        ]
    return total


def _normal_p(tables: list[tuple[Counted, int]], observed: int) -> float:
    """The same by the normal distribution, with a correction for continuity."""
    mean = fsum(units * one.now_rows * one.passed / one.rows for one, units in tables)
    variance = fsum(units * _variance(one) for one, units in tables)
    z = (observed - mean + 0.5) / sqrt(variance)
    return erfc(-z / sqrt(2)) / 2


def _variance(one: Counted) -> float:
    ways = one.now_rows * one.base_rows * one.passed * (one.rows - one.passed)
    return ways / (one.rows**2 * (one.rows - 1))


def flagged(family: Family) -> set[Counted]:
    """The units that fell by themselves, beyond what chance gives among so many units.

    A unit with few rows could not be flagged whatever its rows said, so it does not count as one
    that was looked at. One is flagged only if it also fell by 30 points from 70% or more.

    Returns:
        The divisions of rows that are flagged; units alike are flagged together.

    Source:
        R. E. Tarone, A Modified Bonferroni Method for Discrete Data (1990); S. Holm, A Simple
        Sequentially Rejective Multiple Test Procedure (1979).

    Example:
        >>> flagged({Counted(5, 5, 0, 5): 1, Counted(5, 5, 5, 5): 39})
        {Counted(base_passed=5, base_rows=5, now_passed=0, now_rows=5)}
    """
    found: set[Counted] = set()
    left = dict(family)
    while True:
        limit = unit_limit(left)
        fallen = {one for one in left if is_hard(one) and at_most(left_p(one), limit)}
        if not fallen:
            return found
        found |= fallen
        for one in fallen:
            del left[one]


def unit_limit(family: Family) -> float:
    """What a single unit's p must not exceed to be flagged first, among all units of the family."""
    return ALPHA_EACH / _looked_at(family)


def _looked_at(family: Family) -> int:
    """The smallest k for which at most k units could come below alpha/k at all."""
    least: dict[float, int] = {}
    for counted, units in family.items():
        p = _least_p(counted)
        least[p] = least.get(p, 0) + units
    reached = sorted(least)
    units_up_to = list(accumulate((least[p] for p in reached), initial=0))

    def is_enough(k: int) -> bool:
        limit = ALPHA_EACH / k * (1 + TOLERANCE)
        return units_up_to[bisect_right(reached, limit)] <= k

    # The more units are allowed for, the fewer could come below: what holds once holds from there.
    low, high = 1, max(1, units_up_to[-1])
    while low < high:
        middle = (low + high) // 2
        if is_enough(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _least_p(counted: Counted) -> float:
    """The least p that the margins of a unit allow."""
    if 0 < counted.passed < counted.rows:
        return counted.table.chances[0]
    return 1.0
