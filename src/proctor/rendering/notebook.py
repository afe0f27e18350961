"""Reports and comparisons as the output of a notebook cell: a piece of HTML, and no page.

All data is escaped; there is no script, no link and nothing to be loaded. A notebook also typesets
mathematics it finds in the text of its outputs, in a language of its own with links in it, so what
could start that stands in an element by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

from proctor.records import CaseResult, Outcome, ReportHead, SubjectReport, SuiteReport
from proctor.records.comparison import Comparison, SubjectComparison, UnitComparison
from proctor.rendering.comparison_wording import (
    VERDICTS,
    change_points,
    label_text,
    rates_text,
    side_text,
    subject_text,
    unit_name,
    verdict_text,
)
from proctor.rendering.escaping import terminal_text
from proctor.rendering.threshold_wording import threshold_text
from proctor.rendering.wording import (
    case_findings,
    finding_lines,
    headline,
    money_text,
    share_text,
)
from proctor.report_protocols import Report

SHOWN_CASES = 20

_LINES_OF_A_CASE = 4
_MATHS = re.compile(r"[$\\]")
_COLOURS = {"passed": "#1a7f37", "failed": "#cf222e"}
_OTHER_COLOUR = "#9a6700"
_NOT_PASSED = (Outcome.FAILED, Outcome.ERRORED, Outcome.UNMEASURED)


def report_html(report: Report) -> str:
    """The verdict of a report, its subjects with their counts, and the first cases that failed."""
    return _box(_report_parts(report))


def comparison_html(comparison: Comparison) -> str:
    """The verdict of a comparison, its subjects with their rates, and the first changes."""
    return _box(_comparison_parts(comparison))


def _report_parts(report: Report) -> Iterator[str]:
    head = report.head
    counts = headline(one.counts for suite in head.suites for one in suite.subjects)
    yield _verdict(head.verdict, f"{terminal_text(head.project)}: {counts}")
    yield _table(
        ["suite", "subject", "passed", "rate", "95%", "errored", "unmeasured", "cost"],
        _subject_rows(head),
    )
    for suite in head.suites:
        several = len(suite.subjects) > 1
        for threshold in suite.thresholds:
            said = threshold_text(threshold, name_subject=several)
            if said is not None:
                yield f"<div>{_text(f'{terminal_text(suite.suite)}: {said}')}</div>"
    shown, total = _cases(report)
    if shown:
        yield _table(["suite", "subject", "case", "", "why"], shown)
    if total > len(shown):
        yield f"<div>and {total - len(shown)} more</div>"


def _subject_rows(head: ReportHead) -> Iterator[list[str]]:
    for suite in head.suites:
        for subject in suite.subjects:
            counts, rate = subject.counts, subject.pass_rate
            low, high = (share_text(bound) for bound in rate.interval)
            usd = subject.cost.answers
            yield [
                terminal_text(suite.suite),
                terminal_text(subject.id),
                f"{rate.passed}/{rate.measured}",
                share_text(rate.rate),
                f"{low} to {high}" if rate.measured else "",
                f"{counts.errored} of {counts.rows}",
                f"{counts.unmeasured} of {counts.rows}",
                "n/a" if usd is None else money_text(usd),
            ]


def _cases(report: Report) -> tuple[list[list[str]], int]:
    """The first cases that did not pass, failed ones first, and how many there are."""
    places: list[tuple[SuiteReport, SubjectReport, int, int]] = [
        (suite, subject, place, number)
        for place, suite in enumerate(report.head.suites)
        for number, subject in enumerate(suite.subjects)
    ]
    shown: list[list[str]] = []
    total = 0
    for outcome in _NOT_PASSED:
        for suite, subject, place, number in places:
            cases = report.cases(place, number)
            total += cases.count(outcome)
            if len(shown) == SHOWN_CASES:
                continue
            for case in cases.having(outcome):
                shown.append([terminal_text(suite.suite), terminal_text(subject.id), *_case(case)])
                if len(shown) == SHOWN_CASES:
                    break
    return shown, total


def _case(case: CaseResult) -> list[str]:
    lines = finding_lines(case_findings(case))
    said = "\n".join(lines[:_LINES_OF_A_CASE])
    if len(lines) > _LINES_OF_A_CASE:
        said += f"\nand {len(lines) - _LINES_OF_A_CASE} more"
    return [terminal_text(case.id), case.outcome.value, said]


def _comparison_parts(comparison: Comparison) -> Iterator[str]:
    word = {"clean": "passed", "regressed": "failed"}.get(comparison.verdict.value, "")
    yield _verdict(word, verdict_text(comparison), word=VERDICTS[comparison.verdict])
    yield _table(
        ["subject", "rates"],
        ([subject_text(one.match), rates_text(one)] for one in comparison.subjects),
    )
    units = [(one, unit) for one in comparison.subjects for unit in one.units]
    if units:
        yield _table(
            ["subject", "case", "", "baseline", "now", "points"],
            (_unit(one, unit) for one, unit in units[:SHOWN_CASES]),
        )
    if len(units) > SHOWN_CASES:
        yield f"<div>and {len(units) - SHOWN_CASES} more</div>"


def _unit(subject: SubjectComparison, unit: UnitComparison) -> list[str]:
    return [
        subject_text(subject.match),
        unit_name(unit),
        label_text(unit.label),
        side_text(unit.baseline),
        side_text(unit.now),
        change_points(unit),
    ]


def _verdict(kind: str, said: str, *, word: str | None = None) -> str:
    colour = _COLOURS.get(kind, _OTHER_COLOUR)
    return (
        f'<div><strong style="color: {colour}">{_text(word or kind.upper())}</strong> '
        f"{_text(said)}</div>"
    )


def _table(names: Iterable[str], rows: Iterable[list[str]]) -> str:
    head = "".join(f"<th>{_text(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(text: str) -> str:
    """Text, escaped for a terminal already, as the content of an element."""
    lines = escape(text).split("\n")
    return "<br>".join(_MATHS.sub(r"<span>\g<0></span>", line) for line in lines)


def _box(parts: Iterable[str]) -> str:
    return f'<div class="tex2jax_ignore mathjax_ignore">{"".join(parts)}</div>'
