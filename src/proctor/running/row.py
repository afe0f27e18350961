"""One row: answered, checked, and never an exception."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.errors import ProctorError
from proctor.outcomes import ran_out_of_time, row_outcome
from proctor.protocols import AnswerSource, Checks, LiveSource, PlannedRow, Target
from proctor.records import Answered, Call, Case, Check, Outcome, RowError, RowResult

FRAMEWORK_ISSUE = "framework_issue"

_FAILED = Outcome.FAILED


class RowChecks:
    """Makes the row of an answer, or of an error.

    Args:
        checks: The compiled assertions of the subject.
        timed_out: Ids of assertions that have run out of time; grows while rows run.
    """

    def __init__(self, checks: Checks, timed_out: set[str]) -> None:
        self._checks = checks
        self.timed_out = timed_out

    def row(self, answered: Answered, case: Case, repeat: int) -> RowResult:
        """The row of an answer."""
        return _checked(answered, self._checks.run(answered, case, self.timed_out), repeat)

    def rows(self, answers: Sequence[Answered], rows: Sequence[PlannedRow]) -> list[RowResult]:
        """The rows of some answers that follow each other in the plan.

        An assertion that runs out of time is not run for the rows after it.
        """
        checked = []
        for answered, row in zip(answers, rows, strict=True):
            checks = self._checks.run(answered, row.case, self.timed_out)
            self.timed_out.update(
                check.id for check in checks if check.outcome is _FAILED and ran_out_of_time(check)
            )
            checked.append(checks)
        return [
            _checked(answered, checks, row.repeat)
            for answered, checks, row in zip(answers, checked, rows, strict=True)
        ]

    def spoiled(self, error: Exception, repeat: int) -> RowResult:
        """The row of an error: it says what went wrong, and a fault of ours what kind."""
        if isinstance(error, ProctorError):
            message = error.message if error.hint is None else f"{error.message}; {error.hint}"
            return _errored(repeat, RowError(error.code, message), category=None)
        fault = f"the row could not be run: {type(error).__name__}"
        return _errored(repeat, RowError("P6701", fault), category=FRAMEWORK_ISSUE)


class ReplayedRows:
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

    def __call__(self, rows: Sequence[PlannedRow]) -> list[RowResult]:
        """Answer and check some rows.

        They go through each step together, which is much faster than one by one. When anything is
        wrong with one of them, they are run again, each by itself.
        """
        timed_out = self._checks.timed_out
        before = set(timed_out)
        try:
            answers = [self._answer(row) for row in rows]
            return self._checks.rows(answers, rows)
        except Exception:
            timed_out &= before
            return [self._alone(row) for row in rows]

    def _answer(self, row: PlannedRow) -> Answered:
        inputs_sha256 = self._target.inputs_sha256(row.case)
        return self._source.answer(Call(row.case.id, inputs_sha256, row.repeat))

    def _alone(self, row: PlannedRow) -> RowResult:
        try:
            return self._checks.rows([self._answer(row)], [row])[0]
        except Exception as error:
            return self._checks.spoiled(error, row.repeat)


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


def _checked(answered: Answered, checks: list[Check], repeat: int) -> RowResult:
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
