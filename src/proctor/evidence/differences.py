"""How far two reports differ, for people to read; nothing here decides anything."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import fsum, sqrt

from proctor.evidence.flags import Family
from proctor.statistics import Z_95

FEWEST_CHANGES = 6
"""With fewer cases that changed their outcome, McNemar's p is above 5% however they fell."""

FEWEST_UNITS = 6
"""With fewer units, how units differ is hardly known."""


def mcnemar_p(worse: int, better: int) -> float:
    """The chance that single rows change as unevenly as this, or more, in either direction.

    Source:
        Q. McNemar, Note on the Sampling Error of the Difference between Correlated Proportions or
        Percentages (1947); the exact test.

    Example:
        >>> mcnemar_p(5, 0), mcnemar_p(6, 0)
        (0.0625, 0.03125)
    """
    changes, fewer = worse + better, min(worse, better)
    if 2 * fewer == changes:
        return 1.0
    # Down from the middle of the binomial distribution, whose chance is a product of ratios.
    place = changes // 2
    chance = 1.0
    for step in range(1, place + 1):
        chance *= 1 - 1 / (2 * step)
    if changes % 2:
        chance *= (place + 0.5) / (place + 1)
    tail = []
    while place >= 0:
        if place <= fewer:
            tail.append(chance)
        chance *= place / (changes - place + 1)
        place -= 1
    return min(1.0, 2 * fsum(tail))


def paired_interval(worse: int, better: int, units: int) -> tuple[float, float] | None:
    """The 95% interval of the difference of two rates over the same units, one row a side.

    Source:
        D. G. Bonett and R. M. Price, Adjusted Wald Confidence Interval for a Difference of Binomial
        Proportions Based on Paired Data (2012).

    Example:
        >>> [round(bound, 4) for bound in paired_interval(6, 1, 40)]
        [-0.2543, 0.0162]
    """
    if units == 0:
        return None
    lost, won = (worse + 1) / (units + 2), (better + 1) / (units + 2)
    spread = Z_95 * sqrt((lost + won - (lost - won) ** 2) / (units + 2))
    return _clamped(won - lost, spread)


def mean_difference(family: Family) -> float | None:
    """The mean over units of how much the rate changed; None when there is no unit.

    Example:
        >>> from proctor.evidence.tables import Counted
        >>> mean_difference({Counted(2, 4, 3, 4): 1, Counted(4, 4, 4, 4): 1})
        0.125
    """
    changes = _changes(family)
    units = sum(changes.values())
    return float(sum(change * n for change, n in changes.items()) / units) if units else None


def difference_interval(family: Family) -> tuple[float, float] | None:
    """The 95% interval of the mean difference, by Student's t over units.

    None with fewer than six units, and when all units changed alike: then nothing is known of how
    units differ.

    Source:
        The expansion of the quantile of t: M. Abramowitz and I. A. Stegun, Handbook of Mathematical
        Functions (1964), 26.7.5.
    """
    changes = _changes(family)
    units = sum(changes.values())
    if units < FEWEST_UNITS or len(changes) < 2:
        return None
    mean = sum(change * n for change, n in changes.items()) / units
    squares = sum((change - mean) ** 2 * n for change, n in changes.items())
    spread = t_quantile(units - 1) * sqrt(squares / (units - 1) / units)
    return _clamped(float(mean), spread)


def t_quantile(degrees: int) -> float:
    """The 97.5% quantile of Student's t, by its expansion; good from five degrees of freedom."""
    z = Z_95
    first = (z**3 + z) / (4 * degrees)
    return z + first + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


def _changes(family: Family) -> Mapping[Fraction, int]:
    """How many units changed by how much."""
    changes: dict[Fraction, int] = {}
    for counted, units in family.items():
        change = Fraction(-counted.drop, counted.base_rows * counted.now_rows)
        changes[change] = changes.get(change, 0) + units
    return changes


def _clamped(middle: float, spread: float) -> tuple[float, float]:
    return max(-1.0, middle - spread), min(1.0, middle + spread)
