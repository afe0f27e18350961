"""Counting again the rows of a case that a journal or a report has kept."""

from __future__ import annotations

from msgspec.structs import replace

from proctor.aggregating import SubjectTally, SuiteTally
from proctor.case_results import case_outcome, case_units, is_flaky_case
from proctor.journal_rows import JournaledRow
from proctor.records import CaseResult, RowResult
from proctor.report_claims import as_counted
from proctor.run_parts import PartCase


def recounted(found: PartCase, suite: SuiteTally, tally: SubjectTally, subject: str) -> CaseResult:
    """The entry of a case, its rows counted as the next ones of their subject.

    Args:
        found: The case.
        suite: Counts the suite.
        tally: Counts the subject.
        subject: The id of the subject.
    """
    case, rows = found.case, []
    for row in found.rows:
        rows.append(_counted(row, tally))
        if suite.labelled is not None and row.result.scenario is None:
            repeat = row.result.repeat
            suite.labelled.take(row.labelled, subject=subject, case=case.id, repeat=repeat)
    if not any(row.build for row in found.rows):
        tally.add_expectations(case.expectations)
    units = case_units(rows, case.expectations)
    entry = replace(
        case, outcome=case_outcome(rows), flaky=is_flaky_case(units), units=units, rows=rows
    )
    tally.add_units(entry)
    return entry


def _counted(row: JournaledRow, tally: SubjectTally) -> RowResult:
    build = row.build
    if build is not None and build.call is not None:
        tally.add_build(build.call)
    seen = as_counted(row.result)
    counted = tally.add(
        seen, worst_cost_usd=row.worst_cost_usd, asked=row.asked, judge_calls=row.judge_calls
    )
    if build is not None:
        tally.add_expectations(build.expectations, build.judge_calls)
    return counted if seen is row.result else replace(counted, answer=None)
