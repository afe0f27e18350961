"""A strict JSON file with the line of each part, for errors in hand-written JSON."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from msgspec import Struct

from proctor.documents import Document, Path
from proctor.strict_json import MAX_DEPTH, JsonFault, JsonProblem, decode_utf8, parse_json

_PIECE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_NEWLINE = re.compile(r"\n")


def parse_json_document(data: bytes, name: str) -> Document:
    """The document a JSON file holds.

    Args:
        data: The bytes of the file, UTF-8 with or without a byte order mark.
        name: The file's name, for messages.

    Raises:
        JsonProblem: When it is not strict JSON, with the line where that is.
    """
    text = decode_utf8(data.removeprefix(b"\xef\xbb\xbf"))
    try:
        value = parse_json(text)
    except JsonProblem as problem:
        if problem.line is None:
            problem.line = _line_of(problem, text)
        raise
    lines: dict[Path, int] = {}
    for part in _parts(text):
        lines.setdefault(part.path, part.line)
    return Document(name, value, lines)


class _Part(Struct, gc=False):
    """A key or a value; the piece of a container is its bracket."""

    path: Path
    piece: str
    line: int
    is_key: bool


class _Open(Struct):
    path: Path
    index: int | None
    key: str | None = None


def _parts(text: str) -> Iterator[_Part]:
    """Every part of a text that is valid JSON as far as it is asked for."""
    newlines = [match.start() for match in _NEWLINE.finditer(text)]
    stack: list[_Open] = []
    for match in _PIECE.finditer(text):
        piece, line = match.group(), bisect_right(newlines, match.start()) + 1
        holder = stack[-1] if stack else None
        if piece in "]}":
            stack.pop()
        elif piece == ",":
            if holder is not None and holder.index is not None:
                holder.index += 1
            elif holder is not None:
                holder.key = None
        elif piece == ":":
            continue
        elif holder is not None and holder.index is None and holder.key is None:
            holder.key = str(parse_json(piece))
            yield _Part((*holder.path, holder.key), piece, line, True)
        else:
            path = _path(holder)
            yield _Part(path, piece, line, False)
            if piece in "[{":
                stack.append(_Open(path, 0 if piece == "[" else None))


def _path(holder: _Open | None) -> Path:
    if holder is None:
        return ()
    step = holder.key or "" if holder.index is None else holder.index
    return (*holder.path, step)


def _line_of(problem: JsonProblem, text: str) -> int | None:
    """The line of a problem that the parser could not place."""
    keys: set[Path] = set()
    for part in _parts(text):
        if part.is_key:
            is_second = part.path in keys and f"`{part.path[-1]}`" in problem.detail
            if is_second and problem.fault is JsonFault.DUPLICATE_KEY:
                return part.line
            keys.add(part.path)
        elif problem.fault is JsonFault.TOO_DEEP:
            if part.piece in "[{" and len(part.path) >= MAX_DEPTH:
                return part.line
        elif part.piece not in "[{" and _fault_of(part.piece) is problem.fault:
            return part.line
    return None


def _fault_of(piece: str) -> JsonFault | None:
    try:
        parse_json(piece)
    except JsonProblem as problem:
        return problem.fault
    return None
