"""`proctor.compare`: two reports case by case, as `proctor compare` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.errors import ProctorError
from proctor.python_api.options import PathLike, as_path, read_compare
from proctor.python_api.reports import Report
from proctor.python_api.rows import FlatRow, comparison_rows
from proctor.python_api.wording import explained
from proctor.records import RenderOptions
from proctor.records.comparison import Comparison, ComparisonVerdict, SubjectComparison
from proctor.rendering.comparison_json import render_comparison_json
from proctor.rendering.comparison_wording import verdict_text
from proctor.report_comparing import compare_by
from proctor.report_protocols import Report as AnyReport

if TYPE_CHECKING:
    from typing import Unpack

    from proctor.python_api.options import CompareKeywords


class ComparisonReport:
    """What became of the cases of one report in another.

    Args:
        comparison: The comparison, as it stands in a file.
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    @property
    def verdict(self) -> ComparisonVerdict:
        """`clean`, `regressed` or `cannot_tell`; a string."""
        return self.comparison.verdict

    @property
    def exit_code(self) -> int:
        """What `proctor compare` would exit with; 0 unless `fail_on_regression` or the like."""
        return self.comparison.exit_code

    @property
    def subjects(self) -> Sequence[SubjectComparison]:
        """Each subject with its rates and the cases that changed."""
        return self.comparison.subjects

    def to_rows(self) -> list[FlatRow]:
        """One flat dict for each unit that is not stable, all with the same keys."""
        return list(comparison_rows(self.comparison))

    def to_json(self) -> bytes:
        """The bytes that `proctor compare --format json` prints."""
        return b"".join(render_comparison_json(self.comparison, RenderOptions()))

    def __repr__(self) -> str:
        return f"<ComparisonReport {self.verdict.value}: {verdict_text(self.comparison)}>"

    def _repr_html_(self) -> str:
        from proctor.rendering.notebook import comparison_html

        return comparison_html(self.comparison)


def compare(
    baseline: Report | PathLike, candidate: Report | PathLike, **options: Unpack[CompareKeywords]
) -> ComparisonReport:
    """Compare two reports case by case.

    Cases are matched by suite, prompt, model and id. With single replayed rows every change counts;
    where rows were repeated or asked live, what chance explains does not.

    Args:
        baseline: The report of before, or the path of its file.
        candidate: The report of now, or the path of its file.
        options: What `proctor compare` takes, by the same names.

            - `match`: names that changed, `{"old": "new"}` or `"old=new"`.
            - `tolerance`: by how much a pass rate may fall, as a share of 1.
            - `strict`, `noise_aware`: what makes it regressed, whatever the reports are like.
            - `detect`: a drop that must not go unnoticed.
            - `fail_on_missing`: what is in the baseline only is a regression.
            - `fail_on_regression`: whether `exit_code` is 1 when it regressed, and 3 when that
              cannot be told.

    Raises:
        ReportError: P6901 when a file is no report, or its figures are not those of its rows.
        UsageError: P6002 when options contradict each other, or a match names nothing.
        TypeError: For an argument there is none of.
    """
    try:
        asked = read_compare(options)
        before, now = _side(baseline, "baseline"), _side(candidate, "candidate")
        return ComparisonReport(compare_by(asked, before, now))
    except ProctorError as problem:
        explained(problem)
        raise


def _side(report: Report | PathLike, name: str) -> Path | AnyReport:
    return report.spooled if isinstance(report, Report) else as_path(report, name)
