"""The shape of the code: sizes, the map, and what may stand where."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "proctor"
MODULES = sorted(PACKAGE.rglob("*.py"))

MAX_LINES = 450
MAX_FUNCTION = 60
MAX_PARAMETERS = 8
FORBIDDEN_NAMES = {"utils", "helpers", "core", "common", "manager"}
MAY_CATCH_EVERYTHING = {
    "agent_asking.py",  # a row spoils itself, never the run
    "assertions/python_function.py",  # a function of the project may raise anything
    "candidates/engine.py",  # so may the caller's callbacks
    "cli/main.py",
    "drivers/otel.py",  # so may what others configured to take spans
    "plugins.py",  # so may the import of another package
    "project_code.py",
    "replayed_agents.py",
    "running/faults.py",  # so may a target
    "running/row.py",
    "targets/python.py",  # so may a target
}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_stays_small_and_is_named_for_what_it_does(module):
    assert module.stem not in FORBIDDEN_NAMES
    assert len(module.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_functions_stay_small(module):
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno - node.lineno < MAX_FUNCTION, node.name
            parameters = len(node.args.args) + len(node.args.kwonlyargs)
            assert parameters <= MAX_PARAMETERS, node.name


def catches_everything(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(catches_everything(one) for one in caught.elts)
    return caught is None or (isinstance(caught, ast.Name) and caught.id == "Exception")


def test_only_few_places_catch_everything():
    catching = {
        module.relative_to(PACKAGE).as_posix()
        for module in MODULES
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler) and catches_everything(node.type)
    }
    assert catching == MAY_CATCH_EVERYTHING


def test_the_map_names_every_module_and_no_other():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.split("## Modules")[1].split("\n## ")[0]
    named = set(re.findall(r"^\| `([\w./]+)` \|", table, re.MULTILINE))
    there = {path.relative_to(PACKAGE).as_posix() for path in MODULES}
    for name in named:
        assert (PACKAGE / name).exists(), f"{name} is on the map but not there"
    for path in there - {"__init__.py", "__main__.py"}:
        if path.endswith("/__init__.py"):
            continue
        covered = path in named or any(
            path.startswith(name) for name in named if name.endswith("/")
        )
        assert covered, f"{path} is not on the map"


def test_a_code_is_documented_when_it_is_raised_and_only_then():
    raised = set()
    for module in MODULES:
        raised |= set(re.findall(r'"(P6\d{3})"', module.read_text(encoding="utf-8")))
    pages = set(
        re.findall(
            r"^## (P6\d{3}) ", (PACKAGE / "codes.md").read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    assert raised == pages
