"""Lanes, builds and resources under any schedule: nothing is lost, nobody overtakes, all ends."""

import asyncio
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lane_support import A, B, Backends, C
from proctor.running.attempts import with_retries
from proctor.running.builds import BuildCache
from proctor.running.faults import Lost, Phase
from proctor.running.lanes import AllLanesDown, LaneLost, Lanes, Work
from proctor.running.resources import Resources
from proctor.target_protocols import FaultKind
from virtual_time import VirtualClock, run_virtual

ROW = st.fixed_dictionaries(
    {
        "case": st.sampled_from("abcde"),
        "comes_at": st.integers(0, 12),
        "takes_s": st.integers(0, 6),
        "cancelled_at": st.none() | st.integers(0, 15),
        "pinned": st.none() | st.integers(0, 2),
        "build": st.none() | st.integers(0, 2),
        "avoid": st.none() | st.integers(0, 2),
        "fault": st.none() | st.sampled_from(list(FaultKind)),
    }
)
ROWS = st.lists(ROW, min_size=1, max_size=14)


class Watched(Lanes):
    """Lanes that are looked at each time a row gets one."""

    def __init__(self, most, backends):
        urls = (A, B, C)
        super().__init__(
            urls,
            builds_per_lane=most,
            target=backends,
            clock=VirtualClock(),
            on_note=lambda note: None,
        )
        self.most = most

    def _serve(self):
        super()._serve()
        for lane in self._lanes:
            cases = [place.case for place in lane.places.values()]
            assert len(cases) <= self.most
            assert len(set(cases)) == len(cases)
        for waiter in self._waiting:
            # Whoever still waits could not have been served: so nobody was overtaken for nothing.
            if not waiter.turn.done():
                assert not any(self._takes(lane, waiter) for lane in self._lanes)

    def _best(self, waiter):
        before = self._waiting[: self._waiting.index(waiter)]
        best = super()._best(waiter)
        if best is not None:
            for earlier in before:
                assert earlier.turn.done() or not self._takes(best, earlier)
            free = [lane for lane in self._lanes if self._takes(lane, waiter)]
            preferred = [lane for lane in free if lane.url != waiter.avoid] or free
            fewest = min(len(lane.places) for lane in preferred)
            assert best is next(lane for lane in preferred if len(lane.places) == fewest)
        return best


def url(number):
    return None if number is None else (A, B, C)[number]


async def hold(lanes, row):
    await asyncio.sleep(row["comes_at"])
    work = Work(row["case"], None if row["build"] is None else (row["case"], row["build"]))
    work = Work(work.case, work.build, url(row["pinned"]))
    async with lanes.take(work, avoid=url(row["avoid"])) as held:
        await asyncio.sleep(row["takes_s"])
        if row["fault"] is None:
            held.succeeded()
        else:
            held.failed(row["fault"])


async def cancel_at(task, at):
    await asyncio.sleep(at)
    task.cancel()


@pytest.mark.slow
@settings(max_examples=600)
@given(rows=ROWS, most=st.integers(1, 3), well_after_s=st.sampled_from([0, 45, 100, 10_000]))
def test_lanes_lose_no_place_whoever_comes_fails_or_is_cancelled(rows, most, well_after_s):
    check_lanes(rows, most, well_after_s)


@settings(max_examples=60)
@given(rows=ROWS, most=st.integers(1, 3), well_after_s=st.sampled_from([0, 45, 10_000]))
def test_lanes_lose_no_place_in_a_few_schedules(rows, most, well_after_s):
    check_lanes(rows, most, well_after_s)


def check_lanes(rows, most, well_after_s):
    async def run():
        backends = Backends()
        backends.healthy = lambda lane: asyncio.get_running_loop().time() >= well_after_s
        lanes = Watched(most, backends)
        tasks = [asyncio.ensure_future(hold(lanes, row)) for row in rows]
        cancels = [
            asyncio.ensure_future(cancel_at(task, row["cancelled_at"]))
            for task, row in zip(tasks, rows, strict=True)
            if row["cancelled_at"] is not None
        ]
        # A row nobody ever serves would leave only probes, whose time is limited here.
        _, late = await asyncio.wait(tasks, timeout=5_000)
        assert not late
        await asyncio.gather(*cancels, return_exceptions=True)
        for task, row in zip(tasks, rows, strict=True):
            if task.cancelled():
                assert row["cancelled_at"] is not None
            elif task.exception() is not None:
                assert isinstance(task.exception(), (AllLanesDown, LaneLost))
                assert well_after_s > 300
        assert lanes._waiting == []
        assert all(lane.places == {} for lane in lanes._lanes)
        await lanes.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run_virtual(run)


