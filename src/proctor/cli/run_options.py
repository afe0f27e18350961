"""The options of `proctor run`."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import Struct

from proctor.cassettes import CacheMode
from proctor.errors import UsageError
from proctor.registry import renderers
from proctor.report_files import cases_not_passed
from proctor.selecting import Selection

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)


class RunOptions(Struct, frozen=True, kw_only=True):
    """What was given to `proctor run`, by the names of its options."""

    suites: tuple[str, ...]
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
    case: tuple[str, ...]
    tag: tuple[str, ...]
    model: tuple[str, ...]
    prompt: tuple[str, ...]
    filter: str | None
    exclude: str | None
    first: int | None
    failed_in: Path | None
    repeats: int | None
    max_cases: int | None
    allow_code: bool
    format: str
    out: Path | None
    report_dir: Path | None
    no_answers: bool
    all: bool
    quiet: bool
    exit_zero: bool
    verify: Path | None

    def require_sense(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            UsageError: P6002 naming them.
        """
        if self.dry_run and (self.verify or self.out or self.report_dir):
            raise _senseless(
                "`--dry-run` makes no report, so it does not go with `--out`, `--report-dir` or "
                "`--verify`"
            )
        if self.verify is not None and self.cache != CacheMode.REPLAY.value:
            raise _senseless("`--verify` replays, so it does not go with a live `--cache`")
        for name, given in (("--filter", self.filter), ("--exclude", self.exclude)):
            if given is not None and not _listed(given):
                raise _senseless(f"`{name}` names nothing")

    def path(self, given: Path) -> Path:
        """A path given as an option: relative ones start at `--cwd`, or where the user is."""
        return (self.cwd or Path.cwd()) / given

    def selection(self) -> Selection:
        """What was selected.

        Raises:
            ReportError: P6901 when the report of `--failed-in` cannot be read.
        """
        failed = None if self.failed_in is None else cases_not_passed(self.path(self.failed_in))
        return Selection(
            cases=self.case,
            tags=self.tag,
            models=self.model,
            prompts=self.prompt,
            include=_listed(self.filter),
            exclude=_listed(self.exclude),
            first=self.first,
            failed=failed,
        )


def _senseless(message: str) -> UsageError:
    return UsageError(message, code="P6002", hint="leave one of them out, or give it a value")


def _finite(_context: object, _parameter: object, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter("it must be a finite number")
    return value


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(part for part in (text or "").split(",") if part)


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
    click.option("--case", metavar="GLOB", multiple=True, help="Only cases with such an id."),
    click.option("--tag", metavar="T", multiple=True, help="Only cases with this tag."),
    click.option("--model", metavar="REF", multiple=True, help="Only subjects on this model."),
    click.option("--prompt", metavar="ID", multiple=True, help="Only subjects with this prompt."),
    click.option(
        "--filter",
        metavar="A,B",
        help="Only what has one of these in the suite's name or the case's id.",
    ),
    click.option("--exclude", metavar="A,B", help="Nothing that has one of these in either."),
    click.option(
        "--first", metavar="N", type=click.IntRange(1), help="Only the first N cases of a suite."
    ),
    click.option(
        "--failed-in",
        metavar="REPORT",
        type=FILE,
        help="Only cases that did not pass in this JSON report.",
    ),
    click.option(
        "--repeats",
        metavar="N",
        type=click.IntRange(1, 1_000),
        help="Repeat each row N times, whatever the suites say.",
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
    click.option(
        "--format",
        type=click.Choice(renderers.names()),
        default="text",
        show_default=True,
        help="What is printed.",
    ),
    click.option("--out", metavar="FILE", type=FILE, help="Also write it to a file."),
    click.option(
        "--report-dir",
        metavar="DIR",
        type=FILE,
        help="Write one JSON report per suite into this folder.",
    ),
    click.option(
        "--no-answers",
        is_flag=True,
        help="Leave answers, inputs, expected values, evidence and reasons out of the report.",
    ),
    click.option("--all", is_flag=True, help="Show every case, not only the first 20."),
    click.option("--quiet", is_flag=True, help="Do not show how a live run goes."),
    click.option("--exit-zero", is_flag=True, help="Exit with 0 where it would be 1 or 3."),
    click.option(
        "--verify",
        metavar="REPORT",
        type=FILE,
        help="Replay, and exit with 1 unless the JSON report has the same bytes.",
    ),
)


def run_options(command: Command) -> Command:
    """Every option of `proctor run`, in the order of its help."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
