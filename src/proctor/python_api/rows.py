"""Reports and comparisons as flat rows, for tables of pandas or polars and for CSV."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.records import CaseResult, Outcome, RowResult, Severity, SubjectReport
from proctor.records.comparison import Comparison
from proctor.report_protocols import Report

Cell = str | int | float | list[str] | None
FlatRow = dict[str, Cell]


def report_rows(report: Report) -> Iterator[FlatRow]:
    """One dict for each row, in the order of the report; all have the same keys."""
    for place, suite in enumerate(report.head.suites):
        for number, subject in enumerate(suite.subjects):
            for case in report.cases(place, number):
                for row in case.rows:
                    yield _row(suite.suite, subject, case, row)


def _row(suite: str, subject: SubjectReport, case: CaseResult, row: RowResult) -> FlatRow:
    usage, answer, error = row.usage, row.answer, row.error
    wrong = [check for check in row.checks if check.outcome is not Outcome.PASSED]
    return {
        "suite": suite,
        "subject": subject.id,
        "prompt": subject.prompt,
        "model": subject.model,
        "case": case.id,
        "index": case.index,
        "tags": list(case.tags),
        "tiers": list(case.tiers),
        "scenario": row.scenario,
        "repeat": row.repeat,
        "outcome": row.outcome.value,
        "category": row.category,
        "attribution": row.attribution,
        "answer": None if answer is None else answer.text,
        "finish": None if answer is None else answer.finish.value,
        "recording": row.recording,
        "cost_usd": _number(row.cost_usd),
        "latency_ms": _number(row.latency_ms),
        "input_tokens": None if usage is None else usage.input,
        "output_tokens": None if usage is None else usage.output,
        "cached_tokens": None if usage is None else usage.cached,
        "failed_checks": [
            check.id
            for check in wrong
            if check.outcome is Outcome.FAILED and check.severity is Severity.FAIL
        ],
        "warned_checks": [
            check.id
            for check in wrong
            if check.outcome is Outcome.FAILED and check.severity is Severity.WARN
        ],
        "unmeasured_checks": [check.id for check in wrong if check.outcome is not Outcome.FAILED],
        "error_code": None if error is None else error.code,
        "error_message": None if error is None else error.message,
    }


def _number(value: float | None) -> float | None:
    """A column of numbers has one type."""
    return None if value is None else float(value)


def comparison_rows(comparison: Comparison) -> Iterator[FlatRow]:
    """One dict for each unit that is not stable; all have the same keys."""
    for subject in comparison.subjects:
        old, new = subject.match.baseline, subject.match.candidate
        for unit in subject.units:
            yield {
                "suite": None if new is None else new.suite,
                "subject": None if new is None else new.id,
                "baseline_suite": None if old is None else old.suite,
                "baseline_subject": None if old is None else old.id,
                "case": unit.id,
                "scenario": unit.scenario,
                "expectation": unit.expectation,
                "label": unit.label.value,
                "baseline_passed": unit.baseline.passed,
                "baseline_measured": unit.baseline.measured,
                "baseline_planned": unit.baseline.planned,
                "passed": unit.now.passed,
                "measured": unit.now.measured,
                "planned": unit.now.planned,
                "p": float(unit.p),
                "flagged": unit.flagged,
            }
