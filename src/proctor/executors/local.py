"""Rows in this process, one after the other: what a replay needs, since nothing is waited for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proctor.protocols import RowRunner
from proctor.records import Case, RowResult


class LocalExecutor:
    """Runs rows in plan order in the calling thread."""

    def run(self, rows: Iterable[tuple[Case, int]], run_row: RowRunner) -> Iterator[RowResult]:
        """Yield one result per row, in the order of `rows`."""
        for case, repeat in rows:
            yield run_row(case, repeat)
