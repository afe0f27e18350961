"""A session that asks for answers, and keeps each before anything else is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack

from msgspec import Struct

from proctor.canonical import FORMAT_VERSION, sha256_hex
from proctor.cassette_files import CassetteFolder, Line, RecordingLog, read_log, rewrite_cassette
from proctor.cassettes import (
    CacheMode,
    Cassette,
    DamagedRecording,
    KeyCheck,
    answer_keys,
    prove_recording,
)
from proctor.clock import Clock
from proctor.errors import ProctorError, ProviderError, UsageError, raise_all
from proctor.pipeline import ReadySubject, ReadySuite
from proctor.planning import Plan
from proctor.protocols import PlannedRow, Provider, RanRow
from proctor.records import (
    Answered,
    Call,
    CallKind,
    Case,
    KeyParts,
    Provenance,
    Recording,
    Reply,
    encode_json,
)
from proctor.replaying import subject_keys
from proctor.run_folders import SuiteLock, new_run_folder, private_folder, unfinished
from proctor.running.engine import GRACE_S, FinishedRow, LiveExecutor, Stop
from proctor.running.row import AskedRow, RowChecks
from proctor.safe_io import MEBIBYTE, write_whole
from proctor.targets.prompt import PromptTarget

MAX_ANSWER = MEBIBYTE


class LiveOptions(Struct, frozen=True, kw_only=True):
    """How a live run asks.

    Args:
        mode: What is asked for, and what is stored.
        concurrency: How many calls are in flight at most.
        timeout_s: How long one reply may take in all.
        grace_s: How long calls in flight may still take after a stop.
    """

    mode: CacheMode
    concurrency: int
    timeout_s: float
    grace_s: float = GRACE_S


class _Kept(Struct, frozen=True):
    """What a session holds of one suite: its recordings, old and new, and calls without one."""

    cassette: Cassette
    log: RecordingLog
    calls: dict[str, asyncio.Future[Answered]]

    def find(self, key: str, mode: CacheMode) -> Answered | None:
        """The answer that is there already, or None."""
        found = self.cassette.find(key) if mode is CacheMode.RECORD else None
        return found or self.log.find(key)


class _Desk(Struct, frozen=True):
    """What asking needs of a session; nothing is kept when answers are not stored."""

    options: LiveOptions
    clock: Clock
    stop: Stop
    provider: Provider | None
    provider_name: str
    kept: _Kept | None


class LiveSession:
    """Asks providers, and records what they reply; close it to bring that into the cassettes.

    Args:
        folder: Where cassettes are.
        suites: The suites that are run, with their whole plans.
        providers: By the first part of a model reference.
        options: How to ask.
        stop: Ends the run early.
        clock: Where time comes from.

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
        providers: Mapping[str, Provider],
        options: LiveOptions,
        stop: Stop,
        clock: Clock,
    ) -> None:
        self.mode = options.mode.value
        self._folder = folder
        self._providers = providers
        self._options = options
        self._stop = stop
        self._clock = clock
        self._kept: dict[str, _Kept] = {}
        self._running: Generator[list[FinishedRow], None, None] | None = None
        with ExitStack() as held:
            cassettes = {} if options.mode is CacheMode.OFF else self._take_over(suites, held)
            self.run = new_run_folder(folder.project, clock)
            for name, cassette in cassettes.items():
                log = RecordingLog(self.run.recorded(name))
                held.callback(log.close)
                self._kept[name] = _Kept(cassette, log, {})
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
        provider = subject.target.subject.model.ref.partition("/")[0]
        desk = _Desk(
            self._options,
            self._clock,
            self._stop,
            self._providers.get(provider),
            provider,
            self._kept.get(suite),
        )
        source = _Asking(desk, subject.target)
        run_row = AskedRow(subject.target, source, RowChecks(subject.checks, timed_out))
        options = self._options
        executor = LiveExecutor(
            concurrency=options.concurrency, stop=self._stop, grace_s=options.grace_s
        )
        self._running = executor.run(rows, run_row)
        for batch in self._running:
            yield [
                RanRow(planned, result, source.was_asked(planned.case.id, planned.repeat))
                for planned, result in batch
            ]

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
            for name, kept in self._kept.items():
                try:
                    received = dict(read_log(kept.log.path))
                    if received:
                        rewrite_cassette(self._folder, name, new=received)
                except ProctorError as problem:
                    problems.append(problem)
                else:
                    kept.log.path.unlink()
        raise_all(problems)


