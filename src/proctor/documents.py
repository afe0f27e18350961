"""A file as plain values that remember their lines, read into structs with every problem found.

`Document` is what the YAML, JSON and TOML readers produce. `StructReader` turns parts of it into
structs; it goes on after a problem, so that one run lists them all.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cache
from typing import Annotated, Any, TypeGuard, TypeVar

import msgspec
from msgspec import Struct

from proctor.errors import ProctorError
from proctor.records import Json
from proctor.registry import did_you_mean
from proctor.strict_json import typed

Path = tuple[str | int, ...]
"""Where a value stands in a document: keys and list indices from the top."""

Kind = object
"""A type as it stands at a field of a struct."""

Member = Any
"""A value of such a type."""

T = TypeVar("T", bound=Struct)


class Document(Struct, frozen=True):
    """The value of a file and the line of each part.

    Args:
        name: The file, relative to the project root.
        value: What it holds.
        lines: The 1-based line of parts, by path; a part that is missing takes its parent's.
        blocks: The first line of the text of block scalars, by path.
    """

    name: str
    value: Json
    lines: Mapping[Path, int]
    blocks: Mapping[Path, int] = {}

    def where(self, path: Path = ()) -> str:
        """`file:line` of a part."""
        while path and path not in self.lines:
            path = path[:-1]
        line = self.lines.get(path)
        return self.name if line is None else f"{self.name}:{line}"

    def where_in_text(self, path: Path, line: int) -> str:
        """`file:line` of a line within a string, counted from 0."""
        if path in self.blocks:
            return f"{self.name}:{self.blocks[path] + line}"
        return self.where(path)


def spell_path(path: Path) -> str:
    """A path the way people write it: `assertions[1].pattern`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


class StructReader:
    """Reads structs out of one document, collecting problems instead of stopping at the first.

    Args:
        document: The file.
        error: The class of the problems.
        code: Their code.
    """

    def __init__(self, document: Document, *, error: type[ProctorError], code: str) -> None:
        self.document = document
        self.problems: list[ProctorError] = []
        self._error = error
        self._code = code
        self._top: frozenset[str] = frozenset()

    def problem(
        self, message: str, path: Path, *, hint: str | None = None, code: str | None = None
    ) -> None:
        """Note a problem at a place of the document."""
        where = self.document.where(path)
        self.problems.append(self._error(message, code=code or self._code, hint=hint, where=where))

    def read(self, kind: type[T], value: Json, path: Path = ()) -> T | None:
        """A struct of `kind`, or None after noting what is wrong with `value`."""
        before = len(self.problems)
        read = self.read_known(kind, value, path)
        return read if len(self.problems) == before else None

    def read_known(self, kind: type[T], value: Json, path: Path = ()) -> T | None:
        """The same, but read without its unknown keys, which are problems like any other.

        So what depends on the struct can be checked too. Look at `problems` before using it.
        """
        if not isinstance(value, dict):
            what = f"`{spell_path(path)}`" if path else "the file"
            self.problem(f"{what} must be a mapping, not {name_of(value)}", path)
            return None
        fields = fields_of(kind)
        if not path:
            self._top = frozenset(fields)
        self._refuse_unknown(value, fields, path)
        before = len(self.problems)
        given: dict[str, Member] = {}
        for name, field in fields.items():
            if name in value:
                given[field.name] = self._member(field.type, value[name], (*path, name))
            elif field.required:
                holder = f" in `{spell_path(path)}`" if path else ""
                self.problem(f"the key `{name}` is missing{holder}", path)
        if len(self.problems) > before:
            return None
        try:
            return kind(**given)
        except ValueError as problem:
            # What a struct says itself of keys that do not go together.
            self.problem(f"`{spell_path(path)}`: {problem}" if path else str(problem), path)
            return None

    def _refuse_unknown(self, value: Mapping[str, Json], known: Iterable[str], path: Path) -> None:
        for key in value:
            if key in known:
                continue
            hint = did_you_mean(key, known)
            if key in self._top and path:
                hint = f"`{key}` belongs at the top of the file"
            holder = f" in `{spell_path(path)}`" if path else ""
            known_keys = ", ".join(sorted(known))
            self.problem(
                f"unknown key `{key}`{holder}",
                (*path, key),
                hint=hint or f"known keys: {known_keys}",
            )

    def _member(self, kind: Kind, value: Json, path: Path) -> Member:
        struct, rest = _split_struct(kind)
        if struct is not None and (isinstance(value, dict) or _is_only_null(rest, value)):
            return self.read(struct, value, path)
        items = _struct_items(kind)
        if items is not None and isinstance(value, list):
            if items.limits:
                self.convert(Annotated[(list[Any], *items.limits)], value, path)
            return items.container(
                self.read(items.struct, part, (*path, n)) for n, part in enumerate(value)
            )
        member = _struct_value(kind)
        if member is not None and isinstance(value, dict):
            return {name: self.read(member, part, (*path, name)) for name, part in value.items()}
        return self.convert(kind if rest is None else rest, value, path)

    def convert(self, kind: Kind, value: Json, path: Path) -> Member:
        """A value of any type that is not a struct, or None after noting the problem."""
        try:
            return typed(value, typing.cast("type[Member]", kind))
        except msgspec.ValidationError as error:
            message, inner = _split_message(str(error))
            place = (*path, *inner)
            hint = None
            allowed = _allowed_words(kind)
            is_word = isinstance(value, (str, int)) and not message.startswith("expected ")
            if allowed and is_word:
                message = f"`{value}` is not one of {', '.join(allowed)}"
                hint = did_you_mean(str(value), allowed)
            self.problem(f"`{spell_path(place)}`: {message}", place, hint=hint)
            return None


