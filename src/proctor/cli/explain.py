"""`proctor explain`."""

from __future__ import annotations

import re
from importlib.resources import files

import click

from proctor.cli.output import Output
from proctor.errors import ExitCode, UsageError
from proctor.registry import did_you_mean

EXAMPLES = """
\b
Examples:
  proctor explain P6402    what the code means and what to do
  proctor explain          all codes
"""

_SECTION = re.compile(r"^## (P\d{4}) (.*)$", re.MULTILINE)


@click.command("explain", epilog=EXAMPLES)
@click.argument("code", required=False)
def command(code: str | None) -> int:
    """Print what a code means, or all codes."""
    output = Output()
    known = pages()
    if code is None:
        for name, (title, _) in known.items():
            output.line(f"{name}  {title}")
        return ExitCode.OK
    name = code.upper()
    if name not in known:
        raise UsageError(
            f"there is no code `{code}`",
            code="P6002",
            hint=did_you_mean(name, known) or "`proctor explain` lists all codes",
        )
    title, text = known[name]
    output.line(f"{name} {title}")
    output.line("")
    for line in text.strip().split("\n"):
        output.line(line)
    return ExitCode.OK


def pages() -> dict[str, tuple[str, str]]:
    """Title and text of each code, in the order of the file."""
    text = (files("proctor") / "codes.md").read_text(encoding="utf-8")
    _, *parts = _SECTION.split(text)
    codes, titles, texts = parts[::3], parts[1::3], parts[2::3]
    return {code: (title, page) for code, title, page in zip(codes, titles, texts, strict=True)}
