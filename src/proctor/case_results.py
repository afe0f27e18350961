"""What becomes of a case, from its rows and from what is expected of what was built for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import UNSET

from proctor.canonical import digest
from proctor.outcomes import BUILD_FAILURES, worst_outcome
from proctor.records import (
    BUILD_ONLY,
    Case,
    CaseResult,
    ExpectationResult,
    Outcome,
    RowResult,
    Unit,
)
from proctor.statistics import is_flaky

UNSEEN: Final = (
    "failed of builds whose rows all passed; pass rates count rows only, pass@k and gates count "
    "expectations too"
)

# Looked up once: finding a member of an enum takes longer than counting it.
_PASSED, _FAILED = Outcome.PASSED, Outcome.FAILED


def case_outcome(rows: Iterable[RowResult]) -> Outcome:
    """What became of a case: the worst of its rows, of which there is at least one."""
    return worst_outcome({row.outcome for row in rows})


def case_units(
    rows: Iterable[RowResult], expectations: Iterable[ExpectationResult] = ()
) -> list[Unit]:
    """What is counted of a case: its scenarios, or the whole of it, and what is expected of it.

    Each with its measured repeats, and how many of them passed. The row that stands for a build is
    none: what is expected of the build is.
    """
    counted: dict[str | None, list[int]] = {}
    for row in rows:
        unit = counted.setdefault(row.scenario, [0, 0])
        unit[0] += row.outcome is _PASSED
        unit[1] += row.outcome is _FAILED
    counted.pop(BUILD_ONLY, None)
    expected: dict[str, list[int]] = {}
    for one in expectations:
        unit = expected.setdefault(one.text, [0, 0])
        unit[0] += one.outcome is _PASSED
        unit[1] += one.outcome is _FAILED
    return [
        *(Unit(scenario=name, n=sum(unit), passed=unit[0]) for name, unit in counted.items()),
        *(Unit(expectation=text, n=sum(unit), passed=unit[0]) for text, unit in expected.items()),
    ]


def is_flaky_case(units: Iterable[Unit]) -> bool:
    """Whether something of a case sometimes passed and sometimes did not."""
    return any(is_flaky(unit.passed, unit.n) for unit in units)


def case_result(
    case: Case,
    *,
    index: int,
    rows: list[RowResult],
    expectations: Sequence[ExpectationResult] = (),
) -> CaseResult:
    """The report's entry of one case.

    Args:
        case: The case as it was read.
        index: Its 0-based place in the dataset.
        rows: Its rows in row order, as `SubjectTally.add` returned them.
        expectations: What was found of what is expected of it, in the order of the case.
    """
    units = case_units(rows, expectations)
    unset = case.expected is UNSET
    return CaseResult(
        index=index,
        id=case.id,
        tags=case.tags,
        tiers=case.tiers,
        outcome=rows[0].outcome if len(rows) == 1 else case_outcome(rows),
        flaky=is_flaky_case(units),
        inputs=case.inputs,
        expected=None if unset else case.expected,
        expected_sha256=None if unset else digest(case.expected),
        units=units,
        expectations=list(expectations),
        rows=rows,
    )


def judged_expectations(case: CaseResult) -> list[ExpectationResult]:
    """What was asked of what was built for a case; nothing is, of a build that failed."""
    if not case.expectations:
        return []
    lost = {row.repeat for row in case.rows if row.category in BUILD_FAILURES}
    return [one for one in case.expectations if one.repeat not in lost]


def unseen_failures(case: CaseResult) -> list[ExpectationResult]:
    """The expectations of a case that failed in repeats whose rows all passed."""
    failed = [one for one in case.expectations if one.outcome is _FAILED]
    if not failed:
        return []
    missed = {row.repeat for row in case.rows if row.outcome is not _PASSED}
    return [one for one in failed if one.repeat not in missed]


def unseen_warning(number: int) -> str:
    """What a suite says of expectations that failed where no row did."""
    return f"1 expectation {UNSEEN}" if number == 1 else f"{number} expectations {UNSEEN}"
