"""Asking from within pytest: what it takes, that it is one run, and that it stops in good order."""

from __future__ import annotations

import json

import pytest

from live_support import LiveProject
from plugin_support import node, outcomes, run
from proctor.pytest_plugin import evaluating
from support import SUITE, Project

pytest_plugins = ["pytester"]


@pytest.fixture
def project(pytester, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    project = LiveProject(pytester.path)
    project.named_cases("one", "two")
    project.script(project.says_yes())
    return project


def record(pytester, *arguments):
    return run(pytester, "--proctor-cache", "record", *arguments)


def test_answers_are_recorded_and_replayed_from_then_on(project, pytester):
    record(pytester).assert_outcomes(passed=3)
    assert project.stored_cases == ["one", "two"]
    project.script({"fault": 500})
    run(pytester).assert_outcomes(passed=3)
    record(pytester).assert_outcomes(passed=3)


def test_only_selected_cases_are_asked(project, pytester):
    record(pytester, "-k", "two").assert_outcomes(passed=1, deselected=2)
    assert project.stored_cases == ["two"]


def test_subjects_that_are_asked_different_cases_are_one_run(project, pytester):
    prompt = (project.root / "prompts/answer.prompt.yaml").read_text()
    project.write("prompts/other.prompt.yaml", prompt.replace("user: |-", "user: |-\n  Please:"))
    project.write(
        "evals/quiz.eval.yaml", SUITE.replace("prompt: answer", "prompts: [answer, other]")
    )
    first, second = node("one"), node("two", subject="other@local/tiny")
    record(pytester, first, second).assert_outcomes(passed=2)
    assert sorted(project.stored_cases) == ["one", "two"]
    assert len(list(project.root.glob(".proctor/runs/*/report.json"))) == 1


def test_all_suites_are_one_run(project, pytester):
    project.write("evals/second.eval.yaml", SUITE)
    record(pytester).assert_outcomes(passed=6)
    (report,) = project.root.glob(".proctor/runs/*/report.json")
    assert [one["suite"] for one in json.loads(report.read_bytes())["suites"]] == [
        "quiz",
        "second",
    ]


def test_what_costs_needs_a_limit_for_all_of_it(pytester, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    project = Project(pytester.path)
    project.write(
        "proctor.toml",
        'project = "tests"\n[prices."openai/gpt-x"]\ninput = 1\noutput = 1\n',
    )
    prompt = (project.root / "prompts/answer.prompt.yaml").read_text()
    project.write("prompts/answer.prompt.yaml", prompt.replace("local/tiny", "openai/gpt-x"))
    project.cases(project.case("one"))
    result = record(pytester)
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(
        [
            "P6504: `--proctor-cache record` asks models that cost money, and nothing limits it",
            "*`--proctor-max-cost 1.50`; `proctor run --dry-run` says how much*",
        ]
    )
    assert result.stdout.str().count("`--proctor-cache record` asks models") == 2 + 2
    # The request is some 2,100 tokens at most, at one dollar a million.
    result = record(pytester, "--proctor-max-cost", "0.001")
    result.stdout.fnmatch_lines(["P6503: *"])


def test_several_workers_are_refused(project, pytester):
    result = record(pytester, "-n", "2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*`--proctor-cache` other than replay does not go with several*"])
    assert not (project.root / ".proctor").exists()


def test_suites_of_two_projects_are_refused(pytester):
    for name in ("first", "second"):
        project = LiveProject(pytester.path / name)
        project.named_cases("one")
        project.script(project.says_yes())
    result = record(pytester)
    result.assert_outcomes(errors=4)
    result.stdout.fnmatch_lines(["P6002: suites of several projects cannot be asked in one run*"])
    run(pytester).assert_outcomes(failed=4)


@pytest.mark.parametrize(
    "option",
    [
        "--proctor-cache=record",
        "--proctor-cache record",
        "--proctor-max-cost 5",
        "--proctor-allow-local",
        "--proctor-allow-code",
    ],
)
@pytest.mark.parametrize("from_file", [True, False], ids=["addopts", "environment"])
def test_what_sends_spends_or_runs_is_taken_from_the_command_line_only(
    project, pytester, monkeypatch, option, from_file
):
    if from_file:
        pytester.makeini(f"[pytest]\naddopts = {option}\n")
    else:
        monkeypatch.setenv("PYTEST_ADDOPTS", option)
    result = run(pytester)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    name = option.replace("=", " ").split()[0]
    result.stderr.fnmatch_lines([f"*`{name}` is read from the command line only*"])
    assert not (project.root / ".proctor").exists()


def test_an_option_on_the_command_line_counts_whatever_stands_in_the_file(project, pytester):
    pytester.makeini("[pytest]\naddopts = --proctor-cache replay\n")
    record(pytester).assert_outcomes(passed=3)


def test_the_header_says_that_somebody_may_be_asked(project, pytester):
    record(pytester).stdout.fnmatch_lines(["proctor: cache record"])
    run(pytester).stdout.no_fnmatch_line("proctor: cache*")


def test_cases_that_an_interrupted_run_left_out_are_not_green(project, pytester, monkeypatch):
    real = evaluating.run_selected

    def stopped(rules, selected, **rest):
        rest["watch"].stop.request()
        return real(rules, selected, **rest)

    monkeypatch.setattr(evaluating, "run_selected", stopped)
    result = record(pytester, "-rA")
    assert outcomes(result) == {
        node("one"): "failed",
        node("two"): "failed",
        "evals/quiz.eval.yaml::thresholds": "failed",
    }
    result.stdout.fnmatch_lines(["not run: the run was interrupted", "interrupted: 0 of 2 rows*"])


@pytest.mark.parametrize("amount", ["nan", "inf", "-1", "1000001", "much"])
def test_a_limit_that_limits_nothing_is_refused(project, pytester, amount):
    result = record(pytester, f"--proctor-max-cost={amount}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert not (project.root / ".proctor").exists()


def test_where_something_was_sent_is_said_at_the_end(project, pytester, monkeypatch):
    real = evaluating.run_selected

    def noting(rules, selected, **rest):
        rest["watch"].note("sending MY_KEY to gateway.example")
        return real(rules, selected, **rest)

    monkeypatch.setattr(evaluating, "run_selected", noting)
    record(pytester).stdout.fnmatch_lines(["proctor: sending MY_KEY to gateway.example"])
