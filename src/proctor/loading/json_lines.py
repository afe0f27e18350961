"""A strict JSON file with the line of each part, for errors in hand-written JSON."""

from __future__ import annotations

import re
from bisect import bisect_right

from msgspec import Struct

from proctor.documents import Document, Path
from proctor.strict_json import parse_json

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_NEWLINE = re.compile(r"\n")


def parse_json_document(data: bytes, name: str) -> Document:
    """The document a JSON file holds.

    Raises:
        JsonProblem: When it is not strict JSON.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    value = parse_json(data)
    return Document(name, value, _lines(data.decode("utf-8")))


class _Open(Struct):
    path: Path
    index: int | None
    key: str | None = None


def _lines(text: str) -> dict[Path, int]:
    """The line of every part of a text that is known to be valid JSON."""
    newlines = [match.start() for match in _NEWLINE.finditer(text)]
    lines: dict[Path, int] = {}
    stack: list[_Open] = []
    for match in _TOKEN.finditer(text):
        token, line = match.group(), bisect_right(newlines, match.start()) + 1
        holder = stack[-1] if stack else None
        if token in "]}":
            stack.pop()
        elif token == ",":
            if holder is not None and holder.index is not None:
                holder.index += 1
            elif holder is not None:
                holder.key = None
        elif token == ":":
            continue
        elif holder is not None and holder.index is None and holder.key is None:
            holder.key = str(parse_json(token))
            lines[(*holder.path, holder.key)] = line
        else:
            path = _path(holder)
            lines.setdefault(path, line)
            if token in "[{":
                stack.append(_Open(path, 0 if token == "[" else None))
    return lines


def _path(holder: _Open | None) -> Path:
    if holder is None:
        return ()
    step = holder.key or "" if holder.index is None else holder.index
    return (*holder.path, step)
