import pytest

from proctor.errors import CassetteError, ManyProblems, SuiteError
from proctor.executors.local import LocalExecutor
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
from proctor.running.row import ReplayedRow, RowChecks

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
    def __init__(self, *outcomes, raises=None):
        self.outcomes = outcomes
        self.raises = raises
        self.seen = []

    def run(self, answered, case, timed_out):
        self.seen.append((answered, case, set(timed_out)))
        if self.raises is not None:
            raise self.raises
        return [Check(id=f"c{n}", kind="fake", outcome=one) for n, one in enumerate(self.outcomes)]


def runner(*, target=None, source=None, checks=None, timed_out=frozenset()):
    return ReplayedRow(
        target or FakeTarget(),
        source or FakeSource(),
        RowChecks(checks or FakeChecks(Outcome.PASSED), timed_out),
    )


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


def test_rows_run_in_plan_order_and_only_when_asked_for():
    ran = []

    def run_row(case, repeat):
        ran.append((case.id, repeat))
        return f"result of {case.id} {repeat}"

    rows = [PlannedRow(n, Case(f"case-{n}", {}), repeat) for n in range(2) for repeat in (1, 2)]
    running = LocalExecutor().run(iter(rows), run_row)
    assert next(running) == (rows[0], "result of case-0 1")
    assert ran == [("case-0", 1)]
    assert [planned for planned, _ in running] == rows[1:]
    assert ran == [("case-0", 1), ("case-0", 2), ("case-1", 1), ("case-1", 2)]
