"""The one JSON value in a text that holds other things too.

A text is read once from left to right. A candidate is a fenced block that is JSON, or is labelled
`json...`, and outside of fences an object or array that stands in no other brackets. What starts
like JSON and is broken counts as well: a draft beside a broken answer is not the answer.
"""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

from proctor.records import Json
from proctor.strict_json import JsonFault, JsonProblem, parse_json


class Source(StrEnum):
    """Where in the text a value was."""

    FENCE = "fence"
    TEXT = "text"


class ExtractionFault(StrEnum):
    """Why a text has no one JSON value."""

    NOT_JSON = "not_json"
    NOTHING_FOUND = "nothing_found"
    TWO_CANDIDATES = "two_candidates"
    UNCLOSED_THINK = "unclosed_think"


class Extracted(Struct, frozen=True):
    """The one value, and where it was."""

    value: Json
    source: Source


class NotExtracted(Struct, frozen=True):
    """Why there is none. `detail` says what is wrong with the one candidate, if there is one."""

    fault: ExtractionFault
    detail: str | None = None
    source: Source | None = None


_THINK, _THINK_END = "<think>", "</think>"
_FENCE = r"(?<!`)`{3,12}+(?!`)[^`\n]*\n|(?<!~)~{3,12}+(?!~)[^~\n]*\n"
_BETWEEN = re.compile(rf"<think>|[{{\[]|{_FENCE}")
_INSIDE = re.compile(rf'<think>|[{{}}\[\]]|"(?:[^"\\\n]|\\.)*+"|{_FENCE}')
_MAY_BE_JSON = re.compile(r'\{\s*["}]|\[\s*[]"{[\d\-tfn]')
_LIKE_JSON = re.compile(r'(?:\{|\[\s*\{)\s*"|\[\s*"')
_NOT_JSON_AT_ALL = (JsonFault.NOT_JSON, JsonFault.TRAILING_TEXT)
_CUT_OFF = "ends before its last bracket"


def extract_json(text: str) -> Extracted | NotExtracted:
    r"""The only JSON value of a text: in a fenced block of any label, or an object or array.

    Closed `<think>...</think>` blocks are left out. A fence, bracket or tag within a JSON string
    is part of the string. The time taken grows with the length of the text, whatever it holds.

    Args:
        text: An answer.

    Returns:
        The value, or the reason there is none: no candidate, two of them, one that is not strict
        JSON, or a `<think>` that is never closed.

    Example:
        >>> extract_json('Sure:\n```json\n{"a": 1}\n```').value
        {'a': 1}
        >>> extract_json('Either {"a": 1} or {"a": 2}.').fault.value
        'two_candidates'
    """
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[Extracted | NotExtracted] = []
        self._other_fences: list[NotExtracted] = []
        self._open: list[int] = []
        """Where brackets opened that are still open."""
        self._closed: list[tuple[int, int]] = []
        """Spans within open brackets; they count if those turn out to be never closed."""
        self._unclosed_length = {"`": 99, "~": 99}
        self._kept: list[str] = []
        self._kept_to = 0

    def read(self) -> Extracted | NotExtracted:
        position = 0
        while len(self._found) < 2:
            match = (_INSIDE if self._open else _BETWEEN).search(self._text, position)
            if match is None:
                self._forget_open()
                break
            token, position = match[0], match.end()
            if token in ("{", "["):
                self._open.append(match.start())
            elif token in ("}", "]"):
                self._close(position)
            elif token == _THINK:
                end = self._text.find(_THINK_END, position)
                if end < 0:
                    return NotExtracted(ExtractionFault.UNCLOSED_THINK)
                self._forget_open()
                self._kept.append(self._text[self._kept_to : match.start()])
                position = self._kept_to = end + len(_THINK_END)
            elif token[0] in "`~":
                position = self._fence(token, position)
        return self._result()

    def _result(self) -> Extracted | NotExtracted:
        if len(self._found) > 1:
            return NotExtracted(ExtractionFault.TWO_CANDIDATES)
        if self._found:
            return self._found[0]
        if len(self._other_fences) == 1:
            return self._other_fences[0]
        if not self._other_fences:
            return self._whole()
        return NotExtracted(ExtractionFault.NOTHING_FOUND)

    def _whole(self) -> Extracted | NotExtracted:
        """All there is may still be one string, number or word of JSON."""
        try:
            rest = "".join(self._kept) + self._text[self._kept_to :]
            return Extracted(parse_json(rest), Source.TEXT)
        except JsonProblem:
            return NotExtracted(ExtractionFault.NOTHING_FOUND)

    def _close(self, end: int) -> None:
        start = self._open.pop()
        while self._closed and self._closed[-1][0] > start:
            self._closed.pop()
        if self._open:
            self._closed.append((start, end))
        else:
            self._consider(start, end)

    def _forget_open(self) -> None:
        """Take the brackets still open for text, unless one of them starts like JSON."""
        cut_off = next((at for at in self._open if _LIKE_JSON.match(self._text, at)), None)
        for start, end in self._closed:
            if len(self._found) > 1 or (cut_off is not None and start > cut_off):
                break
            self._consider(start, end)
        if cut_off is not None:
            self._found.append(NotExtracted(ExtractionFault.NOT_JSON, _CUT_OFF, Source.TEXT))
        self._open.clear()
        self._closed.clear()

    def _consider(self, start: int, end: int) -> None:
        if not _MAY_BE_JSON.match(self._text, start):
            return
        try:
            value = parse_json(self._text[start:end])
        except JsonProblem as problem:
            if problem.fault in _NOT_JSON_AT_ALL and not _LIKE_JSON.match(self._text, start):
                return
            broken = NotExtracted(ExtractionFault.NOT_JSON, problem.detail, Source.TEXT)
            self._found.append(broken)
        else:
            self._found.append(Extracted(value, Source.TEXT))

    def _fence(self, opening: str, start: int) -> int:
        """Take in a fenced block, and say where to go on; one that is never closed is text."""
        mark = opening[0]
        length = len(opening) - len(opening.lstrip(mark))
        if length >= self._unclosed_length[mark]:
            return start
        closing = re.compile(rf"^[ \t]*{mark}{{{length},}}[ \t\r]*$", re.MULTILINE)
        end = closing.search(self._text, start)
        if end is None:
            self._unclosed_length[mark] = length
            return start
        self._forget_open()
        try:
            value = parse_json(self._text[start : end.start()])
        except JsonProblem as problem:
            broken = NotExtracted(ExtractionFault.NOT_JSON, problem.detail, Source.FENCE)
            labelled = opening[length:].strip().casefold().startswith("json")
            (self._found if labelled else self._other_fences).append(broken)
        else:
            self._found.append(Extracted(value, Source.FENCE))
        return end.end()
