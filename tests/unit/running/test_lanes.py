import asyncio

import pytest

from lane_support import A, B, C, Lab
from proctor.running.lanes import AllLanesDown, LaneLost, Work
from proctor.target_protocols import FaultKind
from virtual_time import Stuck, in_no_time

TRANSIENT = [FaultKind.TRANSPORT, FaultKind.OUTAGE, FaultKind.TIMEOUT]


def now():
    return asyncio.get_running_loop().time()


class TestWhichLane:
    @in_no_time
    async def test_the_lane_with_the_fewest_builds_takes_the_next_row(self):
        lab = Lab(A, B, C, builds_per_lane=3)
        await lab.start("a", "b", "c", "d", "e")
        await lab.end("b")
        await lab.start("f")
        assert lab.lane_of("a", "b", "c", "d", "e", "f") == [A, B, C, A, B, B]
        await lab.start("g")
        assert lab.lane_of("g") == [C]

    @in_no_time
    async def test_a_tie_goes_to_the_first(self):
        lab = Lab(C, A, B, builds_per_lane=9)
        await lab.start("a")
        assert lab.lane_of("a") == [C]

    @pytest.mark.parametrize("most", [1, 2, 5])
    @in_no_time
    async def test_no_lane_has_more_builds_than_it_may(self, most):
        lab = Lab(A, B, builds_per_lane=most)
        await lab.start(*"abcdefghijkl")
        assert len(lab.started) == 2 * most
        await lab.end("a")
        assert len(lab.started) == 2 * most + 1
        assert lab.lane_of(lab.started[-1]) == [A]

    @in_no_time
    async def test_a_case_is_never_twice_on_a_lane(self):
        lab = Lab(A, B, builds_per_lane=4)
        await lab.start("a/1", "a/2", "a/3")
        assert lab.started == ["a/1", "a/2"]
        assert lab.lane_of("a/1", "a/2") == [A, B]
        await lab.end("a/2")
        assert lab.lane_of("a/3") == [B]

    @in_no_time
    async def test_who_waits_longest_is_next(self):
        lab = Lab(A)
        await lab.start(*"abcd")
        for name in "abc":
            await lab.end(name)
        assert lab.started == list("abcd")

    @in_no_time
    async def test_who_comes_just_when_a_lane_gets_free_waits_behind_the_others(self):
        lab = Lab(A)
        await lab.start("a", "b")
        lab._ends["a"].set()
        await lab.start("c")
        assert lab.started == ["a", "b"]

    @in_no_time
    async def test_who_waits_with_a_case_that_is_on_the_lane_is_passed_over_and_keeps_its_turn(
        self,
    ):
        lab = Lab(A, builds_per_lane=2)
        await lab.start("a/1", "b", "a/2", "c", "d")
        await lab.end("b")
        assert lab.started == ["a/1", "b", "c"]
        await lab.end("a/1")
        assert lab.started[-1] == "a/2"
        await lab.end("c")
        assert lab.started[-1] == "d"

    @in_no_time
    async def test_rows_of_one_build_share_a_place(self):
        lab = Lab(A, builds_per_lane=2)
        await lab.start("a/1", "a/2", "a/3", build="a1")
        await lab.start("b", "c")
        assert lab.started == ["a/1", "a/2", "a/3", "b"]
        await lab.end("a/1", "a/3")
        assert lab.started == ["a/1", "a/2", "a/3", "b"]
        await lab.end("a/2")
        assert lab.started[-1] == "c"

    @in_no_time
    async def test_another_build_of_the_case_waits_for_all_rows_of_the_first(self):
        lab = Lab(A, builds_per_lane=5)
        await lab.start("a/1", "a/2", build="first")
        await lab.start("a/3", build="second")
        await lab.end("a/1")
        assert lab.started == ["a/1", "a/2"]
        await lab.end("a/2")
        assert lab.started == ["a/1", "a/2", "a/3"]

    @in_no_time
    async def test_a_row_whose_build_is_on_a_lane_waits_for_that_one(self):
        lab = Lab(A, B)
        await lab.start("a", "x")
        await lab.end("x")
        await lab.start("b", lane=A)
        assert lab.started == ["a", "x"]
        await lab.start("c")
        assert lab.lane_of("c") == [B]
        await lab.end("a")
        assert lab.lane_of("b") == [A]

    @in_no_time
    async def test_a_retry_prefers_another_lane_even_a_busier_one(self):
        lab = Lab(A, B, builds_per_lane=3)
        await lab.start("a", "b", "c", "d")
        await lab.end("a", "c")
        await lab.start("e", avoid=A)
        assert lab.lane_of("e") == [B]

    @in_no_time
    async def test_a_retry_falls_back_to_the_same_lane(self):
        lab = Lab(A, B)
        await lab.start("a", "b")
        await lab.end("a")
        await lab.start("c", avoid=A)
        assert lab.lane_of("c") == [A]

    @in_no_time
    async def test_a_lane_that_is_named_twice_is_one(self):
        lab = Lab(A, A)
        await lab.start("a", "b")
        assert lab.started == ["a"]


