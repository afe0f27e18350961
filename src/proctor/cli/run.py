"""`proctor run`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode
from proctor.cli.output import Output
from proctor.cli.project import cassette_folder, cwd_option, project_config
from proctor.cli.run_options import RunOptions, run_options
from proctor.errors import ExitCode, ReportError, UsageError
from proctor.evaluation import SelectedSuite, evaluate, select
from proctor.pipeline import Exam, load_exam
from proctor.protocols import Renderer
from proctor.records import RenderOptions
from proctor.registry import renderers
from proctor.replaying import ReplaySession
from proctor.report_files import read_report_bytes
from proctor.reporting import RunReport
from proctor.safe_io import make_named_folder, reason_of, write_whole

EXAMPLES = """
\b
Examples:
  proctor run                                   every suite under evals/
  proctor run refund-reply --all                one suite, every failing case
  proctor run --case 'late-*' --repeats 5       some cases, five times each
  proctor run --format json --out report.json   the report as JSON
  proctor run --cache record                    ask for what is not recorded yet
"""


@click.command("run", epilog=EXAMPLES)
@click.argument("suites", nargs=-1, metavar="[SUITE]...")
@cwd_option
@run_options
def command(**given: Any) -> int:  # noqa: ANN401 - click hands over every option by name
    """Run suites and report what passed.

    Answers come from the committed recordings, and nothing is sent anywhere, unless `--cache` says
    otherwise. Exit code 0: every threshold holds; 1: one does not; 2: something cannot be used,
    and nothing was run; 3: nothing failed, but something could not be measured.
    """
    options = RunOptions(**given)
    options.require_sense()
    output = Output()
    wanted = None if options.verify is None else read_report_bytes(options.path(options.verify))
    config = project_config(
        options.cwd, {"concurrency": options.concurrency, "max_cases": options.max_cases}
    )
    selection = options.selection()
    exam = load_exam(config, options.suites, repeats=options.repeats, allow_code=options.allow_code)
    with closing(exam):
        selected = select(exam, selection)
        folder = cassette_folder(config, options.cwd, options.cassettes)
        if options.dry_run:
            from proctor.cli.live import dry_run

            dry_run(options, selected, folder=folder, config=config, output=output)
            return ExitCode.OK
        if options.out is not None:
            _keep_inputs(options.path(options.out), exam, folder)
        report = _run(options, exam, selected, folder, output)
    code = _show(options, report, output)
    if wanted is not None:
        difference = _difference(report, wanted, str(options.verify))
        if difference is not None:
            output.problems(difference)
            code = ExitCode.FAILED
        else:
            output.note(f"the report has the same bytes as {options.verify}")
    return ExitCode.OK if options.exit_zero and code in (1, 3) else code


def _run(
    options: RunOptions,
    exam: Exam,
    selected: Sequence[SelectedSuite],
    folder: CassetteFolder,
    output: Output,
) -> RunReport:
    mode = CacheMode(options.cache)
    answers = not options.no_answers
    if mode is CacheMode.REPLAY:
        names = [one.name for one in selected]
        with closing(ReplaySession(folder, names, repeats=options.repeats)) as session:
            return evaluate(exam.config, selected, session, answers=answers)
    from proctor.cli.live import run_live

    return run_live(options, selected, folder=folder, config=exam.config, output=output)


def _show(options: RunOptions, report: RunReport, output: Output) -> int:
    """Print and write the report, and say with which code to exit."""
    if options.report_dir is not None:
        _write_reports(report, options.path(options.report_dir))
    colour = output.colour() and options.out is None
    shown = RenderOptions(all_cases=options.all, colour=colour)
    rendered = _renderer(options.format)(report, shown)
    if options.format == "markdown":
        rendered = _with_step_summary(rendered, output)
    chunks = output.copied(rendered)
    if options.out is None:
        for _ in chunks:
            pass
    else:
        write_whole(options.path(options.out), chunks)
    if options.format in ("json", "junit"):
        output.note(_summary(report))
    return report.head.exit_code


def _with_step_summary(chunks: Iterator[bytes], output: Output) -> Iterator[bytes]:
    """The chunks, which are also appended to the summary of the step when GitHub names its file."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return chunks
    text = b"".join(chunks)
    try:
        with Path(path).open("ab") as summary:
            summary.write(b"\n" + text if summary.tell() else text)
    except OSError as error:
        # The report itself is not in danger, and neither is what the exit code says.
        output.note(f"warning: the step summary cannot be written: {reason_of(error)}")
    return iter([text])


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
        inputs += [root / one.target.subject.prompt.path for one in suite.subjects]
    if out.resolve() in {path.resolve() for path in inputs}:
        raise UsageError(
            f"`{out}` is a file that this run reads",
            code="P6004",
            hint="name another file for `--out`",
        )


def _difference(report: RunReport, was: bytes, name: str) -> ReportError | None:
    """Where the bytes of the report and of a file differ first, None when nowhere."""
    now = b"".join(_renderer("json")(report, RenderOptions()))
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


def _renderer(name: str) -> Renderer:
    renderer = renderers.get(name)
    if renderer is None:
        raise UsageError(f"there is no format `{name}`", code="P6002")
    return renderer


def _write_reports(report: RunReport, folder: Path) -> None:
    make_named_folder(folder)
    render = _renderer("json")
    for index, suite in enumerate(report.head.suites):
        chunks = render(report.single_suite(index), RenderOptions())
        write_whole(folder / f"{suite.suite}.json", chunks)


def _summary(report: RunReport) -> str:
    counts = [subject.counts for suite in report.head.suites for subject in suite.subjects]
    passed = sum(one.passed for one in counts)
    rows = sum(one.rows for one in counts)
    return f"{report.head.verdict.upper()}  {passed} of {rows} rows passed"
