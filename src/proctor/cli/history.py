"""`proctor history`."""

from __future__ import annotations

from pathlib import Path

import click

from proctor.cli.output import Output
from proctor.cli.printing import out_option, print_rendered
from proctor.cli.project import cwd_option, from_start, project_config
from proctor.errors import ExitCode, UsageError
from proctor.rendering.figures import render_history, render_history_json, render_history_svg
from proctor.store import RunStore

EXAMPLES = """
\b
Examples:
  proctor run --store                            keep the figures of this run
  proctor history                                pass rate and cost of every run
  proctor history refund-reply --format svg      the pass rate of a suite as a line
"""

_RENDERERS = {"json": render_history_json, "svg": render_history_svg, "text": render_history}


@click.command("history", epilog=EXAMPLES)
@click.argument("suite", required=False, metavar="[SUITE]")
@cwd_option
@click.option(
    "--format",
    "format_",
    type=click.Choice(sorted(_RENDERERS)),
    default="text",
    show_default=True,
    help="What is printed.",
)
@out_option
def command(suite: str | None, cwd: Path | None, format_: str, out: Path | None) -> int:
    """Show the pass rate and the cost of earlier runs.

    The oldest is first. Live runs are always kept, others with `proctor run --store`; both on this
    machine only.
    """
    output = Output()
    store = RunStore(project_config(cwd, {}).root)
    runs = store.runs(suite)
    for note in store.notes:
        output.note(f"warning: {note}")
    if not runs:
        of_suite = "" if suite is None else f" of `{suite}`"
        raise UsageError(
            f"no run{of_suite} is stored",
            code="P6001",
            hint="`proctor run --store` keeps the figures of a run; live runs are always kept",
        )
    path = None if out is None else from_start(cwd, out)
    print_rendered(iter([_RENDERERS[format_](runs)]), format_=format_, out=path, output=output)
    return ExitCode.OK
