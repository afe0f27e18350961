"""Response contracts: what the fields of a response may hold, and a response with blanks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from proctor.assertions.matching import join_places, spell_place
from proctor.contracts import MAX_SHOWN, type_fault
from proctor.documents import Path
from proctor.packets.formats import (
    RESPONSE_SCHEMA,
    Grammar,
    ResponseField,
    ResponseFields,
    ResponseTemplate,
)
from proctor.records import Json, JsonObject

_ONLY_FOR: Final = {
    "max_length": ("maxLength", "string"),
    "min_items": ("minItems", "list"),
    "max_items": ("maxItems", "list"),
    "options": ("options", "enum"),
    "items": ("items", "list"),
    "fields": ("fields", "object"),
    "grammar": ("grammar", "string"),
}
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


def contract_faults(
    fields: ResponseFields, evidence: Mapping[str, str], path: Path, *, in_list: bool = False
) -> Iterator[tuple[Path, str]]:
    """What is wrong with a contract itself: the place of each fault and a sentence.

    Args:
        fields: The contract of one case, or of an object in it.
        evidence: The named texts of the case, which a grammar may refer to.
        path: Where the contract stands.
        in_list: Whether it is about what stands in a list.
    """
    if not fields:
        yield path, "a contract without fields asks for nothing"
    for name, field in fields.items():
        if not _NAME.fullmatch(name):
            allowed = "letters, digits, `_`, `-` and `.`, at most 128"
            yield (*path, name), f"the name of a field is made of {allowed}"
        yield from _field_faults(field, evidence, (*path, name), in_list=in_list)


def _field_faults(
    field: ResponseField, evidence: Mapping[str, str], path: Path, *, in_list: bool
) -> Iterator[tuple[Path, str]]:
    for attribute, (word, type_) in _ONLY_FOR.items():
        if getattr(field, attribute) is not None and field.type != type_:
            yield (*path, word), f"`{word}` goes with type {type_} only"
    if field.type == "enum" and field.options is None:
        yield path, "an enum needs `options`"
    if field.options is not None and len(set(field.options)) < len(field.options):
        yield (*path, "options"), "an option stands twice"
    if field.max_items is not None and (field.min_items or 0) > field.max_items:
        yield (*path, "minItems"), "`minItems` is above `maxItems`, so no list will do"
    if field.grammar is not None:
        if in_list:
            yield (*path, "grammar"), "a `grammar` goes with a field, not with what is in a list"
        if field.grammar.words_from not in evidence:
            sentence = f"the case has no evidence `{field.grammar.words_from}`"
            yield (*path, "grammar", "wordsFrom"), sentence
    yield from _inner_faults(field, evidence, path, in_list=in_list)


def _inner_faults(
    field: ResponseField, evidence: Mapping[str, str], path: Path, *, in_list: bool
) -> Iterator[tuple[Path, str]]:
    if field.items is not None:
        yield from _field_faults(field.items, evidence, (*path, "items"), in_list=True)
    if field.fields is not None:
        inner = (*path, "fields")
        yield from contract_faults(field.fields, evidence, inner, in_list=in_list)


def grammars(fields: ResponseFields) -> Iterator[tuple[tuple[str, ...], Grammar]]:
    """The grammars of a contract, each with the steps to its field."""
    for name, field in fields.items():
        if field.grammar is not None:
            yield (name,), field.grammar
        for steps, grammar in grammars(field.fields or {}):
            yield (name, *steps), grammar


OPEN: Final = ResponseField(type="object", nullable=True)
"""Stands where a contract says nothing of what is there; compared by identity."""


def field_at(fields: ResponseFields, tokens: Sequence[str]) -> ResponseField | None:
    """What a contract says of what is at the end of these steps.

    Returns:
        The field there, None when there can be nothing, `OPEN` when anything may be there.
    """
    field = fields.get(tokens[0]) if tokens else None
    for token in tokens[1:]:
        if field is None:
            return None
        if field.type == "object":
            field = OPEN if field.fields is None else field.fields.get(token)
        elif field.type == "list" and token.isascii() and token.isdigit():
            field = OPEN if field.items is None else field.items
        elif field is not OPEN:
            return None
    return field


def result_faults(
    fields: ResponseFields, values: JsonObject, place: str
) -> Iterator[tuple[str, str]]:
    """What is wrong with an object of a response: the place of each fault and a sentence.

    The sentences never quote a value. There can be very many; take what is shown.
    """
    for name, field in fields.items():
        inner = join_places(place, spell_place([name]))
        if name in values:
            yield from value_faults(field, values[name], inner)
        else:
            yield inner, "is missing"
    for name in values:
        if name not in fields:
            shown = name if len(name) <= MAX_SHOWN else f"{name[: MAX_SHOWN - 3]}..."
            yield join_places(place, spell_place([shown])), "is not in the contract"


def value_faults(field: ResponseField, value: Json, place: str) -> Iterator[tuple[str, str]]:
    """What is wrong with one value, as `result_faults` says it.

    Types are those of JSON: `true` is not 1 and `"1"` is not 1, but `1.0` is 1, as everywhere in
    JSON.
    """
    if value is None and field.nullable:
        return
    fault = type_fault(field.type, field.options, value)
    if fault is not None:
        yield place, fault
        return
    if field.max_length is not None and len(value) > field.max_length:
        yield place, f"is longer than {field.max_length} characters"
    if field.min_items is not None and len(value) < field.min_items:
        yield place, f"must have {field.min_items} items or more, and has {len(value)}"
    if field.max_items is not None and len(value) > field.max_items:
        yield place, f"must have {field.max_items} items at most, and has {len(value)}"
    if field.items is not None:
        for index, member in enumerate(value):
            yield from value_faults(field.items, member, f"{place}[{index}]")
    if field.fields is not None:
        yield from result_faults(field.fields, value, place)


def blank_response(contract: Mapping[str, ResponseFields]) -> ResponseTemplate:
    """A response in which nothing is filled in, not even the packet it belongs to.

    What stands for a value is of a type that the field does not take, so no part of it is valid
    before somebody has written it.
    """
    results: dict[str, Json] = {
        case: {name: [] if field.type == "object" else {} for name, field in fields.items()}
        for case, fields in contract.items()
    }
    return ResponseTemplate(RESPONSE_SCHEMA, None, results)