class TestNoLanes:
    @in_no_time
    async def test_everything_runs_at_once_whatever_its_case(self):
        lab = Lab(builds_per_lane=1)
        await lab.start(*(f"a/{number}" for number in range(50)))
        assert len(lab.started) == 50
        assert set(lab.lane_of(*lab.started)) == {None}

    @pytest.mark.parametrize("kind", FaultKind)
    @in_no_time
    async def test_it_is_never_put_into_quarantine(self, kind):
        lab = Lab()
        await lab.fail(None, kind, times=20)
        await lab.start("a")
        assert lab.started == ["a"]
        await asyncio.sleep(1_000)
        assert (lab.backends.probed, lab.notes, lab.lanes.is_down) == ([], [], False)

    @in_no_time
    async def test_it_is_set_up_and_torn_down_once(self):
        lab = Lab()
        for _ in range(3):
            async with lab.lanes.take(Work("a")) as held:
                await held.set_up()
        await lab.lanes.close()
        assert (lab.backends.setups, lab.backends.teardowns) == ([None], [None])


class TestCancelling:
    @in_no_time
    async def test_who_is_cancelled_while_waiting_is_passed_over(self):
        lab = Lab(A)
        await lab.start("a", "b", "c")
        await lab.cancel("b")
        await lab.end("a")
        assert lab.started == ["a", "c"]

    @in_no_time
    async def test_who_is_cancelled_just_when_it_got_a_lane_gives_it_on(self):
        lab = Lab(A)
        async with lab.lanes.take(Work("a")):
            await lab.start("b", "c")
        # The second has been given the lane, and has not run since.
        await lab.cancel("b")
        assert lab.started == ["c"]
        assert lab.tasks["b"].cancelled()

    @in_no_time
    async def test_who_is_cancelled_while_holding_gives_the_place_back(self):
        lab = Lab(A)
        await lab.start("a", "b")
        await lab.cancel("a")
        assert lab.started == ["a", "b"]

    @in_no_time
    async def test_who_raises_gives_the_place_back(self):
        lab = Lab(A)
        with pytest.raises(ZeroDivisionError):
            async with lab.lanes.take(Work("a")):
                raise ZeroDivisionError
        await lab.start("b")
        assert lab.started == ["b"]

    @in_no_time
    async def test_a_stop_cancels_who_waits_and_who_comes_later_but_nobody_at_work(self):
        lab = Lab(A)
        await lab.start("a", "b")
        lab.lanes.give_up_waiting()
        await lab.start("c")
        assert lab.started == ["a"]
        assert lab.tasks["b"].cancelled()
        assert lab.tasks["c"].cancelled()
        assert not lab.tasks["a"].done()
        await lab.end("a")
        assert lab.tasks["a"].result() is None

    @in_no_time
    async def test_a_row_that_waits_for_a_place_nobody_gives_back_is_noticed(self):
        lab = Lab(A)
        await lab.start("a")
        with pytest.raises(Stuck):
            asyncio.get_running_loop()._selector.select(None)


