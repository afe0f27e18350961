"""What the doors have of their own: threads, tasks, and what they refuse."""

import asyncio
import contextvars
import subprocess
import sys
import threading
from functools import partial

import pytest

from candidate_support import DOORS, Calls, awaited, compare
from proctor import ScorerResult, evaluate_prompt_candidates_async

in_loop = partial(compare, evaluate_prompt_candidates_async)
SAFETY_S = 60
"""How long a test waits for what must happen before it is called a failure."""


async def passing(target):
    return ScorerResult(1, True)


class Awaited:
    async def __call__(self, *arguments):
        raise AssertionError("called")


class Later:
    def __await__(self):
        raise AssertionError("awaited")


def fail(*_):
    raise AssertionError("called")


@pytest.mark.parametrize("name", ["run_candidate", "scorer"])
@pytest.mark.parametrize("callback", [passing, partial(passing), Awaited(), Awaited().__call__])
def test_the_sync_door_refuses_a_coroutine_function_before_any_call(name, callback):
    callbacks = {"run_candidate": fail, "scorer": fail} | {name: callback}
    with pytest.raises(TypeError, match=rf"`{name}` is a coroutine function: .*_async"):
        compare(**callbacks)


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("on_error", ["raise", "record"])
@pytest.mark.parametrize("name", ["run_candidate", "scorer"])
@pytest.mark.parametrize("make", [lambda: passing(None), lambda: Later()])
def test_the_sync_door_refuses_an_awaitable_that_a_plain_function_returns(
    name, make, on_error, concurrency
):
    callbacks = {name: lambda *arguments: make()}
    with pytest.raises(TypeError, match=r"a callback returned an awaitable: .*_async"):
        compare(**callbacks, on_error=on_error, concurrency=concurrency)


def test_the_async_door_awaits_what_a_plain_function_returns():
    assert compare(awaited, scorer=lambda target: passing(target))[0].mean_score == 1
    assert compare(awaited, scorer=partial(passing))[0].mean_score == 1


def test_the_sync_door_works_inside_a_running_loop_and_prints_nothing(capfd):
    async def notebook():
        return compare(), compare(concurrency=2)

    one, other = asyncio.run(notebook())
    assert one == other == compare()
    assert capfd.readouterr() == ("", "")


def test_pairs_are_worked_on_at_once_in_threads():
    met = threading.Barrier(4)

    def run(candidate, item):
        met.wait(SAFETY_S)
        return threading.current_thread()

    scores = compare(run_candidate=run, concurrency=4, keep_outputs=True)
    threads = {row.output for score in scores for row in score.rows}
    assert len(threads) == 4
    assert threading.current_thread() not in threads


def test_one_at_a_time_no_thread_is_used():
    scores = compare(run_candidate=threading.current_thread, keep_outputs=True)
    outputs = {row.output for score in scores for row in score.rows}
    assert outputs == {threading.current_thread()}


def test_threads_see_the_context_variables_of_the_caller():
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("set")
    scores = compare(run_candidate=lambda: variable.get(), concurrency=2, keep_outputs=True)
    assert scores[0].rows[0].output == "set"


def test_pairs_are_awaited_at_once():
    async def main():
        met = asyncio.Barrier(4)

        async def run(candidate, item):
            await met.wait()

        return await asyncio.wait_for(in_loop(run_candidate=run, concurrency=4), SAFETY_S)

    assert [score.candidate_id for score in asyncio.run(main())] == ["a", "b"]


@pytest.mark.parametrize("door", DOORS)
def test_results_do_not_depend_on_the_door_or_the_concurrency(door):
    scores = {"b:1": 0.25, "a:2": 7}
    wanted = compare(**Calls(scores, {"a:1"}).callbacks)
    for concurrency in (1, 2, 3, 8):
        assert compare(door, **Calls(scores, {"a:1"}).callbacks, concurrency=concurrency) == wanted


def test_of_two_failures_at_once_the_first_in_order_is_raised_and_no_more_is_begun():
    made = []
    second_failed = threading.Event()

    def run(candidate, item):
        made.append(pair := f"{candidate.id}:{item.id}")
        if pair == "b:2":
            second_failed.set()
            raise ValueError("second")
        second_failed.wait(SAFETY_S)
        raise ValueError("first")

    with pytest.raises(ValueError, match="first") as caught:
        compare(run_candidate=run, scorer=fail, concurrency=2)
    assert caught.value.__notes__ == ["candidate `b`, item `1`"]
    assert sorted(made) == ["b:1", "b:2"]


