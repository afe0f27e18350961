"""Reading the journal of a run. It is somebody's claim: every line is held to the format first.

What stays in memory is where rows are. They are read again when they are needed, so memory does
not grow with the size of answers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

import msgspec

from proctor.errors import RunError
from proctor.protocols import RowKey
from proctor.records import Json, encode_json
from proctor.records.journal import (
    JOURNAL_SCHEMA,
    CaseFacts,
    JournalHead,
    JournalRow,
    JournalSuite,
)
from proctor.safe_io import MEBIBYTE, open_regular, reason_of
from proctor.strict_json import JsonProblem, parse_json, typed

MAX_LINE: Final = 16 * MEBIBYTE
MAX_HEAD: Final = 96 * MEBIBYTE
"""The head holds the labels of people, which have a limit of their own."""
MAX_JOURNAL: Final = 4096 * MEBIBYTE
_MAX_DEPTH: Final = 256
_VERSION: Final = 1
_NEWER: Final = re.compile(r"proctor\.journal\.v(\d{1,9})\Z")
_LENGTH_BITS: Final = 25
"""A place is one number: where a line starts, and below that how long it is."""

T = TypeVar("T")

_decode_row = msgspec.json.Decoder(JournalRow).decode


class StoredJournal:
    """The rows of a run that were kept; close it after use.

    Args:
        path: The file, for messages.
        file: The file, open at its start; this object closes it.

    Raises:
        RunError: P6704 when a line is not what a journal holds, naming it.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.size = 0
        """Where the last whole line ends."""
        self._file = file
        self._rows: dict[tuple[str, str], dict[RowKey, int]] = {}
        self._facts: dict[tuple[str, int], int] = {}
        lines = self._lines()
        self.head = self._read_head(next(lines, None))
        suites = {suite.suite: _Suite(suite) for suite in self.head.suites}
        for number, start, raw in lines:
            row = self._parsed(raw, number)
            fault = _fault(row, suites)
            if fault is not None:
                raise self._unreadable(f"this row {fault}", number)
            self.note(row, start, len(raw))
            self.size = start + len(raw) + 1

    def __len__(self) -> int:
        return sum(map(len, self._rows.values()))

    def note(self, row: JournalRow, start: int, length: int) -> None:
        """Remember where a row is. Of a row that is there twice the last counts: it ran again."""
        place = start << _LENGTH_BITS | length
        rows = self._rows.setdefault((row.suite, row.subject), {})
        rows[row.index, row.scenario, row.repeat] = place
        if row.facts is not None:
            self._facts.setdefault((row.suite, row.index), place)

    def has_facts(self, suite: str, index: int) -> bool:
        """Whether a row that is kept describes the case."""
        return (suite, index) in self._facts

    def rows(self, suite: str, subject: str) -> Mapping[RowKey, JournalRow]:
        """The rows of a subject, each read when it is asked for."""
        return _Rows(self, self._rows.get((suite, subject), {}))

    def facts(self, suite: str, index: int) -> CaseFacts:
        """A case that has a row, as a report has it.

        Raises:
            RunError: P6704 when no row of it says so.
        """
        place = self._facts.get((suite, index))
        facts = None if place is None else self.at(place).facts
        if facts is None:
            raise self._unreadable(f"no row describes case {index} of `{suite}`")
        return facts

    def forget_begun_builds(self, suite: str, subject: str) -> None:
        """Forget the rows of what was built for a case and a repeat unless they are all there."""
        rows = self._rows.get((suite, subject), {})
        for index, scenario, repeat in list(rows):
            names: list[str | None] = [*self.facts(suite, index).scenarios] or [scenario]
            if any((index, name, repeat) not in rows for name in names):
                rows.pop((index, scenario, repeat))

    def at(self, place: int, key: RowKey | None = None) -> JournalRow:
        """The row at a place.

        Args:
            place: Where it is.
            key: Which row it was.

        Raises:
            RunError: P6704 when the file is not what it was.
        """
        start, length = place >> _LENGTH_BITS, place & (1 << _LENGTH_BITS) - 1
        try:
            row = _parsed_row(os.pread(self._file.fileno(), length, start))
        except (OSError, JsonProblem, msgspec.ValidationError):
            row = None
        if row is None or key not in (None, (row.index, row.scenario, row.repeat)):
            raise self._unreadable("it changed while it was read")
        return row

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _lines(self) -> Iterator[tuple[int, int, bytes]]:
        """The number, the start and the bytes of each whole line."""
        start, limit = 0, MAX_HEAD
        number = 0
        while line := self._file.readline(limit + 1):
            number += 1
            if len(line) > limit:
                raise self._unreadable(f"the line is longer than {limit // MEBIBYTE} MiB", number)
            # What was being written when the run was killed.
            if not line.endswith(b"\n"):
                return
            if start + len(line) > MAX_JOURNAL:
                raise self._unreadable("it is larger than 4 GiB")
            yield number, start, line[:-1]
            start += len(line)
            limit = MAX_LINE

    def _read_head(self, line: tuple[int, int, bytes] | None) -> JournalHead:
        if line is None:
            raise self._unreadable("it has no head: its run was killed before the first row")
        number, start, raw = line
        try:
            value = parse_json(raw, max_depth=_MAX_DEPTH)
        except JsonProblem as problem:
            raise self._unreadable(f"the line {problem.detail}", number) from None
        schema = value.get("schema") if isinstance(value, dict) else None
        if schema != JOURNAL_SCHEMA:
            raise self._other_format(schema)
        head = self._typed(value, JournalHead, number)
        names = [(suite.suite, one.id) for suite in head.suites for one in suite.subjects]
        if not names or len(set(names)) < len(names):
            raise self._unreadable("its suites and subjects are not those of a run", number)
        self.size = start + len(raw) + 1
        return head

    def _parsed(self, raw: bytes, number: int) -> JournalRow:
        try:
            return _parsed_row(raw)
        except JsonProblem as problem:
            raise self._unreadable(f"the line {problem.detail}", number) from None
        except msgspec.ValidationError as problem:
            raise self._no_row(problem, number) from None

    def _typed(self, value: Json, kind: type[T], number: int) -> T:
        try:
            return typed(value, kind)
        except msgspec.ValidationError as problem:
            raise self._no_row(problem, number) from None

    def _no_row(self, problem: Exception, number: int) -> RunError:
        said = str(problem)
        return self._unreadable(
            f"the line is not one of a journal: {said[:1].lower()}{said[1:]}", number
        )

    def _other_format(self, schema: Json) -> RunError:
        newer = _NEWER.match(schema) if isinstance(schema, str) else None
        if newer is not None and int(newer[1]) > _VERSION:
            return RunError(
                f"the journal has the format `{schema}`, which is newer than this Proctor",
                code="P6704",
                hint=f"install a newer version; this one reads `{JOURNAL_SCHEMA}`",
                where=str(self.path),
            )
        return self._unreadable(f"it is not of the format `{JOURNAL_SCHEMA}`")

    def _unreadable(self, what: str, number: int | None = None) -> RunError:
        return unreadable(self.path, what, number)


