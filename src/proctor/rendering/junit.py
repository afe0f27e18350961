"""The report as JUnit XML, which CI systems show as test results.

A suite and subject is a testsuite, a case a testcase. Characters XML cannot hold are replaced, and
what a reader of such files would take for the mark of an attachment is broken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from proctor.records import (
    EXPECTATIONS,
    CaseResult,
    Outcome,
    RenderOptions,
    SubjectReport,
    SuiteReport,
)
from proctor.rendering.escaping import terminal_line
from proctor.rendering.threshold_wording import threshold_text
from proctor.rendering.wording import (
    case_findings,
    finding_lines,
    judges_text,
    passed_text,
    share_text,
    warned_checks,
)
from proctor.rendering.xml_text import xml_text
from proctor.report_protocols import Cases, Report

_CHUNK_LINES = 500
_LINES_OF_A_CASE = 20

_ELEMENTS = {
    Outcome.FAILED: "failure",
    Outcome.ERRORED: "error",
    Outcome.UNMEASURED: "skipped",
}

_ATTACHMENT = re.compile(r"\[(?=\[ATTACHMENT\|)", re.IGNORECASE)
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


def render_junit(report: Report, options: RenderOptions) -> Iterator[bytes]:
    """The report as JUnit XML in UTF-8, every case in it."""
    lines: list[str] = []
    for line in _lines(report, options):
        lines.append(f"{line}\n")
        if len(lines) == _CHUNK_LINES:
            yield "".join(lines).encode("utf-8")
            lines.clear()
    yield "".join(lines).encode("utf-8")


def _lines(report: Report, options: RenderOptions) -> Iterator[str]:
    places = [
        (suite, subject, report.cases(place, number))
        for place, suite in enumerate(report.head.suites)
        for number, subject in enumerate(suite.subjects)
    ]
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    tests = sum(len(cases) for *_, cases in places)
    failures = sum(cases.count(Outcome.FAILED) for *_, cases in places)
    errors = sum(cases.count(Outcome.ERRORED) for *_, cases in places)
    yield (
        f'<testsuites name="{_text(report.head.project)}" '
        f'tests="{tests}" failures="{failures}" errors="{errors}">'
    )
    for suite, subject, cases in places:
        yield from _suite(suite, subject, cases, options)
    yield "</testsuites>"


def _suite(
    suite: SuiteReport, subject: SubjectReport, cases: Cases, options: RenderOptions
) -> Iterator[str]:
    yield (
        f'  <testsuite name="{_text(f"{suite.suite}: {subject.id}")}" '
        f'tests="{len(cases)}" failures="{cases.count(Outcome.FAILED)}" '
        f'errors="{cases.count(Outcome.ERRORED)}" skipped="{cases.count(Outcome.UNMEASURED)}">'
    )
    yield "    <properties>"
    for name, value in _properties(suite, subject, cases):
        yield f'      <property name="{_text(name)}" value="{_text(value)}"/>'
    yield "    </properties>"
    group = _text(f"{suite.suite}.{subject.id}")
    for case in cases:
        yield from _case(case, group, options)
    yield "  </testsuite>"


def _properties(
    suite: SuiteReport, subject: SubjectReport, cases: Cases
) -> Iterator[tuple[str, str]]:
    rate, cost = subject.pass_rate, subject.cost
    yield "passed", f"{rate.passed}/{rate.measured}"
    yield "pass_rate", share_text(rate.rate)
    yield "pass_rate_low", share_text(rate.interval[0])
    yield "pass_rate_high", share_text(rate.interval[1])
    if subject.pass_at_k:
        yield "repeats", str(suite.repeats)
        yield "pass_at_k", share_text(subject.pass_at_k[-1].value)
        yield "pass_hat_k", share_text(subject.pass_hat_k[-1].value)
    yield "cost_usd", "n/a" if cost.answers is None else repr(cost.answers)
    expected = subject.checks.get(EXPECTATIONS)
    if suite.judge is not None or expected is not None:
        yield "judges_cost_usd", "n/a" if cost.judges is None else repr(cost.judges)
    yield "cost_unknown_calls", str(cost.unknown)
    yield "not_run", str(subject.counts.not_run)
    if expected is not None:
        yield "expectations", f"{expected.passed}/{expected.passed + expected.failed}"
    for threshold in suite.thresholds:
        said = threshold_text(threshold, name_subject=False)
        if said is not None and threshold.subject in (None, subject.id):
            yield f"threshold {threshold.name}", said
    for id_, said in judges_text(suite):
        yield f"judged {id_}", said
    for id_, said in warned_checks(subject, cases):
        yield f"warning {id_}", said


def _case(case: CaseResult, group: str, options: RenderOptions) -> Iterator[str]:
    known = [row.latency_ms for row in case.rows if row.latency_ms is not None]
    time = f' time="{sum(known) / 1_000:.3f}"' if known else ""
    start = f'    <testcase name="{_text(case.id)}" classname="{group}"{time}'
    element = _ELEMENTS.get(case.outcome)
    if element is None:
        yield f"{start}/>"
        return
    findings = finding_lines(case_findings(case))
    message = next(iter(findings), case.outcome.value)
    passed = passed_text(case)
    shown = findings if options.all_cases else findings[:_LINES_OF_A_CASE]
    yield f"{start}>"
    yield (
        f'      <{element} type="{case.outcome.value}" '
        f'message="{_text(message if passed is None else f"{passed}; {message}")}">'
    )
    for line in shown:
        yield _text(terminal_line(line))
    if len(shown) < len(findings):
        yield f"... and {len(findings) - len(shown)} more"
    yield f"      </{element}>"
    yield "    </testcase>"


def _text(text: str) -> str:
    """Data as the text of an element or the value of an attribute."""
    safe = _ATTACHMENT.sub("[ ", xml_text(text))
    return safe.translate(_ENTITIES)
