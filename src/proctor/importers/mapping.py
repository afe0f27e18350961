"""Which part of a record becomes which part of a case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from proctor.documents import name_of
from proctor.errors import UsageError
from proctor.importers.sources import Record
from proctor.loading.cases import CaseFile
from proctor.pointers import MISSING, descend, parse_pointer
from proctor.records import Json, JsonObject

_PARTS: Final = ("inputs", "expected", "context", "metadata")
"""Parts of a case that `--map` may name."""
_OBJECTS: Final = ("inputs", "metadata")
"""Of them, those that are objects, so that only their members can be named."""


class NoCase(ValueError):
    """A record that makes no case; the sentence quotes no value of it."""


class Source(Struct, frozen=True):
    """A part of a record: a JSON Pointer, or names with dots between them."""

    written: str

    def of(self, record: JsonObject) -> Json:
        """What stands there, `MISSING` when nothing does."""
        if self.written.startswith("/"):
            return descend(record, parse_pointer(self.written) or ())
        # A column may have a dot in its name.
        if self.written in record:
            return record[self.written]
        return descend(record, self.written.split("."))

    @property
    def field(self) -> str:
        """The field of the record it is, if it is a whole one."""
        tokens = parse_pointer(self.written) or ()
        return tokens[0] if len(tokens) == 1 else self.written


class Target(Struct, frozen=True):
    """A part of a case, and what becomes it."""

    path: tuple[str, ...]
    source: Source


class Mapping(Struct, frozen=True, kw_only=True):
    """How records become cases.

    Args:
        targets: The parts that are told. Without any, a record that has an object `inputs` is
            a case as it is; of another, all fields without another use are inputs.
        id: What the id is; by default `id`, and `row-<n>` where there is none.
        expected: What is expected.
        tag: What become tags: words, or lists of words.
    """

    targets: tuple[Target, ...] = ()
    id: Source | None = None
    expected: Source | None = None
    tag: tuple[Source, ...] = ()

    def sources(self) -> list[Source]:
        """Every part of a record that is named."""
        named = [self.id, self.expected, *self.tag, *(one.source for one in self.targets)]
        return [one for one in named if one is not None]

    def case(self, record: Record) -> JsonObject:
        """The case that a record makes, with the keys of a dataset.

        Raises:
            NoCase: Saying why it makes none.
        """
        value = record.value
        if self.targets:
            case = _mapped(self.targets, value)
        elif isinstance(value.get("inputs"), dict):
            used = self._fields() - set(CaseFile.__struct_fields__)
            case = {name: one for name, one in value.items() if name not in used}
        else:
            case = self._by_name(value)
        case["id"] = self._id(record)
        if self.expected is not None:
            expected = self.expected.of(value)
            case |= {} if expected is MISSING else {"expected": expected}
        if self.tag:
            tags = [word for source in self.tag for word in _words(source, value)]
            case["tags"] = list(dict.fromkeys(tags))
        return {"id": case.pop("id"), "inputs": case.pop("inputs"), **case}

    def _by_name(self, value: JsonObject) -> JsonObject:
        """A record of fields: each is an input, unless it is used for something else."""
        used = self._fields() | ({"id"} if self.id is None else set())
        case: JsonObject = {}
        for name, told in (("expected", self.expected), ("tags", self.tag)):
            if not told and name in value:
                used.add(name)
                case[name] = value[name]
        return {**case, "inputs": {name: one for name, one in value.items() if name not in used}}

    def _fields(self) -> set[str]:
        return {source.field for source in self.sources()}

    def _id(self, record: Record) -> str:
        source = self.id or Source("id")
        found = source.of(record.value)
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)
        if isinstance(found, str) and (found or self.id is not None):
            return found
        if self.id is None and (found is MISSING or found is None or found == ""):
            return f"row-{record.number}"
        what = "is not there" if found is MISSING else f"is {name_of(found)}"
        raise NoCase(f"the id, `{source.written}`, {what}, and it must be text or a whole number")


def parse_mapping(
    maps: Sequence[str], *, id_: str | None, expected: str | None, tag: Sequence[str]
) -> Mapping:
    """The mapping that the options say.

    Args:
        maps: `TARGET=SOURCE` each, like `inputs.message=/body/text`.
        id_: The source of the id.
        expected: The source of what is expected.
        tag: The sources of the tags.

    Raises:
        UsageError: P6002 when one is written wrong, or two contradict each other.
    """
    targets = [_target(one) for one in maps]
    if targets and not any(one.path[0] == "inputs" for one in targets):
        raise _wrong("no `--map` names an input", "write `--map inputs.NAME=FIELD` as well")
    paths = [one.path for one in targets] + ([] if expected is None else [("expected",)])
    for place, path in enumerate(paths):
        for other in paths[:place]:
            shorter = min(len(path), len(other))
            if path[:shorter] == other[:shorter]:
                name = ".".join(path[:shorter])
                raise _wrong(f"two options say what `{name}` is", "leave one of them out")
    return Mapping(
        targets=tuple(targets),
        id=None if id_ is None else _source(id_, "--id"),
        expected=None if expected is None else _source(expected, "--expected"),
        tag=tuple(_source(one, "--tag") for one in tag),
    )


def _target(written: str) -> Target:
    name, equals, source = written.partition("=")
    path = tuple(name.split("."))
    is_known = path[0] in _PARTS and all(path) and (len(path) > 1 or path[0] not in _OBJECTS)
    if not equals or not is_known:
        raise _wrong(
            f"`--map {written}` says not what becomes what",
            "write `--map inputs.NAME=FIELD`; beside `inputs.NAME` there are `expected`, "
            "`expected.NAME`, `context`, `context.NAME` and `metadata.NAME`",
        )
    return Target(path, _source(source, "--map"))


def _source(written: str, option: str) -> Source:
    if not written or (written.startswith("/") and parse_pointer(written) is None):
        raise _wrong(
            f"`{option}`: `{written}` names no part of a record",
            "write a name, names with dots between them, or a JSON Pointer like `/body/text`",
        )
    return Source(written)


def _wrong(message: str, hint: str) -> UsageError:
    return UsageError(message, code="P6002", hint=hint)


def _mapped(targets: Sequence[Target], value: JsonObject) -> JsonObject:
    case: JsonObject = {"inputs": {}}
    for target in targets:
        found = target.source.of(value)
        if found is MISSING:
            continue
        holder = case
        for name in target.path[:-1]:
            holder = holder.setdefault(name, {})
        holder[target.path[-1]] = found
    return case


def _words(source: Source, value: JsonObject) -> list[str]:
    """The tags a part of a record makes; none when it is empty or not there."""
    found = source.of(value)
    if found is MISSING or found is None:
        return []
    words: list[str] = []
    for one in found if isinstance(found, list) else [found]:
        if isinstance(one, bool):
            words.append("true" if one else "false")
        elif isinstance(one, (str, int)):
            words += [str(one)] if one != "" else []
        else:
            raise NoCase(f"`{source.written}` is {name_of(one)}, which is no tag")
    return words
