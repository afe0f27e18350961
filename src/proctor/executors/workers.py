"""Workers that make calls for a run: who gets which, and what happens when one is lost.

Calls that are made at about the same time go to a worker as one batch, and what came of them comes
back as it comes. Nothing here knows what a call is, or where workers are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from itertools import count
from typing import Any, Final, Protocol

from proctor.errors import LostCall, ProctorError, ProviderError
from proctor.executors.batches import decode_batch, encode_batch

LOST_IN_A_ROW: Final = 3
"""So many workers may be lost one after the other without any call having come back."""


class WorkerGone(Exception):
    """The process that a worker was is not there any more. What it holds is a word for why."""


class Worker(Protocol):
    """A process somewhere that makes calls. Each method may raise `WorkerGone`."""

    async def give(self, batch: bytes) -> None:
        """Hand over calls, which it begins at once."""
        ...

    async def hear(self) -> bytes:
        """What came of calls since this was asked last; waits until there is something."""
        ...

    def end(self) -> None:
        """End it, whatever it does."""
        ...


class Cluster(Protocol):
    """Where workers come from."""

    async def replace(self) -> Worker:
        """Another worker in place of one that was lost.

        Raises:
            WorkerGone: When there is none to be had.
            ProctorError: When it cannot do what the others do.
        """
        ...

    def close(self) -> None:
        """Let go of all that was begun."""
        ...


class Seat:
    """The place of one worker, and what is not back from it."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.is_gone = False
        self.waiting: dict[int, asyncio.Future[bytes]] = {}
        self.unsent: list[tuple[int, bytes | None]] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.is_sending = False


class WorkerPool:
    """The workers of a run. It belongs to one event loop; close it at the end.

    Args:
        cluster: Where workers come from.
        workers: Those there are; at least one.
        note: Takes one line for the reader.
    """

    def __init__(
        self, cluster: Cluster, workers: Sequence[Worker], *, note: Callable[[str], None]
    ) -> None:
        self._cluster = cluster
        self._seats = [Seat(worker) for worker in workers]
        self._note = note
        self._noted: set[str] = set()
        self._numbers = count(1)
        self._lost_in_a_row = 0
        self._coming: set[asyncio.Task[None]] = set()
        self._change = asyncio.Event()

    async def call(self, body: bytes, seat: Seat | None = None) -> bytes:
        """Have a call made, and return what came of it.

        Args:
            body: The call as JSON.
            seat: Who is to make it; None for whoever has least to do.

        Raises:
            LostCall: When the worker was lost meanwhile. Whether the call was made is not known.
            ProviderError: P6703 when no worker is left.
        """
        seat = await self.seat() if seat is None else seat
        if seat.is_gone:
            raise _lost()
        number = next(self._numbers)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        seat.waiting[number] = answer
        self._send(seat, number, body)
        try:
            return await answer
        except asyncio.CancelledError:
            if seat.waiting.pop(number, None) is not None:
                self._send(seat, number, None)
            raise

    @property
    def seats(self) -> Sequence[Seat]:
        """The workers there are now."""
        return tuple(self._seats)

    async def seat(self) -> Seat:
        """The worker that has least to do; the first of several.

        Raises:
            ProviderError: P6703 when no worker is left.
        """
        while not self._seats:
            if not self._coming:
                raise ProviderError(
                    "all workers of the cluster were lost",
                    code="P6703",
                    hint="see what ends them, then go on with `--resume`",
                    free=True,
                )
            self._change.clear()
            await self._change.wait()
        return min(self._seats, key=lambda one: len(one.waiting))

    def close(self) -> None:
        """End every worker, and let go of the cluster."""
        for seat in self._seats:
            seat.worker.end()
        self._seats.clear()
        self._cluster.close()

    def _send(self, seat: Seat, number: int, body: bytes | None) -> None:
        if seat.is_gone:
            return
        seat.unsent.append((number, body))
        if not seat.tasks:
            self._begin(seat, self._hear(seat))
        if not seat.is_sending:
            seat.is_sending = True
            self._begin(seat, self._send_all(seat))

    def _begin(self, seat: Seat, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        seat.tasks.add(task)
        task.add_done_callback(seat.tasks.discard)

    async def _send_all(self, seat: Seat) -> None:
        """Send what there is to send, all of it at once, until there is no more."""
        try:
            while seat.unsent:
                items, seat.unsent = seat.unsent, []
                await seat.worker.give(encode_batch(items))
        except WorkerGone as gone:
            self._lose(seat, gone)
        finally:
            seat.is_sending = False

    async def _hear(self, seat: Seat) -> None:
        try:
            while True:
                items, notes = decode_batch(await seat.worker.hear())
                self._say(notes)
                for number, body in items:
                    # Nobody waits for what was given up meanwhile.
                    answer = seat.waiting.pop(number, None)
                    if answer is not None and body is not None and not answer.done():
                        answer.set_result(body)
                        self._lost_in_a_row = 0
        except WorkerGone as gone:
            self._lose(seat, gone)

    def _say(self, notes: Sequence[str]) -> None:
        for note in notes:
            # Every worker says the same of what all of them do.
            if note not in self._noted:
                self._noted.add(note)
                self._note(note)

    def _lose(self, seat: Seat, gone: WorkerGone) -> None:
        if seat.is_gone:
            return
        seat.is_gone = True
        self._seats.remove(seat)
        seat.worker.end()
        self._lost_in_a_row += 1
        calls = len(seat.waiting)
        for answer in seat.waiting.values():
            if not answer.done():
                answer.set_exception(_lost())
        seat.waiting.clear()
        why = f": {gone}" if str(gone) else ""
        self._note(f"a worker was lost{why}; calls that are made again: {calls}")
        if self._lost_in_a_row <= LOST_IN_A_ROW:
            task = asyncio.ensure_future(self._replace())
            self._coming.add(task)
            task.add_done_callback(self._came)
        self._change.set()

    def _came(self, task: asyncio.Task[None]) -> None:
        self._coming.discard(task)
        self._change.set()

    async def _replace(self) -> None:
        try:
            self._seats.append(Seat(await self._cluster.replace()))
        except WorkerGone:
            self._note("no other worker came in its place")
        except ProctorError as problem:
            self._note(f"no other worker came in its place: {problem.message}")


def _lost() -> LostCall:
    return LostCall(
        "the worker that made the call was lost, each time it was made",
        code="P6310",
        hint="see what ends the workers, then run it again",
    )
