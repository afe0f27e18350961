"""The options that say where answers come from, for every command that runs suites."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct

from proctor.asking_rules import AskingRules
from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode
from proctor.cli.foreign_code import foreign_code
from proctor.cli.optional_values import ports
from proctor.cli.output import Output
from proctor.clock import Clock
from proctor.config import Config
from proctor.evaluation import SelectedSuite
from proctor.keeping import NOTHING_KEPT, Keeping
from proctor.protocols import Progress
from proctor.records import JsonObject
from proctor.replaying import RUN, Recorder
from proctor.reporting import RunReport
from proctor.suite_runs import run_selected

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from proctor.running.engine import Stop

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
    allow_local: tuple[int | None, ...]
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

    def rules(self) -> AskingRules:
        """What they say, whatever they are called."""
        return AskingRules(
            cache=CacheMode(self.cache),
            max_cost_usd=self.max_cost,
            allow_hosts=self.allow_host,
            allow_local=None in self.allow_local,
            allow_local_ports=tuple(port for port in self.allow_local if port is not None),
            allow_keys=self.allow_key,
            allow_code=self.allow_code,
            timeout_s=self.timeout,
            max_wait_s=self.max_wait,
        )

    def settings(self) -> JsonObject:
        """What they say in place of the project's settings."""
        return {"concurrency": self.concurrency, "max_cases": self.max_cases}


def _finite(_context: object, _parameter: object, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter("it must be a finite number")
    return value


_ALLOW_CODE = click.option(
    "--allow-code",
    is_flag=True,
    help="Let code run: assertions of kind `python`, targets, plugins that yield cases.",
)
_HOST_OPTIONS = (
    click.option(
        "--allow-host",
        metavar="H[:PORT]",
        multiple=True,
        help="Let requests go to this host of a provider. api.anthropic.com and api.openai.com "
        "are open for their own.",
    ),
    click.option(
        "--allow-local",
        metavar="[PORT]",
        multiple=True,
        callback=ports,
        help="Let requests go to providers on this machine, or to targets at this port of it.",
    ),
    click.option(
        "--allow-key",
        metavar="NAME=H[:PORT]",
        multiple=True,
        help="Let the key in this variable go to this host.",
    ),
)
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
    *_HOST_OPTIONS,
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
    _ALLOW_CODE,
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
    keeping: Keeping = NOTHING_KEPT,
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
        keeping: Where rows and the report are kept, for runs that may go on later.
    """
    with foreign_code() if options.allow_code else nullcontext():
        return run_selected(
            options.rules(),
            selected,
            folder=folder,
            config=config,
            watch=CommandWatch(options, output),
            answers=answers,
            recorder=recorder,
            keeping=keeping,
        )


class CommandWatch:
    """Shows on stderr how a run goes, and ends it at Ctrl-C."""

    stop = None

    def __init__(self, options: AskingOptions, output: Output) -> None:
        self._options = options
        self._output = output

    def note(self, text: str) -> None:
        """One line on stderr."""
        self._output.note(text)

    def asking(self, stop: Stop, rows: int, clock: Clock) -> AbstractContextManager[Progress]:
        """Show how a live run goes."""
        from proctor.cli.live import followed

        return followed(self._options, self._output, stop, rows=rows, clock=clock)


def asking_options(command: Command) -> Command:
    """Every option of `AskingOptions` but `--cwd`, in the order of the help."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def host_options(command: Command) -> Command:
    """The options that open hosts, and let keys go to them."""
    for option in reversed(_HOST_OPTIONS):
        command = option(command)
    return command


def judging_options(command: Command) -> Command:
    """The same without `--allow-code`, for commands that ask judges only."""
    for option in reversed(_OPTIONS):
        command = command if option is _ALLOW_CODE else option(command)
    return command
