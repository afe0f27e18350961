"""What a run may spend: every call reserves the most it can cost before it is made.

Amounts are kept as whole picodollars, and what is reserved or spent is rounded up, so that no sum
is smaller than its parts and the limit is never passed by a rounding.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import NamedTuple

from proctor.errors import ProviderError

_PICODOLLARS = 10**12


class Budget:
    """The money of one run.

    Each call reserves, and settles before whoever made it reserves again: a reservation that is
    held while waiting for another one could keep both waiting for ever. Calls are served in the
    order they came. One event loop uses a budget at a time, another may do so after it.

    Args:
        limit_usd: The most that may be spent.
    """

    def __init__(self, limit_usd: float) -> None:
        self._limit = _picodollars(limit_usd, ROUND_FLOOR)
        self._spent = 0
        self._reserved = 0
        self._unknown = 0
        self._waiting: deque[_Waiting] = deque()

    @property
    def spent_usd(self) -> float:
        """What was spent, with the whole reservation of each call whose cost is not known."""
        return self._spent / _PICODOLLARS

    @property
    def reserved_usd(self) -> float:
        """What the calls in flight may still cost."""
        return self._reserved / _PICODOLLARS

    @property
    def remaining_usd(self) -> float:
        """What is left of the limit when no more comes of the calls in flight."""
        return max(0, self._limit - self._spent) / _PICODOLLARS

    @property
    def unknown(self) -> int:
        """How many calls were made whose cost is not known."""
        return self._unknown

    async def reserve(self, usd: float) -> Reservation:
        """Set aside what a call may cost, as soon as there is enough for it.

        While calls in flight may cost less than they reserved, this waits for them.

        Raises:
            ProviderError: P6503 when it could not be covered even if they cost nothing.
        """
        amount = _picodollars(usd, ROUND_CEILING)
        if self._is_beyond(amount):
            raise self._exhausted(amount)
        if amount and (self._waiting or not self._fits(amount)):
            await self._wait_for_turn(amount)
        else:
            self._reserved += amount
        return Reservation(self, amount)

    async def _wait_for_turn(self, amount: int) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(amount, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled() and turn.exception() is None:
                # It was served and cancelled in the same moment.
                self._reserved -= amount
            self._serve()
            raise

    def _serve(self) -> None:
        """Give those who wait what there is for them, first come first served."""
        while self._waiting:
            amount, turn = self._waiting[0]
            if not turn.done():
                if self._is_beyond(amount):
                    turn.set_exception(self._exhausted(amount))
                elif self._fits(amount):
                    self._reserved += amount
                    turn.set_result(None)
                else:
                    return
            self._waiting.popleft()

    def _close(self, reserved: int, *, spent: int, is_known: bool = True) -> None:
        self._reserved -= reserved
        self._spent += spent
        self._unknown += not is_known
        self._serve()

    def _fits(self, amount: int) -> bool:
        return amount <= self._limit - self._spent - self._reserved

    def _is_beyond(self, amount: int) -> bool:
        return amount > 0 and amount > self._limit - self._spent

    def _exhausted(self, amount: int) -> ProviderError:
        return ProviderError(
            f"the budget of {_usd(self._limit)} does not cover this call of at most "
            f"{_usd(amount)}; spent {_usd(self._spent)}",
            code="P6503",
            hint="continue with a higher `--max-cost` and `--cache record`",
            free=True,
        )


class Reservation:
    """What one call may cost, set aside until the call is over. End it exactly once."""

    def __init__(self, budget: Budget, amount: int) -> None:
        self._budget = budget
        self._amount = amount
        self._is_open = True

    def settle(self, cost_usd: float | None) -> None:
        """The call was made.

        Args:
            cost_usd: What it cost, counted whole even when it is more than was reserved. None when
                that is not known: the whole reservation then counts as spent.
        """
        spent = self._amount if cost_usd is None else _picodollars(cost_usd, ROUND_CEILING)
        self._end(spent, is_known=cost_usd is not None)

    def release(self) -> None:
        """Nothing was charged."""
        self._end(0, is_known=True)

    def _end(self, spent: int, *, is_known: bool) -> None:
        if not self._is_open:
            raise RuntimeError("this reservation was settled or released before")
        self._is_open = False
        self._budget._close(self._amount, spent=spent, is_known=is_known)


class _Waiting(NamedTuple):
    amount: int
    turn: asyncio.Future[None]


def _picodollars(usd: float, rounding: str) -> int:
    if not (math.isfinite(usd) and usd >= 0):
        raise ValueError(f"{usd} is no amount of money")
    # As it is written, so that 0.1 is a tenth.
    amount = Decimal(repr(float(usd))) * _PICODOLLARS
    return int(amount.to_integral_value(rounding))


def _usd(picodollars: int) -> str:
    """An amount with two digits after the point, or as many as it needs, up to six."""
    usd = Decimal(picodollars) / _PICODOLLARS
    if 0 < usd < Decimal("5e-7"):
        return f"USD {usd:.2g}"
    whole, _, rest = f"{usd:.6f}".partition(".")
    return f"USD {whole}.{rest.rstrip('0'):0<2}"
