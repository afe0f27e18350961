"""Reports and comparisons of two reports as HTML."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.records import RenderOptions, encode_json
from proctor.records.comparison import Comparison
from proctor.rendering.html.charts import dearest, report_charts
from proctor.rendering.html.facts import comparison_facts, report_facts
from proctor.rendering.html.page import page
from proctor.rendering.report_json import render_json
from proctor.report_protocols import Report


def render_html(report: Report, options: RenderOptions) -> Iterator[bytes]:
    """The report as one page with all its cases; what it reads is the JSON report itself."""
    facts = encode_json({"report": report_facts(report, options.remarks), "comparison": None})
    yield from page(
        report_charts(report, "report", most_usd=dearest(report.head)),
        [("facts", [facts]), ("report", render_json(report, options))],
    )


def render_html_comparison(
    comparison: Comparison, baseline: Report, candidate: Report, options: RenderOptions
) -> Iterator[bytes]:
    """The same of two reports, whose answers stand side by side."""
    most = max(dearest(baseline.head), dearest(candidate.head))
    facts = encode_json(
        {
            "report": report_facts(candidate, options.remarks),
            "comparison": comparison_facts(comparison, baseline.head, candidate.head),
        }
    )
    yield from page(
        [
            *report_charts(candidate, "report", most_usd=most),
            *report_charts(baseline, "baseline", most_usd=most),
        ],
        [
            ("facts", [facts]),
            ("comparison", [encode_json(comparison)]),
            ("report", render_json(candidate, options)),
            ("baseline", render_json(baseline, options)),
        ],
    )