class TestQuarantine:
    @pytest.mark.parametrize("kind", TRANSIENT)
    @in_no_time
    async def test_three_failures_in_a_row_that_may_pass_put_a_lane_into_it(self, kind):
        lab = Lab(A, B)
        await lab.fail(A, kind, times=2)
        await lab.start("a")
        await lab.end("a")
        assert lab.lane_of("a") == [A]
        await lab.fail(A, kind)
        await lab.start("b", "c")
        assert lab.lane_of("b") == [B]
        assert "c" not in lab.started
        assert lab.notes == [f"the lane `{A}` failed 3 times in a row and gets no rows for now"]

    @in_no_time
    async def test_failures_of_different_kinds_count_together(self):
        lab = Lab(A, B)
        for kind in TRANSIENT:
            await lab.fail(A, kind)
        await lab.start("a")
        assert lab.lane_of("a") == [B]

    @in_no_time
    async def test_a_success_starts_the_count_again(self):
        lab = Lab(A, B)
        await lab.fail(A, FaultKind.TRANSPORT, times=2)
        async with lab.lanes.take(Work("well", lane=A)) as held:
            held.succeeded()
        await lab.fail(A, FaultKind.TRANSPORT, times=2)
        assert lab.notes == []
        await lab.fail(A, FaultKind.TRANSPORT)
        assert len(lab.notes) == 1

    @in_no_time
    async def test_a_failure_of_the_target_itself_starts_the_count_again(self):
        lab = Lab(A, B)
        await lab.fail(A, FaultKind.TRANSPORT, times=2)
        await lab.fail(A, FaultKind.TARGET, times=5)
        await lab.fail(A, FaultKind.TRANSPORT, times=2)
        assert lab.notes == []

    @in_no_time
    async def test_what_is_nobodys_fault_and_a_cancelled_row_count_as_nothing(self):
        lab = Lab(A, B)
        await lab.fail(A, FaultKind.TRANSPORT, times=2)
        await lab.fail(A, FaultKind.FRAMEWORK, times=5)
        await lab.start("a", lane=A)
        await lab.cancel("a")
        assert lab.notes == []
        await lab.fail(A, FaultKind.TRANSPORT)
        assert len(lab.notes) == 1

    @in_no_time
    async def test_failures_of_one_lane_say_nothing_about_another(self):
        lab = Lab(A, B)
        for _ in range(2):
            await lab.fail(A, FaultKind.TRANSPORT)
            await lab.fail(B, FaultKind.TRANSPORT)
        assert lab.notes == []

    @pytest.mark.parametrize("kind", [*TRANSIENT, FaultKind.TARGET])
    @in_no_time
    async def test_what_fails_on_a_lane_in_quarantine_was_lost_on_the_way(self, kind):
        lab = Lab(A, B, builds_per_lane=2)
        await lab.start("a", lane=A)
        await lab.fail(A, FaultKind.TRANSPORT, times=3)
        assert lab.held["a"].failed(kind) is FaultKind.TRANSPORT
        await asyncio.sleep(31)
        # It is well again, and what began before that still says nothing about it.
        for _ in range(3):
            assert lab.held["a"].failed(kind) is FaultKind.TRANSPORT
        await lab.start("b", lane=A)
        assert lab.held["b"].failed(kind) is kind

    @in_no_time
    async def test_the_failure_that_puts_a_lane_into_quarantine_is_what_it_was(self):
        lab = Lab(A, B)
        await lab.fail(A, FaultKind.TRANSPORT, times=2)
        async with lab.lanes.take(Work("a", lane=A)) as held:
            assert held.failed(FaultKind.OUTAGE) is FaultKind.OUTAGE

    @in_no_time
    async def test_a_fault_of_ours_stays_one_on_a_lane_in_quarantine(self):
        lab = Lab(A, B, builds_per_lane=2)
        await lab.start("a", lane=A)
        await lab.fail(A, FaultKind.TRANSPORT, times=3)
        assert lab.held["a"].failed(FaultKind.FRAMEWORK) is FaultKind.FRAMEWORK

    @in_no_time
    async def test_rows_at_work_on_a_lane_in_quarantine_go_on_and_give_their_places_back(self):
        lab = Lab(A, B, builds_per_lane=2)
        await lab.start("a", lane=A)
        await lab.fail(A, FaultKind.TRANSPORT, times=3)
        lab.held["a"].succeeded()
        await lab.start("b")
        assert lab.lane_of("b") == [B]
        await lab.end("a")
        await asyncio.sleep(30)
        await lab.start("c", "d", lane=A)
        assert lab.started == ["a", "b", "c", "d"]


