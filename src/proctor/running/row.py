"""One row: answered, checked, and never an exception."""

from __future__ import annotations

from collections.abc import Container

from proctor.errors import ProctorError
from proctor.outcomes import row_outcome
from proctor.protocols import AnswerSource, Checks, LiveSource, Target
from proctor.records import Answered, Call, Case, Outcome, RowError, RowResult

FRAMEWORK_ISSUE = "framework_issue"


class RowChecks:
    """Makes the row of an answer, or of an error.

    Args:
        checks: The compiled assertions of the subject.
        timed_out: Ids of assertions that have run out of time; grows while rows run.
    """

    def __init__(self, checks: Checks, timed_out: Container[str]) -> None:
        self._checks = checks
        self._timed_out = timed_out

    def row(self, answered: Answered, case: Case, repeat: int) -> RowResult:
        """The row of an answer."""
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

    def spoiled(self, error: Exception, repeat: int) -> RowResult:
        """The row of an error: it says what went wrong, and a fault of ours what kind."""
        if isinstance(error, ProctorError):
            message = error.message if error.hint is None else f"{error.message}; {error.hint}"
            return _errored(repeat, RowError(error.code, message), category=None)
        fault = f"the row could not be run: {type(error).__name__}"
        return _errored(repeat, RowError("P6701", fault), category=FRAMEWORK_ISSUE)


class ReplayedRow:
    """Runs the rows of one subject on answers that are there already.

    Whatever goes wrong spoils one row only: it comes back `errored`, and the run goes on.

    Args:
        target: Turns a case into what is asked.
        source: Where answers come from.
        checks: Makes the rows.
    """

    def __init__(self, target: Target, source: AnswerSource, checks: RowChecks) -> None:
        self._target = target
        self._source = source
        self._checks = checks

    def __call__(self, case: Case, repeat: int) -> RowResult:
        """Answer and check one row."""
        try:
            call = Call(case.id, self._target.inputs_sha256(case), repeat)
            return self._checks.row(self._source.answer(call), case, repeat)
        except Exception as error:
            return self._checks.spoiled(error, repeat)


class AskedRow:
    """Runs the rows of one subject on answers that somebody is asked for, with the same promise.

    Args:
        target: Turns a case into what is asked.
        source: Who is asked.
        checks: Makes the rows.
    """

    def __init__(self, target: Target, source: LiveSource, checks: RowChecks) -> None:
        self._target = target
        self._source = source
        self._checks = checks

    async def __call__(self, case: Case, repeat: int) -> RowResult:
        """Ask for the answer to one row and check it."""
        try:
            call = Call(case.id, self._target.inputs_sha256(case), repeat)
            return self._checks.row(await self._source.ask(call, case), case, repeat)
        except Exception as error:
            return self._checks.spoiled(error, repeat)


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