def test_what_was_begun_before_a_failure_is_finished_and_what_came_after_is_not_scored():
    async def main():
        made = []
        failed, later = asyncio.Event(), asyncio.Event()

        async def run(candidate, item):
            pair = f"{candidate.id}:{item.id}"
            made.append(pair)
            if pair == "b:2":
                await later.wait()
                failed.set()
                raise ValueError("mine")
            if pair == "a:1":
                later.set()
            await failed.wait()
            return pair

        async def scorer(target):
            made.append(f"score {target.output}")
            return ScorerResult(1, True)

        with pytest.raises(ValueError, match="mine"):
            await in_loop(run_candidate=run, scorer=scorer, concurrency=3)
        return made

    # b:2 fails while b:1, before it, and a:1, after it, are in flight.
    assert asyncio.run(main()) == ["b:1", "b:2", "a:1", "score b:1"]


@pytest.mark.parametrize("on_error", ["raise", "record"])
@pytest.mark.parametrize("concurrency", [1, 2])
@pytest.mark.parametrize("where", ["run", "score"])
def test_cancelling_the_task_cancels_what_is_in_flight_and_is_never_recorded(
    where, concurrency, on_error
):
    made = []

    async def main():
        waiting = asyncio.Semaphore(0)

        async def wait(name):
            made.append(name)
            waiting.release()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                made.append(f"{name} cancelled")
                raise

        async def run(candidate, item):
            if where == "run":
                await wait(f"{candidate.id}:{item.id}")
            return f"{candidate.id}:{item.id}"

        async def scorer(target):
            await wait(f"score {target.output}")

        task = asyncio.create_task(
            in_loop(run_candidate=run, scorer=scorer, concurrency=concurrency, on_error=on_error)
        )
        for _ in range(concurrency):
            await waiting.acquire()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(main())
    names = ["b:1", "b:2"] if where == "run" else ["score b:1", "score b:2"]
    names = names[:concurrency]
    assert made[:concurrency] == names
    assert sorted(made[concurrency:]) == [f"{name} cancelled" for name in names]


@pytest.mark.parametrize("concurrency", [1, 2])
def test_a_callback_that_is_cancelled_by_somebody_else_is_no_errored_row(concurrency):
    async def run(candidate, item):
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        compare(awaited, run_candidate=run, on_error="record", concurrency=concurrency)


def test_a_time_limit_around_the_async_door_holds():
    async def main():
        async def run(candidate, item):
            await asyncio.Event().wait()

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await in_loop(run_candidate=run, concurrency=2)

    asyncio.run(main())


INTERRUPTED = """
import signal, threading
from proctor import AbortController, EvaluationItem, PromptCandidate, evaluate_prompt_candidates

made, released, worker = [], threading.Event(), []

def run(candidate, item):
    made.append(item.id)
    worker.append(threading.current_thread())
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    released.wait()

def scorer(target):
    made.append("scored")

try:
    evaluate_prompt_candidates(
        candidates=[PromptCandidate("a", "x")],
        items=[EvaluationItem(str(at), at) for at in range(8)],
        run_candidate=run,
        scorer=scorer,
        signal=AbortController().signal,
        concurrency=2,
        on_error="record",
    )
except KeyboardInterrupt:
    begun = len(made)
    released.set()
    for thread in worker:
        thread.join()
    print("interrupted", "scored" in made, len(made) == begun)
"""


def test_ctrl_c_does_not_wait_for_threads_and_no_other_call_is_begun():
    assert printed_by(INTERRUPTED) == "interrupted False True"


WATCHED = """
import sys
from proctor import (
    AbortController, EvaluationItem, PromptCandidate, deterministic_scorer,
    evaluate_prompt_candidates,
)

seen = []
armed = False
def watch(event, arguments):
    if armed and (event in ("open", "os.mkdir", "os.rename") or event.startswith(
        ("socket.", "subprocess.", "os.exec", "os.posix_spawn", "sqlite3.")
    )):
        seen.append((event, str(arguments)))
sys.addaudithook(watch)

def compare():
    return evaluate_prompt_candidates(
        candidates=[PromptCandidate("a", "x"), PromptCandidate("b", "y")],
        items=[EvaluationItem("1", "question")],
        run_candidate=lambda candidate, item: {"answer": item.input},
        scorer=deterministic_scorer({"type": "contains", "path": "/answer", "value": "q"}),
        signal=AbortController().signal,
        concurrency=2,
    )

compare()
heavy = {"asyncio", "click", "httpx2", "jsonschema_rs", "logging", "openai", "regex", "yaml"}
print(sorted(heavy & set(sys.modules)))
armed = True
compare()
armed = False
print(seen)
"""


def test_a_comparison_opens_nothing_and_loads_no_part_that_it_does_not_need():
    assert printed_by(WATCHED).splitlines() == ["[]", "[]"]


def printed_by(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=SAFETY_S
    )
    assert done.stderr == ""
    return done.stdout.rstrip("\n")
