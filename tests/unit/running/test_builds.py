import asyncio

import pytest

from proctor.running.builds import BuildCache
from proctor.running.faults import Lost, Phase
from proctor.running.lanes import AllLanesDown
from proctor.target_protocols import FaultKind
from virtual_time import idle, in_no_time

KEY = ("target:python:agent", 1, "a")
KEPT = [FaultKind.OUTAGE, FaultKind.TIMEOUT, FaultKind.TARGET, FaultKind.FRAMEWORK]


def lost(kind):
    return Lost(KeyError("x"), kind, during=Phase.BUILD, lane=None, attempts=1)


class Workshop:
    """A cache, and what was made and cleaned up with it."""

    def __init__(self, *, keep=False):
        self.notes = []
        self.made = []
        self.cleaned = []
        self.failures = []
        self.takes_s = 0.0
        self.cleaning_takes_s = 0.0
        self.cleaning_says = []
        self.builds = BuildCache(self._clean, keep=keep, on_note=self.notes.append)

    async def make(self):
        name = f"build {len(self.made) + 1}"
        self.made.append(name)
        await asyncio.sleep(self.takes_s)
        if self.failures:
            raise self.failures.pop(0)
        return name

    def get(self, key=KEY):
        return self.builds.get_or_build(key, self.make)

    def start(self, key=KEY):
        return asyncio.ensure_future(self.get(key))

    async def row(self, key=KEY, *, rows=1, takes_s=0.0):
        async with self.builds.use(key, self.make, rows=rows) as built:
            await asyncio.sleep(takes_s)
            return built

    async def _clean(self, value):
        self.cleaned.append(value)
        await asyncio.sleep(self.cleaning_takes_s)
        says = self.cleaning_says.pop(0) if self.cleaning_says else True
        if isinstance(says, Exception):
            raise says
        return says


class TestSharing:
    @pytest.mark.parametrize("rows", [1, 2, 20])
    @in_no_time
    async def test_rows_at_the_same_time_share_one_build(self, rows):
        shop = Workshop()
        shop.takes_s = 5.0
        built = await asyncio.gather(*(shop.row(rows=rows) for _ in range(rows)))
        assert built == ["build 1"] * rows
        assert shop.made == ["build 1"]

    @in_no_time
    async def test_rows_one_after_the_other_share_one_build(self):
        shop = Workshop()
        assert [await shop.row(rows=3) for _ in range(3)] == ["build 1"] * 3

    @pytest.mark.parametrize(
        "other", [("target:python:agent", 2, "a"), ("target:python:other", 1, "a")]
    )
    @in_no_time
    async def test_another_repeat_or_subject_has_its_own(self, other):
        shop = Workshop()
        assert [await shop.get(), await shop.get(other)] == ["build 1", "build 2"]

    @in_no_time
    async def test_builds_of_different_cases_are_made_at_the_same_time(self):
        shop = Workshop()
        shop.takes_s = 5.0
        await asyncio.gather(*(shop.get(("agent", 1, case)) for case in "abcd"))
        assert asyncio.get_running_loop().time() == 5


