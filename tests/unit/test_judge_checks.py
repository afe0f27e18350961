"""What is found out about judges, in this process."""

import pytest

from judged_support import FAIL, JUNK, OF_JUDGES, PASS, RIGHT, TONE, Asked
from labelled_support import NAMES, LabelledProject, label
from live_support import live_session
from proctor.evaluation import evaluate
from proctor.judge_checks import check_judges, with_reversed
from proctor.running.engine import Stop


@pytest.fixture
def project(tmp_path):
    return LabelledProject(tmp_path)


def found(project, script, *, in_both_orders=False, **options):
    """What there is to be said after a run."""
    with live_session(project, script, **options) as (config, selected, session):
        (suite,) = selected
        asked = with_reversed(suite) if in_both_orders else suite
        report = evaluate(config, [asked], session)
        return check_judges(suite, report, 0, in_both_orders=in_both_orders)


def order_of(project, script):
    (one,) = found(project, script, in_both_orders=True).assertions
    return one.order


def is_reversed(request):
    content = request.messages[1].content
    return content.index("The reply:") < content.index("The request:")


def test_a_run_that_was_stopped_is_interrupted(project):
    stop = Stop()
    stop.request()
    project.labels(label("one", "pass"))
    findings = found(project, Asked(PASS), stop=stop)
    assert findings.verdict == "interrupted"
    assert findings.assertions[0].agreement.not_judged == 1


def test_a_judge_that_is_not_moved_by_the_order_flips_nothing(project):
    order = order_of(project, Asked(PASS))
    assert (order.compared, order.not_compared, order.flips) == (3, 0, [])


def test_a_judge_that_goes_by_the_order_flips_everything(project):
    judge = Asked(lambda request, call: FAIL if is_reversed(request) else PASS)
    order = order_of(project, judge)
    assert order.compared == 3
    assert [(one.case, one.verdict, one.reversed) for one in order.flips] == [
        (name, "pass", "fail") for name in NAMES
    ]


@pytest.mark.parametrize("junk", [True, False])
def test_an_answer_without_a_verdict_either_way_is_not_compared(project, junk):
    judge = Asked(lambda request, call: JUNK if is_reversed(request) is junk else PASS)
    order = order_of(project, judge)
    assert (order.compared, order.not_compared, order.flips) == (0, 3, [])


def test_an_answer_that_is_not_judged_is_in_no_count(project):
    project.labelled(RIGHT, TONE, judge={"model": "local/judge", "skipAfterFailure": True})
    order = order_of(project, Asked(PASS, '{"label": "no"}'))
    assert (order.compared, order.not_compared) == (0, 0)


def test_each_run_of_a_judge_is_asked_in_both_orders(project):
    project.named_cases("one")
    project.labelled(judge={"model": "local/judge", "runs": 3})
    script = Asked(PASS)
    found(project, script, in_both_orders=True)
    assert sorted(script.verdicts) == [("one", take) for take in (1, 1, 2, 2, 3, 3)]
    assert {line["assertion"] for line in project.stored_votes} == {"tone", "tone (reversed)"}


def test_rows_with_errors_are_told_by_reason(project):
    project.labels(*(label(name, "pass") for name in NAMES))
    answers = {"one": '{"label": "yes"}'}

    def script(request, call):
        return PASS if OF_JUDGES in request.messages[0].content else answers[call.case]

    findings = found(project, script)
    assert findings.verdict == "unmeasured"
    assert sum(one.rows for one in findings.errors) == 2
    assert findings.assertions[0].agreement.both_pass == 1
