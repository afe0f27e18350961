"""Reading an output that never was JSON text: any mapping is an object, any sequence a list."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from proctor.assertions.matching import spell
from proctor.pointers import MISSING, Tokens, descend
from proctor.records import Json

_SCALARS: Final = frozenset([str, int, float, bool, type(None)])
_TEXTS: Final = (str, bytes, bytearray, memoryview)
"""Sequences, as Python sees them, that are no lists of values."""


def opened(value: Json) -> Json:
    """A mapping as a dict, a sequence as a list, everything else as it is; one level deep."""
    if value.__class__ in _SCALARS or isinstance(value, (dict, list, *_TEXTS)):
        return value
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, Sequence) else value


def plain(value: Json) -> Json:
    """As `opened`, all the way down."""
    value = opened(value)
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    return [plain(member) for member in value] if isinstance(value, list) else value


def select(output: Json, tokens: Tokens | None) -> Json:
    """What stands at the end of these steps, `MISSING` when there is nothing, or no pointer."""
    if tokens is None:
        return MISSING
    for token in tokens:
        output = descend(opened(output), (token,))
    return output


def text_of(value: Json) -> str | None:
    """A value as text is compared with it, None for an object, a list, and what is not JSON."""
    try:
        return spell(opened(value))
    except (TypeError, ValueError):
        return None


def json_type(value: Json) -> str:
    """The narrowest type that JSON Schema has for a value, `not_json` when it has none.

    Example:
        >>> [json_type(value) for value in (1.0, 1.5, True, (), float("nan"))]
        ['integer', 'number', 'boolean', 'array', 'not_json']
    """
    value = opened(value)
    if value is None:
        return "null"
    if isinstance(value, float):
        if value.is_integer():
            return "integer"
        return "number" if math.isfinite(value) else "not_json"
    for kind, name in _TYPES:
        if isinstance(value, kind):
            return name
    return "not_json"


_TYPES: Final = (
    (bool, "boolean"),
    (int, "integer"),
    (str, "string"),
    (dict, "object"),
    (list, "array"),
)
