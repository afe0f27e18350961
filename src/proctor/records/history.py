"""The figures of a run that are kept."""

from __future__ import annotations

import re

from msgspec import Struct

RUN_ID = re.compile(r"(\d{4})(\d\d)(\d\d)t(\d\d)(\d\d)(\d\d)z-[0-9a-f]{6}")
"""The id of a run: its time in UTC, and six random digits."""


class StoredRun(Struct, frozen=True, kw_only=True):
    """What one run says of one subject.

    Args:
        run: The id of the run, which begins with its time.
        suite: The suite.
        subject: The subject.
        verdict: Of the whole run.
        passed: Rows that passed.
        measured: Rows with a verdict.
        planned: All rows.
        cost_usd: What its calls cost when they were made; None when no cost is known.
        unknown_costs: Calls whose cost is not known.
    """

    run: str
    suite: str
    subject: str
    verdict: str
    passed: int
    measured: int
    planned: int
    cost_usd: float | None
    unknown_costs: int

    @property
    def at(self) -> str:
        """When the run began, in UTC."""
        match = RUN_ID.fullmatch(self.run)
        if match is None:
            return ""
        year, month, day, hour, minute, second = match.groups()
        return f"{year}-{month}-{day}T{hour}:{minute}:{second}Z"

    @property
    def rate(self) -> float | None:
        """The pass rate, None when nothing was measured."""
        return self.passed / self.measured if self.measured else None
