"""`proctor.Report`: what came of a run, in this process or in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from proctor.errors import EvalInputError, ProctorError
from proctor.python_api.options import PathLike, as_path
from proctor.python_api.rows import FlatRow, report_rows
from proctor.python_api.wording import explained
from proctor.records import CaseResult, Outcome, RenderOptions, ReportHead, SuiteReport, Verdict
from proctor.rendering.report_json import render_json
from proctor.rendering.wording import headline
from proctor.reporting import RunReport
from proctor.safe_io import write_whole


class ReportedCase(NamedTuple):
    """A case of a report: the suite's name, the subject's, and what became of it."""

    suite: str
    subject: str
    case: CaseResult


class Report:
    """What came of a run. Its cases are read again each time, so that they need no memory.

    Args:
        report: The report as it was made, or read.
        notes: What was said while it was run.
    """

    def __init__(self, report: RunReport, notes: Sequence[str] = ()) -> None:
        self.notes = tuple(notes)
        """What `proctor run` says on stderr, such as which key was sent where."""
        self.spooled = report
        """The report as the parts of Proctor read it."""

    @property
    def head(self) -> ReportHead:
        """The report without its cases, as it stands in the file."""
        return self.spooled.head

    @property
    def verdict(self) -> Verdict:
        """`passed`, `failed`, `unmeasured` or `interrupted`; a string."""
        return Verdict(self.head.verdict)

    @property
    def exit_code(self) -> int:
        """What `proctor run` would exit with: 0, 1, 3 or 130."""
        return self.head.exit_code

    def __bool__(self) -> bool:
        """A report is not true or false.

        Raises:
            TypeError: Always, so that `assert proctor.run(...)` is not a test that cannot fail.
        """
        raise TypeError("a report is neither true nor false: ask for its `passed`")

    @property
    def passed(self) -> bool:
        """Whether every threshold holds. Something that was not measured has not passed."""
        return self.verdict is Verdict.PASSED

    @property
    def suites(self) -> Sequence[SuiteReport]:
        """Each suite with its subjects, thresholds and warnings; counts, no cases."""
        return self.head.suites

    def cases(
        self,
        *,
        suite: str | None = None,
        subject: str | None = None,
        outcome: str | None = None,
    ) -> Iterator[ReportedCase]:
        """The cases in the order of the report, each with its rows.

        Args:
            suite: Only those of this suite.
            subject: Only those of this subject, `<prompt id>@<model ref>`.
            outcome: Only those that came out so: `passed`, `failed`, `errored`, `unmeasured`.

        Raises:
            EvalInputError: P6005 for an outcome there is none of.
        """
        wanted = None if outcome is None else _outcome(outcome)
        for place, one in enumerate(self.suites):
            for number, each in enumerate(one.subjects):
                if suite not in (None, one.suite) or subject not in (None, each.id):
                    continue
                cases = self.spooled.cases(place, number)
                for case in cases if wanted is None else cases.having(wanted):
                    yield ReportedCase(one.suite, each.id, case)

    def cases_not_passed(self) -> dict[str, frozenset[str]]:
        """Per suite the ids of the cases that did not pass for some subject."""
        failed: dict[str, set[str]] = {one.suite: set() for one in self.suites}
        for outcome in (Outcome.FAILED, Outcome.ERRORED, Outcome.UNMEASURED):
            for suite, _, case in self.cases(outcome=outcome):
                failed[suite].add(case.id)
        return {suite: frozenset(ids) for suite, ids in failed.items()}

    def to_rows(self) -> list[FlatRow]:
        """One flat dict for each row, all with the same keys, for `pandas.DataFrame` and others.

        Values are strings, numbers, lists of strings, or None where there is nothing.
        """
        return list(report_rows(self.spooled))

    def to_json(self) -> bytes:
        """The bytes that `proctor run --format json` prints."""
        return b"".join(render_json(self.spooled, RenderOptions()))

    def save(self, path: PathLike) -> None:
        """Write the report to a file as JSON, whole or not at all.

        Raises:
            UsageError: P6004 when it cannot be written.
        """
        try:
            write_whole(as_path(path, "path"), render_json(self.spooled, RenderOptions()))
        except ProctorError as problem:
            explained(problem)
            raise

    def __repr__(self) -> str:
        said = headline(subject.counts for suite in self.suites for subject in suite.subjects)
        return f"<Report {self.head.project}: {self.verdict.value}, {said}>"

    def _repr_html_(self) -> str:
        from proctor.rendering.notebook import report_html

        return report_html(self.spooled)


def load_report(path: PathLike) -> Report:
    """A report from a file that `Report.save` or `proctor run --format json --out` wrote.

    Its figures are worked out again from its rows.

    Args:
        path: The file.

    Raises:
        ReportError: P6901 when it is no report of this version, or contradicts itself.
        FileError: P6805 for a link, folder or device.
    """
    from proctor.report_files import load_report as load

    try:
        return Report(load(Path(as_path(path, "path"))))
    except ProctorError as problem:
        explained(problem)
        raise


def _outcome(word: str) -> Outcome:
    try:
        return Outcome(word)
    except ValueError:
        words = ", ".join(f"`{one.value}`" for one in Outcome)
        raise EvalInputError(
            f"`outcome`: `{word}` is not one of {words}", field="outcome"
        ) from None
