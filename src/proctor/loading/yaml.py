"""YAML core 1.2 with line numbers, on PyYAML's C parser.

`no`, `on`, `1_000`, `2026-11-30` and `12:30` stay strings, `012` is 12. Refused, each with its
line: duplicate keys, tags, merge keys, keys that are not strings, more than one document, nesting
deeper than 64, and aliases that expand a document to more than 10,000 nodes. Both limits hold for
the document with every alias written out.
"""

from __future__ import annotations

import math
import re

import yaml
from msgspec import Struct
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from proctor.documents import Document, Path
from proctor.records import Json
from proctor.strict_json import MAX_DEPTH, MAX_DIGITS, JsonProblem, decode_utf8

MAX_NODES = 10_000
"""How many nodes a document with aliases may have once every alias is written out."""

_TOO_DEEP = f"is nested deeper than {MAX_DEPTH}"
_TOO_MANY_DIGITS = f"has an integer of more than {MAX_DIGITS} digits"
_UTF8_BOM = b"\xef\xbb\xbf"
_TOO_LONG = 10**MAX_DIGITS
# What YAML does not allow as it is. NEL, LS and PS are allowed, but the C parser ends a line there.
_UNPRINTABLE = re.compile("[^\t\n\r -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_RADIX = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))\Z")
_WORDS: dict[str, Json] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}


