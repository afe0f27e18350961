"""Input and output contracts of prompts: what a field may hold.

A contract is a mapping of field names to `FieldSpec`. For inputs it checks a case and fills in
defaults; for outputs it becomes a JSON Schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import UNSET

from proctor.documents import Path, name_of
from proctor.records import FieldSpec, Json, JsonObject, Prompt

Fields = dict[str, FieldSpec]

MAX_SHOWN = 100
"""How much of an undeclared name a message quotes, in characters."""

_ONLY_FOR = {
    "options": ("enum",),
    "items": ("list",),
    "fields": ("object",),
    "max_length": ("string", "list"),
}
_SPELLED = {"max_length": "maxLength"}


def contract_faults(fields: Fields, path: Path) -> Iterator[tuple[Path, str]]:
    """What is wrong with a contract itself: the place of each fault and a sentence."""
    for name, field in fields.items():
        yield from _field_faults(field, (*path, name))


def _field_faults(field: FieldSpec, path: Path) -> Iterator[tuple[Path, str]]:
    for attribute, types in _ONLY_FOR.items():
        if getattr(field, attribute) is not None and field.type not in types:
            word = _SPELLED.get(attribute, attribute)
            yield (*path, word), f"`{word}` goes with type {' or '.join(types)} only"
    if field.type == "enum" and field.options is None:
        yield path, "an enum needs `options`"
    if field.items is not None:
        yield from _field_faults(field.items, (*path, "items"))
    if field.fields is not None:
        yield from contract_faults(field.fields, (*path, "fields"))
    if field.default is not UNSET:
        for place, fault in value_faults(field, field.default, "default"):
            yield (*path, "default"), f"`{place}` {fault}"


def answer_schema(prompt: Prompt) -> JsonObject | None:
    """What the answers to a prompt must be, as a JSON Schema; None for free text."""
    return prompt.output_schema if prompt.output is None else json_schema(prompt.output)


def json_schema(fields: Fields) -> JsonObject:
    """A contract as a JSON Schema: an object with nothing but these fields."""
    return {
        "type": "object",
        "properties": {name: _field_schema(field) for name, field in fields.items()},
        "required": [name for name, field in fields.items() if not field.optional],
        "additionalProperties": False,
    }


def _field_schema(field: FieldSpec) -> JsonObject:
    if field.type == "enum":
        return {"enum": field.options}
    if field.type == "object":
        return {"type": "object"} if field.fields is None else json_schema(field.fields)
    schema: JsonObject = {"type": "array" if field.type == "list" else field.type}
    if field.items is not None:
        schema["items"] = _field_schema(field.items)
    if field.max_length is not None:
        schema["maxItems" if field.type == "list" else "maxLength"] = field.max_length
    return schema


def input_faults(fields: Fields, inputs: JsonObject) -> Iterator[tuple[str, str]]:
    """What is wrong with a case's inputs: the place of each fault and a sentence about it.

    The sentences never quote a value. A case can have very many faults; take what is shown.
    """
    return _object_faults(fields, inputs, "inputs")


def with_defaults(fields: Fields, inputs: JsonObject) -> JsonObject:
    """The inputs with the defaults of absent fields filled in, at every depth."""
    return _fill(fields, inputs) if _has_defaults(fields) else inputs


def _object_faults(fields: Fields, value: JsonObject, place: str) -> Iterator[tuple[str, str]]:
    for name, field in fields.items():
        if name in value:
            yield from value_faults(field, value[name], f"{place}.{name}")
        elif not field.optional and field.default is UNSET:
            yield f"{place}.{name}", "is missing"
    for name in value:
        if name not in fields:
            shown = name if len(name) <= MAX_SHOWN else f"{name[: MAX_SHOWN - 3]}..."
            yield f"{place}.{shown}", "is not declared in the prompt's inputs"


def value_faults(field: FieldSpec, value: Json, place: str) -> Iterator[tuple[str, str]]:
    """What is wrong with one value, as `input_faults` says it."""
    fault = type_fault(field.type, field.options, value)
    if fault is not None:
        yield place, fault
        return
    if field.max_length is not None and len(value) > field.max_length:
        yield place, f"is longer than {field.max_length}"
    if field.items is not None:
        for index, member in enumerate(value):
            yield from value_faults(field.items, member, f"{place}[{index}]")
    if field.fields is not None:
        yield from _object_faults(field.fields, value, place)


def type_fault(type_: str, options: Sequence[str] | None, value: Json) -> str | None:
    """Why a value is not of a type of contracts, as `input_faults` says it, or None.

    Args:
        type_: The type.
        options: The values that one of type enum may have.
        value: The value.
    """
    if not _FITS[type_](value):
        article = "an" if type_ in ("integer", "object") else "a"
        wanted = "one of its options" if type_ == "enum" else f"{article} {type_}"
        return f"must be {wanted}, not {name_of(value)}"
    if options is not None and value not in options:
        return f"must be one of {', '.join(options)}"
    return None


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_integer(value: Json) -> bool:
    return _is_number(value) and (isinstance(value, int) or value.is_integer())


_FITS: dict[str, Callable[[Json], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": _is_integer,
    "boolean": lambda value: isinstance(value, bool),
    "enum": lambda value: isinstance(value, str),
    "list": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def _has_defaults(fields: Fields) -> bool:
    return any(field.default is not UNSET or _holds_defaults(field) for field in fields.values())


def _holds_defaults(field: FieldSpec) -> bool:
    if field.fields is not None:
        return _has_defaults(field.fields)
    return field.items is not None and _holds_defaults(field.items)


def _fill(fields: Fields, value: JsonObject) -> JsonObject:
    filled = dict(value)
    for name, field in fields.items():
        if name not in filled:
            if field.default is UNSET:
                continue
            filled[name] = field.default
        filled[name] = _fill_value(field, filled[name])
    return filled


def _fill_value(field: FieldSpec, value: Json) -> Json:
    if field.fields is not None:
        return _fill(field.fields, value)
    if field.items is not None:
        return [_fill_value(field.items, member) for member in value]
    return value
