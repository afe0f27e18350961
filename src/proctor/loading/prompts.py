"""Prompts: `prompts/<id>.prompt.yaml`, read, checked and hashed, and finding those of a project."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from proctor.contracts import contract_faults
from proctor.documents import Document, Path, StructReader
from proctor.errors import ProctorError, SuiteError, raise_all
from proctor.loading.bundles import (
    LoadedPrompt,
    PromptParts,
    check_model_ref,
    check_prompt_id,
    is_prompt_id,
    make_prompt,
    parse_templates,
)
from proctor.loading.files import (
    list_files,
    parse_document,
    parse_text,
    read_document,
    read_text,
)
from proctor.loading.foreign_prompts import GITHUB_ONLY, parse_github_prompt, parse_text_prompt
from proctor.loading.python_prompts import SCHEME, load_python_prompt
from proctor.records import FieldSpec, Json, JsonObject, Message, ToolSpec, Warn
from proctor.registry import did_you_mean
from proctor.safe_io import inside

if TYPE_CHECKING:
    from proctor.git_revisions import Revision

ENDING = ".prompt.yaml"
GITHUB_ENDING = ".prompt.yml"
TEXT_ENDINGS = (".prompt.txt", ".prompt.md", ".txt", ".md")

_ENDINGS = (ENDING, GITHUB_ENDING, *TEXT_ENDINGS)
_INPUT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


class ModelFile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The model of a prompt and what is sent to it beside the messages.

    Args:
        ref: `<provider>/<name>`.
        max_tokens: The longest answer, in tokens.
        params: Parameters of the provider, like `temperature`.
    """

    ref: str
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    params: JsonObject = {}


