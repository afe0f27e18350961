import pytest

from proctor.errors import CassetteError, ManyProblems, SuiteError
from proctor.executors.local import BATCH, LocalExecutor
from proctor.protocols import PlannedRow
from proctor.records import (
    Answer,
    Answered,
    Call,
    Case,
    Check,
    Finish,
    Outcome,
    Severity,
    Usage,
)
from proctor.running.row import ReplayedRows, RowChecks

SECRET = "sk-test-000111222333"  # noqa: S105 - a value that must not be shown
CASE = Case("late-return", {"message": SECRET})
ANSWER = Answer(
    text="Sure.",
    tool_calls=[],
    finish=Finish.STOP,
    evidence=None,
    artifact=None,
    transcript=None,
    context=None,
    debug=None,
    turns=None,
)
ANSWERED = Answered(ANSWER, "ab" * 32, Usage(input=10, output=2, cached=None), 0.25, 812)


class FakeTarget:
    def __init__(self, raises=None):
        self.raises = raises

    def inputs_sha256(self, case):
        if self.raises is not None:
            raise self.raises
        return f"inputs of {case.id}"

    def request(self, case):
        raise AssertionError("a replay sends nothing")


class FakeSource:
    def __init__(self, raises=None):
        self.calls = []
        self.raises = raises

    def answer(self, call):
        self.calls.append(call)
        if self.raises is not None:
            raise self.raises
        return ANSWERED


class FakeChecks:
    judged = ()

    def __init__(self, *outcomes, raises=None):
        self.outcomes = outcomes
        self.raises = raises
        self.seen = []

    def run(self, answered, case, timed_out):
        self.seen.append((answered, case, set(timed_out)))
        if self.raises is not None:
            raise self.raises
        return [Check(id=f"c{n}", kind="fake", outcome=one) for n, one in enumerate(self.outcomes)]


def runner(*, target=None, source=None, checks=None, timed_out=None):
    rows = ReplayedRows(
        target or FakeTarget(),
        source or FakeSource(),
        RowChecks(checks or FakeChecks(Outcome.PASSED), set() if timed_out is None else timed_out),
    )
    return lambda case, repeat: rows([PlannedRow(0, case, repeat)])[0]


def test_a_row_asks_for_the_inputs_of_its_case_and_the_take_of_its_repeat():
    source = FakeSource()
    run_row = runner(source=source)
    assert (run_row(CASE, 1).repeat, run_row(CASE, 3).repeat) == (1, 3)
    assert source.calls == [
        Call("late-return", "inputs of late-return", 1),
        Call("late-return", "inputs of late-return", 3),
    ]


def test_a_row_keeps_everything_known_about_its_answer():
    row = runner()(CASE, 1)
    assert row.answer is ANSWER
    assert (row.recording, row.usage, row.cost_usd, row.latency_ms) == (
        ANSWERED.recording,
        ANSWERED.usage,
        0.25,
        812,
    )
    assert (row.outcome, row.error, row.category) == (Outcome.PASSED, None, None)
    assert row.checks == [Check("c0", "fake", Outcome.PASSED, Severity.FAIL)]


@pytest.mark.parametrize("outcome", list(Outcome))
def test_checks_decide_what_becomes_of_a_row(outcome):
    assert runner(checks=FakeChecks(Outcome.PASSED, outcome))(CASE, 1).outcome is outcome


def test_checks_see_the_assertions_that_ran_out_of_time_since():
    checks, timed_out = FakeChecks(), set()
    run_row = runner(checks=checks, timed_out=timed_out)
    run_row(CASE, 1)
    timed_out.add("slow")
    run_row(CASE, 2)
    assert [seen for _, _, seen in checks.seen] == [set(), {"slow"}]
    assert checks.seen[0][:2] == (ANSWERED, CASE)


def test_a_row_that_has_no_answer_is_errored_with_the_code_and_what_to_do():
    miss = CassetteError("no recording: prompt changed", code="P6402", hint="`proctor run` it")
    row = runner(source=FakeSource(raises=miss))(CASE, 2)
    assert (row.outcome, row.repeat, row.answer, row.checks) == (Outcome.ERRORED, 2, None, [])
    assert row.error.code == "P6402"
    assert row.error.message == "no recording: prompt changed; `proctor run` it"
    assert (row.category, row.recording, row.usage) == (None, None, None)


def test_a_problem_without_a_hint_is_its_message_alone():
    row = runner(source=FakeSource(raises=CassetteError("damaged", code="P6403")))(CASE, 1)
    assert (row.error.code, row.error.message) == ("P6403", "damaged")


