"""A report whose cases can be read again and again without all being in memory."""

from __future__ import annotations

import os
import tempfile
import weakref
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec
from msgspec.structs import replace

from proctor.aggregating import report_head
from proctor.errors import UsageError
from proctor.records import CaseResult, Check, Outcome, ReportHead, encode_json
from proctor.report_protocols import Cases
from proctor.strict_json import parse_json, typed

if TYPE_CHECKING:
    from io import FileIO

Spooled = TypeVar("Spooled")

MEMORY_BYTES = 16 * 1024 * 1024
"""How much of the cases of a run is held before they go to a temporary file."""

_WRITE_BYTES = 1024 * 1024
_READ_BYTES = 64 * 1024
_MAX_DEPTH = 256
"""Deeper than any value of a case, which is wrapped a few levels deep here."""

_CODES = {outcome: code for code, outcome in enumerate(Outcome)}
_decoder = msgspec.json.Decoder(CaseResult)


class SpoolStore:
    """Bytes of all cases of a run: in memory while they are few, then in a temporary file.

    The file has no name and goes away with the store.

    Args:
        memory_bytes: How much to hold in memory.
    """

    def __init__(self, *, memory_bytes: int = MEMORY_BYTES) -> None:
        self._limit = memory_bytes
        self._tail = bytearray()
        self._tail_start = 0
        self._file: FileIO | None = None

    def append(self, data: bytes) -> int:
        """Keep `data` and return where it starts.

        Raises:
            UsageError: P6004 when the temporary folder has no room.
        """
        start = self._tail_start + len(self._tail)
        self._tail += data
        if len(self._tail) > self._limit:
            self._spill()
        return start

    def read(self, start: int, length: int) -> bytes:
        """The `length` bytes from `start`, all of which have been appended."""
        if start < self._tail_start < start + length:
            self._spill()
        if start >= self._tail_start:
            start -= self._tail_start
            return bytes(memoryview(self._tail)[start : start + length])
        parts = []
        while length:
            part = os.pread(cast("FileIO", self._file).fileno(), length, start)
            parts.append(part)
            start += len(part)
            length -= len(part)
        return b"".join(parts)

    def _spill(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - lives on
                weakref.finalize(self, self._file.close)
                self._limit = min(self._limit, _WRITE_BYTES)
            left = memoryview(self._tail)
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise _no_room(error) from error
        self._tail_start += len(self._tail)
        self._tail = bytearray()


def _no_room(error: OSError) -> UsageError:
    try:
        folder = f" `{tempfile.gettempdir()}`"
    except OSError:
        folder = ""
    return UsageError(
        f"the cases of the report cannot be kept in the temporary folder{folder}: {error.strerror}",
        code="P6004",
        hint="make room there, or set TMPDIR to another folder",
    )


class CaseSpool:
    """The cases of one subject, written once and read as often as needed.

    Args:
        store: Where the bytes go. The spools of a run share one, so that its limit is that of the
            run; without it the spool has one of its own.
    """

    def __init__(self, store: SpoolStore | None = None) -> None:
        self._store = store or SpoolStore()
        self._starts = array("Q")
        self._lengths = array("Q")
        self._outcomes = bytearray()

    def add(self, case: CaseResult) -> None:
        """Keep the next case, in dataset order.

        Raises:
            UsageError: P6004 when the temporary folder has no room.
        """
        line = encode_json(case)
        self._starts.append(self._store.append(line))
        self._lengths.append(len(line))
        self._outcomes.append(_CODES[case.outcome])

    def __len__(self) -> int:
        return len(self._outcomes)

    def __iter__(self) -> Iterator[CaseResult]:
        return map(_decoded, self.lines())

    def lines(self) -> Iterator[bytes]:
        """Each case as its compact JSON, in the order they were added."""
        first, size = 0, 0
        for place, (start, length) in enumerate(zip(self._starts, self._lengths, strict=True)):
            follows = place > first and start == self._starts[first] + size
            if not follows or size + length > _READ_BYTES:
                yield from self._block(first, place, size)
                first, size = place, 0
            size += length
        yield from self._block(first, len(self), size)

    def _block(self, first: int, end: int, size: int) -> Iterator[bytes]:
        if first == end:
            return
        block = self._store.read(self._starts[first], size)
        start = 0
        for length in self._lengths[first:end]:
            yield block[start : start + length]
            start += length

    def count(self, *outcomes: Outcome) -> int:
        """How many cases have one of these outcomes."""
        return sum(self._outcomes.count(_CODES[outcome]) for outcome in outcomes)

    def having(self, *outcomes: Outcome) -> Iterator[CaseResult]:
        """Only the cases with one of these outcomes; the others are not read."""
        wanted = {_CODES[outcome] for outcome in outcomes}
        for place, code in enumerate(self._outcomes):
            if code in wanted:
                yield _decoded(self._store.read(self._starts[place], self._lengths[place]))


def read_spooled(
    line: bytes, decoder: msgspec.json.Decoder[Spooled], kind: type[Spooled]
) -> Spooled:
    """What a line of a spool stands for, whatever it holds.

    Args:
        line: The line, as `encode_json` wrote it.
        decoder: Of that kind of record.
        kind: What it is.
    """
    try:
        return decoder.decode(line)
    except msgspec.DecodeError:
        # A lone surrogate: msgspec takes none, the standard library keeps it.
        return typed(parse_json(line, max_depth=_MAX_DEPTH), kind)


def _decoded(line: bytes) -> CaseResult:
    return read_spooled(line, _decoder, CaseResult)


def without_content(entry: CaseResult) -> CaseResult:
    """The entry of a case without anything a person or a model wrote.

    Votes stay without their reasons: figures of the report are theirs.
    """
    rows = [
        replace(row, answer=None, checks=[_bare(check) for check in row.checks])
        for row in entry.rows
    ]
    expectations = [
        replace(one, votes=[replace(vote, reason=None) for vote in one.votes])
        for one in entry.expectations
    ]
    return replace(entry, inputs=None, expected=None, rows=rows, expectations=expectations)


def _bare(check: Check) -> Check:
    votes = [replace(vote, reason=None) for vote in check.votes]
    return replace(check, reason=None, evidence=None, votes=votes)


class RunReport:
    """The report of a run.

    Args:
        head: The report without its cases.
        cases: The cases per suite and subject, as they stand in the head.
    """

    def __init__(self, head: ReportHead, cases: Sequence[Sequence[Cases]]) -> None:
        self.head = head
        self._cases = cases

    def cases(self, suite: int, subject: int) -> Cases:
        """The cases of one subject, by its place in `head.suites[suite].subjects`."""
        return self._cases[suite][subject]

    def single_suite(self, suite: int) -> RunReport:
        """A whole report of one suite only, with the verdict it has by itself.

        Args:
            suite: Its place in `head.suites`.
        """
        head = report_head(
            [self.head.suites[suite]],
            project=self.head.project,
            version=self.head.tool.version,
            partial=self.head.partial,
            shards=self.head.shards,
        )
        return RunReport(head, [self._cases[suite]])
