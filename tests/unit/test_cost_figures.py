"""What `proctor cost` makes of a report, above all of one of a target."""

from __future__ import annotations

import json

import pytest

from agent_support import Agent, AgentProject, ask_agent, case
from proctor.cost_figures import cost_figures
from proctor.records import Tokens, Usage
from proctor.records.targets import Build, TargetAnswer
from proctor.report_files import open_report
from tracker_support import called

COSTS = {("a", "first"): 0.01, ("a", "second"): 0.03, ("b", "first"): 0.05, ("b", "second"): 0.03}


@pytest.fixture
def agents(tmp_path):
    project = AgentProject(tmp_path)
    project.cases(case("a", "first", "second"), case("b", "first", "second"))
    return project


def costing(costs, build_usd):
    """An agent whose answers and builds cost so much; None is not known."""

    def answer(case, scenario, artifact, repeat):
        name = f"{case.id}/{scenario.name}"
        return TargetAnswer(text=name, cost_usd=costs[case.id, scenario.name])

    def build(case, repeat):
        return Build({"for": case.id}, cost_usd=build_usd)

    return Agent(build=build, answer=answer)


def priced(project, *, build):
    """Say that answers, and builds, may cost something."""
    most = {"answer": 1, "build": build}
    project.agent_suite(target={"maxCostUsd": most})


def figures(project, agent, **options):
    (project.root / "report.json").write_bytes(ask_agent(project, agent, **options))
    with open_report(project.root / "report.json") as report:
        (found,) = cost_figures(report.head, report.cases())
    return found


def test_of_what_is_built_for_nothing_the_rows_of_a_build_are_added_up(agents):
    """The two builds: 0.01 + 0.03 and 0.05 + 0.03."""
    priced(agents, build=0)
    found = figures(agents, costing(COSTS, None))
    assert (found.builds, found.unknown) == (2, 0)
    assert (found.mean, found.median) == (pytest.approx(0.06), pytest.approx(0.06))
    assert found.answers == pytest.approx(0.12)
    assert found.per_green == pytest.approx(0.12)


def test_each_repeat_is_a_build_of_its_own(agents):
    priced(agents, build=0)
    found = figures(agents, costing(COSTS, None), repeats=3)
    assert (found.builds, found.green) == (6, 3)
    assert found.mean == pytest.approx(0.06)
    assert found.per_green == pytest.approx(0.12)


def test_what_a_build_cost_is_in_the_mean_and_of_the_median_nothing_is_known(agents):
    """Two builds for 0.2 each and 0.12 of answers are 0.52, by two."""
    priced(agents, build=1)
    found = figures(agents, costing(COSTS, 0.2))
    assert found.mean == pytest.approx(0.26)
    assert found.median is None
    assert found.per_green == pytest.approx(0.52)


@pytest.mark.parametrize("build_usd", [None, 0.2])
def test_what_is_not_known_is_never_0(agents, build_usd):
    priced(agents, build=1)
    costs = COSTS | {("b", "first"): None}
    found = figures(agents, costing(costs, build_usd))
    assert (found.mean, found.median, found.per_green) == (None, None, None)
    assert found.unknown == (1 if build_usd else 3)
    capped = (found.builds, found.answers)
    assert capped == (1, pytest.approx(0.07 + (0.4 if build_usd else 0)))


def test_without_any_known_cost_every_figure_is_a_dash(agents, capfd):
    priced(agents, build=1)
    figures(agents, costing(dict.fromkeys(COSTS), None))
    capfd.readouterr()
    assert called(agents, "cost", "report.json") == 0
    _, row = capfd.readouterr().out.splitlines()
    assert row.split()[2] == "-"
    assert row.split()[-3:] == ["-", "-", "-"]


def test_tokens_are_counted_by_their_class(agents, capfd):
    """Four answers of 10 tokens in, 2 of them cached, and 5 out; of two builds it is not known."""

    def answer(case, scenario, artifact, repeat):
        return TargetAnswer(text=f"{case.id}/{scenario.name}", usage=Usage(10, 5, 2))

    priced(agents, build=0)
    found = figures(agents, Agent(answer=answer))
    assert found.tokens == Tokens(input=40, output=20, cached=8, unknown=2)
    capfd.readouterr()
    called(agents, "cost", "report.json", "--format", "json")
    (report,) = json.loads(capfd.readouterr().out)["reports"]
    (subject,) = report["subjects"]
    assert subject["tokens"] == {"input": 40, "output": 20, "cached": 8, "unknown": 2}
