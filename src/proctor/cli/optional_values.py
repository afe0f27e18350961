"""Options whose value may be left out, without taking the argument behind them for it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

_VALUES = {"--allow-local": re.compile(r"[0-9]+")}
"""What a value of such an option looks like when it stands behind a space."""

_PORT = re.compile(r"[0-9]{1,5}")


def attached(arguments: Sequence[str]) -> list[str]:
    """The arguments of a command line, such options joined with their values, or with none.

    Example:
        >>> attached(["run", "--allow-local", "quiz", "--allow-local", "9001"])
        ['run', '--allow-local=', 'quiz', '--allow-local=9001']
    """
    joined: list[str] = []
    left = list(arguments)
    while left:
        one = left.pop(0)
        if one == "--":
            return [*joined, one, *left]
        pattern = _VALUES.get(one)
        if pattern is not None:
            one += "=" + (left.pop(0) if left and pattern.fullmatch(left[0]) else "")
        joined.append(one)
    return joined


def ports(_context: object, _parameter: object, values: Sequence[str]) -> tuple[int | None, ...]:
    """Ports of this machine as numbers; None stands for those that the project declares."""
    return tuple(_port(value) if value else None for value in values)


def _port(text: str) -> int:
    if not _PORT.fullmatch(text) or not 0 < int(text) < 65_536:
        raise click.BadParameter("it takes the number of a port, from 1 to 65535, or nothing")
    return int(text)
