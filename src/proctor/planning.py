"""From a suite to its ordered rows, and what a call could cost at most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from proctor.config import Price
from proctor.errors import DatasetError
from proctor.protocols import CaseSource, PlannedRow, Shape
from proctor.records import BUILD_ONLY, Request, Scenario, encode_json

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
        shapes: The rows of those cases that have not just one, by place.
    """

    subjects: int
    places: Sequence[int]
    repeats: int = 1
    shapes: Mapping[int, Shape] = {}

    @property
    def rows(self) -> int:
        """How many rows there are in all."""
        return self.subjects * self.rows_of_one

    @property
    def rows_of_one(self) -> int:
        """How many rows each subject has."""
        return sum(map(self.rows_of_case, self.places)) if self.shapes else self._simple

    @property
    def _simple(self) -> int:
        return len(self.places) * self.repeats

    def rows_of_case(self, place: int) -> int:
        """How many rows a subject has of the case at a place."""
        return len(self.shapes.get(place, (None,))) * self.repeats

    def items_of_subject(self) -> Iterator[Item]:
        """What a subject is asked, in order: one scenario of every case after the other.

        What is left of a build alone comes last.
        """
        if not self.shapes:
            yield from (Item(place, None) for place in self.places)
            return
        builds = [place for place in self.places if self.shapes.get(place) == (BUILD_ONLY,)]
        shapes = {place: self.shapes.get(place, (None,)) for place in self.places}
        for place in builds:
            del shapes[place]
        number = 0
        while shapes:
            for place, shape in shapes.items():
                yield Item(place, None if shape == (None,) else number)
            number += 1
            shapes = {place: shape for place, shape in shapes.items() if number < len(shape)}
        yield from (Item(place, BUILD) for place in builds)

    def rows_of_subject(self) -> Iterator[tuple[Item, int]]:
        """Each row of one subject, in order, with its repeat: those of an item follow another."""
        for item in self.items_of_subject():
            for repeat in range(1, self.repeats + 1):
                yield item, repeat


class Item(NamedTuple):
    """What is asked of a subject, once for each repeat.

    Args:
        place: The 0-based place of the case in the dataset.
        scenario: The 0-based number of the case's scenario; None when it has none, `BUILD` for
            what was built for it.
    """

    place: int
    scenario: int | None


BUILD = -1
"""The number of the scenario that stands for a build."""


def plan_rows(
    *,
    suite: str,
    subjects: int,
    places: Sequence[int],
    repeats: int = 1,
    shapes: Mapping[int, Shape] | None = None,
) -> Plan:
    """The plan of one suite.

    Raises:
        DatasetError: P6102 when it has more rows than one run can hold.
    """
    plan = Plan(subjects=subjects, places=places, repeats=repeats, shapes=shapes or {})
    if plan.rows > MAX_ROWS:
        raise DatasetError(
            f"the suite `{suite}` plans {plan.rows} rows, more than {MAX_ROWS}",
            code="P6102",
            hint="split the dataset, or name fewer prompts, models or repeats",
        )
    return plan


def planned_rows(dataset: CaseSource, plan: Plan) -> Iterator[PlannedRow]:
    """The rows of one subject in order, with their cases; only that of the next row is held."""
    last, case, whole, scenario = None, None, None, None
    for item, repeat in plan.rows_of_subject():
        if case is None or item != last:
            case, whole, scenario = dataset.case(item.place), None, None
            if item.scenario is not None:
                whole = case
                if item.scenario == BUILD:
                    scenario = Scenario(BUILD_ONLY)
                else:
                    scenario = whole.scenarios[item.scenario]
                    case = whole.in_scenario(scenario)
            last = item
        yield PlannedRow(item.place, case, repeat, scenario, whole)


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
