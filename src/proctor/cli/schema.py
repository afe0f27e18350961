"""`proctor schema`."""

from __future__ import annotations

from pathlib import Path

import click

from proctor.cli.output import Output
from proctor.cli.project import cwd_option, project_config
from proctor.errors import ExitCode, UsageError
from proctor.safe_io import make_folder, write_whole
from proctor.schemas import FOLDER, render_schema, schema_names

EXAMPLES = """
\b
Examples:
  proctor schema suite      the schema of suites, printed
  proctor schema --write    all of them, into evals/.schema/
"""


@click.command("schema", epilog=EXAMPLES)
@click.argument("name", required=False, type=click.Choice(schema_names()))
@click.option("--write", is_flag=True, help="Write into the project instead: evals/.schema/.")
@cwd_option
def command(name: str | None, write: bool, cwd: Path | None) -> int:
    """Print the JSON Schema of a kind of file.

    Editors complete and check a suite or a prompt whose `$schema` names such a file. Nothing is
    ever fetched. Without a name, `--write` writes all of them.
    """
    output = Output()
    if not write:
        if name is None:
            raise UsageError(
                "the name of a schema is missing",
                code="P6002",
                hint=f"name one of {', '.join(schema_names())}, or write all with `--write`",
            )
        output.write(render_schema(name))
        return ExitCode.OK
    config = project_config(cwd, {})
    relative = f"{config.values.evals}/{FOLDER}"
    folder = make_folder(config.root, relative)
    for one in schema_names() if name is None else [name]:
        write_whole(folder / f"{one}.json", [render_schema(one)])
        output.line(f"wrote {relative}/{one}.json")
    return ExitCode.OK
