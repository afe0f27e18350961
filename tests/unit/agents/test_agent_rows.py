"""Which rows a suite with scenarios has, in which order, and what is wrong with scenarios."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from agent_support import (
    RIGHT,
    Agent,
    AgentProject,
    asked,
    case,
    cases_of,
    replay_agent,
    rows_by_name,
    subject_of,
)
from live_support import YES, run_live
from proctor.config import load_config
from proctor.errors import ProctorError
from proctor.evaluation import select
from proctor.pipeline import load_exam
from proctor.planning import planned_rows
from proctor.selecting import Selection

RED = "It is red."


@pytest.fixture
def project(tmp_path):
    return AgentProject(tmp_path)


def problems(project) -> list[tuple[str, str, str | None]]:
    config = load_config(project.root, is_root=True, flags={}, environ={})
    with pytest.raises(ProctorError) as raised, closing(load_exam(config, ())):
        pass
    return [(one.code, one.message, one.where) for one in raised.value.problems()]


def order(project, repeats=None) -> list[tuple]:
    config = load_config(project.root, is_root=True, flags={}, environ={})
    with closing(load_exam(config, (), repeats=repeats)) as exam:
        (suite,) = select(exam, Selection())
        return [
            (row.case.id, row.scenario and row.scenario.name, row.repeat)
            for row in planned_rows(suite.suite.dataset, suite.plan)
        ]


def test_rows_go_round_the_cases_scenario_by_scenario_and_builds_alone_come_last(project):
    project.cases(case("a", "s1", "s2", "s3"), case("b", "s1", "s2"), case("c", expectations=[RED]))
    assert order(project) == [
        ("a", "s1", 1),
        ("b", "s1", 1),
        ("a", "s2", 1),
        ("b", "s2", 1),
        ("a", "s3", 1),
        ("c", "__build_only__", 1),
    ]


def test_repeats_of_a_scenario_follow_each_other(project):
    project.cases(case("a", "s1", "s2"), case("b"), case("c", expectations=[RED]))
    assert order(project, repeats=2) == [
        ("a", "s1", 1),
        ("a", "s1", 2),
        ("b", None, 1),
        ("b", None, 2),
        ("a", "s2", 1),
        ("a", "s2", 2),
        ("c", "__build_only__", 1),
        ("c", "__build_only__", 2),
    ]


def test_the_report_has_the_rows_of_a_case_together_scenario_by_scenario(project):
    project.cases(case("z", expectations=[RED]), case("a", "s2", "s1"), case("m"), case("b", "s1"))
    project.agent_suite(repeats=2)
    report = asked(project, Agent())
    assert [(one["index"], one["id"]) for one in subject_of(report)["cases"]] == [
        (0, "z"),
        (1, "a"),
        (2, "m"),
        (3, "b"),
    ]
    assert list(rows_by_name(report)) == [
        ("z", "__build_only__", 1),
        ("z", "__build_only__", 2),
        ("a", "s2", 1),
        ("a", "s2", 2),
        ("a", "s1", 1),
        ("a", "s1", 2),
        ("m", None, 1),
        ("m", None, 2),
        ("b", "s1", 1),
        ("b", "s1", 2),
    ]
    assert subject_of(report)["counts"]["rows"] == 10
    assert subject_of(report)["counts"]["cases"] == 4


def test_a_scenario_lays_its_inputs_and_its_expected_answer_over_those_of_the_case(project):
    seen = {}

    def answer(case, scenario, artifact, repeat):
        seen[scenario.name] = case.inputs, scenario.inputs
        return "own" if scenario.name == "own" else "of the case"

    own = {"name": "own", "inputs": {"n": 2}, "expected": "own"}
    other = {"name": "other", "inputs": {"m": 3}}
    told = case("a", own, inputs={"n": 1, "k": 0}, expected="of the case")
    told["scenarios"].append(other)
    project.cases(told)
    report = asked(project, Agent(answer=answer))
    # A target is given the case as it stands, beside the scenario.
    assert seen == {
        "own": ({"n": 1, "k": 0}, {"n": 2}),
        "other": ({"n": 1, "k": 0}, {"m": 3}),
    }
    assert report["verdict"] == "passed"
    assert cases_of(report)["a"]["inputs"] == {"n": 1, "k": 0}
    assert cases_of(report)["a"]["expected"] == "of the case"


def test_a_prompt_is_asked_with_the_inputs_of_each_scenario(tmp_path):
    project = AgentProject(tmp_path)
    project.suite()
    first, second = (
        {"name": name, "inputs": {"question": name}, "expected": {"label": "yes"}}
        for name in ("one", "two")
    )
    project.cases(
        {"id": "a", "inputs": {}, "scenarios": [first, second]},
        project.case("b"),
    )
    questions = []

    def says(request, call):
        questions.append(request.messages[-1].content)
        return YES

    report = run_live(project, says, concurrency=1)
    assert questions == ["one", "b", "two"]
    assert report["verdict"] == "passed"
    assert [(one["id"], len(one["rows"])) for one in subject_of(report)["cases"]] == [
        ("a", 2),
        ("b", 1),
    ]
    replayed = json.loads(replay_agent(project))
    assert subject_of(replayed)["cases"] == subject_of(report)["cases"]


def test_a_scenario_is_asked_only_what_it_names(project):
    long = {"id": "long", "kind": "length", "min": 100}
    project.agent_suite(RIGHT, long)
    one = {"name": "s1", "assertions": ["right"]}
    project.cases(case("a", one, {"name": "s2"}))
    rows = rows_by_name(asked(project, Agent()))
    found = {
        name: [(check["id"], check["outcome"]) for check in row["checks"]]
        for (_, name, _), row in rows.items()
    }
    assert found == {
        "s1": [("right", "passed")],
        "s2": [("right", "passed"), ("long", "failed")],
    }
    assert subject_of(json.loads(replay_agent(project)))["checks"]["long"]["failed"] == 1


@pytest.mark.parametrize(
    ("scenarios", "message"),
    [
        (
            [{"name": "s1", "assertions": ["nowhere"]}],
            "scenario `s1`: the assertion `nowhere` cannot be asked: the suite has no assertion of "
            "this id",
        ),
        (
            [{"name": "s1", "assertions": []}],
            "the scenario `s1` names no assertion, so it can never fail",
        ),
        ([{"name": "s1"}, {"name": "s1"}], "the scenario `s1` is there twice"),
        (
            [{"name": "__build_only__"}],
            "the name of scenario 1 cannot be used: 1 to 128 characters, none of them a control "
            "character",
        ),
        (
            [{"name": ""}],
            "the name of scenario 1 cannot be used: 1 to 128 characters, none of them a control "
            "character",
        ),
        (
            [{"name": "s1", "resources": ["\u0007"]}],
            "a resource of the scenario `s1` has no usable name: 1 to 128 characters, none of them "
            "a control character",
        ),
    ],
)
def test_a_scenario_that_cannot_be_run_is_refused(project, scenarios, message):
    told = {"id": "a", "inputs": {}, "expected": "a", "scenarios": scenarios}
    project.cases(told)
    code = "P6104" if "nowhere" in message else "P6101"
    assert problems(project) == [(code, f"case `a`: {message}", "evals/cases.jsonl:1")]


@pytest.mark.parametrize(
    ("scenario", "key"),
    [({"name": "s", "answer": 1}, "answer"), ({"inputs": {}}, "name")],
)
def test_a_scenario_has_a_name_and_no_unknown_key(project, scenario, key):
    project.cases({"id": "a", "inputs": {}, "expected": "a", "scenarios": [scenario]})
    ((code, message, where),) = problems(project)
    assert (code, where) == ("P6101", "evals/cases.jsonl:1")
    assert key in message


@pytest.mark.parametrize(
    ("expectations", "message"),
    [([" "], "an expectation is empty"), ([RED, RED], "an expectation is there twice")],
)
def test_an_expectation_that_says_nothing_is_refused(project, expectations, message):
    project.cases(case("a", expectations=expectations))
    assert problems(project) == [("P6101", f"case `a`: {message}", "evals/cases.jsonl:1")]


def test_expectations_of_a_prompt_are_refused(tmp_path):
    project = AgentProject(tmp_path)
    project.suite()
    project.cases(project.case("a") | {"expectations": [RED]})
    assert problems(project) == [
        (
            "P6104",
            "case `a`: its `expectations` cannot be judged: only a `target` in Python builds "
            "something that they could be about",
            "evals/cases.jsonl:1",
        )
    ]


def test_expectations_without_a_rubric_are_refused(project):
    project.agent_suite(expectations=None)
    project.cases(case("a", "s1", expectations=[RED]))
    assert problems(project) == [
        (
            "P6104",
            "case `a`: its `expectations` cannot be judged: the suite names no rubric for "
            "them; write `expectations: {rubric: ...}`",
            "evals/cases.jsonl:1",
        )
    ]


def test_expectations_of_answers_that_are_there_already_are_refused(project):
    project.write("evals/a.txt", "a")
    project.agent_suite(expectations=None, target=None, outputs={"a": ["a.txt"]})
    suite = json.loads((project.root / "evals/quiz.eval.yaml").read_text())
    del suite["target"]
    project.write("evals/quiz.eval.yaml", json.dumps(suite))
    project.cases(case("a", expectations=[RED]))
    assert problems(project) == [
        (
            "P6104",
            "case `a`: its `expectations` cannot be judged: only a `target` in Python builds "
            "something that they could be about",
            "evals/cases.jsonl:1",
        )
    ]


@pytest.mark.parametrize("how", [{"http": {"url": "http://127.0.0.1:1/x"}}, {"command": ["x"]}])
def test_a_target_that_can_build_nothing_is_asked_nothing_of_builds(project, how):
    built = {"id": "built", "kind": "length", "min": 1}
    suite = {
        "target": {"name": "t"} | how,
        "dataset": "cases.jsonl",
        "assertions": [RIGHT],
        "judge": {"model": "local/judge"},
        "expectations": {"rubric": "judge-build"},
        "buildAssertions": [built],
    }
    project.write("evals/quiz.eval.yaml", json.dumps(suite))
    project.cases(case("a"))
    kind = next(iter(how))
    assert [(code, message) for code, message, _ in problems(project)] == [
        (
            "P6201",
            f"`{key}` are of what a target builds, and `target:{kind}:t` builds nothing",
        )
        for key in ("buildAssertions", "expectations")
    ]


@pytest.mark.parametrize("key", ["expectations", "buildAssertions"])
def test_what_is_asked_of_builds_goes_with_a_target_only(tmp_path, key):
    project = AgentProject(tmp_path)
    value = {"rubric": "judge-build"} if key == "expectations" else [RIGHT | {"id": "built"}]
    project.judged(RIGHT | {"field": "label"}, **{key: value})
    project.cases(project.case("a"))
    (problem, *_) = problems(project)
    assert problem[:2] == ("P6201", f"`{key}` are of what a `target` builds")


def test_a_rubric_that_cannot_be_used_is_the_only_problem(project):
    project.agent_suite(expectations={"rubric": "nowhere"})
    project.cases(case("a", expectations=[RED]))
    ((code, _, where),) = problems(project)
    assert (code, where) == ("P6203", "evals/quiz.eval.yaml:1")


def test_what_an_assertion_on_builds_needs_every_case_must_have(project):
    project.agent_suite(buildAssertions=[RIGHT | {"id": "built"}])
    bare = case("a", "s1")
    del bare["expected"]
    project.cases(bare, case("b", "s1"))
    ((code, message, where),) = problems(project)
    assert (code, where) == ("P6104", "evals/cases.jsonl:1")
    assert message.startswith("case `a`: the assertion `built` cannot be asked about its build: ")


def test_what_an_assertion_on_answers_needs_a_case_without_answers_may_lack(project):
    bare = case("a", expectations=[RED])
    del bare["expected"]
    project.cases(bare)
    assert asked(project, Agent())["verdict"] == "passed"


def test_assertions_on_builds_ask_no_judges(project):
    tone = {"id": "tone", "kind": "llm-judge", "rubric": "judge-tone"}
    project.agent_suite(buildAssertions=[tone])
    project.cases(case("a"))
    ((code, message, where),) = problems(project)
    assert (code, message) == ("P6201", "`tone` asks judges, which assertions on builds do not")
    assert where is not None


def test_ids_of_assertions_on_builds_are_their_own(project):
    project.agent_suite(RIGHT, buildAssertions=[RIGHT])
    project.cases(case("a"))
    ((code, message, _),) = problems(project)
    assert (code, message) == ("P6201", "two assertions have the id `right`")
