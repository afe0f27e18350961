"""`proctor power`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from proctor.cli.output import Output
from proctor.cli.project import shape_option
from proctor.cli.shares import as_share
from proctor.errors import ExitCode, UsageError
from proctor.evidence.power import cases_needed, rows_to_find
from proctor.records import encode_json
from proctor.rendering.wording import number_text

if TYPE_CHECKING:
    from fractions import Fraction

EXAMPLES = """
\b
Examples:
  proctor power --rate 0.9 --drop 0.1   rows that find a fall from 90% to 80%
"""

REPEATS = (1, 3, 5, 10)

NOISY = """\
One case of a noisy suite, whose others pass nine times in ten, is found reliably when it falls from
1.0 to 0.5 with 20 rows a side, and from 0.9 to 0.5 with 40. A fall near 30 points is found half the
time."""


@click.command("power", epilog=EXAMPLES)
@click.option(
    "--rate", metavar="R", callback=as_share, required=True, help="The pass rate before, like 0.9."
)
@click.option(
    "--drop", metavar="D", callback=as_share, required=True, help="By how much it falls, like 0.1."
)
@shape_option
def command(rate: Fraction, drop: Fraction, format_: str) -> int:
    """Say how many rows it takes to find a drop of the pass rate.

    The drop is found in four comparisons of five, and one comparison in forty finds one that is not
    there. All rows are taken as independent of each other.
    """
    if not 0 < drop <= rate:
        raise UsageError(
            f"a pass rate of {float(rate):g} cannot fall by {float(drop):g}",
            code="P6002",
            hint="give a drop above 0 that is no more than the rate",
        )
    output = Output()
    needed = rows_to_find(float(rate), float(drop))
    cases = {repeats: cases_needed(needed, repeats) for repeats in REPEATS}
    if format_ == "json":
        found = {
            "rate": float(rate),
            "drop": float(drop),
            "rows": cases[1],
            "cases": [{"repeats": repeats, "cases": count} for repeats, count in cases.items()],
        }
        output.write(encode_json(found) + b"\n")
        return ExitCode.OK
    fall = f"{number_text(float(rate))} to {number_text(float(rate - drop))}"
    output.line(f"A fall from {fall} takes {cases[1]} rows in each report:")
    output.line("")
    output.line(f"{'repeats':>9}{'cases':>8}")
    for repeats, count in cases.items():
        output.line(f"{repeats:>9}{count:>8}")
    output.line("")
    output.line(f"One case alone takes {cases[1]} repeats in each report for such a fall.")
    for line in NOISY.split("\n"):
        output.line(line)
    return ExitCode.OK
