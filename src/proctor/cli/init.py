"""`proctor init`."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from proctor.cli.output import Output
from proctor.errors import ExitCode
from proctor.starter.project import CI_FILES, write_project

EXAMPLES = """
\b
Examples:
  proctor init                 here, in an empty folder
  proctor init shop --ci github
"""


@click.command("init", epilog=EXAMPLES)
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--ci",
    type=click.Choice(sorted(CI_FILES)),
    help="Also write a workflow that replays every change.",
)
@click.option(
    "--cwd",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Where the folder is. Default: where you are.",
)
def command(folder: Path | None, ci: str | None, cwd: Path | None) -> int:
    """Write a small project that passes at once.

    A suite with a prompt, a dataset and recorded answers, a rubric for judging, and JSON Schemas
    for your editor. When a file stands in the way, nothing is written.
    """
    output = Output()
    for sentence in write_project((cwd or Path()) / (folder or Path()), ci=ci):
        output.line(sentence)
    where = "" if folder is None else f" --cwd {shlex.quote(str(folder))}"
    output.line(f"next: proctor run{where}")
    return ExitCode.OK
