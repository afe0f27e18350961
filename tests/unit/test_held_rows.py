"""Rows that are held come back as they were, case by case."""

from msgspec.structs import replace

from proctor.held_rows import HeldRows
from proctor.protocols import PlannedRow, RanRow
from proctor.records import Case, Outcome, RowResult, Scenario, model_answer
from proctor.strict_json import MAX_DEPTH

SCENARIOS = [Scenario("s1"), Scenario("s2")]
WHOLE = Case("a", {}, scenarios=SCENARIOS)


def ran(scenario, repeat, evidence=None):
    planned = PlannedRow(0, WHOLE.in_scenario(scenario), repeat, scenario, WHOLE)
    answer = replace(model_answer("yes"), evidence=evidence)
    result = RowResult(
        scenario=scenario.name,
        repeat=repeat,
        outcome=Outcome.PASSED,
        category=None,
        attribution=None,
        answer=answer,
        recording=None,
        checks=[],
        usage=None,
        cost_usd=None,
        latency_ms=None,
        error=None,
    )
    return RanRow(planned, result, asked=True)


def test_scenarios_of_a_case_come_together_in_its_order():
    held = HeldRows()
    for row in (ran(SCENARIOS[0], 2), ran(SCENARIOS[1], 1), ran(SCENARIOS[0], 1)):
        held.add(row)
    assert list(held.by_case()) == [
        [ran(SCENARIOS[0], 1), ran(SCENARIOS[0], 2), ran(SCENARIOS[1], 1)]
    ]


def test_what_is_deeper_than_what_may_be_read_elsewhere_comes_back_with_a_lone_surrogate_in_it():
    evidence = "\ud83d"
    for _ in range(MAX_DEPTH):
        evidence = [evidence]
    row = ran(SCENARIOS[0], 1, evidence)
    held = HeldRows()
    held.add(row)
    assert list(held.by_case()) == [[row]]
