"""The examples of the guide to the Python API, run on the example project from top to bottom."""

from __future__ import annotations

import ast
import asyncio
import doctest
import re
import shutil
from inspect import iscoroutine
from pathlib import Path

import pytest

from support import EXAMPLES

GUIDE = Path(__file__).parents[2] / "docs" / "python.md"


@pytest.fixture(autouse=True)
def in_the_project(tmp_path, monkeypatch):
    shutil.copytree(EXAMPLES / "support-refund", tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")


def blocks(language):
    text = GUIDE.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_what_the_guide_shows_at_a_prompt_is_what_happens():
    examples = "\n".join(blocks("pycon"))
    parsed = doctest.DocTestParser().get_doctest(examples, {}, GUIDE.name, str(GUIDE), 0)
    done = doctest.DocTestRunner().run(parsed)
    assert done.attempted == examples.count(">>> ")
    assert not done.failed


def test_what_the_guide_shows_as_code_runs_and_its_test_passes():
    namespace = {}
    for block in blocks("python"):
        # A cell of a notebook awaits outside of any function.
        code = compile(block, GUIDE.name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        result = eval(code, namespace)  # noqa: S307 - our own page
        if iscoroutine(result):
            asyncio.run(result)
    (test,) = (value for name, value in namespace.items() if name.startswith("test_"))
    test()
    # Everything is recorded already, so that this asks nobody.
    assert namespace["record"]().passed


def test_every_argument_stands_in_the_table():
    from proctor.python_api.options import CompareKeywords, RunKeywords

    text = GUIDE.read_text(encoding="utf-8")
    for name in (*RunKeywords.__annotations__, *CompareKeywords.__annotations__):
        assert f"`{name}`" in text, name
