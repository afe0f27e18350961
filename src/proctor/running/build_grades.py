"""What is asked of each build: assertions on what was built, and statements that judges look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from proctor.canonical import canonical_json
from proctor.outcomes import BUILD_FAILURES, row_outcome, worst_outcome
from proctor.protocols import (
    BuildCall,
    BuildPart,
    Heard,
    JudgeCall,
    JudgedAssertion,
    PlannedRow,
    PreparedChecks,
    Question,
)
from proctor.records import (
    BUILD_ONLY,
    Answer,
    Answered,
    Case,
    Check,
    ExpectationResult,
    Finish,
    Outcome,
    RowError,
    RowResult,
    model_answer,
)
from proctor.running.blame import answered_blame
from proctor.running.row import Judging, errored_row

_FAILED_BUILD = "build_failed"


class BuildGrades:
    """Asks everything of each build of one subject.

    Args:
        checks: The assertions on what was built, None when there are none.
        judge: Who says whether a statement is true of it; None when the suite names nobody.
    """

    def __init__(self, checks: PreparedChecks | None, judge: JudgedAssertion | None) -> None:
        self.checks = checks
        self.judge = judge

    @property
    def are_asked(self) -> bool:
        """Whether the suite asks anything of builds."""
        return self.checks is not None or self.judge is not None

    def are_asked_of(self, case: Case) -> bool:
        """Whether there is anything to ask of what is built for a case."""
        return self.checks is not None or (self.judge is not None and bool(case.expectations))

    def begin(self, built: Answered, case: Case, repeat: int) -> BuildGrading:
        """Check what was built for a case, and have the questions for the judges ready."""
        shown = as_checked(built)
        judgings: list[tuple[str, Judging]] = []
        if self.judge is not None:
            judgings += [
                (text, Judging(self.judge, shown, case.stating(text))) for text in case.expectations
            ]
        checks = [] if self.checks is None else self.checks.run(shown, case, ())
        return BuildGrading(checks, judgings, built, repeat)


class BuildGrading:
    """What becomes of one build.

    Args:
        checks: The checks of it that ask no judge.
        judgings: The statements about it, each with what becomes of it.
        built: What was built.
        repeat: In which repeat.
    """

    def __init__(
        self,
        checks: list[Check],
        judgings: Sequence[tuple[str, Judging]],
        built: Answered,
        repeat: int,
    ) -> None:
        self.checks = checks
        self._judgings = judgings
        self._built = built
        self._repeat = repeat

    @property
    def questions(self) -> list[Question]:
        """What judges are asked, statement by statement."""
        return [question for _, one in self._judgings for question in one.questions]

    def hear(self, replies: Sequence[Heard | BaseException]) -> None:
        """Take the replies to the questions, in their order."""
        said = iter(replies)
        for _, one in self._judgings:
            one.hear([next(said) for _ in one.questions])

    def part(self, *, asked: bool) -> BuildPart:
        """What the first row of the build brings of it.

        Args:
            asked: Whether it was built now.
        """
        built = self._built
        calls: list[JudgeCall] = [call for _, one in self._judgings for call in one.calls]
        found = [
            ExpectationResult(text, self._repeat, one.check.outcome, one.check.votes)
            for text, one in self._judgings
        ]
        return BuildPart(
            BuildCall(built.usage, built.cost_usd, asked, built.recording), found, calls
        )

    @property
    def error(self) -> RowError | None:
        """Why a statement could not be judged, None when all could."""
        return next((one.error for _, one in self._judgings if one.error is not None), None)

    def row(self, planned: PlannedRow) -> RowResult:
        """The row that stands for the build: it is worth what is expected of it."""
        outcomes = [one.check.outcome for _, one in self._judgings]
        outcome = worst_outcome([*outcomes, row_outcome(self.checks, self.error)])
        is_unmet = Outcome.FAILED in outcomes
        blame = answered_blame(outcome, expectations=is_unmet)
        return RowResult(
            scenario=None if planned.scenario is None else planned.scenario.name,
            repeat=planned.repeat,
            outcome=outcome,
            category=blame.category,
            attribution=blame.attribution,
            answer=None,
            recording=None,
            checks=self.checks,
            usage=None,
            cost_usd=None,
            latency_ms=None,
            error=self.error,
        )


def as_checked(built: Answered) -> Answered:
    """What was built as assertions and judges see it: its artifact is the text of the answer."""
    answer = built.answer
    if answer.artifact is None:
        return built
    artifact = answer.artifact
    text = artifact if isinstance(artifact, str) else canonical_json(artifact).decode("utf-8")
    return replace(built, answer=replace(answer, text=text))


class FailedBuild(NamedTuple):
    """Why a build failed: what the target itself did wrong, which is its verdict."""

    category: str
    message: str

    def row(self, planned: PlannedRow) -> RowResult:
        """What a row of the build becomes."""
        return errored_row(
            planned,
            RowError("P6702", self.message),
            category=self.category,
            attribution="target",
            outcome=Outcome.FAILED,
        )

    def answer(self) -> Answer:
        """What is recorded of it, so that a replay says the same."""
        said = {_FAILED_BUILD: self.category, "message": self.message}
        return replace(model_answer(None, finish=Finish.OTHER), debug=said)

    @classmethod
    def of(cls, built: Answered) -> FailedBuild | None:
        """Why a recorded build failed; None when it is one that did not."""
        debug = built.answer.debug
        if built.answer.finish is not Finish.OTHER or not isinstance(debug, dict):
            return None
        category, message = debug.get(_FAILED_BUILD), debug.get("message")
        if category not in BUILD_FAILURES or not isinstance(message, str):
            return None
        return cls(category, message)


def without_build(case: Case, repeat: int, call: BuildCall | None = None) -> BuildPart:
    """What the first row of a build brings that is not there: nothing is known of it."""
    return BuildPart(
        call,
        [ExpectationResult(text, repeat, Outcome.UNMEASURED, []) for text in case.expectations],
    )


def with_build(answered: Answered, built: Answered | None) -> Answered:
    """An answer as assertions and judges see it: with what was built, where it says nothing."""
    if built is None:
        return answered
    mine, its = answered.answer, built.answer
    return replace(
        answered,
        answer=replace(
            mine,
            artifact=its.artifact if mine.artifact is None else mine.artifact,
            transcript=its.transcript if mine.transcript is None else mine.transcript,
            context=its.context if mine.context is None else mine.context,
        ),
    )


def graded(result: RowResult, answer: Answer, of_build: Sequence[Check]) -> RowResult:
    """The row of an answer, with the answer as it came and the checks of the build before its own.

    Args:
        result: The row as its own checks make it.
        answer: The answer without what was built.
        of_build: The checks of the build that it is the first row of.
    """
    checks = [*of_build, *result.checks]
    outcome = row_outcome(checks, result.error)
    blame = answered_blame(outcome, judged=any(check.votes for check in checks))
    return replace(
        result,
        answer=answer,
        checks=checks,
        outcome=outcome,
        category=blame.category,
        attribution=blame.attribution,
    )


def with_build_checks(spoiled: RowResult, of_build: Sequence[Check]) -> RowResult:
    """A row without an answer, with the checks of the build that it is the first row of.

    What was built may fail a row that nothing else is known of.
    """
    if not of_build:
        return spoiled
    if row_outcome(of_build, None) is not Outcome.FAILED:
        return replace(spoiled, checks=list(of_build))
    blame = answered_blame(Outcome.FAILED)
    return replace(
        spoiled,
        checks=list(of_build),
        outcome=Outcome.FAILED,
        category=blame.category,
        attribution=blame.attribution,
    )


def is_of_build_alone(row: PlannedRow) -> bool:
    """Whether a row stands for a build, and nothing is answered."""
    return row.scenario is not None and row.scenario.name == BUILD_ONLY


def is_first_of_build(row: PlannedRow) -> bool:
    """Whether a row is the one that brings what is found of the build that it needs."""
    if row.whole is None or row.scenario is None or is_of_build_alone(row):
        return True
    return row.scenario.name == row.whole.scenarios[0].name
