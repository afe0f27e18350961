"""Calls whose worker is lost: made again, and paid for as if they had been answered."""

from __future__ import annotations

import asyncio

import pytest

from live_support import FakeClock, Unseen
from proctor.asking import ATTEMPTS_WHEN_LOST, AskingLimits, Desk, Means, again_when_lost
from proctor.config import Price, ProviderConfig
from proctor.errors import LostCall, ProviderError
from proctor.executors.batches import decode_body
from proctor.providers.budget import Budget
from proctor.providers.pricing import Pricing
from proctor.records import (
    Call,
    Case,
    Message,
    ModelChoice,
    Reply,
    Request,
    Usage,
    encode_json,
    model_answer,
)
from proctor.running.engine import Stop
from proctor.worker_asking import WorkerTarget
from proctor.worker_messages import AnyCall, BuiltThere, OpenedTarget, Replied, Said
from virtual_time import in_no_time

REF = "local/tiny"
REPLY = Reply(model_answer("yes"), Usage(input=0, output=0, cached=0), None, None, None)
# At most 100 tokens come back, at a dollar for each; what goes there is for nothing.
PRICE = Price(input=0, output=1_000_000)
WORST_USD = 100.0


def lost():
    return LostCall("gone", code="P6310")


class Losing:
    """A provider whose worker is lost for the first calls."""

    kind, host = "openai", "127.0.0.1:1"

    def __init__(self, losses: int) -> None:
        self.asked = 0
        self._losses = losses

    async def complete(self, request, call):
        self.asked += 1
        if self.asked <= self._losses:
            raise lost()
        return REPLY

    async def aclose(self):
        pass


def asked(provider, budget):
    means = Means(
        providers={"local": provider},
        pricing=Pricing(
            {REF: PRICE},
            {"local": ProviderConfig(kind="openai", base_url="http://127.0.0.1:1/v1")},
        ),
        budget=budget,
        progress=Unseen(),
        clock=FakeClock(),
        stop=Stop(),
    )
    desk = Desk("local", means, AskingLimits(concurrency=2, timeout_s=60, max_wait_s=0))
    request = Request(
        model=ModelChoice(ref=REF, params={"maxTokens": 100}),
        messages=(Message(role="user", content="Is it?"),),
        output_schema=None,
    )
    return desk.ask(request, Call("a", "0" * 64, 1))


@pytest.mark.parametrize("losses", [0, 1, 2])
def test_it_is_made_again_and_each_loss_counts_what_it_could_cost(losses):
    provider, budget = Losing(losses), Budget(1_000)
    reply = asyncio.run(asked(provider, budget))
    assert reply.answer.text == "yes"
    assert provider.asked == losses + 1
    assert budget.spent_usd == losses * WORST_USD
    assert budget.reserved_usd == 0
    assert budget.unknown == losses


def test_after_three_losses_it_is_given_up():
    provider, budget = Losing(5), Budget(1_000)
    with pytest.raises(LostCall):
        asyncio.run(asked(provider, budget))
    assert provider.asked == ATTEMPTS_WHEN_LOST == 3
    assert budget.spent_usd == 3 * WORST_USD


def test_it_is_not_made_again_when_that_is_not_covered():
    provider, budget = Losing(1), Budget(150)
    with pytest.raises(ProviderError) as caught:
        asyncio.run(asked(provider, budget))
    assert caught.value.code == "P6503"
    assert provider.asked == 1
    assert budget.spent_usd == WORST_USD


@in_no_time
async def test_what_else_goes_wrong_is_not_made_again():
    made = 0

    async def make():
        nonlocal made
        made += 1
        raise ProviderError("no", code="P6312")

    with pytest.raises(ProviderError):
        await again_when_lost(make)
    assert made == 1


class Place:
    """The place of a worker."""

    def __init__(self, name):
        self.name, self.is_gone = name, False


class Pool:
    """Stands for workers: notes which made what, the first that is there."""

    def __init__(self, *names) -> None:
        self.places = [Place(name) for name in names]
        self.made: list[tuple[str, str]] = []

    @property
    def seats(self):
        return [one for one in self.places if not one.is_gone]

    async def seat(self):
        return self.seats[0]

    async def call(self, body, seat=None):
        seat = seat or await self.seat()
        if seat.is_gone:
            raise lost()
        call = decode_body(body, AnyCall)
        self.made.append((seat.name, call.method))
        if call.method == "build":
            reply = Reply(model_answer("built"), None, 0.25, 1.0, None)
            return encode_json(BuiltThere(len(self.made), reply))
        if call.method == "answer":
            return encode_json(Replied(REPLY))
        return encode_json(Said(is_fine=call.method != "health"))


