"""The comparison of two reports.

Field order is the key order of the stored format; a change here is a change of format.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from proctor.records.report import PassRate, Warn
from proctor.records.words import Outcome

COMPARISON_SCHEMA = "proctor.comparison.v1"


class Label(StrEnum):
    """What became of a unit between two reports, in the order in which units are listed."""

    HARD_REGRESSION = "hard_regression"
    SOFT_REGRESSION = "soft_regression"
    IMPROVEMENT = "improvement"
    WATCH = "watch"
    UNRELIABLE_BASELINE = "unreliable_baseline"
    STABLE = "stable"
    INSUFFICIENT_DATA = "insufficient_data"


class ComparisonVerdict(StrEnum):
    """What a comparison says."""

    CLEAN = "clean"
    REGRESSED = "regressed"
    CANNOT_TELL = "cannot_tell"


class Mode(StrEnum):
    """What makes a comparison red: every change for the worse, or what chance cannot explain."""

    STRICT = "strict"
    NOISE_AWARE = "noise-aware"


class GateKind(StrEnum):
    """What a gate looks at.

    `aggregate` is the test over all units together, `unit` the one of each unit by itself. `cases`
    is red when a case that passed does not pass now, `rate` when the pass rate of a subject fell by
    more than is tolerated, `missing` when something of the baseline is not there any more.
    """

    AGGREGATE = "aggregate"
    UNIT = "unit"
    CASES = "cases"
    RATE = "rate"
    MISSING = "missing"


class ComparedReport(Struct, frozen=True):
    """One of the two reports: the SHA-256 of its bytes, and the project it is of."""

    report_sha256: str
    project: str


class GateResult(Struct, frozen=True):
    """One gate: red when its p is at most its alpha, and what it looks at got worse.

    Both are None for gates that count instead. The p of `unit` is the least of those units that
    fell far enough, None when there are none.
    """

    kind: GateKind
    p: float | None
    alpha: float | None
    red: bool


class ComparedSubject(Struct, frozen=True):
    """Which subject of a report, in which of its suites; `prompt` is None for a target."""

    suite: str
    prompt: str | None
    model: str

    @property
    def id(self) -> str:
        """The subject's name, as reports have it."""
        return self.model if self.prompt is None else f"{self.prompt}@{self.model}"


class SubjectMatch(Struct, frozen=True):
    """The two subjects that are compared; one is None when it is in one report only."""

    baseline: ComparedSubject | None
    candidate: ComparedSubject | None


class Rates(Struct, frozen=True):
    """The pass rate of a subject in each report, over that report's own cases."""

    baseline: PassRate | None
    now: PassRate | None


class SingleRows(Struct, frozen=True):
    """How units of one row a side changed, and McNemar's two-sided p."""

    units: int
    worse: int
    better: int
    p: float


class UnitRows(Struct, frozen=True):
    """The rows of a unit in one report; `planned` counts those that were not measured too."""

    passed: int
    measured: int
    planned: int


class UnitComparison(Struct, frozen=True):
    """A unit that is not stable.

    `p` is Fisher's, one-sided against a regression. `flagged` is set when the gate on single units
    is red because of it.
    """

    id: str
    scenario: str | None
    expectation: str | None
    label: Label
    now: UnitRows
    baseline: UnitRows
    p: float
    flagged: bool


class CaseChange(Struct, frozen=True):
    """A case whose outcome is another now."""

    id: str
    baseline: Outcome
    now: Outcome


class SubjectComparison(Struct, frozen=True):
    """One subject in both reports.

    `compared` counts the cases that are in both and expect the same; `delta` is the mean change of
    their units, with its interval where one can be given. `single` is None when rows were repeated.
    `fell` says whether the pass rate fell by more than is tolerated.
    """

    match: SubjectMatch
    rates: Rates
    compared: int
    delta: float | None
    interval: tuple[float, float] | None
    single: SingleRows | None
    fell: bool
    units: list[UnitComparison]
    regressed: list[CaseChange]
    recovered: list[CaseChange]
    added: list[str]
    removed: list[str]
    changed: list[str]


class Share(Struct, frozen=True):
    """How many of the measured rows."""

    count: int
    rows: int


class Drift(Struct, frozen=True):
    """How often a failure category occurs in each report; `notable` when that clearly changed."""

    match: SubjectMatch
    category: str
    baseline: Share
    now: Share
    notable: bool


class Detection(Struct, frozen=True):
    """Which drop of the pass rate would be found four times in five, were all rows independent.

    `rate` is the baseline's over the units of both reports, `rows` the fewer of both sides, and
    `smallest` the smallest drop in whole points that so many rows find. `drop` is the one that was
    asked for, and `rows_needed` what it takes: None when the rate cannot fall that far.
    """

    rate: float | None
    rows: int
    smallest: float | None
    drop: float | None
    rows_needed: int | None


class Comparison(Struct, frozen=True):
    """Two reports, what became of each unit, and what that says.

    `labels` counts units, `by_chance` says how many of each there would be if nothing had changed.
    `one_answer` counts units whose repeats are one and the same answer in both reports, so that
    they count as one row a side. `doubts` says why a comparison cannot tell.
    """

    schema: str
    baseline: ComparedReport
    candidate: ComparedReport
    verdict: ComparisonVerdict
    exit_code: int
    mode: Mode
    tolerance: float
    gates: list[GateResult]
    detection: Detection
    subjects: list[SubjectComparison]
    drift: list[Drift]
    labels: dict[Label, int]
    by_chance: dict[Label, float]
    one_answer: int
    doubts: list[str]
    warnings: list[Warn]
