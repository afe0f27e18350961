"""What is recorded of an agent: replayed, made anew, planned, paid for."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from agent_support import (
    RIGHT,
    Agent,
    AgentProject,
    agent_session,
    as_replayed,
    ask_agent,
    asked,
    case,
    cases_of,
    replay_agent,
    rows_by_name,
)
from judged_support import FAIL, PASS
from proctor.agent_opening import open_agents, target_price
from proctor.asking_rules import AskingRules
from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode
from proctor.config import load_config
from proctor.errors import ProctorError
from proctor.evaluation import select
from proctor.live_runs import prices_of
from proctor.pipeline import load_exam
from proctor.planning import planned_rows
from proctor.providers.access import Access
from proctor.providers.hosts import HostRules
from proctor.providers.keys import KeyRules
from proctor.providers.pricing import Pricing
from proctor.selecting import Selection
from proctor.spending import planned_calls

RED = "It is red."
BUILT = {"id": "built", "kind": "contains", "values": ["for"]}


@pytest.fixture
def project(tmp_path):
    project = AgentProject(tmp_path)
    project.cases(
        case("a", "s1", "s2", expectations=[RED]), case("b", "s1"), case("c", expectations=[RED])
    )
    return project


def plan(project, mode="record", *, priced=False) -> dict[tuple[str, str], tuple]:
    """What a run would make: by kind and model, the calls, the recorded and those to make."""
    config = load_config(project.root, is_root=True, flags={}, environ={})
    folder = CassetteFolder(project.root, project.root, "evals/cassettes", "evals/cassettes", "")
    with closing(load_exam(config, ())) as exam:
        (selected,) = select(exam, Selection())
        pricing = Pricing(config.values.prices, config.values.providers)
        prices = prices_of([selected], pricing)[0] if priced else None
        return {
            (one.kind.value, one.model): (one.calls, one.recorded, one.to_make)
            if one.worst is None
            else one.worst.usd
            for one in planned_calls(folder, selected, CacheMode(mode), prices)
        }


AGENT, JUDGE = "target:python:agent", "local/judge"


def counts(builds: tuple, answers: tuple, judges: tuple) -> dict:
    return {("build", AGENT): builds, ("answer", AGENT): answers, ("judge", JUDGE): judges}


def test_a_replay_says_the_same_as_the_run_that_recorded(project):
    project.agent_suite(RIGHT, buildAssertions=[BUILT], repeats=2)
    live = ask_agent(project, Agent(), lambda request, call: FAIL if call.take == 1 else PASS)
    replayed = replay_agent(project)
    assert as_replayed(replayed) == as_replayed(live)
    cache = json.loads(live)["suites"][0]["cache"]
    # Per repeat 3 builds, 3 answers and 2 verdicts.
    assert (cache["live"], cache["recorded"], cache["replayed"]) == (True, 16, 0)
    cache = json.loads(replayed)["suites"][0]["cache"]
    assert (cache["live"], cache["recorded"], cache["replayed"]) == (False, 0, 16)
    assert len(project.stored) == 16


def test_a_second_run_asks_nobody(project):
    first = ask_agent(project, Agent())
    stored = project.stored
    again = Agent(build=None)
    second = ask_agent(project, again, lambda *given: 1 / 0)
    assert again.events == [("aclose",)]
    assert as_replayed(second) == as_replayed(first)
    assert json.loads(second)["suites"][0]["cache"]["live"] is False
    assert project.stored == stored


def without(project, *calls: tuple[str, str | None]) -> None:
    """Drop recordings of case `a` by kind of call and scenario."""
    project.cassette(
        *(
            line
            for line in project.stored
            if line["case"] != "a" or (line["call"], line["scenario"]) not in calls
        )
    )


@pytest.mark.parametrize("missing", ["s1", "s2"])
@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_case_that_lacks_an_answer_is_built_anew_for_all_of_its_rows(
    project, missing, concurrency
):
    ask_agent(project, Agent(build=lambda case, repeat: "old"))
    without(project, ("answer", missing))
    agent = Agent(build=lambda case, repeat: "new")
    live = ask_agent(project, agent, concurrency=concurrency)
    assert agent.noted("build") == [("a", 1, None)]
    # Answers about another build are none about this one.
    assert sorted(agent.noted("answer")) == [("a", "s1", 1, None), ("a", "s2", 1, None)]
    assert agent.noted("cleanup") == [("new", None)]
    built = {
        line["case"]: line["answer"]["artifact"]
        for line in project.stored
        if line["call"] == "build"
    }
    assert built == {"a": "new", "b": "old", "c": "old"}
    # What was built anew is what everything is graded by, now and when it is replayed.
    replayed = replay_agent(project)
    assert as_replayed(replayed) == as_replayed(live)
    # The build, its verdict and both answers; the rest was there.
    cache = json.loads(live)["suites"][0]["cache"]
    assert (cache["recorded"], cache["replayed"]) == (4, 4)


def test_what_is_asked_of_a_recorded_build_needs_no_new_one(project):
    project.agent_suite(expectations={"rubric": "judge-build"})
    ask_agent(project, Agent())
    project.cases(
        case("a", "s1", "s2", expectations=[RED, "It is big."]),
        case("b", "s1"),
        case("c", expectations=[RED]),
    )
    agent = Agent(build=None)
    report = asked(project, agent)
    assert agent.events == [("aclose",)]
    assert report["verdict"] == "passed"
    assert report["suites"][0]["cache"]["recorded"] == 1


def test_a_new_repeat_is_built_for_alone(project):
    ask_agent(project, Agent())
    agent = Agent()
    asked(project, agent, repeats=2)
    assert sorted(agent.noted("build")) == [(name, 2, None) for name in "abc"]


def test_a_refresh_asks_for_everything_and_replaces_it(project):
    ask_agent(project, Agent(build=lambda case, repeat: "old"))
    agent = Agent(build=lambda case, repeat: "new")
    live = ask_agent(project, agent, mode="refresh")
    assert len(agent.noted("build")) == 3
    assert {line["answer"]["artifact"] for line in project.stored if line["call"] == "build"} == {
        "new"
    }
    assert as_replayed(replay_agent(project)) == as_replayed(live)


def test_a_run_without_recordings_keeps_nothing(project):
    agent = Agent()
    report = asked(project, agent, mode="off")
    assert report["verdict"] == "passed"
    assert len(agent.noted("build")) == 3
    assert not (project.root / "evals/cassettes/quiz.jsonl").exists()
    cache = report["suites"][0]["cache"]
    assert (cache["live"], cache["recorded"], cache["replayed"]) == (True, 0, 0)
    assert {row["recording"] for row in rows_by_name(report).values()} == {None}


def test_a_miss_in_a_replay_says_what_is_missing(project):
    ask_agent(project, Agent())
    without(project, ("build", None), ("answer", "s2"))
    report = json.loads(replay_agent(project))
    rows = rows_by_name(report)
    assert {key: row["outcome"] for key, row in rows.items()} == {
        ("a", "s1", 1): "errored",
        ("a", "s2", 1): "errored",
        ("b", "s1", 1): "passed",
        ("c", "__build_only__", 1): "passed",
    }
    build, answer = rows["a", "s1", 1]["error"], rows["a", "s2", 1]["error"]
    assert (build["code"], answer["code"]) == ("P6402", "P6402")
    assert build["message"].startswith("no recording of the build: ")
    assert "proctor run quiz --cache record" in build["message"]
    (expected,) = cases_of(report)["a"]["expectations"]
    assert (expected["outcome"], expected["votes"]) == ("unmeasured", [])
    assert report["exit_code"] == 3


def test_a_scenario_that_is_new_is_said_to_be_missing(project):
    project.agent_suite(expectations=None)
    project.cases(case("a", "s1"))
    ask_agent(project, Agent())
    project.cases(case("a", "s1", "s2"))
    rows = rows_by_name(json.loads(replay_agent(project)))
    message = rows["a", "s2", 1]["error"]["message"]
    assert "this case in `s2` is not in evals/cassettes/quiz.jsonl" in message
    assert "--cache record --allow-code` records it" in message


def test_a_build_that_nobody_asks_anything_of_may_be_missing_in_a_replay(project):
    project.agent_suite(expectations=None)
    project.cases(case("a", "s1"), case("b", "s1"))
    ask_agent(project, Agent())
    without(project, ("build", None))
    assert json.loads(replay_agent(project))["verdict"] == "passed"


def test_a_plan_counts_builds_answers_and_verdicts(project):
    assert plan(project) == counts((3, 0, 3), (3, 0, 3), (2, 0, 2))
    assert plan(project, "replay") == counts((3, 0, 0), (3, 0, 0), (2, 0, 0))
    ask_agent(project, Agent())
    assert plan(project) == counts((3, 3, 0), (3, 3, 0), (2, 2, 0))
    assert plan(project, "refresh") == counts((3, 3, 3), (3, 3, 3), (2, 0, 2))


def test_a_plan_counts_what_is_built_anew(project):
    ask_agent(project, Agent())
    without(project, ("answer", "s2"))
    # What the judge of the new build will be told is not known, so that is one more call.
    # Neither do answers about the old build do for the new one.
    assert plan(project) == counts((3, 2, 1), (3, 1, 2), (2, 1, 1))
    agent = Agent()
    report = asked(project, agent)
    assert len(agent.noted("build")) == 1
    # It came out as before, so the verdict on it was there.
    assert report["suites"][0]["cache"]["recorded"] == 3


def test_a_plan_asks_nothing_of_a_build_that_failed(project):
    def build(case, repeat):
        if case.id == "a":
            raise ValueError
        return "built"

    ask_agent(project, Agent(build=build))
    assert plan(project) == counts((3, 3, 0), (1, 1, 0), (1, 1, 0))


@pytest.mark.parametrize(
    ("target", "kinds"),
    [
        ({"maxCostUsd": {"answer": 0}}, {"answer"}),
        ({"maxCostUsd": {"answer": 0, "build": 0}}, {"answer", "build"}),
    ],
)
def test_a_target_may_build_when_its_suite_says_what_that_costs(project, target, kinds):
    project.agent_suite(expectations=None, target=target)
    project.cases(case("a", "s1"))
    assert {kind for kind, _ in plan(project)} == kinds
    ask_agent(project, Agent(build=None))
    # By now it is known that it builds nothing.
    assert plan(project) == {("answer", AGENT): (1, 1, 0)}


def test_an_endpoint_builds_nothing(project):
    http = {"http": {"url": "http://127.0.0.1:1/x"}, "name": "h", "maxCostUsd": {"answer": 0}}
    project.write(
        "evals/quiz.eval.yaml",
        json.dumps({"target": http, "dataset": "cases.jsonl", "assertions": [RIGHT]}),
    )
    project.cases(case("a"))
    assert plan(project, priced=True) == {("answer", "target:http:h"): 0}


def test_a_plan_adds_up_what_a_target_may_cost(project):
    project.agent_suite(
        target={"maxCostUsd": {"build": 0.5, "answer": 0.05}}, judge=None, expectations=None
    )
    project.cases(case("a", "s1", "s2"), case("b", "s1"))
    found = plan(project, priced=True)
    assert found["build", AGENT] == pytest.approx(1.0)
    assert found["answer", AGENT] == pytest.approx(0.15)


def subject(project):
    config = load_config(project.root, is_root=True, flags={}, environ={})
    with closing(load_exam(config, ())) as exam:
        return exam.suites[0].subjects[0]


@pytest.mark.parametrize(
    ("costs", "missing"),
    [
        (None, "build: 0, answer: 0"),
        ({"build": 1}, "build: 1, answer: 0"),
        ({"answer": 1}, "answer: 1, build: 0"),
    ],
)
def test_a_target_whose_cost_nobody_says_is_not_asked(project, costs, missing):
    project.agent_suite(target={"maxCostUsd": costs or {}})
    with pytest.raises(ProctorError) as raised:
        target_price(subject(project))
    assert raised.value.code == "P6501"
    assert raised.value.hint.startswith(f"write `maxCostUsd: {{{missing}}}` into the target")


AGENTS = """\
class Agent:
    def answer(self, case):
        return case.id
