"""The report, from its head down to a vote.

Field order is the key order of the stored format; a change here is a change of format.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType

from proctor.records.exam import AllowedPii, AllowedRule
from proctor.records.recording import Answer, Usage
from proctor.records.words import Json, JsonObject, Outcome, Severity, Verdict


class Vote(Struct, frozen=True, gc=False):
    """One judge run: its verdict, None when it gave none that counts."""

    verdict: str | None
    reason: str | None
    model: str | None
    recording: str | None


class Check(Struct, frozen=True, gc=False):
    """The result of one assertion on one answer.

    `reason` is a short code, followed by `: ` and the place in the answer where there is one.
    `evidence` is an object for people and tools: `expected`, `got`, `path` and the like.
    """

    id: str
    kind: str
    outcome: Outcome
    severity: Severity = Severity.FAIL
    reason: str | None = None
    evidence: JsonObject | None = None
    votes: list[Vote] = []


class RowError(Struct, frozen=True, gc=False):
    """Why a row could not be answered."""

    code: str
    message: str


class RowResult(Struct, frozen=True, gc=False):
    """One row of the report: one repeat of one case by one subject."""

    scenario: str | None
    repeat: int
    outcome: Outcome
    category: str | None
    attribution: str | None
    answer: Answer | None
    recording: str | None
    checks: list[Check]
    usage: Usage | None
    cost_usd: float | None
    latency_ms: int | float | None
    error: RowError | None


class ExpectationResult(Struct, frozen=True, gc=False):
    """What judges said of one statement about what was built, in one repeat."""

    text: str
    repeat: int
    outcome: Outcome
    votes: list[Vote]


class Unit(Struct, frozen=True, kw_only=True, gc=False):
    """What pass@k and comparisons count: measured rows `n` and how many of them passed."""

    scenario: str | UnsetType | None = UNSET
    expectation: str | UnsetType = UNSET
    n: int
    passed: int


class CaseResult(Struct, frozen=True, gc=False):
    """One case of one subject. `expected_sha256` is None when the case has no `expected`."""

    index: int
    id: str
    tags: list[str]
    tiers: list[str]
    outcome: Outcome
    flaky: bool
    inputs: Json
    expected: Json
    expected_sha256: str | None
    units: list[Unit]
    expectations: list[ExpectationResult]
    rows: list[RowResult]


class Counts(Struct, frozen=True):
    """Rows by outcome; `rows` is their sum, `not_run` included."""

    cases: int
    rows: int
    passed: int
    failed: int
    errored: int
    unmeasured: int
    not_run: int


class PassRate(Struct, frozen=True):
    """`passed` of `measured` rows; `rate` is None when nothing was measured."""

    passed: int
    measured: int
    rate: float | None
    interval: tuple[float, float]


class CheckCounts(Struct, frozen=True):
    """How often one assertion came out which way."""

    passed: int
    failed: int
    errored: int
    unmeasured: int


class RepeatRate(Struct, frozen=True):
    """The rate of one repeat over its measured rows."""

    repeat: int
    passed: int
    measured: int


class AtK(Struct, frozen=True):
    """A pass@k or pass^k: its mean over `units`, and how many units had too few rows."""

    k: int
    value: float | None
    units: int
    not_available: int


class Tokens(Struct, frozen=True):
    """Sums over calls whose usage is known; None when none is. `unknown` counts the others."""

    input: int | None
    output: int | None
    cached: int | None
    unknown: int


class Cost(Struct, frozen=True):
    """USD. A sum over calls none of which has a known cost is None; `unknown` counts calls."""

    answers: float | None
    judges: float | None
    paid: float | None
    replayed: float | None
    unknown: int


class SubjectReport(Struct, frozen=True):
    """One subject's results without its cases, which are kept apart and read again."""

    prompt: str | None
    bundle_sha256: str | None
    model: str
    params: JsonObject
    counts: Counts
    pass_rate: PassRate
    pass_at_k: list[AtK]
    pass_hat_k: list[AtK]
    per_repeat: list[RepeatRate]
    checks: dict[str, CheckCounts]
    categories: dict[str, int]
    tokens: Tokens
    cost: Cost

    @property
    def id(self) -> str:
        """The subject's name: `<prompt id>@<model ref>`, or the model of a target."""
        return self.model if self.prompt is None else f"{self.prompt}@{self.model}"


class Finding(Struct, frozen=True, gc=False):
    """What the safety scan found in a case of a dataset, and where the case is; never the text.

    `case` is None when the case's id is what was found.
    """

    rule: str
    code: str
    file: str
    line: int
    case: str | None


class DatasetReport(Struct, frozen=True):
    """Which data was used: `path` is relative to the project root, `sha256` over its bytes."""

    path: str
    sha256: str
    cases: int
    selected: int
    allow: list[AllowedRule]
    allow_pii: AllowedPii | None
    findings: list[Finding]


class CacheReport(Struct, frozen=True):
    """How answers came about. `replayed` and `recorded` count calls, a shared one at each use."""

    mode: str
    live: bool
    replayed: int
    recorded: int
    digest: str


class ThresholdReport(Struct, frozen=True):
    """One threshold; `actual` and `met` are None when it is not available."""

    name: str
    subject: str | None
    limit: Json
    actual: float | None
    met: bool | None


class Warn(Struct, frozen=True):
    """Something to know that stops nothing."""

    code: str | None
    message: str
    where: str | None


class SuiteReport(Struct, frozen=True):
    """One suite's results."""

    suite: str
    tiers: list[str]
    repeats: int
    judge: JsonObject | None
    dataset: DatasetReport
    cache: CacheReport
    thresholds: list[ThresholdReport]
    warnings: list[Warn]
    subjects: list[SubjectReport]


class Tool(Struct, frozen=True):
    """Which program wrote a report."""

    name: str
    version: str


REPORT_SCHEMA = "proctor.report.v1"


class ReportHead(Struct, frozen=True):
    """A report without its cases."""

    schema: str
    tool: Tool
    project: str
    verdict: Verdict
    exit_code: int
    partial: bool
    shards: JsonObject | None
    suites: list[SuiteReport]


class Remark(Struct, frozen=True, kw_only=True):
    """What is said of a report that does not follow from it alone: a gate, a comparison.

    `met` is None when it cannot be told. `word` stands first where words are coloured.
    """

    met: bool | None
    word: str
    text: str


class RenderOptions(Struct, frozen=True, kw_only=True):
    """How a report is shown: every case instead of the first 20, and with terminal colours.

    `remarks` stand right below the verdict where people read; they may hold data.
    """

    all_cases: bool = False
    colour: bool = False
    remarks: Sequence[Remark] = ()
