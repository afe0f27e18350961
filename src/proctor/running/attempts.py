"""Calls of a target on its lanes: which faults are tried again, how often and after how long."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from proctor.clock import Clock
from proctor.running.faults import Lost, Phase, Raised, caught, classify, status_of
from proctor.running.lanes import Held, LaneLost, Lanes, Work
from proctor.running.retrying import Wait
from proctor.target_protocols import FaultKind

T = TypeVar("T")

WAITS_S = {
    (Phase.BUILD, FaultKind.TRANSPORT): (0.0, 0.0),
    (Phase.BUILD, FaultKind.OUTAGE): (30.0, 90.0),
    (Phase.ANSWER, FaultKind.TRANSPORT): (0.5, 1.0, 1.5, 2.0),
    (Phase.ANSWER, FaultKind.TIMEOUT): (0.5,),
}
"""The wait after each attempt that is followed by another one: the attempts in all are one more.

What is not here is tried once.
"""


async def with_retries(
    call: Callable[[Held], Awaitable[T]],
    *,
    lanes: Lanes,
    work: Work,
    during: Phase,
    clock: Clock,
    on_wait: Callable[[Wait], None],
) -> T:
    """What a call of a target returns, which is tried again for as long as its faults may pass.

    Each attempt takes a lane, another one than the last if it can, and nothing is held between
    them. All attempts of a call count, whatever each came to.

    Args:
        call: One attempt, on a lane that is ready. It sets `during` of what it holds when it goes
            from one thing to the next: a scenario is prepared again before it is answered again.
        lanes: Where it is tried.
        work: What it is.
        during: `BUILD`, or `ANSWER` for a scenario with all that belongs to it.
        clock: Where waiting comes from.
        on_wait: Told of each further attempt before its wait begins, which may be of 0 seconds.

    Raises:
        Lost: What the last attempt came to.
        AllLanesDown: When no lane could be used for too long.
        CancelledError: When the run is stopped before an attempt.
    """
    attempts, last_lane = 0, None

    async def attempt(held: Held) -> T:
        await held.set_up()
        held.during = during
        return await call(held)

    while True:
        try:
            async with lanes.take(work, avoid=last_lane) as held:
                attempts += 1
                got = await caught(attempt(held))
                if not isinstance(got, Raised):
                    held.succeeded()
                    return got
                kind = held.failed(classify(got.error, during=held.during))
        except LaneLost as error:
            raise Lost(
                error, FaultKind.TRANSPORT, during=during, lane=work.lane, attempts=attempts
            ) from error
        last_lane = held.lane
        waits_s = WAITS_S.get((during, kind), ())
        if attempts > len(waits_s):
            raise Lost(
                got.error, kind, during=held.during, lane=last_lane, attempts=attempts
            ) from got.error
        wait_s = waits_s[attempts - 1]
        on_wait(Wait(wait_s, attempts + 1, str(status_of(got.error) or kind.value)))
        if wait_s:
            await clock.sleep(wait_s)
