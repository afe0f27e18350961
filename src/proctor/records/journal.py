"""The journal of a run: its head, and a line for each row that has finished.

Field order is the key order of the stored format; a change here is a change of format.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from proctor.records.exam import MAX_REPEATS, Label, Thresholds
from proctor.records.recording import Usage
from proctor.records.report import DatasetReport, ExpectationResult, RowResult, Tool, Warn
from proctor.records.words import Amount, Count, Json, JsonObject, Sha256

JOURNAL_SCHEMA = "proctor.journal.v1"

MAX_SHARDS = 10_000
"""How many parts a run may have."""


class JournalSubject(Struct, frozen=True, forbid_unknown_fields=True):
    """What sits the exam; `prompt` is None for a target."""

    prompt: str | None
    bundle_sha256: str | None
    model: str
    params: JsonObject

    @property
    def id(self) -> str:
        """The subject's name: `<prompt id>@<model ref>`, or the model of a target."""
        return self.model if self.prompt is None else f"{self.prompt}@{self.model}"


class JournalJudge(Struct, frozen=True, forbid_unknown_fields=True):
    """Who judges in a suite: how often each answer is judged, by which models, for what."""

    runs: int
    models: list[str]
    assertions: list[str]


class JournalSuite(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a report says of a suite before its first row.

    Args:
        suite: The suite's name.
        tiers: Its tiers.
        repeats: How often each row is repeated.
        rows: How many rows are planned for each subject.
        dataset: The data.
        assertions: The ids of the assertions, in the order of the suite.
        thresholds: What the run must reach.
        judge: Who judges, None when nobody does.
        labels: What people say of answers, None when the suite names no file for that.
        warnings: What is to be known of the suite.
        suite_sha256: Over the suite as it is written.
        cases_sha256: Over the places of the cases that were selected.
        subjects: What sits the exam.
    """

    suite: str
    tiers: list[str]
    repeats: Annotated[int, Meta(ge=1, le=MAX_REPEATS)]
    rows: Count
    dataset: DatasetReport
    assertions: list[str]
    thresholds: Thresholds
    judge: JournalJudge | None
    labels: list[Label] | None
    warnings: list[Warn]
    suite_sha256: Sha256
    cases_sha256: Sha256
    subjects: list[JournalSubject]


ShardNumber = Annotated[int, Meta(ge=1, le=MAX_SHARDS)]


class ShardPlace(Struct, frozen=True, forbid_unknown_fields=True):
    """Which part of a run this is: the shards there are, those present, and its own number.

    `index` is None for what has been merged.
    """

    expected: ShardNumber
    present: list[ShardNumber]
    index: ShardNumber | None


class JournalHead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line: everything a report says that is known before the first row.

    Args:
        schema: `proctor.journal.v1`.
        tool: Which program wrote it.
        plan_sha256: Over what is run: suites, prompts, datasets, the selection, repeats.
        run: The id of the run; None when it has no folder of its own.
        project: The project's id.
        mode: Where answers come from.
        answers: Whether the report holds answers, inputs, expected values, evidence and reasons.
        shards: Which shard this is, None for a whole run.
        suites: What is run, in order.
    """

    schema: str
    tool: Tool
    plan_sha256: Sha256
    run: str | None
    project: str
    mode: str
    answers: bool
    shards: ShardPlace | None
    suites: list[JournalSuite]


class JournalCall(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A call of a judge that a row needed; `worst_cost_usd` is there when its cost is not known."""

    cost_usd: Amount | None
    asked: bool
    recording: str | None
    replied: bool
    worst_cost_usd: Amount | None


class JournalBuildCall(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The call that built something for a case."""

    usage: Usage | None
    cost_usd: Amount | None
    asked: bool
    recording: str | None
    worst_cost_usd: Amount | None


class JournalBuild(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What a row brings of the build that it is the first row of."""

    call: JournalBuildCall | None
    expectations: list[ExpectationResult]
    judge_calls: list[JournalCall]


class CaseFacts(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A case as a report has it, without its rows, and the order of what its rows are about."""

    tags: list[str]
    tiers: list[str]
    inputs: Json
    expected: Json
    expected_sha256: str | None
    scenarios: list[str]
    expectations: list[str]


class LabelledVerdict(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What judges decided of an answer that people have labelled; None without a verdict."""

    assertion: str
    verdict: Literal["pass", "fail"] | None
    answer_sha256: str


class JournalRow(
    Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True, omit_defaults=True
):
    """A row that has finished.

    Args:
        suite: The suite's name.
        subject: The subject's id.
        case: The id of the case.
        index: The 0-based place of the case in the dataset.
        scenario: Which scenario of the case.
        repeat: From 1.
        row: The row of the report.
        asked: Whether its answer was asked for now and not replayed.
        judge_calls: The calls of judges it needed, in the order of their votes.
        build: What it brings of a build.
        worst_cost_usd: What its answer may have cost at most, where that is needed.
        labelled: What judges decided of it where people have labelled it.
        facts: The case, on the first line of it in its suite.
    """

    suite: str
    subject: str
    case: str
    index: Count
    scenario: str | None
    repeat: Annotated[int, Meta(ge=1)]
    row: RowResult
    asked: bool
    judge_calls: list[JournalCall]
    build: JournalBuild | None = None
    worst_cost_usd: Amount | None = None
    labelled: list[LabelledVerdict] = []
    facts: CaseFacts | None = None
