"""What is asked of a comparison, and comparing two reports by it, from files or from this run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from proctor.errors import UsageError

# A run without a baseline needs none of this.
if TYPE_CHECKING:
    from proctor.comparing.matching import NamePair
    from proctor.comparing.reports import ReportCases
    from proctor.gating import GateOptions
    from proctor.records import CaseResult
    from proctor.records.comparison import Comparison
    from proctor.report_files import LoadedReport
    from proctor.report_protocols import Report


class ComparingOptions(Struct, frozen=True, kw_only=True):
    """What is asked of a comparison, by the names of the options.

    Args:
        match: Names that changed, `A=B` each: A in the baseline, B in the candidate.
        fail_on_regression: Whether a regression, or not being able to tell, is an exit code.
        fail_on_missing: Whether what is in the baseline only is a regression.
        tolerance: By how much a pass rate may fall, as a share of 1.
        strict: Every change for the worse is a regression.
        noise_aware: Only what chance does not explain is one.
        detect: The drop that must not go unnoticed, None when none is named.
    """

    match: tuple[str, ...] = ()
    fail_on_regression: bool = False
    fail_on_missing: bool = False
    tolerance: Fraction = Fraction(0)
    strict: bool = False
    noise_aware: bool = False
    detect: Fraction | None = None

    @classmethod
    def taken_from(cls, given: dict[str, Any]) -> ComparingOptions:
        """Those among all options of a command, which are taken out."""
        return cls(**{name: given.pop(name) for name in cls.__struct_fields__})

    def given(self) -> list[str]:
        """The options that say something else than their defaults, as they are written."""
        return [
            f"--{name.replace('_', '-')}"
            for name in self.__struct_fields__
            if getattr(self, name) != getattr(ComparingOptions(), name)
        ]

    def matches(self) -> list[NamePair]:
        """The names that changed.

        Raises:
            UsageError: P6002 for one that is not two names.
        """
        return [_name_pair(text) for text in self.match]

    def gates(self) -> GateOptions:
        """What makes the comparison red.

        Raises:
            UsageError: P6002 when it contradicts itself.
        """
        if self.strict and self.noise_aware:
            raise UsageError(
                "`--strict` and `--noise-aware` say two things",
                code="P6002",
                hint="leave one of them out",
            )
        if self.detect == 0:
            raise UsageError(
                "`--detect 0` asks for a drop of nothing",
                code="P6002",
                hint="name the smallest drop that matters, like 0.1",
            )
        from proctor.gating import GateOptions
        from proctor.records.comparison import Mode

        strict = Mode.STRICT if self.strict else None
        return GateOptions(
            mode=Mode.NOISE_AWARE if self.noise_aware else strict,
            tolerance=self.tolerance,
            detect=self.detect,
            fail_on_regression=self.fail_on_regression,
            fail_on_missing=self.fail_on_missing,
        )


def _name_pair(text: str) -> NamePair:
    from proctor.comparing.matching import NamePair

    baseline, equals, candidate = text.partition("=")
    if not baseline or not equals or not candidate:
        raise UsageError(
            f"`--match {text}` is not two names",
            code="P6002",
            hint="give the baseline's name and the candidate's, like `brief=few-shot`",
        )
    return NamePair(baseline, candidate)


def compare_by(
    asked: ComparingOptions,
    baseline: Path | Report | LoadedReport,
    candidate: Path | Report | LoadedReport,
) -> Comparison:
    """What became of the cases of one report in another.

    Args:
        asked: What is asked of the comparison.
        baseline: The report of before, or its file, or what was loaded from it.
        candidate: The report of now, likewise.

    Raises:
        UsageError: P6002 when options contradict each other, or a match names nothing.
        ReportError: P6901 when a file is no report, or its figures are not those of its rows.
        FileError: P6805 for a link, folder or device.
    """
    gates, matches = asked.gates(), asked.matches()
    from proctor.comparing.reports import compare_reports
    from proctor.gating import decide

    with _opened(baseline) as (before, sha256_before), _opened(candidate) as (now, sha256_now):
        compared = compare_reports(before, now, matches=matches)
        return decide(
            compared,
            gates,
            baseline_sha256=sha256_before(),
            candidate_sha256=sha256_now(),
        )


@contextmanager
def _opened(
    report: Path | Report | LoadedReport,
) -> Iterator[tuple[ReportCases, Callable[[], str]]]:
    """A report to be read once, and what says its digest after that."""
    from proctor.comparing.reports import ReportCases
    from proctor.report_files import LoadedReport, open_report

    if isinstance(report, LoadedReport):
        loaded, sha256 = report
        yield ReportCases(loaded.head, cases_of(loaded)), lambda: sha256
        return
    if not isinstance(report, Path):
        made = report
        yield ReportCases(made.head, cases_of(made)), lambda: digest_of(made)
        return
    with open_report(report) as stored:
        yield ReportCases(stored.head, stored.cases()), lambda: stored.sha256


def cases_of(report: Report) -> Iterator[tuple[int, int, CaseResult]]:
    """Each case in the order of the report, after the places of its suite and its subject."""
    for place, suite in enumerate(report.head.suites):
        for number in range(len(suite.subjects)):
            for case in report.cases(place, number):
                yield place, number, case


def digest_of(report: Report) -> str:
    """The SHA-256 that the file of a report would have, in hex."""
    from proctor.records import RenderOptions
    from proctor.rendering.report_json import render_json

    digest = hashlib.sha256()
    for chunk in render_json(report, RenderOptions()):
        digest.update(chunk)
    return digest.hexdigest()
