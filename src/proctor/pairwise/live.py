"""Asking judges about pairs now: within a budget, each reply recorded before the next is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from proctor.asking import Means
from proctor.asking_rules import AskingRules, Watch
from proctor.cassettes import CacheMode
from proctor.clock import Clock
from proctor.errors import ProctorError, raise_all
from proctor.judging.pairs import PairQuestion
from proctor.kept_calls import KeptCalls, Wanted
from proctor.live_runs import Prices, asking_limits, model_prices, ready_to_ask, say_where_keys_go
from proctor.pairwise.comparing import compare_pairs
from proctor.pairwise.pairing import PairedCase, PairedRow, Pairs
from proctor.pairwise.panels import Comparing, Panel
from proctor.pairwise.replaying import PairKeys, as_call, pair_calls
from proctor.pairwise.results import JudgedPair, judged_pair
from proctor.protocols import Heard, Progress
from proctor.providers.pricing import ModelPrice, Pricing
from proctor.recording import LiveOptions, LiveSession
from proctor.records import CallKind, Outcome, RenderOptions
from proctor.records.pairwise import PairOutcome, Pairwise
from proctor.recovering import recover_alone
from proctor.rendering.pairwise_json import render_pairwise_json
from proctor.run_folders import unfinished
from proctor.running.engine import Stop
from proctor.safe_io import write_whole
from proctor.spending import PlannedCalls, count_calls

_ROWS = {PairOutcome.ERRORED: Outcome.ERRORED, PairOutcome.UNMEASURED: Outcome.UNMEASURED}
"""What pairs are for who watches; a pair with a winner, and a tie, has been measured."""


def planned_pairs(
    asked: Comparing, mode: CacheMode, prices: Mapping[str, ModelPrice | None] | None
) -> list[PlannedCalls]:
    """How many calls there are per model, and what those to make come to at most.

    Args:
        asked: What is compared.
        mode: What would be asked for.
        prices: As for `count_calls`.

    Raises:
        ProctorError: P6403 or P6404 when the cassette cannot be used.
    """
    cassette, problems = asked.folder.open(asked.panel.suite)
    with closing(cassette):
        raise_all(problems)
        calls = pair_calls(asked.panel, asked.reports.pairs)
        return list(count_calls(asked.panel.suite, calls, cassette, mode, prices))


def judge_prices(asked: Comparing, pricing: Pricing) -> Prices:
    """What each model that judges costs, and why one has no price."""
    return model_prices({one.model.ref for one in asked.panel.judges}, pricing)


def compare_live(asked: Comparing, rules: AskingRules, watch: Watch) -> Pairwise:
    """Ask for the verdicts that are needed, record them, and say who is preferred.

    What comes of it also goes into the run's folder, as `pairwise.json`. A stop lets calls in
    flight finish for 10 seconds; what came is kept either way.

    Raises:
        ProctorError: What stands in the way, all of it together; nobody was asked then, unless it
            is that what was received cannot be stored.
    """
    config, clock, stop = asked.config, Clock(), watch.stop or Stop()
    if rules.cache is not CacheMode.OFF:
        _recover(asked)
    pricing = Pricing(config.values.prices, config.values.providers, clock=clock)
    prices = judge_prices(asked, pricing)
    # Without a limit there is nothing to hold the worst case against.
    planned = planned_pairs(asked, rules.cache, None if rules.max_cost_usd is None else prices[0])
    to_make = [one for one in planned if one.to_make]
    budget, providers = ready_to_ask(rules, to_make, prices, config=config, clock=clock)
    say_where_keys_go(providers, watch)
    with watch.asking(stop, asked.reports.pairs.rows, clock) as progress:
        session = LiveSession(
            asked.folder,
            [(asked.selected.suite, asked.selected.plan)],
            means=Means(
                providers={name: one.provider for name, one in providers.items()},
                pricing=pricing,
                budget=budget,
                progress=progress,
                clock=clock,
                stop=stop,
            ),
            options=LiveOptions(mode=rules.cache, limits=asking_limits(rules, config)),
        )
        with closing(session):
            pairs = LivePairs(session, progress)
            found = compare_pairs(config.values.project, asked.panel, asked.reports, pairs)
            stored = render_pairwise_json(found, (), RenderOptions())
            write_whole(session.run.folder / "pairwise.json", stored)
    return found


def _recover(asked: Comparing) -> None:
    """Bring what killed comparisons received into the cassette, so that it counts as there."""
    if not unfinished(asked.folder.project, asked.panel.suite):
        return
    calls = pair_calls(asked.panel, asked.reports.pairs)
    keys = {call.key for call in calls if call.key is not None}
    recover_alone(asked.folder, asked.selected.suite, asked.selected.plan, keys)


class LivePairs:
    """Asks judges about pairs, many at a time.

    Args:
        session: Asks and records.
        progress: Who is told how it goes.
    """

    def __init__(self, session: LiveSession, progress: Progress) -> None:
        self.mode = session.mode
        self._session = session
        self._progress = progress
        self._keys = PairKeys()

    def judged(self, panel: Panel, pairs: Pairs) -> Iterator[JudgedPair]:
        """What becomes of each pair, in their order; a stop leaves the last ones out."""
        items = (
            _Item(case, row, panel.questions(case, row)) for case in pairs for row in case.rows
        )
        for batch in self._session.calls(panel.suite, items, self._judge):
            yield from (judged for _, judged in batch)

    async def _judge(self, calls: KeptCalls, item: _Item) -> JudgedPair:
        asked = [self._reply(calls, question) for question in item.questions]
        judged = judged_pair(item.case, item.row, item.questions, await asyncio.gather(*asked))
        outcome = judged.result.outcome
        self._progress.row_done(_ROWS.get(outcome, Outcome.PASSED))
        return judged

    async def _reply(self, calls: KeptCalls, question: PairQuestion) -> Heard | ProctorError:
        wanted = Wanted(CallKind.PAIRWISE, question.subject, as_call(question), None)
        try:
            return await calls.find_or_ask(wanted, self._keys.key(question), question.request)
        except ProctorError as error:
            return error


class _Item(NamedTuple):
    """A pair, and what is asked about it."""

    case: PairedCase
    row: PairedRow
    questions: Sequence[PairQuestion]
