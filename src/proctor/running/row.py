"""One row: answered, checked, and never an exception."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.errors import CassetteError, ProctorError
from proctor.outcomes import ran_out_of_time, row_outcome
from proctor.protocols import (
    AnswerSource,
    Checks,
    Heard,
    JudgeCall,
    JudgedAssertion,
    JudgeSource,
    LiveJudges,
    LiveSource,
    PlannedRow,
    Question,
    RowKey,
    Target,
)
from proctor.records import Answered, Call, Case, Check, Outcome, RowError, RowResult

FRAMEWORK_ISSUE = "framework_issue"

_FAILED = Outcome.FAILED


class RowChecks:
    """Makes the row of an answer, or of an error.

    Args:
        checks: The compiled assertions of the subject.
        timed_out: Ids of assertions that have run out of time; grows while rows run. None when no
            row may be spared what an earlier one could not do.
        judges: Where the replies of judges come from, when they are there already.
    """

    def __init__(
        self, checks: Checks, timed_out: set[str] | None, judges: JudgeSource | None = None
    ) -> None:
        self._checks = checks
        self._judges = judges
        self._judge_calls: dict[RowKey, list[JudgeCall]] = {}
        self.timed_out: set[str] = set() if timed_out is None else timed_out
        self._spares_rows = timed_out is not None

    def judge_calls(self, row: PlannedRow) -> Sequence[JudgeCall]:
        """The calls of judges that a row needed; they are forgotten by that."""
        return self._judge_calls.pop(row.key, ()) if self._judge_calls else ()

    async def row(self, answered: Answered, row: PlannedRow, judges: LiveJudges) -> RowResult:
        """The row of an answer, with judges that are asked now."""
        case = row.case
        plain = self._checks.run(answered, case, self.timed_out)
        if not self._checks.judged:
            return _checked(answered, plain, row)
        # Only live runs have a loop, and a replay should not load what makes one.
        import asyncio

        judgings = [
            Judging(one, answered, case)
            for one in self._checks.judged
            if _is_asked(one, plain, case)
        ]
        asked = [judges.judged(each) for one in judgings for each in one.questions]
        said = iter(await asyncio.gather(*asked, return_exceptions=True))
        for one in judgings:
            one.hear([next(said) for _ in one.questions])
        return self._judged(answered, plain, judgings, row)

    def _judged(
        self,
        answered: Answered,
        plain: list[Check],
        judgings: Sequence[Judging],
        row: PlannedRow,
    ) -> RowResult:
        if not judgings:
            return _checked(answered, plain, row)
        calls = [call for one in judgings for call in one.calls]
        if calls:
            self._judge_calls[row.key] = calls
        checks = self._checks.in_order(plain + [one.check for one in judgings])
        error = next((one.error for one in judgings if one.error is not None), None)
        return _checked(answered, checks, row, error)

    def _with_judges(self, answered: Answered, row: PlannedRow, plain: list[Check]) -> RowResult:
        judgings: list[Judging] = []
        for assertion in self._checks.judged:
            if _is_asked(assertion, plain, row.case):
                judging = Judging(assertion, answered, row.case)
                judging.hear([reply_of(self._judges, each) for each in judging.questions])
                judgings.append(judging)
        return self._judged(answered, plain, judgings, row)

    def rows(self, answers: Sequence[Answered], rows: Sequence[PlannedRow]) -> list[RowResult]:
        """The rows of some answers that follow each other in the plan.

        An assertion that runs out of time is not run for the rows after it.
        """
        checked = []
        for answered, row in zip(answers, rows, strict=True):
            checks = self._checks.run(answered, row.case, self.timed_out)
            if self._spares_rows:
                self.timed_out.update(
                    each.id for each in checks if each.outcome is _FAILED and ran_out_of_time(each)
                )
            checked.append(checks)
        if self._checks.judged:
            return [
                self._with_judges(answered, row, checks)
                for answered, checks, row in zip(answers, checked, rows, strict=True)
            ]
        return [
            _checked(answered, checks, row)
            for answered, checks, row in zip(answers, checked, rows, strict=True)
        ]

    def spoiled(self, error: Exception, row: PlannedRow) -> RowResult:
        """The row of an error: it says what went wrong, and a fault of ours what kind."""
        if isinstance(error, ProctorError):
            return errored_row(row, said_of(error))
        fault = f"the row could not be run: {type(error).__name__}"
        return errored_row(row, RowError("P6701", fault), category=FRAMEWORK_ISSUE)


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
        return self._source.answer(call_of(row, self._target))

    def _alone(self, row: PlannedRow) -> RowResult:
        try:
            return self._checks.rows([self._answer(row)], [row])[0]
        except Exception as error:
            return self._checks.spoiled(error, row)


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

    async def __call__(self, row: PlannedRow) -> RowResult:
        """Ask for the answer to one row and check it."""
        try:
            answered = await self._source.ask(call_of(row, self._target), row)
            return await self._checks.row(answered, row, self._source)
        except Exception as error:
            return self._checks.spoiled(error, row)


def call_of(row: PlannedRow, target: Target) -> Call:
    """What a row asks for."""
    scenario = None if row.scenario is None else row.scenario.name
    return Call(row.case.id, target.inputs_sha256(row), row.repeat, scenario)


class Judging:
    """What becomes of one judged assertion on one answer."""

    def __init__(self, assertion: JudgedAssertion, answered: Answered, case: Case) -> None:
        self._assertion = assertion
        self._answered = answered
        self._case = case
        asked = assertion.questions(answered, case)
        self.questions: Sequence[Question] = () if isinstance(asked, Check) else asked
        self._check = asked if isinstance(asked, Check) else None
        self.error: RowError | None = None
        self.calls: list[JudgeCall] = []

    def hear(self, replies: Sequence[Heard | BaseException]) -> None:
        """Take the replies to the questions, or what there was instead of one."""
        if self._check is not None:
            return
        heard: list[Answered | ProctorError] = []
        for question, reply in zip(self.questions, replies, strict=True):
            if isinstance(reply, Heard):
                said = reply.reply
                heard.append(said)
                self.calls.append(
                    JudgeCall(said.cost_usd, reply.asked, said.recording, question=question)
                )
            elif isinstance(reply, ProctorError):
                self.error = self.error or said_of(reply)
                heard.append(reply)
                is_miss = isinstance(reply, CassetteError)
                self.calls.append(JudgeCall(None, not is_miss, None, replied=False))
            else:
                raise reply
        self._check = self._assertion.judge(heard, self._answered, self._case)

    @property
    def check(self) -> Check:
        """The check that came of it."""
        assert self._check is not None  # noqa: S101 - what was asked has been heard
        return self._check


def _is_asked(assertion: JudgedAssertion, plain: Sequence[Check], case: Case) -> bool:
    """Whether judges are asked: a row may do without them only when it has failed already."""
    if case.checked is not None and assertion.spec.id not in case.checked:
        return False
    return not (assertion.skips_after_failure and row_outcome(plain, None) is _FAILED)


def reply_of(judges: JudgeSource | None, question: Question) -> Heard | ProctorError:
    """The recorded reply to a question, or why there is none."""
    assert judges is not None  # noqa: S101 - whoever replays has recordings
    try:
        return judges.judged(question)
    except ProctorError as error:
        return error


def said_of(error: ProctorError) -> RowError:
    """What a row says of an error."""
    message = error.message if error.hint is None else f"{error.message}; {error.hint}"
    return RowError(error.code, message)


def _checked(
    answered: Answered, checks: list[Check], row: PlannedRow, error: RowError | None = None
) -> RowResult:
    return RowResult(
        None if row.scenario is None else row.scenario.name,
        row.repeat,
        row_outcome(checks, error),
        None,
        None,
        answered.answer,
        answered.recording,
        checks,
        answered.usage,
        answered.cost_usd,
        answered.latency_ms,
        error,
    )


def errored_row(
    row: PlannedRow,
    error: RowError,
    *,
    category: str | None = None,
    attribution: str | None = None,
    outcome: Outcome = Outcome.ERRORED,
) -> RowResult:
    """The row that has no answer.

    Args:
        row: What was to be run.
        error: Why there is none.
        category: What kind of fault that is.
        attribution: Whose it is.
        outcome: What becomes of the row; it failed when what is under test did.
    """
    return RowResult(
        scenario=None if row.scenario is None else row.scenario.name,
        repeat=row.repeat,
        outcome=outcome,
        category=category,
        attribution=attribution,
        answer=None,
        recording=None,
        checks=[],
        usage=None,
        cost_usd=None,
        latency_ms=None,
        error=error,
    )
