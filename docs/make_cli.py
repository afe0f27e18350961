"""Writes `cli.md`: the help page of every command, as it is printed 80 columns wide.

`make docs` runs it, and a test compares what it would write with what is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from proctor.cli.main import cli

PAGE = Path(__file__).with_name("cli.md")
WIDTH = 80

HEAD = """\
# Commands

What `proctor COMMAND --help` prints, for every command. This page is made by `make docs`.

What sends something, spends money or runs code of the project is switched on here, on the command
line, and nowhere else: `--cache`, `--allow-code` and their like are read from no file and no
variable.
"""


def render() -> str:
    """The page."""
    root = click.Context(cli, info_name="proctor", terminal_width=WIDTH, **cli.context_settings)
    pages = [HEAD]
    for path, text in _help(root):
        level = "#" * min(len(path.split()) + 1, 3)
        heading = f"{level} {path}"
        pages.append(f"{heading}\n\n```text\n{text}\n```\n")
    return "\n".join(pages)


def _help(context: click.Context) -> Iterator[tuple[str, str]]:
    """The path and the help of a command and of those below it."""
    lines = context.get_help().splitlines()
    yield context.command_path, "\n".join(line.rstrip() for line in lines)
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            if command is not None:
                yield from _help(click.Context(command, parent=context, info_name=name))


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
