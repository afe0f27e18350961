"""Work in a thread of its own, which ends in good order when whoever waits for it gives up.

A live run has an event loop. In a thread of its own it neither meets the caller's loop nor takes
over the caller's signals.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from threading import Thread
from typing import TypeVar

from proctor.running.engine import Stop

T = TypeVar("T")

Work = Callable[[Stop], T]
"""Does something until it is done, or is told to stop."""


def wait_for(work: Work[T]) -> T:
    """What the work comes to; nothing else happens in this thread meanwhile.

    Ctrl-C asks it to stop and waits until it has; Ctrl-C again waits no longer. Either is raised.
    """
    stop = Stop()
    future = _started(work, stop)
    try:
        wait([future])
    except KeyboardInterrupt:
        _request(stop)
        wait([future])
        raise
    return future.result()


async def wait_without_blocking(work: Work[T]) -> T:
    """What the work comes to, while the event loop goes on.

    Being cancelled asks it to stop and waits until it has; being cancelled again waits no longer.
    """
    stop = Stop()
    waiting = asyncio.wrap_future(_started(work, stop))
    try:
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        _request(stop)
        await asyncio.wait([waiting])
        # Looked at, so that asyncio does not complain of an error nobody has seen.
        waiting.exception()
        raise


def _started(work: Work[T], stop: Stop) -> Future[T]:
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def do() -> None:
        try:
            future.set_result(work(stop))
        except BaseException as error:
            future.set_exception(error)

    # Not a daemon: a program that ends waits until what was received is stored.
    Thread(target=do, name="proctor").start()
    return future


def _request(stop: Stop) -> None:
    # The loop that would be woken may be closed at this very moment; then there is no need.
    with suppress(RuntimeError):
        stop.request()
