"""The words and plain values that all records share."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict of them."""

JsonObject = dict[str, Any]

Sha256 = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Count = Annotated[int, Meta(ge=0, le=2**53)]
Amount = Annotated[float, Meta(ge=0, le=2.0**53)]
"""Bounded like `Count`, so that no sum of a run's figures leaves the range of a float."""
Identifier = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")]


class Outcome(StrEnum):
    """What became of a check, a row or a case."""

    PASSED = "passed"
    FAILED = "failed"
    ERRORED = "errored"
    UNMEASURED = "unmeasured"


class Verdict(StrEnum):
    """What a whole run says."""

    PASSED = "passed"
    FAILED = "failed"
    UNMEASURED = "unmeasured"
    INTERRUPTED = "interrupted"


class Severity(StrEnum):
    """Whether a failed check fails its row."""

    FAIL = "fail"
    WARN = "warn"


class Finish(StrEnum):
    """Why a model stopped."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    TOOL_CALLS = "tool_calls"
    REFUSAL = "refusal"
    OTHER = "other"


class CallKind(StrEnum):
    """What a recorded call was made for."""

    ANSWER = "answer"
    BUILD = "build"
    JUDGE = "judge"
    EXPECTATION = "expectation"
    PAIRWISE = "pairwise"


def encode_json(value: object) -> bytes:
    r"""JSON bytes of a struct or value, keys in the order they have.

    A lone surrogate, which UTF-8 cannot hold, is written as its `\udxxx` escape.
    """
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")
