"""The units of repeated rows, kept as which of their repeats were measured and which passed.

Units that are alike are one entry, so memory does not grow with the number of cases. Of a run that
was interrupted, pass@k and pass^k are about the repeats of which every row was run: in the others
there are rows of those cases only that came first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from proctor.records import BUILD_ONLY, CaseResult, ExpectationResult, Outcome, RowResult

_PASSED, _FAILED = Outcome.PASSED, Outcome.FAILED


class RepeatedUnits:
    """Counts the units of a subject, case by case."""

    def __init__(self) -> None:
        # By the repeats in which a unit was measured and passed, each a bit.
        self._alike: dict[tuple[int, int], int] = {}

    def add(self, rows: Iterable[RowResult], expectations: Iterable[ExpectationResult]) -> None:
        """Count the units of a case."""
        units: dict[tuple[bool, str | None], tuple[int, int]] = {}
        for row in rows:
            if row.scenario != BUILD_ONLY:
                _mark(units, (False, row.scenario), row.repeat, row.outcome)
        for one in expectations:
            _mark(units, (True, one.text), one.repeat, one.outcome)
        for unit in units.values():
            self._alike[unit] = self._alike.get(unit, 0) + 1

    def counts(self, repeats: Iterable[int] | None = None) -> dict[tuple[int, int], int]:
        """How many units there are of which so many rows passed, of so many measured ones.

        Args:
            repeats: Only these repeats count; None for all.
        """
        mask = -1 if repeats is None else sum(1 << repeat for repeat in repeats)
        found: dict[tuple[int, int], int] = {}
        for (measured, passed), count in self._alike.items():
            unit = (passed & mask).bit_count(), (measured & mask).bit_count()
            found[unit] = found.get(unit, 0) + count
        return found


def _mark(
    units: dict[tuple[bool, str | None], tuple[int, int]],
    name: tuple[bool, str | None],
    repeat: int,
    outcome: Outcome,
) -> None:
    measured, passed = units.get(name, (0, 0))
    if outcome is _PASSED:
        passed |= 1 << repeat
    if outcome is _PASSED or outcome is _FAILED:
        measured |= 1 << repeat
    units[name] = measured, passed


def complete_repeats(cases: Iterable[CaseResult], *, rows: int, repeats: int) -> list[int]:
    """The repeats of a subject of which every row was run.

    Args:
        cases: Its cases.
        rows: How many rows were planned.
        repeats: In how many repeats.
    """
    run = Counter(row.repeat for case in cases for row in case.rows)
    return [repeat for repeat in range(1, repeats + 1) if run[repeat] * repeats == rows]
