"""Reading JSON that somebody else wrote: strictly, with a reason for every refusal.

The standard library's parser is used because it keeps lone surrogates and exact integers; what it
lets through (duplicate keys, NaN, infinities, deep nesting) is refused here.
"""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import TypeVar

import msgspec

from proctor.records import Json, JsonObject

T = TypeVar("T")

MAX_DEPTH = 64
MAX_DIGITS = 4_000
"""Digits of an integer, a little below what the interpreter spells by default."""


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
    SURROGATE = "surrogate"


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


def parse_json(data: bytes | str, *, max_depth: int = MAX_DEPTH, surrogates: bool = True) -> Json:
    """The value of a text that is exactly one JSON value.

    Integers are exact, integral floats stay floats.

    Args:
        data: The text. Bytes must be UTF-8.
        max_depth: How many containers may stand inside each other.
        surrogates: Whether lone ones are kept or refused.

    Raises:
        JsonProblem: With the first reason found.
    """
    text = data if isinstance(data, str) else decode_utf8(data)
    if text.startswith("\ufeff"):
        raise _byte_order_mark()
    decoder = _decoder if len(text) <= MAX_DIGITS else _decoder_of_long_texts
    try:
        # `decode` does the same but looks for white space at both ends with regular expressions.
        value, end = decoder.raw_decode(text) if text[:1] in _OPENING else (None, -1)
        if end != len(text):
            value = decoder.decode(text)
    except JsonProblem:
        raise
    except json.JSONDecodeError as error:
        raise _explain(error, text) from None
    except RecursionError:
        raise _too_deep(max_depth) from None
    except ValueError:
        raise _long_integer() from None
    if text.count("{") + text.count("[") > max_depth and _depth_exceeds(value, max_depth):
        raise _too_deep(max_depth)
    if not surrogates and has_lone_surrogate(value):
        raise JsonProblem(JsonFault.SURROGATE, "has a lone surrogate, which is no character")
    return value


def has_lone_surrogate(value: Json) -> bool:
    """Whether a key or a string somewhere in a value cannot be written as UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def typed(value: Json, kind: type[T]) -> T:
    """A JSON value as a struct, or as another type.

    Raises:
        msgspec.ValidationError: When it does not fit, a lone surrogate in place of a key or a word
            included; msgspec itself raises something else for those.
    """
    try:
        return msgspec.convert(value, kind)
    except UnicodeEncodeError:
        raise msgspec.ValidationError("Holds a lone surrogate") from None


def decode_utf8(data: bytes) -> str:
    """UTF-8 bytes as text, refusing a byte order mark and every other encoding.

    Raises:
        JsonProblem: Saying which, with the line of the first bad byte.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _not_utf8(data, line) from None
    if "\0" in text[:4] and _encoding_of(data) is not None:
        raise _not_utf8(data, 1)
    if text.startswith("\ufeff"):
        raise _byte_order_mark()
    return text


# By a byte order mark, or by the zeros around a first character of ASCII.
_OTHER_ENCODINGS = {
    "UTF-32": re.compile(rb"\xff\xfe\0\0|\0\0\xfe\xff|[\t-~]\0\0\0|\0\0\0[\t-~]"),
    "UTF-16": re.compile(rb"\xff\xfe|\xfe\xff|[\t-~]\0|\0[\t-~]"),
}


def _encoding_of(data: bytes) -> str | None:
    for encoding, start in _OTHER_ENCODINGS.items():
        if start.match(data):
            return encoding
    return None


def _not_utf8(data: bytes, line: int) -> JsonProblem:
    encoding = _encoding_of(data)
    if encoding is None:
        return JsonProblem(JsonFault.NOT_UTF8, "is not UTF-8", line)
    return JsonProblem(JsonFault.NOT_UTF8, f"is {encoding}, not UTF-8", 1)


def _byte_order_mark() -> JsonProblem:
    return JsonProblem(JsonFault.BOM, "starts with a byte order mark", 1)


def _object(pairs: list[tuple[str, Json]]) -> JsonObject:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise JsonProblem(JsonFault.DUPLICATE_KEY, f"has the key `{key}` twice")
            seen.add(key)
    return members


def _long_integer() -> JsonProblem:
    return JsonProblem(JsonFault.LONG_INTEGER, f"has an integer of more than {MAX_DIGITS} digits")


def _integer(text: str) -> int:
    if len(text.removeprefix("-")) > MAX_DIGITS:
        raise _long_integer()
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise JsonProblem(JsonFault.NOT_FINITE, "has a number beyond the range of a float")
    return value


def _constant(name: str) -> float:
    raise JsonProblem(JsonFault.NOT_FINITE, f"has `{name}`, which is not JSON")


_OPENING = ("{", "[")
_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)

# Checks the digits itself, because the interpreter's limit can be set from outside.
_decoder_of_long_texts = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_float=_float,
    parse_int=_integer,
    parse_constant=_constant,
)


def _explain(error: json.JSONDecodeError, text: str) -> JsonProblem:
    if error.msg.startswith("Extra data"):
        return JsonProblem(JsonFault.TRAILING_TEXT, "has text after the JSON value", error.lineno)
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
