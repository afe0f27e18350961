"""The part of JSON Schema that candidates are scored by: types, constants and the keys of objects.

It is small on purpose, so that everybody can tell what it checks. Suites have all of JSON Schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import UNSET, Struct

from proctor.assertions.matching import json_equal
from proctor.candidates.outputs import json_type, opened, plain
from proctor.errors import EvalInputError
from proctor.records import Json, JsonObject

MAX_DEPTH: Final = 64
MAX_ISSUES: Final = 20

_TYPES: Final = ("object", "array", "string", "number", "integer", "boolean", "null")
_KEYWORDS: Final = frozenset(
    ["type", "const", "enum", "properties", "required", "additionalProperties"]
)


class Subset(Struct, frozen=True):
    """A schema that is ready to be held against values.

    Args:
        rejects: Whether nothing fits it.
        type: The type a value must have, None for any.
        const: The value it must be, if one is given.
        enum: The values it must be one of, None for any.
        properties: What is asked of the members of an object.
        required: The members an object must have.
        closed: Whether an object may have no other members than `properties`.
    """

    rejects: bool = False
    type: str | None = None
    const: Json = UNSET
    enum: list[Json] | None = None
    properties: dict[str, Subset] = {}
    required: tuple[str, ...] = ()
    closed: bool = False


def compile_subset(schema: Json, *, strict: bool) -> Subset:
    """Make a schema ready.

    Args:
        schema: A mapping or a boolean. Keywords that are not part of the subset are ignored.
        strict: Refuse such keywords instead.

    Raises:
        EvalInputError: P6005 when a keyword of the subset has a value that it cannot have, or
            schemas are nested deeper than 64.
    """
    return _compiled(schema, "", strict=strict, depth=0)


def find_issues(subset: Subset, value: Json) -> list[JsonObject]:
    """What of a value does not fit: objects of `path` and `reason`, sorted by both.

    `path` is a JSON Pointer. For `required` it leads to the member that is not there, for
    `additional_properties` to the one that is. A `type` issue also has `expected` and `got`.
    """
    return sorted(_issues(subset, value, ""), key=lambda issue: (issue["path"], issue["reason"]))


def _compiled(schema: Json, path: str, *, strict: bool, depth: int) -> Subset:
    if isinstance(schema, bool):
        return Subset(rejects=not schema)
    schema = opened(schema)
    if not isinstance(schema, dict):
        raise _refused(path, f"must be a mapping or a boolean, not a `{type(schema).__name__}`")
    if depth > MAX_DEPTH:
        raise _refused("", f"is nested deeper than {MAX_DEPTH}")
    if strict:
        for keyword in schema:
            if keyword not in _KEYWORDS:
                raise _refused(path, f"has `{keyword}`, which is not checked", strict=True)
    properties = opened(schema.get("properties", {}))
    if not isinstance(properties, dict):
        raise _refused(path, "has `properties` that are no mapping")
    return Subset(
        type=_type_of(schema, path),
        const=plain(schema.get("const", UNSET)),
        enum=_enum_of(schema, path),
        properties={
            name: _compiled(member, _below(path, name), strict=strict, depth=depth + 1)
            for name, member in properties.items()
        },
        required=_required_of(schema, path),
        closed=_is_closed(schema, path, strict=strict),
    )


def _type_of(schema: JsonObject, path: str) -> str | None:
    if "type" not in schema:
        return None
    name = schema["type"]
    if not isinstance(name, str) or name not in _TYPES:
        raise _refused(path, f"has a `type` that is not one of {', '.join(_TYPES)}")
    return name


def _enum_of(schema: JsonObject, path: str) -> list[Json] | None:
    if "enum" not in schema:
        return None
    values = plain(schema["enum"])
    if not isinstance(values, list):
        raise _refused(path, "has an `enum` that is no list")
    return values


def _required_of(schema: JsonObject, path: str) -> tuple[str, ...]:
    names = opened(schema.get("required", []))
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _refused(path, "has a `required` that is no list of names")
    return tuple(dict.fromkeys(names))


def _is_closed(schema: JsonObject, path: str, *, strict: bool) -> bool:
    additional = schema.get("additionalProperties", True)
    if isinstance(additional, bool):
        return not additional
    if strict or not isinstance(opened(additional), dict):
        raise _refused(path, "has `additionalProperties` other than `false`", strict=strict)
    return False


def _issues(subset: Subset, value: Json, path: str) -> Iterator[JsonObject]:
    if subset.rejects:
        yield {"path": path, "reason": "false_schema"}
        return
    if subset.type is not None:
        got = json_type(value)
        if got != subset.type and (got, subset.type) != ("integer", "number"):
            yield {"path": path, "reason": "type", "expected": subset.type, "got": got}
    if subset.const is not UNSET and not json_equal(subset.const, plain(value)):
        yield {"path": path, "reason": "const"}
    if subset.enum is not None:
        given = plain(value)
        if not any(json_equal(one, given) for one in subset.enum):
            yield {"path": path, "reason": "enum"}
    members = opened(value)
    if isinstance(members, dict):
        yield from _member_issues(subset, members, path)


def _member_issues(subset: Subset, members: JsonObject, path: str) -> Iterator[JsonObject]:
    for name in subset.required:
        if name not in members:
            yield {"path": _below(path, name), "reason": "required"}
    for name, member in members.items():
        if name in subset.properties:
            yield from _issues(subset.properties[name], member, _below(path, name))
        elif subset.closed:
            yield {"path": _below(path, name), "reason": "additional_properties"}


def _below(path: str, name: object) -> str:
    return f"{path}/{str(name).replace('~', '~0').replace('/', '~1')}"


def _refused(path: str, what: str, *, strict: bool = False) -> EvalInputError:
    place = f" at `{path}`" if path else ""
    return EvalInputError(
        f"the schema{place} {what}",
        field="schema",
        hint="leave out `strict` to have such keywords ignored" if strict else None,
    )
