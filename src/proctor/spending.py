"""What a run would ask for, and what that could cost at most; nothing is asked here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing

from msgspec import Struct

from proctor.call_plans import PlannedCall, find_nothing, subject_calls
from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode, Cassette
from proctor.errors import ProctorError, ProviderError, SuiteError, raise_all
from proctor.evaluation import SelectedSuite
from proctor.planning import cost_of_tokens
from proctor.providers.pricing import ModelPrice
from proctor.records import CallKind, TargetSubject
from proctor.rendering.wording import money_text
from proctor.sums import CostSum


class Worst(Struct, frozen=True):
    """What some calls come to at most.

    Args:
        input_tokens: What they take in, every byte counted as a token.
        output_tokens: What they bring out, every answer as long as it may be.
        usd: What they cost; None without a price.
    """

    input_tokens: int
    output_tokens: int
    usd: float | None


class PlannedCalls(Struct, frozen=True, kw_only=True):
    """What one suite asks of one model: uses that share a recording share a call.

    Args:
        suite: The suite's name.
        kind: What the calls are made for.
        model: The model's reference.
        uses: How many rows, or votes of judges, there are.
        calls: How many calls they make.
        recorded: How many of those have a recording.
        to_make: How many a run in this mode makes.
        worst: What the calls to make come to at most; None when nothing limits an answer, when
            messages are made by code that may not run, or when nobody wants to know.
    """

    suite: str
    kind: CallKind
    model: str
    uses: int
    calls: int
    recorded: int
    to_make: int
    worst: Worst | None


def planned_calls(
    folder: CassetteFolder,
    selected: SelectedSuite,
    mode: CacheMode,
    prices: Mapping[str, ModelPrice | None] | None,
) -> Iterator[PlannedCalls]:
    """Count the calls of a suite per model, without making any.

    Args:
        folder: Where cassettes are.
        selected: What is to be run.
        mode: What would be asked for.
        prices: By the reference of each model; None for one without a price. None in place of all
            of them when the worst case is of no interest, for which every request is made.

    Raises:
        ProctorError: P6403 or P6404 when the cassette cannot be used.
    """
    cassette, problems = folder.open(selected.name)
    with closing(cassette):
        raise_all(problems)
        reuses = mode in (CacheMode.REPLAY, CacheMode.RECORD)
        find = cassette.find if reuses else find_nothing
        calls = (
            call
            for subject in selected.subjects
            for call in subject_calls(
                subject,
                selected.suite.dataset,
                selected.plan,
                find,
                asks=mode is CacheMode.RECORD,
            )
        )
        yield from count_calls(selected.name, calls, cassette, mode, prices)


def count_calls(
    suite: str,
    calls: Iterable[PlannedCall],
    cassette: Cassette,
    mode: CacheMode,
    prices: Mapping[str, ModelPrice | None] | None,
) -> Iterator[PlannedCalls]:
    """Count some calls per model.

    Args:
        suite: The suite's name.
        calls: What is asked, a shared call at each use.
        cassette: The recordings of the suite.
        mode: What would be asked for.
        prices: As for `planned_calls`.
    """
    counts: dict[tuple[CallKind, str], _Count] = {}
    for call in calls:
        if not call.is_sure:
            continue
        place = call.kind, call.subject.model.ref
        if place not in counts:
            counts[place] = _Count(mode)
        is_made = counts[place].add(call, cassette)
        if is_made and prices is not None:
            counts[place].add_worst(call, prices.get(place[1]))
    for (kind, model), count in counts.items():
        yield PlannedCalls(
            suite=suite,
            kind=kind,
            model=model,
            uses=count.uses,
            calls=count.calls,
            recorded=count.recorded,
            to_make=count.to_make,
            worst=None if prices is None else count.worst(),
        )


class _Count:
    """Adds up the calls to one model."""

    def __init__(self, mode: CacheMode) -> None:
        self.uses = self.calls = self.recorded = self.to_make = 0
        self._mode = mode
        self._keys: set[str] = set()
        self._input = self._output = 0
        self._usd = CostSum()
        self._is_known = True

    def add(self, call: PlannedCall, cassette: Cassette) -> bool:
        """Count one use of a call, and say whether it makes one."""
        self.uses += 1
        is_new = call.key is None or call.key not in self._keys
        if is_new:
            self.calls += 1
            is_recorded = call.key is not None and not call.is_anew and call.key in cassette
            self.recorded += is_recorded
            if call.key is not None:
                self._keys.add(call.key)
        elif self._mode is not CacheMode.OFF:
            return False
        if self._mode is CacheMode.REPLAY or (self._mode is CacheMode.RECORD and is_recorded):
            return False
        self.to_make += 1
        return True

    def add_worst(self, call: PlannedCall, price: ModelPrice | None) -> None:
        """Add what a call that is made comes to at most."""
        if isinstance(call.subject, TargetSubject):
            self._usd.add(call.worst_usd)
            return
        tokens = call.worst_tokens()
        if tokens is None:
            self._is_known = False
            return
        self._input += tokens[0]
        self._output += tokens[1]
        self._usd.add(None if price is None else cost_of_tokens(*tokens, price.dearest))

    def worst(self) -> Worst | None:
        """What all calls to make come to, None when that cannot be known."""
        if not self._is_known:
            return None
        return Worst(self._input, self._output, None if self._usd.unknown else self._usd.known)


def require_cover(calls: Sequence[PlannedCalls], limit_usd: float) -> None:
    """Make sure that a budget covers a plan, before any call.

    Raises:
        ProctorError: P6204 for each model whose answers nothing limits; P6503 when the worst case
            is more than the limit.
    """
    unlimited = [one for one in calls if one.to_make and one.worst is None]
    # How much a judge takes in is not known either when nothing limits what it judges.
    suites = {one.suite for one in unlimited if one.kind is CallKind.ANSWER}
    raise_all(
        [
            _unlimited(one)
            for one in unlimited
            if one.kind is CallKind.ANSWER or one.suite not in suites
        ]
    )
    known = [one.worst.usd for one in calls if one.worst is not None]
    total = math.fsum(usd for usd in known if usd is not None)
    if total > limit_usd:
        raise ProviderError(
            f"the plan may cost up to {money_text(total)}, more than the limit of "
            f"{money_text(limit_usd)}",
            code="P6503",
            hint="see what it is made of with `--dry-run`; raise `--max-cost`, select fewer "
            "cases, or lower `maxTokens`",
        )


def _unlimited(calls: PlannedCalls) -> ProctorError:
    place = "the prompt's model, or among the suite's params"
    if calls.kind in (CallKind.JUDGE, CallKind.PAIRWISE):
        place = "the rubric's model, or under `params` of the suite's `judge`"
    return SuiteError(
        f"the suite `{calls.suite}` asks `{calls.model}`, whose answers nothing limits",
        code="P6204",
        hint=f"write `maxTokens` beside {place}",
    )
