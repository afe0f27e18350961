"""What merged reports say that their rows do not: costs of judges, calls that were made, labels.

A report has the rows of a run and not everything about the calls that brought them. Where its rows
give another figure than it says, the sum of what the parts say is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
from msgspec.structs import asdict, replace

from proctor.aggregating import NO_PRICE, SubjectTally, SuiteFacts, SuiteTally, cost_warning
from proctor.errors import RunError
from proctor.records import (
    AnySubject,
    Cost,
    JsonObject,
    SubjectReport,
    SuiteReport,
    ThresholdReport,
    Tokens,
    Warn,
)
from proctor.recounting import recounted
from proctor.report_claims import COST_WARNING, agreement_of, base_warnings, without_unseen
from proctor.run_parts import PartCase, PartSuite
from proctor.strict_json import typed
from proctor.verdicts import AGREEMENT, agreement_thresholds, cost_threshold


class PartCounts:
    """Counts the rows of one part by itself.

    Args:
        suite: The suite of the part.
        name: What messages call the part.
    """

    def __init__(self, suite: PartSuite, name: str) -> None:
        self._suite = suite
        self._name = name
        self._tally = SuiteTally(suite.facts)
        self._subject: SubjectTally | None = None
        self._id = ""

    def next_subject(self, subject: AnySubject) -> None:
        """Start the next subject."""
        self._subject, self._id = self._tally.subject(subject), subject.id

    def add(self, found: PartCase) -> None:
        """Count the next case of the subject."""
        assert self._subject is not None  # noqa: S101 - a subject has been started
        recounted(found, self._tally, self._subject, self._id)

    def finish(self) -> tuple[SuiteReport, SuiteReport]:
        """What the part says of the suite, and what its rows give.

        Raises:
            RunError: P6704 for a report of which the recordings cannot be told from its rows.
        """
        made = self._tally.finish()
        said = self._suite.claimed or made
        if said.cache.digest != made.cache.digest:
            raise RunError(
                f"the report `{self._name}` does not hold all that was built, so it cannot be "
                "merged",
                code="P6704",
                hint="merge the journals of its runs instead: `rows.jsonl` in their folders",
            )
        return said, made


def with_claims(made: SuiteReport, facts: SuiteFacts, counts: Sequence[PartCounts]) -> SuiteReport:
    """A merged suite with what its parts say and its rows do not.

    Args:
        made: What all rows give.
        facts: What is known of the suite before its first row.
        counts: The parts, when one of them is a report.
    """
    if not counts:
        return made
    parts = [each.finish() for each in counts]
    said = [one for one, _ in parts]
    agreement = _agreement([one.judge for one in said])
    cost = next((each for each in made.thresholds if each.name == "maxCostUsd"), None)
    warnings = made.warnings
    if cost is not None:
        cost = _cost_threshold(cost, parts)
        known = base_warnings(warnings)
        unseen = [one for one in warnings if not without_unseen([one])]
        warnings = [*known, *_cost_warning(said), *unseen]
    return replace(
        made,
        judge=made.judge and {**made.judge, "agreement": agreement},
        cache=replace(
            made.cache,
            live=any(one.cache.live for one in said),
            replayed=sum(one.cache.replayed for one in said),
            recorded=sum(one.cache.recorded for one in said),
        ),
        thresholds=[
            *(
                cost if cost is not None and each.name == cost.name else each
                for each in made.thresholds
                if not each.name.startswith(AGREEMENT)
            ),
            *agreement_thresholds(
                facts.thresholds, agreement_of(made.judge and {"agreement": agreement})
            ),
        ],
        warnings=warnings,
        subjects=[
            _subject(one, [(claimed.subjects[n], found.subjects[n]) for claimed, found in parts])
            for n, one in enumerate(made.subjects)
        ],
    )


def _subject(
    made: SubjectReport, parts: Sequence[tuple[SubjectReport, SubjectReport]]
) -> SubjectReport:
    tokens, cost = made.tokens, made.cost
    pairs = [(said.tokens, found.tokens) for said, found in parts]
    costs = [(said.cost, found.cost) for said, found in parts]
    return replace(
        made,
        tokens=Tokens(
            input=_count(tokens.input, [(said.input, own.input) for said, own in pairs]),
            output=_count(tokens.output, [(said.output, own.output) for said, own in pairs]),
            cached=_count(tokens.cached, [(said.cached, own.cached) for said, own in pairs]),
            unknown=sum(said.unknown for said, _ in pairs),
        ),
        cost=Cost(
            answers=_usd(cost.answers, [(said.answers, own.answers) for said, own in costs]),
            judges=_usd(cost.judges, [(said.judges, own.judges) for said, own in costs]),
            paid=_usd(cost.paid, [(said.paid, own.paid) for said, own in costs]),
            replayed=_usd(cost.replayed, [(said.replayed, own.replayed) for said, own in costs]),
            unknown=sum(said.unknown for said, _ in costs),
        ),
    )


def _count(made: int | None, parts: Sequence[tuple[int | None, int | None]]) -> int | None:
    """A sum of tokens: what all rows give, or what the parts say where their own rows do not."""
    if all(said == found for said, found in parts):
        return made
    known = [said for said, _ in parts if said is not None]
    return sum(known) if known else None


def _usd(made: float | None, parts: Sequence[tuple[float | None, float | None]]) -> float | None:
    """The same of money."""
    if all(said == found for said, found in parts):
        return made
    known = [said for said, _ in parts if said is not None]
    return math.fsum(known) if known else None


def _cost_threshold(
    made: ThresholdReport, parts: Sequence[tuple[SuiteReport, SuiteReport]]
) -> ThresholdReport:
    """The threshold on the cost of a suite, whose calls may have cost what only the parts know."""
    actual = [(_cost_of(said), _cost_of(found)) for said, found in parts]
    if any(said is None for said, _ in actual):
        return cost_threshold(made.limit, None)
    return cost_threshold(made.limit, _usd(made.actual, actual))


def _cost_of(suite: SuiteReport) -> float | None:
    return next(each.actual for each in suite.thresholds if each.name == "maxCostUsd")


def _cost_warning(said: Sequence[SuiteReport]) -> list[Warn]:
    """What the parts say together of calls whose cost is not known."""
    counts: dict[str, int] = {}
    for suite in said:
        for warning in suite.warnings:
            match = COST_WARNING.fullmatch(warning.message)
            if match is not None:
                counts[match[2]] = counts.get(match[2], 0) + int(match[1])
    if not counts:
        return []
    what = NO_PRICE if NO_PRICE in counts else next(iter(counts))
    return [Warn(code=None, message=cost_warning(counts[what], what), where=None)]


def _agreement(judges: Sequence[JsonObject | None]) -> JsonObject | None:
    """How far judges agree with people, over the answers of all parts."""
    found = [one["agreement"] for one in judges if one is not None and one["agreement"] is not None]
    if not found:
        return None
    from proctor.judging.labels import AgreementCounts

    counts = [typed(one, AgreementCounts) for one in found]
    used = [replace(one, not_judged=0) for one in counts]
    # Every part has every label, and counts those as not judged that others have judged.
    labels = max(sum(asdict(one).values()) for one in counts)
    sums = {name: sum(asdict(one)[name] for one in used) for name in asdict(counts[0])}
    sums["not_judged"] = max(0, labels - sum(sums.values()))
    figures: JsonObject = msgspec.to_builtins(AgreementCounts(**sums).figures())
    return figures
