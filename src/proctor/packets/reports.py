"""The report on a response, as JSON and as text. Neither has an expected value or an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from proctor.packets.formats import CheckedCase, PacketReport
from proctor.records import Outcome
from proctor.rendering.escaping import terminal_line
from proctor.rendering.report_json import indented

_SHOWN_DIGITS: Final = 12


def render_packet_json(report: PacketReport) -> bytes:
    """The report as JSON, the same bytes for the same files."""
    return indented(report) + b"\n"


def render_packet_text(report: PacketReport) -> bytes:
    """The report for people."""
    lines = map(terminal_line, _lines(report))
    return "".join(f"{line}\n" for line in lines).encode("utf-8")


def verdict_line(report: PacketReport) -> str:
    """What became of the response, in one line."""
    totals = report.totals
    word = "PASSED" if report.exit_code == 0 else "FAILED"
    return (
        f"{word}  {totals.cases_passed} of {totals.cases} cases passed, "
        f"{totals.checks_passed} of {totals.checks} checks"
    )


def boundary_lines(report: PacketReport) -> Iterator[str]:
    """What the report is evidence of, and what it is not."""
    yield "What this shows:"
    yield from (f"  {sentence}" for sentence in report.claims.shows)
    yield "What it does not show:"
    yield from (f"  {sentence}" for sentence in report.claims.does_not_show)


def _lines(report: PacketReport) -> Iterator[str]:
    yield verdict_line(report)
    yield ""
    yield f"{report.suite.id}: {report.suite.title}"
    for case in report.cases:
        yield from _case(case)
    yield ""
    for each in report.rechecked:
        yield f"{each.status}  {each.what}  {each.packet_sha256[:_SHOWN_DIGITS]}"
    if not report.sources_rechecked:
        yield "The sources were not rechecked (`--no-recheck`)."
    responder = report.responder
    if responder is not None:
        yield f"Answered by {responder.kind} {responder.label}, by their own account."
    yield f"binding {report.binding_sha256}"
    yield ""
    yield from boundary_lines(report)


def _case(case: CheckedCase) -> Iterator[str]:
    yield f"  {case.outcome}  {case.id}"
    for check in case.checks:
        if check.outcome is not Outcome.PASSED:
            yield f"    {check.id}: {check.field}: {check.reason}"
