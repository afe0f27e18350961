"""The kind `json-schema`: the answer, or a part of it, fits a JSON Schema.

A schema may come from somebody else and so may the answer. References stay within the schema,
patterns run in linear time, and the size of both is bounded.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import ClassVar, Final, NoReturn, cast

import jsonschema_rs
from msgspec import UNSET, Struct, UnsetType

from proctor.assertions.answers import Failure
from proctor.assertions.base import AnswerAssertion, SelectingSpec, cannot_fail, invalid, shortened
from proctor.assertions.matching import join_places, spell_place
from proctor.assertions.schema_limits import Draft, draft_of, expanded_nodes
from proctor.protocols import Scope
from proctor.records import AssertionSpec, Case, Json, JsonObject
from proctor.registry import did_you_mean

MAX_ERRORS: Final = 20
MAX_WORK: Final = 20_000
"""Nodes of an answer times nodes of a schema, up to which more than one error is looked for.

The library finds all errors before it hands out the first.
"""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_VALIDATORS: Final[dict[Draft, type[jsonschema_rs.Validator]]] = {
    "4": jsonschema_rs.Draft4Validator,
    "6": jsonschema_rs.Draft6Validator,
    "7": jsonschema_rs.Draft7Validator,
    "2019-09": jsonschema_rs.Draft201909Validator,
    "2020-12": jsonschema_rs.Draft202012Validator,
}

_ASKING: Final = frozenset(
    [
        "$dynamicRef", "$recursiveRef", "$ref", "additionalItems", "additionalProperties", "allOf",
        "anyOf", "const", "contains", "dependencies", "dependentRequired", "dependentSchemas",
        "else", "enum", "exclusiveMaximum", "exclusiveMinimum", "format", "if", "items",
        "maxContains", "maxItems", "maxLength", "maxProperties", "maximum", "minContains",
        "minItems", "minLength", "minProperties", "minimum", "multipleOf", "not", "oneOf",
        "pattern", "patternProperties", "prefixItems", "properties", "propertyNames", "required",
        "then", "type", "unevaluatedItems", "unevaluatedProperties", "uniqueItems",
    ]
)  # fmt: skip
_DESCRIBING: Final = frozenset(
    [
        "$anchor", "$comment", "$defs", "$dynamicAnchor", "$id", "$recursiveAnchor", "$schema",
        "$vocabulary", "contentEncoding", "contentMediaType", "contentSchema", "default",
        "definitions", "deprecated", "description", "examples", "id", "readOnly", "title",
        "writeOnly",
    ]
)  # fmt: skip
"""Keywords that every value fits."""


class JsonSchemaSpec(SelectingSpec, frozen=True, kw_only=True):
    """The fields of `json-schema`."""

    schema: Json | UnsetType = UNSET
    schema_file: str | UnsetType = UNSET
    formats: bool = False


class CompiledSchema(Struct, frozen=True):
    """A schema ready to validate, with its number of nodes."""

    validator: jsonschema_rs.Validator
    nodes: int


class JsonSchema(AnswerAssertion[bool]):
    """The answer parsed as JSON fits the schema; without one, the prompt's output contract."""

    Spec: ClassVar[type[AssertionSpec]] = JsonSchemaSpec

    def __init__(self, spec: JsonSchemaSpec, compiled: CompiledSchema) -> None:
        super().__init__(spec)
        self._compiled = compiled
        self._is_valid = compiled.validator.is_valid

    @staticmethod
    def compile(spec: AssertionSpec, scope: Scope) -> JsonSchema:
        """Make the assertion ready.

        Raises:
            SuiteError: P6201 when there is no schema, two of them, or one that cannot be used,
                P6202 when everything fits it.
        """
        spec = cast("JsonSchemaSpec", spec)
        schema = _schema_of(spec, scope)
        compiled = compile_schema(schema, formats=spec.formats)
        _refuse_pointless(schema, negate=spec.negate)
        return JsonSchema(spec, compiled)

    def reads_json(self, case: Case) -> bool:
        """Always: a schema says nothing about text."""
        return True

    def match(self, value: Json, case: Case) -> bool:
        """Whether the value fits."""
        try:
            return self._is_valid(value)
        except UnicodeEncodeError:
            return self._is_valid(_without_surrogates(value))

    def explain(self, value: Json, case: Case, result: bool) -> Failure:
        """What does not fit, or that everything does."""
        if result:
            return Failure("fits", self.place, self.evidence(got=value))
        issues = schema_issues(self._compiled, value)
        for issue in issues:
            issue["path"] = shortened(join_places(self.place, issue["path"]))
        place = issues[0]["path"] if issues else self.place
        evidence = {"path": place, "issues": issues} if place else {"issues": issues}
        return Failure("schema", place, evidence)