"""
BUILDING = """
    def build(self, case):
        return case.id
"""


@pytest.mark.parametrize(
    ("code", "keys", "found"),
    [
        (
            AGENTS,
            {},
            (
                "P6203",
                "the suite asks something of what is built, and `target:python:agent` has no "
                "`build`",
            ),
        ),
        (
            AGENTS + BUILDING,
            {"expectations": None, "target": {"maxCostUsd": {"answer": 0}}},
            ("P6501", "nobody says what `target:python:agent` may cost"),
        ),
        (AGENTS, {"expectations": None}, None),
        (AGENTS + BUILDING, {}, None),
    ],
    ids=["builds nothing", "builds for an unknown cost", "answers", "builds"],
)
def test_opening_a_target_finds_out_whether_it_builds(project, code, keys, found, monkeypatch):
    name = f"agents_{project.root.name.replace('-', '_')}"
    project.write(f"{name}.py", code)
    target = {"python": f"{name}:Agent"} | keys.pop("target", {})
    project.agent_suite(target=target, **keys)
    project.cases(case("a", "s1"))
    config = load_config(project.root, is_root=True, flags={}, environ={})
    with closing(load_exam(config, ())) as exam:
        selected = select(exam, Selection())

        def opened():
            return open_agents(
                selected,
                {("quiz", AGENT)},
                rules=AskingRules(cache=CacheMode.RECORD, allow_code=True),
                access=Access(HostRules.of((), allow_local=False, ports=()), KeyRules.of(())),
                root=project.root,
                note=lambda text: None,
            )

        if found is None:
            assert set(opened()) == {"quiz"}
            return
        with pytest.raises(ProctorError) as raised:
            opened()
    assert (raised.value.code, raised.value.message) == found


def test_what_was_received_is_stored_when_a_session_is_closed_early(project):
    agent = Agent()
    with agent_session(project, agent, concurrency=1) as (_, (suite,), session):
        (one,) = suite.subjects
        rows = planned_rows(suite.suite.dataset, suite.plan)
        next(iter(session.rows("quiz", one, rows, None)))
    stored = {(line["call"], line["case"], line["scenario"]) for line in project.stored}
    assert stored == {("build", "a", None), ("expectation", "a", None), ("answer", "a", "s1")}
    assert agent.events[-2:] == [("teardown", None), ("aclose",)]
    assert len(agent.noted("cleanup")) == len(agent.noted("build"))
