"""Functions of the project as assertions: only where the command line says so."""

from __future__ import annotations

import pytest

SUITE = """\
prompt: answer
dataset: cases.jsonl
assertions:
  - {id: right, kind: equals, field: label}
  - {id: short, kind: python, function: 'judging.length:is_short'}
  - id: any
    kind: any-of
    of:
      - {kind: contains, value: maybe}
      - {kind: python, function: 'judging.length:is_short', min: 0.5}
"""
TOUCHED = "raise SystemExit('it was imported')\n"
LENGTH = """\
print("imported")

def is_short(answer, case):
    return 1.0 if len(answer.text) < 20 else 0.25
"""


@pytest.fixture
def judged(project):
    project.exam({"one": "yes"})
    project.write("evals/quiz.eval.yaml", SUITE)
    project.write("judging/length.py", LENGTH)
    return project


def checks(result):
    return result.report["suites"][0]["subjects"][0]["cases"][0]["rows"][0]["checks"]


def test_a_function_judges_where_code_is_allowed(judged):
    result = judged.proctor("run", "--allow-code", "--format", "json")
    assert (result.code, result.err) == (0, "imported\nPASSED  1 of 1 rows passed\n")
    assert [check["outcome"] for check in checks(result)] == ["passed"] * 3


def test_a_score_below_the_limit_fails_with_it(judged):
    judged.exam({"one": "a long answer that is wrong"})
    result = judged.proctor("run", "--allow-code", "--format", "json")
    assert result.code == 1
    check = checks(result)[1]
    assert (check["reason"], check["evidence"]) == ("below_min", {"got": 0.25, "min": 1.0})
    assert "short: below min, got 0.25" in judged.proctor("run", "--allow-code").text


def test_without_the_flag_every_use_is_listed_and_nothing_is_run(judged):
    judged.write("judging/length.py", TOUCHED)
    judged.write("evals/other.eval.yaml", SUITE)
    result = judged.proctor("run")
    assert (result.code, result.out) == (2, b"")
    for place in ("quiz.eval.yaml:5", "quiz.eval.yaml:10", "other.eval.yaml:5"):
        assert (
            f"evals/{place}: P6220: `judging.length:is_short` is code of the project, which may"
            " not run\n    read it, then add `--allow-code`\n"
        ) in result.err
    assert "4 problems; nothing was run" in result.err


@pytest.mark.parametrize(
    "command", [["lint"], ["cassette", "list"], ["run", "--dry-run", "--allow-code"]]
)
def test_what_judges_nothing_imports_nothing(judged, command):
    judged.write("judging/length.py", TOUCHED)
    result = judged.proctor(*command)
    assert result.code == 0, result.err
    assert "imported" not in result.err


@pytest.mark.parametrize(
    "config", ["allow_code = true\n", "allow-code = true\n"], ids=["underscore", "dash"]
)
def test_no_file_and_no_variable_allows_code(judged, config):
    result = judged.proctor("run", env={"PROCTOR_ALLOW_CODE": "1"})
    assert (result.code, "P6220" in result.err) == (2, True)
    judged.write("proctor.toml", f'project = "tests"\n{config}')
    result = judged.proctor("run", "--allow-code")
    assert (result.code, "proctor.toml:2: P6003" in result.err) == (2, True)


def test_a_function_that_is_not_there_is_found_before_the_first_row(judged):
    judged.write("evals/quiz.eval.yaml", SUITE.replace("is_short", "is_shrot"))
    result = judged.proctor("run", "--allow-code")
    assert (result.code, result.out) == (2, b"")
    for line in (5, 10):
        assert (
            f"evals/quiz.eval.yaml:{line}: P6201: `function`: `judging.length` has no function"
            " `is_shrot`"
        ) in result.err


def test_an_exception_is_an_errored_check_that_shows_no_value(judged):
    judged.write(
        "judging/length.py", "def is_short(answer, case):\n    raise ValueError(answer.text)\n"
    )
    result = judged.proctor("run", "--allow-code")
    assert result.code == 3
    assert "short errored: ValueError: crashed" in result.text
    assert "Traceback" not in result.text + result.err
    report = judged.proctor("run", "--allow-code", "--format", "json")
    assert [check["outcome"] for check in checks(report)] == ["passed", "errored", "errored"]
    assert checks(report)[1]["reason"] == "crashed: ValueError"


def test_a_module_of_the_project_does_not_hide_an_installed_one(judged):
    judged.write("regex.py", TOUCHED)
    judged.write("judging/length.py", f"import regex\nregex.compile('a')\n{LENGTH}")
    result = judged.proctor("run", "--allow-code")
    assert result.code == 0, result.err


def test_the_report_is_the_same_bytes_every_time(judged):
    first, second = (
        judged.proctor("run", "--allow-code", "--format", "json", env={"PYTHONHASHSEED": seed})
        for seed in ("1", "2")
    )
    assert first.out == second.out
