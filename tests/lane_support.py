"""Targets for tests: lanes that fail when they are told to."""

from __future__ import annotations

import asyncio

from proctor.running.faults import Phase
from proctor.running.lanes import Lanes, Work
from virtual_time import VirtualClock, idle

A, B, C = "http://127.0.0.1:9001", "http://127.0.0.1:9002", "http://127.0.0.1:9003"


class Backends:
    """The hooks of a target that lanes need, and what was asked of them."""

    def __init__(self) -> None:
        self.healthy = True
        self.probed = []
        self.setups = []
        self.teardowns = []
        self.setup_fails = []
        self.teardown_fails = False
        self.setup_takes_s = 0.0

    async def health(self, lane):
        self.probed.append((asyncio.get_running_loop().time(), lane))
        answer = self.healthy(lane) if callable(self.healthy) else self.healthy
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, float):
            await asyncio.sleep(answer)
            return True
        return answer

    async def setup(self, lane):
        self.setups.append(lane)
        await asyncio.sleep(self.setup_takes_s)
        if self.setup_fails:
            raise self.setup_fails.pop(0)

    async def teardown(self, lane):
        self.teardowns.append(lane)
        if self.teardown_fails:
            raise OSError("teardown")


class Lab:
    """Lanes in virtual time, and rows that hold them until they are told to end."""

    def __init__(self, *urls, builds_per_lane=1):
        self.backends = Backends()
        self.notes = []
        self.lanes = Lanes(
            urls,
            builds_per_lane=builds_per_lane,
            target=self.backends,
            clock=VirtualClock(),
            on_note=self.notes.append,
        )
        self.started = []
        self.held = {}
        self.tasks = {}
        self._ends = {}

    async def start(self, *names, **options):
        """Start rows whose case is the part of their name before `/`; they take a lane each."""
        for name in names:
            self._ends[name] = asyncio.Event()
            self.tasks[name] = asyncio.ensure_future(self._row(name, **options))
        await idle()

    async def end(self, *names):
        for name in names:
            self._ends[name].set()
        await idle()

    async def cancel(self, *names):
        for name in names:
            self.tasks[name].cancel()
        await idle()

    async def fail(self, lane, kind, times=1):
        """Have rows fail one after the other on a lane."""
        for _ in range(times):
            async with self.lanes.take(Work("failing", lane=lane)) as held:
                held.during = Phase.ANSWER
                held.failed(kind)

    def lane_of(self, *names):
        return [self.held[name].lane for name in names]

    async def _row(self, name, *, avoid=None, build=None, lane=None):
        work = Work(name.partition("/")[0], build, lane)
        async with self.lanes.take(work, avoid=avoid) as held:
            self.started.append(name)
            self.held[name] = held
            await self._ends[name].wait()
