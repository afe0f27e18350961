"""Checking a response against its packet.

One stage comes after the other, and the first that fails stops it: no result of a check is known
before all that it rests on is proven.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from msgspec import UNSET, Struct

from proctor.canonical import digest, sha256_hex
from proctor.errors import ExitCode, FileError
from proctor.packets.evaluator import evaluator
from proctor.packets.formats import (
    MAX_PACKET,
    MAX_RESPONSE,
    REPORT_SCHEMA,
    CheckedCase,
    Claims,
    Packet,
    PacketReport,
    PacketResponse,
    PacketTotals,
    SelfReport,
)
from proctor.packets.reading import (
    parse_packet,
    parse_response,
    parse_strictly,
    read_file,
    require_binding,
)
from proctor.packets.rechecking import FindSuite, recheck
from proctor.packets.suites import PacketSuite
from proctor.records import Outcome

SHOWS: Final = (
    "Whether a supplied response met bounded schema and exact-value checks.",
    "No model was called.",
    "Human review remains required.",
)
DOES_NOT_SHOW: Final = (
    "The quality of natural-language answers.",
    "Prompt reasoning.",
    "A model's quality or identity.",
    "The operation of the real system.",
    "Human acceptance.",
    "Superiority over another product.",
    "Who or what made the response: a handcrafted response can pass, and a model's response would "
    "need a separate authenticated trial receipt.",
)


class CheckRequest(Struct, frozen=True, kw_only=True):
    """What is checked, and against what.

    Args:
        packet: The packet's file.
        response: The response's file.
        find_suite: Finds the suite, which has the expected values.
        with_sources: Whether the sources on disk are compared with the packet.
    """

    packet: Path
    response: Path
    find_suite: FindSuite
    with_sources: bool


def check_response(request: CheckRequest) -> PacketReport:
    """The report on a response.

    Raises:
        FileError: P6801 to P6806 when the packet, a source or the response cannot be used.
        ProctorError: When the suite cannot be used.
    """
    packet_name, response_name = str(request.packet), str(request.response)
    packet_bytes = read_file(request.packet, MAX_PACKET)
    response_bytes = read_file(request.response, MAX_RESPONSE)
    value = parse_strictly(packet_bytes, packet_name)
    answer = parse_strictly(response_bytes, response_name)
    packet = parse_packet(value, packet_name)
    require_binding(packet, value, packet_name)
    suite, rechecked = recheck(packet, value, request.find_suite, with_sources=request.with_sources)
    response = parse_response(answer, packet, response_name)
    _require_same_packet(response, packet, response_name)
    cases = _checked(suite, response)
    totals = _totals(cases)
    has_passed = totals.cases_passed == totals.cases
    return PacketReport(
        schema=REPORT_SCHEMA,
        suite=packet.suite,
        binding_sha256=packet.binding_sha256,
        packet_sha256=digest(value),
        response_sha256=digest(answer),
        response_bytes_sha256=sha256_hex(response_bytes),
        evaluator=evaluator(),
        responder=_self_report(response),
        sources_rechecked=request.with_sources,
        rechecked=rechecked,
        cases=cases,
        totals=totals,
        exit_code=ExitCode.OK if has_passed else ExitCode.FAILED,
        claims=Claims(list(SHOWS), list(DOES_NOT_SHOW)),
    )


def _require_same_packet(response: PacketResponse, packet: Packet, name: str) -> None:
    if response.binding_sha256 != packet.binding_sha256:
        raise FileError(
            f"`{name}` answers the packet {response.binding_sha256}, and this one is "
            f"{packet.binding_sha256}",
            code="P6804",
            hint="check it against the packet it was made for, or have this one answered",
        )


def _checked(suite: PacketSuite, response: PacketResponse) -> list[CheckedCase]:
    cases: list[CheckedCase] = []
    for case in suite.cases:
        values = response.results[case.file.id]
        checks = [one.check(values) for one in case.checks]
        has_passed = all(one.outcome is Outcome.PASSED for one in checks)
        outcome = Outcome.PASSED if has_passed else Outcome.FAILED
        cases.append(CheckedCase(case.file.id, outcome, checks))
    return cases


def _totals(cases: list[CheckedCase]) -> PacketTotals:
    checks = [one.outcome for case in cases for one in case.checks]
    return PacketTotals(
        cases=len(cases),
        cases_passed=sum(case.outcome is Outcome.PASSED for case in cases),
        checks=len(checks),
        checks_passed=sum(outcome is Outcome.PASSED for outcome in checks),
    )


def _self_report(response: PacketResponse) -> SelfReport | None:
    responder = response.responder
    return None if responder is UNSET else SelfReport(responder.kind, responder.label)
