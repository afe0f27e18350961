"""The report as text for people: the verdict, what failed and why, what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proctor.records import CaseResult, Outcome, RenderOptions, SuiteReport, Verdict
from proctor.rendering.escaping import terminal_line, terminal_text
from proctor.rendering.threshold_wording import part_text, threshold_text
from proctor.rendering.wording import (
    MESSAGE_LENGTH,
    SHOWN_REPEATS,
    cache_text,
    case_findings,
    checks_text,
    cost_text,
    counts_text,
    finding_lines,
    headline,
    judges_text,
    passed_text,
    repeats_text,
    shortened,
    tokens_text,
    who_judges,
)
from proctor.report_protocols import Cases, Report

SHOWN_CASES = 20
"""How many cases are shown unless all are asked for."""

_LINES_OF_A_CASE = 20
_WIDTH = 100
_CHUNK_LINES = 500
_NOT_PASSED = (Outcome.FAILED, Outcome.ERRORED, Outcome.UNMEASURED)

_RED, _GREEN, _YELLOW, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"
_COLOURS = {
    "passed": _GREEN,
    "failed": _RED,
    "not met": _RED,
    "errored": _YELLOW,
    "interrupted": _YELLOW,
    "not available": _YELLOW,
    "unmeasured": _YELLOW,
    "warning": _YELLOW,
}
_MARKS = {True: "passed", False: "failed", None: "unmeasured"}


def render_text(report: Report, options: RenderOptions) -> Iterator[bytes]:
    """The report for a terminal or a log, in UTF-8.

    Data is escaped, so that nothing in it acts on the terminal or on the CI job that shows it.
    """
    lines: list[str] = []
    for line in _TextReport(report, options).lines():
        lines.append(line)
        if len(lines) == _CHUNK_LINES:
            yield _encoded(lines)
            lines.clear()
    yield _encoded(lines)


def _encoded(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8")


class _RowErrors:
    """The rows that could not be answered for one reason: how many, and of which cases."""

    def __init__(self) -> None:
        self.rows = 0
        self.cases: dict[int, str] = {}


class _TextReport:
    """Writes one report; counts down how many cases may still be shown."""

    def __init__(self, report: Report, options: RenderOptions) -> None:
        self._report = report
        self._colour = options.colour
        self._all = options.all_cases
        self._remarks = options.remarks
        self._left = SHOWN_CASES
        self._shown: set[int] = set()

    def lines(self) -> Iterator[str]:
        head = self._report.head
        subjects = [subject for suite in head.suites for subject in suite.subjects]
        verdict = Verdict(head.verdict).value
        counted = headline(subject.counts for subject in subjects)
        yield self._marked(verdict, f"  {counted}", word=verdict.upper())
        part = part_text(head)
        if part is not None:
            yield part
        for remark in self._remarks:
            said = shortened(remark.text, MESSAGE_LENGTH)
            yield self._marked(_MARKS[remark.met], f"  {said}", word=remark.word)
        for place, suite in enumerate(head.suites):
            yield ""
            yield from self._suite(place, suite)
        yield ""
        yield cost_text(subject.cost for subject in subjects)
        are_judged = any(suite.judge is not None for suite in head.suites)
        yield tokens_text((subject.tokens for subject in subjects), are_judged=are_judged)
        yield cache_text(suite.cache for suite in head.suites)

    def _suite(self, place: int, suite: SuiteReport) -> Iterator[str]:
        yield terminal_line(suite.suite)
        for number, subject in enumerate(suite.subjects):
            yield terminal_line(f"  {subject.id}: {counts_text(subject.counts)}")
            cases = self._report.cases(place, number)
            limit = None if self._all else SHOWN_REPEATS
            for line in repeats_text(subject, cases, limit=limit):
                yield f"    {line}"
            checks = checks_text(subject)
            if checks is not None:
                yield f"    {checks}"
            yield from self._cases(cases, warned=checks is not None)
        judges = who_judges(suite)
        if judges is not None:
            yield terminal_line(f"  {judges}")
            for id_, said in judges_text(suite):
                yield terminal_line(f"    {id_}: {said}")
            yield from self._agreement(suite)
        several = len(suite.subjects) > 1
        for threshold in suite.thresholds:
            wrong = threshold_text(threshold, name_subject=several)
            if wrong is not None:
                mark, _, said = wrong.partition(":")
                yield self._marked(mark, f":{said}", indent=2)
        for warning in suite.warnings:
            code = "" if warning.code is None else f" {terminal_text(warning.code)}"
            where = "" if warning.where is None else f" ({terminal_text(warning.where)})"
            message = shortened(warning.message, MESSAGE_LENGTH)
            yield self._marked("warning", f":{code} {message}{where}", indent=2)

    @staticmethod
    def _agreement(suite: SuiteReport) -> Iterator[str]:
        if suite.judge is not None and suite.judge["agreement"] is not None:
            # Not needed without labels.
            from proctor.rendering.judge_findings import reported_agreement_text

            yield f"    {reported_agreement_text(suite.judge['agreement'])}"

    def _cases(self, cases: Cases, *, warned: bool) -> Iterator[str]:
        """What did not pass: failed cases, rows without an answer by reason, then the rest.

        When all are asked for, also cases that passed with a warning.
        """
        self._shown.clear()
        yield from self._blocks(cases.having(Outcome.FAILED))
        groups, others = self._row_errors(cases.having(Outcome.ERRORED))
        for (code, message), group in groups.items():
            rows = "1 row" if group.rows == 1 else f"{group.rows} rows"
            said = f"{terminal_text(code)}: {shortened(message, MESSAGE_LENGTH)}"
            yield self._marked("errored", f"  {rows}, {said}", indent=4)
            ids = [id_ for index, id_ in group.cases.items() if self._take(index)]
            yield from _wrapped(ids, indent=6)
        if others:
            errored = cases.having(Outcome.ERRORED)
            yield from self._blocks(case for case in errored if _has_errored_checks(case))
        yield from self._blocks(cases.having(Outcome.UNMEASURED))
        if self._all and warned:
            for case in cases.having(Outcome.PASSED):
                yield from self._case(case, mark="warning")
        hidden = cases.count(*_NOT_PASSED) - len(self._shown)
        if hidden > 0:
            yield f"    ... and {hidden} more (--all shows them)"

    def _blocks(self, cases: Iterable[CaseResult]) -> Iterator[str]:
        for case in cases:
            if not self._take(case.index):
                return
            yield from self._case(case)

    def _take(self, index: int) -> bool:
        """Whether a case of this subject may be shown; it then counts as shown."""
        if index not in self._shown:
            if self._left == 0 and not self._all:
                return False
            self._left -= 1
            self._shown.add(index)
        return True

    def _row_errors(
        self, cases: Iterable[CaseResult]
    ) -> tuple[dict[tuple[str, str], _RowErrors], bool]:
        """Rows without an answer by what they say, and whether a check errored anywhere."""
        groups: dict[tuple[str, str], _RowErrors] = {}
        others = False
        for case in cases:
            others = others or _has_errored_checks(case)
            for row in case.rows:
                if row.error is None:
                    continue
                reason = (row.error.code, row.error.message)
                if reason not in groups and len(groups) == SHOWN_CASES and not self._all:
                    continue
                group = groups.setdefault(reason, _RowErrors())
                group.rows += 1
                if self._all or len(group.cases) < SHOWN_CASES:
                    group.cases[case.index] = case.id
        return groups, others

    def _case(self, case: CaseResult, *, mark: str | None = None) -> Iterator[str]:
        lines = finding_lines(case_findings(case))
        if not lines and case.outcome is Outcome.PASSED:
            return
        passed = passed_text(case)
        said = terminal_text(case.id) if passed is None else f"{terminal_text(case.id)}  {passed}"
        yield self._marked(mark or case.outcome.value, f"  {said}", indent=4)
        limit = len(lines) if self._all else _LINES_OF_A_CASE
        for line in lines[:limit]:
            yield terminal_line(f"      {line}")
        if len(lines) > limit:
            yield f"      ... and {len(lines) - limit} more (--all shows them)"

    def _marked(self, mark: str, rest: str, *, indent: int = 0, word: str | None = None) -> str:
        """A line that begins with a word of ours, coloured on a terminal; `rest` is escaped."""
        word = word or mark
        if self._colour:
            word = f"{_COLOURS[mark]}{word}{_PLAIN}"
        return f"{' ' * indent}{word}{rest}"


def _has_errored_checks(case: CaseResult) -> bool:
    return any(row.outcome is Outcome.ERRORED and row.error is None for row in case.rows)


def _wrapped(ids: Iterable[str], *, indent: int) -> Iterator[str]:
    """Names in lines of readable width; escaped."""
    margin = " " * indent
    line = ""
    for id_ in ids:
        name = terminal_text(id_)
        if line and indent + len(line) + len(name) + 2 > _WIDTH:
            yield terminal_line(f"{margin}{line},")
            line = name
        else:
            line = f"{line}, {name}" if line else name
    if line:
        yield terminal_line(f"{margin}{line}")
