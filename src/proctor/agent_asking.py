"""The rows of a target that is asked: built for once, scenario by scenario, graded and kept."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from proctor.asking import Means, Pauses, again_when_lost, require_keepable
from proctor.canonical import digest
from proctor.cassettes import answer_keys, build_keys
from proctor.errors import ProctorError, ProviderError
from proctor.kept_calls import JudgingCalls, Origin, Wanted
from proctor.outcomes import BUILD_FAILURES
from proctor.protocols import BuildCall, BuildPart, PlannedRow, RanRow
from proctor.records import Answered, Call, CallKind, Case, Check, Reply, RowResult
from proctor.running.attempts import with_retries
from proctor.running.build_grades import (
    BuildGrades,
    BuildGrading,
    FailedBuild,
    graded,
    is_first_of_build,
    is_of_build_alone,
    with_build,
    with_build_checks,
    without_build,
)
from proctor.running.builds import BuildCache
from proctor.running.faults import Lost, Phase
from proctor.running.lanes import AllLanesDown, Held, Lanes, Work
from proctor.running.resources import Resources
from proctor.running.retrying import Wait
from proctor.running.row import FRAMEWORK_ISSUE, RowChecks, call_of, errored_row, said_of
from proctor.subjects import ReadySubject
from proctor.target_protocols import LiveTarget
from proctor.targets.agent import AgentTarget
from proctor.targets.outputs import stored_answer
from proctor.tracker_protocols import Span, SpanKind

_T = TypeVar("_T")

_COMPLEX = 1.5
"""How many times as long a complex case may take."""
_CLEANING_S = 30.0
"""How long letting go of a build may take."""


class AgentOptions(Struct, frozen=True, kw_only=True):
    """How a target is asked.

    Args:
        timeout_s: How long one call may take, unless the suite says so itself.
        keep: Whether what was built is left as it is.
        lanes: The backends, instead of those that the suite names.
        suite: The name of the suite, for who follows the run.
    """

    timeout_s: float
    keep: bool = False
    lanes: Sequence[str] = ()
    suite: str = ""


class _OnLane:
    """What was built, where it is, and as it was recorded."""

    def __init__(self, artifact: object, lane: str | None, answered: Answered) -> None:
        self.artifact = artifact
        self.lane = lane
        self.answered = answered
        self._is_told = False

    def tell(self) -> bool:
        """Whether it is yet to be told that this was asked for: cases alike share a build."""
        is_first, self._is_told = not self._is_told, True
        return is_first


class AgentRows:
    """Runs the rows of one target; whatever goes wrong spoils one row, or those of one build.

    Close it when the last row has been run, on the event loop that ran them.

    Args:
        subject: The target and its assertions.
        live: What answers.
        calls: Makes and keeps the calls, also those of judges.
        checks: Makes the rows.
        means: What asking needs from outside.
        options: How to ask.
    """

    def __init__(
        self,
        subject: ReadySubject,
        live: LiveTarget,
        *,
        calls: JudgingCalls,
        checks: RowChecks,
        means: Means,
        options: AgentOptions,
    ) -> None:
        target = subject.target
        assert isinstance(target, AgentTarget)  # noqa: S101 - prompts are asked elsewhere
        self._target, self._live, self._root = target, live, subject.root
        self._grades = subject.builds or BuildGrades(None, None)
        self._calls, self._checks, self._means = calls, checks, means
        self._suite = options.suite
        self._timeout_s = target.timeout_s or options.timeout_s
        self._answers, self._builds = answer_keys(target.subject), build_keys(target.subject)
        self._origin = Origin(target.subject.id, None)
        self._pauses = Pauses(means.clock)
        note = means.progress.note
        self._lanes = Lanes(
            options.lanes or target.lanes,
            builds_per_lane=target.builds_per_lane,
            target=live,
            clock=means.clock,
            on_note=note,
            timeout_s=self._timeout_s,
        )
        self._cache: BuildCache[_OnLane] = BuildCache(
            self._clean_up, keep=options.keep, on_note=note
        )
        self._resources = Resources()
        self._rows_of_build: Counter[str] = Counter()
        self._to_build: set[str] = set()
        self._is_free = True

    def expect(self, rows: Iterable[PlannedRow]) -> None:
        """Say which rows will be run, so that a build is let go of after its last one.

        What is recorded of a build does for all of its rows or for none: when one of them has to be
        asked, it is made anew, and they are all graded by what is recorded then.
        """
        for row in rows:
            running = _Running(row)
            key = self._build_key(running)
            self._rows_of_build[self._shared_key(running)] += 1
            if key not in self._to_build and self._lacks(row, self._calls.find(key)):
                self._to_build.add(key)

    async def __call__(self, row: PlannedRow) -> RanRow:
        """Run one row."""
        running = _Running(row)
        try:
            result = await self._run(running)
        except Exception as error:
            result = with_build_checks(self._spoiled(error, row), running.checks)
        if running.part is None and is_first_of_build(row) and running.case.expectations:
            running.part = without_build(running.case, row.repeat)
        calls = self._checks.judge_calls(row)
        return RanRow(row, result, running.asked, calls, running.part)

    def _spoiled(self, error: Exception, row: PlannedRow) -> RowResult:
        """The row of an error, which says whose fault that is."""
        if isinstance(error, Lost):
            category, attribution, outcome = error.blame
            return errored_row(
                row, said_of(error), category=category, attribution=attribution, outcome=outcome
            )
        result = self._checks.spoiled(error, row)
        owner = "lane" if isinstance(error, AllLanesDown) else "framework"
        if isinstance(error, ProviderError):
            # It returned something that cannot be kept, or never had what it is asked for.
            owner = "target"
        return replace(result, category=FRAMEWORK_ISSUE, attribution=owner)

    def give_up_waiting(self) -> None:
        """End the waits of what would be tried again, because no new call may start."""
        self._pauses.end()
        self._lanes.give_up_waiting()

    async def close(self) -> None:
        """Let go of all that was built, then of the lanes, then of the target."""
        await self._cache.close()
        await self._lanes.close()
        await self._live.aclose()

    async def _run(self, running: _Running) -> RowResult:
        row = running.row
        known = self._build_key(running)
        found = None if known in self._to_build else self._calls.find(known)
        if found is not None:
            return await self._graded(running, found, None)
        if not self._live.builds:
            if running.case.expectations and is_first_of_build(row):
                raise ProviderError(
                    f"the target `{self._target.subject.name}` builds nothing of which the "
                    "expectations of the case could be true",
                    code="P6701",
                    hint="give the target a `build`, or the case no `expectations`",
                )
            return await self._graded(running, None, None)
        shared = self._shared_key(running)
        key, rows = (self._target.subject.id, row.repeat, shared), self._rows_of_build[shared]
        async with self._cache.use(key, partial(self._build, running), rows=rows) as built:
            return await self._graded(running, built.answered, built)

    def _lacks(self, row: PlannedRow, built: Answered | None) -> bool:
        """Whether a row has to ask something of what is built, given what is recorded of that."""
        if built is None:
            return True
        if is_of_build_alone(row) or FailedBuild.of(built) is not None:
            return False
        return self._calls.find(self._key(row)) is None

    async def _graded(
        self, running: _Running, built: Answered | None, on_lane: _OnLane | None
    ) -> RowResult:
        """The row, with what is found of the build when it is the first of it."""
        kind = SpanKind.SCENARIO if built is None else SpanKind.AGENT_SCENARIO
        lane = None if on_lane is None else on_lane.lane
        grade = partial(self._grade, running, built, on_lane)
        return await self._means.wrap(self._span(kind, running), lane, grade)

    def _span(self, kind: SpanKind, running: _Running) -> Span:
        suite = self._suite
        return Span(kind=kind, subject=self._target.subject, suite=suite, row=running.row)

    async def _grade(
        self, running: _Running, built: Answered | None, on_lane: _OnLane | None
    ) -> RowResult:
        row = running.row
        failed = None if built is None else FailedBuild.of(built)
        if built is not None and failed is not None:
            if is_first_of_build(row):
                asked = self._is_asked(built, on_lane)
                call = BuildCall(built.usage, built.cost_usd, asked, built.recording)
                running.part = without_build(running.case, row.repeat, call)
            return failed.row(row)
        grading = await self._grading(running, built, on_lane)
        if is_of_build_alone(row):
            assert grading is not None  # noqa: S101 - without a build the row has failed
            return grading.row(row)
        running.checks = () if grading is None else grading.checks
        answered = await self._answer(running, on_lane)
        shown = with_build(answered, built)
        result = await self._checks.row(shown, row, self._calls)
        return graded(result, answered.answer, running.checks)

    async def _grading(
        self, running: _Running, built: Answered | None, on_lane: _OnLane | None
    ) -> BuildGrading | None:
        if built is None or not is_first_of_build(running.row):
            return None
        grading = self._grades.begin(built, running.case, running.row.repeat)
        replies = [self._calls.judged(question) for question in grading.questions]
        grading.hear(await asyncio.gather(*replies, return_exceptions=True))
        running.part = grading.part(asked=self._is_asked(built, on_lane))
        return grading

    def _is_asked(self, built: Answered, on_lane: _OnLane | None) -> bool:
        return self._calls.claim(built) if on_lane is None else on_lane.tell()

    async def _build(self, running: _Running) -> _OnLane:
        """Build for a case, and keep what came of it, also when that is a failure."""
        call = self._build_call(running)
        wanted = Wanted(CallKind.BUILD, self._target.subject, call, None)
        key = self._build_key(running)

        async def build(held: Held) -> tuple[object, Reply, str | None]:
            artifact: object = None

            async def once() -> Reply:
                nonlocal artifact
                repeat = running.row.repeat
                built = await self._in_time(
                    running.case, self._live.build(running.case, repeat, held.lane)
                )
                artifact = built.artifact
                return built.reply

            span = self._span(SpanKind.BUILD, running)
            reply = await self._means.wrap(span, held.lane, partial(self._paid, "build", once))
            return artifact, reply, held.lane

        try:
            artifact, reply, lane = await self._with_retries(running, build, Phase.BUILD, None)
        except Lost as lost:
            if lost.blame.category in BUILD_FAILURES:
                failed = FailedBuild(str(lost.blame.category), lost.message)
                cost_usd = None if self._target.max_cost_usd.get("build") else 0.0
                reply = Reply(failed.answer(), None, cost_usd, None, None)
                return _OnLane(None, lost.lane, self._calls.keep(wanted, key, reply, self._origin))
            raise
        try:
            require_keepable(reply)
            answered = self._calls.keep(wanted, key, reply, self._origin)
        except ProctorError:
            await self._let_go(artifact, lane)
            raise
        return _OnLane(artifact, lane, answered)

    async def _answer(self, running: _Running, built: _OnLane | None) -> Answered:
        row = running.row
        if self._target.kind == "outputs":
            return stored_answer(self._target, self._root, row)
        artifact = None if built is None else built.artifact
        wanted = Wanted(CallKind.ANSWER, self._target.subject, call_of(row, self._target), None)

        async def answer(held: Held) -> Reply:
            held.during = Phase.PREPARE
            await self._in_time(
                running.case, self._live.prepare(running.case, row.scenario, artifact, held.lane)
            )
            held.during = Phase.ANSWER
            lane = held.lane

            async def once() -> Reply:
                return await self._in_time(
                    running.case,
                    self._live.answer(running.case, row.scenario, artifact, row.repeat, lane),
                )

            return await self._paid("answer", once)

        async def make() -> Reply:
            running.asked = True
            resources = [] if row.scenario is None else row.scenario.resources
            async with self._resources.hold(resources):
                reply = await self._with_retries(running, answer, Phase.ANSWER, built)
            require_keepable(reply)
            return reply

        # Answers about another build are none about this one.
        anew = built is not None and self._build_key(running) in self._to_build
        heard = await self._calls.find_or_make(
            wanted, self._key(row), make, self._origin, anew=anew
        )
        running.asked = running.asked or heard.asked
        return heard.reply

    async def _with_retries(
        self,
        running: _Running,
        call: Callable[[Held], Awaitable[_T]],
        during: Phase,
        built: _OnLane | None,
    ) -> _T:
        name = self._target.subject.name

        def say(wait: Wait) -> None:
            self._means.progress.waiting(name, wait.seconds, wait.attempt, wait.reason)

        key = self._shared_key(running)
        lane = None if built is None else built.lane
        return await with_retries(
            lambda held: again_when_lost(lambda: call(held)),
            lanes=self._lanes,
            work=Work(running.case.id, build=key if self._live.builds else None, lane=lane),
            during=during,
            clock=self._pauses,
            on_wait=say,
        )

    async def _in_time(self, case: Case, call: Awaitable[_T]) -> _T:
        times = _COMPLEX if case.complexity == "complex" else 1
        async with asyncio.timeout(self._timeout_s * times):
            return await call

    async def _paid(self, kind: str, call: Callable[[], Awaitable[Reply]]) -> Reply:
        """The reply to a call, which reserves what it may cost and settles at what it did."""
        if self._means.stop.requested:
            raise asyncio.CancelledError
        self._require_free()
        budget, most = self._means.budget, self._target.max_cost_usd.get(kind, 0.0)
        reservation = None if budget is None else await budget.reserve(most)
        cost_usd: float | None = None
        started = self._means.clock.monotonic()
        try:
            reply = await call()
            cost_usd = 0.0 if reply.cost_usd is None and not most else reply.cost_usd
        finally:
            if reservation is not None and budget is not None:
                reservation.settle(cost_usd)
                self._means.progress.money(budget.spent_usd, budget.remaining_usd)
        if cost_usd and not most:
            self._is_free = False
            self._require_free()
        latency_ms = reply.latency_ms
        if latency_ms is None:
            latency_ms = round((self._means.clock.monotonic() - started) * 1_000, 1)
        return replace(reply, cost_usd=cost_usd, latency_ms=latency_ms)

    def _require_free(self) -> None:
        """Ask nothing more of a target that costs something where its suite says it does not."""
        if not self._is_free:
            raise ProviderError(
                f"`{self._target.subject.name}` costs something, and its suite says it does not",
                code="P6503",
                hint="mend its `maxCostUsd`, and give a `--max-cost`",
            )

    async def _clean_up(self, built: _OnLane) -> bool:
        if FailedBuild.of(built.answered) is not None:
            return True
        return await self._let_go(built.artifact, built.lane)

    async def _let_go(self, artifact: object, lane: str | None) -> bool:
        async with asyncio.timeout(min(_CLEANING_S, self._timeout_s)):
            return await self._live.cleanup(artifact, lane)

    def _key(self, row: PlannedRow) -> str:
        return self._answers.key(self._target.inputs_sha256(row), row.repeat)

    def _shared_key(self, running: _Running) -> str:
        """What rows have in common that share a build: where nothing is kept, that is the case."""
        key = self._build_key(running)
        return key if self._calls.keeps else f"{key} {running.case.id}"

    def _build_key(self, running: _Running) -> str:
        call = self._build_call(running)
        return self._builds.key(call.inputs_sha256, call.take)

    def _build_call(self, running: _Running) -> Call:
        if running.build_call is None:
            inputs = digest(self._target.key_inputs(running.case, None))
            running.build_call = Call(running.case.id, inputs, running.row.repeat)
        return running.build_call


class _Running:
    """A row that is being run, and what is known of it by now.

    Args:
        row: The row.
    """

    def __init__(self, row: PlannedRow) -> None:
        self.row = row
        self.case = row.whole or row.case
        self.asked = False
        self.build_call: Call | None = None
        self.part: BuildPart | None = None
        self.checks: Sequence[Check] = ()
        """Those of the build that it is the first row of."""
