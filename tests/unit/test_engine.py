import asyncio
import gc
import threading
from contextlib import closing
from functools import partial

import pytest

from live_support import IDLE_PASSES, FakeClock
from proctor.errors import ProviderError
from proctor.protocols import PlannedRow
from proctor.records import Answer, Answered, Call, Case, Check, Finish, Outcome
from proctor.running.engine import LiveExecutor, LiveLoop, Stop
from proctor.running.row import AskedRow, RowChecks

WINDOW = 64
"""Rows that may be started beyond the first unfinished one, at a low concurrency."""


@pytest.fixture
def executor():
    """Makes executors that share an event loop, as the subjects of a run do."""
    with closing(LiveLoop()) as loop:
        yield partial(LiveExecutor, loop)


def rows(number, *, pulled=None):
    for place in range(number):
        if pulled is not None:
            pulled.append(place)
        yield PlannedRow(place, Case(f"case-{place}", {}), 1)


def number_of(case):
    return int(case.id.removeprefix("case-"))


def results(running):
    return [(row.place, result) for batch in running for row, result in batch]


async def idle():
    """Let everybody else get as far as they can without time passing."""
    for _ in range(IDLE_PASSES):
        await asyncio.sleep(0)


class Rows:
    """What is run: each row notes that it started and ended, and how many are in flight."""

    def __init__(self, wait=None):
        self.wait = wait
        self.started = []
        self.ended = []
        self.cancelled = []
        self.most = 0

    async def __call__(self, row):
        number = number_of(row.case)
        self.started.append(number)
        self.most = max(self.most, len(self.in_flight))
        try:
            if self.wait is not None:
                await self.wait(number)
        except asyncio.CancelledError:
            self.cancelled.append(number)
            raise
        self.ended.append(number)
        return f"result {number}"

    @property
    def in_flight(self):
        return set(self.started) - set(self.ended) - set(self.cancelled)


@pytest.mark.parametrize("concurrency", [1, 2, 7, 16, 1024])
def test_results_come_in_plan_order_whatever_finishes_first(concurrency, executor):
    clock, latencies = FakeClock(), [number * 37 % 89 for number in range(150)]
    run = Rows(lambda number: clock.sleep(latencies[number]))
    running = executor(concurrency=concurrency, stop=Stop())
    assert results(running.run(rows(150), run)) == [(n, f"result {n}") for n in range(150)]
    assert run.started == list(range(150))
    assert run.most == min(concurrency, 150)
    assert (run.ended == run.started) is (concurrency == 1)


def test_no_row_starts_before_it_is_asked_for(executor):
    run, pulled = Rows(), []
    running = executor(concurrency=2, stop=Stop()).run(rows(100, pulled=pulled), run)
    assert pulled == []
    next(running)
    assert len(pulled) <= 4
    running.close()
    assert run.started == pulled


@pytest.mark.parametrize(("concurrency", "window"), [(1, 1), (8, WINDOW), (100, 400)])
def test_no_row_starts_more_than_a_window_ahead_of_the_first_unfinished(
    concurrency, window, executor
):
    stuck, seen = 5, []

    async def wait(number):
        if number != stuck:
            return
        while len(run.started) not in seen:
            seen.append(len(run.started))
            await idle()

    run = Rows(wait)
    running = executor(concurrency=concurrency, stop=Stop()).run(rows(1_000), run)
    assert len(results(running)) == 1_000
    assert max(seen) == stuck + window


def test_rows_that_finished_early_are_given_out_as_soon_as_the_one_before_them_has(executor):
    clock = FakeClock()
    run = Rows(lambda number: clock.sleep(10 if number == 0 else 1))
    running = executor(concurrency=4, stop=Stop()).run(rows(9), run)
    assert [[row.place for row, _ in batch] for batch in running] == [list(range(9))]


def test_nothing_to_run_is_no_result(executor):
    assert list(executor(concurrency=4, stop=Stop()).run(rows(0), Rows())) == []


class TestStopping:
    def test_a_stop_before_the_first_row_runs_none(self, executor):
        stop, run = Stop(), Rows()
        stop.request()
        assert results(executor(concurrency=4, stop=stop).run(rows(9), run)) == []
        assert run.started == []

    def test_rows_in_flight_get_their_time_and_no_more_start(self, executor):
        clock, stop = FakeClock(), Stop()

        async def wait(number):
            await clock.sleep(number + 1)
            if number == 2:
                stop.request()

        run = Rows(wait)
        done = results(executor(concurrency=4, stop=stop, grace_s=600).run(rows(50), run))
        assert run.started == list(range(len(run.started)))
        assert [place for place, _ in done] == run.started == run.ended
        assert 3 <= len(done) <= 7

    def test_rows_that_take_too_long_after_a_stop_are_left_out(self, executor):
        stop = Stop()

        async def wait(number):
            if number in (0, 2):
                await asyncio.Event().wait()
            if number == 1:
                await idle()  # the row after it is the first to finish
                stop.request()

        run = Rows(wait)
        done = results(executor(concurrency=4, stop=stop, grace_s=0).run(rows(50), run))
        assert run.ended.index(3) < run.ended.index(1)
        assert [place for place, _ in done] == sorted(run.ended)
        assert run.cancelled == [0, 2]
        assert len(run.started) < 50

    def test_a_stop_ends_the_wait_for_rows_that_hang(self, executor):
        stop, hanging = Stop(), threading.Event()

        async def wait(number):
            hanging.set()
            await asyncio.Event().wait()

        def request():
            assert hanging.wait(60)
            stop.request()

        thread = threading.Thread(target=request)
        thread.start()
        run = Rows(wait)
        assert results(executor(concurrency=1, stop=stop, grace_s=0).run(rows(9), run)) == []
        thread.join()
        assert (run.started, run.cancelled) == ([0], [0])

    def test_what_only_waits_is_told_of_a_stop_and_has_no_result(self, executor):
        stop, waiting = Stop(), []

        async def wait(number):
            if number == 2:
                stop.request()
                return
            waiting.append(asyncio.current_task())
            await asyncio.Event().wait()

        run = Rows(wait)
        running = executor(
            concurrency=3,
            stop=stop,
            grace_s=600,
            on_stop=lambda: [task.cancel() for task in waiting],
        )
        assert [place for place, _ in results(running.run(rows(9), run))] == [2]
        assert run.started == [0, 1, 2]

    def test_a_stop_while_nobody_asks_for_results_is_seen_at_the_next_one(self, executor):
        stop, run = Stop(), Rows()
        running = executor(concurrency=1, stop=stop).run(rows(50), run)
        next(running)
        stop.request()
        assert len(results(running)) <= 1
        assert len(run.started) <= 2

    def test_a_stop_after_the_end_is_nobodys_business(self, executor):
        stop = Stop()
        assert len(results(executor(concurrency=2, stop=stop).run(rows(3), Rows()))) == 3
        stop.request()
        assert stop.requested

    def test_one_stop_ends_later_subjects_too(self, executor):
        stop, run = Stop(), Rows()
        running = executor(concurrency=2, stop=stop)
        stop.request()
        assert [results(running.run(rows(3), run)) for _ in range(2)] == [[], []]


