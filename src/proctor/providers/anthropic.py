"""Anthropic's Messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from msgspec import Struct

from proctor.canonical import canonical_json
from proctor.errors import ProviderError, SuiteError
from proctor.providers.hosts import ANTHROPIC_HOST
from proctor.providers.sdk import SdkProvider
from proctor.providers.wire import (
    answered,
    read_body,
    sendable_schema,
    token_count,
    tool_call,
    usage_of,
)
from proctor.records import (
    Call,
    Finish,
    Json,
    JsonObject,
    Message,
    Reply,
    Request,
    ToolSpec,
    Usage,
    model_answer,
)

_FINISHES = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "tool_use": Finish.TOOL_CALLS,
    "refusal": Finish.REFUSAL,
}
_NOT_TAKEN = frozenset(
    [
        "default",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxItems",
        "maxLength",
        "maximum",
        "minLength",
        "minimum",
        "multipleOf",
    ]
)
"""Keywords of a schema that structured outputs do not take.

Source: the page on structured outputs in Anthropic's documentation.
"""
_ANSWER_TOOL = "answer"


class _Block(Struct, frozen=True):
    type: str
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: Json = None


class _Reply(Struct, frozen=True):
    content: list[_Block]
    stop_reason: str | None = None
    model: str | None = None
    usage: Json = None


class Anthropic(SdkProvider):
    """Asks for messages through Anthropic's SDK."""

    kind = "anthropic"
    CLIENT = "AsyncAnthropic"
    ARGUMENTS: ClassVar[Mapping[str, object]] = {"open_telemetry": False}
    PATH = "/v1/messages"

    def _resource(self) -> Any:  # noqa: ANN401 - a class of the SDK, which may not be installed
        return self._client.messages

    async def complete(self, request: Request, call: Call) -> Reply:
        """Ask once.

        Raises:
            ProviderError: When no answer came that could be kept.
            SuiteError: P6204 for messages that this provider does not take.
        """
        reply = await self._call(self._body(request))
        message = read_body(reply, _Reply, now=self._clock.now())
        if message.stop_reason is None:
            raise ProviderError(f"{reply.called} replied with an unfinished message", code="P6312")
        texts = [one.text for one in message.content if one.type == "text" and one.text is not None]
        calls = [
            tool_call(one.id, one.name or "", one.input)
            for one in message.content
            if one.type == "tool_use"
        ]
        finish = _FINISHES.get(message.stop_reason, Finish.OTHER)
        if self._answers_by_tool(request):
            for one in calls:
                if one.name == _ANSWER_TOOL and isinstance(one.args, dict):
                    texts = [canonical_json(one.args).decode("utf-8", "surrogatepass")]
            calls = []
            finish = Finish.STOP if finish is Finish.TOOL_CALLS else finish
        usage, written = _usage(message.usage)
        return answered(
            model_answer("".join(texts) if texts else None, tool_calls=calls, finish=finish),
            usage,
            message.model,
            written,
        )

    def _answers_by_tool(self, request: Request) -> bool:
        return self._connection.structured_output == "tool" and request.output_schema is not None

    def _body(self, request: Request) -> JsonObject:
        params = dict(request.model.params)
        limit = params.pop("maxTokens", None)
        output: JsonObject = {}
        if "effort" in params:
            output["effort"] = params.pop("effort")
        system, rest = _split(request.messages)
        body: JsonObject = {
            "model": request.model.ref.partition("/")[2],
            "max_tokens": limit,
            "messages": [{"role": one.role, "content": one.content} for one in rest],
            **params,
        }
        if self.host == ANTHROPIC_HOST:
            # An account may have a dearer tier as its default.
            body["service_tier"] = "standard_only"
        if system:
            body["system"] = [{"type": "text", "text": one.content} for one in system]
        if request.tools:
            body["tools"] = [_tool(one) for one in request.tools]
        schema = request.output_schema
        if self._answers_by_tool(request):
            if request.tools:
                raise SuiteError(
                    "a prompt that offers tools cannot answer by a tool as well",
                    code="P6204",
                    hint='use `structured_output = "json_schema"` for this provider',
                )
            body["tools"] = [{"name": _ANSWER_TOOL, "input_schema": schema}]
            body["tool_choice"] = {"type": "tool", "name": _ANSWER_TOOL}
        elif schema is not None and self._connection.structured_output == "json_schema":
            output["format"] = {
                "type": "json_schema",
                "schema": sendable_schema(schema, _NOT_TAKEN),
            }
        if output:
            body["output_config"] = output
        return body


def _split(messages: tuple[Message, ...]) -> tuple[list[Message], list[Message]]:
    """System messages stand before all others here; they are sent apart."""
    first = next((n for n, one in enumerate(messages) if one.role != "system"), len(messages))
    rest = list(messages[first:])
    if not rest or any(one.role == "system" for one in rest):
        raise SuiteError(
            "this provider takes system messages only before at least one other message",
            code="P6204",
            hint="move them to the beginning of the prompt, and have a user message",
        )
    return list(messages[:first]), rest


def _tool(tool: ToolSpec) -> JsonObject:
    described = {} if tool.description is None else {"description": tool.description}
    return {"name": tool.name, **described, "input_schema": tool.parameters}


def _usage(usage: Json) -> tuple[Usage | None, int]:
    """Tokens as the Messages API counts them, and how many were written to the cache.

    What was read from the cache and written to it stands beside `input_tokens`, not in it.
    """
    if not isinstance(usage, dict):
        return None, 0
    read = token_count(usage.get("cache_read_input_tokens") or 0)
    written = token_count(usage.get("cache_creation_input_tokens") or 0)
    fresh = token_count(usage.get("input_tokens"))
    whole = None
    if fresh is not None and read is not None and written is not None:
        whole = token_count(fresh + read + written)
    return usage_of(whole, token_count(usage.get("output_tokens")), read), written or 0