def compile_schema(schema: Json, *, formats: bool) -> CompiledSchema:
    """Compile a schema after making sure that it stays within itself and within the limits.

    Args:
        schema: A JSON Schema of the draft that its `$schema` names, else 2020-12.
        formats: Enforce `format`; one that is not known is then refused.

    Raises:
        SuiteError: P6201 when it is not a schema, passes a limit, or refers to anything outside.
    """
    if not isinstance(schema, (dict, bool)):
        raise invalid(f"a schema must be a mapping or a boolean, not `{type(schema).__name__}`")
    draft = draft_of(schema)
    nodes = expanded_nodes(schema, draft)
    bare = schema
    if isinstance(schema, dict):
        bare = {key: member for key, member in schema.items() if key != "$schema"}
    try:
        validator = _VALIDATORS[draft](
            bare,
            validate_formats=formats,
            ignore_unknown_formats=not formats,
            retriever=_refuse,
            mask="the value",
            pattern_options=jsonschema_rs.RegexOptions(),
        )
    except jsonschema_rs.ValidationError as error:
        place = spell_place(error.instance_path)
        where = f" at `{shortened(place)}`" if place else ""
        raise invalid(
            f"the schema cannot be used{where}: {shortened(error.message)}",
            "patterns do without look-around and back-references"
            if "regex" in error.message
            else None,
        ) from None
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise invalid(f"the schema cannot be used: {shortened(str(error))}") from None
    return CompiledSchema(validator, nodes)


def schema_issues(compiled: CompiledSchema, value: Json) -> list[JsonObject]:
    """What of a value does not fit: at most 20 objects of `path`, `reason` and `message`.

    They are sorted by path. `path` is a place within the value, `reason` the keyword that fails,
    and `message` quotes the schema but not the value.
    """
    try:
        errors = _errors(compiled, value)
    except UnicodeEncodeError:
        errors = _errors(compiled, _without_surrogates(value))
    errors.sort(key=lambda error: (_in_order(error.instance_path), error.kind.name, error.message))
    return [
        {
            "path": spell_place(error.instance_path),
            "reason": error.kind.name,
            "message": shortened(error.message),
        }
        for error in errors
    ]


def _schema_of(spec: JsonSchemaSpec, scope: Scope) -> Json:
    if spec.schema is not UNSET and spec.schema_file is not UNSET:
        raise invalid("`schema` and `schemaFile` exclude each other")
    if spec.schema is not UNSET:
        return spec.schema
    if not isinstance(spec.schema_file, UnsetType):
        return scope.read_schema(spec.schema_file)
    contract = scope.output_schema
    if contract is None:
        raise invalid(
            "the prompt has no `output`, so there is no schema to check against",
            "write `schema` or `schemaFile`, or an `output` in the prompt",
        )
    if isinstance(spec.field, UnsetType):
        return contract
    if spec.field not in contract["properties"]:
        raise invalid(
            f"`field`: the prompt's `output` has no `{spec.field}`",
            f"fields: {', '.join(contract['properties'])}; or write `schema`",
        )
    return contract["properties"][spec.field]


def _refuse_pointless(schema: Json, *, negate: bool) -> None:
    """Refuse a schema that gives every value the same verdict, or that has no keyword at all."""
    if schema is False and negate:
        raise cannot_fail("nothing fits the schema, so every answer passes under `negate`")
    if schema is False or (isinstance(schema, dict) and not _ASKING.isdisjoint(schema)):
        return
    unknown = [] if schema is True else [key for key in schema if key not in _DESCRIBING]
    if unknown:
        raise invalid(
            f"the schema has no keyword that asks for anything; `{shortened(unknown[0])}` is none",
            did_you_mean(unknown[0], sorted(_ASKING)),
        )
    raise cannot_fail("the schema fits everything", "to ask for JSON of a kind, write its `type`")


def _errors(compiled: CompiledSchema, value: Json) -> list[jsonschema_rs.ValidationError]:
    errors: list[jsonschema_rs.ValidationError] = []
    if compiled.nodes * _count_nodes(value, MAX_WORK) <= MAX_WORK:
        errors += islice(compiled.validator.iter_errors(value), MAX_ERRORS)
    else:
        try:
            compiled.validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            errors.append(error)
    return errors


def _count_nodes(value: Json, enough: int) -> int:
    count, open_ones = 0, [value]
    while open_ones and count <= enough:
        one = open_ones.pop()
        count += 1
        if isinstance(one, (dict, list)):
            open_ones += one.values() if isinstance(one, dict) else one
    return count


def _in_order(path: list[str | int]) -> list[tuple[int, str]]:
    return [(step, "") if isinstance(step, int) else (-1, step) for step in path]


def _without_surrogates(value: Json) -> Json:
    """The value as the validator can take it: it works on UTF-8, which has no lone surrogates."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(member) for member in value]
    if isinstance(value, dict):
        return {
            _without_surrogates(name): _without_surrogates(member) for name, member in value.items()
        }
    return value


def _refuse(address: str) -> NoReturn:
    raise ValueError(f"`{address}` is outside the schema")
