"""One row: answered, checked, and never an exception."""

from __future__ import annotations

from collections.abc import Container

from proctor.errors import ProctorError
from proctor.outcomes import row_outcome
from proctor.protocols import AnswerSource, Checks, Target
from proctor.records import Call, Case, Outcome, RowError, RowResult

FRAMEWORK_ISSUE = "framework_issue"


class SubjectRunner:
    """Runs the rows of one subject.

    Args:
        target: Turns a case into what is asked.
        source: Where answers come from.
        checks: The compiled assertions.
        timed_out: Ids of assertions that have run out of time; grows while rows run.
    """

    def __init__(
        self,
        *,
        target: Target,
        source: AnswerSource,
        checks: Checks,
        timed_out: Container[str],
    ) -> None:
        self._target = target
        self._source = source
        self._checks = checks
        self._timed_out = timed_out

    def __call__(self, case: Case, repeat: int) -> RowResult:
        """Answer and check one row.

        Whatever goes wrong spoils this row only: it comes back `errored`, and the run goes on.
        """
        try:
            return self._run(case, repeat)
        except ProctorError as error:
            message = error.message if error.hint is None else f"{error.message}; {error.hint}"
            return _errored(repeat, RowError(error.code, message), category=None)
        except Exception as error:
            fault = f"the row could not be run: {type(error).__name__}"
            return _errored(repeat, RowError("P6701", fault), category=FRAMEWORK_ISSUE)

    def _run(self, case: Case, repeat: int) -> RowResult:
        call = Call(case.id, self._target.inputs_sha256(case), repeat)
        answered = self._source.answer(call)
        checks = self._checks.run(answered, case, self._timed_out)
        return RowResult(
            None,
            repeat,
            row_outcome(checks, None),
            None,
            None,
            answered.answer,
            answered.recording,
            checks,
            answered.usage,
            answered.cost_usd,
            answered.latency_ms,
            None,
        )


def _errored(repeat: int, error: RowError, *, category: str | None) -> RowResult:
    return RowResult(
        scenario=None,
        repeat=repeat,
        outcome=Outcome.ERRORED,
        category=category,
        attribution=None,
        answer=None,
        recording=None,
        checks=[],
        usage=None,
        cost_usd=None,
        latency_ms=None,
        error=error,
    )
