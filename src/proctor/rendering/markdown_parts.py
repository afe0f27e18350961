"""Pieces of Markdown: data that no reader acts upon, and sections that keep to their room.

Everything that came from outside stands inside `<code>`, with every ASCII character that is not a
letter or a digit as a numeric reference, so that nothing in it can start a link, an image, a
mention, a table cell or an alert.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from proctor.rendering.escaping import terminal_text

MAX_LENGTH = 60_000
"""In characters; GitHub takes 65,536."""

_DATA_LENGTH, _NAME_LENGTH = 300, 200
"""Of one piece of data, before its characters are replaced: at most thirteen for one."""

_NOTE_LENGTH = 60
_PROJECT = re.compile(r"[a-z0-9-]{1,64}")
_MARKUP = re.compile(r"[^A-Za-z0-9\x80-\U0010ffff]")


def heading(project: str) -> str:
    """The first line of every comment on a project, by which an earlier one is found."""
    return f"### Proctor: {project if _PROJECT.fullmatch(project) else code_name(project)}"


def code(text: str, limit: int = _DATA_LENGTH) -> str:
    """Data as inline code that no reader of Markdown acts upon; long data is cut.

    Example:
        >>> code("a|b @c")
        '<code>a&#124;b&#32;&#64;<!-- -->c</code>'
    """
    safe = terminal_text(text[:limit])
    if len(text) > limit or len(safe) > limit:
        safe = f"{safe[:limit]}..."
    return f"<code>{_MARKUP.sub(_reference, safe)}</code>"


def code_name(text: str) -> str:
    """A name as inline code."""
    return code(text, _NAME_LENGTH)


def _reference(match: re.Match[str]) -> str:
    # GitHub finds e-mail addresses in what references stand for as well; a comment parts them.
    return "&#64;<!-- -->" if match[0] == "@" else f"&#{ord(match[0])};"


def joined(lines: Iterable[str]) -> str:
    """Lines as one text."""
    return "".join(f"{line}\n" for line in lines)


class Section:
    """Lines that may take so much room. Once a line does not fit, no later one is taken.

    Args:
        room: How many characters, those of `head` and of what `text` puts around included.
        head: What stands above the lines when there are any.
    """

    def __init__(self, room: int, *head: str) -> None:
        self._head = joined(head)
        self._lines: list[str] = []
        self._room = room - len(self._head) - _NOTE_LENGTH
        self.is_full = False

    def add(self, line: str) -> None:
        """Take a line, if there is room."""
        self._room -= len(line) + 1
        self.is_full = self.is_full or self._room < 0
        if not self.is_full:
            self._lines.append(line)

    def text(self, noun: str, total: int) -> str:
        """The section, a blank line after it, saying how many of `total` lines are left out."""
        if total == 0:
            return ""
        left_out = total - len(self._lines)
        note = f"\nLeft out: {left_out} of {total} {noun}.\n" if left_out else ""
        return f"{self._head}{joined(self._lines)}{note}\n"
