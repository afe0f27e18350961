import pytest
from msgspec.structs import replace

from proctor.config import Price
from proctor.errors import DatasetError
from proctor.planning import BUILD, MAX_ROWS, Plan, plan_rows, worst_cost_usd
from proctor.records import BUILD_ONLY, Message, ModelChoice, Request, ToolSpec

PRICE = Price(input=1.0, output=5.0)


def request(content, *, schema=None, **params):
    return Request(
        model=ModelChoice(ref="local/tiny", params=params),
        messages=(Message(role="user", content=content),),
        output_schema=schema,
    )


def rows_of(plan):
    assert all(item.scenario is None for item, _ in plan.rows_of_subject())
    return [(item.place, repeat) for item, repeat in plan.rows_of_subject()]


def test_rows_go_case_by_case_and_within_a_case_repeat_by_repeat():
    plan = Plan(subjects=2, places=[0, 1], repeats=3)
    assert rows_of(plan) == [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]
    assert plan.rows == 12


def test_a_row_is_run_once_unless_it_is_repeated():
    plan = plan_rows(suite="quiz", subjects=2, places=range(3))
    assert rows_of(plan) == [(0, 1), (1, 1), (2, 1)]
    assert plan.rows == 6


def test_repeats_of_a_case_stay_together():
    plan = plan_rows(suite="quiz", subjects=1, places=[4, 7], repeats=2)
    assert rows_of(plan) == [(4, 1), (4, 2), (7, 1), (7, 2)]
    assert plan.rows == 4


SHAPES = {0: ("s1", "s2", "s3"), 1: ("s1", "s2"), 2: (BUILD_ONLY,)}


def test_scenarios_go_round_the_cases_and_builds_alone_come_last():
    plan = plan_rows(suite="quiz", subjects=1, places=range(4), shapes=SHAPES)
    plain, build = (3, None), (2, BUILD)
    assert list(plan.items_of_subject()) == [
        (0, 0), (1, 0), plain, (0, 1), (1, 1), (0, 2), build,
    ]  # fmt: skip
    assert plan.rows == 7


def test_repeats_of_a_scenario_follow_one_another():
    plan = plan_rows(suite="quiz", subjects=2, places=[1, 2], repeats=2, shapes=SHAPES)
    first, second, build = (1, 0), (1, 1), (2, BUILD)
    assert list(plan.rows_of_subject()) == [
        (first, 1), (first, 2), (second, 1), (second, 2), (build, 1), (build, 2),
    ]  # fmt: skip
    assert (plan.rows, plan.rows_of_one) == (12, 6)


def test_scenarios_count_towards_the_million():
    shapes = {0: tuple(f"s{number}" for number in range(1_001))}
    with pytest.raises(DatasetError) as caught:
        plan_rows(suite="quiz", subjects=1, places=[0], repeats=1_000, shapes=shapes)
    assert caught.value.code == "P6102"


def test_repeats_count_towards_the_million():
    assert plan_rows(suite="quiz", subjects=1, places=range(1_000), repeats=1_000).rows == MAX_ROWS
    with pytest.raises(DatasetError) as caught:
        plan_rows(suite="quiz", subjects=1, places=range(1_001), repeats=1_000)
    assert caught.value.code == "P6102"


def test_a_million_rows_are_planned_and_not_one_more():
    assert plan_rows(suite="quiz", subjects=2, places=range(MAX_ROWS // 2)).rows == 1_000_000
    with pytest.raises(DatasetError) as caught:
        plan_rows(suite="quiz", subjects=3, places=range(333_334))
    assert caught.value.code == "P6102"
    assert caught.value.message == "the suite `quiz` plans 1000002 rows, more than 1000000"


def test_worst_cost_counts_every_byte_sent_and_the_longest_answer():
    sent = len(b'{"messages":[{"role":"user","content":"Hi"}],"schema":null}')
    worst = worst_cost_usd(request("Hi", maxTokens=400), PRICE)
    assert worst == pytest.approx((sent + 2_000) * 1e-6 + 400 * 5e-6)


@pytest.mark.parametrize(
    ("text", "more"),
    [("Hi", 0), ("Hí", 1), ("H👍", 3), ("H\n", 1), ("H\x00", 5), ("H\ud800", 5)],
)
def test_worst_cost_counts_bytes_rather_than_characters(text, more):
    price = Price(input=1_000_000.0, output=0.0)
    plain = worst_cost_usd(request("Hi", maxTokens=1), price)
    assert worst_cost_usd(request(text, maxTokens=1), price) == plain + more


def test_worst_cost_counts_the_output_contract_that_is_sent():
    price = Price(input=1_000_000.0, output=0.0)
    without = worst_cost_usd(request("Hi", maxTokens=1), price)
    with_schema = worst_cost_usd(request("Hi", maxTokens=1, schema={"type": "object"}), price)
    assert with_schema - without == len('{"type":"object"}') - len("null")


def test_worst_cost_counts_the_tools_that_are_sent():
    price = Price(input=1_000_000.0, output=0.0)
    asked = request("Hi", maxTokens=1)
    tools = (ToolSpec(name="look", parameters={"type": "object"}),)
    more = worst_cost_usd(replace(asked, tools=tools), price) - worst_cost_usd(asked, price)
    assert more == len('[{"name":"look","description":null,"parameters":{"type":"object"}}]')


def test_worst_cost_is_unknown_without_a_price_or_a_limit():
    assert worst_cost_usd(request("Hi", maxTokens=400), None) is None
    assert worst_cost_usd(request("Hi", temperature=0), PRICE) is None


def test_worst_cost_of_a_free_model_is_zero():
    assert worst_cost_usd(request("Hi", maxTokens=400), Price(input=0.0, output=0.0)) == 0.0
