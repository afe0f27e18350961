"""`proctor run`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode
from proctor.cli.asking_options import asking_options, run_suites
from proctor.cli.output import Output
from proctor.cli.outputs import check_named_folder, check_whole
from proctor.cli.printing import keep_inputs
from proctor.cli.project import cassette_folder, cwd_option, project_config
from proctor.cli.run_options import RunOptions, run_options
from proctor.cli.run_result import RunResult, gated_tiers, judge_run, renderer, report_file, show
from proctor.cli.tracking_options import followed_by
from proctor.config import Config
from proctor.errors import ExitCode, ProctorError, ReportError, UsageError
from proctor.evaluation import SelectedSuite, select
from proctor.pipeline import Exam, load_exam
from proctor.records import RenderOptions
from proctor.report_comparing import ComparingOptions
from proctor.report_files import read_report_bytes
from proctor.reporting import RunReport
from proctor.suite_runs import recorder_of

if TYPE_CHECKING:
    from proctor.cli.baseline_comparison import Baseline
    from proctor.tracking import Trackers

EXAMPLES = """
\b
Examples:
  proctor run                                   every suite under evals/
  proctor run refund-reply --all                one suite, every failing case
  proctor run --case 'late-*' --repeats 5       some cases, five times each
  proctor run --format json --out report.json   the report as JSON
  proctor run --cache record                    ask for what is not recorded yet
  proctor run --cache record --resume           go on with the newest run
  proctor run --shard 2/4                       the second of four parts
