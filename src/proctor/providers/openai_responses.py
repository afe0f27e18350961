"""OpenAI's Responses."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from proctor.errors import ProviderError
from proctor.providers.hosts import OPENAI_HOST
from proctor.providers.openai_chat import counted, named_schema
from proctor.providers.sdk import SdkProvider
from proctor.providers.wire import (
    answered,
    no_choice,
    read_body,
    tool_call,
)
from proctor.records import Call, Finish, Json, JsonObject, Reply, Request, model_answer

_INCOMPLETE = {
    "max_output_tokens": Finish.LENGTH,
    "content_filter": Finish.CONTENT_FILTER,
}


class _Content(Struct, frozen=True):
    type: str
    text: str | None = None
    refusal: str | None = None


class _Item(Struct, frozen=True):
    type: str
    content: list[_Content] | None = None
    name: str | None = None
    call_id: str | None = None
    arguments: Json = None


class _Incomplete(Struct, frozen=True):
    reason: str | None = None


class _Response(Struct, frozen=True):
    output: list[_Item]
    status: str | None = None
    incomplete_details: _Incomplete | None = None
    model: str | None = None
    usage: Json = None


class OpenAIResponses(SdkProvider):
    """Asks for responses through OpenAI's SDK. Nothing is stored at the provider's."""

    kind = "openai"
    CLIENT = "AsyncOpenAI"
    PATH = "/responses"

    def _resource(self) -> Any:  # noqa: ANN401 - a class of the SDK, which may not be installed
        return self._client.responses

    async def complete(self, request: Request, call: Call) -> Reply:
        """Ask once.

        Raises:
            ProviderError: When no answer came that could be kept.
        """
        reply = await self._call(self._body(request))
        response = read_body(reply, _Response, now=self._clock.now())
        if response.status not in (None, "completed", "incomplete"):
            raise ProviderError(
                f"{reply.called} replied with a response that is not complete", code="P6312"
            )
        contents = [one for item in response.output for one in item.content or ()]
        texts = [one.text for one in contents if one.type == "output_text" and one.text is not None]
        refusals = [one.refusal for one in contents if one.type == "refusal" and one.refusal]
        calls = [
            tool_call(item.call_id, item.name or "", item.arguments)
            for item in response.output
            if item.type == "function_call"
        ]
        if not response.output and response.status != "incomplete":
            raise no_choice(reply)
        finish = Finish.TOOL_CALLS if calls else Finish.STOP
        if response.status == "incomplete":
            details = response.incomplete_details
            reason = None if details is None else details.reason
            finish = _INCOMPLETE.get(reason or "", Finish.OTHER)
        if refusals:
            texts, finish = texts or refusals, Finish.REFUSAL
        usage, written = counted(response.usage, "input_tokens", "output_tokens")
        return answered(
            model_answer("".join(texts) if texts else None, tool_calls=calls, finish=finish),
            usage,
            response.model,
            written,
        )

    def _body(self, request: Request) -> JsonObject:
        params = dict(request.model.params)
        limit = params.pop("maxTokens", None)
        effort = params.pop("reasoning_effort", None)
        text: JsonObject = {}
        if "verbosity" in params:
            text["verbosity"] = params.pop("verbosity")
        if request.output_schema is not None and self._connection.structured_output != "none":
            text["format"] = {"type": "json_schema", **named_schema(request.output_schema)}
        body: JsonObject = {
            "model": request.model.ref.partition("/")[2],
            "input": [
                {"role": message.role, "content": message.content} for message in request.messages
            ],
            "store": False,
            **params,
        }
        if self.host == OPENAI_HOST:
            # An account may have a dearer tier as its default.
            body["service_tier"] = "default"
        if limit is not None:
            body["max_output_tokens"] = limit
        if effort is not None:
            body["reasoning"] = {"effort": effort}
        if text:
            body["text"] = text
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "name": tool.name,
                    **({} if tool.description is None else {"description": tool.description}),
                    "parameters": tool.parameters,
                    "strict": False,
                }
                for tool in request.tools
            ]
        return body
