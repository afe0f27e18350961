"""`proctor report`."""

from __future__ import annotations

from pathlib import Path

import click

from proctor.cli.output import Output
from proctor.cli.printing import format_option, keep_inputs, out_option, print_rendered
from proctor.cli.project import from_start, paths_option
from proctor.errors import ExitCode, UsageError
from proctor.records import RenderOptions
from proctor.registry import renderers
from proctor.report_files import load_report

EXAMPLES = """
\b
Examples:
  proctor report report.json                     what it says, as text
  proctor report report.json --format markdown   for a comment
  proctor report report.json --all               every failing case
  proctor report report.json --format html --out report.html   for a browser
"""


@click.command("report", epilog=EXAMPLES)
@click.argument("report", metavar="REPORT", type=click.Path(path_type=Path))
@paths_option
@format_option(renderers.names())
@out_option
@click.option("--all", "all_", is_flag=True, help="Show every case, not only the first 20.")
def command(report: Path, cwd: Path | None, format_: str, out: Path | None, all_: bool) -> int:
    """Render a stored report again.

    It is JSON, and no project is needed. A report is somebody's claim: its counts, rates and
    verdict are worked out again from its rows, and one that says something else is refused. The
    exit code is 0 whatever the verdict.
    """
    output = Output()
    path = from_start(cwd, report)
    if out is not None:
        out = from_start(cwd, out)
        keep_inputs(out, [path])
    loaded = load_report(path)
    render = renderers.get(format_)
    if render is None:
        raise UsageError(f"there is no format `{format_}`", code="P6002")
    shown = RenderOptions(all_cases=all_, colour=output.colour() and out is None)
    print_rendered(render(loaded, shown), format_=format_, out=out, output=output)
    return ExitCode.OK
