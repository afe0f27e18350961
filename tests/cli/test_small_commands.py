"""`proctor config`, `explain`, `completion`, and the help of every command."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import proctor as package
from proctor.cli.main import COMMANDS, cli
from support import proctor

CODES = (Path(package.__file__).parent / "codes.md").read_text(encoding="utf-8")
ALL_CODES = re.findall(r"^## (P\d{4}) (.*)$", CODES, re.MULTILINE)


# config


def test_config_says_where_each_value_came_from(project):
    project.write(
        "proctor.toml",
        'project = "tests"\nmax_cases = 7\n[providers.local]\nkind = "openai"\n'
        '[prices."local/tiny"]\ninput = 1\noutput = 2.5\n[scan]\nS010 = "stop"\n',
    )
    result = project.proctor("config", env={"PROCTOR_EVALS": "checks"})
    assert result.code == 0
    rows = [re.split(r" {2,}", line) for line in result.text.splitlines()]
    assert rows[0] == ["root", json.dumps(str(project.root))]
    assert rows[1:] == [
        ["project", '"tests"', "proctor.toml"],
        ["evals", '"checks"', "environment PROCTOR_EVALS"],
        ["prompts", '"prompts"', "default"],
        ["langsmith_url", '"https://api.smith.langchain.com"', "default"],
        ["max_cases", "7", "proctor.toml"],
        ["concurrency", "8", "default"],
        ["providers.local.kind", '"openai"', "proctor.toml"],
        ["prices.local/tiny.input", "1.0", "proctor.toml"],
        ["prices.local/tiny.output", "2.5", "proctor.toml"],
        ["scan.depth", '"deep"', "default"],
        ["scan.patterns", "[]", "default"],
        ["scan.S005", '"stop"', "default"],
        ["scan.S010", '"stop"', "proctor.toml"],
        ["scan.S011", '"stop"', "default"],
        ["scan.S012", '"warn"', "default"],
        ["scan.S014", '"stop"', "default"],
        ["gates", "{}", "default"],
        ["labels", "{}", "default"],
    ]


def test_config_as_json(project):
    result = project.proctor("config", "--format", "json", env={"PROCTOR_MAX_CASES": "5"})
    assert result.code == 0
    assert result.report["root"] == str(project.root)
    values = result.report["values"]
    assert values["project"] == {"value": "tests", "origin": "proctor.toml"}
    assert values["max_cases"] == {"value": 5, "origin": "environment PROCTOR_MAX_CASES"}
    assert values["providers"] == {"value": {}, "origin": "default"}
    assert result.out.endswith(b"}\n")


def test_config_prints_nothing_a_terminal_acts_upon(project):
    project.write(
        "proctor.toml", 'project = "tests"\n[prices."a/\\u001b[31m"]\ninput=1\noutput=1\n'
    )
    result = project.proctor("config")
    assert result.code == 0
    assert b"\x1b" not in result.out
    assert b"\x1b" not in project.proctor("config", "--format", "json").out


def test_config_of_what_cannot_be_used_is_a_problem(project):
    project.write("proctor.toml", 'project = "tests"\nallow_code = true\n')
    result = project.proctor("config")
    assert result.code == 2
    assert "proctor.toml:2: P6003" in result.err


# explain


def test_explain_lists_every_code(tmp_path):
    result = proctor("explain", cwd=tmp_path)
    assert result.code == 0
    assert result.text.splitlines() == [f"{code}  {title}" for code, title in ALL_CODES]


@pytest.mark.parametrize("code", ["P6402", "p6402"])
def test_explain_prints_the_page_of_a_code(tmp_path, code):
    result = proctor("explain", code, cwd=tmp_path)
    assert result.code == 0
    title, blank, *text = result.text.splitlines()
    assert (title, blank) == ("P6402 No recording", "")
    assert "\n".join(text) in CODES
    assert "## " not in result.text


def test_explain_has_a_page_for_each_code(tmp_path):
    from proctor.cli.explain import pages

    assert [(code, title) for code, (title, _) in pages().items()] == ALL_CODES
    assert all(len(text.split()) > 10 for _, text in pages().values())


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("P64022", "did you mean `P6402`?"),
        ("6402", "did you mean `P6402`?"),
        ("nonsense", "`proctor explain` lists all codes"),
    ],
)
def test_explain_of_an_unknown_code_says_what_there_is(tmp_path, code, hint):
    result = proctor("explain", code, cwd=tmp_path)
    assert result.code == 2
    assert f"P6002: there is no code `{code}`" in result.err
    assert hint in result.err


def test_a_problem_says_how_to_learn_more_once(project):
    project.write("evals/quiz.eval.yaml", "promt: x\n")
    result = project.proctor("run")
    assert result.err.count("proctor explain") == 1
    assert result.err.splitlines()[-1] == "`proctor explain P6201` says more"


# completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_that_asks_the_program(tmp_path, shell):
    result = proctor("completion", shell, cwd=tmp_path)
    assert result.code == 0
    assert "_PROCTOR_COMPLETE" in result.text
    assert "proctor" in result.text
    assert result.err == ""


def test_completion_of_another_shell_is_refused(tmp_path):
    result = proctor("completion", "cmd", cwd=tmp_path)
    assert result.code == 2
    assert "P6002" in result.err


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_script_for_bash_is_one_bash_reads(tmp_path):
    script = proctor("completion", "bash", cwd=tmp_path).out
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_program_completes_commands(tmp_path):
    env = {"_PROCTOR_COMPLETE": "bash_complete", "COMP_WORDS": "proctor li", "COMP_CWORD": "1"}
    result = proctor(cwd=tmp_path, env=env)
    assert result.text.split() == ["plain,lint"]


# help


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_help_of_a_command_has_examples_and_its_sentence_is_that_of_the_list(name):
    command = cli.get_command(None, name)
    assert command.help.split("\n\n")[0].replace("\n", " ") == COMMANDS[name]
    assert "Examples:" in command.epilog
    assert f"  proctor {name}" in command.epilog or f'"$(proctor {name}' in command.epilog


def test_the_help_imports_no_command(tmp_path):
    result = proctor("--help", cwd=tmp_path, env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert result.code == 0
    assert "proctor.cli.main" in result.err
    for name in COMMANDS:
        assert f"proctor.cli.{name}\n" not in result.err
        assert name in result.text
