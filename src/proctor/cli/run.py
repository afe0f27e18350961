"""`proctor run`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click

from proctor.cli.output import Output
from proctor.cli.project import cassette_folder, cwd_option, from_start, project_config
from proctor.errors import UsageError
from proctor.evaluation import evaluate, select
from proctor.pipeline import load_exam
from proctor.protocols import Renderer
from proctor.records import RenderOptions
from proctor.registry import renderers
from proctor.replaying import ReplaySession
from proctor.reporting import RunReport
from proctor.safe_io import reason_of, write_whole
from proctor.selecting import Selection

EXAMPLES = """
\b
Examples:
  proctor run                                   every suite under evals/
  proctor run refund-reply --all                one suite, every failing case
  proctor run --format json --out report.json   the report as JSON
"""


@click.command("run", epilog=EXAMPLES)
@click.argument("suites", nargs=-1, metavar="[SUITE]...")
@cwd_option
@click.option(
    "--cassettes",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Replay the recordings of another folder.",
)
@click.option(
    "--concurrency",
    metavar="N",
    type=click.IntRange(1, 1_024),
    help="Rows in flight. A replay waits for nothing and gives the same report at any value.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(renderers.names()),
    default="text",
    show_default=True,
    help="What is printed.",
)
@click.option(
    "--out", metavar="FILE", type=click.Path(path_type=Path), help="Also write it to a file."
)
@click.option(
    "--report-dir",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write one JSON report per suite into this folder.",
)
@click.option("--all", "all_cases", is_flag=True, help="Show every case, not only the first 20.")
def command(
    suites: tuple[str, ...],
    cwd: Path | None,
    cassettes: Path | None,
    concurrency: int | None,
    format_: str,
    out: Path | None,
    report_dir: Path | None,
    all_cases: bool,
) -> int:
    """Run suites and report what passed.

    Answers come from the committed recordings; nothing is sent anywhere. Exit code 0: every
    threshold holds; 1: one does not; 2: something cannot be used, and nothing was run; 3: nothing
    failed, but something could not be measured.
    """
    output = Output()
    config = project_config(cwd, {"concurrency": concurrency})
    exam = load_exam(config, suites)
    try:
        selected = select(exam, Selection())
        folder = cassette_folder(config, cwd, cassettes)
        with closing(ReplaySession(folder, [one.name for one in selected])) as session:
            report = evaluate(config, selected, session)
    finally:
        exam.close()
    if report_dir is not None:
        _write_reports(report, from_start(cwd, report_dir))
    colour = output.colour() and out is None
    options = RenderOptions(all_cases=all_cases, colour=colour)
    chunks = output.copied(_renderer(format_)(report, options))
    if out is None:
        for _ in chunks:
            pass
    else:
        write_whole(from_start(cwd, out), chunks)
    if format_ == "json":
        output.note(_summary(report))
    return report.head.exit_code


def _renderer(name: str) -> Renderer:
    renderer = renderers.get(name)
    if renderer is None:
        raise UsageError(f"there is no format `{name}`", code="P6002")
    return renderer


def _write_reports(report: RunReport, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the folder `{folder}` cannot be made: {reason_of(error)}",
            code="P6004",
            hint="name a folder that can be written to",
        ) from error
    render = _renderer("json")
    for index, suite in enumerate(report.head.suites):
        chunks: Iterator[bytes] = render(report.single_suite(index), RenderOptions())
        write_whole(folder / f"{suite.suite}.json", chunks)


def _summary(report: RunReport) -> str:
    counts = [subject.counts for suite in report.head.suites for subject in suite.subjects]
    passed = sum(one.passed for one in counts)
    rows = sum(one.rows for one in counts)
    return f"{report.head.verdict.upper()}  {passed} of {rows} rows passed"
