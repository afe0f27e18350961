import random
import sys
import threading
import tomllib
from datetime import date, time
from decimal import Decimal

import pytest
from genai_prices.data import providers
from genai_prices.data_snapshot import DataSnapshot, set_custom_snapshot
from genai_prices.types import (
    ClauseEquals,
    ConditionalPrice,
    ModelInfo,
    Provider,
    StartDateConstraint,
    Tier,
    TieredPrices,
    TimeOfDateConstraint,
)
from genai_prices.types import ModelPrice as ListedPrice
from genai_prices.types import Usage as ListedUsage

from live_support import FakeClock
from proctor.config import Price, ProviderConfig
from proctor.errors import UsageError
from proctor.providers.pricing import Pricing
from proctor.records import Usage

HAIKU = "anthropic/claude-haiku-4-5"
LOCAL = ProviderConfig(kind="openai", base_url="http://127.0.0.1:8080/v1")
NOW = FakeClock().now()
"""30 November 2026."""


def price_of(ref, *, prices=None, providers=None):
    return Pricing(prices or {}, providers or {}, clock=FakeClock()).price(ref)


def refusal_of(ref, **project):
    with pytest.raises(UsageError) as caught:
        price_of(ref, **project)
    return caught.value


def usd(value):
    return Decimal(str(value))


@pytest.fixture
def known(monkeypatch):
    """Makes genai-prices know one model of Anthropic, `m`, and nothing else."""

    def put(*prices, **one):
        listed = list(prices) or ListedPrice(**{key: listed_as(one[key]) for key in one})
        model = ModelInfo(id="m", match=ClauseEquals(equals="m"), prices=listed)
        provider = Provider(id="anthropic", name="", api_pattern="", models=[model])
        monkeypatch.setattr("genai_prices.data.providers", [provider])

    return put


def listed_as(value):
    """A price, or the base and then pairs of a threshold and the price above it."""
    if not isinstance(value, tuple):
        return usd(value)
    tiers = [Tier(start=start, price=usd(price)) for start, price in value[1:]]
    return TieredPrices(base=usd(value[0]), tiers=tiers)


def from_day(year, month, day, **price):
    return conditional(StartDateConstraint(start_date=date(year, month, day)), **price)


def conditional(constraint, **price):
    listed = ListedPrice(**{key: listed_as(value) for key, value in price.items()})
    return ConditionalPrice(constraint, prices=listed)


@pytest.fixture
def not_installed(monkeypatch):
    for name in list(sys.modules):
        if name.partition(".")[0] == "genai_prices":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "genai_prices", None)


class TestTheProjectsPrice:
    def test_it_is_for_models_nobody_else_knows(self):
        price = price_of(
            "acme/large",
            prices={"acme/large": Price(input=0.4, output=2)},
            providers={"acme": ProviderConfig(kind="openai", base_url="https://llm.acme.example")},
        )
        assert (price.ref, price.source) == ("acme/large", "project")
        assert price.dearest == Price(input=0.4, output=2)

    def test_a_cached_token_costs_what_any_token_of_the_input_does(self):
        price = price_of("local/m", prices={"local/m": Price(input=1, output=5)})
        cost = price.cost_usd(Usage(1_000, 0, 400), cache_written=300)
        assert cost == 1_000 / 1_000_000

    def test_it_counts_when_it_is_above_the_known_one(self, known):
        known(input_mtok=1, cache_read_mtok=0.1, cache_write_mtok=1.25, output_mtok=5)
        price = price_of("anthropic/m", prices={"anthropic/m": Price(input=2, output=6)})
        assert price.source == "project"
        assert price.dearest == Price(input=2, output=6)
        assert price.cost_usd(Usage(1_000_000, 0, 1_000_000)) == 2
        assert price.cost_usd(Usage(0, 1_000_000, 0)) == 6

    def test_the_known_price_counts_wherever_it_is_higher(self, known):
        known(input_mtok=(1, (100, 4)), cache_write_mtok=1.25, output_mtok=(5, (100, 7)))
        price = price_of("anthropic/m", prices={"anthropic/m": Price(input=1, output=6)})
        assert price.source == "project"
        assert price.dearest == Price(input=4, output=7)
        assert price.cost_usd(Usage(100, 0, 0), cache_written=100) == 125e-6
        assert price.cost_usd(Usage(100, 1, 0)) == 106e-6
        assert price.cost_usd(Usage(101, 1, 0)) == (404 + 7) / 1_000_000

    @pytest.mark.parametrize(("low", "high"), [((0.99, 5), (1, 5)), ((1, 4.99), (1, 5))])
    def test_below_the_known_one_it_is_refused_and_equal_is_fine(self, low, high):
        assert price_of(HAIKU, prices={HAIKU: Price(input=high[0], output=high[1])})
        problem = refusal_of(HAIKU, prices={HAIKU: Price(input=low[0], output=low[1])})
        assert problem.code == "P6505"
        assert f"`{HAIKU}`" in problem.message
        assert f"USD {low[0]} in and {low[1]} out" in problem.message
        assert "USD 1 in and 5 out" in problem.message
        assert f'prices."{HAIKU}"' in problem.hint

    @pytest.mark.parametrize("url", ["https://api.anthropic.com", "https://api.anthropic.com/v1/"])
    def test_another_name_for_the_providers_own_host_does_not_help(self, url):
        problem = refusal_of(
            "mine/claude-haiku-4-5",
            prices={"mine/claude-haiku-4-5": Price(input=0.1, output=0.1)},
            providers={"mine": ProviderConfig(kind="anthropic", base_url=url)},
        )
        assert problem.code == "P6505"

    @pytest.mark.parametrize(("full", "output"), [(0, 0), (0, 5), (1, 0)])
    @pytest.mark.parametrize("base_url", ["https://llm.acme.example/v1", None])
    def test_nothing_is_free_but_on_this_machine(self, full, output, base_url):
        providers = {"acme": ProviderConfig(kind="openai", base_url=base_url)}
        prices = {"acme/m": Price(input=full, output=output)}
        problem = refusal_of("acme/m", prices=prices, providers=providers)
        assert problem.code == "P6505"
        assert "`acme/m` is 0" in problem.message
        price = price_of("acme/m", prices=prices, providers={"acme": LOCAL})
        assert price.dearest == Price(input=full, output=output)

    def test_a_provider_nobody_declared_is_not_on_this_machine(self):
        problem = refusal_of("local/m", prices={"local/m": Price(input=0, output=0)})
        assert problem.code == "P6505"


