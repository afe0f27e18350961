"""`proctor pairwise`: which of two subjects judges prefer, answer by answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proctor.cassettes import CacheMode
from proctor.cli.asking_options import FILE, AskingOptions, CommandWatch, judging_options
from proctor.cli.output import Output
from proctor.cli.outputs import check_whole
from proctor.cli.printing import format_option, keep_inputs, out_option, print_rendered
from proctor.cli.project import cassette_folder, cwd_option, project_config
from proctor.errors import ExitCode, ProctorError, UsageError, noting, raise_all
from proctor.evaluation import SelectedSuite, select
from proctor.pipeline import load_exam
from proctor.records import RenderOptions
from proctor.registry import pairwise_renderers
from proctor.rendering.pairwise_wording import VERDICTS, won_text
from proctor.selecting import Selection

if TYPE_CHECKING:
    from proctor.config import Config
    from proctor.pairwise.panels import Comparing
    from proctor.records.pairwise import Pairwise

EXAMPLES = """
\b
Examples:
  proctor pairwise refund-reply --a old.json --b new.json --rubric prefer-reply
  proctor pairwise reviews --a run.json --subject-a brief --subject-b few-shot --rubric prefer
  proctor pairwise reviews --a old.json --b new.json --rubric prefer --judges 3 --dry-run
"""


class PairwiseOptions(AskingOptions, frozen=True, kw_only=True):
    """What was given to `proctor pairwise`, by the names of its options."""

    suite: str
    a: Path
    b: Path | None
    subject_a: str | None
    subject_b: str | None
    rubric: str
    judges: int | None
    format_: str
    out: Path | None
    all: bool
    allow_code: bool = False


@click.command("pairwise", epilog=EXAMPLES)
@click.argument("suite", metavar="SUITE")
@cwd_option
@click.option("--a", metavar="REPORT", type=FILE, required=True, help="The report of A.")
@click.option(
    "--b", metavar="REPORT", type=FILE, help="The report of B. Default: that of A, for two of it."
)
@click.option(
    "--subject-a",
    metavar="SUBJECT",
    help="Who A is when its report has several: a prompt, a model, or `prompt@model`.",
)
@click.option("--subject-b", metavar="SUBJECT", help="Likewise who B is.")
@click.option(
    "--rubric",
    metavar="ID",
    required=True,
    help="The prompt that says which of two answers is better.",
)
@click.option(
    "--judges",
    metavar="N",
    type=click.IntRange(1, 25),
    help="How many judges are asked about each pair.  [default: the suite's panel, or 1]",
)
@judging_options
@format_option(pairwise_renderers.names())
@out_option
@click.option("--all", is_flag=True, help="Show every pair, not only the first 20.")
def command(**given: Any) -> int:  # noqa: ANN401 - click hands over every option by name
    """Compare the answers of two subjects pair by pair, by judges.

    Each judge is asked twice, with the answers in either order, and only what it says both times
    counts. Verdicts come from the recordings, or are asked for as by `proctor run`. Exit code 0:
    every pair was measured, whoever wins; 3: some were not; 2: a report or the rubric cannot be
    used.
    """
    options = PairwiseOptions(**given)
    output = Output()
    config = project_config(options.cwd, options.settings())
    with closing(load_exam(config, [options.suite], with_labels=False)) as exam:
        (selected,) = select(exam, Selection())
        asked = _asked(options, config, selected)
        _check_out(options, asked)
        if options.dry_run:
            _dry_run(options, asked, output)
            return ExitCode.OK
        found = _compared(options, asked, output)
    render = pairwise_renderers.get(options.format_)
    if render is None:
        raise UsageError(f"there is no format `{options.format_}`", code="P6002")
    out = None if options.out is None else options.path(options.out)
    shown = RenderOptions(all_cases=options.all, colour=output.colour() and out is None)
    rendered = render(found, asked.reports.pairs.answers(), shown)
    print_rendered(rendered, format_=options.format_, out=out, output=output)
    if options.format_ == "json":
        output.note(f"{VERDICTS[found.verdict]}  {won_text(found)}")
    return found.exit_code


def _asked(options: PairwiseOptions, config: Config, selected: SelectedSuite) -> Comparing:
    """Everything that is compared and asked, read and found in order."""
    from proctor.pairwise.pairing import Choice, pair_reports
    from proctor.pairwise.panels import Comparing, check_pairs, make_panel

    problems: list[ProctorError] = []
    with noting(problems):
        panel = make_panel(config, selected.suite.definition, options.rubric, judges=options.judges)
    with noting(problems):
        reports = pair_reports(
            selected.name,
            Choice("a", options.path(options.a), options.subject_a),
            Choice("b", options.path(options.b or options.a), options.subject_b),
        )
    raise_all(problems)
    check_pairs(panel, reports)
    folder = cassette_folder(config, options.cwd, options.cassettes)
    return Comparing(config, selected, panel, reports, folder)


def _check_out(options: PairwiseOptions, asked: Comparing) -> None:
    """Refuse, before anything is asked, an output that could not be written after it."""
    if options.out is None:
        return
    out, folder, root = options.path(options.out), asked.folder, asked.config.root
    check_whole(out)
    definition = asked.selected.suite.definition
    inputs: Sequence[Path] = [
        options.path(options.a),
        options.path(options.b or options.a),
        root / definition.path,
        root / asked.selected.suite.dataset.path,
        root / asked.panel.rubric.prompt.path,
        folder.root / folder.path(asked.panel.suite),
    ]
    keep_inputs(out, inputs)


def _dry_run(options: PairwiseOptions, asked: Comparing, output: Output) -> None:
    from proctor.cli.live import show_plan
    from proctor.pairwise.live import judge_prices, planned_pairs
    from proctor.providers.pricing import Pricing

    values = asked.config.values
    prices, _ = judge_prices(asked, Pricing(values.prices, values.providers))
    show_plan(planned_pairs(asked, CacheMode(options.cache), prices), prices, output)


def _compared(options: PairwiseOptions, asked: Comparing, output: Output) -> Pairwise:
    rules = options.rules()
    if rules.is_live:
        from proctor.pairwise.live import compare_live

        return compare_live(asked, rules, CommandWatch(options, output))
    from proctor.pairwise.comparing import compare_pairs
    from proctor.pairwise.replaying import PairReplay

    cassette, problems = asked.folder.open(asked.panel.suite)
    with closing(cassette):
        raise_all(problems)
        replay = PairReplay(cassette)
        return compare_pairs(asked.config.values.project, asked.panel, asked.reports, replay)
