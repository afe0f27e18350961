"""Builds of an agent: made once, shared, failed, lost, let go of; and what scenarios wait for."""

from __future__ import annotations

import asyncio
import json

import pytest

from agent_support import (
    RIGHT,
    Agent,
    AgentProject,
    Progress,
    as_replayed,
    ask_agent,
    asked,
    case,
    cases_of,
    replay_agent,
    right,
    rows_by_name,
    subject_of,
)
from proctor.cassettes import CacheMode
from proctor.errors import ProviderError
from proctor.scrubbing import SECRETS

RED = "It is red."
KEY = "agents-own-key-0001"
LANES = ["http://127.0.0.1:9001", "http://127.0.0.1:9002"]


@pytest.fixture
def project(tmp_path):
    SECRETS.add(KEY)
    project = AgentProject(tmp_path)
    project.cases(case("a", "s1", "s2", "s3"), case("b", "s1", "s2"))
    return project


def blames(report: dict) -> dict[tuple, tuple]:
    """Outcome, category, attribution and code of each row."""
    return {
        key: (
            row["outcome"],
            row["category"],
            row["attribution"],
            None if row["error"] is None else row["error"]["code"],
        )
        for key, row in rows_by_name(report).items()
    }


def raising(error: Exception, *cases: str):
    """What builds for all cases but some, for which it raises."""

    def build(case, repeat):
        if case.id in cases:
            raise error
        return {"for": case.id}

    return build


@pytest.mark.parametrize("concurrency", [1, 2, 16])
def test_rows_of_a_case_and_repeat_share_a_build(project, concurrency):
    project.agent_suite(repeats=2)
    seen = {}

    def answer(case, scenario, artifact, repeat):
        seen.setdefault((case.id, repeat), []).append(artifact)
        return right(case, scenario, artifact, repeat)

    agent = Agent(answer=answer)
    report = asked(project, agent, concurrency=concurrency)
    assert report["verdict"] == "passed"
    assert sorted(agent.noted("build")) == [
        ("a", 1, None),
        ("a", 2, None),
        ("b", 1, None),
        ("b", 2, None),
    ]
    for (name, repeat), artifacts in seen.items():
        assert artifacts == [{"for": name, "repeat": repeat}] * (3 if name == "a" else 2)
        assert len({id(artifact) for artifact in artifacts}) == 1


def test_a_build_is_recorded_as_a_call_of_its_own(project):
    ask_agent(project, Agent())
    builds = [line for line in project.stored if line["call"] == "build"]
    assert [(one["case"], one["scenario"], one["take"]) for one in builds] == [
        ("a", None, 1),
        ("b", None, 1),
    ]
    assert builds[0]["model"] == "target:python:agent"
    assert builds[0]["answer"]["artifact"] == {"for": "a", "repeat": 1}
    assert builds[0]["answer"]["text"] is None
    assert [line["scenario"] for line in project.stored if line["call"] == "answer"] == [
        "s1",
        "s2",
        "s3",
        "s1",
        "s2",
    ]


def test_cases_of_the_same_inputs_share_a_build(project):
    project.cases(case("a", "s1", inputs={"n": 1}), case("b", "s2", inputs={"n": 1}))
    agent = Agent(answer=lambda case, scenario, artifact, repeat: f"{case.id}/{scenario.name}")
    report = asked(project, agent)
    assert report["verdict"] == "passed"
    assert agent.noted("build") == [("a", 1, None)]
    assert report["suites"][0]["cache"]["recorded"] == 3
    assert report["suites"][0]["cache"]["replayed"] == 1
    assert len(agent.noted("cleanup")) == 1


@pytest.mark.parametrize(
    ("error", "category"),
    [(ValueError("no"), "build_failure"), (TimeoutError(), "build_timeout")],
)
@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_build_that_fails_fails_each_of_its_rows(project, error, category, concurrency):
    agent = Agent(build=raising(error, "a"))
    live = ask_agent(project, agent, concurrency=concurrency)
    report = json.loads(live)
    failed = ("failed", category, "target", "P6702")
    assert blames(report) == {
        ("a", "s1", 1): failed,
        ("a", "s2", 1): failed,
        ("a", "s3", 1): failed,
        ("b", "s1", 1): ("passed", None, None, None),
        ("b", "s2", 1): ("passed", None, None, None),
    }
    assert (report["verdict"], report["exit_code"]) == ("failed", 1)
    assert len(agent.noted("build")) == 2
    assert subject_of(report)["categories"] == {category: 3}
    # Of what failed there is nothing to let go.
    assert agent.noted("cleanup") == [({"for": "b"}, None)]
    assert as_replayed(replay_agent(project)) == as_replayed(live)


