"""Prompts: `prompts/<id>.prompt.yaml`, read, checked and hashed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from proctor.canonical import digest
from proctor.contracts import contract_faults
from proctor.documents import Document, Path, StructReader
from proctor.errors import ProctorError, SuiteError
from proctor.loading.files import list_files, read_document
from proctor.records import (
    FieldSpec,
    Json,
    JsonObject,
    Message,
    ModelChoice,
    Prompt,
    Warn,
)
from proctor.registry import did_you_mean
from proctor.safe_io import inside
from proctor.templates import Part, Placeholder, parse_template

ENDING = ".prompt.yaml"

_MODEL_REF = re.compile(r"[a-z0-9][a-z0-9-]*/[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+\Z")
_PROMPT_ID = re.compile(r"[a-z0-9][a-z0-9-]*\Z")
_INPUT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


class ModelFile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`model` of a prompt."""

    ref: str
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    params: JsonObject = {}


class PromptFile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A prompt as it stands in its file."""

    schema_: str | None = msgspec.field(default=None, name="$schema")
    description: str | None = None
    model: ModelFile | None = None
    inputs: dict[str, FieldSpec] = {}
    output: dict[str, FieldSpec] | None = None
    system: str | None = None
    user: str | None = None
    messages: list[Message] | None = None


class LoadedPrompt(Struct, frozen=True):
    """A prompt with its templates parsed, one list of parts per message."""

    prompt: Prompt
    templates: list[list[Part]]
    warnings: list[Warn]

    def placeholders(self) -> list[Placeholder]:
        """Every place where a value goes."""
        return [part for parts in self.templates for part in parts if isinstance(part, Placeholder)]


class Prompts:
    """The prompts of a project, each read when first asked for.

    Args:
        root: The project's folder.
        folder: Where prompts are, relative to the root.
        project: The project's id, which may stand before a prompt's id.
    """

    def __init__(self, root: FilePath, folder: str, project: str) -> None:
        self._root = root
        self._folder = inside(folder)
        self._project = project
        self._known: dict[str, LoadedPrompt | None] = {}
        self.problems: list[ProctorError] = []

    def ids(self) -> list[str]:
        """The id of every prompt file, sorted."""
        start = len(self._folder) + 1
        return [
            path[start : -len(ENDING)]
            for path in list_files(self._root, self._folder, (ENDING,))
            if "/" not in path[start:]
        ]

    def get(self, reference: str, where: str) -> LoadedPrompt | None:
        """The prompt a suite refers to; None after noting what is wrong with it.

        Args:
            reference: `<prompt id>` or `<project id>/<prompt id>`.
            where: The place of the reference.
        """
        project, slash, prompt_id = reference.rpartition("/")
        if (slash and project != self._project) or prompt_id not in self.ids():
            self.problems.append(self._unknown(reference, where))
            return None
        return self.load(prompt_id)

    def load(self, prompt_id: str) -> LoadedPrompt | None:
        """A prompt by its id; None after noting what is wrong with it, once."""
        if prompt_id not in self._known:
            self._known[prompt_id] = self._read(prompt_id)
        return self._known[prompt_id]

    def _read(self, prompt_id: str) -> LoadedPrompt | None:
        path = f"{self._folder}/{prompt_id}{ENDING}"
        try:
            document = read_document(self._root, path, error=SuiteError, code="P6204")
        except ProctorError as problem:
            self.problems.append(problem)
            return None
        loaded, problems = parse_prompt(document, prompt_id)
        self.problems += problems
        return loaded

    def _unknown(self, reference: str, where: str) -> ProctorError:
        ids = self.ids()
        hint = did_you_mean(reference.rpartition("/")[2], ids)
        listed = ", ".join(ids[:8]) or "none"
        return SuiteError(
            f"there is no prompt `{reference}` in project `{self._project}`",
            code="P6203",
            hint=hint or f"prompts in `{self._folder}/`: {listed}",
            where=where,
        )


def parse_prompt(
    document: Document, prompt_id: str
) -> tuple[LoadedPrompt | None, list[ProctorError]]:
    """A prompt from its file, or None, and every problem with it."""
    reader = StructReader(document, error=SuiteError, code="P6204")
    if not _PROMPT_ID.match(prompt_id):
        reader.problem(
            f"`{prompt_id}` is not a prompt id",
            (),
            hint="rename the file with lower-case letters, digits and dashes",
        )
    file = reader.read(PromptFile, document.value)
    if file is None:
        return None, reader.problems
    for part in ("inputs", "output"):
        for place, fault in contract_faults(getattr(file, part) or {}, (part,)):
            reader.problem(fault, place)
    for name in file.inputs:
        if not _INPUT_NAME.match(name):
            reader.problem(f"the input `{name}` cannot be named in a placeholder", ("inputs", name))
    if file.model is not None:
        check_model_ref(file.model.ref, ("model", "ref"), reader)
    messages, places = _messages(file, reader)
    templates = [
        _template(message.content, place, file.inputs, reader)
        for message, place in zip(messages, places, strict=True)
    ]
    if file.model is not None and "maxTokens" in file.model.params:
        reader.problem(
            "`maxTokens` stands beside `params`, not in it", ("model", "params", "maxTokens")
        )
    if reader.problems:
        return None, reader.problems
    prompt = Prompt(
        id=prompt_id,
        path=document.name,
        messages=tuple(messages),
        inputs=file.inputs,
        output=file.output,
        model=_model(file.model),
        bundle_sha256=_bundle_sha256(messages, document.value),
    )
    loaded = LoadedPrompt(prompt, templates, [])
    loaded.warnings.extend(_unused(loaded, document))
    return loaded, []


def check_model_ref(ref: str, path: Path, reader: StructReader) -> None:
    """Note a problem when a model is not named as `<provider>/<name>`."""
    if not _MODEL_REF.match(ref):
        reader.problem(
            f"`{ref}` is not a model reference",
            path,
            hint="write `<provider>/<name>`, the provider in lower-case letters, digits and dashes",
        )


def _messages(file: PromptFile, reader: StructReader) -> tuple[list[Message], list[Path]]:
    if file.messages is not None:
        if file.system is not None or file.user is not None:
            reader.problem("`messages` stands instead of `system` and `user`", ("messages",))
        if not file.messages:
            reader.problem("there is nothing to send", ("messages",), hint="write a message")
        return list(file.messages), [
            ("messages", index, "content") for index in range(len(file.messages))
        ]
    messages: list[Message] = []
    places: list[Path] = []
    if file.system is not None:
        messages.append(Message(role="system", content=file.system))
        places.append(("system",))
    if file.user is not None:
        messages.append(Message(role="user", content=file.user))
        places.append(("user",))
    else:
        reader.problem("there is nothing to send", (), hint="write `user`, or `messages`")
    return messages, places


def _template(
    text: str, place: Path, inputs: dict[str, FieldSpec], reader: StructReader
) -> list[Part]:
    parts, problems = parse_template(text, inputs)
    for problem in problems:
        where = reader.document.where_in_text(place, problem.line)
        reader.problems.append(
            SuiteError(problem.detail, code="P6205", hint=problem.hint, where=where)
        )
    return parts


def _model(file: ModelFile | None) -> ModelChoice | None:
    if file is None:
        return None
    limit = {} if file.max_tokens is None else {"maxTokens": file.max_tokens}
    return ModelChoice(ref=file.ref, params={**limit, **file.params})


def _bundle_sha256(messages: list[Message], value: JsonObject) -> str:
    output = value.get("output")
    return digest(
        {
            "messages": [{"role": one.role, "content": one.content} for one in messages],
            "tools": [],
            "inputs": _hashed_fields(value.get("inputs") or {}),
            "output": None if output is None else _hashed_fields(output),
        }
    )


def _hashed_fields(fields: JsonObject) -> JsonObject:
    return {name: _hashed_field(field) for name, field in fields.items()}


def _hashed_field(field: JsonObject) -> JsonObject:
    hashed: JsonObject = {}
    transform: dict[str, Callable[[Json], Json]] = {
        "items": _hashed_field,
        "fields": _hashed_fields,
    }
    for key, value in field.items():
        if key == "description" or (key == "optional" and value is False):
            continue
        hashed[key] = transform[key](value) if key in transform and value is not None else value
    return hashed


def _unused(loaded: LoadedPrompt, document: Document) -> list[Warn]:
    used = {placeholder.path[0] for placeholder in loaded.placeholders()}
    return [
        Warn(
            code=None,
            message=f"the input `{name}` of prompt `{loaded.prompt.id}` is never used",
            where=document.where(("inputs", name)),
        )
        for name in loaded.prompt.inputs
        if name not in used
    ]
