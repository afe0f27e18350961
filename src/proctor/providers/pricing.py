"""What a model costs: the project's prices, and those that are known of a provider's own host.

The known ones stand in the package genai-prices, as they were when it was released. Nothing is
fetched. Without the package only the project's prices are there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from proctor.clock import Clock
from proctor.config import Price, ProviderConfig, provider_config
from proctor.errors import UsageError
from proctor.providers.addresses import is_local, is_official
from proctor.records import Usage

if TYPE_CHECKING:
    from datetime import datetime

    from genai_prices.types import ModelInfo
    from genai_prices.types import ModelPrice as ListedPrice

INSTALL = "pip install 'proctor[live]'"
"""What brings the known prices, and the packages that live providers need."""

_MILLION = 1_000_000

_INPUT = ("input_mtok",)
_CACHE_READ = ("cache_read_mtok",)
_CACHE_WRITE = ("cache_write_mtok", "cache_write_5m_mtok")
_LONG_CACHE_WRITE = ("cache_write_1h_mtok",)
_OUTPUT = ("output_mtok", "output_reasoning_mtok")
"""Keys of genai-prices; of those that stand together, the dearest counts."""


class Tier(Struct, frozen=True, kw_only=True):
    """USD per million tokens.

    Args:
        least: How many input tokens a call has at least for these prices to hold; for all of it.
        input: Of what is neither read from the provider's cache nor written to it.
        cached: Of what is read from it.
        written: Of what is written to it.
        output: Of the answer.
    """

    least: int
    input: Decimal
    cached: Decimal
    written: Decimal
    output: Decimal


class ModelPrice(Struct, frozen=True, kw_only=True):
    """The price of a model.

    Args:
        ref: The model.
        source: Where the price comes from.
        dearest: What a token costs at most, whatever the call and whenever it is made.
        tiers: The prices in force, by the size of the call; the first holds for the smallest.
    """

    ref: str
    source: Literal["project", "genai-prices", "scripted"]
    dearest: Price
    tiers: tuple[Tier, ...]

    def cost_usd(self, usage: Usage | None, *, cache_written: int = 0) -> float | None:
        """What a call cost.

        Args:
            usage: Its tokens. `input` is all of the input, `cached` the part of it that was read
                from the provider's cache.
            cache_written: The part of the input that was written to it.

        Returns:
            None when the usage is not known, or says that there were more parts than input.
        """
        if usage is None or usage.input is None or usage.output is None:
            return None
        cached = usage.cached or 0
        rest = usage.input - cached - cache_written
        if rest < 0:
            return None
        tier = [one for one in self.tiers if one.least <= usage.input][-1]
        total = rest * tier.input + cached * tier.cached + cache_written * tier.written
        return float((total + usage.output * tier.output) / _MILLION)


class Pricing:
    """The prices of a project's models.

    A price of the project never makes a model cheaper than what is known of it: where the known
    price is higher, for long calls or for what is written to a cache, the known one counts.

    Args:
        prices: The project's `prices`.
        providers: The project's `providers`.
        clock: Says which of the known prices are in force.
    """

    def __init__(
        self,
        prices: Mapping[str, Price],
        providers: Mapping[str, ProviderConfig],
        *,
        clock: Clock | None = None,
    ) -> None:
        self._prices = prices
        self._providers = providers
        self._clock = clock or Clock()
        self._latest: dict[str, tuple[datetime, ModelPrice]] = {}

    def price(self, ref: str) -> ModelPrice:
        """The price of a model.

        Raises:
            UsageError: P6501 when there is none; P6505 when the project's is below the known one,
                or 0 for a provider that is not on this machine.
        """
        # Some prices change with the time of the day, and each call asks for its own.
        minute = self._clock.now().replace(second=0, microsecond=0)
        latest = self._latest.get(ref)
        if latest is None or latest[0] != minute:
            latest = self._latest[ref] = minute, self._look_up(ref, minute)
        return latest[1]

    def _look_up(self, ref: str, now: datetime) -> ModelPrice:
        name, _, model = ref.partition("/")
        provider = provider_config(name, self._providers)
        if provider is not None and provider.kind == "scripted":
            free = Price(input=0, output=0)
            return ModelPrice(ref=ref, source="scripted", dearest=free, tiers=(_flat(free),))
        kind = provider.kind if provider is not None and is_official(provider) else None
        known = None if kind is None else _known(kind, model, now)
        own = self._prices.get(ref)
        if own is not None:
            _require_honest(ref, own, known, may_be_free=is_local(provider))
            return _raised(ref, own, known)
        if known is None:
            raise _no_price(ref, may_be_free=is_local(provider), kind=kind)
        return ModelPrice(ref=ref, source="genai-prices", dearest=known.dearest, tiers=known.tiers)


class _Known(Struct, frozen=True):
    """The known prices of a model."""

    tiers: tuple[Tier, ...]
    dearest: Price


def _known(kind: str, model: str, now: datetime) -> _Known | None:
    """What genai-prices says of a model; None when it does not know it, or is not installed."""
    try:
        from genai_prices.data import providers
    except ImportError:
        return None
    found = next((one.find_model(model) for one in providers if one.id == kind), None)
    if found is None:
        return None
    tiers = _tiers(found.get_prices(now))
    inputs, outputs = zip(*map(_dearest, _from_now_on(found, now)), strict=True)
    # What has no price per token, or is said to be free, is no model that this is about.
    if not all(tier.input and tier.output for tier in tiers):
        return None
    return _Known(tiers, Price(input=float(max(inputs)), output=float(max(outputs))))


def _from_now_on(model: ModelInfo, now: datetime) -> Iterator[ListedPrice]:
    """The prices that are or will be in force, at some time of the day or from some day on."""
    from genai_prices.types import StartDateConstraint

    if not isinstance(model.prices, list):
        yield model.prices
        return
    for one in reversed(model.prices):
        yield one.prices
        since = one.constraint
        if since is None or (isinstance(since, StartDateConstraint) and since.active(now)):
            # Those before it were in force once.
            return


def _dearest(prices: ListedPrice) -> tuple[Decimal, Decimal]:
    """The most that a token of the input and of the output costs."""
    keys = _INPUT + _CACHE_READ + _CACHE_WRITE + _LONG_CACHE_WRITE
    sizes = _sizes(prices)
    return (
        max(_of(prices, keys, size) or Decimal(0) for size in sizes),
        max(_of(prices, _OUTPUT, size) or Decimal(0) for size in sizes),
    )


def _tiers(prices: ListedPrice) -> tuple[Tier, ...]:
    """The prices by the size of the call, 0 for a price that is not there."""
    tiers: list[Tier] = []
    for size in _sizes(prices):
        full = _of(prices, _INPUT, size) or Decimal(0)
        read, written = _of(prices, _CACHE_READ, size), _of(prices, _CACHE_WRITE, size)
        tiers.append(
            Tier(
                least=size,
                input=full,
                cached=full if read is None else read,
                # Nothing that is sent here asks for a cache that lasts an hour.
                written=full if written is None else written,
                output=_of(prices, _OUTPUT, size) or Decimal(0),
            )
        )
    return tuple(tiers)


def _sizes(prices: ListedPrice) -> list[int]:
    """From how many input tokens on the prices change, 0 first."""
    from genai_prices.types import TieredPrices

    tiered = [price for price in vars(prices).values() if isinstance(price, TieredPrices)]
    return sorted({0, *(tier.start + 1 for price in tiered for tier in price.tiers)})


def _of(prices: ListedPrice, keys: tuple[str, ...], size: int) -> Decimal | None:
    """The dearest of some prices for a call of this size, None when there is none of them."""
    found: list[Decimal] = []
    for key in keys:
        price = getattr(prices, key)
        if isinstance(price, Decimal):
            found.append(price)
        elif price is not None:
            reached = [tier.price for tier in price.tiers if tier.start < size]
            found.append(reached[-1] if reached else price.base)
    return max(found, default=None)


def _flat(price: Price) -> Tier:
    """A price of the project, which names no other tokens than those of input and output."""
    full, output = Decimal(repr(price.input)), Decimal(repr(price.output))
    return Tier(least=0, input=full, cached=full, written=full, output=output)


def _raised(ref: str, own: Price, known: _Known | None) -> ModelPrice:
    """The project's price, or the known one wherever that is higher."""
    flat = _flat(own)
    if known is None:
        return ModelPrice(ref=ref, source="project", dearest=own, tiers=(flat,))
    tiers = tuple(
        Tier(
            least=tier.least,
            input=max(flat.input, tier.input),
            cached=max(flat.cached, tier.cached),
            written=max(flat.written, tier.written),
            output=max(flat.output, tier.output),
        )
        for tier in known.tiers
    )
    dearest = Price(
        input=max(own.input, known.dearest.input), output=max(own.output, known.dearest.output)
    )
    return ModelPrice(ref=ref, source="project", dearest=dearest, tiers=tiers)