def test_a_recorded_failure_is_not_asked_for_again(project):
    first = ask_agent(project, Agent(build=raising(ValueError("no"), "a")))
    again = Agent()
    second = ask_agent(project, again)
    assert again.events == [("aclose",)]
    assert as_replayed(second) == as_replayed(first)


def test_a_refresh_makes_a_failed_build_again(project):
    ask_agent(project, Agent(build=raising(ValueError("no"), "a")))
    report = asked(project, Agent(), mode="refresh")
    assert report["verdict"] == "passed"
    assert json.loads(replay_agent(project))["verdict"] == "passed"


def test_the_message_of_an_exception_stays_out_of_report_and_recording(project):
    live = ask_agent(project, Agent(build=raising(ValueError("the customer is Ann"), "a")))
    assert b"Ann" not in live
    assert "ValueError" in live.decode()
    assert "Ann" not in json.dumps(project.stored)


@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_build_lost_on_the_way_is_made_again_by_the_next_row(project, concurrency):
    left = [3]

    def build(case, repeat):
        if case.id == "a" and left[0]:
            left[0] -= 1
            raise ConnectionResetError
        return {"for": case.id}

    agent = Agent(build=build)
    report = asked(project, agent, concurrency=concurrency)
    lost = ("errored", "framework_issue", "lane", "P6702")
    passed = ("passed", None, None, None)
    # At once, all three rows of the case wait for the build that was lost.
    others = passed if concurrency == 1 else lost
    assert blames(report) == {
        ("a", "s1", 1): lost,
        ("a", "s2", 1): others,
        ("a", "s3", 1): others,
        ("b", "s1", 1): passed,
        ("b", "s2", 1): passed,
    }
    made = [name for name, *_ in agent.noted("build")]
    assert made.count("a") == (4 if concurrency == 1 else 3)
    assert (report["verdict"], report["exit_code"]) == ("unmeasured", 3)


def test_a_build_lost_to_an_outage_is_tried_three_times_and_stays_lost(project):
    class Overloaded(Exception):
        status = 529

    progress = Progress()
    agent = Agent(build=raising(Overloaded(), "a"))
    report = asked(project, agent, concurrency=1, progress=progress)
    lost = ("errored", "framework_issue", "provider", "P6702")
    assert {blames(report)["a", name, 1] for name in ("s1", "s2", "s3")} == {lost}
    assert [name for name, *_ in agent.noted("build")].count("a") == 3
    assert [wait[:2] for wait in progress.waits] == [(30.0, 2), (90.0, 3)]
    # Nothing is recorded of it, so the next run asks again.
    assert [line["case"] for line in project.stored if line["call"] == "build"] == ["b"]
    assert asked(project, Agent())["verdict"] == "passed"


@pytest.mark.parametrize(
    ("complexity", "seconds", "outcome"),
    [
        ("simple", 10.5, "failed"),
        ("simple", 9.5, "passed"),
        ("complex", 14.5, "passed"),
        ("complex", 15.5, "failed"),
    ],
)
def test_a_complex_case_may_build_half_as_long_again(project, complexity, seconds, outcome):
    project.agent_suite(target={"timeout": 10})
    project.cases(case("a", "s1", complexity=complexity))
    report = asked(project, Agent(takes_s=(seconds, 1)), timeout_s=1)
    category = None if outcome == "passed" else "build_timeout"
    assert blames(report)["a", "s1", 1][:2] == (outcome, category)


@pytest.mark.parametrize(("complexity", "answers"), [("simple", 2), ("complex", 1)])
def test_a_scenario_that_takes_too_long_is_tried_once_more(project, complexity, answers):
    project.cases(case("a", "s1", complexity=complexity))
    agent = Agent(takes_s=(1, 70))
    report = asked(project, agent, timeout_s=60)
    assert len(agent.noted("answer")) == answers
    assert len(agent.noted("prepare")) == answers
    timed_out = ("errored", "timeout", "target", "P6701")
    passed = ("passed", None, None, None)
    assert blames(report)["a", "s1", 1] == (timed_out if answers == 2 else passed)


