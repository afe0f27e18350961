"""`proctor baseline`: the reports of the project that runs are compared with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from proctor.baselines import Baselines, bare_report, doubts_about, require_name
from proctor.cli.output import Output, counted
from proctor.cli.printing import format_option, out_option, print_rendered
from proctor.cli.project import cwd_option, from_start, project_config, shape_option
from proctor.errors import ExitCode, UsageError
from proctor.records import JsonObject, RenderOptions, ReportHead, encode_json
from proctor.registry import renderers
from proctor.rendering.report_json import render_json
from proctor.report_files import load_report
from proctor.run_folders import require_private
from proctor.safe_io import make_folder, write_whole

EXAMPLES = """
\b
Examples:
  proctor run --format json --out now.json         a report
  proctor baseline promote now.json --name main    make it the baseline `main`
  proctor run --baseline main --fail-on-regression compare with it from now on
"""


@click.group("baseline", epilog=EXAMPLES)
def command() -> None:
    """Keep reports that runs are compared with."""


@command.command("promote")
@click.argument("report", metavar="REPORT", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", required=True, help="What the baseline is called.")
@click.option(
    "--answers",
    is_flag=True,
    help="Keep answers, inputs, expected values, evidence and reasons, which are left out "
    "otherwise.",
)
@cwd_option
def promote(report: Path, name: str, answers: bool, cwd: Path | None) -> int:
    """Make a JSON report a baseline of the project, a file to be committed.

    The report is proven from its rows first. One of that name is replaced.
    """
    output = Output()
    require_name(name)
    config = project_config(cwd, {})
    path = from_start(cwd, report)
    require_private(config.root, path)
    loaded = load_report(path)
    if loaded.head.project != config.values.project:
        raise UsageError(
            f"the report is of the project `{loaded.head.project}`, this is "
            f"`{config.values.project}`",
            code="P6002",
            hint="name a report of this project",
        )
    for doubt in doubts_about(loaded):
        output.note(f"warning: {doubt}")
    baselines = Baselines(config)
    folder = make_folder(config.root, baselines.folder)
    kept = loaded if answers else bare_report(loaded)
    write_whole(folder / Path(baselines.path(name)).name, render_json(kept, RenderOptions()))
    output.line(f"{baselines.path(name)}  {_summary(loaded.head)}")
    return ExitCode.OK


@command.command("list")
@cwd_option
@shape_option
def list_(cwd: Path | None, format_: str) -> int:
    """List the baselines of the project with what they say."""
    output = Output()
    baselines = Baselines(project_config(cwd, {}))
    found = [(name, baselines.load(name)) for name in baselines.names()]
    if format_ == "json":
        listed = [_facts(name, one.report.head, one.sha256) for name, one in found]
        output.write(encode_json({"baselines": listed}) + b"\n")
        return ExitCode.OK
    for name, one in found:
        output.line(f"{name}  {_summary(one.report.head)}")
    if not found:
        output.line(f"there are no baselines in {baselines.folder}/")
    return ExitCode.OK


@command.command("show")
@click.argument("name", metavar="NAME")
@cwd_option
@format_option(renderers.names())
@out_option
@click.option("--all", "all_", is_flag=True, help="Show every case, not only the first 20.")
def show(name: str, cwd: Path | None, format_: str, out: Path | None, all_: bool) -> int:
    """Show a baseline as `proctor report` shows a report."""
    output = Output()
    loaded = Baselines(project_config(cwd, {})).load(name)
    render = renderers.get(format_)
    if render is None:
        raise UsageError(f"there is no format `{format_}`", code="P6002")
    shown = RenderOptions(all_cases=all_, colour=output.colour() and out is None)
    path = None if out is None else from_start(cwd, out)
    print_rendered(render(loaded.report, shown), format_=format_, out=path, output=output)
    return ExitCode.OK


def _passed(head: ReportHead) -> Iterator[tuple[int, int]]:
    for suite in head.suites:
        for subject in suite.subjects:
            yield subject.pass_rate.passed, subject.pass_rate.measured


def _summary(head: ReportHead) -> str:
    passed, measured = (sum(each) for each in zip((0, 0), *_passed(head), strict=True))
    return (
        f"{head.verdict}, {passed} of {measured} measured rows passed, "
        f"{counted(len(head.suites), 'suite')}"
    )


def _facts(name: str, head: ReportHead, sha256: str) -> JsonObject:
    passed, measured = (sum(each) for each in zip((0, 0), *_passed(head), strict=True))
    return {
        "name": name,
        "report_sha256": sha256,
        "verdict": head.verdict,
        "passed": passed,
        "measured": measured,
        "suites": [suite.suite for suite in head.suites],
    }