class PromptFile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A prompt as it stands in its file.

    Args:
        schema_: A relative path, for editors; ignored at run time.
        description: For people; not sent.
        model: Who is asked when the suite names no `models`.
        inputs: The input contract: what a case gives, by name.
        output: The output contract: the fields of an answer in JSON. Without it, free text.
        tools: What the model may ask to be called.
        system: The system message, a template.
        user: The user message, a template: `{{input.name}}` is replaced once.
        messages: All messages, instead of `system` and `user`.
    """

    schema_: str | None = msgspec.field(default=None, name="$schema")
    description: str | None = None
    model: ModelFile | None = None
    inputs: dict[str, FieldSpec] = {}
    output: dict[str, FieldSpec] | None = None
    tools: list[ToolSpec] = []
    system: str | None = None
    user: str | None = None
    messages: list[Message] | None = None


class Prompts:
    """The prompts of a project, each read when first asked for.

    Args:
        root: The project's folder.
        folder: Where prompts are, relative to the root.
        project: The project's id, which may stand before a prompt's id.
        revision: The revision they are read from; None for the files as they are.
    """

    def __init__(
        self, root: FilePath, folder: str, project: str, revision: Revision | None = None
    ) -> None:
        self._root = root
        self._revision = revision
        self._folder = inside(folder)
        self._project = project
        self._known: dict[str, tuple[LoadedPrompt | None, list[ProctorError]]] = {}
        self._functions: dict[str, LoadedPrompt] = {}
        self.problems: list[ProctorError] = []

    def at(self, revision: Revision) -> Prompts:
        """The same prompts as a revision has them."""
        return Prompts(self._root, self._folder, self._project, revision)

    def ids(self) -> list[str]:
        """The id of every prompt file, sorted."""
        return sorted(self._files)

    def get(self, reference: str, where: str) -> LoadedPrompt | None:
        """The prompt a suite refers to; None after noting what is wrong with it, once.

        Args:
            reference: `<prompt id>`, `<project id>/<prompt id>` or
                `python:package.module:function`.
            where: The place of the reference.
        """
        try:
            return self.find(reference, where)
        except ProctorError as problem:
            self._note(problem.problems())
            return None

    def find(self, reference: str, where: str = "") -> LoadedPrompt:
        """The prompt that is referred to.

        Args:
            reference: As for `get`.
            where: The place of the reference, when it is known.

        Raises:
            ProctorError: What is wrong with the prompt or the reference.
        """
        if reference.startswith(SCHEME):
            return self._function(reference, where)
        project, slash, prompt_id = reference.rpartition("/")
        if (slash and project != self._project) or prompt_id not in self._files:
            raise self._unknown(reference, where)
        loaded, problems = self._loaded(prompt_id)
        raise_all(problems)
        assert loaded is not None  # noqa: S101 - without a prompt there were problems
        return loaded

    def load(self, prompt_id: str) -> LoadedPrompt | None:
        """A prompt by its id; None after noting what is wrong with it, once."""
        loaded, problems = self._loaded(prompt_id)
        self._note(problems)
        return loaded

    def _note(self, problems: Iterable[ProctorError]) -> None:
        self.problems += [problem for problem in problems if problem not in self.problems]

    def _loaded(self, prompt_id: str) -> tuple[LoadedPrompt | None, list[ProctorError]]:
        if prompt_id not in self._known:
            self._known[prompt_id] = self._read(prompt_id)
        return self._known[prompt_id]

    @cached_property
    def _files(self) -> dict[str, list[str]]:
        """The files of each prompt, relative to the root; one, when all is well. Listed once."""
        files: dict[str, list[str]] = {}
        start = len(self._folder) + 1
        for path in self._paths():
            prompt_id, ending = _split(path[start:])
            # Other notes may stand among the prompts, so a text is one when it is named like one.
            if "/" not in prompt_id and (ending not in TEXT_ENDINGS or is_prompt_id(prompt_id)):
                files.setdefault(prompt_id, []).append(path)
        return files

    def _paths(self) -> list[str]:
        if self._revision is not None:
            return self._revision.list_files(self._folder, _ENDINGS)
        return list_files(self._root, self._folder, _ENDINGS)

    def _read(self, prompt_id: str) -> tuple[LoadedPrompt | None, list[ProctorError]]:
        loaded, problems = self._parsed(prompt_id)
        if self._revision is not None:
            at = self._revision.name
            for problem in problems:
                problem.where = f"{at}:{problem.where}"
            if loaded is not None:
                loaded.warnings[:] = [
                    replace(one, where=f"{at}:{one.where}") for one in loaded.warnings
                ]
        return loaded, problems

    def _parsed(self, prompt_id: str) -> tuple[LoadedPrompt | None, list[ProctorError]]:
        try:
            path, *others = self._files[prompt_id]
            if others:
                return None, [_taken(prompt_id, path, other) for other in others]
            if path.endswith(TEXT_ENDINGS):
                return parse_text_prompt(self._text(path), path, prompt_id)
            document = self._document(path)
        except ProctorError as problem:
            return None, [problem]
        is_github = path.endswith(GITHUB_ENDING)
        return (parse_github_prompt if is_github else parse_prompt)(document, prompt_id)

    def _text(self, path: str) -> str:
        if self._revision is None:
            return read_text(self._root, path, error=SuiteError, code="P6204")
        return parse_text(self._revision.read(path, where=path), path, SuiteError, "P6204")

    def _document(self, path: str) -> Document:
        if self._revision is None:
            return read_document(self._root, path, error=SuiteError, code="P6204")
        data = self._revision.read(path, where=path)
        return parse_document(data, path, error=SuiteError, code="P6204")

    def _function(self, reference: str, where: str) -> LoadedPrompt:
        if self._revision is not None:
            raise SuiteError(
                f"`{reference}` is code, which is not taken from `{self._revision.name}`",
                code="P6206",
                hint="check that revision out, or leave `--label` out",
                where=where,
            )
        if reference not in self._functions:
            self._functions[reference] = load_python_prompt(self._root, reference, where)
        return self._functions[reference]

    def _at(self) -> str:
        return "" if self._revision is None else f" at `{self._revision.name}`"

    def _unknown(self, reference: str, where: str) -> ProctorError:
        ids = self.ids()
        hint = did_you_mean(reference.rpartition("/")[2], ids)
        listed = ", ".join(ids[:8]) or "none"
        return SuiteError(
            f"there is no prompt `{reference}` in project `{self._project}`{self._at()}",
            code="P6203",
            hint=hint or f"prompts in `{self._folder}/`{self._at()}: {listed}",
            where=where,
        )


def _split(name: str) -> tuple[str, str]:
    ending = next(ending for ending in _ENDINGS if name.endswith(ending))
    return name.removesuffix(ending), ending


def _taken(prompt_id: str, path: str, other: str) -> ProctorError:
    return SuiteError(
        f"the prompt id `{prompt_id}` is taken by `{path}`",
        code="P6204",
        hint="rename one of the files",
        where=other,
    )


def parse_prompt(
    document: Document, prompt_id: str
) -> tuple[LoadedPrompt | None, list[ProctorError]]:
    """A prompt from its file, or None, and every problem with it."""
    reader = StructReader(document, error=SuiteError, code="P6204")
    check_prompt_id(prompt_id, reader)
    file = reader.read(PromptFile, document.value)
    if file is None:
        _say_whose_format(document, reader)
        return None, reader.problems
    for part in ("inputs", "output"):
        for place, fault in contract_faults(getattr(file, part) or {}, (part,)):
            reader.problem(fault, place)
    for name in file.inputs:
        if not _INPUT_NAME.match(name):
            reader.problem(f"the input `{name}` cannot be named in a placeholder", ("inputs", name))
    if file.model is not None:
        check_model_ref(file.model.ref, ("model", "ref"), reader)
    _check_tools(file.tools, reader)
    messages, places = _messages(file, reader)
    parts = PromptParts(
        id=prompt_id,
        messages=messages,
        places=places,
        inputs=file.inputs,
        output=file.output,
        tools=file.tools,
        model=None if file.model is None else file.model.ref,
        params=_params(file.model),
        hashed=_hashed(document.value),
    )
    templates = parse_templates(parts, reader)
    if file.model is not None and "maxTokens" in file.model.params:
        reader.problem(
            "`maxTokens` stands beside `params`, not in it", ("model", "params", "maxTokens")
        )
    if reader.problems:
        return None, reader.problems
    loaded = make_prompt(parts, templates, document.name, [])
    loaded.warnings.extend(_unused(loaded, document))
    return loaded, []


def _say_whose_format(document: Document, reader: StructReader) -> None:
    if isinstance(document.value, dict) and GITHUB_ONLY & document.value.keys():
        reader.problem(
            "this looks like a prompt of GitHub Models",
            (),
            hint=f"rename the file to `<id>{GITHUB_ENDING}` to have it read as one",
        )


def _check_tools(tools: list[ToolSpec], reader: StructReader) -> None:
    seen: set[str] = set()
    for index, tool in enumerate(tools):
        if tool.name in seen:
            reader.problem(f"two tools are called `{tool.name}`", ("tools", index, "name"))
        seen.add(tool.name)
        if tool.parameters.get("type") != "object":
            reader.problem(
                f"the parameters of the tool `{tool.name}` are no JSON Schema of an object",
                ("tools", index, "parameters"),
                hint="write `{type: object, properties: {...}}`",
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


def _params(file: ModelFile | None) -> JsonObject:
    if file is None:
        return {}
    limit = {} if file.max_tokens is None else {"maxTokens": file.max_tokens}
    return {**limit, **file.params}


def _hashed(value: JsonObject) -> JsonObject:
    output = value.get("output")
    return {
        "inputs": _hashed_fields(value.get("inputs") or {}),
        "output": None if output is None else _hashed_fields(output),
        "tools": value.get("tools", []),
    }


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
