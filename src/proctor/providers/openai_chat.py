"""OpenAI's Chat Completions, and every server that speaks the same."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from proctor.providers.hosts import OPENAI_HOST
from proctor.providers.sdk import SdkProvider
from proctor.providers.wire import (
    answered,
    no_choice,
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
    Reply,
    Request,
    ToolSpec,
    Usage,
    model_answer,
)

_FINISHES = {
    "stop": Finish.STOP,
    "length": Finish.LENGTH,
    "content_filter": Finish.CONTENT_FILTER,
    "tool_calls": Finish.TOOL_CALLS,
    "function_call": Finish.TOOL_CALLS,
}
NOT_IN_STRICT = frozenset(["minLength", "maxLength", "default"])
"""Keywords that a strict schema of OpenAI must not have."""


class _Function(Struct, frozen=True):
    name: str
    arguments: Json = None


class _ToolCall(Struct, frozen=True):
    function: _Function
    id: str | None = None


class _Message(Struct, frozen=True):
    content: str | list[JsonObject] | None = None
    refusal: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(Struct, frozen=True):
    message: _Message
    finish_reason: str | None = None


class _Completion(Struct, frozen=True):
    choices: list[_Choice]
    model: str | None = None
    usage: Json = None


class OpenAIChat(SdkProvider):
    """Asks for chat completions through OpenAI's SDK."""

    kind = "openai"
    CLIENT = "AsyncOpenAI"
    PATH = "/chat/completions"

    def _resource(self) -> Any:  # noqa: ANN401 - a class of the SDK, which may not be installed
        return self._client.chat.completions

    async def complete(self, request: Request, call: Call) -> Reply:
        """Ask once.

        Raises:
            ProviderError: When no answer came that could be kept.
        """
        reply = await self._call(self._body(request))
        completion = read_body(reply, _Completion, now=self._clock.now())
        if not completion.choices:
            raise no_choice(reply)
        choice = completion.choices[0]
        message = choice.message
        calls = [
            tool_call(one.id, one.function.name, one.function.arguments)
            for one in message.tool_calls or ()
        ]
        finish = _FINISHES.get(choice.finish_reason or "", Finish.OTHER)
        text = _text(message)
        if message.refusal:
            text, finish = text or message.refusal, Finish.REFUSAL
        usage, written = counted(completion.usage, "prompt_tokens", "completion_tokens")
        return answered(
            model_answer(text, tool_calls=calls, finish=finish), usage, completion.model, written
        )

    def _body(self, request: Request) -> JsonObject:
        is_openai = self.host == OPENAI_HOST
        params = dict(request.model.params)
        limit = params.pop("maxTokens", None)
        body: JsonObject = {
            "model": request.model.ref.partition("/")[2],
            "messages": [
                {"role": message.role, "content": message.content} for message in request.messages
            ],
            **params,
        }
        if is_openai:
            # An account may have a dearer tier as its default.
            body["service_tier"] = "default"
        if limit is not None:
            body["max_completion_tokens" if is_openai else "max_tokens"] = limit
        if request.tools:
            body["tools"] = [{"type": "function", "function": _tool(one)} for one in request.tools]
        if request.output_schema is not None:
            body |= self._format(request.output_schema)
        return body

    def _format(self, schema: JsonObject) -> JsonObject:
        structured = self._connection.structured_output
        if structured == "none":
            return {}
        if structured == "json_object":
            return {"response_format": {"type": "json_object", "schema": schema}}
        return {"response_format": {"type": "json_schema", "json_schema": named_schema(schema)}}


def named_schema(schema: JsonObject) -> JsonObject:
    """An output contract as OpenAI takes it: strict where every field of it is required."""
    strict = is_strict(schema)
    sent = sendable_schema(schema, NOT_IN_STRICT) if strict else schema
    return {"name": "answer", "schema": sent, "strict": strict}


def is_strict(schema: Json) -> bool:
    """Whether a schema has the form that OpenAI's strict mode asks for.

    Source: the page on structured outputs in OpenAI's documentation: every object names all of its
    properties as required and allows no others.
    """
    if isinstance(schema, list):
        return all(is_strict(one) for one in schema)
    if not isinstance(schema, dict):
        return True
    if "properties" in schema or schema.get("type") == "object":
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False or not isinstance(properties, dict):
            return False
        if not properties or set(properties) != set(schema.get("required", ())):
            return False
        if not all(is_strict(one) for one in properties.values()):
            return False
    return all(
        is_strict(value)
        for key, value in schema.items()
        if key not in ("properties", "enum", "const", "default", "examples", "required")
    )


def _tool(tool: ToolSpec) -> JsonObject:
    described = {} if tool.description is None else {"description": tool.description}
    return {"name": tool.name, **described, "parameters": tool.parameters}


def _text(message: _Message) -> str | None:
    """The text of a message; some servers send it in parts."""
    if isinstance(message.content, list):
        parts = [part.get("text") for part in message.content if part.get("type") == "text"]
        texts = [part for part in parts if isinstance(part, str)]
        return "".join(texts) if texts else None
    return message.content


def counted(usage: Json, input_: str, output: str) -> tuple[Usage | None, int]:
    """Tokens as OpenAI counts them, and how many of them were written to the cache.

    What was read from the cache and written to it is among the input's.

    Args:
        usage: What the reply says.
        input_: What the count of the input is called there.
        output: What that of the output is called.
    """
    if not isinstance(usage, dict):
        return None, 0
    details = usage.get(f"{input_}_details")
    details = details if isinstance(details, dict) else {}
    written = token_count(details.get("cache_write_tokens") or 0)
    whole = None if written is None else token_count(usage.get(input_))
    output_tokens, cached = (
        token_count(usage.get(output)),
        token_count(details.get("cached_tokens")),
    )
    return usage_of(whole, output_tokens, cached), written or 0