class TestFailures:
    @pytest.mark.parametrize("kind", KEPT)
    @in_no_time
    async def test_a_build_that_failed_stays_failed_for_all_its_rows(self, kind):
        shop = Workshop()
        error = lost(kind)
        shop.failures = [error]
        for _ in range(3):
            with pytest.raises(Lost) as raised:
                await shop.row(rows=4)
            assert raised.value is error
        assert shop.made == ["build 1"]

    @in_no_time
    async def test_one_that_was_lost_on_the_way_is_made_again_by_the_next_row(self):
        shop = Workshop()
        shop.takes_s = 5.0
        shop.failures = [lost(FaultKind.TRANSPORT)]
        rows = [asyncio.ensure_future(shop.row(rows=3)) for _ in range(2)]
        await asyncio.wait(rows)
        assert [type(row.exception()) for row in rows] == [Lost, Lost]
        assert await shop.row(rows=3) == "build 2"
        assert shop.made == ["build 1", "build 2"]

    @pytest.mark.parametrize("error", [KeyError("a bug"), RuntimeError()])
    @in_no_time
    async def test_what_else_is_raised_is_not_paid_for_twice(self, error):
        shop = Workshop()
        shop.failures = [error]
        for _ in range(2):
            with pytest.raises(type(error)):
                await shop.get()
        assert shop.made == ["build 1"]

    @in_no_time
    async def test_a_run_without_lanes_is_no_verdict(self):
        shop = Workshop()
        shop.failures = [AllLanesDown()]
        with pytest.raises(AllLanesDown):
            await shop.get()
        assert await shop.get() == "build 2"

    @in_no_time
    async def test_nothing_is_cleaned_up_when_nothing_was_built(self):
        shop = Workshop()
        shop.failures = [lost(FaultKind.TARGET)]
        with pytest.raises(Lost):
            await shop.row()
        await shop.builds.close()
        assert shop.cleaned == []


class TestCancelling:
    @in_no_time
    async def test_a_row_that_is_cancelled_does_not_end_what_another_waits_for(self):
        shop = Workshop()
        shop.takes_s = 5.0
        first, second = shop.start(), shop.start()
        await asyncio.sleep(1)
        first.cancel()
        assert await second == "build 1"
        assert first.cancelled()

    @in_no_time
    async def test_the_last_row_that_is_cancelled_ends_the_build(self):
        shop = Workshop()
        shop.takes_s = 5.0
        rows = [shop.start(), shop.start()]
        await asyncio.sleep(1)
        for row in rows:
            row.cancel()
        await asyncio.wait(rows)
        await idle()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert asyncio.get_running_loop().time() == 1

    @in_no_time
    async def test_a_row_that_comes_after_that_builds_anew(self):
        shop = Workshop()
        shop.takes_s = 5.0
        first = shop.start()
        await asyncio.sleep(1)
        first.cancel()
        await idle()
        assert await shop.get() == "build 2"

    @in_no_time
    async def test_a_row_that_comes_just_before_that_takes_the_build_over(self):
        shop = Workshop()
        shop.takes_s = 5.0
        first = shop.start()
        await asyncio.sleep(1)
        first.cancel()
        assert await shop.get() == "build 1"
        assert first.cancelled()

    @in_no_time
    async def test_a_build_that_is_stopped_cancels_its_rows_and_is_not_kept(self):
        shop = Workshop()
        shop.failures = [asyncio.CancelledError()]
        rows = [shop.start(), shop.start()]
        await asyncio.wait(rows)
        assert [row.cancelled() for row in rows] == [True, True]
        assert await shop.get() == "build 2"

    @in_no_time
    async def test_a_build_that_ends_in_spite_of_being_cancelled_is_cleaned_up(self):
        shop = Workshop()

        async def stubborn():
            try:
                await asyncio.sleep(5)
            except asyncio.CancelledError:
                await asyncio.sleep(1)
            return "orphan"

        row = asyncio.ensure_future(shop.builds.get_or_build(KEY, stubborn))
        await asyncio.sleep(1)
        row.cancel()
        await asyncio.wait([row])
        await shop.builds.close()
        assert shop.cleaned == ["orphan"]

    @in_no_time
    async def test_a_row_that_is_cancelled_while_it_uses_a_build_is_done_with_it(self):
        shop = Workshop()
        row = asyncio.ensure_future(shop.row(takes_s=9.0))
        await asyncio.sleep(1)
        row.cancel()
        await idle()
        assert shop.cleaned == ["build 1"]


