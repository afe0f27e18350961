"""The seams of trackers: what is being done while it is done, and whoever is told of rows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Protocol, TypeVar

from msgspec import Struct

from proctor.protocols import PlannedRow, Question, RanRow
from proctor.records import AnySubject
from proctor.report_protocols import Report

T = TypeVar("T")


class SpanKind(StrEnum):
    """What takes time in a row."""

    BUILD = "build"
    """A target builds for a case; comes to a `Reply`."""
    SCENARIO = "scenario"
    """A row is answered and checked; comes to a `RowResult`."""
    AGENT_SCENARIO = "agent_scenario"
    """The same, answered by what was built."""
    JUDGE = "judge"
    """A judge is asked, inside of a row; comes to a `Heard`."""


class Span(Struct, frozen=True, kw_only=True):
    """Something that takes time.

    Args:
        kind: What it is.
        subject: Who is asked.
        suite: The suite's name; None for a judge, who is asked inside of a row.
        row: The row, of a build the first one that needs it; None for a judge.
        question: What a judge is asked.
    """

    kind: SpanKind
    subject: AnySubject
    suite: str | None = None
    row: PlannedRow | None = None
    question: Question | None = None


class Wrap(Protocol):
    """Does something that takes time, and notes when, where and what came of it."""

    async def __call__(self, span: Span, lane: str | None, fn: Callable[[], Awaitable[T]]) -> T:
        """What `fn` comes to; whatever goes wrong with noting it changes nothing of that.

        Args:
            span: What it is.
            lane: The backend it is done on, None when there is none.
            fn: Does it.
        """
        ...


async def unwrapped(span: Span, lane: str | None, fn: Callable[[], Awaitable[T]]) -> T:
    """What `fn` comes to, and nobody is told."""
    return await fn()


class Tracker(Protocol):
    """Somebody outside who is told of a run. No method raises, and none but `close` waits."""

    async def wrap(self, span: Span, lane: str | None, fn: Callable[[], Awaitable[T]]) -> T:
        """As `Wrap`."""
        ...

    def finished(self, suite: str, subject: AnySubject, ran: RanRow) -> None:
        """A row of a live run has finished."""
        ...

    def reported(self, report: Report, sha256: str) -> None:
        """All rows have been run.

        Args:
            report: The report.
            sha256: The SHA-256 of its bytes as JSON.
        """
        ...

    def close(self) -> None:
        """Send what has not been sent; takes 5 seconds at most."""
        ...
