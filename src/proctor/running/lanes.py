"""Lanes: the backends of a target, which rows are spread over.

A row waits for a lane and holds it while it builds or answers, never while it waits for anything
else. A lane that keeps failing is left alone until it says that it is well again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct

from proctor.clock import Clock
from proctor.errors import ProctorError
from proctor.running.faults import Phase, Raised, caught
from proctor.target_protocols import FaultKind, LiveTarget

FAILURES = 3
"""So many transient failures one after the other put a lane into quarantine."""
PROBE_EVERY_S = 30.0
PATIENCE_S = 300.0
"""How long a run goes on without any lane."""

ALL_LANES_DOWN: Final = "P6703"

_TRANSIENT = frozenset([FaultKind.TRANSPORT, FaultKind.OUTAGE, FaultKind.TIMEOUT])


class AllLanesDown(ProctorError):
    """No lane of the target could be used for too long (P6703)."""

    def __init__(self) -> None:
        super().__init__(
            f"no lane of the target could be used for {PATIENCE_S / 60:g} minutes",
            code=ALL_LANES_DOWN,
            hint="see that they run and can be reached, then go on with `proctor run --resume`",
        )


class LaneLost(ProctorError):
    """The lane that holds what was built could not be used for too long (P6701)."""

    def __init__(self) -> None:
        super().__init__(
            f"the lane that holds what was built could not be used for {PATIENCE_S / 60:g} minutes",
            code="P6701",
            hint="see that it runs and can be reached, then run it again",
        )


class Work(Struct, frozen=True):
    """What a lane is wanted for.

    Args:
        case: The id of the case; a lane has one build of a case at a time.
        build: Rows with the same one share a place on their lane; a place of its own when None.
        lane: The lane that must be used, because what was built is there; None for any.
    """

    case: str
    build: Hashable = None
    lane: str | None = None


class _Place:
    """A build that a lane is busy with, and how many rows of it are."""

    def __init__(self, case: str) -> None:
        self.case = case
        self.rows = 0


class _Lane:
    def __init__(self, url: str | None) -> None:
        self.url = url
        self.places: dict[Hashable, _Place] = {}
        self.failures = 0
        self.quarantines = 0
        self.since_s: float | None = None
        """Since when it is in quarantine; None when it is not."""
        self.is_lost = False
        self.setup: asyncio.Task[Raised | None] | None = None

    @property
    def is_set_up(self) -> bool:
        task = self.setup
        return task is not None and task.done() and not task.cancelled() and task.result() is None

    @property
    def has_failed_setup(self) -> bool:
        return self.setup is not None and self.setup.done() and not self.is_set_up


class _Waiter:
    def __init__(self, work: Work, avoid: str | None) -> None:
        self.work = work
        self.avoid = avoid
        self.build: Hashable = object() if work.build is None else work.build
        self.turn: asyncio.Future[_Lane] = asyncio.get_running_loop().create_future()


class Held:
    """A place on a lane; who has it says how it went. Saying nothing counts as nothing."""

    def __init__(self, lanes: Lanes, lane: _Lane) -> None:
        self._lanes = lanes
        self._lane = lane
        self._quarantines = lane.quarantines
        self.during = Phase.SETUP
        """What is being done on it; whoever does it says so."""

    @property
    def lane(self) -> str | None:
        """Its URL, None for a target without lanes."""
        return self._lane.url

    async def set_up(self) -> None:
        """Have the target get the lane ready, unless it has. It may raise anything."""
        await self._lanes.set_up(self._lane)

    def succeeded(self) -> None:
        """It went well."""
        self._lane.failures = 0

    def failed(self, kind: FaultKind) -> FaultKind:
        """It went wrong.

        Returns:
            What to go by: a lane that was put into quarantine meanwhile has no verdict to give.
        """
        if kind is FaultKind.FRAMEWORK:
            return kind
        if self._lane.since_s is not None or self._lane.quarantines != self._quarantines:
            return FaultKind.TRANSPORT
        self._lanes.count_failure(self._lane, kind)
        return kind


class Lanes:
    """Gives lanes to rows: the lane with the fewest builds takes the row that waits longest.

    A lane takes a row when it is healthy, has a place free and is not busy with another build of
    the same case. Rows whose case is on all lanes that are free are passed over meanwhile.

    Three failures in a row that may pass put a lane into quarantine; then it is asked every 30
    seconds whether it is well. When all lanes have been there for 5 minutes, everybody who waits or
    comes later is told so.

    Args:
        urls: The lanes. A target without any has one without a name, which takes everything and
            is never put into quarantine.
        builds_per_lane: How many builds a lane is busy with at most.
        target: Who gets lanes ready, and knows whether they are well.
        clock: Where waiting comes from.
        on_note: Told in one line what becomes of a lane.
        timeout_s: How long getting a lane ready may take, and undoing that; None for any time.
    """

    def __init__(
        self,
        urls: Sequence[str],
        *,
        builds_per_lane: int,
        target: LiveTarget,
        clock: Clock,
        on_note: Callable[[str], None],
        timeout_s: float | None = None,
    ) -> None:
        self._timeout_s = timeout_s
        self._lanes = [_Lane(url) for url in dict.fromkeys(urls)] or [_Lane(None)]
        self._is_limited = bool(urls)
        self._most = builds_per_lane
        self._target = target
        self._clock = clock
        self._on_note = on_note
        self._waiting: list[_Waiter] = []
        self._watches: set[asyncio.Task[None]] = set()
        self._last_call: asyncio.Task[None] | None = None
        self._is_stopped = False
        self.is_down = False
        """Whether the run is to stop, because no lane could be used for too long."""

    @asynccontextmanager
    async def take(self, work: Work, *, avoid: str | None = None) -> AsyncIterator[Held]:
        """Wait for a place on a lane, and give it back at the end.

        Args:
            work: What it is wanted for.
            avoid: A lane that is only taken when no other is free.

        Raises:
            AllLanesDown: When no lane could be used for too long.
            LaneLost: When that is so of the one that must be used.
            CancelledError: When the run is stopped meanwhile.
        """
        waiter = _Waiter(work, avoid)
        lane = await self._turn(waiter)
        try:
            yield Held(self, lane)
        finally:
            self._leave(lane, waiter.build)

    async def set_up(self, lane: _Lane) -> None:
        """Get a lane ready, once for all who hold it. When that fails, the next one tries again."""
        if lane.setup is None or lane.has_failed_setup:
            lane.setup = asyncio.ensure_future(self._in_time(self._target.setup(lane.url)))
        done = await asyncio.shield(lane.setup)
        if done is not None:
            raise done.error

    def count_failure(self, lane: _Lane, kind: FaultKind) -> None:
        """A healthy lane has failed; a failure of the target itself shows that the lane works."""
        lane.failures = lane.failures + 1 if kind in _TRANSIENT else 0
        if self._is_limited and lane.failures >= FAILURES:
            self._quarantine(lane)

    def give_up_waiting(self) -> None:
        """End the waits, because no new row may start: who waits, or comes later, is cancelled."""
        self._is_stopped = True
        for waiter in self._waiting:
            waiter.turn.cancel()

    async def close(self) -> None:
        """Stop watching, and undo what was set up. What goes wrong with that is only noted."""
        self.give_up_waiting()
        watches = [*self._watches, *([] if self._last_call is None else [self._last_call])]
        setups = [lane.setup for lane in self._lanes if lane.setup is not None]
        for task in (*watches, *setups):
            task.cancel()
        await asyncio.gather(*watches, *setups, return_exceptions=True)
        ready = [lane for lane in self._lanes if lane.is_set_up]
        for lane in ready:
            lane.setup = None
        undone = await asyncio.gather(
            *(self._in_time(self._target.teardown(lane.url)) for lane in ready)
        )
        for lane, result in zip(ready, undone, strict=True):
            if result is not None:
                self._on_note(f"{_named(lane)} could not be torn down: {_class_of(result)}")

    async def _in_time(self, call: Awaitable[None]) -> Raised | None:
        async def limited() -> None:
            async with asyncio.timeout(self._timeout_s):
                await call

        return await caught(limited())

    async def _turn(self, waiter: _Waiter) -> _Lane:
        if self._is_stopped:
            raise asyncio.CancelledError
        self._waiting.append(waiter)
        self._refuse()
        self._serve()
        try:
            return await waiter.turn
        except asyncio.CancelledError:
            # It may have been given a lane just before, and then others wait for it in vain.
            if _has_lane(waiter.turn):
                self._leave(waiter.turn.result(), waiter.build)
            raise
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)

    def _leave(self, lane: _Lane, build: Hashable) -> None:
        place = lane.places[build]
        place.rows -= 1
        if not place.rows:
            del lane.places[build]
        self._serve()

    def _serve(self) -> None:
        """Give lanes to those who wait, as far as there are any for them."""
        for waiter in tuple(self._waiting):
            lane = None if waiter.turn.done() else self._best(waiter)
            if lane is not None:
                self._waiting.remove(waiter)
                place = lane.places.setdefault(waiter.build, _Place(waiter.work.case))
                place.rows += 1
                waiter.turn.set_result(lane)

    def _best(self, waiter: _Waiter) -> _Lane | None:
        free = [lane for lane in self._lanes if self._takes(lane, waiter)]
        other = [lane for lane in free if lane.url != waiter.avoid]
        return min(other or free, key=lambda lane: len(lane.places), default=None)

    def _takes(self, lane: _Lane, waiter: _Waiter) -> bool:
        work = waiter.work
        if lane.since_s is not None or work.lane not in (None, lane.url):
            return False
        if not self._is_limited or waiter.build in lane.places:
            return True
        return len(lane.places) < self._most and all(
            place.case != work.case for place in lane.places.values()
        )

    def _refuse(self) -> None:
        """Tell those who wait in vain."""
        lost = {lane.url for lane in self._lanes if lane.is_lost}
        for waiter in tuple(self._waiting):
            error: ProctorError | None = None
            if self.is_down:
                error = AllLanesDown()
            elif waiter.work.lane is not None and waiter.work.lane in lost:
                error = LaneLost()
            if error is not None and not waiter.turn.done():
                self._waiting.remove(waiter)
                waiter.turn.set_exception(error)

    def _quarantine(self, lane: _Lane) -> None:
        lane.failures = 0
        lane.quarantines += 1
        lane.since_s = self._clock.monotonic()
        watch = asyncio.ensure_future(self._watch(lane, lane.since_s))
        self._on_note(f"{_named(lane)} failed {FAILURES} times in a row and gets no rows for now")
        self._watches.add(watch)
        watch.add_done_callback(self._watches.discard)
        if self._last_call is None and all(one.since_s is not None for one in self._lanes):
            self._last_call = asyncio.ensure_future(self._wait_for_any())

    def _readmit(self, lane: _Lane) -> None:
        lane.since_s = None
        lane.is_lost = False
        if self._last_call is not None:
            self._last_call.cancel()
            self._last_call = None
        self._on_note(f"{_named(lane)} is well again")
        self._serve()

    async def _watch(self, lane: _Lane, since_s: float) -> None:
        await self._clock.sleep(PROBE_EVERY_S)
        while not await self._is_well(lane):
            if self._clock.monotonic() - since_s >= PATIENCE_S:
                lane.is_lost = True
                self._refuse()
        if not self.is_down:
            self._readmit(lane)

    async def _is_well(self, lane: _Lane) -> bool:
        """Ask a lane once. When it is not well, that takes as long as until it is asked again."""
        probe = asyncio.ensure_future(caught(self._target.health(lane.url)))
        pause = asyncio.ensure_future(self._clock.sleep(PROBE_EVERY_S))
        try:
            await asyncio.wait({probe, pause}, return_when=asyncio.FIRST_COMPLETED)
            if probe.done() and probe.result() is True:
                return True
            await pause
            return False
        finally:
            probe.cancel()
            pause.cancel()

    async def _wait_for_any(self) -> None:
        await self._clock.sleep(PATIENCE_S)
        self.is_down = True
        self._on_note(AllLanesDown().message)
        self._refuse()


def _has_lane(turn: asyncio.Future[_Lane]) -> bool:
    return turn.done() and not turn.cancelled() and turn.exception() is None


def _named(lane: _Lane) -> str:
    return "the target" if lane.url is None else f"the lane `{lane.url}`"


def _class_of(raised: Raised) -> str:
    return type(raised.error).__name__
