"""`proctor compare`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from proctor.cli.comparing_options import comparing_options, comparison_problem
from proctor.cli.output import Output
from proctor.cli.printing import format_option, keep_inputs, out_option, print_rendered
from proctor.cli.project import from_start, paths_option
from proctor.errors import UsageError
from proctor.records import RenderOptions
from proctor.records.comparison import Comparison
from proctor.registry import comparison_renderers, side_by_side_renderers
from proctor.rendering.comparison_wording import VERDICTS, verdict_text
from proctor.report_comparing import ComparingOptions, compare_by
from proctor.report_files import load_digested

EXAMPLES = """
\b
Examples:
  proctor compare main.json now.json                       what changed
  proctor compare main.json now.json --fail-on-regression  and exit with 1 if it got worse
  proctor compare now.json now.json --match brief=few-shot two prompts of one report
  proctor compare main.json now.json --format html --out changes.html   both answers side by side
"""

_FOR_OTHER_PROGRAMS = ("html", "json")
"""Formats that people do not read where they are printed."""

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
@format_option(sorted([*comparison_renderers.names(), *side_by_side_renderers.names()]))
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
    paths = [from_start(options.cwd, path) for path in (options.baseline, options.candidate)]
    out = None if options.out is None else from_start(options.cwd, options.out)
    if out is not None:
        keep_inputs(out, paths)
    shown = RenderOptions(all_cases=options.all, colour=output.colour() and out is None)
    comparison, chunks = _rendered(asked, paths, options.format_, shown)
    print_rendered(chunks, format_=options.format_, out=out, output=output)
    if options.format_ in _FOR_OTHER_PROGRAMS:
        output.note(f"{VERDICTS[comparison.verdict]}  {verdict_text(comparison)}")
    problem = comparison_problem(comparison)
    if problem is not None:
        output.problems(problem)
    return comparison.exit_code


def _rendered(
    asked: ComparingOptions, paths: Sequence[Path], format_: str, shown: RenderOptions
) -> tuple[Comparison, Iterator[bytes]]:
    """The comparison, and what is printed of it."""
    render_both = side_by_side_renderers.get(format_)
    if render_both is not None:
        baseline, candidate = map(load_digested, paths)
        comparison = compare_by(asked, baseline, candidate)
        return comparison, render_both(comparison, baseline.report, candidate.report, shown)
    comparison = compare_by(asked, *paths)
    render = comparison_renderers.get(format_)
    if render is None:
        raise UsageError(f"there is no format `{format_}`", code="P6002")
    return comparison, render(comparison, shown)
