import asyncio
import math
from itertools import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_support import FakeClock
from proctor.clock import Clock
from proctor.errors import ProviderError, TryAgain
from proctor.running.retrying import Wait, patiently

SAYS_NOTHING = [None, 0, -0.0, -1, -math.inf, math.inf, math.nan]
"""Waits that a provider cannot mean."""


def again(**more):
    return TryAgain("the provider replied with status 429", **{"code": "P6309"} | more)


class Asked:
    """Asks somebody who fails with each of `failures` in turn, and then answers."""

    def __init__(self, failures=(), *, max_wait_s=60, chance=0.0):
        self.clock = FakeClock()
        self.asked_at = []
        self.waits = []
        self.told_at = []
        self._failures = iter(failures)
        self._options = {"max_wait_s": max_wait_s, "jitter": lambda: chance}

    async def _attempt(self):
        self.asked_at.append(self.clock.time_s)
        for failure in self._failures:
            raise failure
        return "Sure."

    def _told(self, wait):
        self.waits.append(wait)
        self.told_at.append(self.clock.time_s)

    async def answer(self):
        return await patiently(self._attempt, clock=self.clock, on_wait=self._told, **self._options)

    def run(self):
        return asyncio.run(self.answer())

    def fails(self):
        with pytest.raises(ProviderError) as raised:
            self.run()
        assert type(raised.value) is ProviderError
        return raised.value

    @property
    def seconds(self):
        return [wait.seconds for wait in self.waits]


def endless(*, max_wait_s=60, **more):
    return Asked(repeat(again(**more)), max_wait_s=max_wait_s)


