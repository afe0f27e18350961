"""As much Markdown as the scan needs: fenced code, and what is listed as forbidden."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import Final, NamedTuple

from proctor.scanning.expressions import Expression

_FENCE: Final = Expression(r"[ \t]*(`{3,}(?=[^`]*\Z)|~{3,})")
_ITEM: Final = Expression(r"( {0,3})([-+*]|[0-9]{1,9}[.)])([ \t]+)[^ \t]")
_FORBIDDEN: Final = frozenset(
    ["don't", "don'ts", "do not", "forbidden", "restriction", "restrictions"]
)
_RULES: Final = ({"-"}, {"*"}, {"_"})
_UNDERLINES: Final = ({"="}, {"-"})
_MAX_INDENT: Final = 3
"""Spaces before a line that is not code."""
_MAX_PADDING: Final = 4
"""Spaces after the mark of an item that does not begin with code."""


class Outside(NamedTuple):
    """The lines of a text outside of its fenced code, and at which of them a fence stays open."""

    lines: list[str]
    open_fence: int | None


def without_fences(text: str) -> Outside:
    """Drop the fenced blocks of a text. One that is never closed is text like any other."""
    lines = text.split("\n")
    if "```" not in text and "~~~" not in text:
        return Outside(lines, None)
    kept: list[str] = []
    opened: str | None = None
    since = 0
    for number, line in enumerate(lines):
        fence = _fence(line)
        if opened is None:
            if fence is None:
                kept.append(line)
            else:
                opened, since = fence, number
        elif fence is not None and _closes(line, fence, opened):
            opened = None
    if opened is None:
        return Outside(kept, None)
    return Outside(kept + lines[since:], len(kept))


def _fence(line: str) -> str | None:
    match = _FENCE.pattern.match(line)
    return None if match is None else match[1]


def _closes(line: str, fence: str, opened: str) -> bool:
    return fence[0] == opened[0] and len(fence) >= len(opened) and line.strip() == fence


def forbidden_items(outside: Outside) -> frozenset[int]:
    """The lines that are top-level items of a list of what is forbidden."""
    found: list[int] = []
    is_forbidden = was_blank = False
    inside: int | None = None
    for number, line in enumerate(outside.lines[: outside.open_fence]):
        heading = _heading(line)
        if heading is not None or _ends_section(line):
            is_forbidden, inside = heading in _FORBIDDEN, None
        item = _ITEM.pattern.match(line) if is_forbidden else None
        indent = len(line) - len(line.lstrip(" "))
        if item is not None and (inside is None or indent < inside):
            found.append(number)
            padding = len(item[3]) if len(item[3]) <= _MAX_PADDING else 1
            inside = indent + len(item[2]) + padding
        elif item is None and was_blank and inside is not None and line.strip() and indent < inside:
            inside = None
        was_blank = not line.strip()
    return frozenset(found)


def _heading(line: str) -> str | None:
    """The title of an ATX heading, in lower case."""
    body = line.lstrip(" ")
    rest = body.lstrip("#")
    level = len(body) - len(rest)
    if len(line) - len(body) > _MAX_INDENT or not 1 <= level <= 6 or rest[:1].strip():
        return None
    title = rest.strip()
    without = title.rstrip("#")
    return (title if without[-1:].strip() else without).strip().lower()


def _ends_section(line: str) -> bool:
    """Whether a line is a thematic break, underlines a heading, or holds a comment."""
    if "<!--" in line:
        return True
    body = line.lstrip(" ")
    if not body or len(line) - len(body) > _MAX_INDENT or body[0] not in "-*_=":
        return False
    marks = set(body) - {" ", "\t", "\r"}
    is_rule = marks in _RULES and body.count(body[0]) >= 3
    return is_rule or (marks in _UNDERLINES and len(set(body.strip())) == 1)


class Lines:
    """The lines of a text, by where they are."""

    def __init__(self, text: str) -> None:
        self.texts = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self.texts)]

    def overlapping(self, start: int, end: int) -> range:
        """The numbers of the lines that hold a part of the text from `start` to `end`."""
        return range(bisect_right(self._starts, start) - 1, bisect_right(self._starts, end - 1))
