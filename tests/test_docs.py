"""Every command the documentation shows is run, and prints what the documentation says."""

from __future__ import annotations

import re
import shlex
import shutil
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from support import proctor

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "examples/*/README.md", "bench/*.md")
    for path in ROOT.glob(pattern)
)
EXIT_CODES = {"PASSED": 0, "FAILED": 1, "UNMEASURED": 3}

_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FILE = re.compile(
    r'^```\w+ title="(?P<path>[^"]+)"(?P<append> append)?\n(?P<content>.*?)^```'
    r"|^```console\n(?P<commands>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


def shown_commands(page: Path) -> list[tuple[str, list[str]]]:
    """Each command of a page with the lines of output shown below it."""
    return commands_of("".join(_BLOCK.findall(page.read_text(encoding="utf-8"))))


def commands_of(text: str) -> list[tuple[str, list[str]]]:
    shown = []
    for line in text.splitlines():
        if line.startswith("$ "):
            shown.append((line[2:], []))
        elif shown:
            shown[-1][1].append(line)
    return shown


def starts_a_project(page: Path) -> bool:
    return any(command.startswith("proctor init") for command, _ in shown_commands(page))


COMMANDS = [
    pytest.param(page, command, output, id=f"{page.relative_to(ROOT)}: {command}")
    for page in PAGES
    if not starts_a_project(page)
    for command, output in shown_commands(page)
]


def matches(wanted: list[str], got: list[str]) -> bool:
    """Whether the lines are those shown; `...` stands for any number of lines."""
    if not wanted:
        return not got
    if wanted[0] == "...":
        return any(matches(wanted[1:], got[start:]) for start in range(len(got) + 1))
    return bool(got) and got[0] == wanted[0] and matches(wanted[1:], got[1:])


def test_the_readme_opens_with_the_two_commands_a_newcomer_needs():
    commands = [command for command, _ in shown_commands(ROOT / "README.md")]
    assert commands[:2] == ["make demo", "make test"]


@pytest.mark.parametrize(("page", "command", "output"), COMMANDS)
def test_a_shown_command_does_what_is_shown(page, command, output, tmp_path):
    program, *arguments = shlex.split(command)
    if program == "make":
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert arguments[0] in targets
        return
    assert program == "proctor", "a page shows a command that no test runs"
    copy = tmp_path / "checkout"
    shutil.copytree(ROOT / "examples", copy / "examples")
    in_its_own_folder = page.parent.is_relative_to(ROOT / "examples")
    run_as_shown(
        arguments, output, copy / page.parent.relative_to(ROOT) if in_its_own_folder else copy
    )


def run_as_shown(arguments: list[str], output: list[str], folder: Path) -> None:
    result = proctor(*arguments, cwd=folder)
    got = (result.out.decode("utf-8") or result.err).splitlines()
    if output:
        assert matches(output, got), "\n".join(got)
    verdict = next((line.split()[0] for line in output if line.split()), "")
    assert result.code == EXIT_CODES.get(verdict, 0)


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if starts_a_project(page)],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_a_page_that_starts_a_project_works_from_top_to_bottom(page, tmp_path):
    """In an empty folder: its commands are run, and the files it shows with a title are written."""
    for block in _FILE.finditer(page.read_text(encoding="utf-8")):
        if block["path"] is not None:
            with (tmp_path / block["path"]).open("a" if block["append"] else "w") as file:
                file.write(block["content"])
            continue
        for command, output in commands_of(block["commands"]):
            program, *arguments = shlex.split(command)
            assert program == "proctor", "a page shows a command that no test runs"
            run_as_shown(arguments, output, tmp_path)


def test_the_page_of_commands_is_what_the_help_says():
    spec = spec_from_file_location("make_cli", ROOT / "docs/make_cli.py")
    maker = module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert maker.PAGE.read_text(encoding="utf-8") == maker.render(), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in link:
            assert (page.parent / link).exists(), link


def test_every_option_of_every_command_is_documented():
    from proctor.cli.main import COMMANDS as names
    from proctor.cli.main import cli

    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for name in names:
        for parameter in cli.get_command(None, name).params:
            for option in parameter.opts:
                if option.startswith("--"):
                    assert option in text, f"`{name} {option}` stands on no page"