"""


@click.command("run", epilog=EXAMPLES)
@click.argument("suites", nargs=-1, metavar="[SUITE]...")
@cwd_option
@asking_options
@run_options
def command(**given: Any) -> int:  # noqa: ANN401 - click hands over every option by name
    """Run suites and report what passed.

    Answers come from the committed recordings, and nothing is sent anywhere, unless `--cache` says
    otherwise. Exit code 0: every threshold holds; 1: one does not; 2: something cannot be used,
    and nothing was run; 3: nothing failed, but something could not be measured.
    """
    comparing = ComparingOptions.taken_from(given)
    options = RunOptions(comparing=comparing, **given)
    options.require_sense()
    output = Output()
    wanted = None if options.verify is None else read_report_bytes(options.path(options.verify))
    config = project_config(options.cwd, options.settings())
    rules, tracking = options.rules(), options.tracking()
    with followed_by(tracking, rules, config=config, note=output.note) as trackers:
        result = _run(options, config, output, trackers)
    if result is None:
        return ExitCode.OK
    show(result, options, output)
    code = result.exit_code
    if wanted is not None:
        difference = _difference(result.report, wanted, str(options.verify))
        if difference is not None:
            output.problems(difference)
            code = ExitCode.FAILED
        else:
            output.note(f"the report has the same bytes as {options.verify}")
    return ExitCode.OK if options.exit_zero and code in (1, 3) else code


def _run(
    options: RunOptions, config: Config, output: Output, trackers: Trackers | None
) -> RunResult | None:
    """The report with what is asked of it; None when nothing is run."""
    selection = options.selection()
    baseline, lost = _baseline(options, config, trackers)
    gates = gated_tiers(options, config.values.gates, has_baseline=baseline is not None, lost=lost)
    with closing(_load(options, config, output)) as exam:
        selected = select(exam, selection)
        folder = cassette_folder(config, options.cwd, options.cassettes)
        if options.dry_run:
            from proctor.cli.live import dry_run

            dry_run(options, selected, folder=folder, config=config, output=output)
            return None
        _require_lanes(options, selected)
        _check_outputs(options, exam, selected, folder)
        if baseline is not None:
            baseline.require_matches(selected)
        report = run_suites(
            options,
            selected,
            folder=folder,
            config=config,
            output=output,
            answers=not options.no_answers,
            recorder=recorder_of(options.repeats, options.label),
            keeping=options.keeping(trackers),
        )
    if trackers is not None:
        trackers.end(report)
    if options.store and options.cache == CacheMode.REPLAY.value:
        from proctor.stored_runs import store_replay

        store_replay(config.root, report, output.note)
    return judge_run(report, options, baseline, gates, lost=lost)


def _load(options: RunOptions, config: Config, output: Output) -> Exam:
    exam = load_exam(
        config,
        options.suites,
        repeats=options.repeats,
        allow_code=options.allow_code,
        label=options.label,
    )
    if exam.served is not None:
        output.note(f"prompts under test as {exam.served}")
    return exam


def _baseline(
    options: RunOptions, config: Config, trackers: Trackers | None
) -> tuple[Baseline | None, ProctorError | None]:
    """What the run is compared with, and why there is nothing although it should be."""
    name = options.baseline
    if options.baseline_prefix is not None and trackers is not None:
        assert trackers.langsmith is not None  # noqa: S101 - the prefix is of its experiments
        from proctor.tracking import baseline_there

        found = baseline_there(trackers.langsmith, options.baseline_prefix, config)
        if found is None:
            return None, trackers.langsmith.fault
        name = str(found)
    if name is None:
        return None, None
    from proctor.cli.baseline_comparison import open_baseline

    start = options.path(Path())
    baseline = open_baseline(name, options.comparing, start=start, config=config)
    if options.out is not None:
        keep_inputs(options.path(options.out), [baseline.path])
    return baseline, None


def _require_lanes(options: RunOptions, selected: Sequence[SelectedSuite]) -> None:
    """Refuse lanes when nothing runs on any.

    Raises:
        UsageError: P6002.
    """
    subjects = [subject for suite in selected for subject in suite.subjects]
    if options.lane and not any(one.takes_lanes for one in subjects):
        raise UsageError(
            "`--lane` names a backend of a target, and nothing that is selected has any",
            code="P6002",
            hint="leave it out, or select a suite with a target",
        )


def _check_outputs(
    options: RunOptions, exam: Exam, selected: Sequence[SelectedSuite], folder: CassetteFolder
) -> None:
    """Refuse, before anything is run, outputs that could not be written after it.

    Raises:
        UsageError: P6004 for a file or folder that cannot be written, or that the run reads.
    """
    reports = None if options.report_dir is None else options.path(options.report_dir)
    if reports is not None:
        check_named_folder(reports)
        for suite in selected:
            check_whole(report_file(reports, suite.name), folder_comes=True)
    if options.output_dir is not None:
        check_named_folder(options.path(options.output_dir))
    if options.out is not None:
        out = options.path(options.out)
        comes = reports is not None and reports.resolve().is_relative_to(out.parent.resolve())
        check_whole(out, folder_comes=comes)
        _keep_inputs(out, exam, folder)


def _keep_inputs(out: Path, exam: Exam, folder: CassetteFolder) -> None:
    """Refuse to write the output over what the run reads.

    Raises:
        UsageError: P6004 when it would.
    """
    root = exam.config.root
    inputs = [root / "proctor.toml", root / "pyproject.toml"]
    for suite in exam.suites:
        inputs += [root / suite.definition.path, root / suite.dataset.path]
        inputs.append(folder.root / folder.path(suite.definition.name))
        inputs += [root / one.prompt.prompt.path for one in suite.definition.subjects]
        judged = [each for one in suite.subjects for each in one.judged]
        inputs += [root / judge.prompt.path for each in judged for judge in each.judges]
        if suite.definition.labels is not None:
            inputs.append(root / suite.definition.labels)
    keep_inputs(out, inputs)


def _difference(report: RunReport, was: bytes, name: str) -> ReportError | None:
    """Where the bytes of the report and of a file differ first, None when nowhere."""
    now = b"".join(renderer("json")(report, RenderOptions()))
    if was == now:
        return None
    before, after = was.split(b"\n"), now.split(b"\n")
    same = sum(1 for _ in _common_start(before, after))
    return ReportError(
        "the replay does not give the bytes of this report",
        code="P6905",
        hint=f"write the report of now with `--format json --out` and compare line {same + 1}",
        where=f"{name}:{same + 1}",
    )


def _common_start(before: Sequence[bytes], after: Sequence[bytes]) -> Iterator[bytes]:
    for one, other in zip(before, after, strict=False):
        if one != other:
            return
        yield one
