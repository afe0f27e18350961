import asyncio
from random import Random

import pytest

from live_support import FakeClock
from proctor.errors import TryAgain
from proctor.running.limiting import Limiter
from proctor.running.retrying import patiently


async def idle():
    """Let everybody else get as far as they can."""
    for _ in range(10):
        await asyncio.sleep(0)


class Calls:
    """Calls that hold a slot until they are told to end."""

    def __init__(self, limiter):
        self.limiter = limiter
        self.started = []
        self.slots = {}
        self._ends = {}
        self.tasks = {}

    async def start(self, *names):
        for name in names:
            self._ends[name] = asyncio.Event()
            self.tasks[name] = asyncio.ensure_future(self._call(name))
        await idle()

    async def end(self, *names):
        for name in names:
            self._ends[name].set()
        await idle()

    async def cancel(self, *names):
        for name in names:
            self.tasks[name].cancel()
        await idle()

    @property
    def in_flight(self):
        return [name for name in self.started if not self.tasks[name].done()]

    async def _call(self, name):
        async with self.limiter.slot() as self.slots[name]:
            self.started.append(name)
            await self._ends[name].wait()


async def slots(limiter, number):
    """The slots of as many calls that are in flight together, and have ended."""
    calls = Calls(limiter)
    await calls.start(*range(number))
    assert len(calls.in_flight) == number
    await calls.end(*range(number))
    return list(calls.slots.values())


class TestSlots:
    @pytest.mark.parametrize("most", [1, 3])
    def test_so_many_are_in_flight_and_the_others_come_in_order(self, most):
        async def run():
            calls = Calls(Limiter(most))
            await calls.start(*range(6))
            assert calls.in_flight == list(range(most))
            for ended in range(6):
                await calls.end(ended)
                assert calls.started == list(range(min(6, ended + 1 + most)))

        asyncio.run(run())

    def test_who_comes_later_waits_behind_those_who_wait(self):
        async def run():
            calls = Calls(Limiter(1))
            await calls.start("first", "second")
            calls._ends["first"].set()
            await calls.start("third")
            assert calls.started == ["first", "second"]

        asyncio.run(run())

    def test_a_call_that_fails_gives_its_slot_back(self):
        async def run():
            limiter = Limiter(1)
            with pytest.raises(ZeroDivisionError):
                async with limiter.slot():
                    raise ZeroDivisionError
            assert len(await slots(limiter, 1)) == 1

        asyncio.run(run())

    def test_a_call_that_is_cancelled_while_it_waits_is_passed_over(self):
        async def run():
            calls = Calls(Limiter(1))
            await calls.start("first", "second", "third")
            await calls.cancel("second")
            await calls.end("first")
            assert calls.started == ["first", "third"]

        asyncio.run(run())

    def test_a_call_that_is_cancelled_just_when_it_is_let_in_lets_in_the_next(self):
        async def run():
            calls = Calls(Limiter(1))
            async with calls.limiter.slot():
                await calls.start("second", "third")
            # The second has been let in, and has not run since.
            await calls.cancel("second")
            assert calls.started == ["third"]
            assert calls.tasks["second"].cancelled()

        asyncio.run(run())

    def test_it_goes_from_one_event_loop_to_the_next(self):
        limiter = Limiter(2)

        async def run():
            calls = Calls(limiter)
            await calls.start(*range(5))
            (slot, *_) = calls.slots.values()
            slot.slow_down()
            # What is in flight and what waits is cancelled with the loop.

        for _ in range(3):
            asyncio.run(run())
        assert limiter.limit == 1
        assert len(asyncio.run(slots(limiter, 1))) == 1

    @pytest.mark.parametrize("seed", range(20))
    def test_no_slot_is_lost_and_nobody_waits_for_ever(self, seed):
        chance = Random(seed)  # noqa: S311 - a simulation that can be repeated
        limiter = Limiter(7)
        in_flight, most, answered = 0, 0, []

        async def call(name):
            nonlocal in_flight, most
            async with limiter.slot() as slot:
                in_flight += 1
                most = max(most, in_flight)
                try:
                    for _ in range(chance.randrange(4)):
                        await asyncio.sleep(0)
                    chance.choice([slot.slow_down, slot.went_well, lambda: None])()
                finally:
                    in_flight -= 1
            answered.append(name)

        async def run():
            tasks = []
            for name in range(200):
                tasks.append(asyncio.ensure_future(call(name)))
                if chance.random() < 0.4:
                    chance.choice(tasks).cancel()
                if chance.random() < 0.2:
                    await asyncio.sleep(0)
            await asyncio.gather(*tasks, return_exceptions=True)
            return {name for name, task in enumerate(tasks) if not task.cancelled()}

        assert asyncio.run(run()) == set(answered)
        assert (in_flight, 1 <= most <= 7) == (0, True)
        assert len(asyncio.run(slots(limiter, limiter.limit))) == limiter.limit


