"""Whatever of a report follows from its rows cannot be changed without being noticed."""

import copy
import json

import pytest
from msgspec import to_builtins
from msgspec.structs import replace
from sample_reports import case, check, facts, miss, report, row, subject, wrong
from two_reports import made, with_head

from proctor.aggregating import JudgeFacts
from proctor.errors import ReportError
from proctor.judging.labels import AgreementCounts
from proctor.records import (
    AgreementLimit,
    AtKLimit,
    Outcome,
    RenderOptions,
    RowError,
    Severity,
    Thresholds,
    Vote,
)
from proctor.rendering.report_json import render_json
from proctor.report_files import load_report
from proctor.verdicts import agreement_thresholds

THRESHOLDS = Thresholds(
    pass_rate=0.9,
    max_cost_usd=0.1,
    pass_at_k=AtKLimit(k=2, min=0.5),
    pass_hat_k=AtKLimit(k=1, min=0.25),
)

CLAIMS = {
    "partial",
    "project",
    "shards",
    "tool",
    "suites[].suite",
    "suites[].tiers",
    "suites[].judge",
    "suites[].dataset.path",
    "suites[].dataset.sha256",
    "suites[].dataset.cases",
    "suites[].dataset.allow_pii",
    "suites[].cache.live",
    "suites[].cache.mode",
    "suites[].thresholds[].limit",
    "suites[].subjects[].bundle_sha256",
    "suites[].subjects[].params",
    "suites[].subjects[].cost.judges",
    "suites[].subjects[].cases[].id",
    "suites[].subjects[].cases[].index",
    "suites[].subjects[].cases[].inputs",
    "suites[].subjects[].cases[].expected",
    "suites[].subjects[].cases[].expected_sha256",
    "suites[].subjects[].cases[].rows[].scenario",
    "suites[].subjects[].cases[].rows[].attribution",
    "suites[].subjects[].cases[].rows[].answer",
    "suites[].subjects[].cases[].rows[].latency_ms",
    "suites[].subjects[].cases[].rows[].error",
    "suites[].subjects[].cases[].rows[].checks[].kind",
    "suites[].subjects[].cases[].rows[].checks[].severity",
    "suites[].subjects[].cases[].rows[].checks[].reason",
    "suites[].subjects[].cases[].rows[].checks[].evidence",
}
"""What does not follow from anything else in the report."""


def value_of(one):
    return json.loads(b"".join(render_json(one, RenderOptions())))


def sample():
    """Two subjects, repeats, a warning, a row without an answer."""
    mild = check("tone", Outcome.FAILED, severity=Severity.WARN)
    rows = [
        [row(check(), mild, repeat=1), row(wrong(), check("tone"), repeat=2)],
        [row(check(), check("tone"), repeat=1), replace(miss(), repeat=2, category="timeout")],
    ]
    listed = [(case(f"case-{n}", expected=n), each) for n, each in enumerate(rows)]
    about = facts(cases=2, repeats=2, ids=("label", "tone"), thresholds=THRESHOLDS)
    one = report((about, (subject(), listed), (subject("few-shot"), listed)))
    assert one.head.verdict == "failed"
    return one


def leaves(value, path=()):
    """Each single value with its keys and indices from the top."""
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from leaves(part, (*path, key))
    elif isinstance(value, list) and value:
        for place, part in enumerate(value):
            yield from leaves(part, (*path, place))
    elif value != []:
        yield path, value


def pattern(path):
    text = "".join("[]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def changed(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    words = {
        "passed": "failed",
        "failed": "passed",
        "errored": "passed",
        "fail": "warn",
        "warn": "fail",
    }
    return words.get(value, f"{value}x") if isinstance(value, str) else 1.0


def is_claim(path):
    name = pattern(path)
    return any(name == each or name.startswith((f"{each}.", f"{each}[")) for each in CLAIMS)


VALUE = value_of(sample())
LEAVES = list(leaves(VALUE))
# The cost of a row without an answer, which is null, is in no sum.
DERIVED = [
    (path, value)
    for path, value in LEAVES
    if not is_claim(path) and not (path[-1] == "cost_usd" and value is None)
]


@pytest.fixture
def load(tmp_path):
    def loaded(value):
        path = tmp_path / "report.json"
        path.write_text(json.dumps(value), encoding="utf-8")
        return load_report(path)

    return loaded


def refused(load, value):
    with pytest.raises(ReportError) as caught:
        load(value)
    assert caught.value.code == "P6901"
    assert caught.value.hint
    assert caught.value.where.endswith("report.json")
    return caught.value.message