class TestProbes:
    @in_no_time
    async def test_a_lane_is_asked_every_30_seconds_and_comes_back_when_it_is_well(self):
        lab = Lab(A, B)
        lab.backends.healthy = lambda lane: now() >= 90
        await lab.fail(A, FaultKind.TRANSPORT, times=3)
        await lab.start("a", lane=A)
        await asyncio.sleep(89)
        assert lab.started == []
        await asyncio.sleep(2)
        assert lab.started == ["a"]
        assert lab.backends.probed == [(30, A), (60, A), (90, A)]
        assert lab.notes[1:] == [f"the lane `{A}` is well again"]
        await asyncio.sleep(500)
        assert len(lab.backends.probed) == 3

    @pytest.mark.parametrize(
        "answer", [False, None, "yes", ConnectionRefusedError(), RuntimeError("data"), 31.0]
    )
    @in_no_time
    async def test_a_probe_that_says_no_or_fails_or_never_ends_leaves_it_where_it_is(self, answer):
        lab = Lab(A, B)
        lab.backends.healthy = answer
        await lab.fail(A, FaultKind.TRANSPORT, times=3)
        await lab.start("a", lane=A)
        await asyncio.sleep(200)
        assert lab.started == []
        assert [at for at, _ in lab.backends.probed] == [30, 60, 90, 120, 150, 180]

    @in_no_time
    async def test_a_slow_probe_may_still_say_yes(self):
        lab = Lab(A, B)
        lab.backends.healthy = 29.0
        await lab.fail(A, FaultKind.TRANSPORT, times=3)
        await lab.start("a", lane=A)
        await asyncio.sleep(60)
        assert lab.started == ["a"]

    @in_no_time
    async def test_a_lane_that_came_back_needs_three_new_failures(self):
        lab = Lab(A, B)
        await lab.fail(A, FaultKind.TRANSPORT, times=3)
        await asyncio.sleep(31)
        await lab.fail(A, FaultKind.TRANSPORT, times=2)
        await lab.start("a")
        assert lab.lane_of("a") == [A]
        await lab.end("a")
        await lab.fail(A, FaultKind.TRANSPORT)
        await lab.start("b")
        assert lab.lane_of("b") == [B]
        await asyncio.sleep(31)
        assert [at for at, _ in lab.backends.probed] == [30, 61]


class TestAllDown:
    @in_no_time
    async def test_after_five_minutes_without_any_lane_who_waits_and_who_comes_is_told(self):
        lab = Lab(A, B)
        lab.backends.healthy = False
        await lab.fail(A, FaultKind.TRANSPORT, times=3)
        await asyncio.sleep(100)
        await lab.fail(B, FaultKind.TRANSPORT, times=3)
        await lab.start("a", "b")
        await asyncio.sleep(299)
        assert not lab.lanes.is_down
        assert not lab.tasks["a"].done()
        await asyncio.sleep(2)
        assert lab.lanes.is_down
        await lab.start("c")
        errors = [lab.tasks[name].exception() for name in "abc"]
        assert [type(error) for error in errors] == [AllLanesDown] * 3
        assert errors[0].code == "P6703"
        assert errors[0].message == "no lane of the target could be used for 5 minutes"
        assert lab.notes[-1] == errors[0].message

    @in_no_time
    async def test_a_lane_that_comes_back_in_time_starts_the_five_minutes_again(self):
        lab = Lab(A, B)
        lab.backends.healthy = lambda lane: lane == A and now() >= 270
        for lane in (A, B):
            await lab.fail(lane, FaultKind.TRANSPORT, times=3)
        await lab.start("a")
        await asyncio.sleep(271)
        assert lab.lane_of("a") == [A]
        await lab.end("a")
        lab.backends.healthy = False
        await lab.fail(A, FaultKind.TRANSPORT, times=3)
        await asyncio.sleep(298)
        assert not lab.lanes.is_down
        await asyncio.sleep(3)
        assert lab.lanes.is_down

    @in_no_time
    async def test_a_lane_that_gets_well_too_late_gets_no_rows(self):
        lab = Lab(A)
        lab.backends.healthy = lambda lane: now() >= 320
        await lab.fail(A, FaultKind.TRANSPORT, times=3)
        await asyncio.sleep(400)
        await lab.start("a")
        assert isinstance(lab.tasks["a"].exception(), AllLanesDown)
        assert lab.notes[-1] == "no lane of the target could be used for 5 minutes"

    @in_no_time
    async def test_one_lane_that_is_well_is_enough(self):
        lab = Lab(A, B)
        lab.backends.healthy = False
        await lab.fail(A, FaultKind.TRANSPORT, times=3)
        await asyncio.sleep(10_000)
        await lab.start("a")
        assert (lab.lanes.is_down, lab.lane_of("a")) == (False, [B])

    @in_no_time
    async def test_a_row_whose_build_is_on_a_lane_that_stays_away_does_not_wait_for_ever(self):
        lab = Lab(A, B)
        lab.backends.healthy = False
        await lab.fail(A, FaultKind.TRANSPORT, times=3)
        await lab.start("a", lane=A)
        await asyncio.sleep(299)
        assert not lab.tasks["a"].done()
        await asyncio.sleep(2)
        assert isinstance(lab.tasks["a"].exception(), LaneLost)
        await lab.start("b", lane=A)
        assert isinstance(lab.tasks["b"].exception(), LaneLost)
        lab.backends.healthy = True
        await asyncio.sleep(30)
        await lab.start("c", lane=A)
        assert lab.started == ["c"]


