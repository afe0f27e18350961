"""A session that asks for answers, and keeps each before anything else is asked for."""

from __future__ import annotations

from collections.abc import (
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from proctor.asking import AskingLimits, Desk, Means
from proctor.canonical import sha256_hex
from proctor.cassette_files import CassetteFolder, Line, RecordingLog, read_log, rewrite_cassette
from proctor.cassettes import (
    CacheMode,
    Cassette,
    answer_keys,
)
from proctor.errors import ProctorError, raise_all
from proctor.kept_calls import Earlier, JudgingCalls, Kept, KeptCalls, Wanted
from proctor.pipeline import ReadySuite
from proctor.planning import Plan
from proctor.protocols import PlannedRow, RanRow, RowKey
from proctor.records import (
    Answered,
    Call,
    CallKind,
    Request,
    Subject,
)
from proctor.recovering import recover
from proctor.run_folders import (
    RunFolder,
    SuiteLock,
    new_run_folder,
    note_received,
    private_folder,
)
from proctor.running.engine import GRACE_S, AskRow, Done, FinishedRow, LiveExecutor, LiveLoop, Row
from proctor.running.lanes import ALL_LANES_DOWN
from proctor.running.row import AskedRow, RowChecks
from proctor.subjects import ReadySubject
from proctor.target_protocols import LiveTarget
from proctor.targets.prompt import PromptTarget
from proctor.tracker_protocols import Span, SpanKind

if TYPE_CHECKING:
    from proctor.agent_asking import AgentRows


class Resumed(Struct, frozen=True):
    """A run that goes on.

    Args:
        run: Its folder.
        claimed: Per suite the recordings, by their SHA-256, that the rows it has kept asked for.
    """

    run: RunFolder
    claimed: Mapping[str, frozenset[str]]

    def earlier(self, suite: str) -> Earlier:
        """What it has received of a suite before."""
        received = self.run.received(suite)
        return Earlier(received, set(received - self.claimed.get(suite, frozenset())))


class LiveOptions(Struct, frozen=True, kw_only=True):
    """How a live run asks.

    Args:
        mode: What is asked for, and what is stored.
        limits: How much at once, and how long.
        grace_s: How long calls in flight may still take after a stop.
        on_finished: Told of each row as soon as it has finished, with the name of its suite.
        resumed: The run that goes on; None for a new one.
        agents: The targets that are asked, by the names of their suites.
        agents_at_once: How many rows of a target are in flight at most.
        keep: Whether what targets build is left as it is.
        lanes: The backends of targets, instead of those that suites name.
    """

    mode: CacheMode
    limits: AskingLimits
    grace_s: float = GRACE_S
    on_finished: Callable[[str, ReadySubject, RanRow], None] | None = None
    resumed: Resumed | None = None
    agents: Mapping[str, LiveTarget] = {}
    agents_at_once: int = 16
    keep: bool = False
    lanes: Sequence[str] = ()


class LiveSession:
    """Asks providers, and records what they reply; close it to bring that into the cassettes.

    Args:
        folder: Where cassettes are.
        suites: The suites that are run, with their whole plans.
        means: Who is asked, and with what.
        options: How to ask.

    Raises:
        ProctorError: P6405 when a suite is being recorded elsewhere, P6403 or P6404 for a cassette
            or an earlier run's recordings that cannot be used, P6004 or P6805 when nothing can be
            stored; nothing has been asked then.
    """

    def __init__(
        self,
        folder: CassetteFolder,
        suites: Sequence[tuple[ReadySuite, Plan]],
        *,
        means: Means,
        options: LiveOptions,
    ) -> None:
        self.mode = options.mode.value
        self.is_whole = False
        """Whether every row has been run, so that nobody will go on with the run."""
        self._folder = folder
        self._means = means
        self._options = options
        self._desks: dict[str, Desk] = {}
        self._kept: dict[str, Kept] = {}
        self._running: Generator[Any, None, None] | None = None
        self._agents: AgentRows | None = None
        self._is_cut_off = False
        with ExitStack() as held:
            cassettes = {} if options.mode is CacheMode.OFF else self._take_over(suites, held)
            resumed = options.resumed
            self.run = resumed.run if resumed else new_run_folder(folder.project, means.clock)
            self._loop = LiveLoop()
            held.callback(self._loop.close)
            for name, cassette in cassettes.items():
                log = RecordingLog(self.run.recorded(name))
                held.callback(log.close)
                earlier = resumed.earlier(name) if resumed else Earlier()
                self._kept[name] = Kept(cassette, log, {}, options.mode, earlier)
            self._held = held.pop_all()

    def _take_over(
        self, suites: Sequence[tuple[ReadySuite, Plan]], held: ExitStack
    ) -> dict[str, Cassette]:
        """Lock the suites, recover what earlier runs received, and open the cassettes."""
        private_folder(self._folder.project)
        self._folder.check_writable()
        cassettes: dict[str, Cassette] = {}
        problems: list[ProctorError] = []
        for suite, plan in suites:
            name = suite.definition.name
            try:
                held.callback(SuiteLock(self._folder.project, name).release)
                recover(self._folder, suite, plan)
            except ProctorError as problem:
                problems.append(problem)
                continue
            cassettes[name], found = self._folder.open(name)
            held.callback(cassettes[name].close)
            problems += found
        raise_all(problems)
        return cassettes

    def rows(
        self,
        suite: str,
        subject: ReadySubject,
        rows: Iterable[PlannedRow],
        timed_out: set[str] | None,
    ) -> Iterator[list[RanRow]]:
        """Ask for each answer that is needed and check it, many at a time."""
        kept, limits = self._kept.get(suite), self._options.limits
        checks = RowChecks(subject.checks, timed_out)
        if isinstance(subject.target, PromptTarget):
            source = _Asking(self._desk, subject.target, kept, self._means)
            run_row = _asked_rows(subject, source, checks, suite)
            concurrency = 1 if subject.is_exclusive else limits.concurrency
            yield from self._finished(suite, subject, rows, run_row, concurrency)
            return
        from proctor.agent_asking import AgentOptions, AgentRows
        from proctor.targets.plain import Nobody

        options, calls = self._options, JudgingCalls(self._desk, kept, self._means)
        concurrency = 1 if subject.is_exclusive else options.agents_at_once
        agents = self._agents = AgentRows(
            subject,
            options.agents.get(suite) or Nobody(),
            calls=calls,
            checks=checks,
            means=self._means,
            options=AgentOptions(
                timeout_s=limits.timeout_s, keep=options.keep, lanes=options.lanes, suite=suite
            ),
        )
        planned = list(rows)
        agents.expect(planned)
        yield from self._finished(suite, subject, planned, agents, concurrency)
        self._close_agents()

    def _finished(
        self,
        suite: str,
        subject: ReadySubject,
        rows: Iterable[PlannedRow],
        run_row: Callable[[PlannedRow], Awaitable[RanRow]],
        concurrency: int,
    ) -> Iterator[list[RanRow]]:
        on_finished = self._options.on_finished

        async def finish(row: PlannedRow) -> RanRow:
            ran = await run_row(row)
            if ran.result.error is not None and ran.result.error.code == ALL_LANES_DOWN:
                # It was not tried, so whoever goes on with the run has it still before them.
                self._is_cut_off = True
            elif on_finished is not None:
                on_finished(suite, subject, ran)
            self._means.progress.row_done(ran.result.outcome)
            return ran

        for batch in self._run(rows, finish, concurrency):
            yield [ran for _, ran in batch]

    def calls(
        self,
        suite: str,
        items: Iterable[Row],
        make: Callable[[KeptCalls, Row], Awaitable[Done]],
    ) -> Iterator[list[FinishedRow[Row, Done]]]:
        """Make calls for each of some items, many at a time; yield what came of each, in order."""
        calls = KeptCalls(self._desk, self._kept.get(suite), self._means)
        return self._run(items, lambda item: make(calls, item), self._options.limits.concurrency)

    def _run(
        self, rows: Iterable[Row], ask: AskRow[Row, Done], concurrency: int
    ) -> Generator[list[FinishedRow[Row, Done]], None, None]:
        executor = LiveExecutor(
            self._loop,
            concurrency=concurrency,
            stop=self._means.stop,
            grace_s=self._options.grace_s,
            on_stop=self._give_up_waiting,
        )
        running = executor.run(rows, ask)
        self._running = running
        return running

    def _desk(self, subject: Subject) -> Desk:
        """Where the provider of a model is asked; all that ask it share its limits."""
        name = subject.model.ref.partition("/")[0]
        if name not in self._desks:
            self._desks[name] = Desk(name, self._means, self._options.limits)
        return self._desks[name]

    def _give_up_waiting(self) -> None:
        for desk in self._desks.values():
            desk.give_up_waiting()
        if self._agents is not None:
            self._agents.give_up_waiting()

    def _close_agents(self) -> None:
        if self._agents is not None and not self._loop.is_closed:
            self._loop.run(self._agents.close())
        self._agents = None

    def close(self) -> None:
        """End what is in flight, and bring what was received into the cassettes.

        Raises:
            ProctorError: When a cassette cannot be written; what was received stays in the run's
                folder, and the next live run takes it from there.
        """
        problems: list[ProctorError] = []
        with self._held:
            if self._running is not None:
                self._running.close()
            self._close_agents()
            if not self._loop.is_closed:
                self._loop.run(self._close_providers())
            for name, kept in self._kept.items():
                received: dict[str, Line] = {}
                try:
                    received = dict(read_log(kept.log.path))
                    if received:
                        rewrite_cassette(self._folder, name, new=received)
                    if received and (self._is_cut_off or not self.is_whole):
                        recordings = [sha256_hex(line.raw) for line in received.values()]
                        note_received(kept.log.path, recordings)
                except ProctorError as problem:
                    problems += self._not_stored(problem, name, len(received))
                else:
                    kept.log.path.unlink()
        raise_all(problems)

    def _not_stored(
        self, problem: ProctorError, suite: str, answers: int
    ) -> Iterator[ProctorError]:
        """The same problems, which also say where the answers are and how they get out of there."""
        if not answers:
            yield from problem.problems()
            return
        place = self.run.recorded(suite).parent.relative_to(self._folder.project)
        # `recover` knows the project's own cassettes only.
        command = f"proctor cassette recover {suite}"
        if self._folder.option:
            command = f"proctor run {suite} --cache record{self._folder.option}"
        for one in problem.problems():
            first = "make room" if one.code == "P6004" else one.hint or "mend it"
            yield type(one)(
                f"{one.message}; answers kept in `{place}/`: {answers}",
                code=one.code,
                hint=f"{first}, then `{command}` stores them",
                where=one.where,
            )

    async def _close_providers(self) -> None:
        for provider in self._means.providers.values():
            await provider.aclose()


def _asked_rows(
    subject: ReadySubject, source: _Asking, checks: RowChecks, suite: str
) -> Callable[[PlannedRow], Awaitable[RanRow]]:
    """What runs the rows of a prompt on a model."""
    assert isinstance(subject.target, PromptTarget)  # noqa: S101 - the caller has looked
    asked_row = AskedRow(subject.target, source, checks)
    asked, wrap = subject.target.subject, source.wrap

    async def run_row(row: PlannedRow) -> RanRow:
        span = Span(kind=SpanKind.SCENARIO, subject=asked, suite=suite, row=row)
        result = await wrap(span, None, lambda: asked_row(row))
        return RanRow(row, result, source.was_asked(row), checks.judge_calls(row))

    return run_row


class _Asking(JudgingCalls):
    """Asks for the answers of one subject; rows that need the same answer share one call.

    Args:
        desk: Where the provider of a model is asked.
        target: Makes the requests.
        kept: The recordings of the suite, None when nothing is stored.
        means: Where time comes from, and what stops the run.
    """

    def __init__(
        self,
        desk: Callable[[Subject], Desk],
        target: PromptTarget,
        kept: Kept | None,
        means: Means,
    ) -> None:
        super().__init__(desk, kept, means)
        self.wrap = means.wrap
        self._target = target
        self._keys = answer_keys(target.subject)
        self._asked: set[RowKey] = set()

    def was_asked(self, row: PlannedRow) -> bool:
        """Whether the answer to this row was asked for, and not replayed or shared."""
        return row.key in self._asked

    async def ask(self, call: Call, row: PlannedRow) -> Answered:
        """The answer to one row.

        Raises:
            ProviderError: When there was none that could be kept.
        """

        def request() -> Request:
            made = self._target.request(row.case)
            self._asked.add(row.key)
            return made

        wanted = Wanted(CallKind.ANSWER, self._target.subject, call, None)
        key = self._keys.key(call.inputs_sha256, call.take)
        heard = await self.find_or_ask(wanted, key, request)
        if heard.asked:
            self._asked.add(row.key)
        return heard.reply