@pytest.mark.parametrize(
    ("path", "value"),
    [pytest.param(path, value, id=".".join(map(str, path))) for path, value in DERIVED],
)
def test_what_follows_from_the_rows_cannot_be_changed_unnoticed(load, path, value):
    spoiled = copy.deepcopy(VALUE)
    holder = spoiled
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = changed(value)
    refused(load, spoiled)


def test_the_list_of_claims_names_nothing_that_is_not_there():
    found = {pattern(path) for path, _ in LEAVES}
    for claim in CLAIMS:
        assert any(name == claim or name.startswith((f"{claim}.", f"{claim}[")) for name in found)


def test_a_report_that_says_what_its_rows_give_is_taken(load):
    assert value_of(load(VALUE)) == VALUE


def changed_head(one, **changes):
    return with_head(one, suites=[replace(suite, **changes) for suite in one.head.suites])


def with_cases(one, change):
    """The JSON of a report, its cases made others."""
    value = value_of(one)
    for suite in value["suites"]:
        for who in suite["subjects"]:
            who["cases"] = change(who["cases"])
    return value


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda cases: [cases[0], *cases], "case `a` of `reviews` stands twice"),
        (lambda cases: cases[::-1], "case `a` of `reviews` is out of order"),
        (
            lambda cases: [*cases, cases[0] | {"id": "c", "index": 2}],
            "case `c` of `reviews` is one more than the 2 that were selected",
        ),
        (lambda cases: [cases[0] | {"rows": []}, cases[1]], "has no row"),
        (
            lambda cases: [cases[0] | {"rows": [cases[0]["rows"][0]] * 2}, cases[1]],
            "case `a` of `reviews` has a row twice",
        ),
        (
            lambda cases: [
                cases[0] | {"rows": [cases[0]["rows"][0], cases[0]["rows"][1] | {"repeat": 3}]},
                cases[1],
            ],
            "case `a` of `reviews` has a repeat 3 of 2",
        ),
        (
            lambda cases: [
                cases[0] | {"rows": [row | {"latency_ms": -1} for row in cases[0]["rows"]]},
                cases[1],
            ],
            "case `a` of `reviews` has a row with a negative `latency_ms`",
        ),
        (
            lambda cases: [
                cases[0] | {"rows": [row | {"cost_usd": -1} for row in cases[0]["rows"]]},
                cases[1],
            ],
            "case `a` of `reviews` has a row with a negative `cost_usd`",
        ),
        (lambda cases: cases[:1], "`suites[0].cache.replayed` is 4, its rows give 2"),
    ],
)
def test_cases_and_rows_stand_once_in_their_order(load, change, said):
    message = refused(load, with_cases(made({"a": "pp", "b": "pf"}), change))
    assert message.startswith("`report.json` contradicts itself: ")
    assert said in message


def test_a_report_of_nothing_is_no_pass(load):
    value = value_of(made({"a": "p"}))
    value["suites"][0]["subjects"] = []
    assert refused(load, value).endswith("contradicts itself: `reviews` has no subject")
    value["suites"] = []
    assert refused(load, value).endswith("contradicts itself: it has no suite")


def test_the_first_figure_that_differs_is_named_with_what_the_rows_give(load):
    value = value_of(made({"a": "pp", "b": "pf"}))
    value["suites"][0]["subjects"][0]["counts"]["passed"] = 4
    assert refused(load, value) == (
        "`report.json` contradicts itself: `suites[0].subjects[0].counts.passed` is 4, its rows "
        "give 3"
    )


def test_a_verdict_that_the_rows_do_not_give_is_refused(load):
    value = value_of(made({"a": "f"}))
    value |= {"verdict": "passed", "exit_code": 0}
    assert '`verdict` is "passed", its rows give "failed"' in refused(load, value)


def test_a_threshold_cannot_be_left_out_or_made_up(load):
    value = value_of(made({"a": "f"}))
    rate = value["suites"][0]["thresholds"][0]
    value["suites"][0]["thresholds"].pop(0)
    assert "`suites[0].thresholds.length` is 2, its rows give 3" in refused(load, value)
    value["suites"][0]["thresholds"].append(rate | {"name": "luck"})
    assert "has the unknown name `luck`" in refused(load, value)


@pytest.mark.parametrize(
    ("name", "limit", "said"),
    [
        ("passRate", "all", "has a limit of the wrong type"),
        ("passAtK", {"k": 9, "min": 1}, "asks for k = 9 of 2 repeats"),
        ("passAtK", {"k": 0, "min": 1}, "has a limit of the wrong type"),
    ],
)
def test_a_limit_that_no_suite_can_have_is_refused(load, name, limit, said):
    value = copy.deepcopy(VALUE)
    for threshold in value["suites"][0]["thresholds"]:
        if threshold["name"] == name:
            threshold["limit"] = limit
    assert said in refused(load, value)


