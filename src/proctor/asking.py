"""One call after another to one provider: a slot, a reservation, a time limit, and patience."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from proctor.clock import Clock
from proctor.errors import LostCall, ProviderError, SuiteError, TryAgain
from proctor.planning import worst_cost_usd
from proctor.protocols import Progress, Provider
from proctor.providers.budget import Budget
from proctor.providers.pricing import ModelPrice, Pricing
from proctor.records import Call, Reply, Request, encode_json
from proctor.running.engine import Stop
from proctor.running.limiting import Limiter
from proctor.running.retrying import Wait, patiently
from proctor.safe_io import MEBIBYTE
from proctor.scrubbing import SECRETS
from proctor.tracker_protocols import Wrap, unwrapped

T = TypeVar("T")

MAX_ANSWER = MEBIBYTE
ATTEMPTS_WHEN_LOST: Final = 3
"""How often a call is made in all whose worker is lost each time."""


class AskingLimits(Struct, frozen=True, kw_only=True):
    """How much is asked at once, and how long that may take.

    Args:
        concurrency: How many calls are in flight at most.
        timeout_s: How long one reply may take in all.
        max_wait_s: How long one call may wait, in all, to be tried again.
    """

    concurrency: int
    timeout_s: float
    max_wait_s: float


class Means(Struct, frozen=True, kw_only=True):
    """What asking needs from outside.

    Args:
        providers: Who is asked, by the first part of a model reference.
        pricing: What models cost.
        budget: What may be spent; None when nobody is asked who costs anything.
        progress: Who is told how it goes.
        clock: Where time and chance come from.
        stop: Ends the run early.
        wrap: Notes what takes time.
    """

    providers: Mapping[str, Provider]
    pricing: Pricing
    budget: Budget | None
    progress: Progress
    clock: Clock
    stop: Stop
    wrap: Wrap = unwrapped


async def again_when_lost(make: Callable[[], Awaitable[T]]) -> T:
    """What a call comes to, which is made again at once when the worker that made it was lost.

    Raises:
        LostCall: When that happened three times.
    """
    for _ in range(ATTEMPTS_WHEN_LOST - 1):
        try:
            return await make()
        except LostCall:
            # What it reserved counts as spent: it may have been charged.
            continue
    return await make()


class Desk:
    """Asks one provider: patiently, within its limits, and never beyond the budget.

    Args:
        name: The provider's name.
        means: Who is asked, and with what.
        limits: How much at once, and how long.
    """

    def __init__(self, name: str, means: Means, limits: AskingLimits) -> None:
        self.name = name
        self.provider = means.providers.get(name)
        self.means = means
        self._limits = limits
        self._limiter = Limiter(limits.concurrency)
        self._pauses = Pauses(means.clock)
        self._answered = 0
        self._is_away = False

    async def ask(self, request: Request, call: Call) -> Reply:
        """The reply to one call, with its cost and latency.

        Raises:
            ProviderError: When there was none that could be kept, or no money left for it.
            CancelledError: When a stop was requested before it could be asked for.
        """
        if self.provider is None:
            raise ProviderError(f"the provider `{self.name}` was not made ready", code="P6301")
        answered, waits = self._answered, 0

        def say(wait: Wait) -> None:
            nonlocal waits
            waits += 1
            self.means.progress.waiting(self.name, wait.seconds, wait.attempt, wait.reason)

        try:
            reply = await patiently(
                lambda: again_when_lost(lambda: self._attempt(request, call)),
                clock=self._pauses,
                max_wait_s=0 if self._is_away else self._limits.max_wait_s,
                on_wait=say,
                jitter=self.means.clock.random,
            )
        except ProviderError:
            # Who waited in vain while nobody was answered has waited for all calls after it.
            self._is_away = self._is_away or (waits > 0 and self._answered == answered)
            raise
        self._answered += 1
        self._is_away = False
        return reply

    def give_up_waiting(self) -> None:
        """End the waits of calls that would be tried again, because no new call may start."""
        self._pauses.end()

    async def _attempt(self, request: Request, call: Call) -> Reply:
        price = self.means.pricing.price(request.model.ref)
        async with self._limiter.slot() as slot:
            self._require_no_stop()
            try:
                if self.means.budget is None:
                    reply = await self._reply(request, call, price)
                else:
                    reply = await self._within(self.means.budget, request, call, price)
            except TryAgain as error:
                if error.slow_down:
                    slot.slow_down()
                raise
            slot.went_well()
        return reply

    async def _within(
        self, budget: Budget, request: Request, call: Call, price: ModelPrice
    ) -> Reply:
        worst_usd = worst_cost_usd(request, price.dearest)
        if worst_usd is None:
            raise no_limit(request)
        reservation = await budget.reserve(worst_usd)
        cost_usd: float | None = None
        free = True
        try:
            self._require_no_stop()
            free = False
            reply = await self._reply(request, call, price)
            cost_usd = reply.cost_usd
        except ProviderError as error:
            free = error.free
            raise
        except SuiteError:
            # The request could not even be made.
            free = True
            raise
        finally:
            if free:
                reservation.release()
            else:
                reservation.settle(cost_usd)
            self.means.progress.money(budget.spent_usd, budget.remaining_usd)
        return reply

    async def _reply(self, request: Request, call: Call, price: ModelPrice) -> Reply:
        assert self.provider is not None  # noqa: S101 - `ask` has looked
        clock, timeout_s = self.means.clock, self._limits.timeout_s
        started = clock.monotonic()
        try:
            async with asyncio.timeout(timeout_s):
                reply = await self.provider.complete(request, call)
        except TimeoutError:
            raise ProviderError(f"no reply within {timeout_s:g} s", code="P6310") from None
        require_keepable(reply)
        cost_usd, latency_ms = reply.cost_usd, reply.latency_ms
        if cost_usd is None:
            cost_usd = price.cost_usd(reply.usage, cache_written=reply.cache_written)
        if latency_ms is None:
            latency_ms = round((clock.monotonic() - started) * 1_000, 1)
        return replace(reply, cost_usd=cost_usd, latency_ms=latency_ms)

    def _require_no_stop(self) -> None:
        if self.means.stop.requested:
            raise asyncio.CancelledError


def require_keepable(reply: Reply) -> None:
    """Refuse a reply that must not be stored.

    Raises:
        ProviderError: P6312 when it is too large, or holds a key.
    """
    raw = encode_json([reply.answer, reply.response_model])
    if len(raw) > MAX_ANSWER:
        raise ProviderError("the answer is larger than 1 MiB", code="P6312")
    if SECRETS.holds(raw.decode("utf-8", "replace")):
        raise ProviderError(
            "the answer holds a key, so it is not kept",
            code="P6312",
            hint="find out how the key got there, and replace it with a new one",
        )


class Pauses(Clock):
    """A clock whose sleeps can be ended: who slept is cancelled."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._sleeping: set[asyncio.Task[object]] = set()

    async def sleep(self, seconds: float) -> None:
        """Let others run for this long."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in one
        self._sleeping.add(task)
        try:
            await self._clock.sleep(seconds)
        finally:
            self._sleeping.discard(task)

    def end(self) -> None:
        """End every sleep."""
        for task in tuple(self._sleeping):
            task.cancel()


def no_limit(request: Request) -> SuiteError:
    """The error of a call whose answer may be of any length."""
    return SuiteError(
        f"nothing limits the answers of `{request.model.ref}`",
        code="P6204",
        hint="write `maxTokens` beside the prompt's model, or among the suite's params",
    )
