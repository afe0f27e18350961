"""The options that say what is asked of a comparison, for every command that compares."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from proctor.cli.shares import as_share
from proctor.errors import ExitCode, ReportError

# A run without a baseline does not need it.
if TYPE_CHECKING:
    from proctor.records.comparison import Comparison

Command = TypeVar("Command", bound=Callable[..., Any])


_OPTIONS = (
    click.option(
        "--match",
        metavar="A=B",
        multiple=True,
        help="A suite, prompt or model that is called A in the baseline and B in the candidate.",
    ),
    click.option(
        "--fail-on-regression",
        is_flag=True,
        help="Exit with 1 when it regressed, with 3 when that cannot be told.",
    ),
    click.option(
        "--fail-on-missing",
        is_flag=True,
        help="What is in the baseline only is a regression: exit with 1.",
    ),
    click.option(
        "--tolerance",
        metavar="X",
        callback=as_share,
        default="0",
        show_default=True,
        help="By how much a pass rate may fall, as a share of 1.",
    ),
    click.option("--strict", is_flag=True, help="Every change for the worse is a regression."),
    click.option(
        "--noise-aware",
        is_flag=True,
        help="Only what chance does not explain is one. Default with repeats or live answers.",
    ),
    click.option(
        "--detect",
        metavar="D",
        callback=as_share,
        help="A drop that must not go unnoticed: when there are too few rows to find it, the "
        "comparison cannot tell.",
    ),
)


def comparing_options(command: Command) -> Command:
    """Every option of `ComparingOptions`, in the order of the help."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def comparison_problem(comparison: Comparison) -> ReportError | None:
    """Why the exit code of a comparison is not 0."""
    if comparison.exit_code == ExitCode.OK:
        return None
    from proctor.records.comparison import ComparisonVerdict
    from proctor.rendering.comparison_wording import verdict_text

    if comparison.verdict is ComparisonVerdict.REGRESSED:
        return ReportError(
            f"the candidate regressed: {verdict_text(comparison)}",
            code="P6902",
            hint="mend what got worse, or make the candidate the baseline if it should be so",
        )
    return ReportError(
        "the comparison cannot tell whether the candidate regressed",
        code="P6903",
        hint="; ".join(comparison.doubts),
    )
