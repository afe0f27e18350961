"""From a suite to its ordered rows, and what a call could cost at most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from proctor.config import Price
from proctor.errors import DatasetError
from proctor.records import Request, encode_json

MAX_ROWS = 1_000_000
BYTES_OF_A_TOKEN = 8
"""How long a token of an answer that is not known yet may be, in bytes."""
PREAMBLE_TOKENS = 2_000
"""What a provider may put around a request, in tokens, estimated from above."""


class Plan(Struct, frozen=True, kw_only=True):
    """The rows of one suite, the same for every way of running it.

    Args:
        subjects: How many subjects sit the exam.
        places: The 0-based places in the dataset of the cases that were selected, in order.
        repeats: How often each row is repeated.
    """

    subjects: int
    places: Sequence[int]
    repeats: int = 1

    @property
    def rows(self) -> int:
        """How many rows there are in all."""
        return self.subjects * len(self.places) * self.repeats

    def rows_of_subject(self) -> Iterator[tuple[int, int]]:
        """The place of the case and the repeat of each row of one subject, in order."""
        for place in self.places:
            for repeat in range(1, self.repeats + 1):
                yield place, repeat


def plan_rows(*, suite: str, subjects: int, places: Sequence[int], repeats: int = 1) -> Plan:
    """The plan of one suite.

    Raises:
        DatasetError: P6102 when it has more rows than one run can hold.
    """
    plan = Plan(subjects=subjects, places=places, repeats=repeats)
    if plan.rows > MAX_ROWS:
        raise DatasetError(
            f"the suite `{suite}` plans {plan.rows} rows, more than {MAX_ROWS}",
            code="P6102",
            hint="split the dataset, or name fewer prompts, models or repeats",
        )
    return plan


def worst_tokens(request: Request, *, more_bytes: int = 0) -> tuple[int, int] | None:
    """How many tokens one call could take in and bring out at most; None without `maxTokens`.

    Every byte of the request counts as a token, the answer as `maxTokens` long.

    Args:
        request: The call.
        more_bytes: What the request will hold besides, as far as it is not known yet.
    """
    limit = request.model.params.get("maxTokens")
    if not isinstance(limit, int):
        return None
    sent = len(encode_json({"messages": request.messages, "schema": request.output_schema}))
    sent += len(encode_json(request.tools)) if request.tools else 0
    return sent + more_bytes + PREAMBLE_TOKENS, limit


def worst_cost_usd(request: Request, price: Price | None) -> float | None:
    """What one call could cost at most, in USD.

    Returns:
        None when there is no price, or no limit to the answer.
    """
    tokens = worst_tokens(request)
    return None if price is None or tokens is None else cost_of_tokens(*tokens, price)


def cost_of_tokens(input_tokens: int, output_tokens: int, price: Price) -> float:
    """What so many tokens cost, in USD."""
    return (input_tokens * price.input + output_tokens * price.output) / 1_000_000
