"""Reading reports again. A report is somebody's claim: nothing of it is used before it is proven.

A report as Proctor writes it has a line for each case. Those are read a few at a time and never
held together, so memory does not grow with their number. JSON that is laid out in another way is
read as well, whole.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from proctor.errors import ReportError
from proctor.records import REPORT_SCHEMA, CaseResult, Json, Outcome, ReportHead, encode_json
from proctor.report_proofs import ReportProof
from proctor.reporting import CaseSpool, RunReport, SpoolStore
from proctor.safe_io import open_inside, open_regular, reason_of
from proctor.strict_json import JsonProblem, parse_json, typed

MAX_REPORT = 1024 * 1024 * 1024
_MAX_DEPTH = 256
_BATCH = 64
"""How many cases are read at once."""

_OPEN = b'          "cases": [\n'
_INDENT = b" " * 12
_CASE = _INDENT + b'{"'
_NEWER = re.compile(r"proctor\.report\.v(\d{1,9})\Z")
_VERSION = 1

T = TypeVar("T")

_decode_cases = msgspec.json.Decoder(list[CaseResult]).decode


class _Case(Struct):
    id: str
    outcome: Outcome


class _Subject(Struct):
    cases: list[_Case]


class _Suite(Struct):
    suite: str
    subjects: list[_Subject]


class _Report(Struct):
    schema: str
    suites: list[_Suite]


_decoder = msgspec.json.Decoder(_Report)


def read_report_bytes(path: Path) -> bytes:
    """The bytes of a report file.

    Raises:
        ReportError: P6901 when it cannot be read or is larger than 1 GiB.
        FileError: P6805 for a link, folder or device.
    """
    try:
        with open_regular(path) as file:
            data = file.read(MAX_REPORT + 1)
    except OSError as error:
        raise _unreadable(path, error) from error
    if len(data) > MAX_REPORT:
        raise _too_large(path)
    return data


def cases_not_passed(path: Path) -> dict[str, frozenset[str]]:
    """Per suite of a report the ids of the cases that did not pass for some subject.

    Raises:
        ReportError: P6901 when it is not a report of this version.
    """
    data = read_report_bytes(path)
    report = _as_we_write_it(data) or _as(_Report, _parsed(data, path), path)
    failed: dict[str, set[str]] = {}
    for suite in report.suites:
        for subject in suite.subjects:
            ids = (case.id for case in subject.cases if case.outcome is not Outcome.PASSED)
            failed.setdefault(suite.suite, set()).update(ids)
    return {suite: frozenset(ids) for suite, ids in failed.items()}


class _Outline:
    """A report line by line, with a number, counted from 0, in place of each block of cases."""

    def __init__(self) -> None:
        self.block = -1
        self._parts: list[bytes] = []
        self._is_inside = False

    def takes(self, line: bytes) -> bool:
        """Go on to the next line of the file, and say whether it is a case."""
        if self._is_inside and line.startswith(_CASE):
            if self._parts[-1] is _OPEN:
                self.block += 1
                self._parts.append(b"%d\n" % self.block)
            return True
        self._is_inside = line == _OPEN
        self._parts.append(_OPEN if self._is_inside else line)
        return False

    def text(self) -> bytes:
        """The file without its cases."""
        return b"".join(self._parts)


class StoredReport:
    """A report in a file, read case by case; made by `open_report`.

    Its head says what the file says. Only when `cases` has come to its end, all of it is proven.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.sha256 = ""
        """Of the bytes of the file, once `cases` has come to its end."""
        self._path = path
        self._file = file
        outline = _Outline()
        for line in file:
            outline.takes(line)
        self._outline = outline.text()
        value = _parsed(self._outline, path)
        self.head = _as(ReportHead, value, path)
        self._places = list(_places(value, path))

    def cases(self) -> Iterator[tuple[int, int, CaseResult]]:
        """Each case in the order of the report, after the places of its suite and its subject.

        Raises:
            ReportError: P6901 when a case is damaged, when the figures of the report are not those
                of its rows, or when the file has changed while it was read.
        """
        proof = ReportProof(self.head, name=self._path.name, where=str(self._path))
        blocks = groupby(self._decoded(), key=itemgetter(0))
        for suite, subject, held in self._places:
            found: Iterable[CaseResult]
            if held is None:
                _, batches = next(blocks, (None, ()))
                found = chain.from_iterable(map(itemgetter(1), batches))
            else:
                found = (_as(CaseResult, each, self._path) for each in held)
            prove = proof.subject(suite, subject)
            for case in found:
                prove(case)
                yield suite, subject, case
        # Nothing is left but the end of the file, where its digest is known.
        next(blocks, None)
        proof.finish()

    def _decoded(self) -> Iterator[tuple[int, list[CaseResult]]]:
        """The cases of each block, a few at a time; the rest of the file must be what it was."""
        outline, digest = _Outline(), hashlib.sha256()
        batch: list[bytes] = []
        self._file.seek(0)
        for number, line in enumerate(self._file, 1):
            digest.update(line)
            if not outline.takes(line):
                if batch:
                    yield outline.block, _cases(batch, number - 1, self._path, is_last=True)
                    batch = []
                continue
            if len(batch) == _BATCH:
                yield outline.block, _cases(batch, number - 1, self._path, is_last=False)
                batch = []
            batch.append(line)
        if outline.text() != self._outline:
            raise _no_report(self._path, f"`{self._path.name}` changed while it was read")
        self.sha256 = digest.hexdigest()


