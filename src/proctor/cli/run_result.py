"""The end of `proctor run`: what was compared, which gates hold, printing it, the exit code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from proctor.cli.output import Output
from proctor.cli.printing import print_rendered
from proctor.cli.run_options import RunOptions
from proctor.config import GateConfig
from proctor.errors import ExitCode, ProctorError, ReportError, UsageError
from proctor.records import Remark, RenderOptions
from proctor.registry import renderers, side_by_side_renderers
from proctor.report_protocols import Renderer
from proctor.reporting import RunReport
from proctor.safe_io import make_named_folder, write_whole

if TYPE_CHECKING:
    from proctor.cli.baseline_comparison import Baseline
    from proctor.records.comparison import Comparison
    from proctor.tier_gates import GateFinding

_FOR_MACHINES = ("json", "junit")
_FOR_OTHER_PROGRAMS = ("html", *_FOR_MACHINES)
_WORDS = {True: "MET", False: "NOT MET", None: "CANNOT TELL"}
_CODES = {True: ExitCode.OK, False: ExitCode.FAILED, None: ExitCode.UNMEASURED}
_WORST = (ExitCode.OK, ExitCode.UNMEASURED, ExitCode.FAILED, ExitCode.INTERRUPTED)


class RunResult(NamedTuple):
    """A report with what was asked of it besides its thresholds.

    Args:
        report: The report.
        baseline: What it is compared with.
        comparison: What came out of that; None without a baseline.
        gates: The gates of the tiers that were selected.
        lost: Why there is no baseline although something hangs on one.
    """

    report: RunReport
    baseline: Baseline | None
    comparison: Comparison | None
    gates: Sequence[GateFinding]
    lost: ProctorError | None = None

    @property
    def exit_code(self) -> int:
        """The exit code of the worst part."""
        codes = [ExitCode(self.report.head.exit_code), *(_CODES[gate.met] for gate in self.gates)]
        if self.comparison is not None:
            codes.append(ExitCode(self.comparison.exit_code))
        if self.lost is not None:
            codes.append(ExitCode.UNMEASURED)
        return max(codes, key=_WORST.index)

    def remarks(self) -> Iterator[Remark]:
        """What is said of the report right below its verdict."""
        if self.baseline is not None and self.comparison is not None:
            yield self.baseline.remark(self.comparison)
        yield from self.gate_remarks()

    def gate_remarks(self) -> Iterator[Remark]:
        """What is said of each gate."""
        for gate in self.gates:
            text = f"the gate of tier `{gate.tier}`: {gate.said}"
            for what, names in (
                ("excluded, nothing measured", gate.excluded),
                ("flaky", gate.flaky),
                ("barely passing", gate.barely),
            ):
                if names:
                    from proctor.comparing.reports import some_names

                    text += f"; {what}: {some_names(names)}"
            yield Remark(met=gate.met, word=_WORDS[gate.met], text=text)

    def problems(self) -> Iterator[ProctorError]:
        """Why the exit code is another than that of the report."""
        if self.comparison is not None:
            from proctor.cli.comparing_options import comparison_problem

            problem = comparison_problem(self.comparison)
            if problem is not None:
                yield problem
        if self.lost is not None:
            yield ReportError(
                f"there is nothing to compare with: {self.lost.message}",
                code="P6906",
                hint="name the report itself with `--baseline`, or run it again later",
            )
        for gate in self.gates:
            if not gate.met:
                yield ReportError(
                    f"the gate of tier `{gate.tier}` is not met: {gate.said}",
                    code="P6903",
                    hint=f"what it asks for stands in the project file under `gates.{gate.tier}`",
                )


def gated_tiers(
    options: RunOptions,
    gates: dict[str, GateConfig],
    *,
    has_baseline: bool,
    lost: ProctorError | None = None,
) -> dict[str, GateConfig]:
    """The gates of the tiers that were selected.

    Args:
        options: What was given.
        gates: Those of the project, by tier.
        has_baseline: Whether there is one.
        lost: Why there is none although it was asked for.

    Raises:
        UsageError: P6002 when one compares with a baseline and none is given.
    """
    chosen = {tier: gates[tier] for tier in dict.fromkeys(options.tier) if tier in gates}
    for tier, gate in chosen.items():
        if gate.criterion == "no-regression" and not has_baseline and lost is None:
            raise UsageError(
                f"the gate of tier `{tier}` compares with a baseline, and none is given",
                code="P6002",
                hint="name it with `--baseline`; `proctor baseline list` says which there are",
            )
    return chosen


def judge_run(
    report: RunReport,
    options: RunOptions,
    baseline: Baseline | None,
    gates: dict[str, GateConfig],
    *,
    lost: ProctorError | None = None,
) -> RunResult:
    """Compare a report with the baseline, and hold it against gates.

    A tracker that could not say which report the baseline is fails nothing by that; but what was
    to hang on the comparison cannot be told then.
    """
    needs_one = [tier for tier, gate in gates.items() if gate.criterion == "no-regression"]
    if lost is not None:
        gates = {tier: gate for tier, gate in gates.items() if tier not in needs_one}
        asked = options.comparing
        if not (needs_one or asked.fail_on_regression or asked.fail_on_missing):
            lost = None
    comparison = None
    if baseline is not None:
        comparison = baseline.compare(report, is_selection=options.is_selection)
    found: list[GateFinding] = []
    for tier, gate in gates.items():
        from proctor.tier_gates import gate_finding

        of_tier = None
        if baseline is not None and gate.criterion == "no-regression":
            of_tier = baseline.compare_tier(report, tier, gate)
        found.append(gate_finding(report, tier, gate, of_tier))
    return RunResult(report, baseline, comparison, found, lost)


def show(result: RunResult, options: RunOptions, output: Output) -> None:
    """Print the report and what is said of it, and write it where that was asked for."""
    if options.report_dir is not None:
        _write_reports(result.report, options.path(options.report_dir))
    out = None if options.out is None else options.path(options.out)
    remarks = list(result.remarks())
    shown = RenderOptions(
        all_cases=options.all, colour=output.colour() and out is None, remarks=remarks
    )
    chunks = _rendered(result, options.format, shown)
    print_rendered(chunks, format_=options.format, out=out, output=output)
    if options.format in _FOR_OTHER_PROGRAMS:
        output.note(_summary(result.report))
        for remark in remarks:
            output.note(f"{remark.word}  {remark.text}")
    for problem in result.problems():
        output.problems(problem)


def _rendered(result: RunResult, format_: str, shown: RenderOptions) -> Iterator[bytes]:
    report, comparison = result.report, result.comparison
    if comparison is None or result.baseline is None or format_ in _FOR_MACHINES:
        yield from renderer(format_)(report, shown)
    elif render_both := side_by_side_renderers.get(format_):
        # The comparison says more for itself there.
        shown = replace(shown, remarks=list(result.gate_remarks()))
        yield from render_both(comparison, result.baseline.loaded.report, report, shown)
    elif format_ == "markdown":
        from proctor.rendering.markdown import render_markdown_with_baseline

        # The comparison says more for itself there.
        shown = replace(shown, remarks=list(result.gate_remarks()))
        yield from render_markdown_with_baseline(report, comparison, shown)
    else:
        from proctor.rendering.comparison_text import render_comparison_text

        yield from renderer(format_)(report, shown)
        yield b"\n"
        yield from render_comparison_text(comparison, shown)


def renderer(name: str) -> Renderer:
    """The renderer of a format.

    Raises:
        UsageError: P6002 when there is none.
    """
    found = renderers.get(name)
    if found is None:
        raise UsageError(f"there is no format `{name}`", code="P6002")
    return found


def _write_reports(report: RunReport, folder: Path) -> None:
    make_named_folder(folder)
    render = renderer("json")
    for index, suite in enumerate(report.head.suites):
        chunks = render(report.single_suite(index), RenderOptions())
        write_whole(report_file(folder, suite.suite), chunks)


def report_file(folder: Path, suite: str) -> Path:
    """Where `--report-dir` puts the report of a suite."""
    return folder / f"{suite}.json"


def _summary(report: RunReport) -> str:
    counts = [subject.counts for suite in report.head.suites for subject in suite.subjects]
    passed = sum(one.passed for one in counts)
    rows = sum(one.rows for one in counts)
    return f"{report.head.verdict.upper()}  {passed} of {rows} rows passed"