def _require_honest(ref: str, own: Price, known: _Known | None, *, may_be_free: bool) -> None:
    flat = _flat(own)
    usual = None if known is None else known.tiers[0]
    if usual is not None and (flat.input < usual.input or flat.output < usual.output):
        raise UsageError(
            f"the project's price of `{ref}`, {_per_million(flat)}, is below the known one, "
            f"{_per_million(usual)}",
            code="P6505",
            hint=f"raise `prices.{_quoted(ref)}`, or take it out: the known price then counts",
        )
    if not (may_be_free or (own.input and own.output)):
        raise UsageError(
            f"the project's price of `{ref}` is 0, but its provider is not on this machine",
            code="P6505",
            hint=f"write what it costs under `prices.{_quoted(ref)}`; 0 is for providers whose "
            "`base_url` is on 127.0.0.1, [::1] or localhost",
        )


def _no_price(ref: str, *, may_be_free: bool, kind: str | None) -> UsageError:
    table = f"prices.{_quoted(ref)}"
    if may_be_free:
        lines, what = "`input = 0` and `output = 0`", "for a model that costs nothing"
    else:
        lines, what = "`input = 1.0` and `output = 5.0`", "with what it costs"
    hint = (
        f"add `[tool.proctor.{table}]` to pyproject.toml, or `[{table}]` to proctor.toml, and "
        f"below it {lines} {what}, in USD per million tokens"
    )
    if kind is not None and not _is_installed():
        hint = f"`{INSTALL}` brings the prices of {kind}; or {hint}"
    return UsageError(f"there is no price for the model `{ref}`", code="P6501", hint=hint)


def _is_installed() -> bool:
    try:
        import genai_prices.data  # noqa: F401 - only whether it is there
    except ImportError:
        return False
    return True


def _quoted(ref: str) -> str:
    """A model as a key of TOML."""
    return json.dumps(ref, ensure_ascii=False)


def _per_million(tier: Tier) -> str:
    return f"USD {tier.input:f} in and {tier.output:f} out per million tokens"