def target(pool, *, builds=True, prepares=True, budget=None):
    opened = OpenedTarget(builds, prepares)
    return WorkerTarget("quiz", pool, opened, build_cost_usd=0.5, budget=budget)


CASE = Case("a", {})


@in_no_time
async def test_what_was_lost_is_built_anew_and_paid_for():
    pool, budget = Pool("one", "two"), Budget(2)
    live = target(pool, budget=budget)
    await live.setup(None)
    built = await live.build(CASE, 1, None)
    await live.prepare(CASE, None, built.artifact, None)
    pool.places[0].is_gone = True
    with pytest.raises(LostCall):
        await live.answer(CASE, None, built.artifact, 1, None)
    assert budget.spent_usd == 0
    # The rows of the build come at the same time, and it is built once.
    await asyncio.gather(*(live.prepare(CASE, None, built.artifact, None) for _ in range(3)))
    assert budget.spent_usd == 0.25
    await live.answer(CASE, None, built.artifact, 1, None)
    assert [what for who, what in pool.made if who == "one"] == ["setup", "build", "prepare"]
    assert [what for who, what in pool.made if who == "two"] == [
        "setup",
        "build",
        "prepare",
        "prepare",
        "prepare",
        "answer",
    ]


@in_no_time
async def test_it_is_not_built_anew_without_money():
    pool, budget = Pool("one", "two"), Budget(0.4)
    live = target(pool, budget=budget)
    built = await live.build(CASE, 1, None)
    pool.places[0].is_gone = True
    with pytest.raises(ProviderError) as caught:
        await live.prepare(CASE, None, built.artifact, None)
    assert caught.value.code == "P6503"


@in_no_time
async def test_who_comes_later_gets_the_lane_ready_first():
    pool = Pool("one")
    live = target(pool, builds=False)
    await live.setup("lane")
    pool.places[0].is_gone = True
    pool.places.append(Place("late"))
    await live.prepare(CASE, None, None, "lane")
    await live.answer(CASE, None, None, 1, "lane")
    assert pool.made == [
        ("one", "setup"),
        ("late", "setup"),
        ("late", "prepare"),
        ("late", "answer"),
    ]


@in_no_time
async def test_a_row_is_prepared_and_answered_by_one_worker():
    pool = Pool("one", "two")
    live = target(pool, builds=False)
    await live.prepare(CASE, None, None, None)
    pool.places.reverse()
    await live.prepare(CASE, None, None, None)
    await live.answer(CASE, None, None, 1, None)
    assert {who for who, what in pool.made if what != "setup"} == {"one"}


@in_no_time
async def test_a_target_that_prepares_nothing_is_not_asked_to():
    pool = Pool("one")
    live = target(pool, builds=False, prepares=False)
    await live.prepare(CASE, None, None, None)
    await live.answer(CASE, None, None, 1, None)
    assert pool.made == [("one", "setup"), ("one", "answer")]


@in_no_time
async def test_of_what_was_lost_there_is_nothing_to_clean_up():
    pool = Pool("one", "two")
    live = target(pool)
    built = await live.build(CASE, 1, None)
    assert await live.cleanup(built.artifact, None)
    pool.places[0].is_gone = True
    assert await live.cleanup(built.artifact, None)
    assert await live.cleanup(None, None)
    assert [what for _, what in pool.made].count("cleanup") == 1


@in_no_time
async def test_lanes_are_undone_on_each_worker_that_is_left():
    pool = Pool("one", "two", "three")
    live = target(pool)
    await live.setup("lane")
    pool.places[1].is_gone = True
    await live.teardown("lane")
    await live.aclose()
    assert [who for who, what in pool.made if what == "teardown"] == ["one", "three"]
    assert [who for who, what in pool.made if what == "aclose"] == ["one", "three"]


@in_no_time
async def test_what_a_lane_says_of_itself_is_heard():
    assert not await target(Pool("one")).health("lane")
