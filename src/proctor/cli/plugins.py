"""`proctor plugins`."""

from __future__ import annotations

from collections.abc import Sequence

import click
import msgspec

from proctor.cli.output import Output
from proctor.cli.project import shape_option
from proctor.errors import ExitCode
from proctor.records import encode_json
from proctor.registry import Listed, assertion_kinds, case_sources
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
    """List the kinds of assertion and the sources of cases, and who brings them.

    Installed packages may bring more kinds under the entry point group `proctor.assertions`, and
    sources under `proctor.sources`. Nothing of them is loaded. What would be refused is listed
    with the reason.
    """
    output = Output()
    kinds, sources = assertion_kinds.listed(), case_sources.listed()
    if format_ == "json":
        found = {
            "assertions": [kind._asdict() for kind in kinds],
            "sources": [source._asdict() for source in sources],
        }
        output.write(msgspec.json.format(encode_json(found), indent=2) + b"\n")
        return ExitCode.OK
    _show("kind", kinds, output)
    if sources:
        output.line("")
        _show("case source", sources, output)
    return ExitCode.OK


def _show(noun: str, parts: Sequence[Listed], output: Output) -> None:
    rows = [(noun, "from", "version"), *(part[:3] for part in parts)]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, package, version in rows:
        line = f"{name:<{widths[0]}}  {package:<{widths[1]}}  {version}"
        output.line(terminal_text(line))
    for part in parts:
        if part.problem is not None:
            output.note(f"refused: {part.problem}")