@contextmanager
def open_report(path: Path, *, root: Path | None = None) -> Iterator[StoredReport]:
    """A report to be read case by case, closed when done.

    Args:
        path: The file.
        root: The project's folder, when `path` is relative to it and no link below it is followed.

    Raises:
        ReportError: P6901 when it is no report of this version, or cannot be read.
        FileError: P6805 for a link, folder or device.
    """
    try:
        file = open_regular(path) if root is None else open_inside(root, path.as_posix())
    except OSError as error:
        raise _unreadable(path, error) from error
    with file:
        if os.fstat(file.fileno()).st_size > MAX_REPORT:
            raise _too_large(path)
        yield StoredReport(path, file)


class LoadedReport(NamedTuple):
    """A report that was read whole and proven, and the SHA-256 of the bytes of its file."""

    report: RunReport
    sha256: str


def load_report(path: Path) -> RunReport:
    """A report that can be rendered, proven, its cases spooled.

    Raises:
        ReportError: P6901 when it is no report of this version, or contradicts itself.
        FileError: P6805 for a link, folder or device.
    """
    return load_digested(path).report


def load_digested(path: Path, *, root: Path | None = None) -> LoadedReport:
    """The same as `load_report`, with the digest of the file.

    Args:
        path: The file.
        root: As for `open_report`.

    Raises:
        ReportError: P6901 when it is no report of this version, or contradicts itself.
        FileError: P6805 for a link, folder or device.
    """
    store = SpoolStore()
    with open_report(path, root=root) as stored:
        spools = [[CaseSpool(store) for _ in suite.subjects] for suite in stored.head.suites]
        for suite, subject, case in stored.cases():
            spools[suite][subject].add(case)
        return LoadedReport(RunReport(stored.head, spools), stored.sha256)


def _places(value: Json, path: Path) -> Iterator[tuple[int, int, list[Json] | None]]:
    """Each subject by its place, and its cases where they are not in a block of lines."""
    block = 0
    for suite, one in enumerate(value["suites"]):
        for subject, other in enumerate(one["subjects"]):
            held = other.get("cases")
            if held == [block]:
                block += 1
                yield suite, subject, None
            elif isinstance(held, list):
                yield suite, subject, held
            else:
                raise _no_report(path, f"`{path.name}` is not a report: a subject has no `cases`")


def _cases(lines: list[bytes], last: int, path: Path, *, is_last: bool) -> list[CaseResult]:
    """The cases of some lines.

    Args:
        lines: The lines, at least one.
        last: The number of the last one in the file.
        path: The file.
        is_last: Whether no other case follows, and so no comma.
    """
    joined = b"".join(lines)
    if joined.count(b",\n") != len(lines) - is_last:
        message = f"the report `{path.name}` is not JSON: a comma about line {last}"
        raise _no_report(path, message)
    bodies = joined[len(_INDENT) :].rstrip(b"\n").removesuffix(b",")
    text = b"[%b]" % bodies.replace(b"\n" + _INDENT, b"")
    try:
        cases = _decode_cases(text)
        # What gives the same bytes again has no key twice, and nothing that was left out.
        if encode_json(cases) == text:
            return cases
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        pass
    return [
        _as(CaseResult, _parsed(line.rstrip(b"\n").removesuffix(b","), path, line=number), path)
        for number, line in enumerate(lines, last - len(lines) + 1)
    ]


def _parsed(data: bytes, path: Path, *, line: int | None = None) -> Json:
    try:
        return parse_json(data, max_depth=_MAX_DEPTH)
    except JsonProblem as problem:
        place = f"`{path.name}`" if line is None else f"`{path.name}` line {line}"
        raise _no_report(path, f"the report {place} {problem.detail}") from None


def _as(kind: type[T], value: Json, path: Path) -> T:
    """A JSON value as a report, or as what is in one."""
    if kind in (ReportHead, _Report) and (
        not isinstance(value, dict) or value.get("schema") != REPORT_SCHEMA
    ):
        raise _other_format(value, path)
    try:
        return typed(value, kind)
    except msgspec.ValidationError as problem:
        said = str(problem)
        message = f"`{path.name}` is not a report: {said[:1].lower()}{said[1:]}"
        raise _no_report(path, message) from None


def _as_we_write_it(data: bytes) -> _Report | None:
    """The parts of a report that are needed, without making values of all others.

    None for what has to be looked at more closely: another format, damage, a lone surrogate.
    """
    try:
        report = _decoder.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    return report if report.schema == REPORT_SCHEMA else None


def _no_report(path: Path, message: str) -> ReportError:
    return ReportError(
        message,
        code="P6901",
        hint="name a file that `proctor run --format json --out FILE` wrote",
        where=str(path),
    )


def _unreadable(path: Path, error: OSError) -> ReportError:
    return _no_report(path, f"the report `{path.name}` cannot be read: {reason_of(error)}")


def _too_large(path: Path) -> ReportError:
    return ReportError(
        f"`{path.name}` is larger than 1 GiB",
        code="P6901",
        hint="name a smaller report, for example one of a single suite",
        where=str(path),
    )


def _other_format(value: Json, path: Path) -> ReportError:
    schema = value.get("schema") if isinstance(value, dict) else None
    newer = _NEWER.match(schema) if isinstance(schema, str) else None
    if newer is not None and int(newer[1]) > _VERSION:
        return ReportError(
            f"`{path.name}` is a report of the format `{schema}`, which is newer than this Proctor",
            code="P6901",
            hint=f"install a newer version; this one reads `{REPORT_SCHEMA}`",
            where=str(path),
        )
    return ReportError(
        f"`{path.name}` is not a report of the format `{REPORT_SCHEMA}`",
        code="P6901",
        hint="make it again with this version of Proctor",
        where=str(path),
    )
