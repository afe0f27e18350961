"""A live run from the command line: what it would ask for, how it goes, Ctrl-C."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode
from proctor.cli.asking_options import AskingOptions
from proctor.cli.output import Output, counted
from proctor.cli.progress import open_progress
from proctor.clock import Clock
from proctor.config import Config
from proctor.errors import ProctorError
from proctor.evaluation import SelectedSuite
from proctor.live_runs import prices_of
from proctor.protocols import Progress
from proctor.providers.pricing import ModelPrice, Pricing
from proctor.records import CallKind
from proctor.rendering.wording import money_text
from proctor.running.engine import GRACE_S, Stop
from proctor.spending import PlannedCalls, planned_calls
from proctor.targets.prompt import PromptTarget

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_CONTINUES = {
    CacheMode.RECORD: "what was received is stored; `--cache record` continues, and with "
    "`--resume` this run goes on",
    CacheMode.REFRESH: "what was received is stored; with `--resume` this run goes on, and without "
    "it everything is asked for again",
    CacheMode.OFF: "what was received is not stored in the cassette; rows that had finished are "
    "kept, and with `--resume` this run goes on",
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
    prices, _ = prices_of(selected, pricing)
    mode = CacheMode(options.cache)
    planned: list[PlannedCalls] = []
    for suite in selected:
        for subject in suite.subjects:
            if isinstance(subject.target, PromptTarget):
                with suppress(ProctorError):
                    subject.target.prepare(config.root, allow_code=options.allow_code)
        planned += planned_calls(folder, suite, mode, prices)
    show_plan(planned, prices, output)


def show_plan(
    planned: Sequence[PlannedCalls], prices: Mapping[str, ModelPrice | None], output: Output
) -> None:
    """Say how many calls there are per model, and what those to make could cost at most."""
    total: list[float | None] = []
    for calls in planned:
        price = prices[calls.model]
        is_free = price is not None and price.source == "scripted"
        output.line(_planned(calls, is_free=is_free))
        if calls.to_make and not is_free:
            total.append(None if calls.worst is None else calls.worst.usd)
    known = [one for one in total if one is not None]
    if total:
        more = "" if len(known) == len(total) else ", and what has no known price"
        output.line(f"at most {money_text(math.fsum(known))} in all{more}")


_USES = {CallKind.ANSWER: "row", CallKind.BUILD: "build"}
"""What calls are made for, when not for a vote of a judge."""


def _planned(calls: PlannedCalls, *, is_free: bool) -> str:
    uses = counted(calls.uses, _USES.get(calls.kind, "vote"))
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


@contextmanager
def followed(
    options: AskingOptions, output: Output, stop: Stop, *, rows: int, clock: Clock
) -> Iterator[Progress]:
    """Show how a live run goes while it asks, and end it when told to.

    Ctrl-C once, SIGTERM or SIGHUP lets calls in flight finish for 10 seconds and keeps what came;
    Ctrl-C twice stops now.
    """
    with (
        _stopping_when_told(stop, output, _CONTINUES[CacheMode(options.cache)]),
        open_progress(output, quiet=options.quiet, total=rows, clock=clock) as progress,
    ):
        yield progress


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
