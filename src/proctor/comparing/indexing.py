"""What a comparison keeps of a report: counts of each case, and nothing of what was said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import UNSET

from proctor.comparing.matching import Place
from proctor.records import BUILD_ONLY, CaseResult, Outcome, ReportHead, RowResult

Cases = Iterable[tuple[int, int, CaseResult]]
"""The cases of a report, each after the places of its suite and its subject in the head."""

_MEASURED = (Outcome.PASSED, Outcome.FAILED)


class UnitName(NamedTuple):
    """Which unit of a case: one of its scenarios, one of its expectations, or all of it."""

    scenario: str | None
    expectation: str | None

    def of(self, case: str) -> str:
        """The unit as people name it."""
        return " / ".join(filter(None, (case, self.scenario, self.expectation)))


class UnitCount(NamedTuple):
    """The rows of a unit: measured ones, all of them, and those that are evidence of their own.

    Rows of one recording are evidence once. `is_one_answer` when there is one such row, or when all
    have the same answer and the same outcome.
    """

    passed: int
    measured: int
    planned: int
    counted_passed: int
    counted: int
    is_one_answer: bool


Units = tuple[tuple[UnitName, UnitCount], ...]
"""The units of a case, each by its name."""


class CaseFacts(NamedTuple):
    """What is compared of a case: its outcome, the digest of what is expected, its units."""

    outcome: Outcome
    expected: str | None
    units: Units


_WHOLE = UnitName(None, None)


class FactsReader:
    """Reads the facts of the cases of one report, in the order of the report.

    Args:
        head: The head of the report.
    """

    def __init__(self, head: ReportHead) -> None:
        self.lacks_answers = False
        """Whether repeats were read whose answers are not in the report."""
        self._repeats = [suite.repeats for suite in head.suites]
        self._recordings: set[str] = set()
        # There are few different units, however many cases there are: each is made and kept once.
        self._single: dict[tuple[int, Outcome, bool], Units] = {}
        self._known: dict[Units, Units] = {}

    def facts(self, suite: int, case: CaseResult) -> CaseFacts:
        """The facts of the next case of a suite."""
        repeats, rows = self._repeats[suite], case.rows
        if len(case.units) != 1 or case.units[0].scenario is not None:
            units = tuple(self._units(repeats, case))
        elif len(rows) == 1:
            row = rows[0]
            is_evidence = row.outcome in _MEASURED and self._is_new(row)
            known = (repeats, row.outcome, is_evidence)
            units = self._single.get(known, ())
            if not units:
                units = ((_WHOLE, _count(repeats, rows, rows if is_evidence else [])),)
                self._single[known] = units
        else:
            units = ((_WHOLE, self._count(repeats, rows)),)
        return CaseFacts(case.outcome, case.expected_sha256, self._known.setdefault(units, units))

    def _units(self, repeats: int, case: CaseResult) -> Iterator[tuple[UnitName, UnitCount]]:
        for unit in case.units:
            if unit.expectation is not UNSET:
                name = UnitName(None, unit.expectation)
                yield name, UnitCount(unit.passed, unit.n, max(repeats, unit.n), 0, 0, False)
            elif unit.scenario != BUILD_ONLY:
                rows = [row for row in case.rows if row.scenario == unit.scenario]
                scenario = None if unit.scenario is UNSET else unit.scenario
                yield UnitName(scenario, None), self._count(repeats, rows)

    def _count(self, repeats: int, rows: list[RowResult]) -> UnitCount:
        evidence = [row for row in rows if row.outcome in _MEASURED and self._is_new(row)]
        # A row that says what went wrong never had an answer.
        if len(evidence) > 1 and any(row.answer is None and row.error is None for row in evidence):
            self.lacks_answers = True
        return _count(repeats, rows, evidence)

    def _is_new(self, row: RowResult) -> bool:
        """Whether no row before was answered by the same recording."""
        if row.recording is None:
            return True
        if row.recording in self._recordings:
            return False
        self._recordings.add(row.recording)
        return True


def _count(repeats: int, rows: list[RowResult], evidence: list[RowResult]) -> UnitCount:
    outcomes = [row.outcome for row in rows]
    passed = outcomes.count(Outcome.PASSED)
    counted_passed = [row.outcome for row in evidence].count(Outcome.PASSED)
    return UnitCount(
        passed=passed,
        measured=passed + outcomes.count(Outcome.FAILED),
        planned=max(repeats, len(rows)),
        counted_passed=counted_passed,
        counted=len(evidence),
        is_one_answer=counted_passed in (0, len(evidence)) and _is_one_answer(evidence),
    )


def _is_one_answer(rows: list[RowResult]) -> bool:
    """Whether there is one row, or several with the same answer; not, when answers are unknown."""
    answers = [row.answer for row in rows]
    if len(answers) < 2:
        return len(answers) == 1
    return answers[0] is not None and answers.count(answers[0]) == len(answers)


class ReportIndex:
    """The facts of some subjects of a report, by case.

    Args:
        head: The head of the report.
        cases: All its cases; they are read to their end.
        wanted: The subjects to keep.
    """

    def __init__(self, head: ReportHead, cases: Cases, wanted: Iterable[Place]) -> None:
        self.subjects: dict[Place, dict[str, CaseFacts]] = {place: {} for place in wanted}
        reader = FactsReader(head)
        for suite, subject, case in cases:
            kept = self.subjects.get(Place(suite, subject))
            if kept is not None:
                kept[case.id] = reader.facts(suite, case)
        self.lacks_answers = reader.lacks_answers
