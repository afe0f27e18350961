"""Figures of runs as text, JSON and SVG: what they cost, and how they went over time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from xml.sax.saxutils import escape

import msgspec

from proctor.cost_figures import CostFigures
from proctor.records import Json, encode_json
from proctor.records.history import StoredRun
from proctor.rendering.escaping import terminal_line, terminal_text
from proctor.rendering.wording import money_text, share_text, shortened
from proctor.rendering.xml_text import xml_text

DASH = "-"
_NAME_LENGTH = 80
_WIDTH, _HEIGHT, _LEFT, _TOP, _LINE = 640, 200, 48, 16, 18
_COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#e377c2")


def text_table(rows: Sequence[Sequence[str]], *, left: int = 1) -> Iterator[str]:
    """Rows as lines in columns, the first row being the head.

    Args:
        rows: Cells that are safe to print.
        left: How many columns, from the first, stand at their left; the others at their right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield terminal_line("  ".join(cells).rstrip())


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8")


def _usd(value: float | None) -> str:
    return DASH if value is None else money_text(value)


def _count(value: int | None) -> str:
    return DASH if value is None else f"{value:,}"


def render_costs(reports: Sequence[tuple[str, Sequence[CostFigures]]]) -> bytes:
    """What reports cost, for people; a dash stands for what is not known.

    Args:
        reports: The name of each, and the figures of its subjects.
    """
    head = ("suite", "subject", "answers", "judges", "unknown", "in", "out", "cached")
    more = ("mean/build", "median/build", "per green repeat")
    lines: list[str] = []
    for name, figures in reports:
        lines += [terminal_line(terminal_text(name))] if len(reports) > 1 else []
        rows: list[tuple[str, ...]] = [(*head, *more)]
        for one in figures:
            tokens = (one.tokens.input, one.tokens.output, one.tokens.cached)
            rows.append(
                (
                    shortened(one.suite, _NAME_LENGTH),
                    shortened(one.subject, _NAME_LENGTH),
                    _usd(one.answers),
                    _usd(one.judges),
                    str(one.unknown),
                    *map(_count, tokens),
                    _usd(one.mean),
                    _usd(one.median),
                    _usd(one.per_green),
                )
            )
        lines += text_table(rows, left=2)
    return _lines(lines)


def render_costs_json(reports: Sequence[tuple[str, Sequence[CostFigures]]]) -> bytes:
    """The same as JSON; null stands for what is not known."""
    listed = [{"report": name, "subjects": msgspec.to_builtins(one)} for name, one in reports]
    return encode_json({"reports": listed}) + b"\n"


def render_history(runs: Sequence[StoredRun]) -> bytes:
    """How runs went, oldest first, for people."""
    rows = [("run", "suite", "subject", "passed", "rate", "cost")]
    for one in runs:
        unknown = f" ({one.unknown_costs} unknown)" if one.unknown_costs else ""
        rows.append(
            (
                terminal_text(one.run),
                shortened(one.suite, _NAME_LENGTH),
                shortened(one.subject, _NAME_LENGTH),
                f"{one.passed}/{one.measured}",
                DASH if one.rate is None else share_text(one.rate),
                f"{_usd(one.cost_usd)}{unknown}",
            )
        )
    return _lines(text_table(rows, left=3))


def render_history_json(runs: Sequence[StoredRun]) -> bytes:
    """The same as JSON."""
    listed: list[Json] = [
        {**msgspec.to_builtins(one), "at": one.at, "rate": one.rate} for one in runs
    ]
    return encode_json({"runs": listed}) + b"\n"


def render_history_svg(runs: Sequence[StoredRun]) -> bytes:
    """The pass rates as an SVG: a line for each subject, from the oldest run to the newest.

    Runs stand at equal distances, whenever they were. Where nothing was measured a line has a gap.
    """
    places = {run: place for place, run in enumerate(dict.fromkeys(one.run for one in runs))}
    subjects: dict[str, list[StoredRun]] = {}
    for one in runs:
        subjects.setdefault(f"{one.suite}: {one.subject}", []).append(one)
    height = _TOP + _HEIGHT + _LINE * (len(subjects) + 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + _TOP}" '
        f'height="{height}" font-family="sans-serif" font-size="12">',
        "<title>Pass rate by run</title>",
    ]
    for percent in (0, 50, 100):
        y = _TOP + _HEIGHT * (100 - percent) / 100
        parts.append(f'<path d="M{_LEFT} {y:g}H{_LEFT + _WIDTH}" stroke="#ccc"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:g}" text-anchor="end">{percent}%</text>')
    for number, (name, found) in enumerate(subjects.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        parts += _line(found, places, colour)
        y = _TOP + _HEIGHT + _LINE * (number + 2)
        said = escape(xml_text(name[: 2 * _NAME_LENGTH]))
        parts.append(f'<text x="{_LEFT}" y="{y}" fill="{colour}">{said}</text>')
    return _lines([*parts, "</svg>"])


def _line(found: Sequence[StoredRun], places: dict[str, int], colour: str) -> Iterator[str]:
    step = _WIDTH / max(1, len(places) - 1)
    points = [
        None
        if one.rate is None
        else (round(_LEFT + step * places[one.run], 1), round(_TOP + _HEIGHT * (1 - one.rate), 1))
        for one in found
    ]
    for is_gap, together in groupby(points, key=lambda point: point is None):
        if not is_gap:
            joined = " ".join(f"{point[0]:g},{point[1]:g}" for point in together if point)
            yield f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for point in points:
        if point is not None:
            yield f'<circle cx="{point[0]:g}" cy="{point[1]:g}" r="3" fill="{colour}"/>'
