"""The records of a CSV file: cells between delimiters, quoted where they hold more than text.

A quoted cell may hold delimiters, line ends and doubled quotes; a quote within another cell is
text. What the standard library takes as well, a quoted cell that goes on after its quote or that
never ends, is a problem here, with the line where the cell begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from proctor.loading.cases import MAX_CASE, CaseChecks
from proctor.loading.indexed import DigestedLines, Line
from proctor.strict_json import JsonProblem, decode_utf8

DELIMITERS = (",", ";", "\t")

_BLANK = b" \t\r\n"
_QUOTED_CELL = re.compile(r'"[^"]*"')
_QUOTE = "quote a cell that holds quotes or the delimiter, and double each quote in it"


class CsvProblem(ValueError):
    """A record that cannot be split into cells."""

    def __init__(self, detail: str, hint: str) -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint


class Record(NamedTuple):
    """A record with the 1-based line it starts in, where that is, and all its bytes."""

    cells: list[str]
    line: int
    offset: int
    raw: bytes


def split_record(text: str, delimiter: str) -> list[str]:
    """The cells of a whole record that has been read before."""
    splitter = _Splitter(delimiter)
    splitter.feed(text, "", 1)
    return splitter.cells


class CsvRecords:
    """The records of a file, without blank lines; what is no record is noted and passed over.

    Args:
        lines: The file.
        delimiter: What stands between two cells; None for what the first line has most of.
        checks: Where problems are noted.
    """

    def __init__(self, lines: DigestedLines, delimiter: str | None, checks: CaseChecks) -> None:
        self.delimiter = delimiter or DELIMITERS[0]
        self._lines = lines
        self._checks = checks
        self._is_told = delimiter is not None

    def __iter__(self) -> Iterator[Record]:
        pending: _Pending | None = None
        for line in self._lines:
            if pending is None:
                if not line.data.strip(_BLANK):
                    continue
                pending = self._begun(line)
            try:
                pending.take(line)
            except CsvProblem as problem:
                message = f"the row {problem.detail}"
                self._checks.note("P6101", message, pending.opened, problem.hint)
                pending = None
                continue
            except JsonProblem as problem:
                if self._is_foreign(problem, line):
                    return
            if not pending.is_open:
                yield from self._finished(pending)
                pending = None
        if pending is not None:
            message = "the quoted cell that begins here is not closed"
            self._checks.note("P6101", message, pending.opened, _QUOTE)

    def _begun(self, line: Line) -> _Pending:
        if not self._is_told:
            self.delimiter, self._is_told = _likely_delimiter(line.data), True
        return _Pending(line, self.delimiter)

    def _finished(self, pending: _Pending) -> Iterator[Record]:
        if pending.is_large:
            self._checks.note("P6101", "the case is larger than 1 MiB", pending.start.number)
        elif not pending.is_spoiled:
            yield pending.record()

    def _is_foreign(self, problem: JsonProblem, line: Line) -> bool:
        """Note a line that is not UTF-8; whether all of the file is in another encoding."""
        whole = line.number == 1 and problem.detail != "is not UTF-8"
        self._checks.note_encoding(problem.detail, line.number, whole=whole)
        return whole


def _likely_delimiter(header: bytes) -> str:
    text = _QUOTED_CELL.sub("", header.decode("utf-8", "replace"))
    return max(DELIMITERS, key=text.count)


class _Splitter:
    """Splits one record into cells, as many of its lines at a time as there are."""

    def __init__(self, delimiter: str) -> None:
        self.cells: list[str] = []
        self.is_open = False
        self.opened = 0
        self._delimiter = delimiter
        self._parts: list[str] = []

    def feed(self, text: str, end: str, number: int) -> None:
        """Go on with a line: its text, what ends it, and its number.

        Raises:
            CsvProblem: When a cell cannot be told from what follows it.
        """
        at = self._quoted(text, end, 0) if self.is_open else self._cell(text, end, 0, number)
        while at is not None:
            at = self._cell(text, end, at, number)

    def forget(self) -> None:
        """Drop what is known of the cells; only where the record ends still matters."""
        self.cells.clear()
        self._parts.clear()

    def _cell(self, text: str, end: str, start: int, number: int) -> int | None:
        """Read the cell that starts here; where the next one starts, None at the end."""
        if text.startswith('"', start):
            self.is_open, self.opened = True, number
            return self._quoted(text, end, start + 1)
        stop = text.find(self._delimiter, start)
        cell = text[start:] if stop < 0 else text[start:stop]
        if "\r" in cell:
            self.opened = number
            detail = "has a carriage return outside of quotes"
            raise CsvProblem(detail, "end lines with LF or CRLF, and quote cells of several lines")
        self.cells.append(cell)
        return None if stop < 0 else stop + 1

    def _quoted(self, text: str, end: str, start: int) -> int | None:
        """Read on in a quoted cell, as `_cell` does."""
        while True:
            at = text.find('"', start)
            if at < 0:
                self._parts.append(text[start:] + end)
                return None
            self._parts.append(text[start:at])
            if not text.startswith('"', at + 1):
                break
            self._parts.append('"')
            start = at + 2
        self.cells.append("".join(self._parts))
        self._parts.clear()
        self.is_open = False
        if at + 1 == len(text):
            return None
        if not text.startswith(self._delimiter, at + 1):
            place = len(self.cells)
            raise CsvProblem(f"has text after the closing quote in column {place}", _QUOTE)
        return at + 2


class _Pending:
    """A record that is being read."""

    def __init__(self, start: Line, delimiter: str) -> None:
        self.start = start
        self.is_large = False
        self.is_spoiled = False
        self._splitter = _Splitter(delimiter)
        self._raw: list[bytes] = []
        self._size = 0

    @property
    def is_open(self) -> bool:
        """Whether the record goes on in the next line."""
        return self._splitter.is_open

    @property
    def opened(self) -> int:
        """The line of the quoted cell that is read or was read last."""
        return self._splitter.opened

    def take(self, line: Line) -> None:
        """Go on with a line.

        Raises:
            JsonProblem: When it is not UTF-8; it has been taken all the same.
            CsvProblem: When it cannot be split.
        """
        body = line.data.rstrip(b"\r\n")
        end = line.data[len(body) :].decode()
        spoiled: JsonProblem | None = None
        try:
            text = decode_utf8(body)
        except JsonProblem as problem:
            text, spoiled = body.decode("utf-8", "replace"), problem
        try:
            self._splitter.feed(text, end, line.number)
        except CsvProblem:
            # In another encoding, quotes and line ends are not what they look like.
            if spoiled is None:
                raise
        if self._size + len(body) > MAX_CASE:
            self.is_large = True
        if self.is_large:
            self._raw.clear()
            self._splitter.forget()
        else:
            self._raw.append(line.data)
            self._size += len(line.data)
        if spoiled is not None:
            self.is_spoiled = True
            raise spoiled

    def record(self) -> Record:
        """The record, once it has been read whole."""
        raw = b"".join(self._raw).rstrip(b"\r\n")
        return Record(self._splitter.cells, self.start.number, self.start.offset, raw)
