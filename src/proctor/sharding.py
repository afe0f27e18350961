"""Splitting a run over several machines: which cases each of them runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from heapq import heapify, heapreplace
from pathlib import Path
from typing import Self

import msgspec
from msgspec import Struct

from proctor.errors import UsageError
from proctor.records import CaseResult, encode_json
from proctor.records.journal import MAX_SHARDS
from proctor.safe_io import MEBIBYTE, open_regular, reason_of
from proctor.strict_json import JsonProblem, parse_json

MAX_TIMINGS = 64 * MEBIBYTE
MAX_SECONDS = 10**9
"""Of one case, so that no sum of them leaves the range of a float."""

_WRITTEN = re.compile(r"([1-9]\d{0,4})/([1-9]\d{0,4})\Z")


class Shard(Struct, frozen=True, kw_only=True):
    """One part of a run, which is split by case.

    A case is in the same shard in every suite, and all shards together have every case once.

    Args:
        index: Its number, from 1.
        count: How many there are.
        seconds: How long cases take, by their ids, as far as that is known.
    """

    index: int
    count: int
    seconds: Mapping[str, float] = {}

    @classmethod
    def parse(cls, text: str, *, seconds: Mapping[str, float] | None = None) -> Self:
        """A shard as people write it: `2/4`.

        Raises:
            ValueError: When it is none.
        """
        match = _WRITTEN.match(text)
        index, count = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= index <= count <= MAX_SHARDS:
            raise ValueError(f"write it as `2/4`, the second of four, of at most {MAX_SHARDS}")
        return cls(index=index, count=count, seconds=seconds or {})

    def split(self, ids: Iterable[str]) -> frozenset[str]:
        """Those of the cases of a run that are in this shard.

        The longest goes first, each to the shard that has least so far. A case of which nothing is
        known takes as long as the median of the others.
        """
        # Only who splits a run needs it, and it takes long to load.
        from statistics import median

        cases = set(ids)
        known = [self.seconds[case] for case in cases if case in self.seconds]
        usual = median(known) if known else 1.0
        weights = {case: self.seconds.get(case, usual) for case in cases}
        # By the number of cases as well, so that those that take no time are spread too.
        loads = [(0.0, 0, index) for index in range(1, self.count + 1)]
        heapify(loads)
        own: set[str] = set()
        for case in sorted(cases, key=lambda case: (-weights[case], case)):
            load, held, index = loads[0]
            heapreplace(loads, (load + weights[case], held + 1, index))
            if index == self.index:
                own.add(case)
        return frozenset(own)


def read_timings(path: Path) -> dict[str, float]:
    """How long cases take, in seconds, by their ids.

    Raises:
        UsageError: P6002 when the file is not what `proctor cost --timings` writes.
        FileError: P6805 for a link, folder or device.
    """
    try:
        with open_regular(path) as file:
            data = file.read(MAX_TIMINGS + 1)
    except OSError as error:
        raise _no_timings(path, f"cannot be read: {reason_of(error)}") from error
    if len(data) > MAX_TIMINGS:
        raise _no_timings(path, "is larger than 64 MiB")
    try:
        value = parse_json(data)
    except JsonProblem as problem:
        raise _no_timings(path, problem.detail) from None
    if not isinstance(value, dict):
        raise _no_timings(path, "is not an object")
    for seconds in value.values():
        is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
        if not is_number or not 0 <= seconds <= MAX_SECONDS:
            raise _no_timings(path, "holds something else than seconds")
    return {case: float(seconds) for case, seconds in value.items()}


def _no_timings(path: Path, what: str) -> UsageError:
    return UsageError(
        f"the timings `{path.name}` {what}",
        code="P6002",
        hint="`proctor cost REPORT --timings FILE` writes them: `{case: seconds}`",
        where=str(path),
    )


class CaseTimes:
    """How long the cases of reports took: the mean over the reports that have them."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}

    def of(
        self, cases: Iterable[tuple[int, int, CaseResult]]
    ) -> Iterator[tuple[int, int, CaseResult]]:
        """The cases of one report as they come, each noted on the way.

        All rows of a case count, of every suite and subject, as far as their latency is known.
        """
        taken: dict[str, float] = {}
        for suite, subject, case in cases:
            for row in case.rows:
                if row.latency_ms is not None:
                    taken[case.id] = taken.get(case.id, 0.0) + row.latency_ms / 1000
            yield suite, subject, case
        for id_, seconds in taken.items():
            self._seconds.setdefault(id_, []).append(seconds)

    def render(self) -> bytes:
        """The seconds of each case as JSON, sorted by its id."""
        from statistics import fmean

        means = {id_: round(fmean(self._seconds[id_]), 3) for id_ in sorted(self._seconds)}
        return msgspec.json.format(encode_json(means), indent=2) + b"\n"
