"""Calls that are recorded already, or asked for, each reply kept before anything else is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from msgspec import Struct, field

from proctor.asking import Desk, Means
from proctor.canonical import FORMAT_VERSION, sha256_hex
from proctor.cassette_files import RecordingLog
from proctor.cassettes import (
    CacheMode,
    Cassette,
    DamagedRecording,
    JudgeKeys,
    KeyCheck,
    prove_recording,
)
from proctor.clock import Clock
from proctor.errors import ProviderError, UsageError
from proctor.protocols import Heard, Question
from proctor.records import (
    Answered,
    AnySubject,
    Call,
    CallKind,
    KeyParts,
    Provenance,
    Recording,
    Reply,
    Request,
    Subject,
    encode_json,
)
from proctor.tracker_protocols import Span, SpanKind


class Earlier(Struct, frozen=True):
    """What a run that goes on received before it was interrupted, by the SHA-256 of its lines.

    Args:
        received: All of it. It is in the cassette by now.
        unclaimed: What no row that has been kept was asked for. A row that needs such an answer is
            the one that asked for it: it was paid for by this run and not found, and the report
            has to say the same as if nothing had happened.
    """

    received: frozenset[str] = frozenset()
    unclaimed: set[str] = field(default_factory=set)

    def claim(self, recording: str | None) -> bool:
        """Whether an answer was asked for by this run, for a row that comes only now."""
        if recording not in self.unclaimed:
            return False
        self.unclaimed.remove(recording)
        return True


class Kept(Struct, frozen=True):
    """What a session holds of one suite: its recordings, old and new, and calls without one."""

    cassette: Cassette
    log: RecordingLog
    calls: dict[str, asyncio.Future[Answered]]
    mode: CacheMode
    earlier: Earlier = Earlier()

    def find(self, key: str) -> Heard | None:
        """The answer that is there already, or None."""
        found = self.peek(key)
        return None if found is None else Heard(found, self.earlier.claim(found.recording))

    def of_now(self, key: str) -> Heard | None:
        """The answer that came since the run was begun or gone on with, or None."""
        found = self.log.find(key)
        return None if found is None else Heard(found, asked=False)

    def peek(self, key: str) -> Answered | None:
        """The same, for who does not need it for a row."""
        found = None
        if self.mode is CacheMode.RECORD or self.earlier.received:
            found = self.cassette.find(key)
            if self.mode is not CacheMode.RECORD and found is not None:
                found = found if found.recording in self.earlier.received else None
        return found or self.log.find(key)


class Wanted(Struct, frozen=True, gc=False):
    """A call: what it is made for, who is asked, and the assertion that asks."""

    kind: CallKind
    subject: AnySubject
    call: Call
    assertion: str | None


class Origin(NamedTuple):
    """Where a reply comes from: the provider's name, and its host; None when it has none."""

    provider: str
    host: str | None


