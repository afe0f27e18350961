"""Prompts made by a function of the project: `python:package.module:function`.

The module's file is read and hashed, and never imported: a replay needs its hash and nothing else.
"""

from __future__ import annotations

import re
from pathlib import Path

from proctor.canonical import digest, sha256_hex
from proctor.errors import SuiteError
from proctor.loading.bundles import LoadedPrompt
from proctor.project_code import read_module, split_reference
from proctor.records import Prompt

SCHEME = "python:"


def load_python_prompt(root: Path, reference: str, where: str) -> LoadedPrompt:
    """The prompt a reference to a function stands for; its id is the reference.

    Args:
        root: The project's folder.
        reference: `python:package.module:function`.
        where: The place of the reference.

    Raises:
        SuiteError: P6203 when it is written otherwise, there is no such module, or no such name
            in its text.
        FileError: P6805 when the module's file must not be opened.
    """
    function = reference.removeprefix(SCHEME)
    names = split_reference(function)
    if names is None:
        raise SuiteError(
            f"`{reference}` is not a prompt",
            code="P6203",
            hint="write `python:package.module:function`",
            where=where,
        )
    module, attribute = names
    file = read_module(root, module, where=where)
    if not re.search(rb"\b%b\b" % attribute.encode(), file.data):
        raise SuiteError(
            f"`{file.path}` has no `{attribute}`",
            code="P6203",
            hint="check the name after the second colon",
            where=where,
        )
    bundle = digest({"python": function, "sha256": sha256_hex(file.data)})
    prompt = Prompt(
        id=reference,
        path=file.path,
        messages=(),
        inputs={},
        output=None,
        model=None,
        bundle_sha256=bundle,
        function=function,
    )
    return LoadedPrompt(prompt, [], [])
