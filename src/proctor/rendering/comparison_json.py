"""The comparison as JSON, `proctor.comparison.v1`."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.records import RenderOptions
from proctor.records.comparison import Comparison
from proctor.rendering.report_json import indented


def render_comparison_json(comparison: Comparison, options: RenderOptions) -> Iterator[bytes]:
    """The comparison as indented JSON; `options`, which are about what people see, change nothing.

    The bytes depend on the two reports and on what was asked.
    """
    yield indented(comparison) + b"\n"
