"""Problems in the words of who asked: what the command line calls `--max-cost` has other names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from proctor.errors import ProctorError
from proctor.scrubbing import SECRETS

_OPTION = re.compile(r"`--([a-z][a-z-]*)(?: ([^`]+))?`")

Error = TypeVar("Error", bound=ProctorError)

Spell = Callable[[str, str | None], str | None]
"""From the name of an option and its value to how it is written; None for one there is not."""


def respelled(error: Error, spell: Spell) -> Error:
    """The same problem, or problems, with options as who asked writes them, and without any key.

    Args:
        error: What was raised below.
        spell: How an option is written.
    """

    def option(match: re.Match[str]) -> str:
        written = spell(match[1], match[2])
        # What only the command line has is shown as a command.
        return f"`proctor run {match[0][1:]}" if written is None else f"`{written}`"

    problems: list[ProctorError] = [error, *(one for one in error.problems() if one is not error)]
    for one in problems:
        one.message = SECRETS.scrub(_OPTION.sub(option, one.message))
        one.hint = one.hint and SECRETS.scrub(_OPTION.sub(option, one.hint))
        one.args = (one.message,)
    return error


def problem_lines(error: ProctorError) -> list[str]:
    """Each problem in a line, with its place and its code, and its hint in another below it."""
    lines: list[str] = []
    for problem in error.problems():
        place = "" if problem.where is None else f"{problem.where}: "
        lines.append(f"{place}{problem.code}: {problem.message}")
        if problem.hint:
            lines.append(f"    {problem.hint}")
    return lines


def as_keyword(name: str, value: str | None) -> str | None:
    """How an option of `proctor run` or `proctor compare` is written in Python.

    Example:
        >>> as_keyword("max-cost", "1.50"), as_keyword("cache", "record"), as_keyword("out", None)
        ('max_cost=1.50', "cache='record'", None)
    """
    if name == "allow-local" and value is not None:
        return f"allow_local_ports=[{value}]"
    word = _RENAMED.get(name, name.replace("-", "_"))
    if word in _FLAGS:
        return f"{word}=True"
    if word not in _VALUED:
        return None
    if value is None:
        return word
    is_number = re.fullmatch(r"[0-9.]+", value) is not None
    return f"{word}={value}" if is_number else f"{word}={value!r}"


_RENAMED = {"allow-host": "allow_hosts", "allow-key": "allow_keys", "cwd": "root"}
_FLAGS = frozenset(
    ["allow_code", "allow_local", "fail_on_missing", "fail_on_regression", "noise_aware", "strict"]
)
_VALUED = frozenset(
    [
        "allow_hosts",
        "allow_keys",
        "cache",
        "case",
        "cassettes",
        "concurrency",
        "detect",
        "exclude",
        "failed_in",
        "filter",
        "first",
        "label",
        "match",
        "max_cases",
        "max_cost",
        "max_wait",
        "model",
        "prompt",
        "repeats",
        "root",
        "tag",
        "tier",
        "timeout",
        "tolerance",
    ]
)


def explained(error: ProctorError) -> None:
    """Make a problem say below its message, as Python shows it, its code, place and hint."""
    for line in problem_lines(respelled(error, as_keyword)):
        error.add_note(line)
