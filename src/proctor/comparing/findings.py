"""What became of the cases of one subject between two reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from proctor.comparing.indexing import CaseFacts, UnitCount, UnitName, Units
from proctor.evidence.differences import (
    difference_interval,
    mcnemar_p,
    mean_difference,
    paired_interval,
)
from proctor.evidence.flags import Family
from proctor.evidence.labels import Pair, is_hard, label_of, too_few
from proctor.evidence.tables import Counted
from proctor.records import Outcome, PassRate
from proctor.records.comparison import (
    CaseChange,
    Label,
    Rates,
    SingleRows,
    SubjectComparison,
    SubjectMatch,
    UnitComparison,
    UnitRows,
)
from proctor.statistics import effective_rows, wilson_interval

_ORDER = {label: place for place, label in enumerate(Label)}


class UnitKind(NamedTuple):
    """A unit's rows in both reports; many units are alike."""

    baseline: UnitCount
    now: UnitCount
    is_expectation: bool

    @property
    def measured(self) -> Counted:
        """All measured rows, as labels and rates see them."""
        before, now = self.baseline, self.now
        return Counted(before.passed, before.measured, now.passed, now.measured)

    @property
    def is_one_answer(self) -> bool:
        """Whether repeats of one and the same answer stand on both sides."""
        are_one = self.baseline.is_one_answer and self.now.is_one_answer
        return are_one and max(self.baseline.counted, self.now.counted) > 1

    @property
    def evidence(self) -> Counted | None:
        """The rows a gate counts; None for what no gate looks at."""
        before, now = self.baseline, self.now
        if self.is_expectation or not before.counted or not now.counted:
            return None
        if self.is_one_answer:
            return Counted(int(before.counted_passed > 0), 1, int(now.counted_passed > 0), 1)
        return Counted(before.counted_passed, before.counted, now.counted_passed, now.counted)

    @property
    def pair(self) -> Pair:
        """What the label goes by."""
        return Pair(self.measured, self.baseline.planned, self.now.planned)

    @property
    def is_lost(self) -> bool:
        """Whether enough of it was measured in the baseline, and too little now."""
        before, now = self.baseline, self.now
        return not too_few(before.measured, before.planned) and too_few(now.measured, now.planned)


class _Judged(NamedTuple):
    label: Label
    p: float
    is_kept: bool


@lru_cache(maxsize=65_536)
def _judged(kind: UnitKind) -> _Judged:
    """The label of a unit, its p, and whether something may have to be said of it."""
    label, p = label_of(kind.pair)
    evidence = kind.evidence
    may_be_flagged = evidence is not None and is_hard(evidence)
    return _Judged(label, p, label is not Label.STABLE or may_be_flagged)


class _Listed(NamedTuple):
    case: str
    name: UnitName
    kind: UnitKind