class TestLeavingNothingBehind:
    @pytest.fixture(autouse=True)
    def _nothing_left(self, executor):
        self.executor = executor
        yield
        gc.collect()  # a task or loop that was left would complain now

    def in_flight_when(self, end):
        async def wait(number):
            if number:
                await asyncio.Event().wait()

        run = Rows(wait)
        running = self.executor(concurrency=4, stop=Stop()).run(rows(9), run)
        next(running)
        assert run.in_flight == {1, 2, 3}
        end(running)
        assert run.cancelled == [1, 2, 3]
        assert list(running) == []

    def test_rows_that_nobody_wants_any_more_are_cancelled(self):
        self.in_flight_when(lambda running: running.close())

    def test_so_they_are_when_who_reads_them_fails(self):
        def fail(running):
            with pytest.raises(ZeroDivisionError):
                running.throw(ZeroDivisionError)

        self.in_flight_when(fail)

    def test_a_dataset_that_fails_under_way_ends_the_run(self, executor):
        def failing():
            yield from rows(3)
            raise ZeroDivisionError

        run = Rows(lambda number: asyncio.Event().wait())
        with pytest.raises(ZeroDivisionError):
            list(executor(concurrency=8, stop=Stop()).run(failing(), run))
        assert run.in_flight == set()

    @pytest.mark.parametrize("stopped_by", [KeyboardInterrupt, SystemExit])
    def test_what_stops_the_program_passes_through(self, stopped_by, executor):
        async def wait(number):
            if number == 2:
                raise stopped_by
            await asyncio.Event().wait()

        run = Rows(wait)
        with pytest.raises(stopped_by):
            list(executor(concurrency=4, stop=Stop()).run(rows(9), run))
        assert run.started == [0, 1, 2]  # the next one had not begun, and never does
        assert sorted(run.cancelled) == [0, 1]

    def test_the_event_loop_of_the_caller_stays_its_own(self, executor):
        with asyncio.Runner() as runner:
            mine = runner.get_loop()
            asyncio.set_event_loop(mine)
            results(executor(concurrency=2, stop=Stop()).run(rows(3), Rows()))
            assert asyncio.get_event_loop() is mine


ANSWERED = Answered(
    Answer(
        text="Sure.",
        tool_calls=[],
        finish=Finish.STOP,
        evidence=None,
        artifact=None,
        transcript=None,
        context=None,
        debug=None,
        turns=None,
    ),
    None,
    None,
    0.0,
    5,
)


class Asked:
    """A target, who is asked, and the checks of an asked row."""

    judged = ()

    def __init__(self, raises=None):
        self.raises = raises
        self.calls = []

    def inputs_sha256(self, row):
        return f"inputs of {row.case.id}"

    async def ask(self, call, row):
        self.calls.append((call, row.case.id))
        if self.raises is not None:
            raise self.raises
        return ANSWERED

    def run(self, answered, case, timed_out):
        return [Check(id="right", kind="fake", outcome=Outcome.FAILED)]

    def row(self):
        asked = AskedRow(self, self, RowChecks(self, set()))
        return asyncio.run(asked(PlannedRow(0, Case("late-return", {}), 3)))


class TestAskedRows:
    def test_a_row_is_asked_for_and_checked(self):
        asked = Asked()
        row = asked.row()
        assert asked.calls == [(Call("late-return", "inputs of late-return", 3), "late-return")]
        assert (row.outcome, row.answer, row.latency_ms) == (Outcome.FAILED, ANSWERED.answer, 5)

    def test_no_answer_is_an_error_of_the_row(self):
        row = Asked(raises=ProviderError("status 429", code="P6309")).row()
        assert (row.outcome, row.error.code, row.category) == (Outcome.ERRORED, "P6309", None)

    def test_a_fault_is_named_without_its_data(self):
        row = Asked(raises=ValueError("secret")).row()
        assert (row.error.code, row.category) == ("P6701", "framework_issue")
        assert "secret" not in str(row)

    @pytest.mark.parametrize("stopped_by", [KeyboardInterrupt, asyncio.CancelledError])
    def test_stopping_is_no_error_of_the_row(self, stopped_by):
        with pytest.raises(stopped_by):
            Asked(raises=stopped_by()).row()
