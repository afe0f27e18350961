"""`proctor judge`: whether judges agree with people, and asking people."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import click

from proctor.cli.asking_options import AskingOptions, asking_options, run_suites
from proctor.cli.judge_label import label
from proctor.cli.output import Output
from proctor.cli.project import cassette_folder, cwd_option, project_config, shape_option
from proctor.errors import ExitCode, UsageError
from proctor.evaluation import SelectedSuite, select
from proctor.judging.findings import JudgeFindings
from proctor.pipeline import Exam, load_exam
from proctor.records import Verdict
from proctor.replaying import Recorder
from proctor.selecting import Selection

EXAMPLES = """
\b
Examples:
  proctor judge label refund-reply --by ada   say of each judged answer what you think of it
  proctor judge check                         how far judges agree with what people said
  proctor judge check --order-check           whether the order of things decides
"""

_CODES = {
    Verdict.PASSED: ExitCode.OK,
    Verdict.UNMEASURED: ExitCode.UNMEASURED,
    Verdict.FAILED: ExitCode.FAILED,
    Verdict.INTERRUPTED: ExitCode.INTERRUPTED,
}
"""From the mildest to the one that decides when suites differ."""


class CheckOptions(AskingOptions, frozen=True, kw_only=True):
    """What was given to `proctor judge check`, by the names of its options."""

    suites: tuple[str, ...]
    order_check: bool
    format_: str


@click.group("judge", epilog=EXAMPLES)
def command() -> None:
    """Compare judges with people, and ask people."""


@command.command("check")
@click.argument("suites", nargs=-1, metavar="[SUITE]...")
@cwd_option
@asking_options
@click.option(
    "--order-check",
    is_flag=True,
    help="Also judge with the fenced sections of each rubric in reverse order, and count the "
    "verdicts that flip.",
)
@shape_option
def check(**given: Any) -> int:  # noqa: ANN401 - click hands over every option by name
    """Show how far judges agree with the labels of people.

    Without names, every suite with labels. Answers and verdicts come from the recordings, or are
    asked for as by `proctor run`. Exit code 0: the threshold `judgeAgreement` holds, or there is
    none; 1: it does not; 3: there are too few labels for it, or something was not measured.
    """
    options = CheckOptions(**given)
    output = Output()
    config = project_config(options.cwd, options.settings())
    with closing(load_exam(config, options.suites, allow_code=options.allow_code)) as exam:
        selected = _labelled(exam, options.suites)
        folder = cassette_folder(config, options.cwd, options.cassettes)
        asked = selected
        if options.order_check:
            from proctor.judge_checks import with_reversed

            asked = [with_reversed(one) for one in selected]
        if options.dry_run:
            from proctor.cli.live import dry_run

            dry_run(options, asked, folder=folder, config=config, output=output)
            return ExitCode.OK
        more = " --order-check" if options.order_check else ""
        report = run_suites(
            options,
            asked,
            folder=folder,
            config=config,
            output=output,
            recorder=Recorder("judge check", more),
        )
        from proctor.judge_checks import check_judges

        found = [
            check_judges(one, report, place, in_both_orders=options.order_check)
            for place, one in enumerate(selected)
        ]
    return _show(found, options, output)


def _labelled(exam: Exam, wanted: Sequence[str]) -> list[SelectedSuite]:
    """The suites that are wanted, or all that have labels.

    Raises:
        UsageError: P6001 when there is none, P6002 when one that was named has no labels.
    """
    suites = [one for one in exam.suites if one.labels is not None]
    if wanted:
        for one in exam.suites:
            if one.labels is None:
                raise UsageError(
                    f"the suite `{one.definition.name}` has no labels",
                    code="P6002",
                    hint="name a file for them in the suite, `labels: labels/<suite>.jsonl`, and "
                    "write them with `proctor judge label`",
                )
    elif not suites:
        raise UsageError(
            f"0 of {len(exam.suites)} suites have labels",
            code="P6001",
            hint="name a file for them in a suite: `labels: labels/<suite>.jsonl`",
        )
    return select(Exam(exam.config, suites, exam.prompt_count), Selection())


def _show(found: Sequence[JudgeFindings], options: CheckOptions, output: Output) -> int:
    from proctor.rendering.judge_findings import render_findings, render_findings_json

    order = list(_CODES)
    code = _CODES[max((one.verdict for one in found), key=order.index)]
    if options.format_ == "json":
        output.write(render_findings_json(found, exit_code=int(code)))
    else:
        output.write(render_findings(found, in_both_orders=options.order_check))
    return code


command.add_command(label)
