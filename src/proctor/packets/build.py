"""Building a packet: what a suite asks and its sources as they are, sealed. No expected value."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import to_builtins

from proctor.canonical import sha256_hex
from proctor.errors import FileError, ProctorError, SuiteError, raise_all
from proctor.packets.contract import blank_response
from proctor.packets.formats import MAX_DEPTH, MAX_PACKET, MAX_SOURCES, PACKET_SCHEMA
from proctor.packets.outline import outline
from proctor.packets.reading import BINDING, binding_of, malformed
from proctor.packets.suites import PacketSuite, SourcePlace
from proctor.records import JsonObject
from proctor.registry import did_you_mean
from proctor.rendering.report_json import indented
from proctor.safe_io import MEBIBYTE, reason_of
from proctor.strict_json import JsonProblem, decode_utf8, parse_json


def build_packet(suite: PacketSuite) -> JsonObject:
    """The packet of a suite, with its sources read.

    The same files give the same packet, wherever they are.

    Raises:
        SuiteError: P6201 when a source cannot be read, or has not exactly one such section.
        FileError: P6801 when a source is not UTF-8, P6805 when its path is not safe or it is too
            large.
    """
    members = asked(suite)
    packet = {
        "schema": PACKET_SCHEMA,
        "suite": members.pop("suite"),
        "sources": _sources(suite.sources),
        **members,
        "expectations_sha256": suite.expectations_sha256,
    }
    packet[BINDING] = binding_of(packet)
    _require_readable(packet, suite.name)
    return packet


def render_packet(packet: JsonObject) -> bytes:
    """A packet as the bytes of its file."""
    return indented(packet) + b"\n"


def asked(suite: PacketSuite) -> JsonObject:
    """The members of a packet that follow from the suite's file alone."""
    files = [case.file for case in suite.cases]
    blank = blank_response({case.file.id: case.fields for case in suite.cases})
    return {
        "suite": {"id": suite.id, "title": suite.title},
        "cases": [{"id": one.id, "task": one.task, "evidence": one.evidence} for one in files],
        "response_contract": {case.file.id: case.contract for case in suite.cases},
        "response_template": to_builtins(blank),
    }


def source_member(place: SourcePlace, data: bytes) -> JsonObject:
    """A source as it stands in a packet.

    Raises:
        SuiteError: P6201 when it has not exactly one such section.
        FileError: P6801 when it is not UTF-8.
    """
    written = place.written
    try:
        text = decode_utf8(data)
    except JsonProblem as problem:
        raise malformed(written.path, problem.fault, problem.detail, problem.line) from None
    if written.section is not None:
        text = _section(text, written.section, place)
    return {
        "id": written.id,
        "path": written.path,
        "bytes": len(data),
        "sha256": sha256_hex(data),
        "excerpt": {
            "kind": "full" if written.section is None else "section",
            "selector": written.section,
            "text": text,
            "sha256": sha256_hex(text.encode()),
        },
    }


def _sources(places: Sequence[SourcePlace]) -> list[JsonObject]:
    members: list[JsonObject] = []
    problems: list[ProctorError] = []
    total = 0
    for place in places:
        try:
            data = place.read()
            members.append(source_member(place, data))
        except OSError as error:
            problems.append(
                SuiteError(
                    f"the source `{place.written.path}` cannot be read: {reason_of(error)}",
                    code="P6201",
                    hint="check the path, which starts at the suite's folder",
                    where=place.where,
                )
            )
        except ProctorError as problem:
            problems.append(problem)
        else:
            total += len(data)
            require_total(total)
    raise_all(problems)
    return members


def require_total(size: int) -> None:
    """Make sure that the sources of a packet are not too large together.

    Raises:
        FileError: P6805 when they are.
    """
    if size > MAX_SOURCES:
        raise FileError(
            f"the sources are larger than {MAX_SOURCES // MEBIBYTE} MiB together",
            code="P6805",
            hint="name sections with `section`, or fewer sources",
        )


def _section(text: str, selector: str, place: SourcePlace) -> str:
    """A section from its heading to the next one of the same or a higher level."""
    found = outline(text)
    lines = [found.lines[heading.line].rstrip("\r\n") for heading in found.headings]
    matching = [index for index, line in enumerate(lines) if line == selector]
    if len(matching) != 1:
        count = f"{len(matching)} headings" if matching else "no heading"
        hint = "a section needs a heading of its own" if matching else did_you_mean(selector, lines)
        raise SuiteError(
            f"`{place.written.path}` has {count} `{selector}`",
            code="P6201",
            hint=hint or "write the whole line of the heading",
            where=place.where,
        )
    first = found.headings[matching[0]]
    after = found.headings[matching[0] + 1 :]
    end = next((each.line for each in after if each.level <= first.level), len(found.lines))
    return "".join(found.lines[first.line : end])


def _require_readable(packet: JsonObject, name: str) -> None:
    """Make sure that the packet is one that may be read again."""
    data = render_packet(packet)
    fault = None
    if len(data) > MAX_PACKET:
        fault = f"larger than {MAX_PACKET // MEBIBYTE} MiB"
    else:
        try:
            parse_json(data, max_depth=MAX_DEPTH)
        except JsonProblem:
            fault = f"nested deeper than {MAX_DEPTH}"
    if fault is not None:
        raise SuiteError(
            f"the packet of `{name}` would be {fault}", code="P6201", hint="split the suite"
        )