class TestSetup:
    @in_no_time
    async def test_a_lane_is_set_up_once_before_its_first_row_and_all_its_rows_wait_for_that(self):
        lab = Lab(A, B, builds_per_lane=2)
        lab.backends.setup_takes_s = 5.0
        ready = []

        async def row(case):
            async with lab.lanes.take(Work(case)) as held:
                await held.set_up()
                ready.append((now(), held.lane))

        await asyncio.gather(*map(row, "abcd"))
        assert sorted(ready) == [(5, A), (5, A), (5, B), (5, B)]
        assert sorted(lab.backends.setups) == [A, B]

    @in_no_time
    async def test_a_lane_without_rows_is_neither_set_up_nor_torn_down(self):
        lab = Lab(A, B)
        async with lab.lanes.take(Work("a")) as held:
            await held.set_up()
        await lab.lanes.close()
        assert (lab.backends.setups, lab.backends.teardowns) == ([A], [A])

    @in_no_time
    async def test_a_setup_that_fails_is_tried_again_by_the_next_row(self):
        lab = Lab(A)
        lab.backends.setup_fails = [OSError("one"), OSError("two")]
        for said in ("one", "two"):
            async with lab.lanes.take(Work("a")) as held:
                with pytest.raises(OSError, match=said):
                    await held.set_up()
        async with lab.lanes.take(Work("a")) as held:
            await held.set_up()
        assert lab.backends.setups == [A, A, A]
        await lab.lanes.close()
        assert lab.backends.teardowns == [A]

    @in_no_time
    async def test_a_setup_that_failed_is_not_undone(self):
        lab = Lab(A)
        lab.backends.setup_fails = [ConnectionError()]
        async with lab.lanes.take(Work("a")) as held:
            with pytest.raises(ConnectionError):
                await held.set_up()
        await lab.lanes.close()
        assert lab.backends.teardowns == []

    @in_no_time
    async def test_who_is_cancelled_during_a_setup_does_not_end_it_for_the_others(self):
        lab = Lab(A, builds_per_lane=2)
        lab.backends.setup_takes_s = 5.0

        async def row(case):
            async with lab.lanes.take(Work(case)) as held:
                await held.set_up()
                return now()

        first, second = (asyncio.ensure_future(row(case)) for case in "ab")
        await asyncio.sleep(1)
        first.cancel()
        assert await second == 5
        assert lab.backends.setups == [A]

    @in_no_time
    async def test_a_setup_that_nobody_waits_for_any_more_is_ended_and_not_undone(self):
        lab = Lab(A)
        lab.backends.setup_takes_s = 5.0

        async def row():
            async with lab.lanes.take(Work("a")) as held:
                await held.set_up()

        task = asyncio.ensure_future(row())
        await asyncio.sleep(1)
        task.cancel()
        await lab.lanes.close()
        assert (now(), lab.backends.teardowns) == (1, [])

    @in_no_time
    async def test_closing_undoes_every_setup_and_a_failure_is_only_noted(self):
        lab = Lab(A, B)
        lab.backends.teardown_fails = True
        for lane in (A, B):
            async with lab.lanes.take(Work("a", lane=lane)) as held:
                await held.set_up()
        await lab.lanes.close()
        assert lab.backends.teardowns == [A, B]
        assert lab.notes == [
            f"the lane `{A}` could not be torn down: OSError",
            f"the lane `{B}` could not be torn down: OSError",
        ]
        await lab.lanes.close()
        assert lab.backends.teardowns == [A, B]

    @in_no_time
    async def test_closing_ends_probes_and_cancels_who_waits(self):
        lab = Lab(A)
        lab.backends.healthy = False
        await lab.fail(A, FaultKind.TRANSPORT, times=3)
        await lab.start("a")
        await lab.lanes.close()
        await asyncio.sleep(1_000)
        assert lab.tasks["a"].cancelled()
        assert (lab.backends.probed, lab.lanes.is_down) == ([], False)
