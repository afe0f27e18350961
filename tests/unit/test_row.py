import asyncio
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from proctor.errors import CassetteError, ManyProblems, ProviderError, SuiteError
from proctor.executors.local import BATCH, LocalExecutor
from proctor.protocols import Heard, PlannedRow
from proctor.records import (
    Answer,
    Answered,
    AssertionSpec,
    Call,
    Case,
    Check,
    Finish,
    Outcome,
    Severity,
    Usage,
)
from proctor.running.row import AskedRow, ReplayedRows, RowChecks

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

    def inputs_sha256(self, row):
        if self.raises is not None:
            raise self.raises
        return f"inputs of {row.case.id}"


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


# Rows that are judged


class Ask(NamedTuple):
    """One question of a fake judge."""

    subject: object
    case: str
    assertion: str
    inputs_sha256: str
    take: int


class FakeJudge:
    """Judges in two runs; what it says of an answer is the list of what it was told."""

    warnings = ()
    judges = ("a judge", "a judge")

    def __init__(self, id_, *, skips=False, decided=None, outcome=Outcome.PASSED):
        self.spec = AssertionSpec(id=id_, kind="fake-judge")
        self.skips_after_failure = skips
        self._decided = decided
        self._outcome = outcome
        self.heard = []

    def questions(self, answered, case):
        asked = [Ask(None, case.id, self.spec.id, "inputs", take) for take in (1, 2)]
        return self._decided or asked

    def judge(self, replies, answered, case):
        self.heard.append((replies, answered, case))
        missing = any(isinstance(one, Exception) for one in replies)
        return Check(self.spec.id, "fake-judge", Outcome.ERRORED if missing else self._outcome)


class JudgedChecks(FakeChecks):
    """Checks of which the first asks judges, and so do those after the others."""

    def __init__(self, *judged, plain=(Outcome.PASSED,), severity=Severity.FAIL):
        super().__init__(*plain)
        self.judged = judged
        self.severity = severity

    def run(self, answered, case, timed_out):
        return [
            replace(check, severity=self.severity)
            for check in super().run(answered, case, timed_out)
        ]

    def in_order(self, checks):
        return sorted(checks, key=lambda check: check.id)


class FakeReplies:
    """The replies of judges, from the cassette or asked for; what is in `missing` is raised."""

    def __init__(self, missing=None):
        self.missing = missing or {}
        self.asked = []

    def _reply(self, question, *, asked):
        self.asked.append((question.assertion, question.take))
        if question.take in self.missing:
            raise self.missing[question.take]
        return Heard(replace(ANSWERED, cost_usd=0.01 * question.take), asked)

    def replayed(self):
        return SimpleNamespace(judged=lambda question: self._reply(question, asked=False))

    async def judged(self, question):
        return self._reply(question, asked=True)

    async def ask(self, call, case):
        return ANSWERED


GONE = ProviderError("the judge is gone", code="P6310", hint="try later")
MISS = CassetteError("no recording of the judge", code="P6402")


def run_judged(checks, replies, how):
    """One row, replayed or live, with the calls of judges it needed."""
    row_checks = RowChecks(checks, set(), replies.replayed())
    if how == "replayed":
        (row,) = ReplayedRows(FakeTarget(), FakeSource(), row_checks)([PlannedRow(0, CASE, 2)])
    else:
        row = asyncio.run(AskedRow(FakeTarget(), replies, row_checks)(PlannedRow(0, CASE, 2)))
    calls = row_checks.judge_calls(PlannedRow(0, CASE, 2))
    assert row_checks.judge_calls(PlannedRow(0, CASE, 2)) == ()
    return row, calls


