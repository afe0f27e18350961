"""The options that say what is asked of a comparison, for every command that compares."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct

from proctor.cli.shares import as_share
from proctor.errors import ExitCode, ReportError, UsageError

# A run without a baseline needs none of this.
if TYPE_CHECKING:
    from proctor.comparing.matching import NamePair
    from proctor.gating import GateOptions
    from proctor.records.comparison import Comparison

Command = TypeVar("Command", bound=Callable[..., Any])


class ComparingOptions(Struct, frozen=True, kw_only=True):
    """What is asked of a comparison, by the names of the options."""

    match: tuple[str, ...] = ()
    fail_on_regression: bool = False
    fail_on_missing: bool = False
    tolerance: Fraction = Fraction(0)
    strict: bool = False
    noise_aware: bool = False
    detect: Fraction | None = None

    @classmethod
    def taken_from(cls, given: dict[str, Any]) -> ComparingOptions:
        """Those among all options of a command, which are taken out."""
        return cls(**{name: given.pop(name) for name in cls.__struct_fields__})

    def given(self) -> list[str]:
        """The options that say something else than their defaults, as they are written."""
        return [
            f"--{name.replace('_', '-')}"
            for name in self.__struct_fields__
            if getattr(self, name) != getattr(ComparingOptions(), name)
        ]

    def matches(self) -> list[NamePair]:
        """The names that changed.

        Raises:
            UsageError: P6002 for one that is not two names.
        """
        return [_name_pair(text) for text in self.match]

    def gates(self) -> GateOptions:
        """What makes the comparison red.

        Raises:
            UsageError: P6002 when it contradicts itself.
        """
        if self.strict and self.noise_aware:
            raise UsageError(
                "`--strict` and `--noise-aware` say two things",
                code="P6002",
                hint="leave one of them out",
            )
        if self.detect == 0:
            raise UsageError(
                "`--detect 0` asks for a drop of nothing",
                code="P6002",
                hint="name the smallest drop that matters, like 0.1",
            )
        from proctor.gating import GateOptions
        from proctor.records.comparison import Mode

        strict = Mode.STRICT if self.strict else None
        return GateOptions(
            mode=Mode.NOISE_AWARE if self.noise_aware else strict,
            tolerance=self.tolerance,
            detect=self.detect,
            fail_on_regression=self.fail_on_regression,
            fail_on_missing=self.fail_on_missing,
        )


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


def _name_pair(text: str) -> NamePair:
    from proctor.comparing.matching import NamePair

    baseline, equals, candidate = text.partition("=")
    if not baseline or not equals or not candidate:
        raise UsageError(
            f"`--match {text}` is not two names",
            code="P6002",
            hint="give the baseline's name and the candidate's, like `brief=few-shot`",
        )
    return NamePair(baseline, candidate)


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
