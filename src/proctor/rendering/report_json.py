"""The report as JSON, `proctor.report.v1`: the contract between running, comparing and viewing."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from proctor.records import RenderOptions, SubjectReport, encode_json
from proctor.report_protocols import Cases, Report

_CHUNK_BYTES = 64 * 1024
_INDENT = 2


def render_json(report: Report, options: RenderOptions) -> Iterator[bytes]:
    """The report as indented JSON with one compact line per case.

    The bytes depend on the report only: `options`, which are about what people see, change nothing.
    """
    yield from _chunks(_pieces(report))


def _pieces(report: Report) -> Iterator[bytes]:
    """The report in order. `suites`, `subjects` and `cases` are the last key of their object."""
    yield _open_list(replace(report.head, suites=[]), depth=0)
    for place, suite in enumerate(report.head.suites):
        yield _separator(place, depth=2) + _open_list(replace(suite, subjects=[]), depth=2)
        for number, subject in enumerate(suite.subjects):
            yield _separator(number, depth=4)
            yield from _subject(subject, report.cases(place, number))
        yield _close_list(len(suite.subjects), depth=2)
    yield _close_list(len(report.head.suites), depth=0) + b"\n"


def _subject(subject: SubjectReport, cases: Cases) -> Iterator[bytes]:
    head = indented(subject, depth=4)
    yield head[: -len(_line(4) + b"}")] + b"," + _line(5) + b'"cases": ['
    before = _separator(0, depth=6)
    between = _separator(1, depth=6)
    for line in cases.lines():
        yield before + line
        before = between
    yield _close_list(len(cases), depth=4)


def _open_list(value: object, *, depth: int) -> bytes:
    """An object up to the opening of the empty list that is its last member."""
    return indented(value, depth=depth)[: -len(b"]" + _line(depth) + b"}")]


def _close_list(members: int, *, depth: int) -> bytes:
    """The end of the list that is an object's last member, and of the object."""
    return (_line(depth + 1) if members else b"") + b"]" + _line(depth) + b"}"


def _separator(members: int, *, depth: int) -> bytes:
    return (b"," if members else b"") + _line(depth)


def _line(depth: int) -> bytes:
    return b"\n" + b" " * (_INDENT * depth)


def indented(value: object, *, depth: int = 0) -> bytes:
    """A struct as JSON, its lines indented, all but the first as if it stood so deep in a file."""
    compact = encode_json(value)
    try:
        text = msgspec.json.format(compact, indent=_INDENT)
    except msgspec.DecodeError:
        # A lone surrogate, which only the standard library takes.
        text = json.dumps(json.loads(compact), indent=_INDENT, ensure_ascii=False).encode(
            "utf-8", "backslashreplace"
        )
    return text.replace(b"\n", _line(depth))


def _chunks(pieces: Iterator[bytes]) -> Iterator[bytes]:
    held, size = [], 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= _CHUNK_BYTES:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)