class TestWaiting:
    def test_an_answer_is_not_waited_for(self):
        asked = Asked()
        assert asked.run() == "Sure."
        assert (asked.asked_at, asked.waits) == ([0], [])

    def test_it_is_asked_again_when_the_provider_said(self):
        asked = Asked([again(wait_s=40, status=429), again(wait_s=1.5, status=503)])
        assert asked.run() == "Sure."
        assert asked.asked_at == [0, 40, 41.5]
        assert asked.waits == [Wait(40, 2, "429"), Wait(1.5, 3, "503")]

    def test_a_wait_is_told_before_it_begins(self):
        asked = Asked([again(wait_s=40), again(wait_s=2)])
        asked.run()
        assert asked.told_at == [0, 40]

    @pytest.mark.parametrize(("chance", "part"), [(0.0, 0.5), (0.5, 0.75), (1 - 2**-53, 1.0)])
    def test_otherwise_waits_double_up_to_a_limit_and_half_of_each_is_chance(self, chance, part):
        asked = Asked([again()] * 9, max_wait_s=1_000, chance=chance)
        asked.run()
        whole = [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
        assert asked.seconds == pytest.approx([part * seconds for seconds in whole])

    @pytest.mark.parametrize("wait_s", SAYS_NOTHING)
    def test_a_wait_that_makes_no_sense_was_not_said(self, wait_s):
        asked = Asked([again(wait_s=wait_s)] * 3)
        asked.run()
        assert asked.seconds == [0.25, 0.5, 1]

    def test_no_wait_is_so_short_that_it_is_none(self):
        asked = Asked([again(wait_s=1e-9)])
        asked.run()
        assert asked.seconds == [0.25]

    @pytest.mark.parametrize(
        ("failure", "reason"),
        [
            (again(status=529), "529"),
            (again(), "P6309 rate limit"),
            (TryAgain("reset", code="P6310"), "P6310 no reply"),
            (TryAgain("nonsense", code="P6312"), "P6312"),
        ],
    )
    def test_a_wait_says_why(self, failure, reason):
        asked = Asked([failure])
        asked.run()
        assert [wait.reason for wait in asked.waits] == [reason]

    def test_very_many_attempts_are_no_fault(self):
        asked = Asked([again()] * 1_200, max_wait_s=86_400)
        assert asked.run() == "Sure."
        assert asked.seconds[-1] == 15


class TestGivingUp:
    def test_all_waits_together_are_limited_and_not_each(self):
        asked = endless(wait_s=20)
        error = asked.fails()
        assert asked.seconds == [20, 20, 20]
        assert error.message == (
            "the provider replied with status 429; "
            "it was asked again for as long as `--max-wait` allows"
        )
        assert error.hint == "a higher `--max-wait` asks again for longer"

    def test_a_wait_that_would_end_too_late_is_not_begun(self):
        asked = Asked([again(wait_s=300)])
        error = asked.fails()
        assert (asked.asked_at, asked.waits, asked.clock.time_s) == ([0], [], 0)
        assert error.message == (
            "the provider replied with status 429; "
            "it asks to wait 300 s, more than `--max-wait` allows"
        )
        assert error.hint == "wait with `--max-wait 300`, or run it again later"

    def test_a_provider_that_says_nothing_is_asked_for_as_long_as_there_is_time(self):
        asked = endless()
        error = asked.fails()
        # Halves of 0.5, 1, 2, 4, 8, 16, 30 and 30; one more of 30 would make it 60.75.
        assert asked.clock.time_s == 45.75
        assert error.message == (
            "the provider replied with status 429; "
            "it was asked again for as long as `--max-wait` allows"
        )
        assert error.hint == "a higher `--max-wait` asks again for longer"

    @pytest.mark.parametrize("wait_s", [*SAYS_NOTHING, 1e-9, 2])
    def test_without_time_to_wait_nothing_is_asked_again(self, wait_s):
        asked = endless(max_wait_s=0, wait_s=wait_s)
        error = asked.fails()
        assert (asked.asked_at, asked.waits) == ([0], [])
        assert error.message.startswith("the provider replied with status 429")
        assert "asked again" not in error.message

    def test_what_is_known_of_the_last_attempt_stays(self):
        last = TryAgain("reset", code="P6310", hint="look", free=True)
        error = Asked([again(wait_s=1), last], max_wait_s=1).fails()
        assert (error.code, error.hint, error.free) == ("P6310", "look", True)
        assert error.message == "reset; it was asked again for as long as `--max-wait` allows"

    @pytest.mark.parametrize(
        "failure",
        [ProviderError("refused", code="P6308"), ZeroDivisionError(), asyncio.CancelledError()],
    )
    def test_every_other_failure_passes_through_at_once(self, failure):
        asked = Asked([again(wait_s=1), failure])
        with pytest.raises(type(failure)):
            asked.run()
        assert asked.asked_at == [0, 1]

    def test_who_waits_can_be_stopped(self):
        asked = endless(wait_s=40)

        async def stop():
            waiting = asyncio.ensure_future(asked.answer())
            while not asked.waits:
                await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            return waiting.cancelled()

        assert asyncio.run(stop())
        assert asked.asked_at == [0]


@given(
    failures=st.lists(st.none() | st.floats(allow_nan=True), max_size=30),
    chance=st.floats(0, 1, exclude_max=True),
    max_wait_s=st.floats(0, 600),
)
def test_no_call_waits_longer_than_it_may(failures, chance, max_wait_s):
    asked = Asked(
        [again(wait_s=wait_s) for wait_s in failures], max_wait_s=max_wait_s, chance=chance
    )
    gave_up = False
    try:
        asked.run()
    except ProviderError:
        gave_up = True
    assert sum(asked.seconds) <= max_wait_s
    assert all(seconds >= 0.25 for seconds in asked.seconds)
    assert len(asked.asked_at) == len(asked.waits) + 1
    assert gave_up is (len(asked.waits) < len(failures))


def test_chance_is_a_number_below_one():
    drawn = [Clock().random() for _ in range(100)]
    assert all(0 <= number < 1 for number in drawn)
    assert len(set(drawn)) > 1
