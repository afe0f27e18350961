"""Asking with a prompt that a function of the project makes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import msgspec

from proctor.canonical import digest, sha256_hex
from proctor.errors import SuiteError
from proctor.project_code import guarded, import_function, read_module
from proctor.records import JsonObject, Message, Prompt
from proctor.strict_json import typed

MessageFunction = Callable[[JsonObject], tuple[Message, ...]]


def message_function(root: Path, prompt: Prompt, *, allow_code: bool) -> MessageFunction:
    """Import the function of a prompt `python:package.module:function`.

    What is returned takes the inputs of a case and gives the messages to send. The function
    itself takes one argument, the inputs as a dict, and returns a list of `{role, content}`, or a
    text for one user message.

    Args:
        root: The project's folder; it joins `sys.path`, last.
        prompt: The prompt, as it was loaded.
        allow_code: Whether the command line allows code of the project to run.

    Raises:
        SuiteError: P6220 when code is not allowed; P6203 when the function cannot be imported, or
            its file has changed since the prompt was loaded.
    """
    reference = prompt.function or ""
    function = import_function(root, reference, file=prompt.path, allow_code=allow_code)
    file = read_module(root, reference.partition(":")[0], where=prompt.path)
    if digest({"python": reference, "sha256": sha256_hex(file.data)}) != prompt.bundle_sha256:
        raise SuiteError(
            f"`{prompt.path}` changed while it was being used",
            code="P6203",
            hint="run again",
            where=prompt.path,
        )
    return lambda inputs: _messages(function, reference, inputs)


def _messages(
    function: Callable[..., object], reference: str, inputs: JsonObject
) -> tuple[Message, ...]:
    """What the function makes of the inputs of one case.

    Raises:
        SuiteError: P6701, for this row only, when it raises or returns something else.
    """
    made = guarded(lambda: function(deepcopy(inputs)), f"the prompt `{reference}`", code="P6701")
    if isinstance(made, str):
        return (Message(role="user", content=made),)
    try:
        messages = typed(made, tuple[Message, ...])
    except msgspec.ValidationError:
        messages = ()
    if not messages:
        if inspect.iscoroutine(made):
            made.close()
        raise SuiteError(
            f"the prompt `{reference}` returned no messages but {_kind_of(made)}",
            code="P6701",
            hint="return a list of `{role, content}`, or a text",
        )
    return messages


def _kind_of(made: object) -> str:
    return "an empty list" if made == [] else f"a value of type {type(made).__name__}"
