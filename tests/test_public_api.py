"""The names `import proctor` offers, and what importing it costs."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from pathlib import Path

import proctor

HEAVY = {
    "anthropic",
    "asyncio",
    "click",
    "genai_prices",
    "httpx2",
    "jsonschema_rs",
    "langsmith",
    "msgspec",
    "openai",
    "ray",
    "regex",
    "rich",
    "starlette",
    "yaml",
}


def test_public_names_are_sorted_and_there():
    names = proctor.__all__
    assert names == sorted(names)
    for name in names:
        assert getattr(proctor, name) is not None
    assert dir(proctor) == names


def test_no_public_name_is_a_submodule():
    modules = {module.name for module in pkgutil.iter_modules(proctor.__path__)}
    assert not modules & set(proctor.__all__)
    assert not modules & {"run", "compare"}


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(proctor, "nonsense")


def test_importing_loads_nothing_heavy():
    assert not _loaded_by("import proctor") & HEAVY


def test_the_version_command_loads_no_part_that_it_does_not_need():
    code = "import sys, proctor.cli.main as m\ntry: m.main(['--version'])\nexcept SystemExit: pass"
    assert not _loaded_by(code) & (HEAVY - {"click"})


def test_every_module_has_a_docstring():
    package = Path(proctor.__file__).parent
    for module in package.rglob("*.py"):
        assert module.read_text(encoding="utf-8").startswith(('"""', 'r"""')), module


def _loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules, file=sys.stderr)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())
