"""What rows use alone: those that name the same resource never run at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager


class Resources:
    """The resources of a run, each held by one row at a time, first come, first served.

    Whoever holds some must not wait for a build, nor for more of them: rows take all of theirs at
    once and in the same order, so that they cannot wait for each other in a ring.
    """

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._users: dict[str, int] = {}

    @asynccontextmanager
    async def hold(self, names: Iterable[str]) -> AsyncIterator[None]:
        """Wait until all of them are free, and hold them; however that ends, they are free again.

        Args:
            names: Ids, in any order; one that is there twice counts once.
        """
        wanted = sorted(set(names))
        held: list[str] = []
        for name in wanted:
            self._users[name] = self._users.get(name, 0) + 1
        try:
            for name in wanted:
                await self._locks.setdefault(name, asyncio.Lock()).acquire()
                held.append(name)
            yield
        finally:
            for name in held:
                self._locks[name].release()
            for name in wanted:
                self._forget(name)

    def _forget(self, name: str) -> None:
        """A lock that nobody uses any more is let go of: a run may name very many."""
        self._users[name] -= 1
        if not self._users[name]:
            del self._users[name]
            self._locks.pop(name, None)
