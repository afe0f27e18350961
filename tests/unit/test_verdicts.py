import pytest
from sample_reports import case, check, facts, miss, report, row, single, subject, wrong

from proctor.aggregating import report_head
from proctor.records import AtKLimit, Outcome, RowError, Thresholds
from proctor.verdicts import verdict_of

PASSING = [(case("a"), [row(check())])]
FAILING = [(case("a"), [row(wrong())])]
MISSING = [(case("a"), [miss()])]
UNMEASURED = [(case("a"), [row(check(), check("tone", Outcome.UNMEASURED))])]

FLAKY = [(case("a"), [row(check()), row(wrong(), repeat=2)])]
LACKING = [(case("a"), [row(check()), row(error=RowError("P6402", "gone"), repeat=2)])]
AT_LEAST_ONCE = Thresholds(pass_rate=0.5, pass_at_k=AtKLimit(k=2, min=1))
EVERY_TIME = Thresholds(pass_rate=0.5, max_error_rate=0.5, pass_hat_k=AtKLimit(k=2, min=0.001))


def suite(cases, *, name="reviews", planned=None, **options):
    return facts(name, cases=planned or len(cases), **options), (subject(), cases)


@pytest.mark.parametrize(
    ("suites", "partial", "verdict", "code"),
    [
        ([suite(PASSING)], False, "passed", 0),
        ([suite(FAILING)], False, "failed", 1),
        ([suite(MISSING)], False, "unmeasured", 3),
        ([suite(UNMEASURED, ids=["label", "tone"])], False, "unmeasured", 3),
        ([suite(FAILING + MISSING)], False, "failed", 1),
        ([suite(PASSING + MISSING)], False, "unmeasured", 3),
        (
            [suite(PASSING + MISSING, thresholds=Thresholds(max_error_rate=0.5))],
            False,
            "passed",
            0,
        ),
        ([suite(PASSING, thresholds=Thresholds(max_cost_usd=0.0001))], False, "failed", 1),
        ([suite(FLAKY, repeats=2, thresholds=AT_LEAST_ONCE)], False, "passed", 0),
        ([suite(FLAKY, repeats=2, thresholds=EVERY_TIME)], False, "failed", 1),
        ([suite(LACKING, repeats=2, thresholds=EVERY_TIME)], False, "unmeasured", 3),
        ([suite(PASSING), suite(MISSING, name="b")], False, "unmeasured", 3),
        ([suite(MISSING), suite(FAILING, name="b")], False, "failed", 1),
        ([suite(FAILING), suite(MISSING, name="b")], False, "failed", 1),
        ([suite(PASSING)], True, "unmeasured", 3),
        ([suite(FAILING)], True, "unmeasured", 3),
        ([suite(PASSING, planned=2)], False, "interrupted", 130),
        ([suite(FAILING, planned=2)], False, "interrupted", 130),
        ([suite(FAILING), suite(PASSING, name="b", planned=2)], True, "interrupted", 130),
    ],
)
def test_verdict_and_exit_code(suites, partial, verdict, code):
    head = report(*suites, partial=partial).head
    assert (head.verdict, head.exit_code) == (verdict, code)
    assert verdict_of(head.suites, partial=partial) == (verdict, code)


def test_a_cost_that_cannot_be_told_is_no_failure():
    cases = [(case("a"), [row(check(), cost_usd=None)])]
    assert single(cases, thresholds=Thresholds(max_cost_usd=1)).head.exit_code == 3


def test_head_says_who_wrote_the_report():
    head = report_head([], project="acme", version="9.9", shards={"expected": 2})
    assert (head.schema, head.project) == ("proctor.report.v1", "acme")
    assert (head.tool.name, head.tool.version) == ("proctor", "9.9")
    assert head.shards == {"expected": 2}
