"""Rows in this process, in order: what a replay needs, since nothing is waited for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from proctor.protocols import PlannedRow, RowsRunner
from proctor.records import RowResult

BATCH = 64
"""Rows that go through each step together; the steps then stay in the processor's caches."""


class LocalExecutor:
    """Runs rows in plan order in the calling thread."""

    def run(
        self, rows: Iterable[PlannedRow], run_rows: RowsRunner
    ) -> Iterator[list[tuple[PlannedRow, RowResult]]]:
        """Yield the rows with their results a batch at a time, in the order of `rows`."""
        left = iter(rows)
        while batch := list(islice(left, BATCH)):
            yield list(zip(batch, run_rows(batch), strict=True))
