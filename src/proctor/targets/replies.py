"""What a target hands back, as the answer that is recorded and checked."""

from __future__ import annotations

import math
from typing import cast

import msgspec
from msgspec import Struct

from proctor.canonical import canonical_json
from proctor.errors import TargetError
from proctor.providers.wire import token_count, tool_call, usage_of
from proctor.records import Answer, Finish, Json, JsonObject, Reply, ToolCall, Usage, encode_json
from proctor.records.targets import Build
from proctor.safe_io import MEBIBYTE
from proctor.scrubbing import SECRETS
from proctor.strict_json import MAX_DEPTH, JsonProblem, parse_json, typed
from proctor.target_protocols import Built

MAX_ANSWER = MEBIBYTE
MAX_BESIDE = MEBIBYTE // 8
"""Bytes of each of transcript, context and debug; what is longer is cut."""

_DEEPEST = MAX_DEPTH - 8
"""A recording has a few levels around what a target says."""
_MOST_TURNS = 2**53
_CUT = "... (cut here)"


class _Call(Struct, forbid_unknown_fields=True):
    """A call of a tool as a target tells it."""

    name: str
    args: Json = {}
    id: str | None = None


class _Given(Struct, forbid_unknown_fields=True, kw_only=True):
    """An answer that is more than a text, as a target tells it: a `TargetAnswer` in JSON."""

    text: str | None = None
    tool_calls: list[_Call] = []
    finish: Finish = Finish.STOP
    evidence: Json = None
    transcript: Json = None
    context: Json = None
    debug: Json = None
    turns: Json = None
    usage: Json = None
    cost_usd: Json = None


_KEYS = frozenset(_Given.__struct_fields__)


def reply_of(value: object, *, stderr: str = "") -> Reply:
    """The reply that a value stands for.

    A text is the answer itself. An object with attributes named like those of a `TargetAnswer`, or
    a mapping with `text` or `tool_calls` and no key but those, is an answer with more to it. Any
    other JSON value is the answer as canonical JSON.

    Args:
        value: What the target returned.
        stderr: What it wrote beside it, which joins `debug`.

    Raises:
        TargetError: P6701 when it is none of these or too large, P6312 when a key is in it.
    """
    if isinstance(value, str):
        return _reply(_Given(text=value), stderr)
    if value is None:
        raise TargetError("the target returned nothing", hint="return a text, or a `TargetAnswer`")
    if _has_parts(value):
        found = {key: getattr(value, key) for key in _KEYS if hasattr(value, key)}
        return _reply(_given(found), stderr)
    plain = _json_of(value)
    if _is_answer(plain):
        return _reply(_given(plain), stderr)
    return _reply(_Given(text=canonical_json(plain).decode("utf-8")), stderr)


def reply_of_text(text: str, *, stderr: str = "") -> Reply:
    """The reply that a text from outside stands for: a mapping as `reply_of`, or itself."""
    if text[:1].lstrip("\t\n\r ") in ("{", ""):
        try:
            value = parse_json(text, max_depth=_DEEPEST)
        except JsonProblem:
            value = None
        if _is_answer(value):
            return _reply(_given(value), stderr)
    return _reply(_Given(text=text), stderr)


def built_of(value: object) -> Built:
    """What a target built: a `Build` or something like it, or the artifact itself.

    Raises:
        TargetError: As `reply_of`.
    """
    build = value if hasattr(value, "artifact") else Build(value)
    artifact = build.artifact
    try:
        plain = _json_of(artifact)
    except TargetError:
        # Any object will do; then nothing is recorded of it.
        plain = None
    told = _given({key: getattr(build, key) for key in _KEYS if hasattr(build, key)})
    return Built(artifact, _reply(told, "", artifact=plain))


def _has_parts(value: object) -> bool:
    if isinstance(value, (dict, list, tuple, int, float)):
        return False
    return any(hasattr(value, name) for name in ("text", "tool_calls", "evidence"))


