"""A session that asks for answers, and keeps each before anything else is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack

from msgspec import Struct

from proctor.canonical import FORMAT_VERSION, sha256_hex
from proctor.cassette_files import CassetteFolder, RecordingLog, read_log, rewrite_cassette
from proctor.cassettes import CacheMode, Cassette, answer_keys
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
from proctor.run_folders import RunFolder, SuiteLock, unfinished
from proctor.running.engine import LiveExecutor, Stop
from proctor.running.row import AskedRow, RowChecks
from proctor.safe_io import MEBIBYTE
from proctor.targets.prompt import PromptTarget

MAX_ANSWER = MEBIBYTE


class LiveOptions(Struct, frozen=True, kw_only=True):
    """How a live run asks.

    Args:
        mode: What is asked for, and what is stored.
        concurrency: How many calls are in flight at most.
        timeout_s: How long one reply may take in all.
    """

    mode: CacheMode
    concurrency: int
    timeout_s: float


class _Desk(Struct, frozen=True):
    """What asking needs of a session."""

    options: LiveOptions
    clock: Clock
    stop: Stop
    provider: Provider
    provider_name: str
    cassette: Cassette | None
    log: RecordingLog | None


class LiveSession:
    """Asks providers, and records what they reply; close it to bring that into the cassettes.

    Args:
        folder: Where cassettes are.
        suites: The suites that are run, with their whole plans.
        providers: By the first part of a model reference.
        run: The folder of this run.
        options: How to ask.
        stop: Ends the run early.
        clock: Where time comes from.

    Raises:
        ProctorError: P6405 when a suite is being recorded elsewhere, P6403 or P6404 for a cassette
            or an earlier run's recordings that cannot be used; nothing has been asked then.
    """

    def __init__(
        self,
        folder: CassetteFolder,
        suites: Sequence[tuple[ReadySuite, Plan]],
        *,
        providers: Mapping[str, Provider],
        run: RunFolder,
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
        self._logs: dict[str, RecordingLog] = {}
        self._cassettes: dict[str, Cassette] = {}
        problems: list[ProctorError] = []
        with ExitStack() as held:
            for suite, plan in suites if options.mode is not CacheMode.OFF else ():
                name = suite.definition.name
                held.callback(SuiteLock(folder.project, name).release)
                recover(folder, suite, plan)
                cassette, found = folder.open(name)
                problems += found
                held.callback(cassette.close)
                self._cassettes[name] = cassette
            raise_all(problems)
            for name in self._cassettes:
                self._logs[name] = RecordingLog(run.recorded(name))
                held.callback(self._logs[name].close)
            self._held = held.pop_all()

    def rows(
        self, suite: str, subject: ReadySubject, rows: Iterable[PlannedRow], timed_out: set[str]
    ) -> Iterator[RanRow]:
        """Ask for each answer that is needed and check it, many at a time."""
        provider = subject.target.subject.model.ref.partition("/")[0]
        desk = _Desk(
            self._options,
            self._clock,
            self._stop,
            self._providers[provider],
            provider,
            self._cassettes.get(suite),
            self._logs.get(suite),
        )
        source = _Asking(desk, subject.target)
        run_row = AskedRow(subject.target, source, RowChecks(subject.checks, timed_out))
        executor = LiveExecutor(concurrency=self._options.concurrency, stop=self._stop)
        for planned, result in executor.run(rows, run_row):
            asked = source.was_asked(planned.case.id, planned.repeat)
            yield RanRow(planned, result, asked)

    def close(self) -> None:
        """Bring what was received into the cassettes.

        Raises:
            ProctorError: When a cassette cannot be written; what was received stays in the run's
                folder, and the next live run takes it from there.
        """
        with self._held:
            for name, log in self._logs.items():
                received = {one.key: (one, raw) for one, raw in read_log(log.path)}
                if received:
                    rewrite_cassette(self._folder, name, new=received)
                log.path.unlink()


class _Asking:
    """Asks for the answers of one subject; rows that need the same answer share one call."""

    def __init__(self, desk: _Desk, target: PromptTarget) -> None:
        self._desk = desk
        self._target = target
        self._keys = answer_keys(target.subject)
        self._calls: dict[str, asyncio.Future[Answered]] = {}
        self._asked: set[tuple[str, int]] = set()

    def was_asked(self, case: str, repeat: int) -> bool:
        """Whether the answer to this row was asked for, and not replayed or shared."""
        return (case, repeat) in self._asked

    async def ask(self, call: Call, case: Case) -> Answered:
        """The answer to one row.

        Raises:
            ProviderError: When there was none that could be kept.
        """
        key = self._keys.key(call.inputs_sha256, call.take)
        mode, cassette = self._desk.options.mode, self._desk.cassette
        if mode is CacheMode.RECORD and cassette is not None:
            found = cassette.find(key)
            if found is not None:
                return found
        if mode is CacheMode.OFF:
            return await self._ask_now(key, call, case)
        if key not in self._calls:
            self._calls[key] = asyncio.ensure_future(self._ask_now(key, call, case))
        return await asyncio.shield(self._calls[key])

    async def _ask_now(self, key: str, call: Call, case: Case) -> Answered:
        request = self._target.request(case)
        self._asked.add((call.case, call.take))
        timeout_s = self._desk.options.timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                reply = await self._desk.provider.complete(request, call)
        except TimeoutError:
            raise ProviderError(f"no reply within {timeout_s:g} s", code="P6310") from None
        if len(encode_json(reply.answer)) > MAX_ANSWER:
            raise ProviderError("the answer is larger than 1 MiB", code="P6312")
        if self._desk.log is None:
            return _answered(reply, recording=None)
        raw = encode_json(self._recording(key, call, reply))
        try:
            self._desk.log.append(raw)
        except UsageError:
            self._desk.stop.request()
            raise
        return _answered(reply, recording=sha256_hex(raw))

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
                host=self._desk.provider.host,
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
    received: dict[str, tuple[Recording, bytes]] = {}
    left: dict[int, list[bytes]] = {}
    for number, log in enumerate(logs):
        lines = read_log(log)
        received |= {one.key: (one, raw) for one, raw in lines if one.key in keys}
        left[number] = [raw for one, raw in lines if one.key not in keys]
    if received:
        rewrite_cassette(folder, name, new=received)
    for number, log in enumerate(logs):
        if not left[number]:
            log.unlink()
    return len(received)