class TestTheKnownPrice:
    def test_it_is_that_of_the_model_at_the_providers_own_host(self):
        price = price_of(HAIKU)
        assert (price.ref, price.source) == (HAIKU, "genai-prices")
        assert price.cost_usd(Usage(1_000_000, 0, 0)) == 1
        assert price.cost_usd(Usage(0, 1_000_000, 0)) == 5

    def test_the_dearest_token_of_the_input_is_one_written_to_the_cache_for_an_hour(self):
        assert price_of(HAIKU).dearest == Price(input=2, output=5)

    def test_the_dearest_tier_counts(self, known):
        known(
            input_mtok=(1, (100, 4)),
            cache_write_mtok=(1.25, (100, 5)),
            output_mtok=(5, (200, 6), (300, 9)),
        )
        assert price_of("anthropic/m").dearest == Price(input=5, output=9)

    @pytest.mark.parametrize(
        ("tokens", "full", "output"), [(100, 1, 5), (101, 4, 5), (200, 4, 5), (201, 4, 6)]
    )
    def test_a_call_costs_what_its_size_does(self, tokens, full, output, known):
        known(input_mtok=(1, (100, 4)), output_mtok=(5, (200, 6)))
        cost = price_of("anthropic/m").cost_usd(Usage(tokens, 10, None))
        assert cost == (tokens * full + 10 * output) / 1_000_000

    def test_a_price_that_has_ended_does_not_count(self, known):
        known(
            conditional(None, input_mtok=9, output_mtok=9),
            from_day(2026, 1, 1, input_mtok=7, output_mtok=7),
            from_day(2026, 11, 30, input_mtok=1, output_mtok=5),
        )
        price = price_of("anthropic/m")
        assert price.dearest == Price(input=1, output=5)
        assert price.cost_usd(Usage(1_000_000, 0, 0)) == 1

    def test_a_price_that_is_still_to_come_is_reserved_and_not_yet_counted(self, known):
        known(
            conditional(None, input_mtok=1, output_mtok=5),
            from_day(2026, 12, 1, input_mtok=2, output_mtok=4),
        )
        price = price_of("anthropic/m")
        assert price.dearest == Price(input=2, output=5)
        assert price.cost_usd(Usage(1_000_000, 1_000_000, 0)) == 6

    @pytest.mark.parametrize(("start", "end", "cost"), [(10, 11, 2), (11, 12, 1)])
    def test_the_dearest_time_of_the_day_is_reserved(self, start, end, cost, known):
        at_night = TimeOfDateConstraint(start_time=time(start), end_time=time(end))
        known(
            conditional(None, input_mtok=1, output_mtok=5),
            conditional(at_night, input_mtok=2, output_mtok=5),
        )
        price = price_of("anthropic/m")
        assert price.dearest.input == 2
        assert price.cost_usd(Usage(1_000_000, 0, 0)) == cost

    def test_of_prices_for_times_of_the_day_alone_each_may_come(self, known):
        morning = TimeOfDateConstraint(start_time=time(0), end_time=time(12))
        evening = TimeOfDateConstraint(start_time=time(12), end_time=time(0))
        known(
            conditional(morning, input_mtok=1, output_mtok=7),
            conditional(evening, input_mtok=3, output_mtok=5),
        )
        assert price_of("anthropic/m").dearest == Price(input=3, output=7)

    def test_a_price_that_changes_while_a_run_goes_on_is_noticed(self, known):
        known(
            conditional(None, input_mtok=1, output_mtok=5),
            conditional(
                TimeOfDateConstraint(start_time=time(10, 30), end_time=time(11)),
                input_mtok=2,
                output_mtok=5,
            ),
        )
        clock = FakeClock()
        clock.now = iter(
            [NOW.replace(hour=10, minute=29, second=59), NOW.replace(minute=30)]
        ).__next__
        pricing = Pricing({}, {}, clock=clock)
        costs = [pricing.price("anthropic/m").cost_usd(Usage(1_000_000, 0, 0)) for _ in range(2)]
        assert costs == [1, 2]

    def test_a_price_is_looked_up_once_and_not_for_every_call(self, known):
        known(input_mtok=1, output_mtok=5)
        pricing = Pricing({}, {}, clock=FakeClock())
        assert pricing.price("anthropic/m") is pricing.price("anthropic/m")

    def test_what_thinking_costs_counts_when_it_is_dearer(self, known):
        known(input_mtok=1, output_mtok=5, output_reasoning_mtok=7)
        price = price_of("anthropic/m")
        assert price.dearest.output == 7
        assert price.cost_usd(Usage(0, 1_000_000, 0)) == 7

    @pytest.mark.parametrize(
        "prices",
        [{"input_mtok": 1}, {"output_mtok": 1}, {"input_mtok": 0, "output_mtok": 5}, {}],
        ids=str,
    )
    def test_what_is_not_priced_by_tokens_of_both_kinds_has_no_price(self, prices, known):
        known(conditional(None, **prices))
        assert refusal_of("anthropic/m").code == "P6501"

    @pytest.mark.parametrize(
        ("name", "provider"),
        [
            ("anthropic", ProviderConfig(kind="anthropic", base_url="https://llm.acme.example")),
            ("anthropic", ProviderConfig(kind="openai")),
            ("mine", ProviderConfig(kind="anthropic", base_url="https://api.anthropic.com:8443")),
            ("mine", ProviderConfig(kind="anthropic", base_url="http://api.anthropic.com")),
            ("mine", ProviderConfig(kind="anthropic", base_url="https://api.openai.com")),
            ("google", None),
        ],
    )
    def test_it_is_no_price_of_another_provider(self, name, provider):
        providers = {} if provider is None else {name: provider}
        assert refusal_of(f"{name}/claude-haiku-4-5", providers=providers).code == "P6501"

    @pytest.mark.parametrize("base_url", [None, "https://api.anthropic.com/v1/messages"])
    def test_it_is_the_price_of_a_provider_of_any_name_at_that_host(self, base_url):
        mine = ProviderConfig(kind="anthropic", base_url=base_url)
        price = price_of("mine/claude-haiku-4-5", providers={"mine": mine})
        assert (price.ref, price.source) == ("mine/claude-haiku-4-5", "genai-prices")

    def test_nothing_is_fetched_and_nobody_is_started(self, socket_disabled):
        before = threading.enumerate()
        price_of(HAIKU)
        assert threading.enumerate() == before

    def test_what_other_code_of_the_process_fetched_does_not_count(self):
        set_custom_snapshot(DataSnapshot(providers=[], from_auto_update=True))
        try:
            assert price_of(HAIKU).source == "genai-prices"
        finally:
            set_custom_snapshot(None)


