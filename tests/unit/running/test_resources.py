import asyncio

import pytest

from proctor.running.resources import Resources
from virtual_time import idle, in_no_time


class Rows:
    """Rows that hold resources until they are told to end."""

    def __init__(self):
        self.resources = Resources()
        self.started = []
        self.tasks = {}
        self._ends = {}

    async def start(self, name, *wanted):
        self._ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.ensure_future(self._row(name, wanted))
        await idle()

    async def end(self, name):
        self._ends[name].set()
        await idle()

    async def cancel(self, name):
        self.tasks[name].cancel()
        await idle()

    async def _row(self, name, wanted):
        async with self.resources.hold(wanted):
            self.started.append(name)
            await self._ends[name].wait()


@in_no_time
async def test_rows_with_the_same_resource_never_overlap_and_come_in_order():
    rows = Rows()
    for name in ("one", "two", "three"):
        await rows.start(name, "db")
    assert rows.started == ["one"]
    await rows.end("one")
    assert rows.started == ["one", "two"]
    await rows.end("two")
    assert rows.started == ["one", "two", "three"]


@in_no_time
async def test_rows_with_other_resources_or_none_run_on():
    rows = Rows()
    await rows.start("one", "db")
    await rows.start("two", "db")
    await rows.start("three", "mail")
    await rows.start("four")
    assert rows.started == ["one", "three", "four"]


@in_no_time
async def test_a_row_waits_for_all_of_its_resources():
    rows = Rows()
    await rows.start("one", "a")
    await rows.start("two", "b")
    await rows.start("both", "b", "a")
    await rows.end("one")
    assert rows.started == ["one", "two"]
    await rows.end("two")
    assert rows.started == ["one", "two", "both"]


@pytest.mark.parametrize("turned", [("a", "b"), ("b", "a")])
@in_no_time
async def test_the_order_in_which_they_are_written_makes_no_deadlock(turned):
    rows = Rows()
    await rows.start("one", "a", "b")
    await rows.start("two", *turned)
    await rows.start("three", "b", "a")
    for name in ("one", "two", "three"):
        await rows.end(name)
    assert rows.started == ["one", "two", "three"]


@in_no_time
async def test_a_resource_that_is_named_twice_is_held_once():
    rows = Rows()
    await rows.start("one", "db", "db")
    assert rows.started == ["one"]


@in_no_time
async def test_a_holder_that_fails_releases():
    rows = Rows()
    with pytest.raises(ZeroDivisionError):
        async with rows.resources.hold(["a", "b"]):
            raise ZeroDivisionError
    await rows.start("next", "a", "b")
    assert rows.started == ["next"]


@in_no_time
async def test_a_holder_that_is_cancelled_releases():
    rows = Rows()
    await rows.start("one", "a", "b")
    await rows.start("two", "b")
    await rows.cancel("one")
    assert rows.started == ["one", "two"]


@in_no_time
async def test_who_is_cancelled_while_waiting_gives_back_what_it_has_already():
    rows = Rows()
    await rows.start("one", "b")
    await rows.start("two", "a", "b")
    await rows.start("three", "a")
    assert rows.started == ["one"]
    await rows.cancel("two")
    assert rows.started == ["one", "three"]


@in_no_time
async def test_a_resource_nobody_uses_is_forgotten():
    rows = Rows()
    await rows.start("one", "a", "b")
    await rows.start("two", "b")
    await rows.cancel("two")
    await rows.end("one")
    assert (rows.resources._locks, rows.resources._users) == ({}, {})
