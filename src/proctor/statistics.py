"""Exact tests and intervals, as pure functions of counts."""

from __future__ import annotations

from math import sqrt

Z_95 = 1.959963984540054
"""The standard normal quantile of a two-sided 95% interval."""


def wilson_interval(passed: int, measured: int) -> tuple[float, float]:
    """The 95% interval of a rate, which stays inside [0, 1] and is honest for few rows.

    Rows must be independent of each other. With nothing measured the rate can be anything.

    Args:
        passed: How many rows passed, 0 to `measured`.
        measured: How many rows passed or failed.

    Returns:
        The lower and the upper bound.

    Source:
        E. B. Wilson, Probable Inference, the Law of Succession, and Statistical Inference (1927).

    Example:
        >>> [round(bound, 4) for bound in wilson_interval(5, 10)]
        [0.2366, 0.7634]
    """
    if measured == 0:
        return 0.0, 1.0
    centre = passed + Z_95**2 / 2
    spread = Z_95 * sqrt(passed * (measured - passed) / measured + Z_95**2 / 4)
    scale = measured + Z_95**2
    low = 0.0 if passed == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if passed == measured else min(1.0, (centre + spread) / scale)
    return low, high
