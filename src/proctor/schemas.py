"""JSON Schemas of the files people write and of what Proctor writes, made from the structs.

Descriptions come from docstrings: the first paragraphs describe a struct, `Args` its keys.
"""

from __future__ import annotations

import inspect
import json
import re
import typing
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import Struct, UnsetType

from proctor.documents import fields_of
from proctor.errors import ProctorError
from proctor.loading.assertions import MAX_ASSERTIONS
from proctor.loading.cases import MAX_ID, CaseFile
from proctor.loading.prompts import PromptFile
from proctor.loading.suites import UNDER_TEST, ModelOverride, SuiteFile
from proctor.loading.targets import HOW
from proctor.packets.formats import REPORT_SCHEMA as PACKET_REPORT_SCHEMA
from proctor.packets.formats import Packet, PacketReport, PacketResponse, PacketSuiteFile
from proctor.packets.kinds import GROUP, listed_kinds
from proctor.records import (
    REPORT_SCHEMA,
    CaseResult,
    GroupSpec,
    Json,
    JsonObject,
    ReportHead,
    SubjectReport,
)
from proctor.records.comparison import COMPARISON_SCHEMA, Comparison
from proctor.records.pairwise import PAIRWISE_SCHEMA, Pairwise
from proctor.records.targets import HeaderSpec
from proctor.registry import assertion_kinds

