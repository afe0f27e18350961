"""A word for what became of one unit between two reports. Labels are for people, never a gate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from proctor.evidence.tables import Counted, at_most
from proctor.records.comparison import Label

_SURE, _LIKELY = 0.05, 0.20


class Pair(NamedTuple):
    """One unit in two reports.

    `base_planned` and `now_planned` also count rows that were errored, unmeasured or not run.
    """

    counted: Counted
    base_planned: int
    now_planned: int

    @property
    def is_insufficient(self) -> bool:
        """Whether too little was measured on some side."""
        counted = self.counted
        return too_few(counted.base_rows, self.base_planned) or too_few(
            counted.now_rows, self.now_planned
        )


def too_few(measured: int, planned: int) -> bool:
    """Whether a unit says too little: fewer than 8 of 10 of its rows were measured."""
    return measured == 0 or 10 * measured < 8 * planned


def label_of(pair: Pair) -> tuple[Label, float]:
    """What became of a unit, and the chance of so few passes if nothing had changed.

    The chance is 1 when a side was not measured, and when all rows passed or all failed.

    Example:
        >>> label_of(Pair(Counted(3, 3, 0, 3), 3, 3))
        (<Label.HARD_REGRESSION: 'hard_regression'>, 0.05)
    """
    counted = pair.counted
    p = left_p(counted)
    if pair.is_insufficient:
        return Label.INSUFFICIENT_DATA, p
    return _label(counted, p), p


def left_p(counted: Counted) -> float:
    """Fisher's one-sided p of a unit: the chance of so few passes now if nothing had changed."""
    if not _can_differ(counted):
        return 1.0
    return counted.table.at_most(counted.now_passed)


def is_hard(counted: Counted) -> bool:
    """Whether a unit fell by 30 points or more from 70% or more."""
    return _fell(counted, 30) and 10 * counted.base_passed >= 7 * counted.base_rows


def _can_differ(counted: Counted) -> bool:
    has_both = counted.base_rows > 0 and counted.now_rows > 0
    return has_both and 0 < counted.passed < counted.rows


def _fell(counted: Counted, points: int) -> bool:
    return 100 * counted.drop >= points * counted.base_rows * counted.now_rows


def _label(counted: Counted, p: float) -> Label:
    base_passed, base_rows, now_passed, now_rows = counted
    is_far = 100 * abs(counted.drop) >= 35 * base_rows * now_rows
    if base_rows == 1 or now_rows == 1:
        return Label.WATCH if is_far else Label.STABLE
    rose = -100 * counted.drop >= 30 * base_rows * now_rows
    if rose and at_most(counted.table.at_least(now_passed), _SURE):
        return Label.IMPROVEMENT
    if at_most(p, _SURE) and _fell(counted, 30):
        if 10 * base_passed >= 7 * base_rows:
            return Label.HARD_REGRESSION
        if 2 * base_passed >= base_rows:
            return Label.SOFT_REGRESSION
        return Label.UNRELIABLE_BASELINE
    if at_most(p, _LIKELY) and _fell(counted, 15) and 2 * base_passed >= base_rows:
        return Label.SOFT_REGRESSION
    return Label.WATCH if is_far else Label.STABLE


def labels_by_chance(pairs: Mapping[Pair, int]) -> dict[Label, float]:
    """How many units would have each label if nothing had changed.

    For each unit it is the chance of all the divisions of its passes that have the label.

    Args:
        pairs: How many units there are of each kind.
    """
    expected = dict.fromkeys(Label, 0.0)
    for pair, units in sorted(pairs.items()):
        for label, chance in _chances(
            pair.counted.passed,
            pair.counted.rows,
            pair.counted.now_rows,
            (pair.base_planned, pair.now_planned),
        ):
            expected[label] += units * chance
    return expected


@lru_cache(maxsize=65_536)
def _chances(
    passed: int, rows: int, now: int, planned: tuple[int, int]
) -> Iterable[tuple[Label, float]]:
    table = Counted(passed, rows - now, 0, now).table
    found: dict[Label, float] = {}
    for x, chance in enumerate(table.chances, table.least):
        counted = Counted(passed - x, rows - now, x, now)
        label, _ = label_of(Pair(counted, *planned))
        found[label] = found.get(label, 0.0) + chance
    return tuple(found.items())
