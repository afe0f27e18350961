"""Reading reports again. A report is somebody's claim: its shape is checked before it is used."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from proctor.errors import ReportError
from proctor.records import REPORT_SCHEMA, Outcome
from proctor.safe_io import open_regular, reason_of
from proctor.strict_json import JsonProblem, parse_json, typed

MAX_REPORT = 1024 * 1024 * 1024
_MAX_DEPTH = 256


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
        message = f"the report `{path.name}` cannot be read: {reason_of(error)}"
        raise _no_report(path, message) from error
    if len(data) > MAX_REPORT:
        raise ReportError(
            f"`{path.name}` is larger than 1 GiB",
            code="P6901",
            hint="name a smaller report, for example one of a single suite",
            where=str(path),
        )
    return data


def cases_not_passed(path: Path) -> dict[str, frozenset[str]]:
    """Per suite of a report the ids of the cases that did not pass for some subject.

    Raises:
        ReportError: P6901 when it is not a report of this version.
    """
    data = read_report_bytes(path)
    report = _as_we_write_it(data) or _read_strictly(data, path)
    failed: dict[str, set[str]] = {}
    for suite in report.suites:
        for subject in suite.subjects:
            ids = (case.id for case in subject.cases if case.outcome is not Outcome.PASSED)
            failed.setdefault(suite.suite, set()).update(ids)
    return {suite: frozenset(ids) for suite, ids in failed.items()}


def _as_we_write_it(data: bytes) -> _Report | None:
    """The parts of a report that are needed, without making values of all others.

    None for what has to be looked at more closely: another format, damage, a lone surrogate.
    """
    try:
        report = _decoder.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    return report if report.schema == REPORT_SCHEMA else None


def _read_strictly(data: bytes, path: Path) -> _Report:
    try:
        value = parse_json(data, max_depth=_MAX_DEPTH)
        if not isinstance(value, dict) or value.get("schema") != REPORT_SCHEMA:
            raise _other_format(path)
        return typed(value, _Report)
    except JsonProblem as problem:
        raise _no_report(path, f"the report `{path.name}` {problem.detail}") from None
    except msgspec.ValidationError as problem:
        said = str(problem)
        message = f"`{path.name}` is not a report: {said[:1].lower()}{said[1:]}"
        raise _no_report(path, message) from None


def _no_report(path: Path, message: str) -> ReportError:
    return ReportError(
        message,
        code="P6901",
        hint="name a file that `proctor run --format json --out FILE` wrote",
        where=str(path),
    )


def _other_format(path: Path) -> ReportError:
    return ReportError(
        f"`{path.name}` is not a report of the format `{REPORT_SCHEMA}`",
        code="P6901",
        hint="make it again with this version of Proctor",
        where=str(path),
    )
