"""A live run from the command line: providers, the run's folder, Ctrl-C."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress

from proctor.asking import AskingLimits, Means
from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode
from proctor.cli.asking_options import AskingOptions
from proctor.cli.output import Output, counted
from proctor.cli.progress import open_progress
from proctor.cli.stored_runs import store_run
from proctor.clock import Clock
from proctor.config import Config
from proctor.errors import ProctorError, UsageError, raise_all
from proctor.evaluation import SelectedSuite, evaluate
from proctor.providers.access import Access, OpenProvider, open_providers
from proctor.providers.budget import Budget
from proctor.providers.hosts import HostRules
from proctor.providers.keys import KeyRules
from proctor.providers.pricing import ModelPrice, Pricing
from proctor.recording import LiveOptions, LiveSession, recover_alone
from proctor.records import CallKind
from proctor.rendering.wording import money_text
from proctor.replaying import subjects_to_ask
from proctor.reporting import RunReport
from proctor.running.engine import GRACE_S, Stop
from proctor.spending import PlannedCalls, planned_calls, require_cover
from proctor.targets.prompt import PromptTarget

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_CONTINUES = {
    CacheMode.RECORD: "what was received is stored; `--cache record` continues",
    CacheMode.REFRESH: "what was received is stored; `--cache refresh` asks for everything again",
    CacheMode.OFF: "what was received is not stored",
}


def dry_run(
    options: AskingOptions,
    selected: Sequence[SelectedSuite],
    *,
    folder: CassetteFolder,
    config: Config,
    output: Output,
) -> None:
    """Say what a run would ask for, and what that could cost at most; nothing is asked."""
    pricing = Pricing(config.values.prices, config.values.providers)
    prices, _ = _prices(selected, pricing)
    mode = CacheMode(options.cache)
    total: list[float | None] = []
    for suite in selected:
        for subject in suite.subjects:
            with suppress(ProctorError):
                subject.target.prepare(config.root, allow_code=options.allow_code)
        for calls in planned_calls(folder, suite, mode, prices):
            price = prices[calls.model]
            is_free = price is not None and price.source == "scripted"
            output.line(_planned(calls, is_free=is_free))
            if calls.to_make and not is_free:
                total.append(None if calls.worst is None else calls.worst.usd)
    known = [one for one in total if one is not None]
    if total:
        more = "" if len(known) == len(total) else ", and what has no known price"
        output.line(f"at most {money_text(math.fsum(known))} in all{more}")


def _planned(calls: PlannedCalls, *, is_free: bool) -> str:
    uses = counted(calls.uses, "row" if calls.kind is CallKind.ANSWER else "vote")
    line = (
        f"{calls.suite}  {calls.model}: {uses}, {counted(calls.recorded, 'call')} recorded, "
        f"{calls.calls - calls.recorded} not, {calls.to_make} to make"
    )
    if not calls.to_make or is_free:
        return line
    if calls.worst is None:
        return f"{line}; how much that could cost is not known"
    cost = "at no known price" if calls.worst.usd is None else money_text(calls.worst.usd)
    return (
        f"{line}; at most {calls.worst.input_tokens} tokens in, {calls.worst.output_tokens} out, "
        f"{cost}"
    )


def run_live(
    options: AskingOptions,
    selected: Sequence[SelectedSuite],
    *,
    folder: CassetteFolder,
    config: Config,
    output: Output,
    answers: bool,
) -> RunReport:
    """Ask for answers, record them, and make the report.

    Ctrl-C once, SIGTERM or SIGHUP lets calls in flight finish for 10 seconds and keeps what came;
    Ctrl-C twice stops now. The report is also written into the run's folder.
    """
    clock, stop = Clock(), Stop()
    mode = CacheMode(options.cache)
    if mode is not CacheMode.OFF:
        _recover(folder, selected)
    for target in _targets_to_ask(folder, selected, mode):
        target.prepare(config.root, allow_code=options.allow_code)
    pricing = Pricing(config.values.prices, config.values.providers, clock=clock)
    budget, providers = _make_ready(
        options, selected, folder=folder, config=config, pricing=pricing, clock=clock
    )
    _say_where_keys_go(providers, output)
    rows = sum(one.plan.rows for one in selected)
    with (
        _stopping_when_told(stop, output, _CONTINUES[mode]),
        open_progress(output, quiet=options.quiet, total=rows, clock=clock) as progress,
    ):
        session = LiveSession(
            folder,
            [(one.suite, one.plan) for one in selected],
            means=Means(
                providers={name: one.provider for name, one in providers.items()},
                pricing=pricing,
                budget=budget,
                progress=progress,
                clock=clock,
                stop=stop,
            ),
            options=LiveOptions(
                mode=mode,
                limits=AskingLimits(
                    concurrency=config.values.concurrency,
                    timeout_s=options.timeout,
                    max_wait_s=options.max_wait,
                ),
            ),
        )
        with closing(session):
            report = evaluate(config, selected, session, answers=answers)
            store_run(config.root, session.run, report, output)
    return report


def _make_ready(
    options: AskingOptions,
    selected: Sequence[SelectedSuite],
    *,
    folder: CassetteFolder,
    config: Config,
    pricing: Pricing,
    clock: Clock,
) -> tuple[Budget | None, dict[str, OpenProvider]]:
    """The money and the providers that a plan needs, before anything is asked.

    Raises:
        ProctorError: What stands in the way of either, all of it together.
    """
    mode = CacheMode(options.cache)
    prices, unpriced = _prices(selected, pricing)
    # Without a limit there is nothing to hold the worst case against.
    wanted = None if options.max_cost is None else prices
    problems: list[ProctorError] = []
    calls: list[PlannedCalls] = []
    for suite in selected:
        with _noting(problems):
            calls += [one for one in planned_calls(folder, suite, mode, wanted) if one.to_make]
    raise_all(problems)
    with _noting(problems):
        budget = _budget(options, calls, prices, unpriced)
    with _noting(problems):
        providers = open_providers(
            {_provider_of(one.model) for one in calls},
            config.values.providers,
            root=config.root,
            clock=clock,
            access=Access(
                HostRules.of(options.allow_host, allow_local=options.allow_local),
                KeyRules.of(options.allow_key),
            ),
        )
    raise_all(problems)
    return budget, providers


def _budget(
    options: AskingOptions,
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
    if options.max_cost is None:
        found = [prices[model] for model in asked]
        if all(price is not None and price.source == "scripted" for price in found):
            return None
        raise UsageError(
            f"`--cache {options.cache}` asks models that cost money, and nothing limits it",
            code="P6504",
            hint="give the most it may cost, as in `--max-cost 1.50`; `--dry-run` says how much "
            "that could be",
        )
    raise_all([unpriced[model] for model in asked if model in unpriced])
    require_cover(calls, options.max_cost)
    return Budget(options.max_cost)


def _recover(folder: CassetteFolder, selected: Sequence[SelectedSuite]) -> None:
    """Bring what killed runs received into the cassettes, so that the plan counts it as there."""
    problems: list[ProctorError] = []
    for one in selected:
        with _noting(problems):
            recover_alone(folder, one.suite, one.plan)
    raise_all(list({(one.code, one.message): one for one in problems}.values()))


@contextmanager
def _noting(problems: list[ProctorError]) -> Iterator[None]:
    """Note what goes wrong, so that all of it can be said together."""
    try:
        yield
    except ProctorError as problem:
        problems.append(problem)


def _prices(
    selected: Sequence[SelectedSuite], pricing: Pricing
) -> tuple[dict[str, ModelPrice | None], dict[str, ProctorError]]:
    """The price of every model that may be asked, and why there is none."""
    prices: dict[str, ModelPrice | None] = {}
    unpriced: dict[str, ProctorError] = {}
    for ref in sorted(_models(selected)):
        prices[ref] = None
        try:
            prices[ref] = pricing.price(ref)
        except UsageError as problem:
            unpriced[ref] = problem
    return prices, unpriced


def _say_where_keys_go(providers: Mapping[str, OpenProvider], output: Output) -> None:
    for one in providers.values():
        if one.key is not None:
            output.note(f"sending {one.key} to {one.provider.host}")
        elif one.provider.host is not None:
            output.note(f"sending no key to {one.provider.host}")


def _models(selected: Sequence[SelectedSuite]) -> set[str]:
    subjects = [subject for one in selected for subject in one.subjects]
    judges = [
        judge.model.ref for one in subjects for each in one.checks.judged for judge in each.judges
    ]
    return {*judges, *(one.target.subject.model.ref for one in subjects)}


def _provider_of(ref: str) -> str:
    return ref.partition("/")[0]


def _targets_to_ask(
    folder: CassetteFolder, selected: Sequence[SelectedSuite], mode: CacheMode
) -> list[PromptTarget]:
    targets: list[PromptTarget] = []
    problems: list[ProctorError] = []
    for suite in selected:
        try:
            targets += [subject.target for subject in subjects_to_ask(folder, suite, mode)]
        except ProctorError as problem:
            problems.append(problem)
    raise_all(problems)
    return targets


@contextmanager
def _stopping_when_told(stop: Stop, output: Output, stopped: str) -> Iterator[None]:
    """Stop in good order at Ctrl-C, SIGTERM or SIGHUP, and at once when Ctrl-C follows.

    The other two never stop at once: who ends a group of processes often sends them twice.
    """
    is_told = False

    def stop_once(number: int, frame: object) -> None:
        nonlocal is_told
        if is_told:
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            return
        is_told = True
        stop.request()
        output.note(f"stopping: calls in flight have {GRACE_S:g} s; Ctrl-C again stops now")

    # What is ignored, as under `nohup`, stays ignored.
    heard = [signal.SIGINT, *(one for one in _ENDING if signal.getsignal(one) != signal.SIG_IGN)]
    before = {one: signal.signal(one, stop_once) for one in heard}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        if is_told:
            output.note(f"stopped: {stopped}")
