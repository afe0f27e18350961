"""One report of the parts of a run: what one process would have written, byte for byte.

Nothing is added up here that was rounded before. The rows of all parts go through the code that
makes reports, in the order in which one process would have counted them.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from proctor.aggregating import SuiteFacts, SuiteTally, report_head
from proctor.errors import RunError
from proctor.part_claims import PartCounts, with_claims
from proctor.records import (
    AnySubject,
    ModelChoice,
    Prompt,
    Subject,
    SuiteReport,
    TargetSubject,
)
from proctor.records.journal import JournalSubject, ShardPlace
from proctor.recounting import recounted
from proctor.report_proofs import ReportProof
from proctor.reporting import CaseSpool, RunReport, SpoolStore, without_content
from proctor.run_parts import PartCase, PartSuite, RunPart

T = TypeVar("T")


class Merged(NamedTuple):
    """What parts of a run come to.

    Args:
        report: The report.
        missing: The numbers of the shards that there should be and are not.
    """

    report: RunReport
    missing: list[int]


def merge_parts(parts: Sequence[RunPart], *, expected: int | None = None, lost: int = 0) -> Merged:
    """One report of the parts of a run, whatever their order.

    Args:
        parts: Journals and reports, at least one.
        expected: How many shards there should be; None to go by what the parts say.
        lost: How many parts there were besides that could not be read.

    Raises:
        RunError: P6705 when parts overlap or are shards of different splits, P6707 when they are
            not of the same run.
        ReportError: P6901 when the rows of a journal contradict each other.
    """
    places = _places(parts, expected, lost)
    _require_one_run(parts)
    present = sorted(number for place in places for number in place.present)
    count = places[0].expected if places else 0
    there = frozenset(present)
    missing = [number for number in range(1, count + 1) if number not in there]
    if places:
        by_number = sorted(zip(places, parts, strict=True), key=lambda pair: pair[0].present)
        parts = [part for _, part in by_number]
    return Merged(
        _assembled(
            parts,
            ShardPlace(count, present, None) if missing else None,
            partial=bool(missing) or any(part.lacks_something for part in parts),
        ),
        missing,
    )


def report_of(part: RunPart) -> RunReport:
    """The report of a run or a shard of which rows may be missing.

    Raises:
        ReportError: P6901 when its rows contradict each other.
    """
    return _assembled([part], part.shards, partial=part.lacks_something)


def _places(parts: Sequence[RunPart], expected: int | None, lost: int) -> list[ShardPlace]:
    """Which shard each part is; nothing when there are no shards, and none is missing.

    Parts that do not say are numbered in their order when it is known how many there should be.
    """
    told = [part.shards for part in parts if part.shards is not None]
    if not told and (expected is not None or lost):
        count = len(parts) + lost if expected is None else expected
        if len(parts) > count:
            raise _overlap(f"{len(parts)} parts are more than the {count} shards that are expected")
        return [ShardPlace(count, [number], number) for number in range(1, len(parts) + 1)]
    if 0 < len(told) < len(parts):
        names = [part.name for part in parts if part.shards is None]
        raise _overlap(f"`{names[0]}` is no shard, and others are")
    owners: dict[int, str] = {}
    for part, place in zip(parts, told, strict=False):
        count = told[0].expected if expected is None else expected
        if place.expected != count:
            whose = f"`{parts[0].name}` of {count}" if expected is None else f"{count} are expected"
            raise _overlap(f"`{part.name}` is a shard of {place.expected}, {whose}")
        for number in place.present:
            if number in owners:
                raise _overlap(f"`{owners[number]}` and `{part.name}` are both shard {number}")
            owners[number] = part.name
    return told


def _overlap(message: str) -> RunError:
    return RunError(
        message,
        code="P6705",
        hint="give each shard of one run once; `proctor run --shard I/N` makes them",
    )


def _require_one_run(parts: Sequence[RunPart]) -> None:
    """Refuse parts of which one report could not say what they have in common.

    Raises:
        RunError: P6707 naming the part and what differs.
    """
    first = parts[0]
    suites: dict[str, PartSuite] = {}
    for part in parts:
        differs = None
        if (part.project, part.version) != (first.project, first.version):
            differs = "the project or the version of Proctor"
        for suite in part.suites:
            known = suites.setdefault(suite.facts.suite, suite)
            differs = differs or _difference(known, suite)
        if differs is not None:
            raise RunError(
                f"`{part.name}` is not of the same run as the parts before it: {differs} differs",
                code="P6707",
                hint="merge parts that were run with the same files and options",
            )


def _difference(one: PartSuite, other: PartSuite) -> str | None:
    """What two parts say differently of a suite that all parts of a run say alike."""
    mine, its = one.facts, other.facts
    data, its_data = mine.dataset, its.dataset
    for what, same in (
        ("the dataset", (data.path, data.sha256) == (its_data.path, its_data.sha256)),
        ("`repeats`", mine.repeats == its.repeats),
        ("`thresholds`", mine.thresholds == its.thresholds),
        ("who judges", mine.judge == its.judge),
        ("the list of assertions", mine.assertion_ids == its.assertion_ids),
        ("`tiers`", mine.tiers == its.tiers),
        ("`--cache`", mine.mode == its.mode),
        ("what is under test", list(one.subjects) == list(other.subjects)),
    ):
        if not same:
            return f"{what} of `{mine.suite}`"
    return None


class _Holder(NamedTuple):
    """A part that has a suite, and the place of the suite in it."""

    part: RunPart
    place: int

    @property
    def suite(self) -> PartSuite:
        """The suite."""
        return self.part.suites[self.place]


def _assembled(parts: Sequence[RunPart], shards: ShardPlace | None, *, partial: bool) -> RunReport:
    holders: dict[str, list[_Holder]] = {}
    for part in parts:
        for place, suite in enumerate(part.suites):
            holders.setdefault(suite.facts.suite, []).append(_Holder(part, place))
    store = SpoolStore()
    made = [_merged_suite(each, store) for each in holders.values()]
    head = report_head(
        [suite for suite, _ in made],
        project=parts[0].project,
        version=parts[0].version,
        partial=partial,
        shards=None if shards is None else msgspec.to_builtins(shards),
    )
    report = RunReport(head, [spools for _, spools in made])
    prove(report, ", ".join(part.name for part in parts))
    return report


def prove(report: RunReport, name: str) -> None:
    """Hold a report against its own rows, which somebody else may have written."""
    proof = ReportProof(report.head, name=name, where=name)
    for place, suite in enumerate(report.head.suites):
        for number in range(len(suite.subjects)):
            prove = proof.subject(place, number)
            for case in report.cases(place, number):
                prove(case)
    proof.finish()


def _merged_suite(
    holders: Sequence[_Holder], store: SpoolStore
) -> tuple[SuiteReport, list[CaseSpool]]:
    facts = _merged_facts([holder.suite.facts for holder in holders])
    tally = SuiteTally(facts)
    counts = [PartCounts(holder.suite, holder.part.name) for holder in holders]
    if all(holder.suite.claimed is None for holder in holders):
        counts = []
    spools: list[CaseSpool] = []
    for number, subject in enumerate(holders[0].suite.subjects):
        spool = CaseSpool(store)
        counted = tally.subject(_subject(subject))
        for each in counts:
            each.next_subject(_subject(subject))
        for which, found in _in_order(holders, number):
            if counts:
                counts[which].add(found)
            entry = recounted(found, tally, counted, subject.id)
            spool.add(entry if holders[which].part.answers else without_content(entry))
        spools.append(spool)
    return with_claims(tally.finish(), facts, counts), spools


def _in_order(holders: Sequence[_Holder], number: int) -> Iterator[tuple[int, PartCase]]:
    """The cases of a subject in the order of the dataset, each after the place of its part.

    Raises:
        RunError: P6705 when two parts have the same case.
    """
    streams = [_numbered(which, holder, number) for which, holder in enumerate(holders)]
    last: tuple[int, PartCase] | None = None
    for which, found in heapq.merge(*streams, key=lambda one: one[1].case.index):
        if last is not None and last[1].case.index == found.case.index:
            names = [holders[each].part.name for each in (last[0], which)]
            raise _overlap(
                f"`{names[0]}` and `{names[1]}` both have the case `{found.case.id}` of "
                f"`{holders[which].suite.facts.suite}`"
            )
        last = which, found
        yield last


def _numbered(which: int, holder: _Holder, number: int) -> Iterator[tuple[int, PartCase]]:
    return ((which, found) for found in holder.part.cases(holder.place, number))


def _merged_facts(facts: Sequence[SuiteFacts]) -> SuiteFacts:
    first = facts[0]
    return replace(
        first,
        rows=sum(one.rows or 0 for one in facts),
        dataset=replace(
            first.dataset,
            selected=sum(one.dataset.selected for one in facts),
            findings=_united([one.dataset.findings for one in facts]),
        ),
        labels=next((one.labels for one in facts if one.labels is not None), None),
        warnings=_united([one.warnings for one in facts]),
    )


def _united(lists: Sequence[list[T]]) -> list[T]:
    """What the parts say of the same thing: the list that all have, or what is in any of them."""
    if all(one == lists[0] for one in lists):
        return lists[0]
    return list(dict.fromkeys(each for one in lists for each in one))


def _subject(subject: JournalSubject) -> AnySubject:
    if subject.prompt is None:
        _, kind, name = (*subject.model.split(":", 2), "", "")[:3]
        return TargetSubject(kind=kind, name=name, bundle_sha256=subject.bundle_sha256 or "")
    prompt = Prompt(
        id=subject.prompt,
        path="",
        messages=(),
        inputs={},
        output=None,
        model=None,
        bundle_sha256=subject.bundle_sha256 or "",
    )
    return Subject(prompt=prompt, model=ModelChoice(ref=subject.model, params=subject.params))
