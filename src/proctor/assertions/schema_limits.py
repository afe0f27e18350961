"""What a JSON Schema may be: local references only, and a bounded amount of work for a validator.

References let a small schema stand for a very large one, or for one without end. The walk here
follows them the way a validator does, and stops where a schema comes back to itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal
from urllib.parse import unquote

from msgspec import Struct

from proctor.assertions.base import invalid
from proctor.canonical import canonical_json
from proctor.pointers import MISSING, resolve_pointer
from proctor.records import Json, JsonObject

MAX_BYTES: Final = 256 * 1024
MAX_NODES: Final = 10_000
MAX_DEPTH: Final = 64

Draft = Literal["4", "6", "7", "2019-09", "2020-12"]

DRAFTS: Final[dict[str, Draft]] = {
    "http://json-schema.org/draft-04/schema": "4",
    "http://json-schema.org/draft-06/schema": "6",
    "http://json-schema.org/draft-07/schema": "7",
    "https://json-schema.org/draft/2019-09/schema": "2019-09",
    "https://json-schema.org/draft/2020-12/schema": "2020-12",
}
_REF_ALONE: Final = ("4", "6", "7")
"""Drafts in which the neighbours of a `$ref` mean nothing."""

_SAME_PLACE = ("not", "if", "then", "else")
_SAME_PLACE_LIST = ("allOf", "anyOf", "oneOf")
_SAME_PLACE_MAP = ("dependentSchemas", "dependencies")
_ANY_NAME = ("additionalProperties", "unevaluatedProperties")
_ANY_ITEM = ("items", "additionalItems", "unevaluatedItems", "contains")

Label = tuple[str, str]
"""Which members of an instance a subschema is for: `name` or `item` with which one, or `""`."""


def draft_of(schema: Json) -> Draft:
    """The draft a schema is written in: what its `$schema` says, else 2020-12.

    Raises:
        SuiteError: P6201 when `$schema` names no draft from 4 to 2020-12.
    """
    written = schema.get("$schema") if isinstance(schema, dict) else None
    if written is None:
        return "2020-12"
    address = written.rstrip("#") if isinstance(written, str) else ""
    for known, draft in DRAFTS.items():
        if address.partition("://")[2] == known.partition("://")[2]:
            return draft
    raise invalid(
        "`$schema` names no draft that is supported", f"one of {', '.join(DRAFTS.values())}"
    )


def expanded_nodes(schema: Json, draft: Draft) -> int:
    """How many nodes a schema has with its references followed, each recursion once.

    Raises:
        SuiteError: P6201 when a limit is passed, when a reference leaves the schema or leads
            nowhere, or when the schema comes back to itself without going into the instance.
    """
    try:
        size = len(canonical_json(schema))
    except ValueError:
        raise invalid("the schema holds a number that is not JSON") from None
    if size > MAX_BYTES:
        raise invalid(f"the schema has {size:,} bytes of JSON; the limit is {MAX_BYTES:,}")
    return _Walk(schema, draft).nodes()


class _Parts(Struct, frozen=True):
    """The subschemas of a schema: for the same place of the instance, and for places below."""

    same: list[Json]
    below: list[tuple[Label, Json]]


class _Walk:
    def __init__(self, root: Json, draft: Draft) -> None:
        self._root = root
        self._draft = draft
        self._id_key = "id" if draft == "4" else "$id"
        self._anchors: dict[str, Json] = {}
        self._known: dict[int, _Parts] = {}
        self._seen: dict[int, JsonObject] = {}
        self._count = 0
        self._recursive = False
        for one in _everything(root):
            self._note_anchor(one)

    def nodes(self) -> int:
        self._expand(self._root, {}, levels=0)
        if self._recursive:
            self._refuse_multiplying()
        return self._count

    def _note_anchor(self, schema: JsonObject) -> None:
        for key in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(key), str):
                self._anchors[schema[key]] = schema
        own_id = schema.get(self._id_key)
        if isinstance(own_id, str) and own_id.startswith("#"):
            self._anchors[own_id[1:]] = schema
        elif isinstance(own_id, str) and schema is not self._root:
            raise invalid(f"a schema within the schema has its own `{self._id_key}`")

    def _expand(self, schema: Json, path: dict[int, int], *, levels: int) -> None:
        """Count a node and all below it.

        Args:
            schema: The node.
            path: The nodes it is in, by identity, with how many levels into the instance each is.
            levels: How many levels this node is.
        """
        self._count += 1
        if self._count > MAX_NODES:
            raise invalid(f"the schema has over {MAX_NODES:,} nodes with its `$ref`s followed")
        if not isinstance(schema, dict):
            return
        if len(path) >= MAX_DEPTH:
            raise invalid(f"the schema is deeper than {MAX_DEPTH} with its `$ref`s followed")
        self._seen[id(schema)] = schema
        parts = self._parts(schema)
        path[id(schema)] = levels
        for part in parts.same:
            self._expand_unless_open(part, path, levels)
        for _, part in parts.below:
            self._expand_unless_open(part, path, levels + 1)
        del path[id(schema)]

    def _expand_unless_open(self, schema: Json, path: dict[int, int], levels: int) -> None:
        opened = path.get(id(schema)) if isinstance(schema, dict) else None
        if opened is None:
            self._expand(schema, path, levels=levels)
        elif opened == levels:
            raise invalid("the schema comes back to itself without going into the answer")
        else:
            self._recursive = True

    def _refuse_multiplying(self) -> None:
        """Refuse a recursion by which ever more nodes judge one place of an answer.

        `left` and `right` that lead back are two places. Two branches that both have a `left`
        double the work at each level, and a validator does not notice.
        """
        groups = {node: self._judging_one_place(schema) for node, schema in self._seen.items()}
        ways = dict.fromkeys(groups, 1)
        for _ in range(MAX_DEPTH):
            more = {
                node: max((sum(ways[one] for one in group) for group in below), default=1)
                for node, below in groups.items()
            }
            if max(more.values()) > MAX_NODES:
                raise invalid(
                    "the schema's recursion doubles its work at each level of an answer",
                    "let each part of an answer be reached through one `$ref` only",
                )
            if more == ways:
                return
            ways = more

    def _judging_one_place(self, schema: JsonObject) -> list[list[int]]:
        """Per place one level below, the nodes that judge what stands there."""
        labelled: dict[Label, list[int]] = {}
        open_ones: list[Json] = [schema]
        while open_ones:
            one = open_ones.pop()
            if isinstance(one, dict):
                parts = self._parts(one)
                open_ones += parts.same
                for label, child in parts.below:
                    if isinstance(child, dict):
                        labelled.setdefault(label, []).append(id(child))
        return [
            group + (labelled.get((kind, ""), []) if which else [])
            for (kind, which), group in labelled.items()
        ]

    def _parts(self, schema: JsonObject) -> _Parts:
        parts = self._known.get(id(schema))
        if parts is None:
            parts = self._known[id(schema)] = self._read_parts(schema)
        return parts

    def _read_parts(self, schema: JsonObject) -> _Parts:
        for key in ("$dynamicRef", "$recursiveRef"):
            if key in schema:
                raise invalid(f"`{key}` is not supported", "write `$ref`")
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return _subschemas(schema)
        target = self._resolve(reference)
        if self._draft in _REF_ALONE:
            return _Parts([target], [])
        parts = _subschemas(schema)
        return _Parts([target, *parts.same], parts.below)

    def _resolve(self, reference: str) -> Json:
        if not reference.startswith("#"):
            raise invalid(
                f"`$ref`: `{reference[:200]}` is not in the schema",
                "only `#`, `#/pointer` and `#anchor` are followed; nothing is fetched",
            )
        fragment = unquote(reference[1:])
        if fragment and not fragment.startswith("/"):
            target = self._anchors.get(fragment, MISSING)
        else:
            target = resolve_pointer(self._root, fragment)
        if not isinstance(target, (dict, bool)):
            raise invalid(f"`$ref`: there is no schema at `{reference[:200]}`")
        return target


def _subschemas(schema: JsonObject) -> _Parts:
    same = [schema[key] for key in _SAME_PLACE if key in schema]
    same += [one for key in _SAME_PLACE_LIST for one in _members(schema.get(key), list)]
    same += [one for key in _SAME_PLACE_MAP for one in _members(schema.get(key), dict)]
    below: list[tuple[Label, Json]] = []
    properties = schema.get("properties")
    if isinstance(properties, dict):
        below += [(("name", name), one) for name, one in properties.items()]
    below += [(("name", ""), one) for one in _members(schema.get("patternProperties"), dict)]
    below += [(("name", ""), schema[key]) for key in _ANY_NAME if key in schema]
    below += [(("key", ""), schema["propertyNames"])] if "propertyNames" in schema else []
    for key in ("prefixItems", "items"):
        members = _members(schema.get(key), list)
        below += [(("item", str(n)), one) for n, one in enumerate(members)]
    below += [
        (("item", ""), schema[key])
        for key in _ANY_ITEM
        if key in schema and not isinstance(schema[key], list)
    ]
    return _Parts(
        [one for one in same if isinstance(one, (dict, bool))],
        [(label, one) for label, one in below if isinstance(one, (dict, bool))],
    )


def _members(value: Json, kind: type[list[Json]] | type[dict[str, Json]]) -> list[Json]:
    if not isinstance(value, kind):
        return []
    return list(value.values()) if isinstance(value, dict) else list(value)


def _everything(root: Json) -> Iterator[JsonObject]:
    """Every schema that stands somewhere in a schema, whether it is used or not."""
    open_ones = [root]
    while open_ones:
        schema = open_ones.pop()
        if isinstance(schema, dict):
            yield schema
            parts = _subschemas(schema)
            open_ones += parts.same
            open_ones += [one for _, one in parts.below]
            for key in ("$defs", "definitions"):
                open_ones += _members(schema.get(key), dict)
