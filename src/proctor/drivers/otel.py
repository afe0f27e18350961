"""The tracker OpenTelemetry: a span for each row, build and judge, in whatever this process traces.

The names are those of its conventions for generative AI, and `proctor.*` for what these lack.
Content is there only when that was asked for: inputs, expected values, answers and reasons.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Final, TypeVar

from proctor.errors import ProviderError
from proctor.protocols import Heard, RanRow
from proctor.records import (
    Answer,
    AnySubject,
    Check,
    Outcome,
    Reply,
    RowResult,
    TargetSubject,
    Usage,
    encode_json,
)
from proctor.report_protocols import Report
from proctor.running.faults import Raised, caught
from proctor.scrubbing import SECRETS
from proctor.tracker_protocols import Span, SpanKind
from proctor.version import VERSION

T = TypeVar("T")
Attributes = Mapping[str, str | int | float | bool | list[str]]

_OPERATIONS: Final = {
    SpanKind.BUILD: "create_agent",
    SpanKind.AGENT_SCENARIO: "invoke_agent",
    SpanKind.JUDGE: "chat",
}
_SCORES = {Outcome.PASSED: 1.0, Outcome.FAILED: 0.0}
EVENT: Final = "gen_ai.evaluation.result"


class OpenTelemetry:
    """Makes spans with the tracer provider that is configured in this process.

    Args:
        content: Whether inputs, expected values, answers and reasons are in them.
        note: Takes one line for the reader.

    Raises:
        ProviderError: P6301 when the API of OpenTelemetry is not installed.
    """

    def __init__(self, *, content: bool, note: Callable[[str], None]) -> None:
        try:
            self._trace: Any = import_module("opentelemetry.trace")
        except ImportError as error:
            raise ProviderError(
                "`--otel` needs `opentelemetry-api`, which is not installed",
                code="P6301",
                hint="install it with `pip install 'proctor[otel]'`",
            ) from error
        self._content, self._note = content, note
        self._fault: str | None = None
        if isinstance(self._trace.get_tracer_provider(), self._trace.ProxyTracerProvider):
            note(
                "`--otel`: nothing is traced, because no tracer provider is configured in this "
                "process; `opentelemetry-instrument proctor run ...` configures one"
            )
        self._tracer: Any = self._trace.get_tracer("proctor", VERSION)

    async def wrap(self, span: Span, lane: str | None, fn: Callable[[], Awaitable[T]]) -> T:
        """What `fn` comes to, inside of a span of its own."""
        begun = await caught(self._begin(span, lane))
        if isinstance(begun, Raised):
            self._failed(begun.error)
            return await fn()
        made, token = begun
        found: T | Raised | None = None
        try:
            found = await caught(fn())
        finally:
            # It ends as well when whoever waits is cancelled.
            ended = await caught(self._end(made, token, found))
            if isinstance(ended, Raised):
                self._failed(ended.error)
        if isinstance(found, Raised):
            raise found.error
        return found

    def finished(self, suite: str, subject: AnySubject, ran: RanRow) -> None:
        """Nothing: its span has ended."""

    def reported(self, report: Report, sha256: str) -> None:
        """Make spans of rows that were replayed; they take no time."""
        for place, suite in enumerate(report.head.suites):
            if suite.cache.live:
                continue
            for number, subject in enumerate(suite.subjects):
                for case in report.cases(place, number):
                    for row in case.rows:
                        about: dict[str, Any] = {
                            "proctor.suite": suite.suite,
                            "proctor.subject": subject.id,
                            "proctor.case": case.id,
                            "proctor.repeat": row.repeat,
                            "proctor.replayed": True,
                        }
                        if row.scenario is not None:
                            about["proctor.scenario"] = row.scenario
                        if self._content:
                            about |= self._told(case.inputs, case.expected)
                        self._replayed(about, row)

    def close(self) -> None:
        """Say what went wrong; whoever configured the tracer provider sees to its end."""
        if self._fault is not None:
            self._note(f"warning: otel: {self._fault}")
            self._fault = None

    def _replayed(self, about: Attributes, row: RowResult) -> None:
        try:
            span = self._tracer.start_span(SpanKind.SCENARIO.value, attributes=_clean(about))
            self._tell(span, row)
            span.end()
        except Exception as error:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        self._fault = self._fault or f"making a span failed: {type(error).__name__}"

    async def _begin(self, span: Span, lane: str | None) -> tuple[Any, Any]:
        from opentelemetry import context

        about = dict(_about(span))
        if lane is not None:
            about["proctor.lane"] = lane
        if self._content and span.row is not None:
            about |= self._told(span.row.case.inputs, span.row.case.expected)
        made = self._tracer.start_span(span.kind.value, attributes=_clean(about))
        return made, context.attach(self._trace.set_span_in_context(made))

    async def _end(self, made: Any, token: Any, found: object) -> None:  # noqa: ANN401 - of the API
        from opentelemetry import context

        context.detach(token)
        try:
            if isinstance(found, Raised):
                self._mark(made, type(found.error).__name__)
            elif isinstance(found, RowResult):
                self._tell(made, found)
            elif isinstance(found, Reply):
                self._tell_call(made, found.answer, found.usage, found.cost_usd)
            elif isinstance(found, Heard):
                reply = found.reply
                made.set_attribute("proctor.replayed", not found.asked)
                self._tell_call(made, reply.answer, reply.usage, reply.cost_usd)
        finally:
            made.end()

    def _tell(self, span: Any, row: RowResult) -> None:  # noqa: ANN401 - of the API
        """What became of a row, and of each of its checks."""
        about: dict[str, Any] = {"proctor.outcome": row.outcome.value}
        for name, value in (("category", row.category), ("attribution", row.attribution)):
            if value is not None:
                about[f"proctor.{name}"] = value
        span.set_attributes(_clean(about))
        self._tell_call(span, row.answer, row.usage, row.cost_usd)
        if row.error is not None:
            self._mark(span, row.error.code)
        for check in row.checks:
            span.add_event(EVENT, _clean(dict(self._evaluation(check))))

    def _tell_call(
        self,
        span: Any,  # noqa: ANN401 - of the API
        answer: Answer | None,
        usage: Usage | None,
        cost_usd: float | None,
    ) -> None:
        about: dict[str, Any] = dict(_usage(usage))
        if cost_usd is not None:
            about["proctor.cost_usd"] = cost_usd
        if answer is not None:
            about["gen_ai.response.finish_reasons"] = [answer.finish.value]
            if answer.turns is not None:
                about["proctor.turns"] = answer.turns
            if self._content and answer.text is not None:
                said = {
                    "role": "assistant",
                    "parts": [{"type": "text", "content": answer.text}],
                    "finish_reason": answer.finish.value,
                }
                about["gen_ai.output.messages"] = json.dumps([said])
        span.set_attributes(_clean(about))

    def _mark(self, span: Any, error: str) -> None:  # noqa: ANN401 - of the API
        span.set_attribute("error.type", error)
        span.set_status(self._trace.StatusCode.ERROR)

    def _evaluation(self, check: Check) -> Iterator[tuple[str, Any]]:
        yield "gen_ai.evaluation.name", check.id
        yield "gen_ai.evaluation.score.label", check.outcome.value
        if check.outcome in _SCORES:
            yield "gen_ai.evaluation.score.value", _SCORES[check.outcome]
        reasons = [check.reason, *(vote.reason for vote in check.votes)]
        explanation = "\n".join(one for one in reasons if one)
        if self._content and explanation:
            yield "gen_ai.evaluation.explanation", explanation

    def _told(self, inputs: object, expected: object) -> dict[str, Any]:
        return {
            "proctor.inputs": encode_json(inputs).decode("utf-8"),
            "proctor.expected": encode_json(expected).decode("utf-8"),
        }


def _about(span: Span) -> Iterator[tuple[str, Any]]:
    subject, row, question = span.subject, span.row, span.question
    if span.suite is not None:
        yield "proctor.suite", span.suite
    yield "proctor.subject", subject.id
    operation = _OPERATIONS.get(span.kind)
    if isinstance(subject, TargetSubject):
        yield "gen_ai.operation.name", operation or "invoke_agent"
        yield "gen_ai.agent.name", subject.name
    else:
        provider, _, model = subject.model.ref.partition("/")
        yield "gen_ai.operation.name", operation or "chat"
        yield "gen_ai.provider.name", provider
        yield "gen_ai.request.model", model
    if row is not None:
        yield "proctor.case", row.case.id
        yield "proctor.repeat", row.repeat
        if row.scenario is not None:
            yield "proctor.scenario", row.scenario.name
    if question is not None:
        yield "proctor.case", question.case
        yield "gen_ai.evaluation.name", question.assertion


def _usage(usage: Usage | None) -> Iterator[tuple[str, int]]:
    if usage is None:
        return
    for name, count in (
        ("input_tokens", usage.input),
        ("output_tokens", usage.output),
        ("cache_read.input_tokens", usage.cached),
    ):
        if count is not None:
            yield f"gen_ai.usage.{name}", count


def _clean(attributes: Attributes) -> dict[str, Any]:
    """The same without keys, and without halves of characters, which no exporter can send."""
    return {
        name: _text(value) if isinstance(value, str) else value
        for name, value in attributes.items()
    }


def _text(value: str) -> str:
    return SECRETS.scrub(value).encode("utf-8", "replace").decode("utf-8")
