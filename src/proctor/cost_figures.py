"""What a report says of money and tokens, subject by subject. What is not known is None, not 0."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from statistics import fmean, median

from msgspec import Struct

from proctor.records import CaseResult, ReportHead, Tokens


class CostFigures(Struct, frozen=True, kw_only=True):
    """The cost of one subject of a report, in USD.

    Args:
        suite: The suite.
        subject: The subject.
        answers: All answers whose cost is known.
        judges: All verdicts whose cost is known.
        unknown: Calls whose cost is not known.
        tokens: Of the answers.
        rows: Rows whose answer has a known cost; `mean` and `median` are theirs, without judges.
        green: Repeats in which every measured row passed.
        per_green: All that the subject cost over those repeats; None when there are none, or when
            some cost is not known.
    """

    suite: str
    subject: str
    answers: float | None
    judges: float | None
    unknown: int
    tokens: Tokens
    rows: int
    mean: float | None
    median: float | None
    green: int
    per_green: float | None


def cost_figures(
    head: ReportHead, cases: Iterable[tuple[int, int, CaseResult]]
) -> list[CostFigures]:
    """The figures of each subject of a report, in its order.

    Args:
        head: The head of the report.
        cases: All its cases after the places of their suite and subject; read to their end.
    """
    costs = {
        (place, number): array("d")
        for place, suite in enumerate(head.suites)
        for number in range(len(suite.subjects))
    }
    for place, number, case in cases:
        known = (row.cost_usd for row in case.rows if row.cost_usd is not None)
        costs[place, number].extend(known)
    return [_figures(head, place, number, known) for (place, number), known in costs.items()]


def _figures(head: ReportHead, place: int, number: int, known: array[float]) -> CostFigures:
    suite = head.suites[place]
    subject = suite.subjects[number]
    cost = subject.cost
    green = sum(1 for each in subject.per_repeat if each.measured and each.passed == each.measured)
    parts = [usd for usd in (cost.answers, cost.judges) if usd is not None]
    is_known = bool(parts) and not cost.unknown
    return CostFigures(
        suite=suite.suite,
        subject=subject.id,
        answers=cost.answers,
        judges=cost.judges,
        unknown=cost.unknown,
        tokens=subject.tokens,
        rows=len(known),
        mean=fmean(known) if known else None,
        median=median(known) if known else None,
        green=green,
        per_green=sum(parts) / green if is_known and green else None,
    )
