"""`proctor compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from proctor.cli.comparing_options import (
    ComparingOptions,
    comparing_options,
    comparison_problem,
)
from proctor.cli.output import Output
from proctor.cli.printing import format_option, keep_inputs, out_option, print_rendered
from proctor.cli.project import from_start, paths_option
from proctor.comparing.matching import NamePair
from proctor.comparing.reports import ReportCases, compare_reports
from proctor.errors import UsageError
from proctor.gating import GateOptions, decide
from proctor.records import RenderOptions
from proctor.records.comparison import Comparison
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
    format_: str
    out: Path | None
    all: bool


@click.command("compare", epilog=EXAMPLES)
@click.argument("baseline", metavar="BASELINE", type=FILE)
@click.argument("candidate", metavar="CANDIDATE", type=FILE)
@paths_option
@comparing_options
@format_option(comparison_renderers.names())
@out_option
@click.option("--all", is_flag=True, help="Show every case, not only the first 20.")
def command(**given: Any) -> int:  # noqa: ANN401 - click hands over every option by name
    """Compare two reports, case by case.

    Both are JSON, and no project is needed. Cases are matched by suite, prompt, model and id. With
    single replayed rows every change counts; where rows were repeated or asked live, what chance
    explains does not. Exit code 0: compared, whatever came out, unless an option says otherwise; 2:
    a report cannot be used.
    """
    asked = ComparingOptions.taken_from(given)
    options = CompareOptions(**given)
    output = Output()
    gates, matches = asked.gates(), asked.matches()
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
    problem = comparison_problem(comparison)
    if problem is not None:
        output.problems(problem)
    return comparison.exit_code


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
