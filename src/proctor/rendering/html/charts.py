"""Charts as SVG. They hold numbers only, and the names they belong to stand beside them as text."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.records import Cost, Outcome, PassRate, ReportHead
from proctor.rendering.wording import money_text, share_text
from proctor.report_protocols import Report
from proctor.statistics import percent

_WIDTH, _HEIGHT = 240, 22
_OUTCOMES = (*(outcome.value for outcome in Outcome), "not_run")


def report_charts(report: Report, name: str, *, most_usd: float) -> Iterator[str]:
    """Every chart of a report.

    Args:
        report: The report.
        name: What the page calls it, `report` or `baseline`.
        most_usd: What the dearest subject of the page cost.
    """
    suites = report.head.suites
    subjects = [subject for suite in suites for subject in suite.subjects]
    totals = {
        outcome: sum(getattr(subject.counts, outcome) for subject in subjects)
        for outcome in _OUTCOMES
    }
    yield outcome_chart(totals, id_=f"{name}-outcomes")
    for place, suite in enumerate(suites):
        limits = {
            threshold.subject: threshold.limit
            for threshold in suite.thresholds
            if threshold.name == "passRate" and isinstance(threshold.limit, (int, float))
        }
        for number, subject in enumerate(suite.subjects):
            limit = limits.get(subject.id, limits.get(None))
            where = f"{name}-{place}-{number}"
            yield rate_chart(subject.pass_rate, limit, id_=f"{where}-rate")
            yield cost_chart(subject.cost, most_usd, id_=f"{where}-cost")


def dearest(head: ReportHead) -> float:
    """What the dearest subject of a report cost in USD, 0 when nothing is known."""
    costs = (_spent(subject.cost) or 0 for suite in head.suites for subject in suite.subjects)
    return max(costs, default=0)


def outcome_chart(totals: dict[str, int], *, id_: str) -> str:
    """How many rows have which outcome, as one bar."""
    rows = sum(totals.values())
    parts, start = [], 0.0
    for outcome, count in totals.items():
        if count:
            width = 1000 * count / rows
            parts.append(_bar(start, 0, width, 6, outcome))
            start += width
    said = ", ".join(
        f"{count} {outcome.replace('_', ' ')}" for outcome, count in totals.items() if count
    )
    parts.insert(0, _bar(0, 0, 1000, 6, "track"))
    return (
        f'<svg id="{id_}" class="chart outcomes" viewBox="0 0 1000 6" preserveAspectRatio="none" '
        f'role="img" aria-label="Rows: {said or "none"}">{"".join(parts)}</svg>'
    )


def rate_chart(rate: PassRate, limit: float | None, *, id_: str) -> str:
    """A pass rate with its interval, and where a threshold stands."""
    parts = [_bar(0, 7, _WIDTH, 8, "track")]
    whole = percent(rate.passed, rate.measured)
    if rate.rate is None or whole is None:
        said = "nothing measured"
    else:
        low, high = rate.interval
        parts.append(_bar(0, 7, _WIDTH * rate.rate, 8, "passed"))
        parts.append(
            f'<path class="interval" d="M{_x(low)} 11H{_x(high)}M{_x(low)} 6V16M{_x(high)} 6V16"/>'
        )
        said = f"{whole}%, 95% interval {share_text(low)} to {share_text(high)}"
    if limit is not None:
        parts.append(f'<path class="limit" d="M{_x(min(max(limit, 0), 1))} 1V21"/>')
        said += f", threshold {share_text(limit)}"
    return _chart(id_, f"Pass rate {said}", parts)


def cost_chart(cost: Cost, most: float, *, id_: str) -> str:
    """What answers and judges cost, as part of the dearest subject."""
    spent, start = _spent(cost), 0.0
    parts = [] if spent is None else [_bar(0, 7, _WIDTH, 8, "track")]
    for usd, kind in ((cost.answers, "answers"), (cost.judges, "judges")):
        if usd and most:
            width = _WIDTH * usd / most
            parts.append(_bar(start, 7, width, 8, kind))
            start += width
    said = "unknown" if spent is None else money_text(spent)
    if cost.judges:
        said += f", {money_text(cost.judges)} of it for judges"
    return _chart(id_, f"Cost {said}", parts)


def _spent(cost: Cost) -> float | None:
    """What is known of what answers and judges cost together, None when that is nothing."""
    if cost.answers is None:
        return cost.judges or None
    return cost.answers + (cost.judges or 0)


def _chart(id_: str, label: str, parts: list[str]) -> str:
    return (
        f'<svg id="{id_}" class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{label}">{"".join(parts)}</svg>'
    )


def _bar(start: float, top: float, width: float, height: float, kind: str) -> str:
    return (
        f'<rect class="{kind}" x="{start:.6g}" y="{top:g}" width="{width:.6g}" '
        f'height="{height:g}"/>'
    )


def _x(share: float) -> str:
    return f"{1 + (_WIDTH - 2) * share:.6g}"
