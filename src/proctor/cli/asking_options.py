"""The options that say where answers come from, for every command that runs suites."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import Struct

from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode
from proctor.cli.output import Output
from proctor.config import Config
from proctor.evaluation import SelectedSuite, evaluate
from proctor.records import JsonObject
from proctor.replaying import RUN, Recorder, ReplaySession
from proctor.reporting import RunReport

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)


class AskingOptions(Struct, frozen=True, kw_only=True):
    """Where answers come from and what asking for them may do, by the names of the options."""

    cwd: Path | None
    cache: str
    cassettes: Path | None
    dry_run: bool
    max_cost: float | None
    allow_host: tuple[str, ...]
    allow_local: bool
    allow_key: tuple[str, ...]
    concurrency: int | None
    timeout: float
    max_wait: float
    max_cases: int | None
    allow_code: bool
    quiet: bool

    def path(self, given: Path) -> Path:
        """A path given as an option: relative ones start at `--cwd`, or where the user is."""
        return (self.cwd or Path.cwd()) / given

    def settings(self) -> JsonObject:
        """What they say in place of the project's settings."""
        return {"concurrency": self.concurrency, "max_cases": self.max_cases}


def _finite(_context: object, _parameter: object, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter("it must be a finite number")
    return value


_OPTIONS = (
    click.option(
        "--cache",
        type=click.Choice([mode.value for mode in CacheMode]),
        default=CacheMode.REPLAY.value,
        show_default=True,
        help="Where answers come from: recordings only; recordings, asking for what is missing; "
        "asking for everything and recording it; asking and recording nothing.",
    ),
    click.option(
        "--cassettes", metavar="DIR", type=FILE, help="Use the recordings of another folder."
    ),
    click.option("--dry-run", is_flag=True, help="Say what would be asked, and ask nothing."),
    click.option(
        "--max-cost",
        metavar="USD",
        type=click.FloatRange(0, 1_000_000),
        callback=_finite,
        help="What asking may cost at most. Nothing is asked when the plan could cost more.",
    ),
    click.option(
        "--allow-host",
        metavar="H[:PORT]",
        multiple=True,
        help="Let requests go to this host of a provider. api.anthropic.com and api.openai.com "
        "are open for their own.",
    ),
    click.option(
        "--allow-local", is_flag=True, help="Let requests go to providers on this machine."
    ),
    click.option(
        "--allow-key",
        metavar="NAME=H[:PORT]",
        multiple=True,
        help="Let the key in this variable go to this host.",
    ),
    click.option(
        "--concurrency",
        metavar="N",
        type=click.IntRange(1, 1_024),
        help="Calls in flight at most. A replay waits for nothing and is the same at any value.",
    ),
    click.option(
        "--timeout",
        metavar="S",
        type=click.FloatRange(0.001, 86_400),
        callback=_finite,
        default=120.0,
        show_default=True,
        help="Seconds one reply may take in all.",
    ),
    click.option(
        "--max-wait",
        metavar="S",
        type=click.FloatRange(0, 86_400),
        callback=_finite,
        default=60.0,
        show_default=True,
        help="Seconds one call may wait, in all, to be asked again after a rate limit or a fault.",
    ),
    click.option(
        "--max-cases",
        metavar="N",
        type=click.IntRange(1, 1_000_000),
        help="How many cases a dataset may have.  [default: 1000]",
    ),
    click.option(
        "--allow-code", is_flag=True, help="Let assertions of kind `python` run their functions."
    ),
    click.option("--quiet", is_flag=True, help="Do not show how a live run goes."),
)


def run_suites(
    options: AskingOptions,
    selected: Sequence[SelectedSuite],
    *,
    folder: CassetteFolder,
    config: Config,
    output: Output,
    answers: bool = True,
    recorder: Recorder = RUN,
) -> RunReport:
    """Run suites and make the report, with answers from where the options say.

    Args:
        options: The options.
        selected: What to run.
        folder: Where cassettes are.
        config: The project.
        output: Where to say what is done.
        answers: Whether the report holds answers, inputs, expected values, evidence and reasons.
        recorder: The command that would record what a replay misses.
    """
    if options.cache == CacheMode.REPLAY.value:
        names = [one.name for one in selected]
        with closing(ReplaySession(folder, names, recorder=recorder)) as session:
            return evaluate(config, selected, session, answers=answers)
    from proctor.cli.live import run_live

    return run_live(options, selected, folder=folder, config=config, output=output, answers=answers)


def asking_options(command: Command) -> Command:
    """Every option of `AskingOptions` but `--cwd`, in the order of the help."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