def test_several_problems_are_told_by_the_first():
    problems = ManyProblems([SuiteError("one", code="P6201"), SuiteError("two", code="P6202")])
    row = runner(source=FakeSource(raises=problems))(CASE, 1)
    assert (row.error.code, row.error.message) == ("P6201", "one")


@pytest.mark.parametrize("where", ["target", "source", "checks"])
@pytest.mark.parametrize(
    "fault",
    [
        ValueError(SECRET),
        KeyError(SECRET),
        AssertionError(SECRET),
        RecursionError(SECRET),
        MemoryError(SECRET),
        UnicodeEncodeError("utf-8", SECRET, 0, 1, SECRET),
    ],
)
def test_a_fault_spoils_its_row_only_and_shows_no_data(where, fault):
    broken = {
        "target": {"target": FakeTarget(raises=fault)},
        "source": {"source": FakeSource(raises=fault)},
        "checks": {"checks": FakeChecks(raises=fault)},
    }
    row = runner(**broken[where])(CASE, 4)
    assert (row.outcome, row.category, row.repeat) == (Outcome.ERRORED, "framework_issue", 4)
    assert row.error.code == "P6701"
    assert row.error.message == f"the row could not be run: {type(fault).__name__}"
    assert SECRET not in str(row)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("where", ["source", "checks"])
def test_stopping_the_program_passes_through(where, stop):
    broken = {
        "source": {"source": FakeSource(raises=stop())},
        "checks": {"checks": FakeChecks(raises=stop())},
    }
    with pytest.raises(stop):
        runner(**broken[where])(CASE, 1)


def test_rows_run_in_plan_order_and_batches_only_when_asked_for():
    ran = []

    def run_rows(rows):
        ran.extend((row.case.id, row.repeat) for row in rows)
        return [f"result of {row.case.id} {row.repeat}" for row in rows]

    cases = [Case(f"case-{n}", {}) for n in range(BATCH)]
    rows = [PlannedRow(n, case, repeat) for n, case in enumerate(cases) for repeat in (1, 2)]
    running = LocalExecutor().run(iter(rows), run_rows)
    first = next(running)
    assert first[0] == (rows[0], "result of case-0 1")
    assert len(ran) == len(first) == BATCH
    assert [planned for batch in running for planned, _ in batch] == rows[BATCH:]
    assert ran == [(row.case.id, row.repeat) for row in rows]


def test_one_spoiled_row_leaves_the_others_of_its_batch_alone():
    class MissesOne(FakeSource):
        def answer(self, call):
            if call.take == 2:
                raise CassetteError("no recording", code="P6402")
            return super().answer(call)

    rows = ReplayedRows(FakeTarget(), MissesOne(), RowChecks(FakeChecks(Outcome.PASSED), set()))
    results = rows([PlannedRow(0, CASE, repeat) for repeat in (1, 2, 3)])
    assert [row.outcome for row in results] == [Outcome.PASSED, Outcome.ERRORED, Outcome.PASSED]
    assert [row.repeat for row in results] == [1, 2, 3]


def test_an_assertion_that_ran_out_of_time_is_known_to_the_next_row_of_the_batch():
    class Slow(FakeChecks):
        def run(self, answered, case, timed_out):
            super().run(answered, case, timed_out)
            failed = Check(id="slow", kind="fake", outcome=Outcome.FAILED, reason="timed_out")
            other = Check(id="other", kind="fake", outcome=Outcome.FAILED, reason="no_match")
            return [failed, other]

    checks, timed_out = Slow(), set()
    rows = ReplayedRows(FakeTarget(), FakeSource(), RowChecks(checks, timed_out))
    rows([PlannedRow(0, CASE, repeat) for repeat in (1, 2)])
    assert [seen for _, _, seen in checks.seen] == [set(), {"slow"}]
    assert timed_out == {"slow"}


def test_a_crash_in_a_batch_does_not_make_the_row_that_ran_out_of_time_look_skipped():
    class Slow(FakeChecks):
        def run(self, answered, case, timed_out):
            super().run(answered, case, timed_out)
            if case.id == "broken":
                raise RuntimeError
            return [Check(id="slow", kind="fake", outcome=Outcome.FAILED, reason="timed_out")]

    checks, timed_out = Slow(), set()
    rows = ReplayedRows(FakeTarget(), FakeSource(), RowChecks(checks, timed_out))
    results = rows([PlannedRow(0, CASE, 1), PlannedRow(1, Case("broken", {}), 1)])
    assert [row.outcome for row in results] == [Outcome.FAILED, Outcome.ERRORED]
    assert [seen for _, _, seen in checks.seen] == [set(), {"slow"}, set(), {"slow"}]
    assert timed_out == {"slow"}