def _is_answer(value: Json) -> bool:
    return (
        isinstance(value, dict)
        and ("text" in value or "tool_calls" in value)
        and (value.keys() <= _KEYS)
    )


def _given(parts: JsonObject) -> _Given:
    plain = _json_of(parts)
    try:
        return typed(plain, _Given)
    except msgspec.ValidationError as problem:
        # The message of msgspec names types and places, and quotes no value but a wrong word.
        place = str(problem).partition(" - at `$")[2].rstrip("`") or "."
        raise TargetError(
            f"the target returned an answer whose `{place[1:] or 'keys'}` cannot be used",
            hint="return a text, or a `TargetAnswer`",
        ) from None


def _json_of(value: object) -> Json:
    """A value as plain JSON, records and the like among it."""
    try:
        if isinstance(value, (bytes, bytearray, memoryview, set, frozenset)):
            # It would become text that nobody wrote, or a list in any order.
            raise TypeError
        plain = msgspec.to_builtins(value, str_keys=True, enc_hook=_dumped)
        return parse_json(canonical_json(plain), max_depth=_DEEPEST)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise TargetError(
            f"the target returned a value of type {type(value).__name__} that is no JSON",
            hint="return a text, JSON, or a `TargetAnswer`",
        ) from None


def _dumped(value: object) -> object:
    """What a model of pydantic holds."""
    dump = getattr(value, "model_dump", None)
    if dump is None or isinstance(value, type):
        raise TypeError
    return dump(mode="json")


def _reply(given: _Given, stderr: str, *, artifact: Json = None) -> Reply:
    debug = given.debug
    if stderr:
        beside = debug if isinstance(debug, dict) else {} if debug is None else {"debug": debug}
        debug = {**beside, "stderr": stderr}
    answer = Answer(
        text=given.text,
        tool_calls=[_tool_call(one) for one in given.tool_calls],
        finish=given.finish,
        evidence=given.evidence,
        artifact=artifact,
        transcript=_beside(given.transcript),
        context=_beside(given.context),
        debug=_beside(debug),
        turns=_turns(given.turns),
    )
    raw = encode_json(answer)
    if len(raw) > MAX_ANSWER:
        raise TargetError("the answer is larger than 1 MiB", hint="hand back less")
    if SECRETS.holds(raw.decode("utf-8", "replace")):
        raise TargetError(
            "the answer holds a key, so it is not kept",
            code="P6312",
            hint="find out how the key got there, and replace it with a new one",
        )
    return Reply(
        answer=answer,
        usage=_usage(given.usage),
        cost_usd=_cost(given.cost_usd),
        latency_ms=None,
        response_model=None,
    )


def _tool_call(call: _Call) -> ToolCall:
    return tool_call(call.id, call.name, call.args)


def _beside(value: Json) -> Json:
    """What only people look at: without keys, and cut when it is long."""
    if value is None:
        return None
    scrubbed = SECRETS.scrub_json(value)
    raw = (
        scrubbed.encode("utf-8", "replace") if isinstance(scrubbed, str) else encode_json(scrubbed)
    )
    if len(raw) <= MAX_BESIDE:
        return scrubbed
    # A byte is a few characters more where it is escaped, and the whole must still fit.
    return raw[: MAX_BESIDE // 2].decode("utf-8", "ignore") + _CUT


def _turns(value: Json) -> int | None:
    return value if type(value) is int and 0 <= value <= _MOST_TURNS else None


def _usage(value: Json) -> Usage | None:
    """Tokens as far as they are told; what cannot be a count is unknown."""
    if not isinstance(value, dict):
        return None
    return usage_of(*(token_count(value.get(name)) for name in ("input", "output", "cached")))


def _cost(value: Json) -> float | None:
    if type(value) not in (int, float) or not math.isfinite(value) or not 0 <= value <= _MOST_TURNS:
        return None
    return float(cast("float", value))
