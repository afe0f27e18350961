"""The rows of a target from its recordings: what it built, what it answered, what judges said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from proctor.canonical import digest
from proctor.errors import ProctorError
from proctor.protocols import BuildCall, BuildPart, PlannedRow, RanRow
from proctor.recorded import Replay
from proctor.records import Answered, Call, RowResult
from proctor.running.build_grades import (
    BuildGrading,
    FailedBuild,
    graded,
    is_first_of_build,
    is_of_build_alone,
    with_build,
    with_build_checks,
    without_build,
)
from proctor.running.row import RowChecks, call_of, reply_of
from proctor.subjects import ReadySubject
from proctor.targets.agent import AgentTarget

_BATCH = 64


def build_call(row: PlannedRow, target: AgentTarget) -> Call:
    """The call that builds what a row needs."""
    whole = row.whole or row.case
    return Call(whole.id, digest(target.key_inputs(whole, None)), row.repeat)


def agent_of(subject: ReadySubject) -> AgentTarget:
    """The target of a subject that is no prompt."""
    assert isinstance(subject.target, AgentTarget)  # noqa: S101 - the caller knows
    return subject.target


class ReplayedAgentRows:
    """Runs the rows of one target on recordings; whatever goes wrong spoils one row only.

    Args:
        subject: The target and its assertions.
        answer: Finds the recorded answer to a row; raises P6402 when there is none.
        source: Where recordings come from; None when the target has none.
        checks: Makes the rows.
    """

    def __init__(
        self,
        subject: ReadySubject,
        answer: Callable[[PlannedRow], Answered],
        source: Replay | None,
        checks: RowChecks,
    ) -> None:
        self._subject = subject
        self._answer = answer
        self._source = source
        self._checks = checks

    def run(self, rows: Iterable[PlannedRow]) -> Iterator[list[RanRow]]:
        """Yield the rows that were run, a few at a time."""
        batch: list[RanRow] = []
        for row in rows:
            batch.append(self._ran(row))
            if len(batch) == _BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def _ran(self, row: PlannedRow) -> RanRow:
        part: BuildPart | None = None
        try:
            result, part = self._result(row)
        except Exception as error:
            result = self._checks.spoiled(error, row)
            if is_first_of_build(row) and (row.whole or row.case).expectations:
                part = without_build(row.whole or row.case, row.repeat)
        calls = self._checks.judge_calls(row)
        return RanRow(row, result, asked=False, judge_calls=calls, build=part)

    def _result(self, row: PlannedRow) -> tuple[RowResult, BuildPart | None]:
        built = None if self._source is None else self._source.built(self._build_call(row))
        failed = None if built is None else FailedBuild.of(built)
        if built is not None and failed is not None:
            part = None
            if is_first_of_build(row):
                call = BuildCall(built.usage, built.cost_usd, False, built.recording)
                part = without_build(row.whole or row.case, row.repeat, call)
            return failed.row(row), part
        grading = self._grading(row, built) if is_first_of_build(row) else None
        part = None if grading is None else grading.part(asked=False)
        if is_of_build_alone(row):
            assert grading is not None  # noqa: S101 - it is asked what was built
            return grading.row(row), part
        of_build = [] if grading is None else grading.checks
        try:
            answered = self._answer(row)
        except ProctorError as error:
            return with_build_checks(self._checks.spoiled(error, row), of_build), part
        shown = with_build(answered, built)
        (result,) = self._checks.rows([shown], [row])
        return graded(result, answered.answer, of_build), part

    def _grading(self, row: PlannedRow, built: Answered | None) -> BuildGrading | None:
        """What becomes of the build of a row, None when there is none and nobody asks."""
        whole, source = row.whole or row.case, self._source
        grades = self._subject.builds
        if grades is None:
            return None
        if built is None or source is None:
            if source is not None and (is_of_build_alone(row) or grades.are_asked_of(whole)):
                raise source.no_build(self._build_call(row))
            return None
        grading = grades.begin(built, whole, row.repeat)
        grading.hear([reply_of(source, question) for question in grading.questions])
        return grading

    def _build_call(self, row: PlannedRow) -> Call:
        return build_call(row, agent_of(self._subject))


def replayed_agent(subject: ReadySubject, source: Replay, checks: RowChecks) -> ReplayedAgentRows:
    """What runs the rows of a target without asking it.

    Args:
        subject: The target and its assertions.
        source: Its recordings.
        checks: Makes the rows.
    """
    target = agent_of(subject)
    if target.kind == "outputs":
        from proctor.targets.outputs import stored_answer

        stored = partial(stored_answer, target, subject.root)
        return ReplayedAgentRows(subject, stored, None, checks)

    def recorded(row: PlannedRow) -> Answered:
        return source.answer(call_of(row, target))

    return ReplayedAgentRows(subject, recorded, source, checks)
