"""An event loop whose time only passes when everybody waits, and that notices when nothing can."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, TypeVar

from proctor.clock import Clock

T = TypeVar("T")


MOST_PASSES = 100_000
"""So often the loop goes round without time passing before somebody must be spinning."""


class Stuck(Exception):
    """Everybody waits for somebody else, or somebody spins: this never ends."""


class _Selector(selectors.DefaultSelector):
    """Passes the time at once instead of waiting for it."""

    loop: VirtualLoop

    def __init__(self) -> None:
        super().__init__()
        self._passes = 0

    def select(self, timeout=None):
        self._passes = 0 if timeout else self._passes + 1
        if timeout is None or self._passes > MOST_PASSES:
            self._passes = 0
            raise Stuck
        self.loop.time_s += timeout
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on which `asyncio.sleep` and time limits take no time."""

    def __init__(self) -> None:
        selector = _Selector()
        selector.loop = self
        self.time_s = 0.0
        super().__init__(selector)

    def time(self) -> float:
        return self.time_s


class VirtualClock(Clock):
    """The time of the loop it is asked on."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


def run_virtual(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run something on a loop of its own, in no time.

    Raises:
        Stuck: When it can never end.
    """
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(work())
    finally:
        loop.run_until_complete(_end(asyncio.all_tasks(loop)))
        loop.close()


async def _end(tasks: set[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def in_no_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Make a test of a coroutine function: it runs in virtual time."""

    @wraps(test)
    def run(*arguments: object, **options: object) -> None:
        run_virtual(lambda: test(*arguments, **options))

    return run


async def idle() -> None:
    """Let everybody else get as far as they can without time passing."""
    for _ in range(20):
        await asyncio.sleep(0)
