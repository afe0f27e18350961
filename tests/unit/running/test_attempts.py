import asyncio

import pytest

from lane_support import A, B, Lab
from proctor.running.attempts import with_retries
from proctor.running.faults import Lost, Phase
from proctor.running.lanes import AllLanesDown, Work
from proctor.running.retrying import Wait
from proctor.target_protocols import FaultKind
from virtual_time import VirtualClock, in_no_time

OVERLOADED = type("Overloaded", (Exception,), {"status": 529})


class Call:
    """A call that fails with each of `failures` in turn, and then answers."""

    def __init__(self, lab, *failures, during=Phase.ANSWER, takes_s=0.0):
        self.lab = lab
        self.failures = list(failures)
        self.during = during
        self.takes_s = takes_s
        self.tried = []
        self.waits = []

    async def __call__(self, held):
        self.tried.append((asyncio.get_running_loop().time(), held.lane))
        await asyncio.sleep(self.takes_s)
        if self.failures:
            failure = self.failures.pop(0)
            if isinstance(failure, tuple):
                held.during, failure = failure
            raise failure
        return "Sure."

    async def run(self, case="a", **work):
        return await with_retries(
            self,
            lanes=self.lab.lanes,
            work=Work(case, **work),
            during=self.during,
            clock=VirtualClock(),
            on_wait=self.waits.append,
        )

    async def lost(self, **work):
        with pytest.raises(Lost) as raised:
            await self.run(**work)
        return raised.value

    @property
    def tried_at(self):
        return [at for at, _ in self.tried]

    @property
    def lanes(self):
        return [lane for _, lane in self.tried]


TABLE = [
    (Phase.BUILD, ConnectionResetError, FaultKind.TRANSPORT, [0, 0, 0]),
    (Phase.BUILD, OVERLOADED, FaultKind.OUTAGE, [0, 30, 120]),
    (Phase.BUILD, TimeoutError, FaultKind.TIMEOUT, [0]),
    (Phase.BUILD, KeyError, FaultKind.TARGET, [0]),
    (Phase.ANSWER, ConnectionResetError, FaultKind.TRANSPORT, [0, 0.5, 1.5, 3, 5]),
    (Phase.ANSWER, TimeoutError, FaultKind.TIMEOUT, [0, 0.5]),
    (Phase.ANSWER, OVERLOADED, FaultKind.OUTAGE, [0]),
    (Phase.ANSWER, KeyError, FaultKind.TARGET, [0]),
]


class TestTable:
    @pytest.mark.parametrize(("during", "error", "kind", "tried_at"), TABLE)
    @in_no_time
    async def test_so_often_and_so_late_each_fault_is_tried(self, during, error, kind, tried_at):
        call = Call(Lab(), *(error() for _ in range(9)), during=during)
        lost = await call.lost()
        assert call.tried_at == tried_at
        assert (lost.kind, lost.during, lost.attempts) == (kind, during, len(tried_at))
        assert type(lost.__cause__) is error

    @pytest.mark.parametrize(("during", "error", "kind", "tried_at"), TABLE)
    @in_no_time
    async def test_the_last_attempt_may_succeed(self, during, error, kind, tried_at):
        call = Call(Lab(), *(error() for _ in tried_at[1:]), during=during)
        assert await call.run() == "Sure."
        assert call.tried_at == tried_at

    @in_no_time
    async def test_all_attempts_count_whatever_each_came_to(self):
        call = Call(Lab(), ConnectionResetError(), TimeoutError(), TimeoutError())
        lost = await call.lost()
        # A time limit is met twice at most, and the second attempt was the last of those.
        assert (call.tried_at, lost.kind) == ([0, 0.5], FaultKind.TIMEOUT)
        call = Call(Lab(), TimeoutError(), *(ConnectionResetError() for _ in range(9)))
        assert (await call.lost()).attempts == 5
        call = Call(Lab(), ConnectionResetError(), OVERLOADED(), during=Phase.BUILD)
        start = asyncio.get_running_loop().time()
        assert await call.run() == "Sure."
        assert [at - start for at in call.tried_at] == [0, 0, 90]

    @in_no_time
    async def test_each_further_attempt_is_told_with_its_reason(self):
        call = Call(Lab(), OVERLOADED(), ConnectionResetError(), during=Phase.BUILD)
        await call.run()
        assert call.waits == [Wait(30.0, 2, "529"), Wait(0.0, 3, "transport")]


