"""The examples of the guide are run from top to bottom, each kind in one namespace."""

import ast
import asyncio
import doctest
import re
from inspect import iscoroutine
from pathlib import Path

GUIDE = Path(__file__).parents[3] / "docs" / "candidates.md"


def blocks(language):
    text = GUIDE.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_what_the_guide_shows_at_a_prompt_is_what_happens():
    examples = "\n".join(blocks("pycon"))
    parsed = doctest.DocTestParser().get_doctest(examples, {}, GUIDE.name, str(GUIDE), 0)
    done = doctest.DocTestRunner().run(parsed)
    assert done.attempted >= examples.count(">>> evaluate_prompt_candidates(")
    assert not done.failed


def test_what_the_guide_shows_as_code_runs_and_its_tests_pass():
    namespace = {}
    for block in blocks("python"):
        # A cell of a notebook awaits outside of any function.
        code = compile(block, GUIDE.name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        result = eval(code, namespace)  # noqa: S307 - our own page
        if iscoroutine(result):
            asyncio.run(result)
    tests = [value for name, value in namespace.items() if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()
