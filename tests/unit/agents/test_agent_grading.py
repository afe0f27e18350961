"""What is asked of answers and builds: what judges see, what expectations are worth."""

from __future__ import annotations

import json

import pytest

from agent_support import (
    RIGHT,
    Agent,
    AgentProject,
    ask_agent,
    asked,
    case,
    cases_of,
    replay_agent,
    right,
    rows_by_name,
    subject_of,
)
from judged_support import FAIL, JUNK, PASS
from proctor.errors import ProviderError, ReportError
from proctor.report_files import load_report
from rubric_prompts import INPUTS, SYSTEM

RED, BIG = "It is red.", "It is big."
NAMED = {"id": "named", "kind": "contains", "values": ["for"]}
SEEN = """\
Judge the reply.
Evidence:
<evidence-{{input.boundary}}>
{{input.evidence}}
</evidence-{{input.boundary}}>

Artifact:
<artifact-{{input.boundary}}>
{{input.artifact}}
</artifact-{{input.boundary}}>

Transcript:
<transcript-{{input.boundary}}>
{{input.transcript}}
</transcript-{{input.boundary}}>

Case:
<case-{{input.boundary}}>
{{input.case_inputs}}
</case-{{input.boundary}}>

Reply:
<reply-{{input.boundary}}>
{{input.response}}
</reply-{{input.boundary}}>"""
TOLD = "{type: string, optional: true, default: none}"
WITH_ALL = f"{INPUTS}, evidence: {TOLD}, artifact: {TOLD}, transcript: {TOLD}"


@pytest.fixture
def project(tmp_path):
    return AgentProject(tmp_path)


class Built:
    def __init__(self, artifact, **parts) -> None:
        self.artifact = artifact
        for name, value in parts.items():
            setattr(self, name, value)


class Judge:
    """Judges statements by what they say, and keeps what it was told."""

    def __init__(self, says=lambda text, call: PASS) -> None:
        self.told: list[str] = []
        self._says = says

    def __call__(self, request, call):
        text = "\n".join(message.content for message in request.messages)
        self.told.append(text)
        said = self._says(text, call)
        if isinstance(said, Exception):
            raise said
        return said


def by_statement(**verdicts):
    """Says of a statement what is given for its second last word; all others hold."""

    def says(text, call):
        return next((said for word, said in verdicts.items() if f"is {word}." in text), PASS)

    return says


def section(text: str, name: str) -> str:
    return text.partition(f"<{name}-")[2].partition("\n")[2].partition(f"\n</{name}-")[0]


def test_judges_see_what_an_answer_brings_and_what_was_built(project):
    project.rubric("judge-tone", inputs=WITH_ALL, messages=[("system", SYSTEM), ("user", SEEN)])
    project.agent_suite({"id": "tone", "kind": "llm-judge", "rubric": "judge-tone"})
    project.cases(case("a", "mine", "built"))
    judge = Judge()

    def answer(case, scenario, artifact, repeat):
        mine = {"evidence": ["called crm"]}
        if scenario.name == "mine":
            mine["transcript"] = "said"
        return {"text": scenario.name, **mine}

    agent = Agent(
        build=lambda case, repeat: Built({"x": 1}, transcript="built so"),
        answer=answer,
    )
    assert asked(project, agent, judge)["verdict"] == "passed"
    seen = {
        section(text, "reply"): [
            section(text, name) for name in ("evidence", "artifact", "transcript")
        ]
        for text in judge.told
    }
    assert seen == {
        "mine": ['["called crm"]', '{"x":1}', "said"],
        "built": ['["called crm"]', '{"x":1}', "built so"],
    }


def test_the_report_has_the_answer_as_it_came(project):
    project.cases(case("a", "s1"))
    agent = Agent(
        build=lambda case, repeat: Built({"x": 1}, transcript="built so"),
        answer=lambda *given: {"text": right(*given), "evidence": "e"},
    )
    answer = rows_by_name(asked(project, agent))["a", "s1", 1]["answer"]
    assert (answer["evidence"], answer["artifact"], answer["transcript"]) == ("e", None, None)


def test_a_statement_is_judged_by_what_was_built(project):
    project.cases(case("a", "s1", expectations=[RED, BIG], inputs={"n": 7}))
    judge = Judge()
    asked(project, Agent(build=lambda case, repeat: {"colour": "red"}), judge)
    told = [
        (section(text, "statement"), section(text, "built"), section(text, "case"))
        for text in judge.told
    ]
    assert sorted(told) == [
        (BIG, '{"colour":"red"}', '{"n":7}'),
        (RED, '{"colour":"red"}', '{"n":7}'),
    ]
    calls = {line["call"]: line for line in project.stored if line["model"] == "local/judge"}
    assert set(calls) == {"expectation"}
    assert calls["expectation"]["assertion"] == "expectations"