class TestLanes:
    @in_no_time
    async def test_a_retry_goes_to_another_lane(self):
        call = Call(Lab(A, B), ConnectionResetError(), ConnectionResetError(), during=Phase.BUILD)
        await call.run()
        assert call.lanes == [A, B, A]

    @in_no_time
    async def test_a_retry_takes_the_same_when_there_is_no_other(self):
        call = Call(Lab(A), ConnectionResetError(), ConnectionResetError())
        await call.run()
        assert call.lanes == [A, A, A]

    @in_no_time
    async def test_what_was_built_on_a_lane_is_tried_again_there(self):
        call = Call(Lab(A, B), ConnectionResetError(), TimeoutError())
        lost = await call.lost(lane=B)
        assert (call.lanes, lost.lane) == ([B, B], B)

    @in_no_time
    async def test_nothing_is_held_while_waiting(self):
        lab = Lab(A)
        patient = asyncio.ensure_future(Call(lab, OVERLOADED(), during=Phase.BUILD).run())
        await asyncio.sleep(1)
        quick = Call(lab)
        await quick.run("b")
        assert quick.tried_at == [1]
        assert await patient == "Sure."

    @in_no_time
    async def test_a_lane_that_fails_thrice_is_left_alone_and_the_call_goes_on_when_it_is_well(
        self,
    ):
        call = Call(Lab(A), *(ConnectionResetError() for _ in range(4)))
        assert await call.run() == "Sure."
        # The third failure, at 1.5, puts the lane into quarantine, and the probe is 30 s later.
        assert call.tried_at == [0, 0.5, 1.5, 31.5, 33.5]

    @in_no_time
    async def test_successes_and_failures_are_told_to_the_lane(self):
        lab = Lab(A, B)
        for failures in ([ConnectionResetError(), ConnectionResetError()], []) * 3:
            await Call(lab, *failures).run(lane=A)
        assert lab.notes == []
        await Call(lab, *(ConnectionResetError() for _ in range(3))).run(lane=A)
        assert len(lab.notes) == 2

    @in_no_time
    async def test_a_build_that_fails_on_a_lane_in_quarantine_is_made_elsewhere(self):
        lab = Lab(A, B, builds_per_lane=2)
        call = Call(lab, KeyError(), during=Phase.BUILD, takes_s=5.0)
        build = asyncio.ensure_future(call.run())
        await asyncio.sleep(1)
        await lab.fail(A, FaultKind.TRANSPORT, times=3)
        assert await build == "Sure."
        assert call.lanes == [A, B]

    @in_no_time
    async def test_without_lanes_for_too_long_the_call_ends(self):
        lab = Lab(A)
        lab.backends.healthy = False
        call = Call(lab, *(ConnectionResetError() for _ in range(9)))
        with pytest.raises(AllLanesDown):
            await call.run()
        assert call.tried_at == [0, 0.5, 1.5]

    @in_no_time
    async def test_a_build_whose_lane_stays_away_is_lost_on_the_way(self):
        lab = Lab(A, B)
        lab.backends.healthy = False
        await lab.fail(A, FaultKind.TRANSPORT, times=3)
        lost = await Call(lab).lost(lane=A)
        assert (lost.kind, lost.lane, lost.attempts) == (FaultKind.TRANSPORT, A, 0)
        assert (lost.code, lost.blame.attribution) == ("P6701", "lane")

    @in_no_time
    async def test_a_stop_ends_a_call_that_waits_for_a_lane(self):
        lab = Lab(A)
        await lab.start("x")
        call = asyncio.ensure_future(Call(lab).run())
        await asyncio.sleep(1)
        lab.lanes.give_up_waiting()
        await asyncio.wait([call])
        assert call.cancelled()


class TestSteps:
    @in_no_time
    async def test_a_lane_is_set_up_before_the_first_call(self):
        lab = Lab(A)
        lab.backends.setup_takes_s = 3.0
        call = Call(lab, TimeoutError())
        await call.run()
        assert (call.tried_at, lab.backends.setups) == ([3, 3.5], [A])

    @in_no_time
    async def test_a_setup_that_is_lost_is_tried_again_like_the_call(self):
        lab = Lab(A, B)
        lab.backends.setup_fails = [ConnectionRefusedError()]
        call = Call(lab, during=Phase.BUILD)
        assert await call.run() == "Sure."
        assert (lab.backends.setups, call.lanes) == ([A, B], [B])

    @in_no_time
    async def test_a_setup_that_fails_otherwise_is_a_fault_of_nobody(self):
        lab = Lab(A)
        lab.backends.setup_fails = [KeyError("x")]
        lost = await Call(lab, during=Phase.BUILD).lost()
        assert (lost.during, lost.kind) == (Phase.SETUP, FaultKind.FRAMEWORK)
        assert lost.message == "getting the target ready failed: KeyError"

    @in_no_time
    async def test_what_is_being_done_decides_whose_fault_it_is(self):
        lost = await Call(Lab(A), (Phase.PREPARE, KeyError())).lost()
        assert (lost.during, lost.kind) == (Phase.PREPARE, FaultKind.FRAMEWORK)

    @in_no_time
    async def test_a_scenario_whose_preparation_is_lost_is_tried_like_one_that_is_answered(self):
        failures = [(Phase.PREPARE, ConnectionResetError()) for _ in range(9)]
        call = Call(Lab(), *failures)
        lost = await call.lost()
        assert (lost.during, lost.attempts) == (Phase.PREPARE, 5)

    @in_no_time
    async def test_a_time_limit_inside_the_call_is_one(self):
        lab = Lab()
        call = Call(lab, takes_s=10.0)

        async def limited(held):
            async with asyncio.timeout(4):
                return await call(held)

        with pytest.raises(Lost) as raised:
            await with_retries(
                limited,
                lanes=lab.lanes,
                work=Work("a"),
                during=Phase.ANSWER,
                clock=VirtualClock(),
                on_wait=call.waits.append,
            )
        assert (call.tried_at, raised.value.kind) == ([0, 4.5], FaultKind.TIMEOUT)
