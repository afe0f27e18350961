"""Answers compared by judges as JSON, `proctor.pairwise.v1`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proctor.records import RenderOptions
from proctor.records.pairwise import PairAnswers, Pairwise
from proctor.rendering.report_json import indented


def render_pairwise_json(
    found: Pairwise, answers: Iterable[PairAnswers], options: RenderOptions
) -> Iterator[bytes]:
    """The comparison as indented JSON.

    The bytes depend on the two reports, the rubric and what the judges said. The answers are not
    among them, and `options`, which are about what people see, change nothing.
    """
    yield indented(found) + b"\n"
