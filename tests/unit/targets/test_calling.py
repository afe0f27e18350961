"""Calling code of the project: coroutines as they are, the rest in threads."""

import asyncio
import functools
import sys
import threading

import pytest

from proctor.errors import TargetError
from proctor.project_code import guarded, printing_to_stderr
from proctor.targets.calling import ProjectCall, in_thread

OFFERED = ("case", "scenario", "repeat")
PATIENCE_S = 30


def call(function, *values, offered=OFFERED):
    return asyncio.run(ProjectCall(function, offered)(*values))


class Callable:
    def __call__(self, case):
        return case


class AsyncCallable:
    async def __call__(self, case):
        return case, threading.current_thread() is threading.main_thread()


async def coroutine(case, repeat):
    await asyncio.sleep(0)
    return case, repeat


def positional_only(first, second, /):
    return first, second


@pytest.mark.parametrize(
    ("function", "result"),
    [
        (lambda case, scenario, repeat: (case, scenario, repeat), ("c", "s", 1)),
        (lambda case: case, "c"),
        (lambda repeat, case: (repeat, case), (1, "c")),
        (lambda: "nothing", "nothing"),
        (lambda case, extra=5: (case, extra), ("c", 5)),
        (lambda *, case: case, "c"),
        (lambda **given: sorted(given), ["case", "repeat", "scenario"]),
        (lambda case, **given: (case, sorted(given)), ("c", ["repeat", "scenario"])),
        (lambda *given: given, ("c", "s", 1)),
        (lambda question: question, "c"),
        (lambda c, s: (c, s), ("c", "s")),
        (lambda c, s, r: (c, s, r), ("c", "s", 1)),
        (lambda c, s, r, more=9: (c, s, r, more), ("c", "s", 1, 9)),
        (lambda repeat, other: (repeat, other), ("c", "s")),
        (functools.partial(lambda prefix, case: prefix + case, "p"), "pc"),
        (Callable(), "c"),
        (positional_only, ("c", "s")),
        (coroutine, ("c", 1)),
    ],
    ids=range(18),
)
def test_a_function_is_given_what_it_names_or_all_in_order(function, result):
    assert call(function, "c", "s", 1) == result


def test_a_function_that_does_not_say_what_it_takes_is_given_all():
    assert call(max, 3, 1, 2) == 3


def test_a_plain_function_does_not_hold_up_the_loop():
    """It waits for what only the loop can do."""
    begun = threading.Event()

    def wait_for_the_loop(case):
        return begun.wait(PATIENCE_S), threading.current_thread() is threading.main_thread()

    async def both():
        task = asyncio.create_task(ProjectCall(wait_for_the_loop, ("case",))("c"))
        await asyncio.sleep(0)
        begun.set()
        return await task

    assert asyncio.run(both()) == (True, False)


def test_a_coroutine_runs_on_the_loop():
    assert call(AsyncCallable(), "c", "s", 1) == ("c", True)


def test_a_plain_function_that_returns_a_coroutine_is_awaited():
    assert call(lambda case: coroutine(case, 2), "c", "s", 1) == ("c", 2)


@pytest.mark.parametrize(
    "error", [ValueError("x"), TimeoutError(), StopAsyncIteration(), OSError(5)]
)
def test_what_it_raises_passes_through(error):
    def plain():
        raise error

    async def as_coroutine():
        raise error

    for function in (plain, as_coroutine):
        with pytest.raises(type(error)) as caught:
            call(function, offered=())
        assert caught.value is error


@pytest.mark.parametrize("leave", [SystemExit, asyncio.CancelledError, GeneratorExit])
def test_leaving_in_another_way_is_a_failure_of_the_target(leave):
    def plain():
        raise leave

    async def as_coroutine():
        raise leave

    for function in (plain, as_coroutine):
        with pytest.raises(TargetError, match=f"left with {leave.__name__}"):
            call(function, offered=())


def test_a_key_on_the_keyboard_is_no_failure_of_the_target():
    async def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call(interrupted, offered=())


def test_who_is_cancelled_does_not_wait_for_a_thread():
    ended = threading.Event()

    async def cancel():
        task = asyncio.create_task(ProjectCall(lambda: ended.wait(PATIENCE_S), ())())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return ended.is_set()

    assert asyncio.run(cancel()) is False
    ended.set()


def test_a_coroutine_is_cancelled_with_who_waits_for_it():
    seen = []

    async def hang():
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def cancel():
        task = asyncio.create_task(ProjectCall(hang, ())())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert seen == ["cancelled"]


def test_a_thread_that_ends_when_the_loop_is_closed_is_nobodys_business(recwarn):
    free, begun = threading.Event(), threading.Event()
    threads = []

    def late():
        threads.append(threading.current_thread())
        begun.set()
        free.wait(PATIENCE_S)

    async def leave():
        task = asyncio.create_task(in_thread(late))
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(leave())
    assert begun.wait(PATIENCE_S)
    free.set()
    threads[0].join(PATIENCE_S)
    assert not threads[0].is_alive()
    assert threads[0].daemon


# What is printed


def say(text):
    sys.stdout.write(text)


def test_what_it_prints_is_no_part_of_the_output(capsys):
    async def async_say():
        await asyncio.sleep(0)
        say("second\n")

    call(lambda: say("first\n"), offered=())
    call(async_say, offered=())
    assert capsys.readouterr() == ("", "first\nsecond\n")


def test_calls_that_overlap_leave_the_output_as_it_was(capsys):
    """The first to begin is the first to end, so that whoever restores it must not be the last."""
    out = sys.stdout
    may_end = [threading.Event(), threading.Event()]

    async def overlap():
        first = asyncio.create_task(ProjectCall(lambda: may_end[0].wait(PATIENCE_S), ())())
        second = asyncio.create_task(ProjectCall(lambda: may_end[1].wait(PATIENCE_S), ())())
        await asyncio.sleep(0)
        may_end[0].set()
        await first
        say("between\n")
        guarded(lambda: say("guarded\n"), "x", code="P6701")
        may_end[1].set()
        await second

    asyncio.run(overlap())
    assert sys.stdout is out
    say("after\n")
    assert capsys.readouterr() == ("after\n", "between\nguarded\n")


def test_the_output_is_restored_after_an_exception():
    out = sys.stdout
    with pytest.raises(ValueError), printing_to_stderr():  # noqa: PT011 - raised here
        raise ValueError
    assert sys.stdout is out