class YamlProblem(ValueError):
    """A text that is not taken for YAML, with the 1-based line where it is known."""

    def __init__(self, detail: str, line: int | None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.line = line


def parse_yaml(data: bytes, name: str) -> Document:
    """The document a YAML file holds.

    Args:
        data: The bytes of the file, UTF-8 with or without a byte order mark.
        name: The file's name, for messages.

    Raises:
        YamlProblem: With the first reason found.
    """
    return _Builder().build(_decode(data), name)


def _decode(data: bytes) -> str:
    try:
        text = decode_utf8(data.removeprefix(_UTF8_BOM))
    except JsonProblem as problem:
        raise YamlProblem(problem.detail, problem.line) from None
    found = _UNPRINTABLE.search(text)
    if found is not None:
        raise YamlProblem(
            f"has the character U+{ord(found.group()):04X} as it is; write it as an escape in "
            "double quotes",
            text.count("\n", 0, found.start()) + 1,
        )
    return text


class _Open(Struct):
    """A mapping or list that is still being read."""

    value: dict[str, Json] | list[Json]
    anchor: str | None
    path: Path
    nodes_before: int
    key: str | None = None
    height: int = 1


class _Anchored(Struct, frozen=True):
    """What an alias stands for: its nodes, and how many containers are inside each other."""

    value: Json
    nodes: int
    height: int


class _Builder:
    """Builds the value of one document from parser events, without recursion."""

    def __init__(self) -> None:
        self._lines: dict[Path, int] = {}
        self._blocks: dict[Path, int] = {}
        self._anchors: dict[str, _Anchored] = {}
        self._stack: list[_Open] = []
        self._nodes = 0
        self._has_aliases = False
        self._root: Json = None

    def build(self, text: str, name: str) -> Document:
        documents = 0
        try:
            # Only the events of this loader are used: it constructs nothing.
            for event in yaml.parse(text, Loader=yaml.CSafeLoader):
                if not isinstance(event, DocumentStartEvent):
                    self._take(event)
                    continue
                documents += 1
                if documents > 1:
                    raise YamlProblem("holds more than one document", _line(event))
        except yaml.YAMLError as error:
            raise _explain(error) from None
        if not self._nodes:
            raise YamlProblem("is empty", 1)
        return Document(name, self._root, self._lines, self._blocks)

    def _take(self, event: yaml.Event) -> None:
        if isinstance(event, ScalarEvent):
            self._take_scalar(event)
        elif isinstance(event, (MappingStartEvent, SequenceStartEvent)):
            self._open(event)
        elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
            self._close()
        elif isinstance(event, AliasEvent):
            self._take_alias(event)

    def _take_scalar(self, event: ScalarEvent) -> None:
        line = _line(event)
        if event.tag is not None:
            raise YamlProblem(f"has the tag `{event.tag}`; tags are not read", line)
        holder = self._stack[-1] if self._stack else None
        if holder is not None and isinstance(holder.value, dict) and holder.key is None:
            self._take_key(holder, event)
            return
        value = event.value if event.style else _plain_value(event.value, line)
        if event.style == "|":
            self._blocks[self._path()] = line + 1
        self._count(1, line)
        if event.anchor:
            self._anchors[event.anchor] = _Anchored(value, 1, 0)
        self._put(value, line)

    def _take_key(self, holder: _Open, event: ScalarEvent) -> None:
        key, line = event.value, _line(event)
        if not event.style:
            if key == "<<":
                raise YamlProblem("has a merge key `<<`; merge keys are not read", line)
            if not isinstance(_plain_value(key, line), str):
                raise YamlProblem(f"has the key `{key}`, which is not a string; quote it", line)
        if event.anchor:
            raise YamlProblem("has an anchor on a key", line)
        if key in holder.value:
            raise YamlProblem(f"has the key `{key}` twice", line)
        holder.key = key
        self._lines[(*holder.path, key)] = line

    def _open(self, event: MappingStartEvent | SequenceStartEvent) -> None:
        line = _line(event)
        if event.tag is not None:
            raise YamlProblem(f"has the tag `{event.tag}`; tags are not read", line)
        self._check_depth(1, line)
        holder = self._stack[-1] if self._stack else None
        if holder is not None and isinstance(holder.value, dict) and holder.key is None:
            raise YamlProblem("has a key that is not a string", line)
        path = self._path()
        self._lines.setdefault(path, line)
        before = self._nodes
        self._count(1, line)
        if event.anchor:
            # From here on the name means this container, which no alias inside may stand for.
            self._anchors.pop(event.anchor, None)
        value: dict[str, Json] | list[Json] = {} if isinstance(event, MappingStartEvent) else []
        self._stack.append(_Open(value, event.anchor, path, before))

    def _close(self) -> None:
        closed = self._stack.pop()
        if closed.anchor:
            nodes = self._nodes - closed.nodes_before
            self._anchors[closed.anchor] = _Anchored(closed.value, nodes, closed.height)
        self._put(closed.value, None, closed.height)

    def _take_alias(self, event: AliasEvent) -> None:
        line = _line(event)
        anchored = self._anchors.get(event.anchor or "")
        if anchored is None:
            raise YamlProblem(f"has the alias `*{event.anchor}` of no anchor that ends above", line)
        holder = self._stack[-1] if self._stack else None
        if holder is not None and isinstance(holder.value, dict) and holder.key is None:
            raise YamlProblem("has an alias as a key", line)
        self._has_aliases = True
        self._count(anchored.nodes, line)
        self._check_depth(anchored.height, line)
        self._put(anchored.value, line, anchored.height)

    def _path(self) -> Path:
        if not self._stack:
            return ()
        holder = self._stack[-1]
        if isinstance(holder.value, list):
            return (*holder.path, len(holder.value))
        return (*holder.path, holder.key or "")

    def _put(self, value: Json, line: int | None, height: int = 0) -> None:
        if not self._stack:
            self._root = value
            if line is not None:
                self._lines[()] = line
            return
        holder = self._stack[-1]
        holder.height = max(holder.height, height + 1)
        if isinstance(holder.value, list):
            if line is not None:
                self._lines[(*holder.path, len(holder.value))] = line
            holder.value.append(value)
        elif holder.key is not None:
            holder.value[holder.key] = value
            holder.key = None

    def _count(self, nodes: int, line: int) -> None:
        self._nodes += nodes
        if self._has_aliases and self._nodes > MAX_NODES:
            raise YamlProblem(f"expands to more than {MAX_NODES} nodes", line)

    def _check_depth(self, height: int, line: int) -> None:
        if len(self._stack) + height > MAX_DEPTH:
            raise YamlProblem(_TOO_DEEP, line)


def _plain_value(text: str, line: int) -> Json:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.match(text):
        if len(text.lstrip("+-")) > MAX_DIGITS:
            raise YamlProblem(_TOO_MANY_DIGITS, line)
        return int(text)
    if _RADIX.match(text):
        integer = int(text, 0)
        if integer >= _TOO_LONG:
            raise YamlProblem(_TOO_MANY_DIGITS, line)
        return integer
    if _FLOAT.match(text):
        number = float(text)
        if math.isfinite(number):
            return number
        raise YamlProblem("has a number beyond the range of a float", line)
    if _NOT_FINITE.match(text):
        raise YamlProblem(f"has `{text}`, which is not a finite number; quote it", line)
    return text


def _line(event: yaml.Event) -> int:
    mark = event.start_mark
    return 1 if mark is None else mark.line + 1


def _explain(error: yaml.YAMLError) -> YamlProblem:
    if not isinstance(error, yaml.MarkedYAMLError):
        return YamlProblem("is not YAML: it cannot be read", None)
    mark = error.problem_mark or error.context_mark
    line = None if mark is None else mark.line + 1
    if error.problem == "exceeded maximum nesting depth":
        return YamlProblem(_TOO_DEEP, line)
    return YamlProblem(f"is not YAML: {error.problem or 'it cannot be read'}", line)