class SubjectFindings:
    """Compares the cases of one subject, added in the order of the candidate.

    Args:
        match: The subject in both reports.
        rates: Its pass rate in both.
        index: The facts of the baseline by case; those that are added now are taken out.
    """

    def __init__(self, match: SubjectMatch, rates: Rates, index: dict[str, CaseFacts]) -> None:
        self.match = match
        self.kinds: dict[UnitKind, int] = {}
        """How many units there are of each kind."""
        self.removed: list[str] = []
        self.changed: list[str] = []
        self.regressed: list[CaseChange] = []
        self._rates = rates
        self._index = index
        self._compared = 0
        self._added: list[str] = []
        self._recovered: list[CaseChange] = []
        self._listed: list[_Listed] = []
        self._met: dict[Units, int] = {}
        self._added_units: dict[Units, int] = {}

    def add(self, case: str, facts: CaseFacts) -> None:
        """Compare the next case of the candidate with the baseline's."""
        self._added_units[facts.units] = self._added_units.get(facts.units, 0) + 1
        before = self._index.pop(case, None)
        if before is None:
            self._added.append(case)
            return
        self._met[before.units] = self._met.get(before.units, 0) + 1
        if before.expected != facts.expected:
            self.changed.append(case)
            return
        self._compared += 1
        if before.outcome is not facts.outcome:
            change = CaseChange(case, before.outcome, facts.outcome)
            if before.outcome is Outcome.PASSED:
                self.regressed.append(change)
            elif facts.outcome is Outcome.PASSED:
                self._recovered.append(change)
        if len(before.units) == 1 == len(facts.units) and before.units[0][0] == facts.units[0][0]:
            self._add_unit(case, facts.units[0][0], before.units[0][1], facts.units[0][1])
        else:
            self._add_units(case, dict(before.units), dict(facts.units))

    def add_not_run(self) -> None:
        """Take what is left of the baseline as cases that should have been run now as well."""
        for case, facts in self._index.items():
            for name, before in facts.units:
                self._add_unit(case, name, before, _not_run(before))
        self._index = {}

    def add_removed(self) -> None:
        """Take what is left of the baseline as cases that are not there any more."""
        self.removed += self._index
        self._index = {}

    def leave_out_rest(self) -> None:
        """Leave what is left of the baseline out, and take the rates of what was added only."""
        self._index = {}
        if self.is_compared:
            self._rates = Rates(baseline=_rate_over(self._met), now=_rate_over(self._added_units))

    def _add_units(
        self, case: str, before: dict[UnitName, UnitCount], now: dict[UnitName, UnitCount]
    ) -> None:
        for name, count in now.items():
            if name in before:
                self._add_unit(case, name, before.pop(name), count)
            else:
                self._added.append(name.of(case))
        self.removed += (name.of(case) for name in before)

    def _add_unit(self, case: str, name: UnitName, before: UnitCount, now: UnitCount) -> None:
        kind = UnitKind(before, now, name.expectation is not None)
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if _judged(kind).is_kept:
            self._listed.append(_Listed(case, name, kind))

    @property
    def is_compared(self) -> bool:
        """Whether the subject is in both reports."""
        return self.match.baseline is not None and self.match.candidate is not None

    def lost(self) -> Iterator[str]:
        """The units of which enough was measured in the baseline, and too little now."""
        for case, name, kind in self._listed:
            if kind.is_lost:
                yield name.of(case)

    def fell_by_more_than(self, tolerance: Fraction) -> bool:
        """Whether the pass rate, of all cases of each report, fell by more than is tolerated."""
        before, now = self._rates.baseline, self._rates.now
        if before is None or now is None or not before.measured or not now.measured:
            return False
        fell = Fraction(before.passed, before.measured) - Fraction(now.passed, now.measured)
        return fell > tolerance

    def record(self, flagged: set[Counted], tolerance: Fraction) -> SubjectComparison:
        """What is said of the subject.

        Args:
            flagged: The divisions of rows that the gate on single units is red for.
            tolerance: By how much its pass rate may fall.
        """
        family = self._family()
        single = _single_rows(family)
        return SubjectComparison(
            match=self.match,
            rates=self._rates,
            compared=self._compared,
            delta=mean_difference(family),
            interval=difference_interval(family)
            if single is None
            else paired_interval(single.worse, single.better, single.units),
            single=single,
            fell=self.fell_by_more_than(tolerance),
            units=[
                self._unit(one, flagged)
                for one in sorted(self._listed, key=_severity)
                if _judged(one.kind).label is not Label.STABLE or one.kind.evidence in flagged
            ],
            regressed=self.regressed,
            recovered=self._recovered,
            added=self._added,
            removed=self.removed,
            changed=self.changed,
        )

    def _family(self) -> Family:
        """The units that were measured on both sides, by all their measured rows."""
        family: dict[Counted, int] = {}
        for kind, units in self.kinds.items():
            counted = kind.measured
            if counted.base_rows and counted.now_rows and not kind.is_expectation:
                family[counted] = family.get(counted, 0) + units
        return family

    def _unit(self, one: _Listed, flagged: set[Counted]) -> UnitComparison:
        label, p, _ = _judged(one.kind)
        return UnitComparison(
            id=one.case,
            scenario=one.name.scenario,
            expectation=one.name.expectation,
            label=label,
            now=_unit_rows(one.kind.now),
            baseline=_unit_rows(one.kind.baseline),
            p=p,
            flagged=one.kind.evidence in flagged,
        )


def _severity(one: _Listed) -> tuple[int, bool, str, UnitName]:
    name = UnitName(one.name.scenario or "", one.name.expectation or "")
    return _ORDER[_judged(one.kind).label], one.kind.is_expectation, one.case, name


def _unit_rows(count: UnitCount) -> UnitRows:
    return UnitRows(count.passed, count.measured, count.planned)


def _not_run(before: UnitCount) -> UnitCount:
    return UnitCount(0, 0, before.planned, 0, 0, False)


def _single_rows(family: Family) -> SingleRows | None:
    """How units changed, when each has one row a side; there is at least one."""
    if not family or any((one.base_rows, one.now_rows) != (1, 1) for one in family):
        return None
    worse, better = family.get(Counted(1, 1, 0, 1), 0), family.get(Counted(0, 1, 1, 1), 0)
    return SingleRows(sum(family.values()), worse, better, mcnemar_p(worse, better))


def _rate_over(cases: Mapping[Units, int]) -> PassRate:
    """The pass rate over some cases, as reports have it of all."""
    units: dict[tuple[int, int], int] = {}
    is_repeated = False
    for named, count in cases.items():
        for name, rows in named:
            if name.expectation is None:
                counted = (rows.passed, rows.measured)
                units[counted] = units.get(counted, 0) + count
                is_repeated = is_repeated or rows.planned > 1
    passed = sum(each * count for (each, _), count in units.items())
    measured = sum(each * count for (_, each), count in units.items())
    return PassRate(
        passed=passed,
        measured=measured,
        rate=passed / measured if measured else None,
        interval=wilson_interval(
            passed, measured, rows=effective_rows(units) if is_repeated else None
        ),
    )
