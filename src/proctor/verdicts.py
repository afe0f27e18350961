"""Whether thresholds are met, and what a run says because of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from proctor.errors import ExitCode
from proctor.records import (
    AtK,
    AtKLimit,
    SubjectReport,
    SuiteReport,
    ThresholdReport,
    Thresholds,
    Verdict,
)

if TYPE_CHECKING:
    from proctor.judging.labels import AgreementFigures

AGREEMENT = "judgeAgreement."
"""What the names of thresholds on the agreement of judges with people begin with."""

_ON_COVERAGE = frozenset({"maxErrorRate", "minMeasured"})
"""Thresholds on how much is known; the others say something about what is."""

_TOLERANCE = 1e-9


def rate_thresholds(limits: Thresholds, subjects: Sequence[SubjectReport]) -> list[ThresholdReport]:
    """Those on rates: of passes for each subject, of errors and of verdicts over the suite."""
    rows = sum(subject.counts.rows for subject in subjects)
    errored = sum(subject.counts.errored for subject in subjects)
    checks = [counts for subject in subjects for counts in subject.checks.values()]
    verdicts = sum(counts.passed + counts.failed for counts in checks)
    asked = verdicts + sum(counts.errored + counts.unmeasured for counts in checks)
    return [
        *(
            _at_least("passRate", limits.pass_rate, subject.pass_rate.rate, subject.id)
            for subject in subjects
        ),
        _at_most("maxErrorRate", limits.max_error_rate, errored / rows if rows else None),
        _at_least("minMeasured", limits.min_measured, verdicts / asked if asked else None),
    ]


def cost_threshold(limit_usd: float, actual_usd: float | None) -> ThresholdReport:
    """The threshold on the cost of a suite, which is None when it cannot be told."""
    return _at_most("maxCostUsd", limit_usd, actual_usd)


def at_k_thresholds(limits: Thresholds, subjects: Sequence[SubjectReport]) -> list[ThresholdReport]:
    """Those on pass@k and pass^k, for each subject."""
    found: list[ThresholdReport] = []
    if limits.pass_at_k is not None:
        found += [_at_k("passAtK", limits.pass_at_k, one, one.pass_at_k) for one in subjects]
    if limits.pass_hat_k is not None:
        found += [_at_k("passHatK", limits.pass_hat_k, one, one.pass_hat_k) for one in subjects]
    return found


def agreement_thresholds(
    limits: Thresholds, found: AgreementFigures | None
) -> list[ThresholdReport]:
    """Those on the agreement of judges with people: on the lower bounds of 95% intervals.

    Args:
        limits: The thresholds.
        found: The agreement; with too few labels nothing can be told.
    """
    if limits.judge_agreement is None:
        return []
    rates = (
        {}
        if found is None or not found.enough
        else {"min": found.agreement, "minTpr": found.tpr, "minTnr": found.tnr}
    )
    return [
        _at_least(f"{AGREEMENT}{name}", limit, rates[name].interval[0] if rates else None)
        for name, limit in limits.judge_agreement.given.items()
    ]


def _at_k(
    name: str, limit: AtKLimit, subject: SubjectReport, values: Sequence[AtK]
) -> ThresholdReport:
    # A suite without repeats has no values; then one row a unit is all there is, and k is 1.
    actual = values[limit.k - 1].value if values else subject.pass_rate.rate
    return ThresholdReport(
        name=name,
        subject=subject.id,
        limit={"k": limit.k, "min": limit.min},
        actual=actual,
        met=None if actual is None else _reaches(actual, limit.min),
    )


def _at_least(
    name: str, limit: float, actual: float | None, subject: str | None = None
) -> ThresholdReport:
    met = None if actual is None else _reaches(actual, limit)
    return ThresholdReport(name=name, subject=subject, limit=limit, actual=actual, met=met)


def _reaches(actual: float, limit: float) -> bool:
    return actual >= limit - _TOLERANCE * abs(limit)


def _at_most(name: str, limit: float, actual: float | None) -> ThresholdReport:
    met = None if actual is None else actual <= limit + _TOLERANCE * abs(limit)
    return ThresholdReport(name=name, subject=None, limit=limit, actual=actual, met=met)


def of_a_part(suite: SuiteReport) -> SuiteReport:
    """A suite of a report that lacks a shard: nobody can say whether its thresholds are met."""
    return replace(suite, thresholds=[replace(each, met=None) for each in suite.thresholds])


def verdict_of(suites: Sequence[SuiteReport], *, partial: bool) -> tuple[Verdict, ExitCode]:
    """What a run of these suites says, from their thresholds and the rows that were not run.

    Only an interruption leaves rows out.

    Args:
        suites: The suites of the run; `of_a_part` when a shard is missing.
        partial: Whether one is.
    """
    if any(subject.counts.not_run for suite in suites for subject in suite.subjects):
        return Verdict.INTERRUPTED, ExitCode.INTERRUPTED
    thresholds = [threshold for suite in suites for threshold in suite.thresholds]
    if any(each.met is False and each.name not in _ON_COVERAGE for each in thresholds):
        return Verdict.FAILED, ExitCode.FAILED
    if partial or not all(each.met for each in thresholds):
        return Verdict.UNMEASURED, ExitCode.UNMEASURED
    return Verdict.PASSED, ExitCode.OK
