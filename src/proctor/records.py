"""The nouns of Proctor as frozen structs: what flows between the stages and what is stored.

Three groups: the exam (`Prompt`, `Case`, `AssertionSpec`), a recording (`Recording`, one line of
a cassette), and the report (`ReportHead` down to `Check`). Field order is the key order of the
stored formats; a change there is a change of format.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict of them."""

JsonObject = dict[str, Any]

Sha256 = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Count = Annotated[int, Meta(ge=0)]
Amount = Annotated[float, Meta(ge=0)]
Identifier = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")]


class Outcome(StrEnum):
    """What became of a check, a row or a case."""

    PASSED = "passed"
    FAILED = "failed"
    ERRORED = "errored"
    UNMEASURED = "unmeasured"


class Verdict(StrEnum):
    """What a whole run says."""

    PASSED = "passed"
    FAILED = "failed"
    UNMEASURED = "unmeasured"
    INTERRUPTED = "interrupted"


class Severity(StrEnum):
    """Whether a failed check fails its row."""

    FAIL = "fail"
    WARN = "warn"


class Finish(StrEnum):
    """Why a model stopped."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    TOOL_CALLS = "tool_calls"
    REFUSAL = "refusal"
    OTHER = "other"


class CallKind(StrEnum):
    """What a recorded call was made for."""

    ANSWER = "answer"
    BUILD = "build"
    JUDGE = "judge"
    EXPECTATION = "expectation"
    PAIRWISE = "pairwise"


# The exam


class FieldSpec(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One field of an input or output contract, as written in a prompt."""

    type: Literal["string", "number", "integer", "boolean", "enum", "list", "object"]
    description: str | None = None
    options: Annotated[list[str], Meta(min_length=1)] | None = None
    default: Json | UnsetType = UNSET
    optional: bool = False
    items: FieldSpec | None = None
    fields: dict[str, FieldSpec] | None = None
    max_length: Annotated[int, Meta(ge=1)] | None = None


class Message(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    content: str


class ModelChoice(Struct, frozen=True, kw_only=True):
    """A model and everything sent to it beside the messages.

    `ref` is `<provider>/<name>`; `params` holds `maxTokens` and the provider's parameters.
    """

    ref: str
    params: JsonObject


class Prompt(Struct, frozen=True, kw_only=True):
    """A prompt of the project, read and valid. `path` is relative to the project root."""

    id: str
    path: str
    messages: tuple[Message, ...]
    inputs: dict[str, FieldSpec]
    output: dict[str, FieldSpec] | None
    model: ModelChoice | None
    bundle_sha256: str


class Subject(Struct, frozen=True, kw_only=True):
    """What sits the exam: a prompt on a model."""

    prompt: Prompt
    model: ModelChoice

    @property
    def id(self) -> str:
        """The subject's name in thresholds and messages: `<prompt id>@<model ref>`."""
        return f"{self.prompt.id}@{self.model.ref}"


class AssertionSpec(
    Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """The fields every assertion has. Each kind extends it with its own."""

    id: Identifier
    kind: str
    severity: Severity = Severity.FAIL
    negate: bool = False


class Case(Struct, frozen=True, gc=False):
    """One row of a dataset, its inputs typed and its defaults not yet filled in."""

    id: str
    inputs: JsonObject
    expected: Json | UnsetType = UNSET
    tags: list[str] = []
    tiers: list[str] = []
    metadata: JsonObject | None = None


class Thresholds(Struct, frozen=True, kw_only=True):
    """What a run must reach. Rates are shares of 1, the cost is in USD."""

    pass_rate: float = 1.0
    max_error_rate: float = 0.0
    min_measured: float = 1.0
    max_cost_usd: float | None = None


class Request(Struct, frozen=True, kw_only=True):
    """One call to a model, ready to be sent: the messages are rendered, nothing is a template."""

    model: ModelChoice
    messages: tuple[Message, ...]
    output_schema: JsonObject | None


# A recording


class ToolCall(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A call the model asked for. `args` is the raw string when it was not valid JSON."""

    id: str | None
    name: str
    args: JsonObject | str


class Answer(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What came back. `text` is None when the reply held no text at all."""

    text: str | None
    tool_calls: list[ToolCall]
    finish: Finish
    evidence: Json
    artifact: Json
    transcript: Json
    context: Json
    debug: Json
    turns: Count | None


class Usage(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Tokens of one call; None is unknown, never 0."""

    input: Count | None
    output: Count | None
    cached: Count | None


class KeyParts(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What a recording's key was made of, beside its own `call`, `model`, `take` and `v`."""

    prompt: Sha256
    inputs: Sha256
    params: JsonObject


class Provenance(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Where a recording came from. `on` is a UTC date."""

    provider: str
    host: str | None
    response_model: str | None
    on: Annotated[str, Meta(pattern=r"\A\d{4}-\d\d-\d\d\Z")]


class Recording(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One line of a cassette."""

    v: int
    key: Sha256
    model: str
    case: str | None
    scenario: str | None
    assertion: str | None
    call: CallKind
    take: Annotated[int, Meta(ge=1)]
    parts: KeyParts
    answer: Answer
    usage: Usage | None
    cost_usd: Amount | None
    latency_ms: Annotated[int, Meta(ge=0)] | Amount | None
    recorded: Provenance


class Answered(Struct, frozen=True, gc=False):
    """An answer together with what is known about the call that brought it.

    `recording` is the SHA-256 of its raw cassette line, None when it was not recorded.
    """

    answer: Answer
    recording: str | None
    usage: Usage | None
    cost_usd: float | None
    latency_ms: float | None


# The report


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
    latency_ms: float | None
    error: RowError | None


class Unit(Struct, frozen=True, gc=False):
    """What pass@k and comparisons count: measured rows `n` and how many of them passed."""

    n: int
    passed: int
    scenario: str | None | UnsetType = UNSET
    expectation: str | UnsetType = UNSET


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
    expectations: list[JsonObject]
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


class DatasetReport(Struct, frozen=True):
    """Which data was used: `path` is relative to the project root, `sha256` over its bytes."""

    path: str
    sha256: str
    cases: int
    selected: int
    allow: list[JsonObject]
    allow_pii: JsonObject | None
    findings: list[JsonObject]


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


class RenderOptions(Struct, frozen=True, kw_only=True):
    """How a report is shown: every case instead of the first 20, and with terminal colours."""

    all_cases: bool = False
    colour: bool = False


def encode_json(value: object) -> bytes:
    """JSON bytes of a struct or value, keys in the order they have.

    A lone surrogate, which UTF-8 cannot hold, is written as its `\\udxxx` escape.
    """
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        from json import dumps

        text = dumps(msgspec.to_builtins(value), ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")
