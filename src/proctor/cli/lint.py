"""`proctor lint`."""

from __future__ import annotations

from pathlib import Path

import click

from proctor.cli.output import Output, counted
from proctor.cli.project import cwd_option, project_config
from proctor.errors import ExitCode
from proctor.pipeline import load_exam

EXAMPLES = """
\b
Examples:
  proctor lint                 the whole project
  proctor lint refund-reply    one suite and what it uses
"""


@click.command("lint", epilog=EXAMPLES)
@click.argument("suites", nargs=-1, metavar="[SUITE]...")
@click.option("--label", metavar="ENV", help="Check with the prompts that this environment serves.")
@cwd_option
def command(suites: tuple[str, ...], label: str | None, cwd: Path | None) -> int:
    """Check suites, prompts and datasets; run nothing.

    Every problem is listed with its file and line. Exit code 0: none; 2: at least one.
    """
    output = Output()
    config = project_config(cwd, {})
    # Nothing is judged, so no code runs whatever is allowed.
    exam = load_exam(
        config,
        suites,
        every_prompt=not suites,
        allow_code=True,
        runs_sources=False,
        label=label,
    )
    exam.close()
    found = [warning for suite in exam.suites for warning in suite.warnings]
    warnings = dict.fromkeys((one.where, one.code, one.message) for one in found)
    for where, code, message in warnings:
        said = " ".join(filter(None, ("warning:", code, message)))
        output.note(f"{where}: {said}" if where else said)
    counts = {
        "suite": len(exam.suites),
        "prompt": exam.prompt_count,
        "case": sum(len(suite.dataset) for suite in exam.suites),
        "warning": len(warnings),
    }
    output.line(f"ok: {', '.join(counted(number, noun) for noun, number in counts.items())}")
    return ExitCode.OK
