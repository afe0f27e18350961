"""Turns measured runs into Markdown tables. Pure: it reads nothing and prints nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from contestants import Bar, Contestant, Group, Kind
from measure import Usage

HEADER = (
    "| run | n | wall s | CPU s | peak MB | bar | x floor | x Proctor | verdicts |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def render_group(
    group: Group, usages: Mapping[str, Sequence[Usage]], faults: Mapping[str, str]
) -> str:
    """The table of one group.

    Args:
        group: What ran.
        usages: The complete runs of each contestant, by its name.
        faults: What went wrong, by the name of the contestant.

    Returns:
        A heading and a table. `x floor` is the wall time over that of the fastest floor,
        `x Proctor` over that of Proctor's first row.
    """
    walls = {name: median(run.wall_s for run in runs) for name, runs in usages.items() if runs}
    floors = _walls_of(Kind.FLOOR, group, walls)
    proctors = _walls_of(Kind.PROCTOR, group, walls)
    rows = [
        _row(
            contestant,
            usages.get(contestant.name, ()),
            floor=min(floors, default=None),
            proctor=proctors[0] if proctors else None,
            fault=faults.get(contestant.name),
        )
        for contestant in group.contestants
    ]
    return "\n".join([f"### {group.title}", "", HEADER, *rows, ""])


def _walls_of(kind: Kind, group: Group, walls: Mapping[str, float]) -> list[float]:
    return [
        walls[contestant.name]
        for contestant in group.contestants
        if contestant.kind is kind and contestant.name in walls
    ]


def _row(
    contestant: Contestant,
    runs: Sequence[Usage],
    *,
    floor: float | None,
    proctor: float | None,
    fault: str | None,
) -> str:
    verdicts = fault or ("as expected" if contestant.reader else "")
    if not runs:
        return f"| {contestant.name} | 0 | - | - | - | | | | {verdicts} |"
    wall_s = median(run.wall_s for run in runs)
    peak_mb = median(run.peak_mb for run in runs)
    cells = (
        contestant.name,
        str(len(runs)),
        _spread([run.wall_s for run in runs]),
        _spread([run.cpu_s for run in runs]),
        f"{peak_mb:.0f}",
        _against(contestant.bar, wall_s=wall_s, peak_mb=peak_mb),
        _ratio(wall_s, floor),
        _ratio(wall_s, proctor),
        verdicts,
    )
    return f"| {' | '.join(cells)} |"


def _spread(values: Sequence[float]) -> str:
    middle = f"{median(values):.3f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.3f}-{max(values):.3f})"


def _ratio(value: float, base: float | None) -> str:
    return "" if base is None else f"{value / base:.1f}"


def _against(bar: Bar | None, *, wall_s: float, peak_mb: float) -> str:
    if bar is None:
        return ""
    limits = f"{bar.wall_s:g} s"
    within = wall_s <= bar.wall_s
    if bar.peak_mb is not None:
        limits += f", {bar.peak_mb:g} MB"
        within = within and peak_mb <= bar.peak_mb
    return f"{limits}: {'within' if within else 'over'}"
