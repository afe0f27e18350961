"""What a target builds: once for all rows that need it, and let go of after the last of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from proctor.running.faults import Lost, Raised, caught
from proctor.running.lanes import AllLanesDown
from proctor.target_protocols import FaultKind

T = TypeVar("T")

BuildKey = tuple[str, int, str]
"""The id of the subject, the repeat and the id of the case."""

CLEANED_AT_ONCE = 8
"""So many builds are cleaned up at the same time at the end."""


class _Making(Generic[T]):
    """A build that is being made, or how that ended."""

    def __init__(self) -> None:
        self.waiting = 0
        self.task: asyncio.Task[T | Raised] | None = None


class _Build(Generic[T]):
    """The build of one key, and how many of its rows are done."""

    def __init__(self) -> None:
        self.making: _Making[T] | None = None
        self.rows_done = 0


class BuildCache(Generic[T]):
    """Makes each build once, however many rows ask for it and whenever they do.

    A build that failed is kept like one that did not: that is the verdict on its rows, or the end
    of an outage that was waited for long enough. Only one that was lost on the way is made again,
    by the next row that asks.

    Args:
        cleanup: Lets go of a build; False when that has to be tried again. It may raise anything.
        keep: Whether builds are left as they are.
        on_note: Told in one line what could not be cleaned up.
    """

    def __init__(
        self,
        cleanup: Callable[[T], Awaitable[bool]],
        *,
        keep: bool,
        on_note: Callable[[str], None],
    ) -> None:
        self._cleanup = cleanup
        self._keep = keep
        self._on_note = on_note
        self._builds: dict[BuildKey, _Build[T]] = {}
        self._makings: set[asyncio.Task[T | Raised]] = set()
        self._cleanings: set[asyncio.Task[None]] = set()
        self._left: list[T] = []
        """What is still to be let go of, and belongs to no row any more."""

    @asynccontextmanager
    async def use(
        self, key: BuildKey, make: Callable[[], Awaitable[T]], *, rows: int
    ) -> AsyncIterator[T]:
        """The build of a row, for as long as the row needs it.

        Args:
            key: Which build.
            make: Makes it, when nobody has.
            rows: How many rows of the run need this build.

        Raises:
            Exception: What `make` raised, the same for every row.
        """
        try:
            yield await self.get_or_build(key, make)
        finally:
            self.release(key, rows=rows)

    async def get_or_build(self, key: BuildKey, make: Callable[[], Awaitable[T]]) -> T:
        """The build of a key: the one there is, the one being made, or a new one.

        Who is cancelled does not end what others wait for. When nobody waits any more, the build
        is cancelled too.

        Raises:
            Exception: What `make` raised.
        """
        build = self._builds.setdefault(key, _Build())
        if build.making is None:
            build.making = self._start(build, make)
        making = build.making
        assert making.task is not None  # noqa: S101 - it was just started, or before
        making.waiting += 1
        try:
            await asyncio.wait([making.task])
        except asyncio.CancelledError:
            if making.waiting == 1 and not making.task.done():
                making.task.cancel()
                self._evict(build, making)
            raise
        finally:
            making.waiting -= 1
        got = making.task.result()
        if isinstance(got, Raised):
            raise got.error
        return got

    def release(self, key: BuildKey, *, rows: int) -> None:
        """A row is done with its build, or will not need it; the last one has it cleaned up.

        Args:
            key: Which build.
            rows: How many rows of the run need it.
        """
        build = self._builds.setdefault(key, _Build())
        build.rows_done += 1
        if build.rows_done < rows:
            return
        del self._builds[key]
        values = _values(build)
        build.making = None
        for value in () if self._keep else values:
            cleaning = asyncio.ensure_future(self._clean(value))
            self._cleanings.add(cleaning)
            cleaning.add_done_callback(self._cleanings.discard)

    async def close(self) -> None:
        """Let go of all that is left: of rows that were not run, and what would not go before.

        What is still being made is cancelled first.
        """
        for task in self._makings:
            if not task.cancelling():
                task.cancel()
        await asyncio.gather(*self._makings, *self._cleanings, return_exceptions=True)
        left = [value for build in self._builds.values() for value in _values(build)] + self._left
        self._builds.clear()
        self._left = []
        if self._keep:
            return
        queue = iter(left)

        async def clean_some() -> None:
            for value in queue:
                await self._clean(value)

        await asyncio.gather(*(clean_some() for _ in range(min(CLEANED_AT_ONCE, len(left)))))
        number = len(self._left)
        self._left = []
        if number:
            many = "1 build" if number == 1 else f"{number} builds"
            self._on_note(f"{many} could not be cleaned up")

    def _start(self, build: _Build[T], make: Callable[[], Awaitable[T]]) -> _Making[T]:
        making: _Making[T] = _Making()
        making.task = asyncio.ensure_future(self._made(build, making, make))
        self._makings.add(making.task)
        making.task.add_done_callback(self._makings.discard)
        return making

    async def _made(
        self, build: _Build[T], making: _Making[T], make: Callable[[], Awaitable[T]]
    ) -> T | Raised:
        try:
            got = await caught(make())
        except asyncio.CancelledError:
            self._evict(build, making)
            raise
        if isinstance(got, Raised):
            if _may_be_made_again(got.error):
                self._evict(build, making)
        elif build.making is not making:
            # It was finished in spite of being cancelled: no row knows of it.
            self._left.append(got)
        return got

    def _evict(self, build: _Build[T], making: _Making[T]) -> None:
        if build.making is making:
            build.making = None

    async def _clean(self, value: T) -> None:
        if await caught(self._cleanup(value)) is not True:
            self._left.append(value)


def _may_be_made_again(error: Exception) -> bool:
    if isinstance(error, Lost):
        return error.kind is FaultKind.TRANSPORT
    return isinstance(error, AllLanesDown)


def _values(build: _Build[T]) -> list[T]:
    """What was built, if it was."""
    making = build.making
    if making is None or making.task is None or not making.task.done() or making.task.cancelled():
        return []
    got = making.task.result()
    return [] if isinstance(got, Raised) else [got]
