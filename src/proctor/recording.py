"""A session that asks for answers, and keeps each before anything else is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from proctor.asking import AskingLimits, Desk, Means
from proctor.canonical import FORMAT_VERSION, sha256_hex
from proctor.cassette_files import CassetteFolder, Line, RecordingLog, read_log, rewrite_cassette
from proctor.cassettes import (
    CacheMode,
    Cassette,
    DamagedRecording,
    JudgeKeys,
    KeyCheck,
    answer_keys,
    as_answered,
    prove_recording,
)
from proctor.errors import ProctorError, ProviderError, UsageError, raise_all
from proctor.pipeline import ReadySubject, ReadySuite
from proctor.planning import Plan
from proctor.protocols import Heard, PlannedRow, Question, RanRow
from proctor.records import (
    Answered,
    Call,
    CallKind,
    Case,
    KeyParts,
    Provenance,
    Recording,
    Reply,
    Request,
    RowResult,
    Subject,
    encode_json,
)
from proctor.replaying import subject_keys
from proctor.run_folders import SuiteLock, new_run_folder, private_folder, unfinished
from proctor.running.engine import GRACE_S, FinishedRow, LiveExecutor, LiveLoop
from proctor.running.row import AskedRow, RowChecks
from proctor.safe_io import write_whole
from proctor.targets.prompt import PromptTarget


class LiveOptions(Struct, frozen=True, kw_only=True):
    """How a live run asks.

    Args:
        mode: What is asked for, and what is stored.
        limits: How much at once, and how long.
        grace_s: How long calls in flight may still take after a stop.
    """

    mode: CacheMode
    limits: AskingLimits
    grace_s: float = GRACE_S


class _Kept(Struct, frozen=True):
    """What a session holds of one suite: its recordings, old and new, and calls without one."""

    cassette: Cassette
    log: RecordingLog
    calls: dict[str, asyncio.Future[Answered]]
    mode: CacheMode

    def find(self, key: str) -> Answered | None:
        """The answer that is there already, or None."""
        found = self.cassette.find(key) if self.mode is CacheMode.RECORD else None
        return found or self.log.find(key)


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
        self._folder = folder
        self._means = means
        self._options = options
        self._desks: dict[str, Desk] = {}
        self._kept: dict[str, _Kept] = {}
        self._running: Generator[list[FinishedRow], None, None] | None = None
        with ExitStack() as held:
            cassettes = {} if options.mode is CacheMode.OFF else self._take_over(suites, held)
            self.run = new_run_folder(folder.project, means.clock)
            self._loop = LiveLoop()
            held.callback(self._loop.close)
            for name, cassette in cassettes.items():
                log = RecordingLog(self.run.recorded(name))
                held.callback(log.close)
                self._kept[name] = _Kept(cassette, log, {}, options.mode)
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
        self, suite: str, subject: ReadySubject, rows: Iterable[PlannedRow], timed_out: set[str]
    ) -> Iterator[list[RanRow]]:
        """Ask for each answer that is needed and check it, many at a time."""
        source = _Asking(self._desk, subject.target, self._kept.get(suite))
        checks = RowChecks(subject.checks, timed_out)
        asked_row = AskedRow(subject.target, source, checks)

        async def run_row(case: Case, repeat: int) -> RowResult:
            result = await asked_row(case, repeat)
            self._means.progress.row_done(result.outcome)
            return result

        executor = LiveExecutor(
            self._loop,
            concurrency=self._options.limits.concurrency,
            stop=self._means.stop,
            grace_s=self._options.grace_s,
            on_stop=self._give_up_waiting,
        )
        self._running = executor.run(rows, run_row)
        for batch in self._running:
            yield [
                RanRow(
                    planned,
                    result,
                    source.was_asked(planned.case.id, planned.repeat),
                    checks.judge_calls(planned.case.id, planned.repeat),
                )
                for planned, result in batch
            ]

    def _desk(self, subject: Subject) -> Desk:
        """Where the provider of a model is asked; all that ask it share its limits."""
        name = subject.model.ref.partition("/")[0]
        if name not in self._desks:
            self._desks[name] = Desk(name, self._means, self._options.limits)
        return self._desks[name]

    def _give_up_waiting(self) -> None:
        for desk in self._desks.values():
            desk.give_up_waiting()

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
            if not self._loop.is_closed:
                self._loop.run(self._close_providers())
            for name, kept in self._kept.items():
                received: dict[str, Line] = {}
                try:
                    received = dict(read_log(kept.log.path))
                    if received:
                        rewrite_cassette(self._folder, name, new=received)
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


class _Asking:
    """Asks for the answers of one subject; rows that need the same answer share one call.

    Args:
        desk: Where the provider of a model is asked.
        target: Makes the requests.
        kept: The recordings of the suite, None when nothing is stored.
    """

    def __init__(
        self, desk: Callable[[Subject], Desk], target: PromptTarget, kept: _Kept | None
    ) -> None:
        self._desk = desk
        self._target = target
        self._kept = kept
        self._keys = answer_keys(target.subject)
        self._judge_keys = JudgeKeys()
        self._proofs = KeyCheck()
        self._asked: set[tuple[str, int]] = set()

    def was_asked(self, case: str, repeat: int) -> bool:
        """Whether the answer to this row was asked for, and not replayed or shared."""
        return (case, repeat) in self._asked

    async def ask(self, call: Call, case: Case) -> Answered:
        """The answer to one row.

        Raises:
            ProviderError: When there was none that could be kept.
        """

        def request() -> Request:
            made = self._target.request(case)
            self._asked.add((call.case, call.take))
            return made

        wanted = _Wanted(CallKind.ANSWER, self._target.subject, call, None)
        key = self._keys.key(call.inputs_sha256, call.take)
        return (await self._find_or_ask(wanted, key, request)).reply

    async def judged(self, question: Question) -> Heard:
        """The reply of a judge.

        Raises:
            ProviderError: When there was none that could be kept.
        """
        call = Call(question.case, question.inputs_sha256, question.take)
        wanted = _Wanted(CallKind.JUDGE, question.subject, call, question.assertion)
        return await self._find_or_ask(wanted, self._judge_keys.key(question), question.request)

    async def _find_or_ask(
        self, wanted: _Wanted, key: str, request: Callable[[], Request]
    ) -> Heard:
        kept = self._kept
        if kept is None:
            reply = await self._desk(wanted.subject).ask(request(), wanted.call)
            return Heard(_answered(reply, recording=None), asked=True)
        found = kept.find(key)
        if found is not None:
            return Heard(found, asked=False)
        asked = key not in kept.calls
        if asked:
            kept.calls[key] = asyncio.ensure_future(self._ask_and_keep(kept, key, wanted, request))
        return Heard(await kept.calls[key], asked)

    async def _ask_and_keep(
        self, kept: _Kept, key: str, wanted: _Wanted, request: Callable[[], Request]
    ) -> Answered:
        desk = self._desk(wanted.subject)
        reply = await desk.ask(request(), wanted.call)
        raw = encode_json(_recording(key, wanted, reply, desk))
        try:
            prove_recording(raw, self._proofs)
        except DamagedRecording as damage:
            raise ProviderError(f"the reply cannot be kept: it {damage}", code="P6312") from None
        try:
            kept.log.append(key, raw)
        except UsageError:
            desk.means.stop.request()
            raise
        # Later rows read it from the log, so that answers are not held in memory.
        del kept.calls[key]
        return _answered(reply, recording=sha256_hex(raw))


class _Wanted(Struct, frozen=True, gc=False):
    """A call: what it is made for, who is asked, and the assertion that asks."""

    kind: CallKind
    subject: Subject
    call: Call
    assertion: str | None


def _recording(key: str, wanted: _Wanted, reply: Reply, desk: Desk) -> Recording:
    subject, call, provider = wanted.subject, wanted.call, desk.provider
    return Recording(
        v=FORMAT_VERSION,
        key=key,
        model=subject.model.ref,
        case=call.case,
        scenario=None,
        assertion=wanted.assertion,
        call=wanted.kind,
        take=call.take,
        parts=KeyParts(subject.prompt.bundle_sha256, call.inputs_sha256, subject.model.params),
        answer=reply.answer,
        usage=reply.usage,
        cost_usd=reply.cost_usd,
        latency_ms=reply.latency_ms,
        recorded=Provenance(
            provider=desk.name,
            host=None if provider is None else provider.host,
            response_model=reply.response_model,
            on=f"{desk.means.clock.now():%Y-%m-%d}",
        ),
    )


def _answered(reply: Reply, *, recording: str | None) -> Answered:
    return Answered(reply.answer, recording, reply.usage, reply.cost_usd, reply.latency_ms)


class Recovered(NamedTuple):
    """What came of recovering a suite.

    Args:
        taken: How many recordings are in the cassette now.
        held_back: How many are not, by the file that they stay in.
    """

    taken: int
    held_back: dict[Path, int]


def recover(folder: CassetteFolder, suite: ReadySuite, plan: Plan) -> Recovered:
    """Bring what killed runs received of a suite into its cassette.

    Only recordings of calls that the plan makes are taken; the rest stays where it is.

    Raises:
        ProctorError: P6403 or P6404 when a log or the cassette is damaged; nothing changed then.
    """
    name = suite.definition.name
    logs = unfinished(folder.project, name)
    if not logs:
        return Recovered(0, {})
    lines = [(log, key, line) for log in logs for key, line in read_log(log)]
    keys = _keys_of_plan(folder, suite, plan, {key: line for _, key, line in lines})
    received: dict[str, Line] = {}
    left: dict[Path, list[bytes]] = {log: [] for log in logs}
    for log, key, line in lines:
        if key in keys:
            received[key] = line
        else:
            left[log].append(line.raw)
    if received:
        rewrite_cassette(folder, name, new=received)
    for log, rest in left.items():
        if rest:
            # Without what was taken, which may be out of date when the rest is.
            write_whole(log, [raw + b"\n" for raw in rest])
        else:
            log.unlink()
    held_back = {log: len(rest) for log, rest in left.items() if rest}
    return Recovered(len(received), held_back)


def recover_alone(folder: CassetteFolder, suite: ReadySuite, plan: Plan) -> Recovered:
    """The same for a suite that is not being recorded; it is locked meanwhile.

    Raises:
        ProctorError: As `recover`; P6405 when the suite is being recorded elsewhere.
    """
    name = suite.definition.name
    if not unfinished(folder.project, name):
        return Recovered(0, {})
    lock = SuiteLock(folder.project, name)
    try:
        return recover(folder, suite, plan)
    finally:
        lock.release()


def _keys_of_plan(
    folder: CassetteFolder, suite: ReadySuite, plan: Plan, received: Mapping[str, Line]
) -> set[str]:
    """The keys that a plan asks for, where answers that were received count as recorded."""
    cassette, problems = folder.open(suite.definition.name)
    with closing(cassette):
        raise_all(problems)

        def find(key: str) -> Answered | None:
            line = received.get(key)
            return cassette.find(key) if line is None else as_answered(line.raw, "")

        keys: set[str] = set()
        for subject in suite.subjects:
            keys |= subject_keys(subject, suite.dataset, plan, find)
        return keys
