"""Rows as sessions give them and as a journal keeps them: one made of the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import UNSET

from proctor.canonical import digest
from proctor.protocols import BuildCall, BuildPart, JudgeCall, RanRow
from proctor.records import Case, RowResult
from proctor.records.journal import (
    CaseFacts,
    JournalBuild,
    JournalBuildCall,
    JournalCall,
    JournalRow,
    LabelledVerdict,
)


class JournaledRow(NamedTuple):
    """A row that a journal has kept, with everything that a report needs to know of it."""

    result: RowResult
    asked: bool
    judge_calls: list[JudgeCall]
    build: BuildPart | None
    worst_cost_usd: float | None
    labelled: list[LabelledVerdict]


def journal_row(
    suite: str,
    subject: str,
    ran: RanRow,
    *,
    labelled: list[LabelledVerdict],
    facts: CaseFacts | None,
) -> JournalRow:
    """The line of a row that has finished.

    Args:
        suite: The suite's name.
        subject: The subject's id.
        ran: The row.
        labelled: What judges decided of it where people have labelled it.
        facts: Its case, on the first line of it.
    """
    planned, result = ran.planned, ran.result
    return JournalRow(
        suite=suite,
        subject=subject,
        case=planned.case.id,
        index=planned.place,
        scenario=result.scenario,
        repeat=result.repeat,
        row=result,
        asked=ran.asked,
        judge_calls=_kept_calls(ran.judge_calls),
        build=None if ran.build is None else _kept_build(ran.build),
        worst_cost_usd=ran.worst_cost_usd,
        labelled=labelled,
        facts=facts,
    )


def journaled_row(row: JournalRow) -> JournaledRow:
    """What a line says of its row."""
    build = row.build
    return JournaledRow(
        row.row,
        row.asked,
        _calls(row.judge_calls),
        None
        if build is None
        else BuildPart(
            None
            if build.call is None
            else BuildCall(
                build.call.usage,
                build.call.cost_usd,
                build.call.asked,
                build.call.recording,
                build.call.worst_cost_usd,
            ),
            build.expectations,
            _calls(build.judge_calls),
        ),
        row.worst_cost_usd,
        row.labelled,
    )


def case_facts(case: Case) -> CaseFacts:
    """A case as a report has it."""
    unset = case.expected is UNSET
    return CaseFacts(
        tags=case.tags,
        tiers=case.tiers,
        inputs=case.inputs,
        expected=None if unset else case.expected,
        expected_sha256=None if unset else digest(case.expected),
        scenarios=[scenario.name for scenario in case.scenarios],
        expectations=case.expectations,
    )


def recordings_asked_for(row: JournalRow) -> Iterator[str]:
    """The recordings that a row asked for, and did not find or share."""
    calls: list[tuple[bool, str | None]] = [(row.asked, row.row.recording)]
    judged = list(row.judge_calls)
    if row.build is not None:
        judged += row.build.judge_calls
        if row.build.call is not None:
            calls.append((row.build.call.asked, row.build.call.recording))
    calls += [(call.asked, call.recording) for call in judged]
    return (recording for asked, recording in calls if asked and recording is not None)


def _kept_build(build: BuildPart) -> JournalBuild:
    call = build.call
    return JournalBuild(
        call=None
        if call is None
        else JournalBuildCall(
            call.usage, call.cost_usd, call.asked, call.recording, call.worst_cost_usd
        ),
        expectations=list(build.expectations),
        judge_calls=_kept_calls(build.judge_calls),
    )


def _kept_calls(calls: Iterable[JudgeCall]) -> list[JournalCall]:
    return [
        JournalCall(call.cost_usd, call.asked, call.recording, call.replied, call.worst_cost_usd)
        for call in calls
    ]


def _calls(calls: Iterable[JournalCall]) -> list[JudgeCall]:
    return [
        JudgeCall(
            call.cost_usd,
            call.asked,
            call.recording,
            call.replied,
            worst_cost_usd=call.worst_cost_usd,
        )
        for call in calls
    ]
