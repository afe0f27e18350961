"""What agents may cost: reserved, settled, split, and never more than there is."""

from __future__ import annotations

import json
from random import Random

import pytest

from agent_support import (
    Agent,
    AgentProject,
    Progress,
    asked,
    case,
    replay_agent,
    right,
    rows_by_name,
    subject_of,
)
from proctor.providers.budget import Budget

RED = "It is red."


@pytest.fixture
def project(tmp_path):
    project = AgentProject(tmp_path)
    project.cases(
        case("a", "s1", "s2", expectations=[RED]), case("b", "s1"), case("c", expectations=[RED])
    )
    return project


COSTS = {"maxCostUsd": {"build": 0.5, "answer": 0.05}}


def priced(answer_usd=None, build_usd=None) -> Agent:
    return Agent(
        build=lambda case, repeat: _Built(case.id, build_usd),
        answer=lambda *given: {"text": right(*given), "cost_usd": answer_usd},
    )


class _Built:
    def __init__(self, artifact, cost_usd) -> None:
        self.artifact, self.cost_usd = artifact, cost_usd


def test_what_a_target_costs_is_split_into_paid_and_replayed(project):
    project.agent_suite(target=COSTS)
    live = asked(project, priced(0.01, 0.25), budget=Budget(10.0))
    cost = subject_of(live)["cost"]
    # Three builds, three answers.
    assert cost["answers"] == pytest.approx(0.78)
    assert (cost["paid"], cost["replayed"], cost["unknown"]) == (pytest.approx(0.78), 0, 0)
    cost = subject_of(json.loads(replay_agent(project)))["cost"]
    assert cost["answers"] == pytest.approx(0.78)
    assert (cost["paid"], cost["replayed"]) == (0, pytest.approx(0.78))


def test_what_nobody_says_the_cost_of_is_unknown_and_counts_at_its_most(project):
    project.agent_suite(target=COSTS)
    budget = Budget(10.0)
    report = asked(project, priced(), budget=budget)
    assert subject_of(report)["cost"]["unknown"] == 6
    assert budget.spent_usd == pytest.approx(3 * 0.5 + 3 * 0.05)


def test_unknown_costs_of_builds_and_answers_count_in_a_threshold(project):
    project.agent_suite(target=COSTS, thresholds={"maxCostUsd": 2})
    report = asked(project, priced(), budget=Budget(10.0))
    (found,) = [one for one in report["suites"][0]["thresholds"] if one["name"] == "maxCostUsd"]
    assert found["actual"] == pytest.approx(3 * 0.5 + 3 * 0.05)
    (warning,) = report["suites"][0]["warnings"]
    assert warning["message"] == "6 calls had no recorded cost and counted as their worst case"


def test_rows_without_money_are_errored_and_the_next_run_goes_on(project):
    project.agent_suite(target=COSTS)
    progress = Progress()
    report = asked(project, priced(0.05, 0.5), budget=Budget(0.7), concurrency=1, progress=progress)
    rows = rows_by_name(report)
    found = {key: row["error"] and row["error"]["code"] for key, row in rows.items()}
    # A build and the first answer cost 0.55; another build would be 1.05.
    assert found == {
        ("a", "s1", 1): None,
        ("b", "s1", 1): "P6503",
        ("a", "s2", 1): None,
        ("c", "__build_only__", 1): "P6503",
    }
    assert report["exit_code"] == 3
    assert max(progress.spent) == pytest.approx(0.6)
    again = Agent()
    assert asked(project, again, budget=Budget(5.0))["verdict"] == "passed"
    assert sorted(name for name, *_ in again.noted("build")) == ["b", "c"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_the_budget_is_never_passed(tmp_path, seed):
    random = Random(seed)  # noqa: S311 - a test that can be repeated
    project = AgentProject(tmp_path)
    build_usd, answer_usd = random.choice([0.5, 0.125]), random.choice([0.05, 0.25])
    project.agent_suite(
        target={"maxCostUsd": {"build": build_usd, "answer": answer_usd}}, repeats=2
    )
    project.cases(
        *(
            case(f"c{number}", *(f"s{one}" for one in range(random.randint(1, 4))))
            for number in range(25)
        )
    )

    def some(most):
        return random.choice([None, most, most / 2, 0])

    async def answer(*given):
        if random.random() < 0.2:
            raise random.choice([ConnectionResetError, ValueError])
        return {"text": right(*given), "cost_usd": some(answer_usd)}

    def build(case, repeat):
        if random.random() < 0.2:
            raise random.choice([ConnectionResetError, ValueError, TimeoutError])
        return _Built(case.id, some(build_usd))

    limit = random.uniform(1, 12)
    budget, progress = Budget(limit), Progress()
    report = asked(
        project,
        Agent(build=build, answer=answer),
        budget=budget,
        concurrency=50,
        progress=progress,
    )
    assert max(progress.spent) <= limit
    known = subject_of(report)["cost"]["paid"] or 0
    assert known <= budget.spent_usd + 1e-9
    assert budget.spent_usd <= limit


@pytest.mark.parametrize("limit", [None, 1.0])
def test_a_target_that_costs_what_its_suite_denies_is_asked_no_more(project, limit):
    project.agent_suite(expectations=None)
    project.cases(*(case(name) for name in "abcd"))
    agent = Agent(
        build=None,
        answer=lambda case, *rest: {"text": case.id, "cost_usd": 5},
    )
    report = asked(project, agent, concurrency=1, budget=None if limit is None else Budget(limit))
    assert len(agent.noted("answer")) == 1
    rows = rows_by_name(report).values()
    assert {row["error"]["code"] for row in rows} == {"P6503"}
