"""Rows in this process, one after the other: what a replay needs, since nothing is waited for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proctor.protocols import PlannedRow, RowRunner
from proctor.records import RowResult


class LocalExecutor:
    """Runs rows in plan order in the calling thread."""

    def run(
        self, rows: Iterable[PlannedRow], run_row: RowRunner
    ) -> Iterator[tuple[PlannedRow, RowResult]]:
        """Yield each row with its result, in the order of `rows`."""
        for row in rows:
            yield row, run_row(row.case, row.repeat)