def test_what_prepare_raises_is_no_fault_of_the_target(project):
    def prepare(case, scenario):
        if (case.id, scenario.name) == ("a", "s2"):
            raise ValueError

    report = asked(project, Agent(prepare=prepare))
    assert blames(report)["a", "s2", 1] == ("errored", "framework_issue", "framework", "P6701")
    assert [row for row in blames(report).values() if row[0] == "passed"] == [
        ("passed", None, None, None)
    ] * 4
    assert report["exit_code"] == 3


def test_what_setup_raises_spoils_rows_and_ends_nothing(project):
    def setup(lane):
        raise ValueError

    agent = Agent(setup=setup)
    report = asked(project, agent)
    assert set(blames(report).values()) == {
        ("errored", "framework_issue", "framework", "P6701"),
    }
    assert agent.noted("teardown") == []


@pytest.mark.parametrize(
    "answer",
    [
        lambda *given: None,
        lambda *given: object(),
        lambda *given: 1 / 0,
        lambda *given: "x" * 2_000_000,
        lambda *given: {"text": 5},
        lambda *given: KEY,
    ],
    ids=["nothing", "no JSON", "raises", "too long", "wrong", "a key"],
)
def test_rubbish_spoils_its_own_row_only(project, answer):
    def some(case, scenario, artifact, repeat):
        if (case.id, scenario.name) == ("a", "s2"):
            return answer(case)
        return right(case, scenario, artifact, repeat)

    report = asked(project, Agent(answer=some))
    found = blames(report)
    assert found.pop(("a", "s2", 1))[:3] == ("errored", "framework_issue", "target")
    assert set(found.values()) == {("passed", None, None, None)}
    assert KEY not in json.dumps(project.stored)


@pytest.mark.parametrize(
    "built",
    [
        lambda case: 1 / 0,
        lambda case: KEY,
        lambda case: "x" * 2_000_000,
    ],
    ids=["raises", "a key", "too long"],
)
def test_a_build_of_rubbish_spoils_the_rows_of_its_case_only(project, built):
    agent = Agent(build=lambda case, repeat: built(case) if case.id == "a" else {"for": case.id})
    found = blames(asked(project, agent))
    assert {found["b", name, 1] for name in ("s1", "s2")} == {("passed", None, None, None)}
    assert {found["a", name, 1][2] for name in ("s1", "s2", "s3")} == {"target"}
    assert {found["a", name, 1][0] for name in ("s1", "s2", "s3")} <= {"failed", "errored"}
    assert KEY not in json.dumps(project.stored)


def test_an_artifact_may_be_any_object(project):
    thing = object()
    seen = []

    def answer(case, scenario, artifact, repeat):
        seen.append(artifact is thing)
        return right(case, scenario, artifact, repeat)

    live = ask_agent(project, Agent(build=lambda case, repeat: thing, answer=answer))
    assert seen == [True] * 5
    assert as_replayed(replay_agent(project)) == as_replayed(live)
    assert [one["answer"]["artifact"] for one in project.stored if one["call"] == "build"] == [
        None,
        None,
    ]


def test_a_build_is_let_go_of_after_its_last_row(project):
    agent = Agent()
    asked(project, agent, concurrency=1)
    kinds = [(kind, *rest[:2]) for kind, *rest in agent.events if kind in ("answer", "cleanup")]
    first = kinds.index(("cleanup", {"for": "b", "repeat": 1}, None))
    # a/s1, b/s1, a/s2, b/s2 and then the last row of a.
    assert [one[1] for one in kinds[:first]] == ["a", "b", "a", "b"]
    assert len(agent.noted("cleanup")) == 2
    assert agent.events[-2:] == [("teardown", None), ("aclose",)]


def test_what_would_not_go_is_tried_once_more_at_the_end(project):
    progress = Progress()
    agent = Agent(cleanup=lambda artifact: artifact["for"] == "b")
    report = asked(project, agent, progress=progress)
    assert report["verdict"] == "passed"
    assert [artifact["for"] for artifact, _ in agent.noted("cleanup")].count("a") == 2
    assert progress.notes == ["1 build could not be cleaned up"]


