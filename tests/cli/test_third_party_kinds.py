"""Kinds of assertion from other packages: the real program in an environment that has one."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import proctor
from proctor.cli.plugins import command
from proctor.plugins import Plugin
from proctor.registry import assertion_kinds
from support import Result
from support import proctor as run_here

PLUGIN = Path(__file__).parents[1] / "data/plugin"
SUITE = """\
prompt: answer
dataset: cases.jsonl
assertions:
  - {id: right, kind: equals, field: label}
  - {id: tone, kind: polite, word: yes}
"""


class Environment:
    """A virtual environment beside the one of the tests, whose packages it sees too."""

    def __init__(self, folder: Path) -> None:
        venv.EnvBuilder(with_pip=False, symlinks=True).create(folder)
        self.python = folder / "bin/python"
        (self.site,) = folder.glob("lib/python*/site-packages")
        source = Path(proctor.__file__).parents[1]
        (self.site / "tests.pth").write_text(f"{sysconfig.get_path('purelib')}\n{source}\n")

    def install(self, wheel: Path) -> None:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.site)

    def run(self, *arguments: str, cwd: Path, env: dict[str, str] | None = None) -> Result:
        done = subprocess.run(
            [self.python, "-m", "proctor", *arguments],
            cwd=cwd,
            env=env or {},
            capture_output=True,
            check=False,
            timeout=120,
        )
        return Result(done.returncode, done.stdout, done.stderr.decode())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of the plugin, built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    code = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, folder], cwd=PLUGIN, check=True)
    (built,) = folder.glob("acme_checks-1.2.0-*.whl")
    return built


@pytest.fixture(scope="module")
def with_plugin(tmp_path_factory, wheel):
    environment = Environment(tmp_path_factory.mktemp("with") / "venv")
    environment.install(wheel)
    return environment


@pytest.fixture
def own(tmp_path, wheel):
    """An environment for one test, to be spoilt."""
    environment = Environment(tmp_path / "venv")
    environment.install(wheel)
    return environment


@pytest.fixture
def polite(project):
    project.exam({"one": "yes"})
    project.write("evals/quiz.eval.yaml", SUITE)
    return project


def brings(folder: Path, entries: str, name: str = "zeta_checks") -> None:
    """Put a package with these entry points into a folder."""
    info = folder / f"{name}-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(f"[proctor.assertions]\n{entries}\n")


def test_a_suite_uses_a_kind_of_an_installed_package(with_plugin, polite):
    result = with_plugin.run("run", "--format", "json", cwd=polite.root)
    assert (result.code, result.err) == (0, "PASSED  1 of 1 rows passed\n")
    checks = result.report["suites"][0]["subjects"][0]["cases"][0]["rows"][0]["checks"]
    assert [(check["id"], check["kind"], check["outcome"]) for check in checks] == [
        ("right", "equals", "passed"),
        ("tone", "polite", "passed"),
    ]


def test_its_parts_may_stand_in_groups_and_its_problems_have_lines(with_plugin, polite):
    group = SUITE.replace("kind: polite, word: yes", "kind: any-of, of: [{kind: polite}]")
    polite.write("evals/quiz.eval.yaml", group)
    result = with_plugin.run("run", cwd=polite.root)
    assert (result.code, "impolite" in result.text) == (1, True)
    polite.write("evals/quiz.eval.yaml", SUITE.replace("word: yes", "wort: yes"))
    result = with_plugin.run("lint", cwd=polite.root)
    assert result.code == 2
    assert "evals/quiz.eval.yaml:5: P6201: unknown key `wort`" in result.err
    polite.write("evals/quiz.eval.yaml", SUITE.replace("word: yes", "word: ''"))
    result = with_plugin.run("lint", cwd=polite.root)
    assert (result.code, "evals/quiz.eval.yaml:5: P6202:" in result.err) == (2, True)


def test_where_it_is_not_installed_the_kind_is_not_known(polite):
    result = polite.proctor("run")
    assert result.code == 2
    assert "evals/quiz.eval.yaml:5: P6201: there is no assertion kind `polite`" in result.err


def test_a_kind_that_is_nearly_its_name_is_suggested(with_plugin, polite):
    polite.write("evals/quiz.eval.yaml", SUITE.replace("polite", "politer"))
    assert "did you mean `polite`?" in with_plugin.run("lint", cwd=polite.root).err


def test_what_merely_lies_in_the_project_is_not_installed(polite):
    brings(polite.root, "polite = acme_checks:Polite")
    polite.write("acme_checks.py", (PLUGIN / "acme_checks.py").read_bytes())
    for env in ({}, {"PYTHONPATH": str(polite.root)}):
        result = polite.proctor("run", env=env)
        assert (result.code, "no assertion kind `polite`" in result.err) == (2, True)
        assert "acme" not in polite.proctor("plugins", env=env).text


def test_no_file_of_the_project_stands_in_for_a_module(with_plugin, polite):
    for name in ("acme_checks", "regex", "yaml", "click"):
        polite.write(f"{name}.py", "raise SystemExit('a file of the project was imported')\n")
    result = with_plugin.run("run", cwd=polite.root)
    assert (result.code, result.err) == (0, "")


def test_a_package_that_cannot_be_imported_is_a_clear_problem(own, polite):
    (own.site / "acme_checks.py").write_text("import no_such_module_here\n")
    result = own.run("run", cwd=polite.root)
    assert result.code == 2
    assert (
        "evals/quiz.eval.yaml:5: P6201: the plugin `acme-checks 1.2.0` cannot give `polite`: "
        "ModuleNotFoundError: No module named 'no_such_module_here'"
    ) in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        (
            "polite = acme_checks:Polite",
            "the plugins `acme-checks 1.2.0` and `zeta_checks 0.1` have the same assertion kind"
            " `polite`",
        ),
        (
            "equals = acme_checks:Polite",
            "the plugin `zeta_checks 0.1` has the assertion kind `equals`, a built-in one",
        ),
    ],
)
def test_a_clash_of_names_is_refused(own, polite, entries, problem):
    brings(own.site, entries)
    result = own.run("run", cwd=polite.root)
    assert (result.code, f"evals/quiz.eval.yaml:5: P6201: {problem}" in result.err) == (2, True)
    listed = own.run("plugins", cwd=polite.root)
    assert listed.code == 0
    assert f"refused: {problem}" in listed.err
    kinds = json.loads(own.run("plugins", "--format", "json", cwd=polite.root).out)["assertions"]
    assert problem in [kind["problem"] for kind in kinds]


def test_plugins_lists_every_kind_with_its_package(with_plugin, tmp_path):
    result = with_plugin.run("plugins", cwd=tmp_path)
    assert (result.code, result.err) == (0, "")
    lines = [line.split() for line in result.text.splitlines()]
    assert lines[0] == ["kind", "from", "version"]
    assert lines[1:] == sorted(lines[1:])
    assert ["polite", "acme-checks", "1.2.0"] in lines
    assert ["equals", "proctor", proctor.__version__] in lines


def test_plugins_as_json(with_plugin, tmp_path):
    result = with_plugin.run("plugins", "--format", "json", cwd=tmp_path)
    kinds = json.loads(result.out)["assertions"]
    assert {
        "name": "polite",
        "package": "acme-checks",
        "version": "1.2.0",
        "problem": None,
    } in kinds
    assert [kind["name"] for kind in kinds] == sorted(kind["name"] for kind in kinds)


def test_plugins_loads_none_of_them(own, tmp_path):
    (own.site / "acme_checks.py").write_text("raise SystemExit('imported')\n")
    assert own.run("plugins", cwd=tmp_path).code == 0


def test_without_other_packages_only_our_own_are_listed(tmp_path):
    result = run_here("plugins", cwd=tmp_path)
    assert {line.split()[1] for line in result.text.splitlines()[1:]} == {"proctor"}
    kinds = json.loads(run_here("plugins", "--format", "json", cwd=tmp_path).out)["assertions"]
    assert [kind["name"] for kind in kinds] == assertion_kinds.names()


def test_a_name_with_controls_in_it_does_not_act_on_the_terminal(monkeypatch, capsys):
    plugin = Plugin("x\x1b[31m", "acme", "1", "acme:X")
    monkeypatch.setattr("proctor.plugins.find_plugins", lambda group: [plugin, plugin])
    assert command.callback("text") == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[-1].split() == ["x\\x1b[31m", "acme", "1"]
    assert said.err.startswith("refused: the plugins `acme 1` and `acme 1` have the same")
    assert "\x1b" not in said.out + said.err


def test_where_python_leaves_the_current_folder_out_the_path_stays_as_it_is(tmp_path):
    assert run_here("--version", cwd=tmp_path, env={"PYTHONSAFEPATH": "1"}).code == 0
