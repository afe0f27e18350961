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
@cwd_option
def command(suites: tuple[str, ...], cwd: Path | None) -> int:
    """Check suites, prompts and datasets; run nothing.

    Every problem is listed with its file and line. Exit code 0: none; 2: at least one.
    """
    output = Output()
    config = project_config(cwd, {})
    # Nothing is judged, so no code runs whatever is allowed.
    exam = load_exam(config, suites, every_prompt=not suites, allow_code=True)
    exam.close()
    warnings = [warning for suite in exam.suites for warning in suite.warnings]
    for warning in dict.fromkeys((one.where, one.message) for one in warnings):
        where, message = warning
        output.note(f"{where}: warning: {message}" if where else f"warning: {message}")
    counts = {
        "suite": len(exam.suites),
        "prompt": exam.prompt_count,
        "case": sum(len(suite.dataset) for suite in exam.suites),
        "warning": len(warnings),
    }
    output.line(f"ok: {', '.join(counted(number, noun) for noun, number in counts.items())}")
    return ExitCode.OK
