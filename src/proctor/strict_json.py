"""Reading JSON that somebody else wrote: strictly, with a reason for every refusal.

The standard library's parser is used because it keeps lone surrogates and exact integers; what it
lets through (duplicate keys, NaN, infinities, deep nesting) is refused here.
"""

from __future__ import annotations

import json
from enum import StrEnum

from proctor.records import Json, JsonObject

MAX_DEPTH = 64


class JsonFault(StrEnum):
    """Why a text is not taken for JSON."""

    NOT_JSON = "not_json"
    DUPLICATE_KEY = "duplicate_key"
    NOT_FINITE = "not_finite"
    TRAILING_TEXT = "trailing_text"
    TOO_DEEP = "too_deep"
    LONG_INTEGER = "long_integer"
    BOM = "bom"
    NOT_UTF8 = "not_utf8"


class JsonProblem(ValueError):
    """A text that is not strict JSON.

    Args:
        fault: The kind of problem.
        detail: A sentence that quotes nothing of the text but a key.
        line: The 1-based line within the text, where it is known.
    """

    def __init__(self, fault: JsonFault, detail: str, line: int | None = None) -> None:
        super().__init__(detail)
        self.fault = fault
        self.detail = detail
        self.line = line


def parse_json(data: bytes | str, *, max_depth: int = MAX_DEPTH) -> Json:
    """The value of a text that is exactly one JSON value.

    Integers are exact, integral floats stay floats, lone surrogates are kept.

    Raises:
        JsonProblem: With the first reason found.
    """
    text = data if isinstance(data, str) else decode_utf8(data)
    try:
        value = _decode(text)
    except JsonProblem:
        raise
    except json.JSONDecodeError as error:
        raise _explain(error, text) from None
    except RecursionError:
        raise _too_deep(max_depth) from None
    except ValueError:
        raise JsonProblem(JsonFault.LONG_INTEGER, "an integer has too many digits") from None
    if text.count("{") + text.count("[") > max_depth and _depth_exceeds(value, max_depth):
        raise _too_deep(max_depth)
    return value


def decode_utf8(data: bytes) -> str:
    """UTF-8 bytes as text, refusing a byte order mark and every other encoding.

    Raises:
        JsonProblem: Saying which, with the line of the first bad byte.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        raise JsonProblem(JsonFault.BOM, "starts with a byte order mark", 1)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise JsonProblem(JsonFault.NOT_UTF8, "is not UTF-8", line) from None


def _object(pairs: list[tuple[str, Json]]) -> JsonObject:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise JsonProblem(JsonFault.DUPLICATE_KEY, f"has the key `{key}` twice")
            seen.add(key)
    return members


def _float(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise JsonProblem(JsonFault.NOT_FINITE, "has a number beyond the range of a float")
    return value


def _constant(name: str) -> float:
    raise JsonProblem(JsonFault.NOT_FINITE, f"has `{name}`, which is not JSON")


_decode = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_float, parse_constant=_constant
).decode


def _explain(error: json.JSONDecodeError, text: str) -> JsonProblem:
    if error.msg.startswith("Extra data"):
        return JsonProblem(JsonFault.TRAILING_TEXT, "goes on after its end", error.lineno)
    if not text.strip(" \t\r\n"):
        return JsonProblem(JsonFault.NOT_JSON, "is empty", error.lineno)
    what = (error.msg[:1].lower() + error.msg[1:]).removesuffix(" at")
    return JsonProblem(
        JsonFault.NOT_JSON, f"is not JSON: {what} at column {error.colno}", error.lineno
    )


def _too_deep(max_depth: int) -> JsonProblem:
    return JsonProblem(JsonFault.TOO_DEEP, f"is nested deeper than {max_depth}")


def _depth_exceeds(value: Json, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            member
            for container in level
            if isinstance(container, (dict, list))
            for member in (container.values() if isinstance(container, dict) else container)
        ]
    return any(isinstance(member, (dict, list)) for member in level)
