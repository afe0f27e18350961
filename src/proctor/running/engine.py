"""Rows that wait for somebody: many in flight, results in plan order, memory bounded.

Rows start in plan order. A row that finishes early is held until those before it have finished, and
no row starts that is more than a window ahead, so what is held stays small.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Row = TypeVar("Row")
Done = TypeVar("Done")

GRACE_S = 10.0
"""How long calls in flight may still take after a stop."""

AskRow = Callable[[Row], Awaitable[Done]]
FinishedRow = tuple[Row, Done]


class Stop:
    """A request to start no more rows, made from outside while they run."""

    def __init__(self) -> None:
        self.requested = False
        self._wake: Callable[[], object] | None = None

    def request(self) -> None:
        """Start no more rows. May be called from a signal handler."""
        self.requested = True
        if self._wake is not None:
            self._wake()

    def on_request(self, wake: Callable[[], object] | None) -> None:
        """What to call when a stop is requested."""
        self._wake = wake


class LiveLoop:
    """The event loop of a live run: one for all of its rows, so that connections stay open.

    What ends the program (Ctrl-C pressed twice) leaves tasks that nobody may run any further; the
    loop is closed then, and everything on it is cancelled.
    """

    def __init__(self) -> None:
        # With a factory the runner leaves the caller's current event loop alone.
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self.is_closed = False

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something to its end."""
        try:
            return self._runner.run(work)
        except (KeyboardInterrupt, SystemExit):
            self.close()
            raise

    def soon(self, call: Callable[[], object]) -> None:
        """Have something called on the loop, from wherever this is said."""
        self._runner.get_loop().call_soon_threadsafe(call)

    def close(self) -> None:
        """Cancel what is left, and close the loop."""
        self.is_closed = True
        self._runner.close()


class LiveExecutor:
    """Runs rows on an event loop that the caller keeps.

    Args:
        loop: Where they run.
        concurrency: How many rows are in flight at most.
        stop: Ends the run early: rows not started are left out, rows in flight may still finish.
        grace_s: How long they may take for that.
        on_stop: Called when that begins, to end what waits and will not be asked any more.
    """

    def __init__(
        self,
        loop: LiveLoop,
        *,
        concurrency: int,
        stop: Stop,
        grace_s: float = GRACE_S,
        on_stop: Callable[[], None] | None = None,
    ) -> None:
        self._loop = loop
        self._on_stop = on_stop or (lambda: None)
        self._concurrency = concurrency
        self._window = max(64, 4 * concurrency)
        self._stop = stop
        self._grace_s = grace_s

    def run(
        self, rows: Iterable[Row], ask_row: AskRow[Row, Done]
    ) -> Generator[list[FinishedRow[Row, Done]], None, None]:
        """Yield the rows that finished with their results, in the order of `rows`."""
        flight = _Flight(
            iter(rows), ask_row, self._concurrency, self._window, on_stop=self._on_stop
        )
        self._stop.on_request(lambda: self._loop.soon(flight.wake))
        try:
            while True:
                done = self._loop.run(flight.next_done(self._stop, self._grace_s))
                if not done:
                    return
                yield done
        finally:
            self._stop.on_request(None)
            if self._loop.is_closed:
                flight.forget()
            else:
                self._loop.run(flight.cancel())


class _Flight(Generic[Row, Done]):
    """The rows in flight, and those that wait for an earlier one."""

    def __init__(
        self,
        rows: Iterator[Row],
        ask_row: AskRow[Row, Done],
        concurrency: int,
        window: int,
        *,
        on_stop: Callable[[], None],
    ) -> None:
        self._on_stop = on_stop
        self._rows = rows
        self._ask_row = ask_row
        self._concurrency = concurrency
        self._window = window
        self._tasks: dict[asyncio.Task[Done], int] = {}
        self._planned: dict[int, Row] = {}
        self._finished: dict[int, Done] = {}
        self._started = 0
        self._next = 0
        self._exhausted = False
        self._news = asyncio.Event()

    def wake(self, _task: object = None) -> None:
        """Look again: a row has finished, or a stop is requested."""
        self._news.set()

    async def next_done(self, stop: Stop, grace_s: float) -> list[FinishedRow[Row, Done]]:
        """The next rows in order, at least one; none when there are no more."""
        while not (ready := self._take_ready()):
            if stop.requested:
                return await self._land(grace_s)
            self._start_more()
            if not self._tasks:
                return []
            await self._news.wait()
            self._news.clear()
            self._collect()
        return ready

    async def cancel(self) -> None:
        """End what is still in flight."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    def forget(self) -> None:
        """Let go of tasks whose loop is closed; what ended the program is known already."""
        for task in self._tasks:
            if task.done() and not task.cancelled():
                task.exception()
        self._tasks.clear()

    def _start_more(self) -> None:
        while (
            not self._exhausted
            and len(self._tasks) < self._concurrency
            and self._started - self._next < self._window
        ):
            row = next(self._rows, None)
            if row is None:
                self._exhausted = True
                return
            task = asyncio.ensure_future(self._ask_row(row))
            task.add_done_callback(self.wake)
            self._tasks[task] = self._started
            self._planned[self._started] = row
            self._started += 1

    def _collect(self) -> None:
        for task in [task for task in self._tasks if task.done()]:
            place = self._tasks.pop(task)
            # A row that gave up because of a stop has no result: it was not run.
            if not task.cancelled():
                self._finished[place] = task.result()

    def _take_ready(self) -> list[FinishedRow[Row, Done]]:
        ready = []
        while self._next in self._finished:
            ready.append((self._planned.pop(self._next), self._finished.pop(self._next)))
            self._next += 1
        return ready

    async def _land(self, grace_s: float) -> list[FinishedRow[Row, Done]]:
        """Everything that finished, after the rows in flight have had their time."""
        self._exhausted = True
        self._on_stop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace_s)
            self._collect()
            await self.cancel()
        places = sorted(self._finished)
        landed = [(self._planned[place], self._finished[place]) for place in places]
        self._finished.clear()
        self._planned.clear()
        return landed
