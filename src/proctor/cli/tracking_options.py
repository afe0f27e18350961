"""The options that say who else is told of a run, and the baseline that is found there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from proctor.asking_rules import AskingRules, TrackingRules
from proctor.config import Config

# A run that nobody else is told of does not need it.
if TYPE_CHECKING:
    from proctor.tracking import Trackers

Command = TypeVar("Command", bound=Callable[..., Any])

CONTENT = click.option(
    "--tracker-content",
    is_flag=True,
    help="Also send inputs, expected values, answers and reasons to the tracker.",
)
_OPTIONS = (
    click.option(
        "--driver",
        type=click.Choice(["direct", "langsmith"]),
        default="direct",
        show_default=True,
        help="`langsmith` also sends results to LangSmith, whose host `--allow-host` has to open.",
    ),
    CONTENT,
    click.option(
        "--baseline-prefix",
        metavar="P",
        help="Compare with the report of the newest whole experiment there whose name begins so.",
    ),
    click.option(
        "--otel",
        is_flag=True,
        help="Make OpenTelemetry spans with the tracer provider configured in this process.",
    ),
    click.option(
        "--otel-content",
        is_flag=True,
        help="Put inputs, expected values, answers and reasons into the spans.",
    ),
)


def tracking_options(command: Command) -> Command:
    """Every option that says who else is told of a run, in the order of the help."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@contextmanager
def followed_by(
    tracking: TrackingRules, rules: AskingRules, *, config: Config, note: Callable[[str], None]
) -> Iterator[Trackers | None]:
    """The trackers that were asked for; None without any.

    Raises:
        ProviderError: As for `proctor.tracking.tracked`.
    """
    if not tracking.is_any:
        yield None
        return
    from proctor.tracking import tracked

    with tracked(tracking, rules, config=config, note=note) as trackers:
        yield trackers
