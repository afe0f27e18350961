"""The words of reports about thresholds, and about the part of a run that they are of."""

from __future__ import annotations

from typing import NamedTuple

from proctor.records import ReportHead, ThresholdReport
from proctor.rendering.escaping import terminal_text
from proctor.rendering.wording import money_text, number_text
from proctor.verdicts import AGREEMENT

_AT_MOST = frozenset({"maxCostUsd", "maxErrorRate"})
_DISAGREES = "P6602"


def part_text(head: ReportHead) -> str | None:
    """Which part of a run a report is of; None for a whole one."""
    if head.partial:
        return "This report is partial: a shard is missing."
    if head.shards is None:
        return None
    index, expected = head.shards.get("index"), head.shards.get("expected")
    if not isinstance(index, int) or not isinstance(expected, int):
        return "This report is of a part of a run."
    return f"This is shard {index} of {expected}."


class ThresholdWords(NamedTuple):
    """What a threshold is called, what it asks for, and what there is; None: not available."""

    name: str
    asked: str
    actual: str | None


def threshold_words(threshold: ThresholdReport) -> ThresholdWords:
    """A threshold in words that tell an unmet limit from what is there."""
    show = money_text if threshold.name == "maxCostUsd" else number_text
    bound = "at most" if threshold.name in _AT_MOST else "at least"
    name, bar = threshold.name, threshold.limit
    if isinstance(bar, dict):
        name, bar = f"{name} at k = {bar['k']}", bar["min"]
    if threshold.actual is None:
        return ThresholdWords(name, f"{bound} {show(bar)}", None)
    actual, limit = show(threshold.actual), show(bar)
    if actual == limit and threshold.met is False:
        actual, limit = repr(threshold.actual), repr(bar)
    return ThresholdWords(name, f"{bound} {limit}", actual)


def threshold_text(threshold: ThresholdReport, *, name_subject: bool) -> str | None:
    """What is wrong with a threshold, or None when it is met; escaped."""
    if threshold.met:
        return None
    is_agreement = threshold.name.startswith(AGREEMENT)
    name, asked, actual = threshold_words(threshold)
    if name_subject and threshold.subject is not None:
        name = f"{name} of {terminal_text(threshold.subject)}"
    if actual is None:
        why = ", too few labels" if is_agreement else ""
        return f"not available: {name}, {asked} is asked for{why}"
    if threshold.met is None:
        return f"cannot be told: {name} is {actual} so far, {asked} is asked for"
    code = f" {_DISAGREES}:" if is_agreement else ""
    return f"not met:{code} {name} is {actual}, {asked} is asked for"