@pytest.mark.parametrize("repeats", [0, -1, 1_001])
def test_repeats_are_those_a_suite_can_have(load, repeats):
    value = value_of(changed_head(made({"a": "p"}), repeats=repeats))
    assert f"`reviews` has {repeats} repeats" in refused(load, value)


def test_a_subject_stands_once(load):
    one = made({"a": "p"})
    (who,) = one.head.suites[0].subjects
    value = value_of(one)
    value["suites"][0]["subjects"] *= 2
    assert f"`reviews` has `{who.id}` twice" in refused(load, value)


def test_two_suites_may_share_names(load):
    value = value_of(made({"a": "p"}))
    value["suites"] += value_of(made({"a": "p"}, suite="ratings"))["suites"]
    assert load(value).head.verdict == "passed"


# What cannot be worked out from rows


@pytest.mark.parametrize(("live", "taken"), [(True, True), (False, False)])
def test_only_a_live_run_recorded_something(load, live, taken):
    one = made({"a": "p", "b": "p"})
    cache = replace(one.head.suites[0].cache, live=live, replayed=1, recorded=1)
    value = value_of(changed_head(one, cache=cache))
    if taken:
        assert load(value).head.suites[0].cache.recorded == 1
    else:
        assert "`suites[0].cache.replayed` is 1, its rows give 2" in refused(load, value)


def test_recorded_and_replayed_answers_are_those_there_are(load):
    one = made({"a": "p", "b": "p"})
    cache = replace(one.head.suites[0].cache, live=True, replayed=2, recorded=1)
    assert "replayed` is 2, its rows give 1" in refused(
        load, value_of(changed_head(one, cache=cache))
    )


@pytest.mark.parametrize(
    ("actual", "met", "taken"),
    [(0.09, True, True), (0.2, False, True), (None, None, True), (0.0001, True, False)],
)
def test_calls_of_unknown_cost_count_at_most_what_the_report_says(load, actual, met, taken):
    about = facts(cases=2, thresholds=Thresholds(max_cost_usd=0.1))
    rows = [row(check()), replace(row(check()), cost_usd=None)]
    listed = [(case(f"case-{n}"), [each]) for n, each in enumerate(rows)]
    value = value_of(report((about, (subject(), listed))))
    threshold = value["suites"][0]["thresholds"][-1]
    threshold |= {"actual": actual, "met": met}
    value["suites"][0]["thresholds"][-1] = threshold
    verdict = {True: ("passed", 0), False: ("failed", 1), None: ("unmeasured", 3)}[met]
    value |= dict(zip(("verdict", "exit_code"), verdict, strict=True))
    if taken:
        assert load(value).head.verdict == verdict[0]
    else:
        assert "actual` is 0.0001, its rows give 0.001" in refused(load, value)


def test_floats_may_differ_by_what_rounding_does_elsewhere(load):
    value = value_of(made({"a": "p", "b": "f", "c": "f"}))
    rate = value["suites"][0]["subjects"][0]["pass_rate"]
    rate["rate"] = 0.33333333333333337
    assert load(value).head.suites[0].subjects[0].pass_rate.passed == 1
    rate["rate"] = 0.3333334
    assert "rate` is 0.3333334" in refused(load, value)


def test_an_interrupted_report_is_taken_as_such(load):
    one = made({"a": "pp", "b": "p"}, selected=4)
    assert one.head.verdict == "interrupted"
    assert value_of(load(value_of(one))) == value_of(one)


def test_rows_without_a_word_of_content_prove_the_same_figures(load):
    value = copy.deepcopy(VALUE)
    for each in value["suites"][0]["subjects"]:
        for one in each["cases"]:
            one |= {"inputs": None, "expected": None}
            for each_row in one["rows"]:
                each_row["answer"] = None
                for checked in each_row["checks"]:
                    checked |= {"reason": None, "evidence": None}
    assert load(value).head.verdict == "failed"


def judged():
    """A report in which a judge was asked twice about each of two answers."""

    def votes(case_, *verdicts):
        return [
            Vote(verdict, "so", "local/judge", f"{case_}{number}" * 32)
            for number, verdict in enumerate(verdicts)
        ]

    tone = check("tone")
    rows = [
        replace(row(), checks=[replace(tone, votes=votes("a", "pass", "pass"))]),
        replace(row(), checks=[replace(tone, votes=votes("b", "pass", "fail"))]),
    ]
    about = facts(cases=2, ids=("tone",))
    judge = JudgeFacts(runs=2, models=["local/judge"], assertions=["tone"])
    listed = [(case(f"case-{n}"), [each]) for n, each in enumerate(rows)]
    return report((replace(about, judge=judge), (subject(), listed)))


