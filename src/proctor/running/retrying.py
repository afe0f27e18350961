"""Asking again after a failure that may pass, with one limit for all waits together."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec import Struct

from proctor.clock import Clock
from proctor.errors import ProviderError, TryAgain

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
SHORTEST_WAIT_S = 0.25
"""No wait is shorter, whatever the provider says, so that the number of attempts is limited too."""

_REASONS = {"P6309": " rate limit", "P6310": " no reply"}

Reply = TypeVar("Reply")


class Wait(Struct, frozen=True):
    """A wait before somebody is asked again.

    Args:
        seconds: How long it takes.
        attempt: Which attempt comes after it; the first one of all is 1.
        reason: What the attempt before it came to: a status like `429`, or a code and a word.
    """

    seconds: float
    attempt: int
    reason: str


async def patiently(
    attempt: Callable[[], Awaitable[Reply]],
    *,
    clock: Clock,
    max_wait_s: float,
    on_wait: Callable[[Wait], None],
    jitter: Callable[[], float],
) -> Reply:
    """What `attempt` returns, which is tried again for as long as it says that this makes sense.

    A wait is as long as the provider asks for. When it does not say, waits double, and are
    shortened by chance so that calls which failed together do not come back together. Nothing of
    the attempt is held while waiting, and a wait that would end too late is not begun.

    Args:
        attempt: Asks once.
        clock: Where waiting comes from.
        max_wait_s: How long all waits together may be; with 0 nothing is tried again.
        on_wait: Told of each wait before it begins.
        jitter: A new random number from 0 up to 1, each time.

    Raises:
        ProviderError: What the last attempt came to.
    """
    asked, waited_s = 0, 0.0
    while True:
        asked += 1
        try:
            return await attempt()
        except TryAgain as error:
            wait_s = _asked_for(error) or _backoff(asked, jitter())
            if waited_s + wait_s > max_wait_s:
                raise _given_up(error, waited_s, max_wait_s) from None
            wait = Wait(wait_s, asked + 1, _reason(error))
        on_wait(wait)
        await clock.sleep(wait_s)
        waited_s += wait_s


def _asked_for(error: TryAgain) -> float | None:
    """How long the provider asks to wait; None when it says nothing of use."""
    wait_s = error.wait_s
    if wait_s is None or not math.isfinite(wait_s) or wait_s <= 0:
        return None
    return max(wait_s, SHORTEST_WAIT_S)


def _backoff(asked: int, chance: float) -> float:
    # The exponent stays small: after very many attempts there would be no such float.
    whole = min(math.ldexp(FIRST_WAIT_S, min(asked - 1, 16)), LONGEST_WAIT_S)
    return whole / 2 + whole / 2 * chance


def _reason(error: TryAgain) -> str:
    if error.status is not None:
        return str(error.status)
    return error.code + _REASONS.get(error.code, "")


def _given_up(error: TryAgain, waited_s: float, max_wait_s: float) -> ProviderError:
    """The same problem, without what differs from row to row, so that rows can be counted."""
    asked_for = _asked_for(error)
    said, hint = "", "a higher `--max-wait` asks again for longer"
    if asked_for is not None and asked_for > max_wait_s:
        said = f"; it asks to wait {_seconds(asked_for)} s, more than `--max-wait` allows"
        hint = f"wait with `--max-wait {math.ceil(asked_for)}`, or run it again later"
    elif waited_s:
        said = "; it was asked again for as long as `--max-wait` allows"
    return ProviderError(
        f"{error.message}{said}",
        code=error.code,
        hint=error.hint or hint,
        where=error.where,
        free=error.free,
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f}".removesuffix(".0")