class TestAdapting:
    def test_the_limit_is_halved_down_to_one(self):
        async def run():
            limiter, limits = Limiter(50), []
            for _ in range(7):
                (slot,) = await slots(limiter, 1)
                slot.slow_down()
                limits.append(limiter.limit)
            return limits

        assert asyncio.run(run()) == [25, 12, 6, 3, 1, 1, 1]

    def test_calls_that_started_before_the_last_cut_count_once(self):
        async def run():
            limiter = Limiter(50)
            for slot in await slots(limiter, 50):
                slot.slow_down()
            assert limiter.limit == 25
            old = await slots(limiter, 25)
            old[0].slow_down()
            for slot in old + await slots(limiter, 1):
                slot.slow_down()
            return limiter.limit

        assert asyncio.run(run()) == 6

    def test_after_a_cut_nobody_starts_until_few_enough_are_in_flight(self):
        async def run():
            calls = Calls(Limiter(4))
            await calls.start(*range(6))
            calls.slots[0].slow_down()
            await calls.end(0, 1)
            assert calls.in_flight == [2, 3]
            await calls.end(2)
            assert calls.in_flight == [3, 4]

        asyncio.run(run())

    def test_as_many_successes_as_slots_raise_the_limit_by_one_up_to_the_most(self):
        async def run():
            limiter, limits = Limiter(4), []
            (slot,) = await slots(limiter, 1)
            slot.slow_down()
            for _ in range(12):
                (slot,) = await slots(limiter, 1)
                slot.went_well()
                limits.append(limiter.limit)
            return limits

        assert asyncio.run(run()) == [2, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4]

    def test_a_raised_limit_lets_the_next_one_in_at_once(self):
        async def run():
            limiter = Limiter(2)
            (slot,) = await slots(limiter, 1)
            slot.slow_down()
            calls = Calls(limiter)
            await calls.start("first", "second")
            assert calls.in_flight == ["first"]
            calls.slots["first"].went_well()
            await idle()
            assert calls.in_flight == ["first", "second"]

        asyncio.run(run())

    def test_only_successes_in_a_row_since_the_last_cut_raise_it(self):
        async def run():
            limiter = Limiter(6)
            old = await slots(limiter, 6)
            old[0].slow_down()
            for slot in old:
                slot.went_well()
            assert limiter.limit == 3
            new = await slots(limiter, 3)
            for slot in new[:2]:
                slot.went_well()
            old[1].slow_down()
            for slot in new[:2]:
                slot.went_well()
            assert limiter.limit == 3
            new[2].went_well()
            return limiter.limit

        assert asyncio.run(run()) == 4


class Capped:
    """A provider that replies 429 while 5 calls are in flight."""

    CAPACITY = 5

    def __init__(self, seed, *, wait_s, refusal_s):
        self.clock = FakeClock()
        self.limiter = Limiter(50)
        self.limits = []
        self.refused = 0
        self._chance = Random(seed)  # noqa: S311 - a simulation that can be repeated
        self._in_flight = 0
        self._wait_s = wait_s
        self._refusal_s = refusal_s

    async def row(self):
        return await patiently(
            self._attempt,
            clock=self.clock,
            max_wait_s=60,
            on_wait=lambda wait: None,
            jitter=self._chance.random,
        )

    async def _attempt(self):
        async with self.limiter.slot() as slot:
            try:
                await self._complete()
            except TryAgain:
                slot.slow_down()
                raise
            slot.went_well()
        self.limits.append(self.limiter.limit)
        return "Sure."

    async def _complete(self):
        if self._in_flight >= self.CAPACITY:
            self.refused += 1
            await self.clock.sleep(self._refusal_s)
            raise TryAgain("too many", code="P6309", wait_s=self._wait_s, slow_down=True)
        self._in_flight += 1
        try:
            await self.clock.sleep(0.5 + self._chance.random())
        finally:
            self._in_flight -= 1

    async def run(self, rows):
        """Answer so many rows, 50 of them at once."""
        left, answers = iter(range(rows)), []

        async def some():
            for _ in left:
                answers.append(await self.row())

        await asyncio.gather(*(some() for _ in range(50)))
        return answers


@pytest.mark.parametrize("wait_s", [None, 1])
@pytest.mark.parametrize("refusal_s", [0, 0.05])
@pytest.mark.parametrize("seed", range(5))
def test_a_low_cap_of_the_provider_lowers_the_concurrency_and_fails_no_row(seed, refusal_s, wait_s):
    provider = Capped(seed, wait_s=wait_s, refusal_s=refusal_s)
    assert asyncio.run(provider.run(200)) == ["Sure."] * 200
    # From half of 6, which is one too many, up to 6 again. 40 s is the time of 5 calls at once.
    assert set(provider.limits[50:]) == {3, 4, 5, 6}
    assert provider.clock.time_s < 60
    assert provider.refused < 100
