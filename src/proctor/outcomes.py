"""What became of a row, from its checks: the one rule that running and aggregating share."""

from __future__ import annotations

from collections.abc import Iterable

from proctor.records import Check, Outcome, RowError, Severity


def row_outcome(checks: Iterable[Check], error: RowError | None) -> Outcome:
    """What became of a row.

    A `warn` check that failed leaves the row alone. One without a verdict does not: a row passes
    only when everything asked about it has an answer.

    Args:
        checks: The checks of the row; none when there was no answer.
        error: Why there is no answer, or None when there is one.
    """
    seen = {
        check.outcome
        for check in checks
        if check.outcome is not Outcome.FAILED or check.severity is Severity.FAIL
    }
    if Outcome.FAILED in seen:
        return Outcome.FAILED
    if error is not None or Outcome.ERRORED in seen:
        return Outcome.ERRORED
    return Outcome.UNMEASURED if Outcome.UNMEASURED in seen else Outcome.PASSED