def test_assertions_on_builds_are_counted_once_a_build_and_only_warn(project):
    red = {"id": "red", "kind": "contains", "values": ["red"]}
    project.agent_suite(RIGHT, buildAssertions=[NAMED, red], repeats=2)
    project.cases(case("a", "s1", "s2", "s3"), case("b"))
    live = ask_agent(project, Agent())
    for report in (json.loads(live), json.loads(replay_agent(project))):
        checks = subject_of(report)["checks"]
        none = {"errored": 0, "unmeasured": 0}
        # Two cases in two repeats; nothing is called red in any of them.
        assert checks["named"] == {"passed": 4, "failed": 0} | none
        assert checks["red"] == {"passed": 0, "failed": 4} | none
        assert checks["right"] == {"passed": 8, "failed": 0} | none
        assert report["verdict"] == "passed"
        first = rows_by_name(report)["a", "s1", 1]["checks"]
        assert [(one["id"], one["severity"]) for one in first] == [
            ("named", "warn"),
            ("red", "warn"),
            ("right", "fail"),
        ]
        assert len(rows_by_name(report)["a", "s2", 1]["checks"]) == 1


def test_an_assertion_on_builds_that_says_so_fails_the_first_row(project):
    red = {"id": "red", "kind": "contains", "values": ["red"], "severity": "fail"}
    project.agent_suite(RIGHT, buildAssertions=[red])
    project.cases(case("a", "s1", "s2"), case("b", expectations=[RED]))
    rows = rows_by_name(asked(project, Agent()))
    found = {key: (row["outcome"], row["category"]) for key, row in rows.items()}
    assert found == {
        ("a", "s1", 1): ("failed", "builder_issue"),
        ("a", "s2", 1): ("passed", None),
        ("b", "__build_only__", 1): ("failed", "builder_issue"),
    }


@pytest.mark.parametrize(
    ("verdict", "outcome", "blame", "code"),
    [
        (PASS, "passed", (None, None), 0),
        (FAIL, "failed", ("expectations_failed", "target"), 1),
        (JUNK, "unmeasured", ("verification_failure", "judge"), 3),
        (ProviderError("away", code="P6310"), "errored", ("verification_failure", "judge"), 3),
    ],
)
def test_the_row_of_a_build_is_worth_what_is_expected_of_it(project, verdict, outcome, blame, code):
    project.cases(case("a", expectations=[BIG, RED]), case("b"))
    live = asked(project, Agent(), Judge(by_statement(red=verdict)))
    row = rows_by_name(live)["a", "__build_only__", 1]
    assert (row["outcome"], (row["category"], row["attribution"])) == (outcome, blame)
    assert live["exit_code"] == code
    found = cases_of(live)["a"]
    by_text = {one["text"]: one["outcome"] for one in found["expectations"]}
    assert by_text == {BIG: "passed", RED: outcome}
    missing = outcome in ("unmeasured", "errored")
    # A vote that is missing is in no denominator.
    assert found["units"] == [
        {"expectation": BIG, "n": 1, "passed": 1},
        {"expectation": RED, "n": 0 if missing else 1, "passed": int(outcome == "passed")},
    ]


@pytest.mark.parametrize("verdict", [FAIL, JUNK])
def test_expectations_stand_beside_the_rows(project, verdict):
    project.cases(case("a", "s1", "s2", expectations=[BIG, RED]), case("b", "s1"))
    report = asked(project, Agent(), Judge(by_statement(red=verdict)))
    assert {row["outcome"] for row in rows_by_name(report).values()} == {"passed"}
    assert cases_of(report)["a"]["outcome"] == "passed"
    assert subject_of(report)["pass_rate"]["measured"] == 3
    counted = subject_of(report)["checks"]["expectations"]
    suite = report["suites"][0]
    if verdict is FAIL:
        assert counted == {"passed": 1, "failed": 1, "errored": 0, "unmeasured": 0}
        # No row counts it, so the suite says it.
        assert report["verdict"] == "passed"
        assert [one["message"] for one in suite["warnings"]] == [
            "1 expectation failed of builds whose rows all passed; pass rates count rows only, "
            "pass@k and gates count expectations too"
        ]
    else:
        assert counted == {"passed": 1, "failed": 0, "errored": 0, "unmeasured": 1}
        # Four of five questions have an answer, and all of them should.
        assert (report["verdict"], report["exit_code"]) == ("unmeasured", 3)
        assert suite["warnings"] == []


def test_nothing_is_said_of_expectations_that_fail_with_a_row(project):
    project.cases(case("a", "s1", expectations=[RED]), case("b", expectations=[RED]))
    agent = Agent(answer=lambda *given: "wrong")
    report = asked(project, agent, Judge(by_statement(red=FAIL)))
    assert report["suites"][0]["warnings"] == []
    assert subject_of(report)["checks"]["expectations"]["failed"] == 2


