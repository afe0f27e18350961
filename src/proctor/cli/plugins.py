"""`proctor plugins`."""

from __future__ import annotations

import click
import msgspec

from proctor.cli.output import Output
from proctor.cli.project import shape_option
from proctor.errors import ExitCode
from proctor.records import encode_json
from proctor.registry import assertion_kinds
from proctor.rendering.escaping import terminal_text

EXAMPLES = """
\b
Examples:
  proctor plugins                  every kind of assertion, by name
  proctor plugins --format json
"""


@click.command("plugins", epilog=EXAMPLES)
@shape_option
def command(format_: str) -> int:
    """List the kinds of assertion there are, and who brings them.

    Installed packages may bring more, under the entry point group `proctor.assertions`. Nothing of
    them is loaded. A kind that would be refused is listed with the reason.
    """
    output = Output()
    kinds = assertion_kinds.listed()
    if format_ == "json":
        found = {"assertions": [kind._asdict() for kind in kinds]}
        output.write(msgspec.json.format(encode_json(found), indent=2) + b"\n")
        return ExitCode.OK
    rows = [("kind", "from", "version"), *(kind[:3] for kind in kinds)]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, package, version in rows:
        line = f"{name:<{widths[0]}}  {package:<{widths[1]}}  {version}"
        output.line(terminal_text(line))
    for kind in kinds:
        if kind.problem is not None:
            output.note(f"refused: {kind.problem}")
    return ExitCode.OK
