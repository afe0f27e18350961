"""Runs of agents that are stopped: what is in flight, what is let go of, what is kept."""

from __future__ import annotations

import json

import pytest

from agent_support import (
    Agent,
    AgentProject,
    Progress,
    as_replayed,
    ask_agent,
    asked,
    case,
    replay_agent,
    right,
    rows_by_name,
    subject_of,
)
from proctor.running.engine import Stop

RED = "It is red."
LANES = ["http://127.0.0.1:9001", "http://127.0.0.1:9002"]


@pytest.fixture
def project(tmp_path):
    project = AgentProject(tmp_path)
    project.cases(*(case(name, "s1", "s2", expectations=[RED]) for name in "abcd"))
    return project


def stopping(stop: Stop, when):
    """An answer after which the run is stopped, when it is that of a case and scenario."""

    def answer(case, scenario, artifact, repeat):
        if (case.id, scenario.name) == when:
            stop.request()
        return right(case, scenario, artifact, repeat)

    return answer


@pytest.mark.parametrize("concurrency", [1, 2])
def test_a_stop_lets_rows_in_flight_finish_and_lets_go_of_everything(project, concurrency):
    stop = Stop()
    agent = Agent(answer=stopping(stop, ("b", "s1")))
    report = asked(project, agent, stop=stop, concurrency=concurrency)
    assert (report["verdict"], report["exit_code"]) == ("interrupted", 130)
    rows = rows_by_name(report)
    # The first rows go round the cases; what was in flight then has finished.
    assert list(rows) == [("a", "s1", 1), ("b", "s1", 1)]
    assert {row["outcome"] for row in rows.values()} == {"passed"}
    assert subject_of(report)["counts"]["not_run"] == 6
    built = sorted(name for name, *_ in agent.noted("build"))
    assert sorted(artifact["for"] for artifact, _ in agent.noted("cleanup")) == built
    assert agent.events[-2:] == [("teardown", None), ("aclose",)]


def test_a_stop_when_every_row_is_in_flight_leaves_none_out(project):
    stop = Stop()
    report = asked(project, Agent(answer=stopping(stop, ("a", "s1"))), stop=stop, concurrency=16)
    assert report["verdict"] == "passed"


def test_what_was_answered_before_a_stop_is_kept_and_the_next_run_goes_on(project):
    stop = Stop()
    asked(project, Agent(answer=stopping(stop, ("b", "s1"))), stop=stop, concurrency=1)
    assert [(one["call"], one["case"]) for one in project.stored if one["call"] == "answer"] == [
        ("answer", "a"),
        ("answer", "b"),
    ]
    agent = Agent()
    live = ask_agent(project, agent)
    assert json.loads(live)["verdict"] == "passed"
    # What the cases lack is asked of builds, and those of before are gone.
    assert sorted(name for name, *_ in agent.noted("build")) == ["a", "b", "c", "d"]
    assert len(agent.noted("answer")) == 8
    assert as_replayed(replay_agent(project)) == as_replayed(live)


@pytest.mark.parametrize("during", ["build", "answer", "prepare"])
def test_a_call_that_takes_too_long_after_a_stop_is_cancelled(project, during):
    stop = Stop()

    async def forever(*given):
        import asyncio

        stop.request()
        await asyncio.sleep(10_000)

    agent = Agent()
    if during == "build":
        agent = Agent(build=forever)
    elif during == "answer":
        agent = Agent(answer=forever)
    else:

        async def prepare(case, scenario, artifact, lane):
            await forever()

        agent.prepare = prepare
    report = asked(project, agent, stop=stop, timeout_s=100_000, grace_s=5)
    assert report["verdict"] == "interrupted"
    assert rows_by_name(report) == {}
    built = 0 if during == "build" else 4
    assert len(agent.noted("cleanup")) == built
    assert agent.events[-2:] == [("teardown", None), ("aclose",)]


def test_a_stop_ends_what_waits_to_be_tried_again(project):
    stop, progress = Stop(), Progress()

    class Overloaded(Exception):
        status = 503

    def build(case, repeat):
        stop.request()
        raise Overloaded

    report = asked(project, Agent(build=build), stop=stop, progress=progress)
    assert report["verdict"] == "interrupted"
    assert rows_by_name(report) == {}


def test_a_stop_ends_what_waits_for_a_lane(project):
    project.agent_suite(target={"lanes": LANES, "buildsPerLane": 1})
    stop = Stop()
    agent = Agent(answer=stopping(stop, ("a", "s1")))
    report = asked(project, agent, stop=stop)
    assert report["verdict"] == "interrupted"
    assert 1 <= len(rows_by_name(report)) < 8
    assert sorted(lane for (lane,) in agent.noted("teardown")) == LANES
    assert len(agent.noted("cleanup")) == len(agent.noted("build"))


def test_a_stop_ends_what_waits_for_a_resource(project):
    locked = {"name": "s1", "resources": ["crm"]}
    project.cases(*(case(name, dict(locked)) for name in "abcd"))
    stop = Stop()
    agent = Agent(answer=stopping(stop, ("a", "s1")))
    report = asked(project, agent, stop=stop)
    assert report["verdict"] == "interrupted"
    assert [name for name, *_ in rows_by_name(report)] == ["a"]
    assert len(agent.noted("cleanup")) == 4


def test_lanes_that_come_back_take_rows_again(project):
    project.agent_suite(target={"lanes": LANES})
    sick = {"builds": 6}

    def build(case, repeat):
        if sick["builds"]:
            sick["builds"] -= 1
            raise ConnectionRefusedError
        return {"for": case.id}

    progress = Progress()
    agent = Agent(build=build, health=lambda lane: True)
    report = asked(project, agent, concurrency=2, progress=progress)
    assert any("is well again" in note for note in progress.notes)
    outcomes = [row["outcome"] for row in rows_by_name(report).values()]
    assert "passed" in outcomes
    assert set(outcomes) <= {"passed", "errored"}
    assert subject_of(report)["counts"]["not_run"] == 0


@pytest.mark.parametrize("concurrency", [1, 16])
def test_lanes_that_stay_away_end_the_run_and_what_was_answered_is_kept(project, concurrency):
    project.agent_suite(target={"lanes": LANES})
    answered = []

    def answer(case, scenario, artifact, repeat):
        if answered:
            raise ConnectionRefusedError
        answered.append(case.id)
        return right(case, scenario, artifact, repeat)

    progress = Progress()
    agent = Agent(answer=answer, health=lambda lane: False)
    report = asked(project, agent, concurrency=concurrency, progress=progress)
    assert (report["verdict"], report["exit_code"]) == ("unmeasured", 3)
    rows = rows_by_name(report)
    assert [row["outcome"] for row in rows.values()].count("passed") == 1
    assert "P6703" in {row["error"]["code"] for row in rows.values() if row["error"]}
    assert len([line for line in project.stored if line["call"] == "answer"]) == 1
    assert progress.notes[-1].startswith("no lane of the target could be used for 5 minutes")
    assert len(agent.noted("cleanup")) == len(agent.noted("build"))
    assert asked(project, Agent())["verdict"] == "passed"
