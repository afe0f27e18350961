"""What a report says of money and tokens, subject by subject. What is not known is None, not 0."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from math import fsum, isclose
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
        builds: How often a case was built for and all that it was asked has a known cost; of a
            prompt, which builds nothing, how many answers have.
        mean: What one of those cost with all its rows, without judges. A report knows what all
            that was built cost together and not each by itself, so where that is not 0 the mean
            is over everything, and there is no `median`.
        median: The same.
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
    builds: int
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
        costs[place, number].extend(_known(case))
    return [_figures(head, place, number, known) for (place, number), known in costs.items()]


def _known(case: CaseResult) -> Iterator[float]:
    """What the rows of a case cost together in each repeat in which that is known."""
    by_repeat: dict[int, list[float | None]] = {}
    for row in case.rows:
        by_repeat.setdefault(row.repeat, []).append(row.cost_usd)
    for found in by_repeat.values():
        known = [usd for usd in found if usd is not None]
        if len(known) == len(found):
            yield fsum(known)


def _figures(head: ReportHead, place: int, number: int, known: array[float]) -> CostFigures:
    suite = head.suites[place]
    subject = suite.subjects[number]
    cost = subject.cost
    green = sum(1 for each in subject.per_repeat if each.measured and each.passed == each.measured)
    parts = [usd for usd in (cost.answers, cost.judges) if usd is not None]
    is_known = bool(parts) and not cost.unknown
    mean, middle = (fmean(known), median(known)) if known else (None, None)
    of_rows = fsum(known)
    if subject.prompt is None and cost.answers is not None and not isclose(cost.answers, of_rows):
        # What was built cost something as well, or the cost of some answer is not known.
        mean = cost.answers / len(known) if known and not cost.unknown else None
        middle = None
    return CostFigures(
        suite=suite.suite,
        subject=subject.id,
        answers=cost.answers,
        judges=cost.judges,
        unknown=cost.unknown,
        tokens=subject.tokens,
        builds=len(known),
        mean=mean,
        median=middle,
        green=green,
        per_green=sum(parts) / green if is_known and green else None,
    )
