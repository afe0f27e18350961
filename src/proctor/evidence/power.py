"""How many rows it takes to find a drop."""

from __future__ import annotations

from math import ceil, sqrt

from proctor.evidence.tables import TOLERANCE
from proctor.statistics import Z_95

Z_80 = 0.8416212335729143
"""The standard normal quantile of 80%: how often a drop of the asked size is to be found."""


def rows_to_find(rate: float, drop: float) -> float:
    """How many independent rows a side find a drop 80 times in a hundred, at 2.5% one-sided.

    Args:
        rate: The share of rows that pass before, at most 1 and at least `drop`.
        drop: By how much it falls, above 0.

    Source:
        J. L. Fleiss, Statistical Methods for Rates and Proportions (1981), with the correction for
        continuity.

    Example:
        >>> round(rows_to_find(0.9, 0.1), 4)
        218.5058
    """
    after = max(0.0, rate - drop)
    middle = (rate + after) / 2
    same = Z_95 * sqrt(2 * middle * (1 - middle))
    fallen = Z_80 * sqrt(rate * (1 - rate) + after * (1 - after))
    rows = (same + fallen) ** 2 / drop**2
    return rows / 4 * (1 + sqrt(1 + 4 / (rows * drop))) ** 2


def smallest_drop(rate: float, rows: int) -> float | None:
    """The smallest drop in whole points that so many rows find; None when there is none.

    Example:
        >>> smallest_drop(0.9, 219), smallest_drop(0.9, 218), smallest_drop(0.1, 5)
        (0.1, 0.11, None)
    """
    for points in range(1, 101):
        drop = points / 100
        if drop > rate * (1 + TOLERANCE):
            break
        if cases_needed(rows_to_find(rate, drop), 1) <= rows:
            return drop
    return None


def cases_needed(rows: float, repeats: int) -> int:
    """How many cases bring so many rows a side, each repeated so often."""
    return ceil(rows / repeats * (1 - TOLERANCE))
