"""Prompts that were not written for Proctor: plain texts, and the files of GitHub Models.

Neither declares inputs: the names in the placeholders are the inputs, and all of them are strings.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from msgspec import Struct

from proctor.documents import Document, Path, StructReader
from proctor.errors import ProctorError, SuiteError
from proctor.loading.bundles import (
    LoadedPrompt,
    PromptParts,
    check_prompt_id,
    is_model_ref,
    make_prompt,
    parse_templates,
)
from proctor.records import FieldSpec, Json, JsonObject, Message, Warn
from proctor.strict_json import JsonProblem, parse_json
from proctor.templates import names_in

GITHUB_ONLY: Final = frozenset({"evaluators", "modelParameters", "responseFormat", "testData"})
"""Keys of GitHub Models that no prompt of Proctor has."""

_OWN_ONLY: Final = frozenset({"inputs", "output", "system", "tools", "user"})
_NOT_READ: Final = {
    "testData": "cases stand in the suite's dataset",
    "evaluators": "assertions stand in the suite",
}
_LIMITS: Final = ("maxTokens", "max_tokens", "maxCompletionTokens", "max_completion_tokens")
_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])")


class GithubPromptFile(
    Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """A `.prompt.yml` of GitHub Models as it stands in its file."""

    name: str | None = None
    description: str | None = None
    model: str | None = None
    model_parameters: JsonObject = {}
    messages: list[Message]
    response_format: Literal["text", "json_object", "json_schema"] | None = None
    json_schema: str | JsonObject | None = None
    test_data: Json = None
    evaluators: Json = None


def parse_text_prompt(
    text: str, path: str, prompt_id: str
) -> tuple[LoadedPrompt | None, list[ProctorError]]:
    """A prompt from a text file: one user message, without the line breaks at its end."""
    content = text.replace("\r\n", "\n").rstrip("\n")
    document = Document(path, content, {(): 1}, {(): 1})
    reader = StructReader(document, error=SuiteError, code="P6204")
    if not content.strip():
        reader.problem("there is nothing to send", (), hint="write the message, or delete the file")
    return _finished(
        prompt_id, [Message(role="user", content=content)], [()], reader, _Extras(), []
    )


def parse_github_prompt(
    document: Document, prompt_id: str
) -> tuple[LoadedPrompt | None, list[ProctorError]]:
    """A prompt from a file of GitHub Models, or None, and every problem with it."""
    reader = StructReader(document, error=SuiteError, code="P6204")
    check_prompt_id(prompt_id, reader)
    value = document.value
    if isinstance(value, dict) and _OWN_ONLY & value.keys():
        key = min(_OWN_ONLY & value.keys())
        reader.problem(
            f"a prompt of GitHub Models has no `{key}`",
            (key,),
            hint="rename the file to `<id>.prompt.yaml` to have it read as Proctor's own",
        )
        return None, reader.problems
    file = reader.read(GithubPromptFile, value)
    if file is None:
        return None, reader.problems
    if not file.messages:
        reader.problem("there is nothing to send", ("messages",), hint="write a message")
    warnings = [
        _warning(f"`{key}` of prompt `{prompt_id}` is not read: {reason}", document, key)
        for key, reason in _NOT_READ.items()
        if key in value
    ]
    extras = _Extras(
        model=_model(file, prompt_id, document, warnings),
        params=_params(file.model_parameters, reader),
        output_schema=_schema(file, reader, warnings),
    )
    places: list[Path] = [("messages", index, "content") for index in range(len(file.messages))]
    return _finished(prompt_id, file.messages, places, reader, extras, warnings)


class _Extras(Struct, frozen=True, kw_only=True):
    """What a format has beside its messages."""

    model: str | None = None
    params: JsonObject = {}
    output_schema: JsonObject | None = None


def _finished(
    prompt_id: str,
    messages: list[Message],
    places: list[Path],
    reader: StructReader,
    extras: _Extras,
    warnings: list[Warn],
) -> tuple[LoadedPrompt | None, list[ProctorError]]:
    names = dict.fromkeys(name for message in messages for name in names_in(message.content))
    parts = PromptParts(
        id=prompt_id,
        messages=messages,
        places=places,
        inputs={name: FieldSpec(type="string") for name in names},
        output_schema=extras.output_schema,
        model=extras.model,
        params=extras.params,
        hashed={
            "inputs": {name: {"type": "string"} for name in names},
            "output": extras.output_schema,
        },
    )
    templates = parse_templates(parts, reader)
    if reader.problems:
        return None, reader.problems
    return make_prompt(parts, templates, reader.document.name, warnings), []


def _model(
    file: GithubPromptFile, prompt_id: str, document: Document, warnings: list[Warn]
) -> str | None:
    if file.model is None or is_model_ref(file.model):
        return file.model
    sentence = (
        f"the model `{file.model}` of prompt `{prompt_id}` has no provider before it, so a suite "
        "must name its `models`"
    )
    warnings.append(_warning(sentence, document, "model"))
    return None


def _params(written: JsonObject, reader: StructReader) -> JsonObject:
    """The parameters under the names they are sent with, the limit of tokens as `maxTokens`."""
    params: JsonObject = {}
    for name, value in written.items():
        ours = "maxTokens" if name in _LIMITS else _CAPITAL.sub(r"_\1", name).lower()
        place = ("modelParameters", name)
        if ours in params:
            reader.problem(f"the parameter `{ours}` is given twice", place)
        if ours == "maxTokens" and (type(value) is not int or value < 1):
            reader.problem(f"`{name}` must be a whole number of 1 or more", place)
        params[ours] = value
    return params


def _schema(
    file: GithubPromptFile, reader: StructReader, warnings: list[Warn]
) -> JsonObject | None:
    """The JSON Schema of the answer; GitHub wraps it into `{name, strict, schema}`."""
    if file.response_format == "json_object":
        sentence = "`responseFormat: json_object` is not sent; ask for JSON in a message"
        warnings.append(_warning(sentence, reader.document, "responseFormat"))
    if file.response_format != "json_schema":
        if file.json_schema is not None:
            sentence = "`jsonSchema` is not sent without `responseFormat: json_schema`"
            warnings.append(_warning(sentence, reader.document, "jsonSchema"))
        return None
    if file.json_schema is None:
        reader.problem("`responseFormat: json_schema` needs a `jsonSchema`", ("responseFormat",))
        return None
    try:
        schema = (
            parse_json(file.json_schema) if isinstance(file.json_schema, str) else file.json_schema
        )
    except JsonProblem as problem:
        line = (problem.line or 1) - 1
        where = reader.document.where_in_text(("jsonSchema",), line)
        message = f"`jsonSchema` {problem.detail}"
        reader.problems.append(SuiteError(message, code="P6204", hint=None, where=where))
        return None
    if isinstance(schema, dict) and isinstance(schema.get("schema"), dict):
        schema = schema["schema"]
    if not isinstance(schema, dict):
        reader.problem("`jsonSchema` must be an object", ("jsonSchema",))
        return None
    return schema


def _warning(message: str, document: Document, key: str) -> Warn:
    return Warn(code=None, message=message, where=document.where((key,)))
