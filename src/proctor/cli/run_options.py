"""The options of `proctor run`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec.structs import replace

from proctor.asking_rules import AskingRules, TrackingRules, WorkerRules
from proctor.cassettes import CacheMode
from proctor.cli.asking_options import FILE, AskingOptions
from proctor.cli.comparing_options import comparing_options
from proctor.cli.tracking_options import tracking_options
from proctor.errors import UsageError
from proctor.keeping import Keeping
from proctor.loading.targets import parse_lanes
from proctor.registry import renderers
from proctor.report_comparing import ComparingOptions
from proctor.report_files import cases_not_passed
from proctor.selecting import Selection
from proctor.sharding import Shard, read_timings
from proctor.tracker_protocols import Tracker

LOCAL, RAY = "local", "ray"
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
    shard: str | None
    timings: Path | None
    repeats: int | None
    label: str | None
    format: str
    out: Path | None
    report_dir: Path | None
    no_answers: bool
    all: bool
    exit_zero: bool
    store: bool
    resume: str | None
    output_dir: Path | None
    lane: tuple[str, ...]
    keep: bool
    engine: str
    address: str | None
    verify: Path | None
    baseline: str | None
    driver: str
    tracker_content: bool
    baseline_prefix: str | None
    otel: bool
    otel_content: bool
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
        if self.dry_run and self.keeping().is_asked_for:
            raise _senseless(
                "`--dry-run` runs nothing, so it does not go with `--resume` or `--output-dir`"
            )
        if self.timings is not None and self.shard is None:
            raise _senseless("`--timings` splits a run, and `--shard` does not say into how many")
        self._require_tracking_sense()
        is_compared = self.baseline is not None or self.baseline_prefix is not None
        unused = [] if is_compared else self.comparing.given()
        if unused:
            raise _senseless(f"`{unused[0]}` compares, and nothing is named by `--baseline`")
        if self.verify is not None and self.cache != CacheMode.REPLAY.value:
            raise _senseless("`--verify` replays, so it does not go with a live `--cache`")
        if self.engine == RAY and self.cache == CacheMode.REPLAY.value:
            raise UsageError(
                "`--engine ray` spreads calls, and a replay makes none",
                code="P6002",
                hint="leave it out, or give a live `--cache`",
            )
        if self.address is not None and self.engine != RAY:
            raise _senseless("`--address` names a cluster, and `--engine` is not `ray`")
        self._require_parts()

    def _require_parts(self) -> None:
        for name, given in (("--filter", self.filter), ("--exclude", self.exclude)):
            if given is not None and not _listed(given):
                raise _senseless(f"`{name}` names nothing")
            if given is not None and ("*" in given or "?" in given):
                raise UsageError(
                    f"`{name}` takes parts of names, and not globs",
                    code="P6002",
                    hint="write the part itself; `--case` takes globs",
                )

    def _require_tracking_sense(self) -> None:
        if self.driver == "direct":
            for name, given in (
                ("--tracker-content", self.tracker_content),
                ("--baseline-prefix", self.baseline_prefix is not None),
            ):
                if given:
                    raise _senseless(f"`{name}` does nothing without `--driver langsmith`")
        if self.otel_content and not self.otel:
            raise _senseless("`--otel-content` does nothing without `--otel`")
        if self.baseline is not None and self.baseline_prefix is not None:
            raise _senseless("`--baseline` and `--baseline-prefix` name two baselines")
        if self.dry_run and (self.otel or self.driver != "direct"):
            raise _senseless(
                "`--dry-run` runs nothing, so it does not go with `--driver` or `--otel`"
            )

    def tracking(self) -> TrackingRules:
        """Who else is told of the run."""
        return TrackingRules(
            langsmith=self.driver == "langsmith",
            content=self.tracker_content,
            otel=self.otel,
            otel_content=self.otel_content,
        )

    def rules(self) -> AskingRules:
        """Where answers come from, and what asking for them may do.

        Raises:
            UsageError: P6002 for a lane that is no URL.
        """
        lanes = parse_lanes(self.lane)
        workers = None
        if self.engine == RAY:
            workers = WorkerRules(address=self.address, label=self.label)
        return replace(super().rules(), lanes=lanes, keeps_builds=self.keep, workers=workers)

    @property
    def is_selection(self) -> bool:
        """Whether less than everything was asked for."""
        named = (self.suites, self.case, self.tag, self.model, self.prompt, self.tier)
        more = (self.filter, self.exclude, self.first, self.failed_in, self.shard)
        return any((*named, *more))

    def keeping(self, tracker: Tracker | None = None) -> Keeping:
        """What the run keeps besides its recordings.

        Args:
            tracker: Who else is told of its rows.

        Raises:
            UsageError: P6002 for what is no shard.
        """
        return Keeping(
            folder=None if self.output_dir is None else self.path(self.output_dir),
            resume=self.resume,
            shard=self._shard({}),
            tracker=tracker,
        )

    def _shard(self, seconds: Mapping[str, float]) -> Shard | None:
        if self.shard is None:
            return None
        try:
            return Shard.parse(self.shard, seconds=seconds)
        except ValueError as problem:
            raise UsageError(
                f"`--shard {self.shard}` is no shard", code="P6002", hint=str(problem)
            ) from None

    def selection(self) -> Selection:
        """What was selected.

        Raises:
            ReportError: P6901 when the report of `--failed-in` cannot be read.
            UsageError: P6002 for what is no shard, or no timings.
        """
        seconds = {} if self.timings is None else read_timings(self.path(self.timings))
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
            shard=self._shard(seconds),
        )


def _senseless(message: str) -> UsageError:
    return UsageError(message, code="P6002", hint="leave one of them out")


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
        "--shard",
        metavar="I/N",
        help="Only the I-th of N parts, split by case. `proctor merge` puts the reports together.",
    ),
    click.option(
        "--timings",
        metavar="FILE",
        type=FILE,
        help="How long cases take, so that parts take about the same. `proctor cost --timings` "
        "writes it.",
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
    click.option(
        "--resume",
        metavar="[ID]",
        is_flag=False,
        flag_value="",
        help="Go on with a live run that was interrupted: the newest, or the one of this id. "
        "Give the other options again.",
    ),
    click.option(
        "--output-dir",
        metavar="DIR",
        type=FILE,
        help="Keep the rows, the report and the comment here instead of `.proctor/runs/<id>/`. "
        "A replay keeps them only then.",
    ),
    click.option(
        "--lane",
        metavar="URL",
        multiple=True,
        help="Spread the rows of targets over these backends, instead of those that suites name.",
    ),
    click.option("--keep", is_flag=True, help="Leave what targets build as it is."),
    click.option(
        "--engine",
        type=click.Choice([LOCAL, RAY]),
        default=LOCAL,
        show_default=True,
        help="Who makes the calls of a live run: this process, or workers on a Ray cluster.",
    ),
    click.option(
        "--address",
        metavar="A",
        help="The Ray cluster, as `ray://HOST:PORT`. Without it one is started on this machine.",
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
    tracking_options,
)


def run_options(command: Command) -> Command:
    """The options that only `proctor run` has, in the order of its help."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
