"""A recording: one line of a cassette.

Field order is the key order of the stored format; a change here is a change of format.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from proctor.records.words import Amount, CallKind, Count, Finish, Json, JsonObject, Sha256


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


def model_answer(
    text: str | None, *, tool_calls: list[ToolCall] | None = None, finish: Finish = Finish.STOP
) -> Answer:
    """The answer of a model, which has none of what only a target adds.

    The struct itself has no defaults: a line of a cassette that lacks a key is damaged.
    """
    return Answer(
        text=text,
        tool_calls=tool_calls or [],
        finish=finish,
        evidence=None,
        artifact=None,
        transcript=None,
        context=None,
        debug=None,
        turns=None,
    )


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
    take: Annotated[int, Meta(ge=1, le=2**53)]
    parts: KeyParts
    answer: Answer
    usage: Usage | None
    cost_usd: Amount | None
    latency_ms: Count | Amount | None
    recorded: Provenance


class Reply(Struct, frozen=True, gc=False):
    """What a provider replied to one call, not yet recorded.

    Cost and latency are None when the caller is to work them out. `cache_written` is how many of
    the input tokens were written to the provider's cache, which may cost more.
    """

    answer: Answer
    usage: Usage | None
    cost_usd: float | None
    latency_ms: float | None
    response_model: str | None
    cache_written: int = 0


class Answered(Struct, frozen=True, gc=False):
    """An answer together with what is known about the call that brought it.

    `recording` is the SHA-256 of its raw cassette line, None when it was not recorded.
    """

    answer: Answer
    recording: str | None
    usage: Usage | None
    cost_usd: float | None
    latency_ms: float | None
