import itertools

import pytest

from proctor.outcomes import row_outcome
from proctor.records import Check, Outcome, RowError, Severity

NO_ANSWER = RowError("P6402", "no recording")


def check(outcome, severity=Severity.FAIL):
    return Check(id="c", kind="equals", outcome=outcome, severity=severity)


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (["passed"], "passed"),
        (["passed", "passed"], "passed"),
        (["failed"], "failed"),
        (["errored"], "errored"),
        (["unmeasured"], "unmeasured"),
        (["passed", "failed"], "failed"),
        (["passed", "errored"], "errored"),
        (["passed", "unmeasured"], "unmeasured"),
        (["failed", "errored"], "failed"),
        (["failed", "unmeasured"], "failed"),
        (["errored", "unmeasured"], "errored"),
        (["passed", "failed", "errored", "unmeasured"], "failed"),
        (["passed", "errored", "unmeasured"], "errored"),
    ],
)
def test_the_worst_check_decides_in_whatever_order(outcomes, expected):
    for order in itertools.permutations(outcomes):
        assert row_outcome([check(Outcome(one)) for one in order], None) is Outcome(expected)


@pytest.mark.parametrize(
    ("warned", "expected"),
    [
        ("passed", "passed"),
        ("failed", "passed"),
        ("errored", "errored"),
        ("unmeasured", "unmeasured"),
    ],
)
def test_a_warning_that_failed_leaves_the_row_alone_but_one_without_a_verdict_does_not(
    warned, expected
):
    checks = [check(Outcome.PASSED), check(Outcome(warned), Severity.WARN)]
    assert row_outcome(checks, None) is Outcome(expected)


def test_a_failed_warning_hides_no_failed_check():
    checks = [check(Outcome.FAILED, Severity.WARN), check(Outcome.FAILED)]
    assert row_outcome(checks, None) is Outcome.FAILED


def test_a_row_without_an_answer_is_errored():
    assert row_outcome([], NO_ANSWER) is Outcome.ERRORED
    assert row_outcome([check(Outcome.PASSED)], NO_ANSWER) is Outcome.ERRORED
    assert row_outcome([check(Outcome.UNMEASURED)], NO_ANSWER) is Outcome.ERRORED


def test_a_row_that_failed_stays_failed_when_something_went_wrong_too():
    assert row_outcome([check(Outcome.FAILED)], NO_ANSWER) is Outcome.FAILED
