"""The report as Markdown: what the comment of a pull request and a step summary show.

Everything that came from outside stands inside `<code>`, with every ASCII character that is not a
letter or a digit as a numeric reference, so that nothing in it can start a link, an image, a
mention, a table cell or an alert. The text stays below what a comment may hold: what is least
severe is left out first, and the report says how much.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from proctor.protocols import Report
from proctor.records import (
    CaseResult,
    Counts,
    Outcome,
    PassRate,
    RenderOptions,
    SubjectReport,
    SuiteReport,
    Verdict,
)
from proctor.rendering.escaping import terminal_text
from proctor.rendering.wording import (
    SHOWN_REPEATS,
    cache_text,
    case_findings,
    cost_text,
    counts_text,
    headline,
    passed_text,
    repeats_text,
    share_text,
    threshold_text,
    tokens_text,
    unsteady,
    warned_checks,
)

MAX_LENGTH = 60_000
"""In characters; GitHub takes 65,536."""

_FOR_THRESHOLDS, _FOR_CATEGORIES, _FOR_SUITES, _FOR_WARNINGS = 6_000, 3_000, 12_000, 5_000
"""What these sections may take at most. The cases that did not pass have all the rest."""

_FOR_A_CASE = 6_000
_DATA_LENGTH, _NAME_LENGTH = 300, 200
"""Of one piece of data, before its characters are replaced: at most thirteen for one."""

_NOTE_LENGTH = 60
_NOT_PASSED = (Outcome.FAILED, Outcome.ERRORED, Outcome.UNMEASURED)
_PROJECT = re.compile(r"[a-z0-9-]{1,64}")
_MARKUP = re.compile(r"[^A-Za-z0-9\x80-\U0010ffff]")


def render_markdown(report: Report, options: RenderOptions) -> Iterator[bytes]:
    """The report as GitHub-flavoured Markdown in UTF-8; its first line is that of every run.

    `options` change nothing: how much is shown depends on the room there is.
    """
    yield _MarkdownReport(report).text().encode("utf-8")


def code(text: str, limit: int = _DATA_LENGTH) -> str:
    """Data as inline code that no reader of Markdown acts upon; long data is cut.

    Example:
        >>> code("a|b @c")
        '<code>a&#124;b&#32;&#64;<!-- -->c</code>'
    """
    safe = terminal_text(text[:limit])
    if len(text) > limit or len(safe) > limit:
        safe = f"{safe[:limit]}..."
    return f"<code>{_MARKUP.sub(_reference, safe)}</code>"


def _name(text: str) -> str:
    return code(text, _NAME_LENGTH)


def _reference(match: re.Match[str]) -> str:
    # GitHub finds e-mail addresses in what references stand for as well; a comment parts them.
    return "&#64;<!-- -->" if match[0] == "@" else f"&#{ord(match[0])};"


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


class _Section:
    """Lines that may take so much room. Once a line does not fit, no later one is taken.

    Args:
        room: How many characters, those of `head` and of what `text` puts around included.
        head: What stands above the lines when there are any.
    """

    def __init__(self, room: int, *head: str) -> None:
        self._head = _lines(head)
        self._lines: list[str] = []
        self._room = room - len(self._head) - _NOTE_LENGTH
        self.is_full = False

    def add(self, line: str) -> None:
        self._room -= len(line) + 1
        self.is_full = self.is_full or self._room < 0
        if not self.is_full:
            self._lines.append(line)

    def text(self, noun: str, total: int) -> str:
        """The section, a blank line after it, saying how many of `total` lines are left out."""
        if total == 0:
            return ""
        left_out = total - len(self._lines)
        note = f"\nLeft out: {left_out} of {total} {noun}.\n" if left_out else ""
        return f"{self._head}{_lines(self._lines)}{note}\n"


class _MarkdownReport:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._subjects = [
            (place, number, suite, subject)
            for place, suite in enumerate(report.head.suites)
            for number, subject in enumerate(suite.subjects)
        ]

    def text(self) -> str:
        before = self._head() + self._thresholds()
        after = self._categories() + self._suites() + self._warnings()
        cases = self._cases(MAX_LENGTH - len(before) - len(after))
        return f"{before}{cases}{after}".rstrip("\n") + "\n"

    def _head(self) -> str:
        head = self._report.head
        subjects = [subject for *_, subject in self._subjects]
        kind, because = self._alert()
        totals = (
            cost_text(subject.cost for subject in subjects),
            tokens_text(subject.tokens for subject in subjects),
            cache_text(suite.cache for suite in head.suites),
        )
        project = head.project if _PROJECT.fullmatch(head.project) else _name(head.project)
        counted = headline(subject.counts for subject in subjects)
        return _lines(
            [
                f"### Proctor: {project}",
                "",
                f"> [!{kind}]",
                f"> **{Verdict(head.verdict).value.upper()}** {counted}. {because}",
                "",
                *(f"- {code(total)}" for total in totals),
                "",
            ]
        )

    def _alert(self) -> tuple[str, str]:
        """Which alert there is, and why."""
        head = self._report.head
        if head.verdict == Verdict.INTERRUPTED:
            return "WARNING", "The run was stopped before its end."
        if head.verdict == Verdict.FAILED:
            return "CAUTION", "A threshold does not hold."
        if head.partial:
            return "WARNING", "A shard is missing."
        if head.verdict == Verdict.UNMEASURED:
            return "WARNING", "Nothing failed, but something could not be measured."
        flaky = sum(
            unsteady(self._report.cases(place, number))[0]
            for place, number, suite, _ in self._subjects
            if suite.repeats > 1
        )
        if flaky:
            cases = "1 case is" if flaky == 1 else f"{flaky} cases are"
            return "WARNING", f"Every threshold holds, but {cases} flaky."
        return "NOTE", "Every threshold holds. There is no baseline to compare with."

    def _thresholds(self) -> str:
        section = _Section(_FOR_THRESHOLDS, "#### Thresholds", "")
        wrong = [
            f"{suite.suite}: {said}"
            for suite in self._report.head.suites
            for threshold in suite.thresholds
            if (said := threshold_text(threshold, name_subject=len(suite.subjects) > 1))
        ]
        for said in wrong:
            section.add(f"- {code(said)}")
        return section.text("thresholds", len(wrong))

    def _cases(self, room: int) -> str:
        """The cases that did not pass: a table, then a block for each with what is wrong."""
        table = _Section(
            room // 2,
            "#### Cases that did not pass",
            "",
            "| case | subject | outcome | first finding |",
            "|---|---|---|---|",
        )
        blocks = _Section(room - room // 2)
        for name, case in self._not_passed():
            findings = case_findings(case)
            passed = passed_text(case)
            outcome = case.outcome.value if passed is None else f"{case.outcome.value}, {passed}"
            first = code(findings[0]) if findings else ""
            table.add(f"| {_name(case.id)} | {name} | {outcome} | {first} |")
            if not blocks.is_full:
                blocks.add(_block(f"{_name(case.id)} {name}: {outcome}", findings))
            if table.is_full and blocks.is_full:
                break
        total = sum(
            self._report.cases(place, number).count(*_NOT_PASSED)
            for place, number, *_ in self._subjects
        )
        return table.text("cases", total) + blocks.text("cases in detail", total)

    def _not_passed(self) -> Iterator[tuple[str, CaseResult]]:
        """Each such case with the name of its suite and subject, the most severe first."""
        for outcome in _NOT_PASSED:
            for place, number, suite, subject in self._subjects:
                name = _name(f"{suite.suite}: {subject.id}")
                for case in self._report.cases(place, number).having(outcome):
                    yield name, case

    def _categories(self) -> str:
        rows = Counter[str]()
        for *_, subject in self._subjects:
            rows.update(subject.categories)
        section = _Section(
            _FOR_CATEGORIES, "#### Failure categories", "", "| category | rows |", "|---|---|"
        )
        for category, count in sorted(rows.items(), key=lambda item: (-item[1], item[0])):
            section.add(f"| {_name(category)} | {count} |")
        return section.text("categories", len(rows))

    def _suites(self) -> str:
        section = _Section(
            _FOR_SUITES,
            "#### Suites",
            "",
            "| suite | subject | rows | pass rate [95%] | repeats |",
            "|---|---|---|---|---|",
        )
        for place, number, suite, subject in sorted(self._subjects, key=_severity):
            cases = self._report.cases(place, number)
            repeats = ", ".join(repeats_text(subject, cases, limit=SHOWN_REPEATS))
            section.add(
                f"| {_name(suite.suite)} | {_name(subject.id)} | {counts_text(subject.counts)} "
                f"| {_rate(subject.pass_rate)} | {code(repeats) if repeats else ''} |"
            )
        return section.text("subjects", len(self._subjects))

    def _warnings(self) -> str:
        section = _Section(_FOR_WARNINGS, "#### Warnings", "")
        warnings = [
            (suite.suite, warning)
            for suite in self._report.head.suites
            for warning in suite.warnings
        ]
        for suite, warning in warnings:
            said = " ".join(filter(None, (warning.code, warning.message)))
            where = "" if warning.where is None else f" {code(warning.where)}"
            section.add(f"- {_name(suite)} {code(said)}{where}")
        checks = [
            f"- {_name(f'{suite.suite}: {subject.id}')} {code(f'{id_} {said}')}"
            for place, number, suite, subject in self._subjects
            for id_, said in warned_checks(subject, self._report.cases(place, number))
        ]
        for line in checks:
            section.add(line)
        return section.text("warnings", len(warnings) + len(checks))


def _block(summary: str, findings: list[str]) -> str:
    start, end = f"<details><summary>{summary}</summary>\n", "</details>\n"
    section = _Section(_FOR_A_CASE - len(start) - len(end), start)
    for finding in findings:
        section.add(f"- {code(finding)}")
    return section.text("findings", len(findings)) + end


def _severity(entry: tuple[int, int, SuiteReport, SubjectReport]) -> int:
    counts: Counts = entry[3].counts
    return 0 if counts.failed else 1 if counts.passed < counts.rows else 2


def _rate(rate: PassRate) -> str:
    low, high = (share_text(bound) for bound in rate.interval)
    return f"{share_text(rate.rate)} [{low}, {high}]"
