"""Rows that came scenario by scenario, held until they can be told case by case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from proctor.protocols import BuildPart, JudgeCall, PlannedRow, RanRow
from proctor.records import BUILD_ONLY, RowResult, encode_json
from proctor.reporting import SpoolStore, read_spooled

_decoder = msgspec.json.Decoder(RowResult)


class HeldRows:
    """The rows of one subject in the order in which they are run.

    What was answered goes to a spool, so memory does not grow with the size of answers.
    """

    def __init__(self) -> None:
        self._store = SpoolStore()
        self._rows: dict[int, list[_Held]] = {}

    def add(self, ran: RanRow) -> None:
        """Hold a row.

        Raises:
            UsageError: P6004 when the temporary folder has no room.
        """
        line = encode_json(ran.result)
        start = self._store.append(line)
        held = _Held(
            ran.planned,
            start,
            len(line),
            ran.asked,
            ran.judge_calls,
            ran.build,
            ran.worst_cost_usd,
        )
        self._rows.setdefault(ran.planned.place, []).append(held)

    def by_case(self) -> Iterator[list[RanRow]]:
        """The rows of one case after the other, in the order of the dataset.

        Within a case scenario by scenario as it names them, each repeat by repeat.
        """
        for place in sorted(self._rows):
            rows = self._rows.pop(place)
            names = _names(rows[0].planned)
            rows.sort(key=lambda held: (names.index(_name(held.planned)), held.planned.repeat))
            yield [
                RanRow(
                    held.planned,
                    self._result(held),
                    held.asked,
                    held.judge_calls,
                    held.build,
                    held.worst_cost_usd,
                )
                for held in rows
            ]

    def _result(self, held: _Held) -> RowResult:
        return read_spooled(self._store.read(held.start, held.length), _decoder, RowResult)


class _Held(NamedTuple):
    planned: PlannedRow
    start: int
    length: int
    asked: bool
    judge_calls: Sequence[JudgeCall]
    build: BuildPart | None
    worst_cost_usd: float | None


def _names(planned: PlannedRow) -> list[str | None]:
    whole = planned.whole or planned.case
    return [one.name for one in whole.scenarios] or [None, BUILD_ONLY]


def _name(planned: PlannedRow) -> str | None:
    return None if planned.scenario is None else planned.scenario.name