def listed_models(kind):
    """The provider as genai-prices has it, and its models that a price can be looked up for."""
    (provider,) = (one for one in providers if one.id == kind)
    for model in provider.models:
        prices = model.get_prices(NOW)
        # The id of a model may be what another one is matched by.
        if prices.input_mtok and prices.output_mtok and provider.find_model(model.id) is model:
            yield provider, model


@pytest.mark.parametrize(("kind", "at_least"), [("anthropic", 20), ("openai", 90)])
def test_a_call_costs_what_genai_prices_says_and_never_more_than_its_tokens_at_the_dearest(
    kind, at_least
):
    models = list(listed_models(kind))
    assert len(models) >= at_least
    for provider, model in models:
        price = price_of(f"{kind}/{model.id}")
        has_writes = model.get_prices(NOW).cache_write_mtok is not None
        seeded = random.Random(model.id)  # noqa: S311 - the same figures every time
        for _ in range(20):
            size = 10 ** seeded.uniform(0, 8)
            cached, written, rest = (int(size * seeded.random()) for _ in range(3))
            written *= has_writes
            tokens, output = cached + written + rest, int(10 ** seeded.uniform(0, 6))
            usage = ListedUsage(
                input_tokens=tokens,
                cache_read_tokens=cached,
                cache_write_tokens=written,
                output_tokens=output,
            )
            wanted = model.calc_price(usage, provider, genai_request_timestamp=NOW).total_price
            cost = price.cost_usd(Usage(tokens, output, cached), cache_written=written)
            assert cost == float(wanted), (model.id, usage)
            most = tokens * usd(price.dearest.input) + output * usd(price.dearest.output)
            assert wanted <= most / 1_000_000, (model.id, usage)


