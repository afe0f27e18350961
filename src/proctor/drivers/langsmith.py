"""The tracker LangSmith: the dataset, an experiment per subject, runs, and feedback on each row.

A thread of its own sends, so that nobody waits for it before the end, and then not for long.
"""

from __future__ import annotations

import asyncio
import re
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError
from contextvars import ContextVar
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import UUID

from msgspec import Struct

from proctor.canonical import digest
from proctor.clock import Clock
from proctor.drivers.langsmith_api import LangSmithApi
from proctor.drivers.langsmith_bodies import (
    MARK,
    Place,
    SentCase,
    SentRow,
    Timed,
    began,
    example_body,
    example_id,
    feedback_bodies,
    run_bodies,
    session_id,
    summary_bodies,
)
from proctor.errors import ProctorError, ProviderError
from proctor.protocols import Heard, RanRow, RowKey
from proctor.records import AnySubject, JsonObject, Reply, Usage, Verdict, encode_json
from proctor.report_protocols import Report
from proctor.running.faults import Raised, caught
from proctor.safe_io import MEBIBYTE
from proctor.targets.calling import in_thread
from proctor.tracker_protocols import Span, SpanKind
from proctor.version import VERSION

if TYPE_CHECKING:
    from datetime import datetime

T = TypeVar("T")

PATIENCE_S: Final = 5.0
"""How long a run waits for a tracker, in all."""
_ROWS_AT_ONCE = 100
_BYTES_AT_ONCE = 4 * MEBIBYTE
_CLOSING_S = 0.5
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Sending(Struct, frozen=True, kw_only=True):
    """What is sent, and how long that may take.

    Args:
        project: The project's id.
        run: What tells the run from others; the same experiments are written when it is the same.
        prefix: What the names of experiments begin with.
        content: Whether inputs, expected values, answers and reasons are sent.
        patience_s: How long anybody waits for it in all; None for as long as it takes.
    """

    project: str
    run: str
    prefix: str = ""
    content: bool = False
    patience_s: float | None = PATIENCE_S


class _Times:
    """When a row was answered, and what took time in it."""

    def __init__(self, name: str, began: datetime, lane: str | None) -> None:
        self.name, self.began, self.lane = name, began, lane
        self.inside: list[Timed] = []


class _Experiment(Struct, frozen=True):
    session: UUID
    dataset: UUID
    examples: dict[str, str]
    """The digest of each example of the dataset, by its id."""
    sent: set[RowKey]


_ROW: ContextVar[_Times | None] = ContextVar("_ROW", default=None)


