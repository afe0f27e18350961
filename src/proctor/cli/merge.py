"""`proctor merge`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from proctor.cli.output import Output, counted
from proctor.cli.printing import format_option, keep_inputs, out_option, print_rendered
from proctor.cli.project import from_start, paths_option
from proctor.cli.run_result import renderer
from proctor.errors import ProctorError, RunError, raise_all
from proctor.merging import Merged, merge_parts
from proctor.records import RenderOptions
from proctor.records.journal import MAX_SHARDS
from proctor.registry import renderers
from proctor.run_folders import require_trusted
from proctor.run_parts import RunPart, open_part

EXAMPLES = """
\b
Examples:
  proctor merge shard-*/rows.jsonl                   what one process would have reported
  proctor merge *.json --expected-shards 4           of four reports, none of which may be missing
  proctor merge shard-* --format json --out all.json   from the folders of `--output-dir`
"""


@click.command("merge", epilog=EXAMPLES)
@click.argument(
    "parts",
    nargs=-1,
    required=True,
    metavar="JOURNAL_OR_REPORT...",
    type=click.Path(path_type=Path),
)
@paths_option
@click.option(
    "--expected-shards",
    metavar="N",
    type=click.IntRange(1, MAX_SHARDS),
    help="How many there should be. Default: as many as the parts say.",
)
@format_option(renderers.names())
@out_option
@click.option("--all", "all_", is_flag=True, help="Show every case, not only the first 20.")
def command(
    parts: tuple[Path, ...],
    cwd: Path | None,
    expected_shards: int | None,
    format_: str,
    out: Path | None,
    all_: bool,
) -> int:
    """Make one report of the parts of a run.

    A part is the journal of a run (`rows.jsonl`, or the folder it is in) or a JSON report. What
    comes out is what one process would have written. While a part is missing or cannot be read,
    the report is partial and nothing that is asked of the run is met: exit code 3. No project is
    needed.
    """
    output = Output()
    paths = [from_start(cwd, part) for part in parts]
    if out is not None:
        out = from_start(cwd, out)
        keep_inputs(out, paths)
    lost: list[ProctorError] = []
    opened: list[RunPart] = []
    with ExitStack() as held:
        for path, given in zip(paths, parts, strict=True):
            try:
                require_trusted(path)
                opened.append(open_part(path, str(given)))
                held.callback(opened[-1].close)
            except ProctorError as problem:
                lost.append(problem)
        if not opened:
            raise_all(lost)
        merged = merge_parts(opened, expected=expected_shards, lost=len(lost))
    for each in lost:
        output.problems(each)
    shown = RenderOptions(all_cases=all_, colour=output.colour() and out is None)
    render = renderer(format_)
    print_rendered(render(merged.report, shown), format_=format_, out=out, output=output)
    if merged.report.head.partial:
        output.problems(_missing(merged))
    return merged.report.head.exit_code


def _missing(merged: Merged) -> RunError:
    numbers = merged.missing
    named = ", ".join(map(str, numbers[:20])) + (", ..." if len(numbers) > 20 else "")
    which = f"{counted(len(numbers), 'shard')} missing: {named}" if numbers else "parts are missing"
    return RunError(
        f"{which}; nothing that is asked of the run is met",
        code="P6706",
        hint="run what is missing, and merge all of it again",
    )
