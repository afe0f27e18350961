"""Comparing, addressing and spelling JSON values: pure functions, shared by every kind.

A *place* is how a person writes where something stands in a value: `items[0].title`. A name that
is not made of letters, digits, `_` and `-`, or starts with a digit or dash, is quoted as in JSON:
`totals["net.sum"]`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from proctor.canonical import canonical_json
from proctor.pointers import MISSING
from proctor.records import Json

Fold = Callable[[str], str]
"""What is done to both strings before they are compared."""


class Difference(NamedTuple):
    """Where two values first differ. The side that has nothing there is `MISSING`."""

    place: str
    expected: Json
    got: Json


_PLAIN_NAME = re.compile(r"[^\W\d][\w-]*")


def json_equal(left: Json, right: Json, fold: Fold | None = None) -> bool:
    """Whether two JSON values are the same value.

    The order of keys does not matter. Types do: `1` is `1.0`, but `True` is not `1`, and NaN
    equals nothing. Numbers are compared exactly, however large.

    Args:
        left: A JSON value of any depth.
        right: The other one.
        fold: Done to string values, but not to keys, before they are compared.

    Example:
        >>> json_equal({"a": 1, "b": [True]}, {"b": [True], "a": 1.0})
        True
        >>> json_equal(True, 1)
        False
    """
    pairs = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            pairs.extend((member, other[name]) for name, member in one.items())
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pairs.extend(zip(one, other, strict=True))
        elif not _scalars_equal(one, other, fold):
            return False
    return True


def first_difference(expected: Json, got: Json, fold: Fold | None = None) -> Difference | None:
    """Where two values first differ, or None when `json_equal` holds.

    Places are looked at in the order of `expected`; what only `got` has comes last in its object
    or list.

    Example:
        >>> first_difference({"a": {"b": 1}, "c": []}, {"c": [], "a": {"b": 2}})
        Difference(place='a.b', expected=1, got=2)
        >>> first_difference([1], [1, 2])
        Difference(place='[1]', expected=MISSING, got=2)
    """
    open_pairs: list[tuple[str, Json, Json]] = [("", expected, got)]
    while open_pairs:
        place, one, other = open_pairs.pop()
        members: list[tuple[str, Json, Json]] | None = None
        if isinstance(one, dict) and isinstance(other, dict):
            members = [
                (join_places(place, spell_place((name,))), one.get(name, MISSING), value)
                for name, value in _paired(one, other)
            ]
        elif isinstance(one, list) and isinstance(other, list):
            members = [
                (f"{place}[{n}]", _item(one, n), _item(other, n))
                for n in range(max(len(one), len(other)))
            ]
        if members is not None:
            open_pairs.extend(reversed(members))
        elif not _scalars_equal(one, other, fold):
            return Difference(place, one, other)
    return None


def _scalars_equal(one: Json, other: Json, fold: Fold | None) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if fold is not None and isinstance(one, str) and isinstance(other, str):
        return fold(one) == fold(other)
    return bool(one == other)


def _paired(one: dict[str, Json], other: dict[str, Json]) -> list[tuple[str, Json]]:
    """The names of both, those of `one` first, each with what `other` has there."""
    pairs = [(name, other.get(name, MISSING)) for name in one]
    return pairs + [(name, value) for name, value in other.items() if name not in one]


def _item(values: list[Json], index: int) -> Json:
    return values[index] if index < len(values) else MISSING


def spell_place(steps: Iterable[str | int]) -> str:
    """A place as a person writes it; the value itself is an empty text.

    Example:
        >>> spell_place(["items", 0, "title"]), spell_place(["net.sum"])
        ('items[0].title', '["net.sum"]')
    """
    place = ""
    for step in steps:
        if isinstance(step, str) and _PLAIN_NAME.fullmatch(step):
            place += f".{step}" if place else step
        else:
            place += f"[{json.dumps(step, ensure_ascii=False)}]"
    return place


def join_places(outer: str, inner: str) -> str:
    """The place `inner` within what stands at `outer`."""
    if not outer or not inner or inner.startswith("["):
        return outer + inner
    return f"{outer}.{inner}"


def spell(value: Json) -> str | None:
    """A value as the text that text is compared with, None for an object or a list.

    A string is itself; numbers, booleans and null are spelled as canonical JSON.

    Example:
        >>> [spell(value) for value in ("a", 60.0, 1.5, True, None, [])]
        ['a', '60', '1.5', 'true', 'null', None]
    """
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        return None
    return canonical_json(value).decode("ascii")


def folding(*, trim: bool, ignore_case: bool) -> Fold | None:
    """What to do to both strings of a comparison, None for nothing.

    Args:
        trim: Leave out whitespace at both ends.
        ignore_case: Compare by `str.casefold`.
    """
    if trim and ignore_case:
        return lambda text: text.strip().casefold()
    if trim:
        return str.strip
    return str.casefold if ignore_case else None
