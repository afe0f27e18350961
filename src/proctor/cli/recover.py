"""`proctor recover`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from proctor.cli.output import Output
from proctor.cli.printing import format_option, keep_inputs, out_option, print_rendered
from proctor.cli.project import from_start, paths_option
from proctor.cli.run_result import renderer
from proctor.config import find_project
from proctor.errors import UsageError
from proctor.merging import report_of
from proctor.records import RenderOptions, Verdict
from proctor.registry import renderers
from proctor.run_folders import JOURNAL, find_run, require_trusted
from proctor.run_parts import open_part

EXAMPLES = """
\b
Examples:
  proctor recover 20261130t101112z-0a1b2c    a run of this project, by its id
  proctor recover out --format markdown      a run with `--output-dir out`
"""


@click.command("recover", epilog=EXAMPLES)
@click.argument("run", metavar="RUN")
@paths_option
@format_option(renderers.names())
@out_option
@click.option("--all", "all_", is_flag=True, help="Show every case, not only the first 20.")
def command(run: str, cwd: Path | None, format_: str, out: Path | None, all_: bool) -> int:
    """Make a report of a run that was killed.

    RUN is the id of a run of this project, or a folder or file with its journal. Rows that had
    finished are reported, the others are counted as not run and as nothing else. While there are
    such rows the exit code is 130. `proctor run --resume` runs what is left.
    """
    output = Output()
    path = _journal(run, cwd)
    require_trusted(path)
    if out is not None:
        out = from_start(cwd, out)
        keep_inputs(out, [path])
    with closing(open_part(path, path.parent.name)) as part:
        report = report_of(part)
    shown = RenderOptions(all_cases=all_, colour=output.colour() and out is None)
    print_rendered(renderer(format_)(report, shown), format_=format_, out=out, output=output)
    if report.head.verdict is not Verdict.INTERRUPTED:
        output.note("the run has finished: every row is there")
    return report.head.exit_code


def _journal(run: str, cwd: Path | None) -> Path:
    """The journal of a run.

    Raises:
        UsageError: P6002 when there is no such run.
    """
    path = from_start(cwd, Path(run))
    if path.is_dir():
        return path / JOURNAL
    if path.exists():
        return path
    root = find_project(from_start(cwd, Path()), is_root=cwd is not None)
    if root is None:
        raise UsageError(
            f"there is no run `{run}` here, and no project either",
            code="P6002",
            hint=f"name its folder, or the `{JOURNAL}` in it",
        )
    return find_run(root, run).folder / JOURNAL
