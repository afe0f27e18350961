"""The seams of reports: reading one again, and showing it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from proctor.records import CaseResult, Outcome, RenderOptions, ReportHead

if TYPE_CHECKING:
    from proctor.records.comparison import Comparison
    from proctor.records.pairwise import PairAnswers, Pairwise


class Cases(Protocol):
    """The cases of one subject of a report, which can be read again and again."""

    def __len__(self) -> int:
        """How many cases there are."""
        ...

    def __iter__(self) -> Iterator[CaseResult]:
        """Each case, in dataset order."""
        ...

    def lines(self) -> Iterator[bytes]:
        """Each case as its compact JSON, in dataset order."""
        ...

    def count(self, *outcomes: Outcome) -> int:
        """How many cases have one of these outcomes."""
        ...

    def having(self, *outcomes: Outcome) -> Iterator[CaseResult]:
        """Only the cases with one of these outcomes."""
        ...


class Renderer(Protocol):
    """Turns a report into UTF-8 chunks; it touches no file and no terminal."""

    def __call__(self, report: Report, options: RenderOptions) -> Iterator[bytes]:
        """Yield the report piece by piece."""
        ...


class ComparisonRenderer(Protocol):
    """Turns a comparison into UTF-8 chunks; it touches no file and no terminal."""

    def __call__(self, comparison: Comparison, options: RenderOptions) -> Iterator[bytes]:
        """Yield the comparison piece by piece."""
        ...


class SideBySideRenderer(Protocol):
    """Turns a comparison and what was compared into UTF-8 chunks; it touches no file either."""

    def __call__(
        self, comparison: Comparison, baseline: Report, candidate: Report, options: RenderOptions
    ) -> Iterator[bytes]:
        """Yield the comparison piece by piece, with the answers of both reports."""
        ...


class PairwiseRenderer(Protocol):
    """Turns answers compared by judges into UTF-8 chunks; it touches no file and no terminal."""

    def __call__(
        self, found: Pairwise, answers: Iterable[PairAnswers], options: RenderOptions
    ) -> Iterator[bytes]:
        """Yield it piece by piece; `answers` are what was compared, in any order."""
        ...


class Report(Protocol):
    """A report: its head, and per suite and subject the cases."""

    head: ReportHead

    def cases(self, suite: int, subject: int) -> Cases:
        """The cases of one subject, by its place in `head.suites[suite].subjects`."""
        ...
