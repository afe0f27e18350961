"""`proctor cost`."""

from __future__ import annotations

from pathlib import Path

import click

from proctor.cli.output import Output
from proctor.cli.printing import keep_inputs, out_option, print_rendered
from proctor.cli.project import from_start, paths_option, shape_option
from proctor.cost_figures import CostFigures, cost_figures
from proctor.errors import ExitCode
from proctor.rendering.figures import render_costs, render_costs_json
from proctor.report_files import open_report
from proctor.safe_io import write_whole
from proctor.sharding import CaseTimes

EXAMPLES = """
\b
Examples:
  proctor cost report.json                 what answers and judges cost
  proctor cost before.json now.json        of two reports, one after the other
  proctor cost report.json --timings timings.json   how long cases take, for `--shard`
"""


@click.command("cost", epilog=EXAMPLES)
@click.argument(
    "reports", nargs=-1, required=True, metavar="REPORT...", type=click.Path(path_type=Path)
)
@paths_option
@shape_option
@out_option
@click.option(
    "--timings",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Also write how long each case took, for `proctor run --shard`.",
)
def command(
    reports: tuple[Path, ...],
    cwd: Path | None,
    format_: str,
    out: Path | None,
    timings: Path | None,
) -> int:
    """Show what the answers and judges of reports cost.

    By suite and subject, as it was when the answers were recorded. A repeat is green when every
    measured row of it passed. A dash stands for what is not known. No project is needed.
    """
    output = Output()
    paths = [from_start(cwd, report) for report in reports]
    path = None if out is None else from_start(cwd, out)
    for written in (out, timings):
        if written is not None:
            keep_inputs(from_start(cwd, written), paths)
    times = CaseTimes()
    found = [(str(given), _figures(one, times)) for given, one in zip(reports, paths, strict=True)]
    if timings is not None:
        write_whole(from_start(cwd, timings), [times.render()])
    render = render_costs_json if format_ == "json" else render_costs
    print_rendered(iter([render(found)]), format_=format_, out=path, output=output)
    return ExitCode.OK


def _figures(path: Path, times: CaseTimes) -> list[CostFigures]:
    with open_report(path) as report:
        return cost_figures(report.head, times.of(report.cases()))