def test_what_cleanup_raises_changes_no_row(project):
    def cleanup(artifact):
        raise OSError

    agent = Agent(cleanup=cleanup)
    assert asked(project, agent)["verdict"] == "passed"
    assert len(agent.noted("cleanup")) == 4


def test_nothing_is_let_go_of_when_builds_are_kept(project):
    agent = Agent()
    assert asked(project, agent, keep=True)["verdict"] == "passed"
    assert agent.noted("cleanup") == []
    assert agent.noted("teardown") == [(None,)]


def test_a_target_that_builds_nothing_is_asked_as_it_is(project):
    project.cases(case("a"), case("b", "s1"))
    live = ask_agent(project, Agent(build=None))
    assert json.loads(live)["verdict"] == "passed"
    assert [line["call"] for line in project.stored] == ["answer", "answer"]
    assert as_replayed(replay_agent(project)) == as_replayed(live)


def test_expectations_of_a_target_that_builds_nothing_cannot_be_judged(project):
    project.cases(case("a", "s1", "s2", expectations=[RED]), case("b", expectations=[RED]))
    report = asked(project, Agent(build=None))
    assert blames(report) == {
        ("a", "s1", 1): ("errored", "framework_issue", "target", "P6701"),
        ("a", "s2", 1): ("passed", None, None, None),
        ("b", "__build_only__", 1): ("errored", "framework_issue", "target", "P6701"),
    }
    assert [one["outcome"] for one in cases_of(report)["a"]["expectations"]] == ["unmeasured"]


def test_an_error_of_ours_names_itself(project):
    def answer(*given):
        raise ProviderError("the key is not accepted", code="P6308")

    report = asked(project, Agent(answer=answer))
    assert set(blames(report).values()) == {
        ("errored", "framework_issue", "framework", "P6308"),
    }


def test_checks_of_a_build_stay_when_its_first_row_has_no_answer(project):
    mild = {"id": "named", "kind": "contains", "values": ["for"]}
    strict = {"id": "red", "kind": "contains", "values": ["red"], "severity": "fail"}
    project.agent_suite(RIGHT, buildAssertions=[mild, strict])
    project.cases(case("a", "s1"), case("b", "s1"))

    def answer(case, scenario, artifact, repeat):
        raise ValueError

    def build(case, repeat):
        return {"for": case.id, "colour": "red" if case.id == "b" else "blue"}

    report = asked(project, Agent(build=build, answer=answer))
    assert blames(report) == {
        ("a", "s1", 1): ("failed", "builder_issue", "target", "P6701"),
        ("b", "s1", 1): ("errored", "framework_issue", "target", "P6701"),
    }
    checks = subject_of(report)["checks"]
    assert (checks["named"]["passed"], checks["red"]["passed"]) == (2, 1)
    assert checks["red"]["failed"] == 1


def test_without_recordings_each_case_has_a_build_of_its_own(project):
    project.cases(case("a", "s1", inputs={"n": 1}), case("b", "s2", inputs={"n": 1}))
    agent = Agent()
    report = asked(project, agent, mode=CacheMode.OFF)
    assert report["verdict"] == "passed"
    assert sorted(agent.noted("build")) == [("a", 1, None), ("b", 1, None)]


def test_what_was_said_before_makes_two_builds_of_the_same_inputs(project):
    project.cases(
        *(
            case(name, "s1", inputs={"n": 1}, conversation=[{"role": "user", "text": name}])
            for name in ("a", "b")
        )
    )
    agent = Agent()
    report = asked(project, agent)
    assert report["verdict"] == "passed"
    assert sorted(agent.noted("build")) == [("a", 1, None), ("b", 1, None)]
    assert report["suites"][0]["cache"]["recorded"] == 4


@pytest.mark.parametrize("lane", [None, "http://127.0.0.1:9001"])
def test_getting_a_lane_ready_has_the_time_of_a_call(project, lane):
    class Slow(Agent):
        async def setup(self, lane):
            await asyncio.sleep(100)

    project.agent_suite(target={"timeout": 2, "lanes": [] if lane is None else [lane]})
    report = asked(project, Slow())
    assert {row[0] for row in blames(report).values()} == {"errored"}
