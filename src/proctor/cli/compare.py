"""`proctor compare`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from proctor.cli.output import Output
from proctor.cli.printing import format_option, keep_inputs, out_option, print_rendered
from proctor.cli.project import from_start, paths_option
from proctor.cli.shares import as_share
from proctor.comparing.matching import NamePair
from proctor.comparing.reports import ReportCases, compare_reports
from proctor.errors import ExitCode, ReportError, UsageError
from proctor.gating import GateOptions, decide
from proctor.records import RenderOptions
from proctor.records.comparison import Comparison, ComparisonVerdict, Mode
from proctor.registry import comparison_renderers
from proctor.rendering.comparison_wording import VERDICTS, verdict_text
from proctor.report_files import open_report

EXAMPLES = """
\b
Examples:
  proctor compare main.json now.json                       what changed
  proctor compare main.json now.json --fail-on-regression  and exit with 1 if it got worse
  proctor compare now.json now.json --match brief=few-shot two prompts of one report
"""

FILE = click.Path(path_type=Path)


class CompareOptions(Struct, frozen=True, kw_only=True):
    """What was given to `proctor compare`, by the names of its options."""

    baseline: Path
    candidate: Path
    cwd: Path | None
    match: tuple[str, ...]
    fail_on_regression: bool
    fail_on_missing: bool
    tolerance: Fraction
    strict: bool
    noise_aware: bool
    detect: Fraction | None
    format_: str
    out: Path | None
    all: bool

    def matches(self) -> list[NamePair]:
        """The names that changed.

        Raises:
            UsageError: P6002 for one that is not two names.
        """
        return [_name_pair(text) for text in self.match]

    def gates(self) -> GateOptions:
        """What is asked of the comparison.

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
        strict = Mode.STRICT if self.strict else None
        return GateOptions(
            mode=Mode.NOISE_AWARE if self.noise_aware else strict,
            tolerance=self.tolerance,
            detect=self.detect,
            fail_on_regression=self.fail_on_regression,
            fail_on_missing=self.fail_on_missing,
        )


@click.command("compare", epilog=EXAMPLES)
@click.argument("baseline", metavar="BASELINE", type=FILE)
@click.argument("candidate", metavar="CANDIDATE", type=FILE)
@paths_option
@click.option(
    "--match",
    metavar="A=B",
    multiple=True,
    help="A suite, prompt or model that is called A in the baseline and B in the candidate.",
)
@click.option(
    "--fail-on-regression",
    is_flag=True,
    help="Exit with 1 when it regressed, with 3 when that cannot be told.",
)
@click.option(
    "--fail-on-missing",
    is_flag=True,
    help="What is in the baseline only is a regression: exit with 1.",
)
@click.option(
    "--tolerance",
    metavar="X",
    callback=as_share,
    default="0",
    show_default=True,
    help="By how much a pass rate may fall, as a share of 1.",
)
@click.option("--strict", is_flag=True, help="Every change for the worse is a regression.")
@click.option(
    "--noise-aware",
    is_flag=True,
    help="Only what chance does not explain is one. Default with repeats or live answers.",
)
@click.option(
    "--detect",
    metavar="D",
    callback=as_share,
    help="A drop that must not go unnoticed: when there are too few rows to find it, the "
    "comparison cannot tell.",
)
@format_option(comparison_renderers.names())
@out_option
@click.option("--all", is_flag=True, help="Show every case, not only the first 20.")
def command(**given: Any) -> int:  # noqa: ANN401 - click hands over every option by name
    """Compare two JSON reports, case by case; no project is needed.

    Cases are matched by suite, prompt, model and id. With single replayed rows every change counts;
    where rows were repeated or asked live, what chance explains does not. Exit code 0: compared,
    whatever came out, unless an option says otherwise; 2: a report cannot be used.
    """
    options = CompareOptions(**given)
    output = Output()
    gates, matches = options.gates(), options.matches()
    paths = [from_start(options.cwd, path) for path in (options.baseline, options.candidate)]
    out = None if options.out is None else from_start(options.cwd, options.out)
    if out is not None:
        keep_inputs(out, paths)
    comparison = _compare(paths, matches, gates)
    render = comparison_renderers.get(options.format_)
    if render is None:
        raise UsageError(f"there is no format `{options.format_}`", code="P6002")
    shown = RenderOptions(all_cases=options.all, colour=output.colour() and out is None)
    print_rendered(render(comparison, shown), format_=options.format_, out=out, output=output)
    if options.format_ == "json":
        output.note(f"{VERDICTS[comparison.verdict]}  {verdict_text(comparison)}")
    problem = _problem(comparison)
    if problem is not None:
        output.problems(problem)
    return comparison.exit_code


def _name_pair(text: str) -> NamePair:
    baseline, equals, candidate = text.partition("=")
    if not baseline or not equals or not candidate:
        raise UsageError(
            f"`--match {text}` is not two names",
            code="P6002",
            hint="give the baseline's name and the candidate's, like `brief=few-shot`",
        )
    return NamePair(baseline, candidate)


def _compare(paths: Sequence[Path], matches: Sequence[NamePair], gates: GateOptions) -> Comparison:
    with open_report(paths[0]) as baseline, open_report(paths[1]) as candidate:
        compared = compare_reports(
            ReportCases(baseline.head, baseline.cases()),
            ReportCases(candidate.head, candidate.cases()),
            matches=matches,
        )
        return decide(
            compared,
            gates,
            baseline_sha256=baseline.sha256,
            candidate_sha256=candidate.sha256,
        )


def _problem(comparison: Comparison) -> ReportError | None:
    """Why the exit code is not 0."""
    if comparison.exit_code == ExitCode.OK:
        return None
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