class _Asking:
    """Asks for the answers of one subject; rows that need the same answer share one call."""

    def __init__(self, desk: _Desk, target: PromptTarget) -> None:
        self._desk = desk
        self._target = target
        self._keys = answer_keys(target.subject)
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
        kept = self._desk.kept
        if kept is None:
            reply = await self._reply(call, case)
            return _answered(reply, recording=None)
        key = self._keys.key(call.inputs_sha256, call.take)
        found = kept.find(key, self._desk.options.mode)
        if found is not None:
            return found
        if key not in kept.calls:
            kept.calls[key] = asyncio.ensure_future(self._ask_and_keep(kept, key, call, case))
        return await kept.calls[key]

    async def _ask_and_keep(self, kept: _Kept, key: str, call: Call, case: Case) -> Answered:
        reply = await self._reply(call, case)
        raw = encode_json(self._recording(key, call, reply))
        try:
            prove_recording(raw, self._proofs)
        except DamagedRecording as damage:
            raise ProviderError(f"the reply cannot be kept: it {damage}", code="P6312") from None
        try:
            kept.log.append(key, raw)
        except UsageError:
            self._desk.stop.request()
            raise
        # Later rows read it from the log, so that answers are not held in memory.
        del kept.calls[key]
        return _answered(reply, recording=sha256_hex(raw))

    async def _reply(self, call: Call, case: Case) -> Reply:
        provider = self._desk.provider
        if provider is None:
            name = self._desk.provider_name
            raise ProviderError(f"the provider `{name}` was not made ready", code="P6301")
        request = self._target.request(case)
        self._asked.add((call.case, call.take))
        timeout_s = self._desk.options.timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                reply = await provider.complete(request, call)
        except TimeoutError:
            raise ProviderError(f"no reply within {timeout_s:g} s", code="P6310") from None
        if len(encode_json(reply.answer)) > MAX_ANSWER:
            raise ProviderError("the answer is larger than 1 MiB", code="P6312")
        return reply

    def _recording(self, key: str, call: Call, reply: Reply) -> Recording:
        subject = self._target.subject
        return Recording(
            v=FORMAT_VERSION,
            key=key,
            model=subject.model.ref,
            case=call.case,
            scenario=None,
            assertion=None,
            call=CallKind.ANSWER,
            take=call.take,
            parts=KeyParts(subject.prompt.bundle_sha256, call.inputs_sha256, subject.model.params),
            answer=reply.answer,
            usage=reply.usage,
            cost_usd=reply.cost_usd,
            latency_ms=reply.latency_ms,
            recorded=Provenance(
                provider=self._desk.provider_name,
                host=None if self._desk.provider is None else self._desk.provider.host,
                response_model=reply.response_model,
                on=f"{self._desk.clock.now():%Y-%m-%d}",
            ),
        )


def _answered(reply: Reply, *, recording: str | None) -> Answered:
    return Answered(reply.answer, recording, reply.usage, reply.cost_usd, reply.latency_ms)


def recover(folder: CassetteFolder, suite: ReadySuite, plan: Plan) -> int:
    """Bring what killed runs received of a suite into its cassette.

    Only recordings of calls that the plan makes are taken; the rest stays where it is.

    Returns:
        How many recordings were taken.

    Raises:
        ProctorError: P6403 or P6404 when a log or the cassette is damaged; nothing changed then.
    """
    name = suite.definition.name
    logs = unfinished(folder.project, name)
    if not logs:
        return 0
    keys: set[str] = set()
    for subject in suite.subjects:
        keys |= subject_keys(subject, suite.dataset, plan)
    received: dict[str, Line] = {}
    left: list[list[bytes]] = []
    for log in logs:
        left.append([])
        for key, line in read_log(log):
            if key in keys:
                received[key] = line
            else:
                left[-1].append(line.raw)
    if received:
        rewrite_cassette(folder, name, new=received)
    for log, rest in zip(logs, left, strict=True):
        if rest:
            # Without what was taken, which may be out of date when the rest is.
            write_whole(log, [raw + b"\n" for raw in rest])
        else:
            log.unlink()
    return len(received)
