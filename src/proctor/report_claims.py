"""What a report says that does not follow from its rows: who judges, labels, limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from proctor.aggregating import AT_WORST, NO_PRICE, JudgeFacts
from proctor.case_results import UNSEEN
from proctor.records import (
    Json,
    JsonObject,
    RowResult,
    SuiteReport,
    Thresholds,
    Warn,
    model_answer,
)
from proctor.strict_json import typed
from proctor.verdicts import AGREEMENT

if TYPE_CHECKING:
    from proctor.judging.labels import AgreementFigures

COST_WARNING = re.compile(rf"(\d+) calls? had ({NO_PRICE}|{AT_WORST})")
"""What a suite says of calls whose cost is not known."""

_UNSEEN_WARNING = re.compile(rf"\d+ expectations? {re.escape(UNSEEN)}")

_LIMITS = {
    "passRate": "pass_rate",
    "maxErrorRate": "max_error_rate",
    "minMeasured": "min_measured",
    "maxCostUsd": "max_cost_usd",
    "passAtK": "pass_at_k",
    "passHatK": "pass_hat_k",
}


class _JudgedAssertion(Struct):
    id: str


class _Judge(Struct):
    runs: int
    models: list[str]
    assertions: list[_JudgedAssertion]
    agreement: Json


def judge_facts_of(claimed: JsonObject | None) -> JudgeFacts | None:
    """Who judges in a suite, by its report.

    Raises:
        ValueError: When it is no judge.
    """
    if claimed is None:
        return None
    try:
        judge = typed(claimed, _Judge)
    except msgspec.ValidationError:
        raise ValueError("is no judge") from None
    ids = [one.id for one in judge.assertions]
    return JudgeFacts(runs=judge.runs, models=judge.models, assertions=ids)


def agreement_of(claimed: JsonObject | None) -> AgreementFigures | None:
    """What follows from the counts of labels, which no row knows anything about.

    Raises:
        ValueError: When they are no such counts.
    """
    if claimed is None or claimed["agreement"] is None:
        return None
    from proctor.judging.labels import AgreementCounts

    try:
        return typed(claimed["agreement"], AgreementCounts).figures()
    except msgspec.ValidationError:
        raise ValueError("has an agreement that is none") from None


def limits_of(claimed: SuiteReport) -> Thresholds:
    """The limits that a suite says it has.

    Raises:
        ValueError: When one of them is none.
    """
    given: JsonObject = {}
    for threshold in claimed.thresholds:
        of_agreement = threshold.name.removeprefix(AGREEMENT)
        if of_agreement != threshold.name:
            given.setdefault("judge_agreement", {})[of_agreement] = threshold.limit
        elif threshold.name in _LIMITS:
            given[_LIMITS[threshold.name]] = threshold.limit
        else:
            raise ValueError(f"has the unknown name `{threshold.name}`")
    try:
        limits = typed(given, Thresholds)
    except msgspec.ValidationError:
        raise ValueError("has a limit of the wrong type") from None
    for at_k in (limits.pass_at_k, limits.pass_hat_k):
        if at_k is not None and at_k.k > claimed.repeats:
            raise ValueError(f"asks for k = {at_k.k} of {claimed.repeats} repeats")
    return limits


def base_warnings(warnings: Sequence[Warn]) -> list[Warn]:
    """The warnings of a suite that were known before its first row."""
    counted = without_unseen(warnings)
    return [one for one in counted if not COST_WARNING.fullmatch(one.message)]


def without_unseen(warnings: Iterable[Warn]) -> list[Warn]:
    """The warnings of a suite but for that on its expectations, which follows from its cases."""
    return [one for one in warnings if not _UNSEEN_WARNING.fullmatch(one.message)]


def as_counted(row: RowResult) -> RowResult:
    """A row as it was counted: a report without answers hides whether there was one."""
    hidden = row.recording is not None or row.usage is not None or row.latency_ms is not None
    if row.error is None or row.answer is not None or not hidden:
        return row
    return replace(row, answer=model_answer(None))
