"""What the page on pytest shows is what happens."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from plugin_support import run
from proctor.pytest_plugin import hooks
from support import EXAMPLES
from test_docs import matches

pytest_plugins = ["pytester"]

GUIDE = Path(__file__).parents[2] / "docs" / "pytest.md"
TEXT = GUIDE.read_text(encoding="utf-8")
SHOWN = re.findall(r"^```text\n\$ pytest (.*?)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
WRONG = re.compile(r"expected .*, got ")


@pytest.fixture
def example(pytester, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    shutil.copytree(EXAMPLES / "support-refund", pytester.path, dirs_exist_ok=True)
    return pytester.path


@pytest.mark.parametrize(("arguments", "output"), SHOWN)
def test_a_shown_run_prints_what_is_shown(pytester, example, arguments, output):
    if WRONG.search(output):
        shutil.copytree(
            example / "cassettes-regressed", example / "evals/cassettes", dirs_exist_ok=True
        )
    result = run(pytester, *shlex.split(arguments))
    assert matches(output.splitlines(), result.outlines), result.stdout.str()


def test_the_tests_it_shows_pass(pytester, example):
    (code,) = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    pytester.makepyfile(code)
    run(pytester, "-m", "not proctor").assert_outcomes(passed=code.count("def "), deselected=6)


def test_every_option_stands_on_the_page():
    class Options:
        def getgroup(self, *_):
            return self

        def addoption(self, name, **_):
            assert f"`{name}" in TEXT, name

    hooks.pytest_addoption(Options())


def test_the_item_that_is_named_is_one(pytester, example):
    (item,) = re.findall(r'^- `"(evals/\S+)"`', TEXT, re.MULTILINE)
    run(pytester, item).assert_outcomes(passed=1)