FOLDER = ".schema"
"""Where the schemas of a project stand, below its suites' folder."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ARGUMENT = re.compile(r" {4}(\w+): (.*)\Z")

Definitions = dict[str, JsonObject]


def schema_names() -> list[str]:
    """What there are schemas of."""
    return list(_MAKERS)


def make_schema(name: str) -> JsonObject:
    """The JSON Schema, draft 2020-12, of one kind of file."""
    return {"$schema": _DIALECT, **_MAKERS[name]()}


def render_schema(name: str) -> bytes:
    """The JSON Schema of one kind of file as a file; the same bytes every time."""
    return (json.dumps(make_schema(name), indent=2, ensure_ascii=False) + "\n").encode()


def _suite() -> JsonObject:
    whole, definitions = _definitions(SuiteFile, ModelOverride, HeaderSpec)
    suite = definitions["SuiteFile"]
    keys = suite["properties"]
    keys["assertions"] |= _assertions({"required": ["id"]})
    model = {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/ModelOverride"}]}
    keys["models"]["anyOf"][0]["items"] = model
    suite["oneOf"] = [{"required": [key]} for key in UNDER_TEST]
    origins: list[Json] = [{"required": ["path"]}, {"required": ["source"]}]
    definitions["DatasetFile"]["oneOf"] = origins
    del definitions["DatasetFile"]["properties"]["path"]["default"]
    definitions["TargetFile"]["oneOf"] = [{"required": [key]} for key in HOW]
    header: Json = {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/HeaderSpec"}]}
    definitions["HttpFile"]["properties"]["headers"]["additionalProperties"] = header
    definitions["Assertion"] = {"title": "An assertion", "oneOf": list(_kinds(definitions))}
    return _top("A suite of Proctor", whole, definitions)


def _assertions(more: JsonObject) -> JsonObject:
    """What a list of assertions is, beside its type; `more` is asked of each."""
    items = {"$ref": "#/$defs/Assertion", **more}
    return {"items": items, "minItems": 1, "maxItems": MAX_ASSERTIONS}


def _kinds(definitions: Definitions) -> Iterator[JsonObject]:
    """A reference to the schema of each kind; the schemas join `definitions`.

    In a group an assertion may do without an id, and has no severity of its own.
    """
    for name in assertion_kinds.every_name():
        try:
            kind = assertion_kinds.get(name)
        except ProctorError:
            continue  # a plugin that cannot be used; `proctor plugins` shows it
        assert kind is not None  # noqa: S101 - it was listed
        _, found = _definitions(kind.Spec)
        spec = found.pop(kind.Spec.__name__)
        spec |= {"title": name, "description": _paragraphs(inspect.getdoc(kind) or "")}
        spec["properties"]["kind"] |= {"const": name}
        spec["required"].remove("id")
        if issubclass(kind.Spec, GroupSpec):
            spec["properties"]["of"] |= _assertions({"properties": {"severity": False}})
        definitions.update(found)
        definitions[f"kind-{name}"] = spec
        yield {"$ref": f"#/$defs/kind-{name}"}


def _prompt() -> JsonObject:
    whole, definitions = _definitions(PromptFile)
    either: Json = {"anyOf": [{"required": ["system"]}, {"required": ["user"]}]}
    definitions["PromptFile"]["oneOf"] = [
        {"required": ["user"], "not": {"required": ["messages"]}},
        {"required": ["messages"], "not": either},
    ]
    return _top("A prompt of Proctor", whole, definitions)


def _dataset() -> JsonObject:
    whole, definitions = _definitions(CaseFile)
    definitions["CaseFile"]["properties"]["id"] |= {"minLength": 1, "maxLength": MAX_ID}
    return _top("A case of a dataset of Proctor, one line", whole, definitions)


def _report() -> JsonObject:
    whole, definitions = _closed_definitions(ReportHead, CaseResult)
    definitions["ReportHead"]["properties"]["schema"] = {"const": REPORT_SCHEMA}
    subject = definitions[SubjectReport.__name__]
    subject["properties"]["cases"] = {"type": "array", "items": {"$ref": "#/$defs/CaseResult"}}
    subject["required"].append("cases")
    subject["description"] = "One subject's results, its cases last."
    definitions["ReportHead"]["description"] = f"A whole report, `{REPORT_SCHEMA}`."
    return _top("A report of Proctor", whole, definitions)


def _comparison() -> JsonObject:
    whole, definitions = _closed_definitions(Comparison)
    definitions["Comparison"]["properties"]["schema"] = {"const": COMPARISON_SCHEMA}
    return _top("A comparison of Proctor", whole, definitions)


def _pairwise() -> JsonObject:
    whole, definitions = _closed_definitions(Pairwise)
    definitions["Pairwise"]["properties"]["schema"] = {"const": PAIRWISE_SCHEMA}
    return _top("Answers compared pair by pair by Proctor", whole, definitions)


def _packet() -> JsonObject:
    """Of all files of packets: those that Proctor writes or reads back say which they are."""
    suite, definitions = _definitions(PacketSuiteFile)
    definitions["PacketCaseFile"]["properties"]["checks"] |= {
        "items": {"$ref": "#/$defs/PacketCheckFile", "required": ["id", "field"]},
        "minItems": 1,
    }
    definitions["PacketCheckFile"] = {"title": "A check", "oneOf": list(_checks(definitions))}
    definitions["PacketCaseFile"]["properties"]["response"] |= {"minProperties": 1}
    definitions["ResponseField"]["properties"]["fields"]["anyOf"][0] |= {"minProperties": 1}
    others: list[Json] = []
    for make, kind in (
        (_definitions, Packet),
        (_definitions, PacketResponse),
        (_closed_definitions, PacketReport),
    ):
        whole, found = make(kind)
        definitions = {**found, **definitions}
        others.append({"$ref": f"#/$defs/{whole}"})
    definitions[PacketReport.__name__]["properties"]["schema"] = {"const": PACKET_REPORT_SCHEMA}
    schema = {
        "title": "A suite of sealed packets of Proctor, a packet, a response or the report on one",
        "if": {"required": ["schema"]},
        "then": {"oneOf": others},
        "else": {"$ref": f"#/$defs/{suite}"},
        "$defs": dict(sorted(definitions.items())),
    }
    cleaned: JsonObject = _cleaned(schema)
    return cleaned


def _checks(definitions: Definitions) -> Iterator[JsonObject]:
    """A reference to the schema of each kind of check; the schemas join `definitions`.

    In a group a check may do without an id, and without a field of its own.
    """
    for name, (kind, about) in listed_kinds().items():
        _, found = _definitions(kind)
        spec = found[kind.__name__]
        spec |= {"title": name, "description": about}
        spec["properties"]["kind"] |= {"const": name}
        spec["required"] = [key for key in spec["required"] if key not in ("id", "field")]
        if name == GROUP:
            spec["properties"]["of"] |= {
                "items": {"$ref": "#/$defs/PacketCheckFile"},
                "minItems": 1,
            }
        definitions[f"check-{name}"] = spec
        yield {"$ref": f"#/$defs/check-{name}"}


_MAKERS: dict[str, Callable[[], JsonObject]] = {
    "suite": _suite,
    "prompt": _prompt,
    "dataset": _dataset,
    "report": _report,
    "comparison": _comparison,
    "pairwise": _pairwise,
    "packet": _packet,
}


def _top(title: str, whole: str, definitions: Definitions) -> JsonObject:
    schema = {
        "title": title,
        "$ref": f"#/$defs/{whole}",
        "$defs": dict(sorted(definitions.items())),
    }
    cleaned: JsonObject = _cleaned(schema)
    return cleaned


def _definitions(*kinds: type[Struct]) -> tuple[str, Definitions]:
    """The name of the first struct's schema, and the schemas of all they are made of, described."""
    _, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    for kind in _structs(kinds):
        definition = definitions[kind.__name__]
        definition["description"] = _paragraphs(kind.__doc__ or "")
        definition.pop("title", None)
        described = _arguments(kind)
        for name, field in fields_of(kind).items():
            if field.name in described:
                key = definition["properties"][name]
                definition["properties"][name] = {"description": described[field.name], **key}
    return kinds[0].__name__, definitions


