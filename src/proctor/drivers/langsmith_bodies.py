"""What LangSmith is told of a row, as the bodies of requests. Names and figures, and no content.

Content is what people and models wrote: inputs, expected values, answers and reasons. It is in a
body only when that was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID, uuid5

from msgspec import Struct

from proctor.protocols import PlannedRow
from proctor.records import (
    AtK,
    Case,
    CaseResult,
    Json,
    JsonObject,
    Outcome,
    RowResult,
    SubjectReport,
    Usage,
)

_NAMES: Final = UUID("7a0e7f6c-3f0b-5c58-9a43-5f2f7c1f0d11")
"""What the ids of experiments are made from; rows have theirs from those, so that they repeat."""

_SCORES = {Outcome.PASSED: 1, Outcome.FAILED: 0}
MARK: Final = "proctor_report_sha256"
"""The key, among the metadata of an experiment, of the report that all of its rows are of."""


class Place(Struct, frozen=True):
    """What an experiment is of: a subject of a suite."""

    suite: str
    subject: str


class SentCase(Struct, frozen=True):
    """What is told of a case."""

    index: int
    id: str
    tags: Sequence[str]
    inputs: Json
    expected: Json

    @classmethod
    def planned(cls, row: PlannedRow) -> SentCase:
        """The case of a row that has just been run."""
        case: Case = row.whole or row.case
        return cls(row.place, case.id, case.tags, case.inputs, case.expected)

    @classmethod
    def reported(cls, case: CaseResult) -> SentCase:
        """A case of a report."""
        return cls(case.index, case.id, case.tags, case.inputs, case.expected)


class Timed(Struct, frozen=True, kw_only=True):
    """Something inside of a row that took time.

    Args:
        name: `build` or `judge`.
        began: When.
        ended: When.
        lane: Where, None when that has no name.
        error: The class of what went wrong, None when nothing did.
        model: The model that was asked.
        usage: The tokens it took.
        assertion: The assertion that a judge was asked for.
    """

    name: str
    began: datetime
    ended: datetime
    lane: str | None = None
    error: str | None = None
    model: str | None = None
    usage: Usage | None = None
    assertion: str | None = None


class SentRow(Struct, frozen=True, kw_only=True):
    """A row with what is known of the time it took.

    Args:
        case: Its case.
        row: The row as the report has it.
        name: `scenario` or `agent_scenario`.
        began: When it began.
        ended: When it ended.
        lane: Where it was answered.
        inside: What took time in it.
    """

    case: SentCase
    row: RowResult
    name: str
    began: datetime
    ended: datetime
    lane: str | None = None
    inside: Sequence[Timed] = ()

    @property
    def key(self) -> tuple[int, str | None, int]:
        """What tells it from the other rows of its subject."""
        return self.case.index, self.row.scenario, self.row.repeat

    def run_id(self, session: UUID) -> UUID:
        """Its id in an experiment."""
        return uuid5(session, "\n".join(map(str, self.key)))


def session_id(run: str, prefix: str, place: Place) -> UUID:
    """The id of an experiment, always the same for a subject of a run.

    Args:
        run: What tells the run from others.
        prefix: What its name begins with.
        place: The subject.
    """
    return uuid5(_NAMES, f"{run}\n{prefix}\n{place.suite}\n{place.subject}")


def example_id(dataset: UUID, case: str) -> UUID:
    """The id of a case in a dataset, by the id of the case."""
    return uuid5(dataset, case)


def example_body(case: SentCase, dataset: UUID, *, content: bool) -> JsonObject:
    """A case as an example of a dataset."""
    inputs: Json = {"case": case.id}
    outputs: Json = None
    if content and case.inputs is not None:
        inputs = _as_object(case.inputs, "inputs")
        outputs = None if case.expected is None else _as_object(case.expected, "expected")
    return {
        "id": str(example_id(dataset, case.id)),
        "dataset_id": str(dataset),
        "inputs": inputs,
        "outputs": outputs,
        "metadata": {"case": case.id, "tags": list(case.tags)},
    }


def run_bodies(
    sent: SentRow, session: UUID, example: UUID, *, content: bool
) -> Iterator[JsonObject]:
    """A row and what took time in it, as runs of a trace."""
    row, id_ = sent.row, sent.run_id(session)
    order = _order(sent.began, id_)
    answer = row.answer
    yield {
        "id": str(id_),
        "trace_id": str(id_),
        "dotted_order": order,
        "session_id": str(session),
        "reference_example_id": str(example),
        "name": sent.name,
        "run_type": "chain",
        "start_time": sent.began.isoformat(),
        "end_time": sent.ended.isoformat(),
        "inputs": _as_object(sent.case.inputs, "inputs") if content else {},
        "outputs": {"answer": answer.text} if content and answer is not None else {},
        "error": _error(row, content=content),
        "extra": {
            "metadata": _present(
                case=sent.case.id,
                scenario=row.scenario,
                repeat=row.repeat,
                outcome=row.outcome.value,
                attribution=row.attribution,
                lane=sent.lane,
                usage_metadata=_usage(row.usage),
            )
        },
    }
    for number, timed in enumerate(sent.inside):
        inner = uuid5(id_, f"{number}")
        yield {
            "id": str(inner),
            "trace_id": str(id_),
            "parent_run_id": str(id_),
            "dotted_order": f"{order}.{_order(timed.began, inner)}",
            "session_id": str(session),
            "name": timed.name,
            "run_type": "llm" if timed.name == "judge" else "chain",
            "start_time": timed.began.isoformat(),
            "end_time": timed.ended.isoformat(),
            "inputs": {},
            "outputs": {},
            "error": timed.error,
            "extra": {
                "metadata": _present(
                    lane=timed.lane,
                    assertion=timed.assertion,
                    ls_model_name=timed.model,
                    usage_metadata=_usage(timed.usage),
                )
            },
        }


def feedback_bodies(sent: SentRow, session: UUID, *, content: bool) -> Iterator[JsonObject]:
    """What is said of a row, each under a key of its own; null is not known."""
    row = sent.row
    turns = None if row.answer is None else row.answer.turns
    id_ = sent.run_id(session)
    said: list[tuple[str, Json, str | None, str | None]] = [
        ("case_pass", _SCORES.get(row.outcome), None, None),
        ("failure_category", None, row.category, None),
        ("cost_usd", row.cost_usd, None, None),
        ("turns", turns, None, None),
    ]
    for check in row.checks:
        reasons = [check.reason, *(vote.reason for vote in check.votes)]
        comment = "\n".join(one for one in reasons if one) if content else None
        said.append((f"check.{check.id}", _SCORES.get(check.outcome), None, comment or None))
    for key, score, value, comment in said:
        yield {
            "id": str(uuid5(id_, key)),
            "run_id": str(id_),
            "trace_id": str(id_),
            "session_id": str(session),
            "key": key,
            "score": score,
            "value": value,
            "comment": comment,
            "created_at": sent.ended.isoformat(),
            "modified_at": sent.ended.isoformat(),
            "feedback_source": {"type": "api", "metadata": {}},
        }


def summary_bodies(subject: SubjectReport, session: UUID) -> Iterator[JsonObject]:
    """What is said of all rows of an experiment: the score is that of the largest k."""
    for key, found in (("pass_at_k", subject.pass_at_k), ("pass_hat_k", subject.pass_hat_k)):
        last: AtK | None = max(found, key=lambda one: one.k, default=None)
        yield {
            "id": str(uuid5(session, key)),
            "run_id": None,
            "session_id": str(session),
            "key": key,
            "score": None if last is None else last.value,
            "value": {str(one.k): one.value for one in found} or None,
            "feedback_source": {"type": "api", "metadata": {}},
        }


def began(ended: datetime, latency_ms: float | None) -> datetime:
    """When a row began of which only its end and the latency of its answer are known."""
    return ended - timedelta(milliseconds=latency_ms or 0)


def _order(began: datetime, id_: UUID) -> str:
    return f"{began:%Y%m%dT%H%M%S%f}Z{id_}"


def _error(row: RowResult, *, content: bool) -> str | None:
    if row.error is None:
        return None
    return f"{row.error.code}: {row.error.message}" if content else row.error.code


def _usage(usage: Usage | None) -> JsonObject | None:
    if usage is None:
        return None
    total = None
    if usage.input is not None and usage.output is not None:
        total = usage.input + usage.output
    return _present(input_tokens=usage.input, output_tokens=usage.output, total_tokens=total)


def _present(**members: Json) -> JsonObject:
    return {key: value for key, value in members.items() if value is not None}


def _as_object(value: Json, name: str) -> JsonObject:
    return value if isinstance(value, dict) else {name: value}