class TestCleanup:
    @in_no_time
    async def test_a_build_is_cleaned_up_once_after_its_last_row(self):
        shop = Workshop()
        for done in range(3):
            assert shop.cleaned == []
            await shop.row(rows=3)
            await idle()
            assert len(shop.cleaned) == (done == 2)
        await shop.builds.close()
        assert shop.cleaned == ["build 1"]

    @in_no_time
    async def test_the_last_row_to_end_counts_and_not_the_last_to_start(self):
        shop = Workshop()
        rows = [asyncio.ensure_future(shop.row(rows=2, takes_s=takes_s)) for takes_s in (9.0, 1.0)]
        await asyncio.sleep(5)
        assert shop.cleaned == []
        await asyncio.wait(rows)
        await idle()
        assert shop.cleaned == ["build 1"]

    @in_no_time
    async def test_no_row_waits_for_the_cleanup(self):
        shop = Workshop()
        shop.cleaning_takes_s = 60.0
        await shop.row()
        assert asyncio.get_running_loop().time() == 0
        await shop.builds.close()
        assert asyncio.get_running_loop().time() == 60
        assert shop.cleaned == ["build 1"]

    @pytest.mark.parametrize("says", [False, None, OSError("gone"), KeyError()])
    @in_no_time
    async def test_what_would_not_go_is_tried_again_at_the_end_and_then_noted(self, says):
        shop = Workshop()
        shop.cleaning_says = [says, True]
        await shop.row()
        await shop.builds.close()
        assert (shop.cleaned, shop.notes) == (["build 1", "build 1"], [])
        shop = Workshop()
        shop.cleaning_says = [says, says]
        await shop.row()
        await shop.builds.close()
        assert shop.cleaned == ["build 1", "build 1"]
        assert shop.notes == ["1 build could not be cleaned up"]

    @in_no_time
    async def test_builds_whose_rows_never_came_are_cleaned_up_at_the_end(self):
        shop = Workshop()
        for case in "abc":
            await shop.row(("agent", 1, case), rows=2)
        assert shop.cleaned == []
        shop.cleaning_says = [True, False, False]
        await shop.builds.close()
        assert sorted(shop.cleaned) == ["build 1", "build 2", "build 3"]
        assert shop.notes == ["2 builds could not be cleaned up"]
        await shop.builds.close()
        assert len(shop.cleaned) == 3

    @in_no_time
    async def test_a_row_that_does_without_its_build_counts_too(self):
        shop = Workshop()
        await shop.row(rows=2)
        shop.builds.release(KEY, rows=2)
        await idle()
        assert shop.cleaned == ["build 1"]

    @in_no_time
    async def test_what_is_being_built_at_the_end_is_cancelled(self):
        shop = Workshop()
        shop.takes_s = 900.0
        row = shop.start()
        await asyncio.sleep(1)
        await shop.builds.close()
        await asyncio.wait([row])
        assert row.cancelled()
        assert (asyncio.get_running_loop().time(), shop.cleaned) == (1, [])

    @in_no_time
    async def test_a_build_that_all_rows_are_done_with_while_it_is_made_is_cleaned_up(self):
        shop = Workshop()
        shop.takes_s = 5.0
        row = shop.start()
        await asyncio.sleep(1)
        shop.builds.release(KEY, rows=1)
        assert await row == "build 1"
        await shop.builds.close()
        assert shop.cleaned == ["build 1"]

    @in_no_time
    async def test_many_are_cleaned_up_a_few_at_a_time(self):
        shop = Workshop()
        for case in range(20):
            await shop.get(("agent", 1, str(case)))
        shop.cleaning_takes_s = 1.0
        await shop.builds.close()
        # Eight at once, so three rounds.
        assert asyncio.get_running_loop().time() == 3
        assert sorted(shop.cleaned) == sorted(shop.made)

    @in_no_time
    async def test_what_is_to_be_kept_is_never_cleaned_up(self):
        shop = Workshop(keep=True)
        await shop.row()
        await shop.row(("agent", 1, "b"), rows=2)
        await shop.builds.close()
        assert (shop.cleaned, shop.notes) == ([], [])
