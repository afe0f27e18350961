"""The report as Markdown: what the comment of a pull request and a step summary show.

The text stays below what a comment may hold: what is least severe is left out first, and the report
says how much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from proctor.records import (
    CaseResult,
    Counts,
    Outcome,
    PassRate,
    Remark,
    RenderOptions,
    SubjectReport,
    SuiteReport,
    Verdict,
)
from proctor.records.comparison import Comparison
from proctor.rendering.comparison_markdown import ComparisonSections
from proctor.rendering.markdown_parts import (
    MAX_LENGTH,
    Section,
    code,
    code_name,
    heading,
    joined,
)
from proctor.rendering.threshold_wording import threshold_text
from proctor.rendering.wording import (
    SHOWN_REPEATS,
    Finding,
    cache_text,
    case_findings,
    cost_text,
    counts_text,
    headline,
    judges_text,
    passed_text,
    repeats_text,
    share_text,
    tokens_text,
    unsteady,
    warned_checks,
    who_judges,
)
from proctor.report_protocols import Report

_FOR_THRESHOLDS, _FOR_CATEGORIES, _FOR_WARNINGS = 6_000, 3_000, 5_000
_FOR_SUITES, _FOR_JUDGES = 12_000, 9_000
"""What these sections may take at most. The cases that did not pass have all the rest."""

_FOR_A_CASE = 6_000
_ALERTS = ("CAUTION", "WARNING", "NOTE", "TIP")
"""The most severe first."""

_GATE_ALERTS = {False: "CAUTION", None: "WARNING", True: "TIP"}
_NOT_PASSED = (Outcome.FAILED, Outcome.ERRORED, Outcome.UNMEASURED)


def render_markdown(report: Report, options: RenderOptions) -> Iterator[bytes]:
    """The report as GitHub-flavoured Markdown in UTF-8; its first line is that of every run.

    `options` change nothing: how much is shown depends on the room there is.
    """
    yield MarkdownReport(report, options.remarks).text().encode("utf-8")


def render_markdown_with_baseline(
    report: Report, comparison: Comparison, options: RenderOptions
) -> Iterator[bytes]:
    """The same of a run that was compared with a baseline: what changed stands first."""
    yield MarkdownReport(report, options.remarks, comparison).text().encode("utf-8")


class MarkdownReport:
    """Writes one report.

    Args:
        report: The report.
        remarks: What gates say of it; escaped.
        comparison: What became of it since the baseline, when there is one.
    """

    def __init__(
        self,
        report: Report,
        remarks: Sequence[Remark] = (),
        comparison: Comparison | None = None,
    ) -> None:
        self._report = report
        self._remarks = remarks
        self._compared = None if comparison is None else ComparisonSections(comparison)
        self._subjects = [
            (place, number, suite, subject)
            for place, suite in enumerate(report.head.suites)
            for number, subject in enumerate(suite.subjects)
        ]

    def text(self) -> str:
        """The whole comment."""
        before = self._head() + self._thresholds()
        after = self._categories() + self._suites() + self._judges() + self._warnings()
        tables = ""
        if self._compared is not None:
            before += self._compared.subjects()
            after += self._compared.details()
            # The other half is for the cases that did not pass, what is left of this one as well.
            tables = self._compared.tables((MAX_LENGTH - len(before) - len(after)) // 2)
        cases = self._cases(MAX_LENGTH - len(before) - len(tables) - len(after))
        return f"{before}{tables}{cases}{after}".rstrip("\n") + "\n"

    def _head(self) -> str:
        head = self._report.head
        subjects = [subject for *_, subject in self._subjects]
        kind, because = self._alert()
        compared = [] if self._compared is None else self._compared.verdict()
        kinds = [kind, *(_GATE_ALERTS[each.met] for each in self._remarks)]
        if self._compared is not None:
            kinds.append(self._compared.alert())
        totals = (
            cost_text(subject.cost for subject in subjects),
            tokens_text(
                (subject.tokens for subject in subjects),
                are_judged=any(suite.judge is not None for suite in head.suites),
            ),
            cache_text(suite.cache for suite in head.suites),
        )
        counted = headline(subject.counts for subject in subjects)
        return joined(
            [
                heading(head.project),
                "",
                f"> [!{min(kinds, key=_ALERTS.index)}]",
                f"> **{Verdict(head.verdict).value.upper()}** {counted}. {because}",
                *(f"> **{each.word}** {code(each.text)}" for each in self._remarks),
                *(f"> {said}" for said in compared),
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
            unsteady(subject, self._report.cases(place, number))[0]
            for place, number, suite, subject in self._subjects
            if suite.repeats > 1
        )
        if flaky:
            cases = "1 case is" if flaky == 1 else f"{flaky} cases are"
            return "WARNING", f"Every threshold holds, but {cases} flaky."
        if self._compared is not None:
            return "TIP", "Every threshold holds."
        return "NOTE", "Every threshold holds. There is no baseline to compare with."

    def _thresholds(self) -> str:
        section = Section(_FOR_THRESHOLDS, "#### Thresholds", "")
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
        table = Section(
            room // 2,
            "#### Cases that did not pass",
            "",
            "| case | subject | outcome | first finding |",
            "|---|---|---|---|",
        )
        blocks = Section(room - room // 2)
        for name, case in self._not_passed():
            findings = case_findings(case)
            passed = passed_text(case)
            outcome = case.outcome.value if passed is None else f"{case.outcome.value}, {passed}"
            first = code(findings[0].text) if findings else ""
            table.add(f"| {code_name(case.id)} | {name} | {outcome} | {first} |")
            if not blocks.is_full:
                blocks.add(_block(f"{code_name(case.id)} {name}: {outcome}", findings))
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
                name = code_name(f"{suite.suite}: {subject.id}")
                for case in self._report.cases(place, number).having(outcome):
                    yield name, case

    def _categories(self) -> str:
        rows = Counter[str]()
        for *_, subject in self._subjects:
            rows.update(subject.categories)
        section = Section(
            _FOR_CATEGORIES, "#### Failure categories", "", "| category | rows |", "|---|---|"
        )
        for category, count in sorted(rows.items(), key=lambda item: (-item[1], item[0])):
            section.add(f"| {code_name(category)} | {count} |")
        return section.text("categories", len(rows))

    def _suites(self) -> str:
        section = Section(
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
                f"| {code_name(suite.suite)} | {code_name(subject.id)} "
                f"| {counts_text(subject.counts)} | {_rate(subject.pass_rate)} "
                f"| {code(repeats) if repeats else ''} |"
            )
        return section.text("subjects", len(self._subjects))

    def _judges(self) -> str:
        section = Section(
            _FOR_JUDGES,
            "#### Judges",
            "",
            "| suite | assertion | who judges | verdicts |",
            "|---|---|---|---|",
        )
        judged = [
            (suite.suite, id_, who_judges(suite) or "", said)
            for suite in self._report.head.suites
            for id_, said in judges_text(suite)
        ]
        for suite, id_, who, said in judged:
            section.add(f"| {code_name(suite)} | {code_name(id_)} | {code_name(who)} | {said} |")
        return section.text("assertions", len(judged))

    def _warnings(self) -> str:
        section = Section(_FOR_WARNINGS, "#### Warnings", "")
        warnings = [
            (suite.suite, warning)
            for suite in self._report.head.suites
            for warning in suite.warnings
        ]
        for suite, warning in warnings:
            said = " ".join(filter(None, (warning.code, warning.message)))
            where = "" if warning.where is None else f" {code(warning.where)}"
            section.add(f"- {code_name(suite)} {code(said)}{where}")
        checks = [
            f"- {code_name(f'{suite.suite}: {subject.id}')} {code(f'{id_} {said}')}"
            for place, number, suite, subject in self._subjects
            for id_, said in warned_checks(subject, self._report.cases(place, number))
        ]
        for line in checks:
            section.add(line)
        return section.text("warnings", len(warnings) + len(checks))


def _block(summary: str, findings: list[Finding]) -> str:
    start, end = f"<details><summary>{summary}</summary>\n", "</details>\n"
    section = Section(_FOR_A_CASE - len(start) - len(end), start)
    for finding in findings:
        votes = "".join(f"\n  - {code(vote)}" for vote in finding.votes)
        section.add(f"- {code(finding.text)}{votes}")
    return section.text("findings", len(findings)) + end


def _severity(entry: tuple[int, int, SuiteReport, SubjectReport]) -> int:
    counts: Counts = entry[3].counts
    return 0 if counts.failed else 1 if counts.passed < counts.rows else 2


def _rate(rate: PassRate) -> str:
    low, high = (share_text(bound) for bound in rate.interval)
    return f"{share_text(rate.rate)} [{low}, {high}]"