def test_what_is_expected_of_a_failed_build_is_not_asked(project):
    def build(case, repeat):
        if case.id != "c":
            raise ValueError
        return {"for": "c"}

    project.agent_suite(RIGHT, buildAssertions=[NAMED], thresholds={"passRate": 0.3})
    project.cases(
        case("a", "s1", expectations=[RED]), case("b", expectations=[RED]), case("c", "s1")
    )
    judge = Judge()
    report = asked(project, Agent(build=build), judge)
    assert judge.told == []
    none = {"passed": 0, "failed": 0, "errored": 0, "unmeasured": 0}
    one = none | {"passed": 1}
    assert subject_of(report)["checks"] == {"right": one, "named": one, "expectations": none}
    # A failed build is a verdict, so nothing is missing.
    assert report["verdict"] == "passed"
    rows = rows_by_name(report)
    assert rows["b", "__build_only__", 1]["outcome"] == "failed"
    assert rows["b", "__build_only__", 1]["category"] == "build_failure"
    assert cases_of(report)["a"]["expectations"] == [
        {"text": RED, "repeat": 1, "outcome": "unmeasured", "votes": []}
    ]


def test_expectations_are_units_of_pass_at_k_and_builds_alone_are_none(project):
    project.agent_suite(repeats=2)
    project.cases(case("a", "s1", expectations=[RED]), case("b", expectations=[BIG]))

    # It is red in the first repeat only, and always big.
    judge = Judge(lambda text, call: FAIL if "red" in text and '"repeat":2' in text else PASS)
    live = asked(project, Agent(), judge)
    for report in (live, json.loads(replay_agent(project))):
        assert cases_of(report)["a"]["units"] == [
            {"scenario": "s1", "n": 2, "passed": 2},
            {"expectation": RED, "n": 2, "passed": 1},
        ]
        assert cases_of(report)["b"]["units"] == [{"expectation": BIG, "n": 2, "passed": 2}]
        assert cases_of(report)["a"]["flaky"] is True
        subject = subject_of(report)
        # pass@1 of 2/2, 1/2 and 2/2; at k = 2 each passed at least once, two of them always.
        assert [one["value"] for one in subject["pass_at_k"]] == pytest.approx([2.5 / 3, 1.0])
        assert [one["value"] for one in subject["pass_hat_k"]] == pytest.approx([2.5 / 3, 2 / 3])
        assert [one["units"] for one in subject["pass_at_k"]] == [3, 3]
        assert subject["pass_rate"]["measured"] == 4


def test_expectations_come_in_the_order_of_the_case_and_by_repeat(project):
    project.agent_suite(repeats=2, judge={"model": "local/judge", "runs": 3})
    project.cases(case("a", "s1", "s2", expectations=[RED, BIG]))
    report = asked(project, Agent(), Judge(lambda text, call: FAIL if call.take == 2 else PASS))
    found = cases_of(report)["a"]["expectations"]
    assert [(one["text"], one["repeat"], one["outcome"]) for one in found] == [
        (RED, 1, "passed"),
        (RED, 2, "passed"),
        (BIG, 1, "passed"),
        (BIG, 2, "passed"),
    ]
    assert [vote["verdict"] for vote in found[0]["votes"]] == ["pass", "fail", "pass"]
    assert {vote["model"] for vote in found[0]["votes"]} == {"local/judge"}


def test_who_judges_expectations_may_be_asked_more_often_than_other_judges(project):
    project.agent_suite(expectations={"rubric": "judge-build", "runs": 3})
    project.cases(case("a", expectations=[RED]))
    judge = Judge()
    asked(project, Agent(), judge)
    assert len(judge.told) == 3


def test_a_report_proves_what_it_says_of_expectations(project, tmp_path):
    project.agent_suite(repeats=2)
    project.cases(case("a", "s1", "s2", expectations=[RED, BIG]), case("b", expectations=[BIG]))
    raw = ask_agent(project, Agent(), Judge(by_statement(red=FAIL)))
    path = tmp_path / "report.json"
    path.write_bytes(raw)
    report = load_report(path)
    assert [len(case.expectations) for case in report.cases(0, 0)] == [4, 2]


@pytest.mark.parametrize(
    "change",
    [
        lambda case, subject, suite: case["units"][2].update(passed=2),
        lambda case, subject, suite: case["expectations"][0].update(outcome="passed"),
        lambda case, subject, suite: case["expectations"].pop(),
        lambda case, subject, suite: subject["checks"]["expectations"].update(failed=0),
        lambda case, subject, suite: subject["checks"].pop("expectations"),
        lambda case, subject, suite: suite["warnings"].clear(),
        lambda case, subject, suite: suite["warnings"].append(dict(suite["warnings"][0])),
    ],
)
def test_a_report_that_says_something_else_of_expectations_is_refused(project, tmp_path, change):
    project.cases(case("a", "s1", "s2", expectations=[RED, BIG]))
    report = asked(project, Agent(), Judge(by_statement(red=FAIL)))
    (suite,) = report["suites"]
    subject = subject_of(report)
    change(subject["cases"][0], subject, suite)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report))
    with pytest.raises(ReportError) as raised:
        load_report(path)
    assert raised.value.code == "P6901"
