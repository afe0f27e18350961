"""What `proctor run --baseline` does at the end of a run: the same as `proctor compare`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from proctor.baselines import ENDING, Baselines
from proctor.comparing.matching import require_matches, subjects_of
from proctor.comparing.reports import ReportCases, compare_reports
from proctor.config import Config, GateConfig
from proctor.evaluation import SelectedSuite
from proctor.gating import GateOptions, decide
from proctor.records import Remark
from proctor.records.comparison import ComparedSubject, Comparison, ComparisonVerdict
from proctor.rendering.comparison_wording import VERDICTS, verdict_text
from proctor.report_comparing import ComparingOptions, cases_of, digest_of
from proctor.report_files import LoadedReport, load_digested
from proctor.reporting import RunReport
from proctor.run_folders import require_private
from proctor.tier_gates import cases_of_tier

_MET = {
    ComparisonVerdict.CLEAN: True,
    ComparisonVerdict.REGRESSED: False,
    ComparisonVerdict.CANNOT_TELL: None,
}


class Baseline(Struct, frozen=True):
    """The report that a run is compared with, read before anything is run.

    Args:
        name: As it was given.
        loaded: The report.
        path: Its file, absolute.
        asked: What is asked of the comparison.
    """

    name: str
    loaded: LoadedReport
    path: Path
    asked: ComparingOptions

    def require_matches(self, selected: Sequence[SelectedSuite]) -> None:
        """Refuse names to match that neither the baseline nor the run has.

        Raises:
            UsageError: P6002 when there are such.
        """
        now = [
            ComparedSubject(one.name, each.target.subject.prompt_id, each.target.subject.model.ref)
            for one in selected
            for each in one.subjects
        ]
        require_matches(subjects_of(self.loaded.report.head), now, self.asked.matches())

    def compare(self, report: RunReport, *, is_selection: bool) -> Comparison:
        """What became of the cases of a run since the baseline.

        Args:
            report: The report of the run.
            is_selection: Whether it ran a selection only; then nothing else is compared.
        """
        return self._decided(
            ReportCases(report.head, cases_of(report)), self.asked.gates(), report, is_selection
        )

    def compare_tier(self, report: RunReport, tier: str, gate: GateConfig) -> Comparison:
        """What became of the cases of one tier, for the gate of that tier."""
        gates = self.asked.gates()
        if gate.detect is not None:
            gates = replace(gates, detect=Fraction(str(gate.detect)))
        cases = ReportCases(report.head, cases_of_tier(report, tier))
        return self._decided(cases, gates, report, True)

    def _decided(
        self, now: ReportCases, gates: GateOptions, report: RunReport, is_selection: bool
    ) -> Comparison:
        compared = compare_reports(
            ReportCases(self.loaded.report.head, cases_of(self.loaded.report)),
            now,
            matches=self.asked.matches(),
            is_selection=is_selection,
        )
        return decide(
            compared,
            gates,
            baseline_sha256=self.loaded.sha256,
            candidate_sha256=digest_of(report),
        )

    def remark(self, comparison: Comparison) -> Remark:
        """The verdict of the comparison in a line."""
        return Remark(
            met=_MET[comparison.verdict],
            word=VERDICTS[comparison.verdict],
            text=f"compared with the baseline `{self.name}`: {verdict_text(comparison)}",
        )


def open_baseline(given: str, asked: ComparingOptions, *, start: Path, config: Config) -> Baseline:
    """The baseline of a run, by its name or the path of a report.

    Args:
        given: A path when it has a slash or ends in `.json`, otherwise a name.
        asked: What is asked of the comparison.
        start: Where relative paths start.
        config: The project, whose baselines have names.

    Raises:
        UsageError: P6002 when the options contradict each other or it is no name.
        ReportError: P6906 when there is no baseline of this name, P6901 when it cannot be used.
        FileError: P6805 for a link, folder or device.
    """
    asked.gates()
    asked.matches()
    if "/" in given or given.endswith(ENDING):
        path = start / given
        require_private(config.root, path)
        return Baseline(given, load_digested(path), path, asked)
    baselines = Baselines(config)
    loaded = baselines.load(given)
    return Baseline(given, loaded, config.root / baselines.path(given), asked)