@pytest.mark.parametrize("how", ["replayed", "live"])
class TestJudgedRows:
    def test_judges_are_asked_in_the_order_of_the_suite_and_their_checks_stand_in_it(self, how):
        first, last = FakeJudge("a"), FakeJudge("d", outcome=Outcome.FAILED)
        replies = FakeReplies()
        row, calls = run_judged(JudgedChecks(first, last), replies, how)
        assert [(check.id, check.outcome) for check in row.checks] == [
            ("a", Outcome.PASSED),
            ("c0", Outcome.PASSED),
            ("d", Outcome.FAILED),
        ]
        assert row.outcome is Outcome.FAILED
        assert replies.asked == [("a", 1), ("a", 2), ("d", 1), ("d", 2)]
        ((said, answered, case),) = first.heard
        assert [one.cost_usd for one in said] == [0.01, 0.02]
        assert (answered, case) == (ANSWERED, CASE)
        assert [(call.question.assertion, call.cost_usd, call.asked) for call in calls] == [
            (id_, cost, how == "live") for id_ in ("a", "d") for cost in (0.01, 0.02)
        ]
        assert {call.recording for call in calls} == {ANSWERED.recording}

    def test_a_check_that_needs_no_judge_asks_none(self, how):
        decided = Check("a", "fake-judge", Outcome.FAILED, reason="no_text")
        row, calls = run_judged(JudgedChecks(FakeJudge("a", decided=decided)), FakeReplies(), how)
        assert (row.checks[0], calls) == (decided, ())

    @pytest.mark.parametrize("error", [GONE, MISS])
    def test_a_reply_that_is_missing_errs_the_row_and_keeps_its_answer(self, how, error):
        judge = FakeJudge("a")
        row, calls = run_judged(JudgedChecks(judge), FakeReplies({2: error}), how)
        assert (row.outcome, row.answer) == (Outcome.ERRORED, ANSWER)
        assert row.recording == ANSWERED.recording
        hint = "; try later" if error.hint else ""
        assert (row.error.code, row.error.message) == (error.code, f"{error.message}{hint}")
        assert [check.id for check in row.checks] == ["a", "c0"]
        ((said, *_),) = judge.heard
        assert said[1] is error
        assert [call.replied for call in calls] == [True, False]

    def test_the_first_error_is_that_of_the_row(self, how):
        checks = JudgedChecks(FakeJudge("a"), FakeJudge("b"))
        row, _ = run_judged(checks, FakeReplies({1: MISS, 2: GONE}), how)
        assert row.error.code == "P6402"

    def test_a_row_that_failed_stays_failed_when_a_judge_is_gone(self, how):
        checks = JudgedChecks(FakeJudge("a"), plain=[Outcome.FAILED])
        row, _ = run_judged(checks, FakeReplies({1: GONE}), how)
        assert (row.outcome, row.error.code) == (Outcome.FAILED, "P6310")

    @pytest.mark.parametrize(
        ("plain", "severity", "skips", "are_asked"),
        [
            (Outcome.FAILED, Severity.FAIL, False, True),
            (Outcome.FAILED, Severity.FAIL, True, False),
            (Outcome.PASSED, Severity.FAIL, True, True),
            # Such a row has not failed: without a verdict it would pass, or stay open.
            (Outcome.FAILED, Severity.WARN, True, True),
            (Outcome.ERRORED, Severity.FAIL, True, True),
            (Outcome.UNMEASURED, Severity.FAIL, True, True),
        ],
    )
    def test_only_a_row_that_failed_may_do_without_judges(
        self, how, plain, severity, skips, are_asked
    ):
        replies = FakeReplies()
        judge = FakeJudge("a", skips=skips)
        row, calls = run_judged(JudgedChecks(judge, plain=[plain], severity=severity), replies, how)
        assert bool(replies.asked) is are_asked
        assert [check.id for check in row.checks] == (["a", "c0"] if are_asked else ["c0"])
        assert len(calls) == 2 * are_asked

    def test_a_fault_while_judging_spoils_the_row_and_shows_no_data(self, how):
        row, _ = run_judged(JudgedChecks(FakeJudge("a")), FakeReplies({1: KeyError(SECRET)}), how)
        assert (row.outcome, row.category) == (Outcome.ERRORED, "framework_issue")
        assert row.error.message == "the row could not be run: KeyError"


def test_what_was_asked_in_vain_was_asked_and_what_was_missing_was_not():
    for error, was_asked in ((GONE, True), (MISS, False)):
        _, calls = run_judged(JudgedChecks(FakeJudge("a")), FakeReplies({1: error}), "live")
        assert [call.asked for call in calls] == [was_asked, True]


def test_a_judge_that_is_stopped_leaves_the_row_out():
    with pytest.raises(asyncio.CancelledError):
        run_judged(JudgedChecks(FakeJudge("a")), FakeReplies({2: asyncio.CancelledError()}), "live")


def test_judges_of_one_row_are_asked_at_once():
    class Waiting(FakeReplies):
        async def judged(self, question):
            self.asked.append(question.take)
            while len(self.asked) < 4:
                await asyncio.sleep(0)
            return Heard(ANSWERED, asked=True)

    row, _ = run_judged(JudgedChecks(FakeJudge("a"), FakeJudge("b")), Waiting(), "live")
    assert row.outcome is Outcome.PASSED
