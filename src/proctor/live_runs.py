"""A live run: the money and the providers a plan needs, then asking, recording and the report."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from proctor.asking import AskingLimits, Means
from proctor.asking_rules import AskingRules, Watch
from proctor.call_plans import subjects_to_ask
from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode
from proctor.clock import Clock
from proctor.config import Config
from proctor.errors import ProctorError, UsageError, noting, raise_all
from proctor.evaluation import SelectedSuite
from proctor.journaling import RunFacts
from proctor.keeping import Keeping
from proctor.pipeline import ReadySuite
from proctor.planning import Plan
from proctor.providers.access import OpenProvider, open_providers
from proctor.providers.budget import Budget
from proctor.providers.keys import hide_keys
from proctor.providers.pricing import ModelPrice, Pricing
from proctor.recording import LiveOptions, LiveSession, Resumed
from proctor.records import Verdict
from proctor.recovering import recover_alone
from proctor.reporting import RunReport
from proctor.run_keeping import RunRecord
from proctor.running.engine import Stop
from proctor.spending import PlannedCalls, planned_calls, require_cover
from proctor.stored_runs import store_figures
from proctor.subjects import ReadySubject
from proctor.target_protocols import LiveTarget
from proctor.targets.prompt import PromptTarget

if TYPE_CHECKING:
    from proctor.worker_opening import OpenWorkers

AGENTS_AT_ONCE: Final = 16
"""How many rows of a target are in flight unless somebody says so."""


def run_live(
    rules: AskingRules,
    selected: Sequence[SelectedSuite],
    *,
    folder: CassetteFolder,
    config: Config,
    watch: Watch,
    answers: bool,
    keeping: Keeping,
) -> RunReport:
    """Ask for answers, record them, and make the report, which also goes into the run's folder.

    A stop lets calls in flight finish for 10 seconds; what came is kept either way.
    """
    facts = RunFacts(mode=rules.cache.value, answers=answers)
    with closing(
        RunRecord(config, selected, facts=facts, keeping=keeping, note=watch.note)
    ) as record:
        if record.is_finished:
            return record.finish()
        return _ask(rules, selected, folder=folder, config=config, watch=watch, record=record)


def _ask(
    rules: AskingRules,
    selected: Sequence[SelectedSuite],
    *,
    folder: CassetteFolder,
    config: Config,
    watch: Watch,
    record: RunRecord,
) -> RunReport:
    clock, stop = Clock(), watch.stop or Stop()
    suites = _whole_plans(selected)
    if rules.cache is not CacheMode.OFF:
        _recover(folder, suites)
    for target in _targets_to_ask(folder, selected, rules.cache):
        target.prepare(config.root, allow_code=rules.allow_code)
    pricing = Pricing(config.values.prices, config.values.providers, clock=clock)
    plans = _Plans(rules, selected, folder, config)
    ready = _make_ready(plans, pricing=pricing, clock=clock, note=watch.note)
    budget, providers = ready.budget, ready.providers
    with closing(ready), watch.asking(stop, record.left, clock) as progress:
        say_where_keys_go(providers, watch)
        session = LiveSession(
            folder,
            suites,
            means=Means(
                providers={name: one.provider for name, one in providers.items()},
                pricing=pricing,
                budget=budget,
                progress=progress,
                clock=clock,
                stop=stop,
                wrap=record.wrap,
            ),
            options=LiveOptions(
                mode=rules.cache,
                limits=asking_limits(rules, config),
                on_finished=record.keep,
                resumed=None
                if record.resumed is None
                else Resumed(record.resumed, record.claimed()),
                agents=ready.agents,
                agents_at_once=_at_once(config),
                keep=rules.keeps_builds,
                lanes=rules.lanes,
            ),
        )
        with closing(session):
            record.begin(session.run)
            report = record.evaluate(session)
            session.is_whole = report.head.verdict is not Verdict.INTERRUPTED
            store_figures(config.root, session.run, report, watch.note)
    return report


def asking_limits(rules: AskingRules, config: Config) -> AskingLimits:
    """How much is asked at once, and how long that may take."""
    return AskingLimits(
        concurrency=config.values.concurrency,
        timeout_s=rules.timeout_s,
        max_wait_s=rules.max_wait_s,
    )


def _whole_plans(selected: Sequence[SelectedSuite]) -> list[tuple[ReadySuite, Plan]]:
    """Each suite once, with every case that any of its subjects is asked about."""
    by_name: dict[str, list[SelectedSuite]] = {}
    for one in selected:
        by_name.setdefault(one.name, []).append(one)
    whole: list[tuple[ReadySuite, Plan]] = []
    for parts in by_name.values():
        plan = parts[0].plan
        if len(parts) > 1:
            places = sorted({place for part in parts for place in part.plan.places})
            plan = replace(plan, subjects=len(parts[0].suite.subjects), places=places)
        whole.append((parts[0].suite, plan))
    return whole


class _Plans(Struct, frozen=True):
    """What is to be asked for."""

    rules: AskingRules
    selected: Sequence[SelectedSuite]
    folder: CassetteFolder
    config: Config


class _Ready(NamedTuple):
    """What a live run asks with."""

    budget: Budget | None
    providers: dict[str, OpenProvider]
    agents: dict[str, LiveTarget]
    workers: OpenWorkers | None = None

    def close(self) -> None:
        """End the workers, if there are any."""
        if self.workers is not None:
            self.workers.close()


def _at_once(config: Config) -> int:
    """How many rows of a target are in flight, which mostly wait for something else."""
    is_unset = config.origins["concurrency"] == "default"
    return AGENTS_AT_ONCE if is_unset else config.values.concurrency


def _make_ready(
    plans: _Plans, *, pricing: Pricing, clock: Clock, note: Callable[[str], None]
) -> _Ready:
    """The money, the providers and the targets that a plan needs, before anything is asked.

    Raises:
        ProctorError: What stands in the way of either, all of it together.
    """
    rules = plans.rules
    prices, unpriced = prices_of(plans.selected, pricing)
    # Without a limit there is nothing to hold the worst case against.
    wanted = None if rules.max_cost_usd is None else prices
    problems: list[ProctorError] = []
    calls: list[PlannedCalls] = []
    for suite in plans.selected:
        with noting(problems):
            planned = planned_calls(plans.folder, suite, rules.cache, wanted)
            calls += [one for one in planned if one.to_make]
    raise_all(problems)
    asked = {(one.suite, one.model) for one in calls if is_target(one.model)}
    if rules.workers is not None and calls:
        from proctor.worker_opening import Asked, open_workers

        budget = _budget(rules, calls, prices, unpriced)
        names = {_provider_of(one.model) for one in calls if not is_target(one.model)}
        workers = open_workers(
            rules,
            plans.selected,
            Asked(names, asked),
            config=plans.config,
            budget=budget,
            note=note,
        )
        return _Ready(budget, workers.providers, workers.agents, workers)
    budget, providers = ready_to_ask(
        rules, calls, (prices, unpriced), config=plans.config, clock=clock
    )
    agents: dict[str, LiveTarget] = {}
    if asked:
        from proctor.agent_opening import open_agents

        hide_keys(plans.config.values.providers.values(), os.environ)
        agents = open_agents(
            plans.selected,
            asked,
            rules=rules,
            access=rules.access(),
            root=plans.config.root,
            note=note,
        )
    return _Ready(budget, providers, agents)


def is_target(model: str) -> bool:
    """Whether what stands for a model is a target."""
    return model.startswith("target:")


Prices = tuple[dict[str, ModelPrice | None], dict[str, ProctorError]]
"""The price of every model that may be asked, and why there is none."""


def ready_to_ask(
    rules: AskingRules,
    calls: Sequence[PlannedCalls],
    prices: Prices,
    *,
    config: Config,
    clock: Clock,
) -> tuple[Budget | None, dict[str, OpenProvider]]:
    """The money and the providers for calls that are to be made, before anything is asked.

    Args:
        rules: What asking may do.
        calls: What is asked for.
        prices: What the models cost.
        config: The project.
        clock: Where time comes from.

    Raises:
        ProctorError: What stands in the way of either, all of it together.
    """
    problems: list[ProctorError] = []
    with noting(problems):
        budget = _budget(rules, calls, *prices)
    with noting(problems):
        providers = open_providers(
            {_provider_of(one.model) for one in calls if not is_target(one.model)},
            config.values.providers,
            root=config.root,
            clock=clock,
            access=rules.access(),
        )
    raise_all(problems)
    return budget, providers


def _budget(
    rules: AskingRules,
    calls: Sequence[PlannedCalls],
    prices: Mapping[str, ModelPrice | None],
    unpriced: Mapping[str, ProctorError],
) -> Budget | None:
    """What the run may spend, once it is sure that the plan fits into it.

    Returns:
        None when nobody is asked who costs anything, and there is no limit.

    Raises:
        ProctorError: P6504 without a limit, P6501 or P6505 for a model without a price that can be
            relied on, P6204 for answers of any length, P6503 when the limit does not cover the
            worst case.
    """
    asked = sorted({one.model for one in calls})
    if rules.max_cost_usd is None:
        raise_all([unpriced[model] for model in asked if is_target(model) and model in unpriced])
        found = [prices[model] for model in asked]
        if all(price is not None and price.source == "scripted" for price in found):
            return None
        raise UsageError(
            f"`--cache {rules.cache.value}` asks models that cost money, and nothing limits it",
            code="P6504",
            hint="give the most it may cost, as in `--max-cost 1.50`; `--dry-run` says how much "
            "that could be",
        )
    raise_all([unpriced[model] for model in asked if model in unpriced])
    require_cover(calls, rules.max_cost_usd)
    return Budget(rules.max_cost_usd)


def _recover(folder: CassetteFolder, suites: Sequence[tuple[ReadySuite, Plan]]) -> None:
    """Bring what killed runs received into the cassettes, so that the plan counts it as there."""
    problems: list[ProctorError] = []
    for suite, plan in suites:
        with noting(problems):
            recover_alone(folder, suite, plan)
    raise_all(list({(one.code, one.message): one for one in problems}.values()))


def prices_of(selected: Sequence[SelectedSuite], pricing: Pricing) -> Prices:
    """The price of every model that may be asked, and why there is none."""
    prices, unpriced = model_prices(_models(selected), pricing)
    for one in selected:
        for subject in one.subjects:
            if not isinstance(subject.target, PromptTarget):
                _add_target(subject, prices, unpriced)
    return prices, unpriced


def _add_target(
    subject: ReadySubject,
    prices: dict[str, ModelPrice | None],
    unpriced: dict[str, ProctorError],
) -> None:
    from proctor.agent_opening import target_price

    ref = subject.target.subject.id
    prices[ref] = None
    try:
        prices[ref] = target_price(subject)
    except UsageError as problem:
        unpriced[ref] = problem


def model_prices(models: Collection[str], pricing: Pricing) -> Prices:
    """The same of some models."""
    prices: dict[str, ModelPrice | None] = {}
    unpriced: dict[str, ProctorError] = {}
    for ref in sorted(models):
        prices[ref] = None
        try:
            prices[ref] = pricing.price(ref)
        except UsageError as problem:
            unpriced[ref] = problem
    return prices, unpriced


def say_where_keys_go(providers: Mapping[str, OpenProvider], watch: Watch) -> None:
    """Say which key goes where, before it does."""
    for one in providers.values():
        if one.key is not None:
            watch.note(f"sending {one.key} to {one.provider.host}")
        elif one.provider.host is not None:
            watch.note(f"sending no key to {one.provider.host}")


def _models(selected: Sequence[SelectedSuite]) -> set[str]:
    subjects = [subject for one in selected for subject in one.subjects]
    judges = [judge.model.ref for one in subjects for each in one.judged for judge in each.judges]
    prompts = [one.target.subject for one in subjects if isinstance(one.target, PromptTarget)]
    return {*judges, *(one.model.ref for one in prompts)}


def _provider_of(ref: str) -> str:
    return ref.partition("/")[0]


def _targets_to_ask(
    folder: CassetteFolder, selected: Sequence[SelectedSuite], mode: CacheMode
) -> list[PromptTarget]:
    targets: list[PromptTarget] = []
    problems: list[ProctorError] = []
    for suite in selected:
        try:
            asked = [subject.target for subject in subjects_to_ask(folder, suite, mode)]
            targets += [target for target in asked if isinstance(target, PromptTarget)]
        except ProctorError as problem:
            problems.append(problem)
    raise_all(problems)
    return targets