class KeptCalls:
    """Makes calls; those that need the same reply share one.

    Args:
        desk: Where the provider of a model is asked.
        kept: The recordings of the suite, None when nothing is stored.
        means: Where time comes from, and what stops the run.
    """

    def __init__(self, desk: Callable[[Subject], Desk], kept: Kept | None, means: Means) -> None:
        self._desk = desk
        self._kept = kept
        self._means = means
        self._proofs = KeyCheck()

    @property
    def keeps(self) -> bool:
        """Whether replies are kept, and shared by those who ask for the same."""
        return self._kept is not None

    def find(self, key: str) -> Answered | None:
        """What is there already under a key; nobody is taken to have asked for it by that."""
        return None if self._kept is None else self._kept.peek(key)

    def claim(self, answered: Answered) -> bool:
        """Whether this run asked for an answer that is there, before it was interrupted."""
        return self._kept is not None and self._kept.earlier.claim(answered.recording)

    async def find_or_ask(self, wanted: Wanted, key: str, request: Callable[[], Request]) -> Heard:
        """The reply to a call: the recorded one, or one that is asked for and kept.

        Args:
            wanted: The call.
            key: Its key.
            request: Makes what is sent, when it has to be sent.

        Raises:
            ProviderError: When there was none that could be kept.
        """
        subject = wanted.subject
        assert isinstance(subject, Subject)  # noqa: S101 - a target has no desk
        desk = self._desk(subject)
        host = None if desk.provider is None else desk.provider.host

        async def ask() -> Reply:
            return await desk.ask(request(), wanted.call)

        return await self.find_or_make(wanted, key, ask, Origin(desk.name, host))

    async def find_or_make(
        self,
        wanted: Wanted,
        key: str,
        make: Callable[[], Awaitable[Reply]],
        origin: Origin,
        *,
        anew: bool = False,
    ) -> Heard:
        """The reply to a call: the recorded one, or one that is made and kept.

        Args:
            wanted: The call.
            key: Its key.
            make: Makes the reply, when there is none.
            origin: Where it comes from then.
            anew: Whether one that was recorded before this run does not do.

        Raises:
            ProviderError: When there was none that could be kept.
        """
        kept = self._kept
        if kept is None:
            return Heard(_answered(await make(), recording=None), asked=True)
        found = kept.of_now(key) if anew else kept.find(key)
        if found is not None:
            return found
        asked = key not in kept.calls
        if asked:
            making = self._make_and_keep(kept, wanted, key, make, origin)
            kept.calls[key] = asyncio.ensure_future(making)
        return Heard(await kept.calls[key], asked)

    async def _make_and_keep(
        self,
        kept: Kept,
        wanted: Wanted,
        key: str,
        make: Callable[[], Awaitable[Reply]],
        origin: Origin,
    ) -> Answered:
        answered = self.keep(wanted, key, await make(), origin)
        # Later rows read it from the log, so that answers are not held in memory.
        del kept.calls[key]
        return answered

    def keep(self, wanted: Wanted, key: str, reply: Reply, origin: Origin) -> Answered:
        """Keep a reply, which then stands for all that was kept of the same call before.

        Raises:
            ProviderError: P6312 when it cannot be kept.
            UsageError: P6004 when there is no room; the run is stopped then.
        """
        if self._kept is None:
            return _answered(reply, recording=None)
        raw = encode_json(_recording(key, wanted, reply, origin, self._means.clock))
        try:
            prove_recording(raw, self._proofs)
        except DamagedRecording as damage:
            raise ProviderError(f"the reply cannot be kept: it {damage}", code="P6312") from None
        try:
            self._kept.log.append(key, raw)
        except UsageError:
            self._means.stop.request()
            raise
        return _answered(reply, recording=sha256_hex(raw))


class JudgingCalls(KeptCalls):
    """Calls among which are those of judges."""

    def __init__(self, desk: Callable[[Subject], Desk], kept: Kept | None, means: Means) -> None:
        super().__init__(desk, kept, means)
        self._judge_keys = JudgeKeys()

    async def judged(self, question: Question) -> Heard:
        """The reply of a judge.

        Raises:
            ProviderError: When there was none that could be kept.
        """
        call = Call(question.case, question.inputs_sha256, question.take)
        wanted = Wanted(question.kind, question.subject, call, question.assertion)
        key = self._judge_keys.key(question)
        span = Span(kind=SpanKind.JUDGE, subject=question.subject, question=question)
        return await self._means.wrap(
            span, None, lambda: self.find_or_ask(wanted, key, question.request)
        )


def _recording(key: str, wanted: Wanted, reply: Reply, origin: Origin, clock: Clock) -> Recording:
    subject, call = wanted.subject, wanted.call
    return Recording(
        v=FORMAT_VERSION,
        key=key,
        model=subject.model.ref,
        case=call.case,
        scenario=call.scenario,
        assertion=wanted.assertion,
        call=wanted.kind,
        take=call.take,
        parts=KeyParts(subject.bundle_sha256, call.inputs_sha256, subject.model.params),
        answer=reply.answer,
        usage=reply.usage,
        cost_usd=reply.cost_usd,
        latency_ms=reply.latency_ms,
        recorded=Provenance(
            provider=origin.provider,
            host=origin.host,
            response_model=reply.response_model,
            on=f"{clock.now():%Y-%m-%d}",
        ),
    )


def _answered(reply: Reply, *, recording: str | None) -> Answered:
    return Answered(reply.answer, recording, reply.usage, reply.cost_usd, reply.latency_ms)
