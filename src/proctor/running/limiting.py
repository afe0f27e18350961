"""How many calls one provider takes at once, found out by asking."""

from __future__ import annotations

import asyncio
from collections import deque


class Limiter:
    """Adaptive concurrency: halved when the provider says it is too much, raised when all is well.

    Calls are let in first come, first served. It may be used on several event loops, one after the
    other, and remembers on the next what it learned on the one before.

    Args:
        most: How many calls are in flight at most, and at first.
    """

    def __init__(self, most: int) -> None:
        self.limit = most
        self._most = most
        self._in_flight = 0
        self._cuts = 0
        self._well = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def slot(self) -> Slot:
        """A place for one call: `async with` waits for it, and gives it back."""
        return Slot(self)

    async def enter(self) -> int:
        """Wait until one more call may start.

        Returns:
            How often the limit had been cut when it did.
        """
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._let_in()
        try:
            await turn
        except asyncio.CancelledError:
            # It may have been let in just before, and then others wait for what it does not need.
            if not turn.cancelled():
                self.leave()
            raise
        return self._cuts

    def leave(self) -> None:
        """A call has ended, however it did."""
        self._in_flight -= 1
        self._let_in()

    def cut(self, cuts: int) -> None:
        """Halve the limit for a call that started after so many cuts.

        Calls that started before the last cut only say again what is known since then.
        """
        self._well = 0
        if cuts == self._cuts:
            self._cuts += 1
            self.limit = max(1, self.limit // 2)

    def count_success(self, cuts: int) -> None:
        """Raise the limit by one after as many successes in a row as it has slots.

        Those of calls that started before the last cut say nothing about the limit since then.
        """
        if cuts != self._cuts or self.limit == self._most:
            return
        self._well += 1
        if self._well >= self.limit:
            self._well = 0
            self.limit += 1
            self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self._in_flight < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self._in_flight += 1
                turn.set_result(None)


class Slot:
    """The place of one call; who has it says how the call went."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        self._cuts = -1

    async def __aenter__(self) -> Slot:
        self._cuts = await self._limiter.enter()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._limiter.leave()

    def slow_down(self) -> None:
        """The provider said that too much is asked of it at once."""
        self._limiter.cut(self._cuts)

    def went_well(self) -> None:
        """The provider answered."""
        self._limiter.count_success(self._cuts)