class LangSmith:
    """Tells LangSmith of a run. The first fault ends that, and is said once.

    Args:
        api: Where requests go.
        sending: What is sent.
        clock: Where time comes from.
        note: Takes one line for the reader.
    """

    def __init__(
        self, api: LangSmithApi, sending: Sending, *, clock: Clock, note: Callable[[str], None]
    ) -> None:
        self.fault: ProctorError | None = None
        """What ended it."""
        self._api, self._sending, self._clock, self._note = api, sending, clock, note
        self._left_s = sending.patience_s
        self._times: dict[tuple[str | None, str, RowKey], _Times] = {}
        self._experiments: dict[Place, _Experiment] = {}
        self._is_closed = False
        self._inbox: asyncio.Queue[Callable[[], Coroutine[Any, Any, None]] | None]
        self._inbox = asyncio.Queue()
        self._waiting: dict[Place, list[SentRow]] = {}
        self._loop = _Loop()
        self._work = self._loop.create_task(self._send_all())
        self._ended = Event()
        Thread(target=self._run, name="langsmith", daemon=True).start()

    async def wrap(self, span: Span, lane: str | None, fn: Callable[[], Awaitable[T]]) -> T:
        """What `fn` comes to; when it began and ended is noted for the row."""
        if span.kind in (SpanKind.SCENARIO, SpanKind.AGENT_SCENARIO):
            times = self._of(span, lane)
            times.name, times.lane = span.kind.value, lane
            token = _ROW.set(times)
            try:
                return await fn()
            finally:
                _ROW.reset(token)
        row = self._of(span, lane) if span.row is not None else _ROW.get()
        started, result = self._clock.now(), None
        try:
            result = await fn()
            return result
        finally:
            if row is not None:
                row.inside.append(_timed(span, lane, started, self._clock.now(), result))

    def _of(self, span: Span, lane: str | None) -> _Times:
        assert span.row is not None  # noqa: S101 - only a judge is asked without one
        key = span.suite, span.subject.id, span.row.key
        if key not in self._times:
            self._times[key] = _Times(SpanKind.SCENARIO.value, self._clock.now(), lane)
        return self._times[key]

    def finished(self, suite: str, subject: AnySubject, ran: RanRow) -> None:
        """Send a row, and feedback on it."""
        times = self._times.pop((suite, subject.id, ran.planned.key), None)
        now, result = self._clock.now(), ran.result
        sent = SentRow(
            case=SentCase.planned(ran.planned),
            row=result,
            name=SpanKind.SCENARIO.value if times is None else times.name,
            began=began(now, result.latency_ms) if times is None else times.began,
            ended=now,
            lane=None if times is None else times.lane,
            inside=() if times is None else times.inside,
        )
        self._put(partial(self._take, Place(suite, subject.id), sent))

    def reported(self, report: Report, sha256: str) -> None:
        """Send what has not been sent of a report, and what is said of all rows together."""
        self._put(partial(self._send_report, report, sha256))

    def newest(self, prefix: str) -> str | None:
        """The SHA-256 of the report of the newest whole experiment whose name begins so.

        None when there is none; when LangSmith could not be asked, there is a fault.
        """
        asked = asyncio.run_coroutine_threadsafe(caught(self._newest(prefix)), self._loop)
        started = self._clock.monotonic()
        try:
            found = asked.result(self._left_s)
        except (TimeoutError, CancelledError):
            self._give_up(_too_slow(self._sending.patience_s))
            return None
        if self._left_s is not None:
            self._left_s = max(0.0, self._left_s - (self._clock.monotonic() - started))
        if isinstance(found, Raised):
            self._give_up(found.error)
            return None
        return found

    def close(self) -> None:
        """Wait until everything has been sent, but not longer than there is patience."""
        if self._is_closed:
            return
        self._is_closed = True
        self._put(None)
        if not self._ended.wait(0 if self.fault is not None else self._left_s):
            if self.fault is None:
                self._give_up(_too_slow(self._sending.patience_s))
            self._loop.call_soon_threadsafe(self._work.cancel)
            self._ended.wait(_CLOSING_S)
        if self.fault is not None:
            self._note(
                f"warning: langsmith: {self.fault.message}; not everything was sent there, "
                "and `proctor publish` sends a whole report"
            )

    def _put(self, work: Callable[[], Coroutine[Any, Any, None]] | None) -> None:
        if not self._ended.is_set():
            self._loop.call_soon_threadsafe(self._inbox.put_nowait, work)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(asyncio.wait([self._work]))
            self._loop.run_until_complete(self._wind_up())
        finally:
            self._ended.set()
            self._loop.close()

    async def _wind_up(self) -> None:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await caught(asyncio.wait_for(self._api.aclose(), _CLOSING_S))

    def _give_up(self, error: Exception) -> None:
        if not isinstance(error, ProctorError):
            message = f"sending failed: {type(error).__name__}"
            error = ProviderError(message, code="P6312", hint="run it again later")
        self.fault = self.fault or error

    async def _send_all(self) -> None:
        while (work := await self._inbox.get()) is not None:
            await self._unless_faulty(work())
            if self._inbox.empty():
                await self._unless_faulty(self._send_waiting())
        await self._unless_faulty(self._send_waiting())

    async def _unless_faulty(self, work: Coroutine[Any, Any, None]) -> None:
        if self.fault is not None:
            work.close()
            return
        found = await caught(work)
        if isinstance(found, Raised):
            self._give_up(found.error)
            self._waiting.clear()

    async def _take(self, place: Place, row: SentRow) -> None:
        waiting = self._waiting.setdefault(place, [])
        waiting.append(row)
        if len(waiting) >= _ROWS_AT_ONCE:
            await self._send_waiting()

    async def _send_waiting(self) -> None:
        while self._waiting:
            await self._send(*self._waiting.popitem())

    async def _send(self, place: Place, rows: Sequence[SentRow]) -> None:
        """Send rows with the cases that they are of."""
        experiment = await self._experiment(place)
        await self._put_examples(experiment, rows)
        dataset, session = experiment.dataset, experiment.session
        content = self._sending.content
        parts: list[tuple[str, JsonObject]] = []
        for row in rows:
            example = example_id(dataset, row.case.id)
            runs = run_bodies(row, session, example, content=content)
            parts += [("post", one) for one in runs]
            said = feedback_bodies(row, session, content=content)
            parts += [("feedback", one) for one in said]
        for some in _portions(parts):
            await self._api.send(some)
        experiment.sent.update(row.key for row in rows)

    async def _put_examples(self, experiment: _Experiment, rows: Sequence[SentRow]) -> None:
        """Have the dataset hold the cases; what is there is only changed when content is sent."""
        known, content = experiment.examples, self._sending.content
        new: list[JsonObject] = []
        changed: list[JsonObject] = []
        for case in {row.case.id: row.case for row in rows}.values():
            body = example_body(case, experiment.dataset, content=content)
            id_, held = str(body["id"]), _digest(body)
            if id_ not in known:
                new.append(body)
            elif content and case.inputs is not None and known[id_] != held:
                changed.append(body)
            else:
                continue
            known[id_] = held
        for some in _portions([("", one) for one in new]):
            await self._api.put_examples([one for _, one in some], [])
        for some in _portions([("", one) for one in changed]):
            await self._api.put_examples([], [one for _, one in some])

    async def _experiment(self, place: Place) -> _Experiment:
        """The experiment of a subject, which begins now unless it has begun."""
        if place in self._experiments:
            return self._experiments[place]
        sending = self._sending
        others = [one for other, one in self._experiments.items() if other.suite == place.suite]
        if others:
            dataset, examples = others[0].dataset, others[0].examples
        else:
            dataset = await self._api.dataset(f"{sending.project}/{place.suite}")
            examples = {
                str(one.get("id")): _digest(one) async for one in self._api.examples(dataset)
            }
        session = session_id(sending.run, sending.prefix, place)
        name = f"{sending.prefix}{sending.project}/{place.suite}/{place.subject}-{sending.run[:23]}"
        await self._api.begin(session, name, dataset, self._metadata(place))
        self._experiments[place] = _Experiment(session, dataset, examples, set())
        return self._experiments[place]

    def _metadata(self, place: Place) -> JsonObject:
        return {
            "proctor_version": VERSION,
            "proctor_suite": place.suite,
            "proctor_subject": place.subject,
        }

    async def _send_report(self, report: Report, sha256: str) -> None:
        await self._send_waiting()
        head = report.head
        for number, suite in enumerate(head.suites):
            for index, subject in enumerate(suite.subjects):
                place = Place(suite.suite, subject.id)
                for rows in self._unsent(report, number, index):
                    await self._send(place, rows)
                if place not in self._experiments:
                    continue
                session = self._experiments[place].session
                for body in summary_bodies(subject, session):
                    await self._api.summarize(body)
                is_whole = head.shards is None and not head.partial
                if is_whole and head.verdict is not Verdict.INTERRUPTED:
                    await self._api.end(session, self._metadata(place) | {MARK: sha256})

    def _unsent(self, report: Report, suite: int, subject: int) -> Iterator[list[SentRow]]:
        """The rows of a subject that have not been sent, some at a time."""
        head = report.head.suites[suite]
        place = Place(head.suite, head.subjects[subject].id)
        rows: list[SentRow] = []
        for case in report.cases(suite, subject):
            told = SentCase.reported(case)
            now = self._clock.now()
            for row in case.rows:
                sent = SentRow(
                    case=told,
                    row=row,
                    name=SpanKind.SCENARIO.value,
                    began=began(now, row.latency_ms),
                    ended=now,
                )
                is_sent = place in self._experiments and sent.key in self._experiments[place].sent
                if not is_sent:
                    rows.append(sent)
            if len(rows) >= _ROWS_AT_ONCE:
                yield rows
                rows = []
        if rows:
            yield rows

    async def _newest(self, prefix: str) -> str | None:
        for one in await self._api.sessions(prefix):
            extra = one.get("extra")
            metadata = extra.get("metadata") if isinstance(extra, dict) else None
            mark = metadata.get(MARK) if isinstance(metadata, dict) else None
            if isinstance(mark, str) and _SHA256.fullmatch(mark):
                return mark
        return None


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that leaves no thread behind which the program would wait for at its end."""

    async def getaddrinfo(self, host: Any, port: Any, **more: Any) -> Any:  # noqa: ANN401 - as given
        """The addresses of a host."""
        return await in_thread(partial(socket.getaddrinfo, host, port, **more))


def _timed(span: Span, lane: str | None, began: datetime, ended: datetime, result: object) -> Timed:
    # Whoever waits may be handling an error of its own, which is none of this.
    error = sys.exception() if result is None else None
    usage: Usage | None = None
    if isinstance(result, Reply):
        usage = result.usage
    elif isinstance(result, Heard):
        usage = result.reply.usage
    return Timed(
        name=span.kind.value,
        began=began,
        ended=ended,
        lane=lane,
        error=None if error is None else type(error).__name__,
        model=None if span.question is None else span.subject.model.ref,
        usage=usage,
        assertion=None if span.question is None else span.question.assertion,
    )


def _portions(parts: Sequence[tuple[str, JsonObject]]) -> Iterator[list[tuple[str, JsonObject]]]:
    """The parts in order, none of the portions much too large for one request."""
    portion: list[tuple[str, JsonObject]] = []
    size = 0
    for part in parts:
        portion.append(part)
        size += len(encode_json(part[1]))
        if size >= _BYTES_AT_ONCE:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _digest(example: JsonObject) -> str:
    return digest({"inputs": example.get("inputs"), "outputs": example.get("outputs") or None})


def _too_slow(patience_s: float | None) -> ProviderError:
    return ProviderError(
        f"it was not done within {patience_s:g} s", code="P6310", hint="run it again later"
    )
