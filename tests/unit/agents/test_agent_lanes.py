"""Where and when rows of agents run: lanes, resources, how many at once; and that reports agree."""

from __future__ import annotations

import asyncio
import json

import pytest

from agent_support import (
    Agent,
    AgentProject,
    ask_agent,
    asked,
    case,
    replay_agent,
    right,
    rows_by_name,
    subject_of,
)

RED = "It is red."
LANES = ["http://127.0.0.1:9001", "http://127.0.0.1:9002"]


@pytest.fixture
def project(tmp_path):
    project = AgentProject(tmp_path)
    project.cases(case("a", "s1", "s2", "s3"), case("b", "s1", "s2"))
    return project


def test_scenarios_of_one_resource_never_overlap_and_others_do(project):
    using = {"crm": 0, "most": 0, "others": 0}

    async def answer(case, scenario, artifact, repeat):
        key = "crm" if "crm" in scenario.resources else "others"
        using[key] += 1
        using["most"] = max(using["most"], using["others"])
        if key == "crm":
            assert using["crm"] == 1
        await asyncio.sleep(5)
        using[key] -= 1
        return right(case, scenario, artifact, repeat)

    project.cases(
        *(
            case(name, {"name": "locked", "resources": ["crm", name]}, {"name": "free"})
            for name in "abcd"
        )
    )
    report = asked(project, Agent(answer=answer))
    assert report["verdict"] == "passed"
    assert using["most"] == 4


def test_a_suite_that_is_exclusive_runs_one_row_at_a_time(project):
    project.agent_suite(exclusive=True)
    agent = Agent()
    assert asked(project, agent, concurrency=16)["verdict"] == "passed"
    assert agent.most == 1


def test_no_more_rows_are_in_flight_than_are_allowed(project):
    project.cases(*(case(name, "s1", "s2") for name in "abcdefgh"))
    agent = Agent()
    asked(project, agent, concurrency=3)
    assert agent.most == 3


@pytest.mark.parametrize("lanes", [[], LANES])
def test_a_report_is_the_same_at_any_concurrency(tmp_path, lanes):
    reports = set()
    for concurrency in (1, 3, 16):
        project = AgentProject(tmp_path / str(concurrency))
        project.agent_suite(repeats=3, target={"lanes": lanes} if lanes else {})
        project.cases(
            *(case(name, "s1", "s2", expectations=[RED]) for name in "abc"),
            case("d", expectations=[RED, "It is big."]),
            case("e"),
        )

        def answer(case, scenario, artifact, repeat):
            if (case.id, repeat) == ("b", 2):
                raise ValueError
            return "wrong" if repeat == 3 else right(case, scenario, artifact, repeat)

        def build(case, repeat):
            if (case.id, repeat) == ("c", 1):
                raise ValueError
            return {"for": case.id, "repeat": repeat}

        agent = Agent(build=build, answer=answer)
        reports.add(ask_agent(project, agent, concurrency=concurrency))
        replayed = replay_agent(project)
        # What raised is no recording; all else is as it was.
        assert replayed.count(b"P6402") == 2
    (one,) = reports
    assert subject_of(json.loads(one))["counts"]["rows"] == 24


def test_rows_stay_on_the_lane_of_their_build(project):
    project.agent_suite(target={"lanes": LANES})
    agent = Agent()
    assert asked(project, agent)["verdict"] == "passed"
    lanes = {name: lane for name, _, lane in agent.noted("build")}
    assert set(lanes.values()) == set(LANES)
    for name, _, _, lane in agent.noted("answer"):
        assert lane == lanes[name]
    assert {lane for _, lane in agent.noted("cleanup")} == set(LANES)
    assert sorted(agent.noted("teardown")) == [(lane,) for lane in LANES]


def test_rows_that_no_lane_takes_are_errored_and_the_run_ends(project):
    project.agent_suite(target={"lanes": LANES})

    def build(case, repeat):
        raise ConnectionRefusedError

    agent = Agent(build=build, health=lambda lane: False)
    finished = []
    report = asked(
        project,
        agent,
        concurrency=2,
        on_finished=lambda suite, subject, ran: finished.append(ran.result.error.code),
    )
    assert (report["verdict"], report["exit_code"]) == ("unmeasured", 3)
    codes = [row["error"]["code"] for row in rows_by_name(report).values()]
    assert codes.count("P6703") >= 3
    assert set(codes) <= {"P6702", "P6703"}
    # Who goes on with the run has the rows that no lane took still before them.
    assert "P6703" not in finished
    assert agent.noted("aclose") == [()]
