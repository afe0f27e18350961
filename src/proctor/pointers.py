"""JSON Pointers (RFC 6901), and what they lead to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from proctor.records import Json

Tokens = tuple[str, ...]
"""The steps of a JSON Pointer, unescaped."""

_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")
_BAD_ESCAPE = re.compile(r"~(?![01])")


class Missing:
    """The type of `MISSING`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
"""Stands where there is no value; null is a value."""


def parse_pointer(pointer: str) -> Tokens | None:
    """The steps of a JSON Pointer (RFC 6901), or None when it is not one.

    Example:
        >>> parse_pointer("/a~1b/0"), parse_pointer(""), parse_pointer("a")
        (('a/b', '0'), (), None)
    """
    if not pointer:
        return ()
    if not pointer.startswith("/") or _BAD_ESCAPE.search(pointer):
        return None
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/"))


def descend(value: Json, tokens: Iterable[str]) -> Json:
    """What stands at the end of these steps, `MISSING` when there is nothing.

    Only objects and lists have anything inside. An index is `0` or a number without leading
    zeros: `-`, `01` and `+1` lead nowhere.
    """
    for token in tokens:
        if isinstance(value, dict):
            if token not in value:
                return MISSING
            value = value[token]
        elif isinstance(value, list):
            if not _INDEX.fullmatch(token) or int(token) >= len(value):
                return MISSING
            value = value[int(token)]
        else:
            return MISSING
    return value


def resolve_pointer(value: Json, pointer: str) -> Json:
    """What a JSON Pointer points at, `MISSING` when nothing, or when it is not a pointer.

    Example:
        >>> resolve_pointer({"items": [{"title": None}]}, "/items/0/title") is None
        True
        >>> resolve_pointer({"items": []}, "/items/0")
        MISSING
    """
    tokens = parse_pointer(pointer)
    return MISSING if tokens is None else descend(value, tokens)