@settings(max_examples=80)
@given(
    rows=st.lists(
        st.tuples(
            st.lists(st.sampled_from("abcd"), max_size=4),
            st.integers(0, 5),
            st.integers(0, 5),
            st.none() | st.integers(0, 12),
        ),
        min_size=1,
        max_size=14,
    )
)
def test_resources_never_overlap_and_everybody_comes_to_an_end(rows):
    async def run():
        resources = Resources()
        in_use = Counter()

        async def row(names, comes_at, takes_s):
            await asyncio.sleep(comes_at)
            async with resources.hold(names):
                in_use.update(set(names))
                assert all(in_use[name] == 1 for name in names)
                try:
                    await asyncio.sleep(takes_s)
                finally:
                    in_use.subtract(set(names))

        tasks = [asyncio.ensure_future(row(*one[:3])) for one in rows]
        for task, one in zip(tasks, rows, strict=True):
            if one[3] is not None:
                asyncio.get_running_loop().call_later(one[3], task.cancel)
        await asyncio.wait(tasks)
        for task, one in zip(tasks, rows, strict=True):
            assert one[3] is not None if task.cancelled() else task.exception() is None
        assert (resources._locks, resources._users) == ({}, {})

    run_virtual(run)


class Factory:
    """A target in which builds and answers fail by chance, all of it decided by a seed."""

    def __init__(self, seed, *, cases, repeats, scenarios):
        self.chance = Random(seed)  # noqa: S311 - a schedule that can be repeated
        self.rows = [
            (case, scenario, repeat)
            for scenario in range(scenarios)
            for case in range(cases)
            for repeat in range(repeats)
        ]
        self.scenarios = scenarios
        self.built = Counter()
        self.alive = set()
        self.answered = []
        self.backends = Backends()
        self.lanes = Watched(1 + self.chance.randrange(3), self.backends)
        self.resources = Resources()
        self.builds = BuildCache(self.clean, keep=False, on_note=lambda note: None)
        self.flight = asyncio.Semaphore(1 + self.chance.randrange(8))

    async def clean(self, built):
        await asyncio.sleep(self.chance.random())
        if self.chance.random() < 0.3:
            return False
        self.alive.remove(built)
        return True

    async def work(self, held):
        await asyncio.sleep(self.chance.choice([0, 1, 5, 20]))
        error = self.chance.choice(
            [None] * 5 + [ConnectionResetError(), TimeoutError(), KeyError()]
        )
        if error is not None:
            raise error
        return held.lane

    def retrying(self, call, work, during):
        return with_retries(
            call,
            lanes=self.lanes,
            work=work,
            during=during,
            clock=VirtualClock(),
            on_wait=lambda wait: None,
        )

    async def row(self, case, scenario, repeat):
        key = ("agent", repeat, str(case))

        async def build(held):
            lane = await self.work(held)
            self.built[key] += 1
            built = (key, self.built[key], lane)
            self.alive.add(built)
            return built

        async with (
            self.flight,
            self.builds.use(
                key,
                lambda: self.retrying(build, Work(str(case), key), Phase.BUILD),
                rows=self.scenarios,
            ) as built,
            self.resources.hold(self.chance.sample("abc", scenario % 3)),
        ):
            assert built in self.alive
            work = Work(str(case), key, built[2])
            assert await self.retrying(self.work, work, Phase.ANSWER) == built[2]
            assert built in self.alive
            self.answered.append((case, scenario, repeat))


def check_whole(seed):
    async def run():
        factory = Factory(seed, cases=6, repeats=2, scenarios=3)
        tasks = [asyncio.ensure_future(factory.row(*row)) for row in factory.rows]
        for task in factory.chance.sample(tasks, factory.chance.choice([0, 0, 3, 12])):
            asyncio.get_running_loop().call_later(factory.chance.randrange(100), task.cancel)
        _, late = await asyncio.wait(tasks, timeout=50_000)
        assert not late
        answered = sum(not task.cancelled() and task.exception() is None for task in tasks)
        assert answered == len(factory.answered)
        for task in tasks:
            if not task.cancelled() and task.exception() is not None:
                assert isinstance(task.exception(), Lost)
        factory.chance.random = lambda: 1.0
        await factory.builds.close()
        await factory.lanes.close()
        assert factory.alive == set()
        assert all(lane.places == {} for lane in factory.lanes._lanes)
        assert (factory.resources._locks, factory.resources._users) == ({}, {})
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run_virtual(run)


@pytest.mark.parametrize("seed", range(12))
def test_builds_lanes_resources_and_retries_together(seed):
    check_whole(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 400))
def test_builds_lanes_resources_and_retries_together_under_many_seeds(seed):
    check_whole(seed)
