"""What the formats of prompts share: templates parsed, the bundle hash, a prompt ready for use."""

from __future__ import annotations

import re

from msgspec import Struct

from proctor.canonical import bundle_sha256
from proctor.documents import Path, StructReader
from proctor.errors import SuiteError
from proctor.records import (
    FieldSpec,
    JsonObject,
    Message,
    ModelChoice,
    Part,
    Placeholder,
    Prompt,
    ToolSpec,
    Warn,
)
from proctor.templates import parse_template

_MODEL_REF = re.compile(r"[a-z0-9][a-z0-9-]*/[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+\Z")
_PROMPT_ID = re.compile(r"[a-z0-9][a-z0-9-]*\Z")


class LoadedPrompt(Struct, frozen=True):
    """A prompt with its templates parsed, one list of parts per message.

    `params` go with whatever model is asked; those of the prompt's own model are among them.
    """

    prompt: Prompt
    templates: list[list[Part]]
    warnings: list[Warn]
    params: JsonObject = {}

    def placeholders(self) -> list[Placeholder]:
        """Every place where a value goes."""
        return [part for parts in self.templates for part in parts if isinstance(part, Placeholder)]


class PromptParts(Struct, frozen=True, kw_only=True):
    """A prompt as its format spells it.

    Args:
        id: The prompt's id.
        messages: The raw templates.
        places: Where the template of each message stands in its file.
        inputs: The input contract.
        output: The output contract.
        output_schema: The output contract, where it is a JSON Schema.
        tools: The tools.
        model: The model the file names.
        params: What is sent beside the messages, to that model or another.
        hashed: `inputs`, `output` and `tools` the way they count for the bundle hash.
    """

    id: str
    messages: list[Message]
    places: list[Path]
    inputs: dict[str, FieldSpec]
    output: dict[str, FieldSpec] | None = None
    output_schema: JsonObject | None = None
    tools: list[ToolSpec] = []
    model: str | None = None
    params: JsonObject = {}
    hashed: JsonObject


def is_prompt_id(text: str) -> bool:
    """Whether a prompt can have this id."""
    return _PROMPT_ID.match(text) is not None


def check_prompt_id(prompt_id: str, reader: StructReader) -> None:
    """Note a problem when a file is not named like a prompt."""
    if not is_prompt_id(prompt_id):
        reader.problem(
            f"`{prompt_id}` is not a prompt id",
            (),
            hint="rename the file with lower-case letters, digits and dashes",
        )


def is_model_ref(ref: str) -> bool:
    """Whether a text names a model as `<provider>/<name>`."""
    return _MODEL_REF.match(ref) is not None


def check_model_ref(ref: str, path: Path, reader: StructReader) -> None:
    """Note a problem when a model is not named as `<provider>/<name>`."""
    if not is_model_ref(ref):
        reader.problem(
            f"`{ref}` is not a model reference",
            path,
            hint="write `<provider>/<name>`, the provider in lower-case letters, digits and dashes",
        )


def parse_templates(parts: PromptParts, reader: StructReader) -> list[list[Part]]:
    """The templates of a prompt's messages; problems are noted with their lines."""
    templates: list[list[Part]] = []
    for message, place in zip(parts.messages, parts.places, strict=True):
        template, problems = parse_template(message.content, parts.inputs)
        templates.append(template)
        for problem in problems:
            where = reader.document.where_in_text(place, problem.line)
            reader.problems.append(
                SuiteError(problem.detail, code="P6205", hint=problem.hint, where=where)
            )
    return templates


def make_prompt(
    parts: PromptParts, templates: list[list[Part]], path: str, warnings: list[Warn]
) -> LoadedPrompt:
    """A prompt of whose parts everything has been checked."""
    model = None if parts.model is None else ModelChoice(ref=parts.model, params=parts.params)
    prompt = Prompt(
        id=parts.id,
        path=path,
        messages=tuple(parts.messages),
        inputs=parts.inputs,
        output=parts.output,
        output_schema=parts.output_schema,
        tools=tuple(parts.tools),
        model=model,
        bundle_sha256=bundle_sha256(parts.messages, parts.hashed),
        hashed=parts.hashed,
    )
    return LoadedPrompt(prompt, templates, warnings, parts.params)