def open_journal(path: Path) -> StoredJournal:
    """The journal in a file, read and proven.

    Raises:
        RunError: P6704 when it cannot be read, or a line is not what a journal holds.
        FileError: P6805 for a link, folder or device.
    """
    try:
        file = open_regular(path)
    except OSError as error:
        raise unreadable(path, f"it cannot be read: {reason_of(error)}") from error
    try:
        return StoredJournal(path, file)
    except BaseException:
        file.close()
        raise


def unreadable(path: Path, what: str, number: int | None = None) -> RunError:
    """The problem of a journal that cannot be used.

    Args:
        path: The file.
        what: What is wrong, as a sentence about it or a line of it.
        number: The line.
    """
    return RunError(
        f"the journal `{path.parent.name}/{path.name}` cannot be used: {what}",
        code="P6704",
        hint="a journal is written by Proctor alone; leave the file out, or run again",
        where=str(path) if number is None else f"{path}:{number}",
    )


def _parsed_row(raw: bytes) -> JournalRow:
    """The row on a line.

    Raises:
        JsonProblem: When it is not strict JSON.
        msgspec.ValidationError: When it is something else than a row.
    """
    try:
        row = _decode_row(raw)
        # What gives the same bytes again has no key twice, and nothing that was left out.
        if encode_json(row) == raw:
            return row
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        pass
    return typed(parse_json(raw, max_depth=_MAX_DEPTH), JournalRow)


class _Suite:
    """What the rows of a suite must fit."""

    def __init__(self, suite: JournalSuite) -> None:
        self.cases = suite.dataset.cases
        self.repeats = suite.repeats
        self.assertions = frozenset(suite.assertions)
        self.subjects = frozenset(subject.id for subject in suite.subjects)


def _fault(row: JournalRow, suites: Mapping[str, _Suite]) -> str | None:
    """What is wrong with a row, None when nothing is."""
    suite = suites.get(row.suite)
    if suite is None or row.subject not in suite.subjects:
        return "is of a suite or subject that the head does not name"
    if row.index >= suite.cases or row.repeat > suite.repeats:
        return "is of a case or a repeat that there is not"
    if (row.scenario, row.repeat) != (row.row.scenario, row.row.repeat):
        return "names another scenario or repeat than its `row`"
    if any(check.id not in suite.assertions for check in row.row.checks):
        return "has a check of no assertion that the head names"
    return None


class _Rows(Mapping[RowKey, JournalRow]):
    """Rows by their keys, read from the file."""

    def __init__(self, journal: StoredJournal, places: Mapping[RowKey, int]) -> None:
        self._journal = journal
        self._places = places

    def __getitem__(self, key: RowKey) -> JournalRow:
        return self._journal.at(self._places[key], key)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[RowKey]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
