"""What checks make of a row: the rules that running and aggregating share."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from proctor.records import Check, Outcome, RowError, Severity

# Looked up once: every row comes through here, and a member of an enum is slow to reach.
_PASSED, _FAILED, _FAIL = Outcome.PASSED, Outcome.FAILED, Severity.FAIL

TIMED_OUT = "timed_out"
"""The reason of a check that ran out of time, and of every later one of its assertion."""


def ran_out_of_time(check: Check) -> bool:
    """Whether a check failed because it took too long."""
    reason = check.reason
    if check.outcome is not _FAILED or reason is None:
        return False
    return reason == TIMED_OUT or reason.startswith(f"{TIMED_OUT}:")


def not_run_again(check: Check) -> Check:
    """What stands for a check whose assertion ran out of time in an earlier row."""
    return Check(
        id=check.id,
        kind=check.kind,
        outcome=_FAILED,
        severity=check.severity,
        reason=TIMED_OUT,
        evidence={"skipped": True},
    )


def worst_outcome(outcomes: Collection[Outcome]) -> Outcome:
    """The worst of some outcomes; passed when there are none."""
    for outcome in (_FAILED, Outcome.ERRORED, Outcome.UNMEASURED):
        if outcome in outcomes:
            return outcome
    return _PASSED


BUILD_FAILURES = ("build_failure", "build_timeout")
"""Categories of rows whose target could not build what they needed: that is its verdict."""


def row_outcome(
    checks: Iterable[Check], error: RowError | None, category: str | None = None
) -> Outcome:
    """What became of a row.

    A `warn` check that failed leaves the row alone. One without a verdict does not: a row passes
    only when everything asked about it has an answer.

    Args:
        checks: The checks of the row; none when there was no answer.
        error: Why there is no answer, or None when there is one.
        category: What kind of fault that is, where it is known.
    """
    if category in BUILD_FAILURES:
        return _FAILED
    seen: set[Outcome] = set()
    for check in checks:
        outcome = check.outcome
        if outcome is not _PASSED and (outcome is not _FAILED or check.severity is _FAIL):
            seen.add(outcome)
    if not seen:
        return _PASSED if error is None else Outcome.ERRORED
    if _FAILED in seen:
        return _FAILED
    if error is not None or Outcome.ERRORED in seen:
        return Outcome.ERRORED
    return Outcome.UNMEASURED
