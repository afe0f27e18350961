"""`proctor shards`."""

from __future__ import annotations

import click

from proctor.cli.output import Output
from proctor.errors import ExitCode
from proctor.records import encode_json
from proctor.records.journal import MAX_SHARDS

EXAMPLES = """
\b
Examples:
  proctor shards --count 4      {"shard":[1,2,3,4]}
"""


@click.command("shards", epilog=EXAMPLES)
@click.option(
    "--count",
    metavar="N",
    type=click.IntRange(1, MAX_SHARDS),
    required=True,
    help="How many parts there are.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["github"]),
    default="github",
    show_default=True,
    help="Whose matrix.",
)
def command(count: int, format_: str) -> int:
    """Print the parts that a run is split into, for a CI matrix.

    Each job of the matrix then runs `proctor run --shard I/N`, and a last one `proctor merge`.
    """
    Output().write(encode_json({"shard": list(range(1, count + 1))}) + b"\n")
    return ExitCode.OK
