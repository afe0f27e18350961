"""The options of `proctor run`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

import click

from proctor.cassettes import CacheMode
from proctor.cli.asking_options import FILE, AskingOptions
from proctor.cli.comparing_options import ComparingOptions, comparing_options
from proctor.errors import UsageError
from proctor.registry import renderers
from proctor.report_files import cases_not_passed
from proctor.selecting import Selection

Command = TypeVar("Command", bound=Callable[..., Any])


class RunOptions(AskingOptions, frozen=True, kw_only=True):
    """What was given to `proctor run`, by the names of its options."""

    suites: tuple[str, ...]
    case: tuple[str, ...]
    tag: tuple[str, ...]
    model: tuple[str, ...]
    prompt: tuple[str, ...]
    tier: tuple[str, ...]
    filter: str | None
    exclude: str | None
    first: int | None
    failed_in: Path | None
    repeats: int | None
    label: str | None
    format: str
    out: Path | None
    report_dir: Path | None
    no_answers: bool
    all: bool
    exit_zero: bool
    store: bool
    verify: Path | None
    baseline: str | None
    comparing: ComparingOptions

    def require_sense(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            UsageError: P6002 naming them.
        """
        if self.dry_run and (
            self.verify or self.out or self.report_dir or self.baseline or self.store
        ):
            raise _senseless(
                "`--dry-run` makes no report, so it does not go with `--out`, `--report-dir`, "
                "`--verify`, `--baseline` or `--store`"
            )
        unused = self.comparing.given() if self.baseline is None else []
        if unused:
            raise _senseless(f"`{unused[0]}` compares, and nothing is named by `--baseline`")
        if self.verify is not None and self.cache != CacheMode.REPLAY.value:
            raise _senseless("`--verify` replays, so it does not go with a live `--cache`")
        for name, given in (("--filter", self.filter), ("--exclude", self.exclude)):
            if given is not None and not _listed(given):
                raise _senseless(f"`{name}` names nothing")

    @property
    def is_selection(self) -> bool:
        """Whether less than everything was asked for."""
        named = (self.suites, self.case, self.tag, self.model, self.prompt, self.tier)
        return any((*named, self.filter, self.exclude, self.first, self.failed_in))

    def for_recording(self) -> str:
        """The options without which a recording would be of other rows."""
        repeats = "" if self.repeats is None else f" --repeats {self.repeats}"
        return repeats if self.label is None else f"{repeats} --label {quote(self.label)}"

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
            tiers=self.tier,
            include=_listed(self.filter),
            exclude=_listed(self.exclude),
            first=self.first,
            failed=failed,
        )


def _senseless(message: str) -> UsageError:
    return UsageError(message, code="P6002", hint="leave one of them out, or give it a value")


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(part for part in (text or "").split(",") if part)


_OPTIONS = (
    click.option("--case", metavar="GLOB", multiple=True, help="Only cases with such an id."),
    click.option("--tag", metavar="T", multiple=True, help="Only cases with this tag."),
    click.option("--model", metavar="REF", multiple=True, help="Only subjects on this model."),
    click.option("--prompt", metavar="ID", multiple=True, help="Only subjects with this prompt."),
    click.option(
        "--tier",
        metavar="T",
        multiple=True,
        help="Only cases of this tier. Its gate in the project file, if it has one, must hold.",
    ),
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
        "--label",
        metavar="ENV",
        help="Test the prompts that this environment serves: those of its git revision in the "
        "project's `labels`.",
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
    click.option(
        "--store",
        is_flag=True,
        help="Keep the report and its figures for `proctor history`, as live runs always do.",
    ),
    click.option("--exit-zero", is_flag=True, help="Exit with 0 where it would be 1 or 3."),
    click.option(
        "--verify",
        metavar="REPORT",
        type=FILE,
        help="Replay, and exit with 1 unless the JSON report has the same bytes.",
    ),
    click.option(
        "--baseline",
        metavar="REPORT|NAME",
        help="Compare with this JSON report, or with the baseline of this name.",
    ),
    comparing_options,
)


def run_options(command: Command) -> Command:
    """The options that only `proctor run` has, in the order of its help."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
