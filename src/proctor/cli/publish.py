"""`proctor publish`."""

from __future__ import annotations

from pathlib import Path

import click

from proctor.asking_rules import AskingRules, TrackingRules
from proctor.cli.asking_options import host_options
from proctor.cli.output import Output
from proctor.cli.project import cwd_option, from_start, project_config
from proctor.cli.tracking_options import CONTENT
from proctor.errors import ExitCode, RunError
from proctor.records import ReportHead, Verdict
from proctor.report_files import load_digested
from proctor.run_folders import require_trusted

EXAMPLES = """
\b
Examples:
  proctor publish report.json --driver langsmith --allow-host api.smith.langchain.com
  proctor publish evals/baselines/main.json --driver langsmith --baseline-prefix main/ ...
                        found again by `proctor run --baseline-prefix main/`
"""


@click.command("publish", epilog=EXAMPLES)
@click.argument("report", metavar="REPORT", type=click.Path(path_type=Path))
@cwd_option
@click.option(
    "--driver",
    type=click.Choice(["langsmith"]),
    required=True,
    help="Where it is sent.",
)
@CONTENT
@click.option(
    "--baseline-prefix",
    metavar="P",
    default="",
    help="What the names of the experiments begin with.",
)
@host_options
def command(
    report: Path,
    cwd: Path | None,
    driver: str,
    tracker_content: bool,
    baseline_prefix: str,
    allow_host: tuple[str, ...],
    allow_local: tuple[int | None, ...],
    allow_key: tuple[str, ...],
) -> int:
    """Send a stored report to a tracker.

    The report is of a whole run, or of all its parts merged. Each subject of a suite becomes an
    experiment on the dataset of the suite. Sending the same report again changes nothing. Content
    stays here unless `--tracker-content` says otherwise.
    """
    from proctor.tracking import open_langsmith

    output = Output()
    config = project_config(cwd, {})
    path = from_start(cwd, report)
    require_trusted(path)
    loaded = load_digested(path)
    _require_whole(loaded.report.head, str(report))
    rules = AskingRules(
        allow_hosts=allow_host,
        allow_local=None in allow_local,
        allow_local_ports=tuple(port for port in allow_local if port is not None),
        allow_keys=allow_key,
    )
    tracking = TrackingRules(langsmith=True, content=tracker_content, prefix=baseline_prefix)
    tracker = open_langsmith(
        tracking, rules, run=loaded.sha256, config=config, note=output.note, is_run=False
    )
    tracker.reported(loaded.report, loaded.sha256)
    tracker.close()
    if tracker.fault is not None:
        raise tracker.fault
    output.note(f"published: {report} to {driver}")
    return ExitCode.OK


def _require_whole(head: ReportHead, name: str) -> None:
    """Refuse a report that lacks rows.

    Raises:
        RunError: P6706 when it does.
    """
    if head.partial or head.shards is not None:
        raise RunError(
            "the report is of a part of a run, and only a whole one is published",
            code="P6706",
            hint="merge all parts with `proctor merge --format json --out`, and publish that",
            where=name,
        )
    if head.verdict is Verdict.INTERRUPTED:
        raise RunError(
            "the report is of a run that was interrupted, and only a whole one is published",
            code="P6706",
            hint="go on with the run with `proctor run --resume`, and publish its report",
            where=name,
        )
