"""What replies over HTTP have in common: refusals, waits, bodies, counts of tokens."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TypeVar

import msgspec
from msgspec import Struct

from proctor.canonical import canonical_json
from proctor.errors import ProviderError, TryAgain
from proctor.records import Answer, Json, JsonObject, Reply, ToolCall, Usage
from proctor.scrubbing import SECRETS
from proctor.strict_json import JsonProblem, parse_json, typed

SHOWN = 200
"""How much of a reply a message shows, in characters."""

_MOST_TOKENS = 1_000_000_000
_MOST_WAIT_S = 86_400.0
_LOOKED_AT = 64 * 1_024
"""How much of a body is read for a message: far more than is shown, so that no key is cut."""

_OVERLOADED = frozenset([429, 529])
_FREE = frozenset([400, 401, 403, 404, 405, 413, 415, 422, *_OVERLOADED])
"""Statuses that say the request was not worked on."""
_CODES = {401: "P6308", 403: "P6308", 408: "P6310", 429: "P6309", 504: "P6310", 529: "P6309"}
_FILTERED = re.compile(r"content[ _](filter|management|policy)", re.IGNORECASE)
_VALIDATION = re.compile(r"validation[ _]?error", re.IGNORECASE)
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,63}")
_FIELD_FIRST = re.compile(r"([a-z][a-z0-9_.]{0,63}): ")

ReplyType = TypeVar("ReplyType", bound=Struct)


class HttpReply(Struct, frozen=True):
    """A reply as it came.

    Args:
        called: What was asked, for messages: `POST https://host/path`.
        status: The HTTP status.
        headers: The headers, names in lower case.
        body: All of it.
    """

    called: str
    status: int
    headers: Mapping[str, str]
    body: bytes


def refusal(reply: HttpReply, *, now: datetime, inner: int | None = None) -> ProviderError:
    """The error that a reply which is no answer stands for.

    Args:
        reply: The reply.
        now: The time of day.
        inner: The status in its body, where that has one of its own.
    """
    said = _said(reply)
    replied = str(reply.status) if inner is None else f"{reply.status} with an error {inner}"
    return status_error(
        inner or reply.status,
        f"{reply.called} replied {replied}: {_shown(said.message)}",
        body=said.whole,
        wait_s=asked_wait_s(reply.headers, now=now),
        field=said.field,
    )


def status_error(
    status: int,
    message: str,
    *,
    body: str = "",
    wait_s: float | None = None,
    field: str | None = None,
) -> ProviderError:
    """What a status other than 200 means, and whether asking again makes sense.

    Args:
        status: The HTTP status.
        message: What happened, with nothing in it that must not be shown.
        body: What the reply said, as far as it was read.
        wait_s: How long the provider asks to wait.
        field: The field of the request that the reply names.
    """
    free = status in _FREE
    code = _CODES.get(status, "P6312")
    if status in (400, 403) and _FILTERED.search(body):
        return ProviderError(message, code="P6311", hint="the provider's filter stopped it")
    if status == 429 and "insufficient_quota" in body:
        return ProviderError(
            message,
            code=code,
            hint="the account has no quota left: waiting will not help",
            free=free,
        )
    again = status in _OVERLOADED or status == 408 or status >= 500
    if again and not _VALIDATION.search(body):
        return TryAgain(
            message,
            code=code,
            wait_s=wait_s,
            slow_down=status in _OVERLOADED,
            free=free,
            status=status,
        )
    return ProviderError(message, code=code, hint=_hint(status, body, field), free=free)


def _hint(status: int, body: str, field: str | None) -> str | None:
    if 300 <= status < 400:
        return "redirects are not followed; write the address it should be as `base_url`"
    if status in (401, 403):
        return "check the key, and that it may use this model"
    if status == 404:
        return "check `base_url` and the name of the model"
    if "response_format" in body or "output_config" in body or "output_format" in body:
        return "name another way with `structured_output` of the provider, or `none`"
    if status in (400, 422):
        what = "what it does not accept" if field is None else f"`{field}`"
        return f"if {what} is among the model's `params`, mend it or take it out"
    return None


def asked_wait_s(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """How long a reply asks to wait, in seconds, at most a day; None when it does not say.

    Retry-After is a number of seconds or a date.
    """
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        from email.utils import parsedate_to_datetime

        try:
            date = parsedate_to_datetime(text)
        except (ValueError, OverflowError):
            return None
        date = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
        seconds = (date - now).total_seconds()
    if not math.isfinite(seconds):
        return None
    return min(max(seconds, 0.0), _MOST_WAIT_S)


def unreachable(called: str, problem: Exception, *, free: bool) -> TryAgain:
    """The error of a connection that did not come about, or broke."""
    detail = SECRETS.scrub(str(problem)) or type(problem).__name__
    return TryAgain(f"{called} got no reply: {_shown(detail)}", code="P6310", free=free)


def read_body(reply: HttpReply, type_: type[ReplyType], *, now: datetime) -> ReplyType:
    """Read the body of a 200.

    Raises:
        ProviderError: P6312 when it is not what the provider's format says; what an error in the
            body stands for, when that is what it holds.
    """
    try:
        body = parse_json(reply.body)
    except JsonProblem as problem:
        raise _not_the_format(reply, f"a body that {problem.detail}") from None
    error = body.get("error") if isinstance(body, dict) else None
    if error:
        status = error.get("code") if isinstance(error, dict) else None
        if type(status) is int and 400 <= status < 600:
            raise refusal(reply, now=now, inner=status)
        raise _not_the_format(reply, "an error and no answer")
    try:
        return typed(body, type_)
    except msgspec.ValidationError as problem:
        raise _not_the_format(reply, f"a body that is not in the format ({problem})") from None


def no_choice(reply: HttpReply) -> ProviderError:
    """The error of a reply that is in the format and holds no answer."""
    return _not_the_format(reply, "no answer at all")


def _not_the_format(reply: HttpReply, what: str) -> ProviderError:
    shown = _shown(SECRETS.scrub(_text(reply.body)))
    return ProviderError(
        f"{reply.called} replied {reply.status} with {_shown(SECRETS.scrub(what))}: {shown}",
        code="P6312",
        hint="check that `base_url` is the address of the API",
    )


class _Said(Struct, frozen=True):
    message: str
    whole: str
    field: str | None = None


def _said(reply: HttpReply) -> _Said:
    """The message of an error body, and the whole of it; its text where it has no such form."""
    text = SECRETS.scrub(_text(reply.body))
    if 300 <= reply.status < 400:
        return _Said("it points to another address", "")
    try:
        body = parse_json(reply.body)
    except JsonProblem:
        return _Said(text, text)
    error = body.get("error", body) if isinstance(body, dict) else body
    message = error.get("message") if isinstance(error, dict) else error
    shown = SECRETS.scrub(message) if isinstance(message, str) and message else text
    return _Said(shown, text, _field(body, shown))


def _field(body: Json, message: str) -> str | None:
    """The field of a request that an error names, in the forms of OpenAI, FastAPI and Anthropic."""
    field: Json = None
    if isinstance(body, dict):
        error, detail = body.get("error"), body.get("detail")
        if isinstance(error, dict):
            field = error.get("param")
        elif isinstance(detail, list) and detail and isinstance(detail[0], dict):
            place = detail[0].get("loc")
            field = place[-1] if isinstance(place, list) and place else None
    if field is None and (first := _FIELD_FIRST.match(message)):
        field = first[1]
    if isinstance(field, str) and _FIELD.fullmatch(field):
        return SECRETS.scrub(field)
    return None


def _text(body: bytes) -> str:
    return body[:_LOOKED_AT].decode("utf-8", "replace")


def _shown(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line[:SHOWN] + ("..." if len(one_line) > SHOWN else "")


def token_count(value: Json) -> int | None:
    """A count of tokens, None when it is none: absent, negative, no whole number, beyond belief."""
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


def usage_of(input_: int | None, output: int | None, cached: int | None) -> Usage | None:
    """Usage in our form, None when nothing of it is known."""
    if input_ is None and output is None and cached is None:
        return None
    if input_ is not None and cached is not None and cached > input_:
        cached = None
    return Usage(input_, output, cached)


def tool_call(id_: str | None, name: str, arguments: Json) -> ToolCall:
    """A call of a tool; arguments that are no JSON object stay as they came."""
    if isinstance(arguments, dict):
        return ToolCall(id_, name, arguments)
    raw = arguments if isinstance(arguments, str) else canonical_json(arguments).decode("utf-8")
    try:
        parsed = parse_json(raw)
    except JsonProblem:
        return ToolCall(id_, name, raw)
    return ToolCall(id_, name, parsed if isinstance(parsed, dict) else raw)


def answered(answer: Answer, usage: Usage | None, model: str | None, written: int = 0) -> Reply:
    """A reply whose cost and latency the caller knows."""
    return Reply(
        answer=answer,
        usage=usage,
        cost_usd=None,
        latency_ms=None,
        response_model=model,
        cache_written=written,
    )


def sendable_schema(schema: JsonObject, dropped: frozenset[str]) -> JsonObject:
    """A schema without keywords that a provider does not take; the answer is checked in any case.

    Names of properties are left alone, whatever they are called. A list of words says that it is
    about text, which some providers ask for.
    """
    kept: JsonObject = {}
    options = schema.get("enum")
    if isinstance(options, list) and all(isinstance(option, str) for option in options):
        kept["type"] = "string"
    for key, value in schema.items():
        if key in dropped:
            continue
        if key in ("properties", "$defs", "definitions") and isinstance(value, dict):
            kept[key] = {
                name: sendable_schema(one, dropped) if isinstance(one, dict) else one
                for name, one in value.items()
            }
        elif key in ("enum", "const", "default", "examples"):
            kept[key] = value
        else:
            kept[key] = _sendable(value, dropped)
    return kept


def _sendable(value: Json, dropped: frozenset[str]) -> Json:
    if isinstance(value, dict):
        return sendable_schema(value, dropped)
    if isinstance(value, list):
        return [_sendable(one, dropped) for one in value]
    return value
