"""Exact rates and intervals, as pure functions of counts.

A unit is a case of one subject. What repeats say depends only on how many rows of each unit were
measured and how many of those passed, so all of it is a function of `Units`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from math import fsum, isnan, lcm, sqrt

from proctor.records import AtK

Z_95 = 1.959963984540054
"""The standard normal quantile of a two-sided 95% interval."""

Units = Mapping[tuple[int, int], int]
"""How many units have so many passed of so many measured rows: `{(passed, measured): units}`.

There are few different pairs, however many units there are.
"""


def wilson_interval(
    passed: int, measured: int, *, rows: float | None = None
) -> tuple[float, float]:
    """The 95% interval of a rate, which stays inside [0, 1] and is honest for few rows.

    Rows must be independent of each other; where they are not, `rows` says how many independent
    ones they are worth. With nothing measured the rate can be anything.

    Args:
        passed: How many rows passed, 0 to `measured`.
        measured: How many rows passed or failed.
        rows: What `effective_rows` returned; without it every measured row counts as one.

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
    rows = measured if rows is None else rows
    expected = passed * rows / measured
    centre = expected + Z_95**2 / 2
    spread = Z_95 * sqrt(expected * (measured - passed) / measured + Z_95**2 / 4)
    scale = rows + Z_95**2
    low = 0.0 if passed == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if passed == measured else min(1.0, (centre + spread) / scale)
    return low, high


def effective_rows(units: Units) -> float:
    """How many independent rows the rate over these units is worth.

    Repeats of one case resemble each other. When they agree completely they say no more than one
    row each would; when cases differ no more than rows do, each row counts.

    Source:
        The design effect of a ratio estimated over clusters: L. Kish, Survey Sampling (1965).

    Example:
        >>> effective_rows({(5, 5): 10}), effective_rows({(4, 5): 10})
        (10, 50)
    """
    passed = sum(count * unit_passed for (unit_passed, _), count in units.items())
    measured = sum(count * unit_measured for (_, unit_measured), count in units.items())
    if all(unit_measured < 2 for _, unit_measured in units):
        return measured
    number = sum(count for (_, unit_measured), count in units.items() if unit_measured)
    if passed in (0, measured):
        return number
    spread = sum(
        count * (unit_passed * measured - passed * unit_measured) ** 2
        for (unit_passed, unit_measured), count in units.items()
    )
    if number == 1 or spread == 0:
        return measured
    # p(1 - p)/v with everything over one denominator, so that only the result is rounded.
    worth = passed * (measured - passed) * measured**2 * (number - 1) / (number * spread)
    return min(measured, worth)


def pass_at_k(units: Units, repeats: int) -> list[AtK]:
    """The chance that at least one of k rows of a unit passes, as a mean over units.

    Without bias: it is the share of all ways to draw k of a unit's measured rows. A unit with fewer
    than k is not available for that k, and counted.

    Args:
        units: The units.
        repeats: The largest k.

    Returns:
        One for each k from 1 to `repeats`.

    Source:
        M. Chen et al., Evaluating Large Language Models Trained on Code (2021).

    Example:
        >>> [round(each.value, 4) for each in pass_at_k({(1, 3): 1}, 3)]
        [0.3333, 0.6667, 1.0]
    """
    failures = {(measured - passed, measured): n for (passed, measured), n in units.items()}
    return [
        AtK(k, (ways - all_failed) / ways if ways else None, available, missing)
        for k, all_failed, ways, available, missing in _all_of_k(failures, repeats)
    ]


def pass_hat_k(units: Units, repeats: int) -> list[AtK]:
    """The chance that all of k rows of a unit pass, as a mean over units.

    Counted like `pass_at_k`. Where k is the number of a unit's rows, it is 1 or 0.

    Source:
        S. Yao et al., tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains
        (2024).

    Example:
        >>> [round(each.value, 4) for each in pass_hat_k({(2, 3): 1}, 3)]
        [0.6667, 0.3333, 0.0]
    """
    return [
        AtK(k, all_passed / ways if ways else None, available, missing)
        for k, all_passed, ways, available, missing in _all_of_k(units, repeats)
    ]


def _all_of_k(units: Units, most: int) -> Iterator[tuple[int, int, int, int, int]]:
    """For each k: the mean over units of C(marked, k) / C(measured, k), as an exact fraction.

    Yields:
        k, the fraction's numerator and its denominator, 0 when there is no unit; how many units
        are in it, and how many have fewer than k rows.
    """
    by_measured: dict[int, list[tuple[int, int]]] = {}
    for (marked, measured), count in units.items():
        by_measured.setdefault(measured, []).append((marked, count))
    total = sum(units.values())
    choices = [1] * (1 + max(by_measured, default=0))
    for k in range(1, most + 1):
        # C(m, k) for every m from 0: the sums of C(m, k - 1) over all smaller m.
        choices = [0, *accumulate(choices[:-1])]
        enough = {measured: each for measured, each in by_measured.items() if measured >= k}
        common = lcm(*(choices[measured] for measured in enough))
        drawn = available = 0
        for measured, members in enough.items():
            scale = common // choices[measured]
            drawn += scale * sum(count * choices[marked] for marked, count in members)
            available += sum(count for _, count in members)
        yield k, drawn, common * available, available, total - available


def mean_score(scores: Iterable[float]) -> tuple[float | None, int]:
    """The mean of those scores that are numbers, and how many these are.

    A score that is not a number was not measured; without any there is no mean, which is not 0.

    Example:
        >>> mean_score([0.75, float("nan"), 1.0])
        (0.875, 2)
    """
    known = [score for score in scores if not isnan(score)]
    return (fsum(known) / len(known) if known else None), len(known)


def cohens_kappa(*, both: int, first: int, second: int, neither: int) -> float | None:
    """How much two judges agree beyond what they would by chance; None when chance explains all.

    Args:
        both: Cases that both of them call right.
        first: Cases that only the first one does.
        second: Cases that only the second one does.
        neither: Cases that neither of them does.

    Source:
        J. Cohen, A Coefficient of Agreement for Nominal Scales (1960).

    Example:
        >>> round(cohens_kappa(both=20, first=5, second=10, neither=15), 4)
        0.4
    """
    apart = (both + first) * (first + neither) + (both + second) * (second + neither)
    return 2 * (both * neither - first * second) / apart if apart else None


def is_flaky(passed: int, measured: int) -> bool:
    """Whether a unit passed and failed."""
    return 0 < passed < measured


def is_barely_passing(passed: int, measured: int) -> bool:
    """Whether a unit passed at times, but failed more often."""
    return 0 < 2 * passed < measured


def percent(passed: int, measured: int) -> int | None:
    """A rate as whole percent, halves rounded up; None when nothing was measured.

    Example:
        >>> percent(1, 8), percent(0, 0)
        (13, None)
    """
    return (200 * passed + measured) // (2 * measured) if measured else None