def _closed_definitions(*kinds: type[Struct]) -> tuple[str, Definitions]:
    """The same of what Proctor writes: every key is there, and no other."""
    whole, definitions = _definitions(*kinds)
    for kind in _structs(kinds):
        definition = definitions[kind.__name__]
        definition["additionalProperties"] = False
        definition["required"] = [
            name
            for name, field in fields_of(kind).items()
            if UnsetType not in typing.get_args(field.type)
        ]
    return whole, definitions


def _structs(kinds: Sequence[object]) -> list[type[Struct]]:
    """These structs and all that occur in their fields, each once."""
    found: dict[type[Struct], None] = {}

    def visit(kind: object) -> None:
        if isinstance(kind, type) and issubclass(kind, Struct):
            if kind not in found:
                found[kind] = None
                for field in fields_of(kind).values():
                    visit(field.type)
            return
        for part in typing.get_args(kind):
            visit(part)

    for kind in kinds:
        visit(kind)
    return list(found)


def _paragraphs(doc: str) -> str:
    """A docstring up to its `Args`, each paragraph on one line."""
    text = inspect.cleandoc(doc).partition("\n\nArgs:")[0]
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _arguments(kind: type[Struct]) -> dict[str, str]:
    """What the docstrings of a struct and its bases say of each field."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        name = None
        for line in inspect.cleandoc(base.__doc__ or "").partition("\nArgs:\n")[2].split("\n"):
            match = _ARGUMENT.match(line)
            if match is not None:
                name = match.group(1)
                found[name] = match.group(2)
            elif name is not None and line.startswith(" " * 8):
                found[name] += f" {line.strip()}"
            else:
                name = None
    return found


def _cleaned(schema: Json) -> Json:
    """Without defaults of null, and with patterns every dialect of expressions reads alike."""
    if isinstance(schema, list):
        return [_cleaned(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _plain_pattern(part) if key == "pattern" and isinstance(part, str) else _cleaned(part)
        for key, part in schema.items()
        if not (key == "default" and part is None)
    }


def _plain_pattern(pattern: str) -> str:
    return pattern.replace(r"\A", "^").replace(r"\Z", "$")
