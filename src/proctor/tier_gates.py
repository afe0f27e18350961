"""Gates of the project: what is asked of the cases of a tier, and whether they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from msgspec import UNSET, Struct

from proctor.case_results import case_units
from proctor.comparing.reports import some_names
from proctor.config import GateConfig
from proctor.evidence.power import cases_needed, rows_to_find
from proctor.records import BUILD_ONLY, CaseResult, Unit
from proctor.records.comparison import Comparison, ComparisonVerdict
from proctor.repeated_units import complete_repeats
from proctor.report_protocols import Report
from proctor.statistics import is_barely_passing, is_flaky

_TOLERANCE = 1e-9


class GateFinding(Struct, frozen=True, kw_only=True):
    """What became of the gate of one tier.

    Args:
        tier: The tier.
        met: Whether it holds; None when that cannot be told.
        said: Why, in a sentence; it may hold data.
        excluded: Units without a measured row, which no criterion looks at.
        flaky: Units that sometimes passed.
        barely: Those of them that passed in fewer than half of their rows.
    """

    tier: str
    met: bool | None
    said: str
    excluded: list[str] = []
    flaky: list[str] = []
    barely: list[str] = []


def cases_of_tier(report: Report, tier: str) -> Iterator[tuple[int, int, CaseResult]]:
    """The cases of a tier, each after the places of its suite and its subject.

    A case is of the tiers it names itself, or else of those of its suite.
    """
    for place, suite in enumerate(report.head.suites):
        for number in range(len(suite.subjects)):
            for case in report.cases(place, number):
                if tier in (case.tiers or suite.tiers):
                    yield place, number, case


def gate_finding(
    report: Report, tier: str, gate: GateConfig, comparison: Comparison | None = None
) -> GateFinding:
    """Whether the gate of a tier holds.

    Args:
        report: The report of the run.
        tier: The tier whose cases the gate is about.
        gate: What is asked of them.
        comparison: These cases compared with those of the baseline, for `no-regression`.
    """
    units = list(_units(report, tier))
    measured = [(name, unit) for name, unit in units if unit.n]
    met, said = _criterion(gate, measured, comparison)
    if report.head.partial:
        met, said = None, "a shard is missing, so no gate is met"
    return GateFinding(
        tier=tier,
        met=met,
        said=said,
        excluded=[name for name, unit in units if not unit.n],
        flaky=[name for name, unit in measured if is_flaky(unit.passed, unit.n)],
        barely=[name for name, unit in measured if is_barely_passing(unit.passed, unit.n)],
    )


def _units(report: Report, tier: str) -> Iterator[tuple[str, Unit]]:
    several = sum(len(suite.subjects) for suite in report.head.suites) > 1
    complete = _complete_repeats(report)
    for place, number, case in cases_of_tier(report, tier):
        suite = report.head.suites[place]
        subject = f"{suite.suite}: {suite.subjects[number].id}: " if several else ""
        for unit in _whole_units(case, complete.get((place, number))):
            if unit.scenario != BUILD_ONLY:
                parts = (part for part in (unit.scenario, unit.expectation) if part is not UNSET)
                yield subject + " / ".join(filter(None, (case.id, *parts))), unit


def _complete_repeats(report: Report) -> dict[tuple[int, int], list[int]]:
    """Of each subject that was interrupted, the repeats of which every row was run."""
    return {
        (place, number): complete_repeats(
            report.cases(place, number), rows=subject.counts.rows, repeats=suite.repeats
        )
        for place, suite in enumerate(report.head.suites)
        for number, subject in enumerate(suite.subjects)
        if subject.counts.not_run
    }


def _whole_units(case: CaseResult, complete: Sequence[int] | None) -> Sequence[Unit]:
    """The units of a case, of an interrupted run those of complete repeats."""
    if complete is None:
        return case.units
    return case_units(
        [row for row in case.rows if row.repeat in complete],
        [one for one in case.expectations if one.repeat in complete],
    )


def _criterion(
    gate: GateConfig, measured: Sequence[tuple[str, Unit]], comparison: Comparison | None
) -> tuple[bool | None, str]:
    if not measured:
        return False, "nothing was measured"
    if gate.criterion == "no-regression" and comparison is not None:
        return _no_regression(comparison)
    passed = sum(unit.passed for _, unit in measured)
    rows = sum(unit.n for _, unit in measured)
    if gate.criterion == "pass-at-k":
        never = [name for name, unit in measured if not unit.passed]
        met = not never
        said = f"{len(measured) - len(never)} of {len(measured)} units passed at least once"
        if never:
            said += f", and never did {some_names(never)}"
    else:
        least = gate.min or 0.0
        met = passed / rows >= least - _TOLERANCE * least
        said = f"{passed} of {rows} rows passed, and {least:g} of them is asked for"
    needed = _needed(Fraction(passed, rows), gate.detect)
    if met and gate.detect is not None and (needed is None or needed > rows):
        takes = "that rate cannot fall so far" if needed is None else f"it takes {needed} rows"
        return None, f"{said}; a drop of {gate.detect:g} could go unnoticed: {takes}"
    return met, said


def _needed(rate: Fraction, drop: float | None) -> int | None:
    """How many rows find a drop, None when the rate cannot fall so far."""
    if drop is None or rate < Fraction(str(drop)):
        return None
    return cases_needed(rows_to_find(float(rate), drop), 1)


def _no_regression(comparison: Comparison) -> tuple[bool | None, str]:
    if comparison.verdict is ComparisonVerdict.REGRESSED:
        return False, "it regressed since the baseline"
    if comparison.verdict is ComparisonVerdict.CANNOT_TELL:
        return None, f"it cannot be told whether it regressed: {'; '.join(comparison.doubts)}"
    return True, "nothing regressed since the baseline"