class TestCost:
    PRICE = Price(input=1, output=5)

    def cost(self, usage, **more):
        return price_of("acme/m", prices={"acme/m": self.PRICE}).cost_usd(usage, **more)

    @pytest.mark.parametrize("usage", [None, Usage(None, 4, 0), Usage(10, None, 0)])
    def test_unknown_usage_costs_something_unknown(self, usage):
        assert self.cost(usage) is None

    def test_no_tokens_are_known_to_be_free(self):
        assert self.cost(Usage(0, 0, 0)) == 0

    def test_it_does_not_matter_whether_the_cached_part_is_known(self):
        assert self.cost(Usage(10, 4, None)) == self.cost(Usage(10, 4, 3)) == 30 / 1_000_000

    @pytest.mark.parametrize(("cached", "written"), [(11, 0), (0, 11), (6, 5)])
    def test_more_parts_than_input_are_no_usage(self, cached, written):
        assert self.cost(Usage(10, 4, cached), cache_written=written) is None

    def test_cached_tokens_are_counted_once(self, known):
        known(input_mtok=1, cache_read_mtok=0.1, cache_write_mtok=1.25, output_mtok=5)
        price = price_of("anthropic/m")
        # 10 tokens: 5 read, 2 written, 3 as usual.
        cost = price.cost_usd(Usage(10, 4, 5), cache_written=2)
        assert cost == (5 * 0.1 + 2 * 1.25 + 3 * 1 + 4 * 5) / 1_000_000

    def test_tenths_are_tenths(self):
        price = price_of("acme/m", prices={"acme/m": Price(input=0.1, output=0.2)})
        assert price.cost_usd(Usage(1_000_000, 1_000_000, 0)) == 0.3


def test_a_scripted_provider_costs_nothing():
    price = price_of(
        "local/tiny", providers={"local": ProviderConfig(kind="scripted", answers="script.jsonl")}
    )
    assert (price.source, price.dearest) == ("scripted", Price(input=0, output=0))
    assert price.cost_usd(Usage(10**9, 10**9, 0)) == 0


class TestNoPrice:
    def test_it_says_what_to_add(self):
        ref = 'acme/a"b'
        acme = ProviderConfig(kind="openai", base_url="https://llm.acme.example")
        problem = refusal_of(ref, providers={"acme": acme})
        assert problem.code == "P6501"
        assert problem.message == f"there is no price for the model `{ref}`"
        table, other, *lines = problem.hint.split("`")[1::2]
        added = tomllib.loads("\n".join([table, *lines]))
        assert added == {"tool": {"proctor": {"prices": {ref: {"input": 1.0, "output": 5.0}}}}}
        assert tomllib.loads("\n".join([other, *lines])) == added["tool"]["proctor"]
        assert "pip" not in problem.hint

    def test_a_model_on_this_machine_may_be_free_but_has_to_say_so(self):
        problem = refusal_of("local/m", providers={"local": LOCAL})
        assert problem.code == "P6501"
        assert "`input = 0` and `output = 0`" in problem.hint

    def test_a_model_of_a_known_provider_that_is_not_known(self):
        assert refusal_of("anthropic/nonsense").code == "P6501"

    def test_without_genai_prices_it_says_how_to_install_it(self, not_installed):
        problem = refusal_of(HAIKU)
        assert problem.code == "P6501"
        assert problem.hint.startswith("`pip install 'proctor[live]'`")
        assert f'`[prices."{HAIKU}"]`' in problem.hint

    def test_without_genai_prices_the_projects_prices_hold(self, not_installed):
        price = price_of(HAIKU, prices={HAIKU: Price(input=1, output=5)})
        assert price.dearest == Price(input=1, output=5)

    def test_without_genai_prices_a_provider_it_does_not_know_needs_none(self, not_installed):
        assert "pip" not in refusal_of("acme/m").hint
