"""The headings and the fenced blocks of a Markdown text, as CommonMark finds them.

Only what stands at the top of the document is a heading; a block may also stand in a list. What is
in code, in a quote or in a comment is neither.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")
_OPENING: Final = re.compile(r"(`{3,})[ \t]*([^`]*)\Z|(~{3,})[ \t]*(.*)\Z")
_HEADING: Final = re.compile(r"(#{1,6})(?:[ \t]|\Z)")
_UNDERLINE: Final = re.compile(r"(=++|-++)[ \t]*\Z")
_RULE: Final = re.compile(r"(?:-[ \t]*+){3,}+\Z|(?:\*[ \t]*+){3,}+\Z|(?:_[ \t]*+){3,}+\Z")
_ITEM: Final = re.compile(r"([-+*]|[0-9]{1,9}[.)])([ \t]+|\Z)")
_RAW: Final = re.compile(r"<(?:!--|(script|pre|style|textarea)(?=[\s>]|\Z))", re.IGNORECASE)
_TAG: Final = re.compile(r"</?[A-Za-z][A-Za-z0-9-]*(?:\s[^<>]*)?/?>[ \t]*\Z")
_BLANK: Final = ""
_IN_ITEM: Final = -1
_IN_QUOTE: Final = -2
_MAX_ITEMS: Final = 100
"""Lists within lists that are looked into."""
_MAX_INDENT: Final = 3
"""Columns before a line that is no code."""


class Heading(NamedTuple):
    """A heading: the number of its first line, counted from 0, and its level."""

    line: int
    level: int


class Block(NamedTuple):
    """A fenced block.

    `label` is the first word after its opening fence. `is_closed` says whether it has a closing one
    or goes on to the end of the text.
    """

    label: str
    content: str
    is_closed: bool


class Outline(NamedTuple):
    """The lines of a text with their ends, its headings and its blocks in order."""

    lines: list[str]
    headings: list[Heading]
    blocks: list[Block]


def outline(text: str) -> Outline:
    """The headings and the fenced blocks of a text."""
    scanner = _Scanner()
    lines: list[str] = _LINE.findall(text)
    for number, line in enumerate(lines):
        scanner.take(number, line)
    scanner.finish()
    return Outline(lines, scanner.headings, scanner.blocks)


class _Fence(NamedTuple):
    """The fence of a block that is open: its marks, and where in a line it stands."""

    marks: str
    label: str
    depth: int
    column: int


class _Scanner:
    """Takes the lines of a text one by one."""

    def __init__(self) -> None:
        self.headings: list[Heading] = []
        self.blocks: list[Block] = []
        self._items: list[int] = []
        """The columns at which the content of each open list item begins, outermost first."""
        self._fence: _Fence | None = None
        self._content: list[str] = []
        self._raw_end: str | None = None
        """What ends the HTML that is open, `_BLANK` for a line without anything."""
        self._paragraph: int | None = None
        """The first line of the open paragraph, or where it stands instead of at the top."""
        self._is_empty_item = False
        """Whether an item was opened by the line before, and holds nothing yet."""

    def take(self, number: int, line: str) -> None:
        """Take the next line, with its end."""
        body, column = _indented(line.rstrip("\r\n"), 0)
        if not body:
            self._blank(line)
            return
        self._is_empty_item = False
        depth = sum(start <= column for start in self._items)
        if self._fence is not None:
            if depth >= self._fence.depth:
                self._in_fence(self._fence, line, body, column)
                return
            self._close(is_closed=False)
        if self._raw_end is not None:
            self._in_raw(self._raw_end, body)
            return
        self._take_body(number, body, column, depth)

    def finish(self) -> None:
        """The end of the text."""
        if self._fence is not None:
            self._close(is_closed=False)

    def _blank(self, line: str) -> None:
        if self._fence is not None:
            self._content.append(line)
        if self._raw_end == _BLANK:
            self._raw_end = None
        if self._is_empty_item:
            self._items.pop()
            self._is_empty_item = False
        self._paragraph = None

    def _in_fence(self, fence: _Fence, line: str, body: str, column: int) -> None:
        start = self._items[fence.depth - 1] if fence.depth else 0
        marks = body.rstrip(" \t")
        closes = set(marks) == {fence.marks[0]} and len(marks) >= len(fence.marks)
        if closes and column - start <= _MAX_INDENT:
            self._close(is_closed=True)
        else:
            self._content.append(_without_indent(line, fence.column))

    def _close(self, *, is_closed: bool) -> None:
        assert self._fence is not None  # noqa: S101 - there is one to close
        self.blocks.append(Block(self._fence.label, "".join(self._content), is_closed))
        self._fence, self._content = None, []

    def _in_raw(self, end: str, body: str) -> None:
        is_over = end != _BLANK and end in body.lower()
        self._raw_end = None if is_over else end

    def _take_body(self, number: int, body: str, column: int, depth: int) -> None:
        """A line outside of fences, or what is left of one behind the mark of an item."""
        start = self._items[depth - 1] if depth else 0
        if column - start > _MAX_INDENT:
            if self._paragraph is None:
                del self._items[depth:]
            return
        opening, heading, raw = _OPENING.match(body), _HEADING.match(body), _RAW.match(body)
        if opening is not None:
            self._leave(depth)
            marks, label = opening[1] or opening[3], opening[2] or opening[4] or ""
            self._fence = _Fence(marks, label.split()[0] if label.split() else "", depth, column)
        elif heading is not None:
            self._leave(depth)
            if not depth:
                self.headings.append(Heading(number, len(heading[1])))
        elif raw is not None:
            self._leave(depth)
            self._in_raw("-->" if raw[1] is None else f"</{raw[1].lower()}>", body)
        elif self._paragraph is None and _TAG.match(body):
            self._leave(depth)
            self._raw_end = _BLANK
        elif body[0] == ">":
            self._leave(depth)
            self._paragraph = _IN_QUOTE if _goes_on(body[1:].lstrip(" \t")) else None
        else:
            self._take_text(number, body, column, depth)

    def _leave(self, depth: int) -> None:
        """What begins here ends the paragraph before it, and the items it does not stand in."""
        del self._items[depth:]
        self._paragraph = None

    def _take_text(self, number: int, body: str, column: int, depth: int) -> None:
        above, item = self._paragraph, _ITEM.match(body)
        is_top = above is not None and above >= 0 and not self._items
        is_inside = above not in (None, _IN_QUOTE) and depth == len(self._items)
        if above is not None and is_top and _UNDERLINE.match(body):
            self.headings.append(Heading(above, 1 if body[0] == "=" else 2))
            self._paragraph = None
            return
        if _RULE.match(body):
            self._leave(depth)
        elif item is not None and depth < _MAX_ITEMS and not (is_inside and _is_text(item, body)):
            self._leave(depth)
            self._take_item(number, item, body, column)
        elif above is None:
            self._leave(depth)
            self._paragraph = _IN_ITEM if self._items else number

    def _take_item(self, number: int, item: re.Match[str], body: str, column: int) -> None:
        after = column + len(item[1])
        rest, inner = _indented(body[len(item[1]) :], after)
        is_code = inner - after > _MAX_INDENT + 1
        self._items.append(inner if rest and not is_code else after + 1)
        self._is_empty_item = not rest
        if rest and not is_code:
            self._take_body(number, rest, inner, len(self._items))


def _goes_on(quoted: str) -> bool:
    """Whether a line in a quote begins or continues a paragraph, which the next may go on with."""
    begins = (_OPENING, _HEADING, _RULE, _RAW)
    return bool(quoted) and not any(pattern.match(quoted) for pattern in begins)


def _is_text(item: re.Match[str], body: str) -> bool:
    """Whether what looks like an item goes on with the paragraph before it."""
    is_first = item[1] in "-+*" or item[1][:-1] == "1"
    return not is_first or not body[item.end() :].strip(" \t")


def _indented(text: str, column: int) -> tuple[str, int]:
    """A text without its leading blanks, and the column at which the rest of it begins."""
    rest = text.lstrip(" \t")
    for blank in text[: len(text) - len(rest)]:
        column += 4 - column % 4 if blank == "\t" else 1
    return rest, column


def _without_indent(line: str, column: int) -> str:
    """A line without as many leading blanks as stand before the fence of its block."""
    place = 0
    while place < len(line) and line[place] == " " and place < column:
        place += 1
    return line[place:]
