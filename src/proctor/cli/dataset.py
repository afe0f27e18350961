"""`proctor dataset`: what a dataset holds, and splitting it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from proctor.cli.output import Output, counted
from proctor.cli.project import from_start, paths_option, shape_option
from proctor.cli.shares import as_share
from proctor.datasets.figures import DatasetFigures, dataset_figures
from proctor.datasets.files import cases_of, ending_of_parts, open_dataset, part_lines
from proctor.datasets.splitting import parts_by_share, parts_by_tag
from proctor.errors import ExitCode, UsageError, raise_all
from proctor.loading.datasets import Dataset
from proctor.records import encode_json
from proctor.safe_io import write_new

if TYPE_CHECKING:
    from fractions import Fraction

EXAMPLES = """
\b
Examples:
  proctor dataset stats evals/datasets/tickets.jsonl
  proctor dataset split evals/datasets/tickets.jsonl --fraction 0.2 --seed 1
  proctor dataset split evals/datasets/tickets.jsonl --by-tag
"""

_DATASET = click.argument("dataset", metavar="DATASET", type=click.Path(path_type=Path))
_SHOWN = 10
"""Groups, and members of each, that are printed."""


@click.group("dataset", epilog=EXAMPLES)
def command() -> None:
    """Count what a dataset holds, and split it."""


@command.command("stats")
@_DATASET
@shape_option
@paths_option
def stats(dataset: Path, format_: str, cwd: Path | None) -> int:
    """Show tags, lengths, duplicates and the balance of labels of a dataset.

    Duplicates have the same inputs. Near duplicates share four of five of their words, whatever
    their order and case.
    """
    with closing(open_dataset(from_start(cwd, dataset))) as opened:
        figures = dataset_figures(cases_of(opened))
    output = Output()
    if format_ == "json":
        output.write(msgspec.json.format(encode_json(figures), indent=2) + b"\n")
    else:
        _show(figures, output)
    return ExitCode.OK


@command.command("split")
@_DATASET
@click.option("--by-tag", is_flag=True, help="One file for each first tag.")
@click.option(
    "--fraction",
    metavar="F",
    callback=as_share,
    help="Two files: this share of the cases, like 0.2, and the rest.",
)
@click.option("--seed", metavar="S", type=int, help="Which cases are the share. Default: 0.")
@paths_option
def split(
    dataset: Path, by_tag: bool, fraction: Fraction | None, seed: int | None, cwd: Path | None
) -> int:
    """Write the cases of a dataset into several new ones beside it.

    `cases.jsonl` becomes `cases.<tag>.jsonl` and `cases.untagged.jsonl`, or `cases.share.jsonl` and
    `cases.rest.jsonl`. Parts of a dataset in CSV are in CSV, all others in JSONL. Cases with the
    same inputs are never on both sides of a share.
    """
    if by_tag == (fraction is not None):
        raise _wrong("exactly one of `--by-tag` and `--fraction` says how to split")
    if seed is not None and fraction is None:
        raise _wrong("`--seed` goes with `--fraction`")
    if fraction is not None and not 0 < fraction < 1:
        raise _wrong("`--fraction` must be above 0 and below 1")
    path = from_start(cwd, dataset)
    with closing(open_dataset(path)) as opened:
        cases = cases_of(opened)
        if fraction is None:
            parts = parts_by_tag(cases)
        else:
            parts = parts_by_share(cases, share=fraction, seed=seed or 0)
        ending = ending_of_parts(path)
        names = {part: f"{dataset.stem}.{part}{ending}" for part in parts}
        _write(path, opened, parts, {part: path.with_name(name) for part, name in names.items()})
    output = Output()
    for part, name in names.items():
        output.line(f"wrote {dataset.parent / name}: {counted(len(parts[part]), 'case')}")
    return ExitCode.OK


def _wrong(message: str) -> UsageError:
    return UsageError(message, code="P6002", hint="write `--by-tag`, or `--fraction 0.2 --seed 1`")


def _write(
    path: Path,
    dataset: Dataset,
    parts: Mapping[str, Sequence[str]],
    files: Mapping[str, Path],
) -> None:
    """Write all parts, or none when one of the files is there already."""
    raise_all(
        [
            UsageError(
                f"`{file.name}` exists already",
                code="P6004",
                hint="move it away; nothing was written",
            )
            for file in files.values()
            if os.path.lexists(file)
        ]
    )
    place_of = {case.id: place for place, case in enumerate(cases_of(dataset))}
    written: list[Path] = []
    try:
        for part, ids in parts.items():
            places = [place_of[id_] for id_ in ids]
            write_new(files[part], part_lines(path, dataset, places))
            written.append(files[part])
    except BaseException:
        for file in written:
            file.unlink(missing_ok=True)
        raise


def _show(figures: DatasetFigures, output: Output) -> None:
    output.line(counted(figures.cases, "case"))
    if figures.untagged < figures.cases:
        none = {"(none)": figures.untagged} if figures.untagged else {}
        _show_counts("tags", figures.tags | none, figures.cases, output)
    for name, found in figures.lengths.items():
        output.line(
            f"length of inputs.{name}: median {found.median}, 95% up to {found.p95}, "
            f"{found.min} to {found.max} characters in {counted(found.cases, 'case')}"
        )
    for part, counts in figures.labels.items():
        _show_counts(part, counts, sum(counts.values()), output)
    if figures.without_expected:
        output.line(f"without expected: {counted(figures.without_expected, 'case')}")
    _show_groups("duplicates", figures.duplicates, output)
    near = [[one.case, *one.like_it] for one in figures.near_duplicates]
    _show_groups("near duplicates", near, output)


def _show_counts(name: str, counts: Mapping[str, int], total: int, output: Output) -> None:
    shown = [f"{one} {count} ({count / total:.0%})" for one, count in counts.items()]
    more = f", and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    output.line(f"{name}: {', '.join(shown[:_SHOWN])}{more}")


def _show_groups(name: str, groups: Sequence[Sequence[str]], output: Output) -> None:
    spare = sum(len(group) - 1 for group in groups)
    groups_text = f" in {counted(len(groups), 'group')}" if groups else ""
    output.line(f"{name}: {counted(spare, 'case')}{groups_text}")
    for group in groups[:_SHOWN]:
        more = f" and {len(group) - _SHOWN} more" if len(group) > _SHOWN else ""
        output.line(f"  {', '.join(group[:_SHOWN])}{more}")
    if len(groups) > _SHOWN:
        output.line(f"  and {counted(len(groups) - _SHOWN, 'more group')}")