def name_of(value: Json) -> str:
    """What a JSON value is, with its article, for messages."""
    if value is None:
        return "null"
    names = {dict: "a mapping", list: "a list", str: "a string", bool: "a boolean"}
    is_number = isinstance(value, (int, float))
    return names.get(type(value), "a number" if is_number else "a date or time")


@cache
def fields_of(kind: type[Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    """The fields of a struct by the name they have in a file."""
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}


def _is_struct(kind: Kind) -> TypeGuard[type[Struct]]:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _members(kind: Kind) -> tuple[Kind, ...]:
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        return typing.get_args(kind)
    return (kind,)


def _split_struct(kind: Kind) -> tuple[type[Struct] | None, Kind]:
    members = _members(kind)
    structs = [member for member in members if _is_struct(member)]
    rest = [
        member for member in members if not _is_struct(member) and member is not msgspec.UnsetType
    ]
    if len(structs) != 1:
        return None, None
    return structs[0], typing.Union[tuple(rest)] if rest else None  # noqa: UP007 - built at run time


def _is_only_null(rest: Kind, value: Json) -> bool:
    """Whether nothing but a struct would do for this value."""
    return rest is None or (rest is types.NoneType and value is not None)


class _Items(Struct, frozen=True):
    """A list of structs: what it becomes, and what its length must be."""

    struct: type[Struct]
    container: type[list[Any]] | type[tuple[Any, ...]]
    limits: tuple[Any, ...]


def _struct_items(kind: Kind) -> _Items | None:
    for member in _members(kind):
        limits: tuple[Any, ...] = ()
        if typing.get_origin(member) is Annotated:
            member, *notes = typing.get_args(member)
            limits = tuple(notes)
        origin, arguments = typing.get_origin(member), typing.get_args(member)
        if origin in (tuple, list) and arguments and _is_struct(arguments[0]):
            return _Items(arguments[0], origin, limits)
    return None


def _struct_value(kind: Kind) -> type[Struct] | None:
    for member in _members(kind):
        arguments = typing.get_args(member)
        if typing.get_origin(member) is dict and _is_struct(arguments[1]):
            return arguments[1]
    return None


def _allowed_words(kind: Kind) -> list[str]:
    words: list[str] = []
    for member in _members(kind):
        if isinstance(member, type) and issubclass(member, Enum):
            words += [str(one.value) for one in member]
        elif typing.get_origin(member) is typing.Literal:
            words += [str(one) for one in typing.get_args(member)]
    return words


_AT = re.compile(r" - at (?:`key` in )?`\$([^`]*)`\Z")
_STEP = re.compile(r"\[(\d+)\]|\.([^.\[]+)")
_UNNAMED = "[...]"
"""How msgspec spells a step through a key of a mapping."""


def _split_message(text: str) -> tuple[str, Path]:
    place = _AT.search(text)
    message = text if place is None else text[: place.start()]
    steps: Path = ()
    if place is not None:
        known = place.group(1).partition(_UNNAMED)[0]
        steps = tuple(int(index) if index else name for index, name in _STEP.findall(known))
    return message[:1].lower() + message[1:], steps