def test_a_judged_report_is_proven_but_for_what_judges_cost(load):
    value = value_of(judged())
    judge = {"id": "tone", "measured": 2, "total": 2, "unanimous": 1}
    assert value["suites"][0]["judge"]["assertions"] == [judge]
    assert value["suites"][0]["cache"]["replayed"] == 6
    cost = value["suites"][0]["subjects"][0]["cost"]
    cost |= {"judges": 0.5, "replayed": 0.502, "unknown": 1}
    assert value_of(load(value)) == value
    cost["answers"] = 1.0
    assert "cost.answers` is 1.0" in refused(load, value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("judge", "assertions", 0, "unanimous"), 2),
        (("judge", "assertions", 0, "measured"), 1),
        (("judge",), {"runs": 2}),
        (("subjects", 0, "cases", 1, "rows", 0, "checks", 0, "votes", 0, "recording"), "c" * 64),
        (("subjects", 0, "cases", 1, "rows", 0, "checks", 0, "votes", 1, "verdict"), "pass"),
    ],
)
def test_what_judges_said_cannot_be_changed_unnoticed(load, path, value):
    spoiled = value_of(judged())
    holder = spoiled["suites"][0]
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = value
    refused(load, spoiled)


def labelled():
    """A report whose judge was compared with what people say, and has to agree with them."""
    counts = AgreementCounts(
        both_pass=20,
        only_judge_passes=5,
        only_people_pass=10,
        both_fail=15,
        stale=1,
        disputed=0,
        unmeasured=0,
        not_judged=2,
    )
    figures = counts.figures()
    limits = Thresholds(judge_agreement=AgreementLimit(min=0.5, min_tnr=0.9))
    one = judged()
    (suite,) = one.head.suites
    suite = replace(
        suite,
        judge={**suite.judge, "agreement": to_builtins(figures)},
        thresholds=[*suite.thresholds, *agreement_thresholds(limits, figures)],
    )
    return with_head(one, suites=[suite], verdict="failed", exit_code=1)


def test_agreement_with_people_is_proven_from_its_counts(load):
    value = value_of(labelled())
    assert [each["met"] for each in value["suites"][0]["thresholds"][-2:]] == [True, False]
    assert value_of(load(value)) == value
    for name, wrong_one in (("kappa", 0.9), ("both_pass", 25), ("enough", False)):
        spoiled = copy.deepcopy(value)
        spoiled["suites"][0]["judge"]["agreement"][name] = wrong_one
        assert "judge.agreement" in refused(load, spoiled)
    value["suites"][0]["thresholds"][-1]["met"] = True
    assert "thresholds[4].met` is true, its rows give false" in refused(load, value)


@pytest.mark.parametrize("agreement", [{}, {"both_pass": -1}, 7])
def test_an_agreement_that_is_none_is_refused(load, agreement):
    value = value_of(labelled())
    value["suites"][0]["judge"]["agreement"] = agreement
    refused(load, value)


@pytest.mark.parametrize("answers", [True, False])
def test_an_answer_that_could_not_be_judged_was_paid_for(load, answers):
    unjudged = replace(row(), outcome=Outcome.ERRORED, error=RowError("P6601", "no verdict"))
    value = value_of(report((facts(), (subject(), [(case("a"), [unjudged])]))))
    if not answers:
        value["suites"][0]["subjects"][0]["cases"][0]["rows"][0]["answer"] = None
    assert load(value).head.suites[0].subjects[0].cost.answers == 0.001


def test_an_assertion_that_ran_out_of_time_fails_its_later_rows_in_both(load):
    slow = check(outcome=Outcome.FAILED, reason="timed_out")
    later = check(outcome=Outcome.FAILED, reason="timed_out", evidence={"skipped": True})
    listed = [(case("a"), [row(slow)]), (case("b"), [row(later)])]
    value = value_of(report((facts(cases=2), (subject(), listed))))
    assert load(value).head.verdict == "failed"
    after = value["suites"][0]["subjects"][0]["cases"][1]["rows"][0]
    after["checks"][0] |= {"outcome": "passed", "reason": None, "evidence": None}
    after["outcome"] = "passed"
    assert "has a row that is passed, its checks give failed" in refused(load, value)
