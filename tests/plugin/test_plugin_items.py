"""Suites as items of pytest: what is collected, what becomes of it, and what it says."""

from __future__ import annotations

import json

import pytest
from lxml import etree

from plugin_support import SUBJECT, glob, node, outcomes, run, section, two_prompts
from proctor.loading.suites import ENDINGS
from proctor.pytest_plugin import hooks
from support import SUITE

pytest_plugins = ["pytester"]

THRESHOLDS = "evals/quiz.eval.yaml::thresholds"


def test_the_hooks_know_the_same_endings_as_everybody_else():
    assert hooks.ENDINGS == ENDINGS


class TestCollecting:
    def test_an_item_for_each_case_of_each_subject_and_the_thresholds_last(self, project, pytester):
        two_prompts(project)
        project.exam({"one": "yes", "two": "yes"})
        result = run(pytester, "--collect-only", "-q")
        assert [line for line in result.outlines if "::" in line] == [
            node("one"),
            node("two"),
            node("one", subject="other@local/tiny"),
            node("two", subject="other@local/tiny"),
            THRESHOLDS,
        ]

    def test_collecting_runs_no_case_and_opens_no_cassette(self, project, pytester, runs):
        project.exam({"one": "yes"})
        project.write("evals/cassettes/quiz.jsonl", "damaged\n")
        assert run(pytester, "--collect-only").ret == 0
        assert runs == []

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_every_ending_of_suites(self, project, pytester, ending):
        project.exam({"one": "yes"})
        suite = project.root / "evals/quiz.eval.yaml"
        suite.unlink()
        text = SUITE
        if ending == ".eval.json":
            text = json.dumps(
                {
                    "prompt": "answer",
                    "dataset": "cases.jsonl",
                    "assertions": [{"id": "right", "kind": "equals", "field": "label"}],
                }
            )
        project.write(f"evals/quiz{ending}", text)
        run(pytester).assert_outcomes(passed=2)

    def test_files_of_other_programs_with_such_names_are_left_alone(self, pytester):
        folder = pytester.mkdir("evals")
        (folder / "theirs.eval.yaml").write_text("something: else\n")
        assert run(pytester).ret == pytest.ExitCode.NO_TESTS_COLLECTED

    def test_a_file_that_is_named_is_taken_for_a_suite(self, pytester):
        folder = pytester.mkdir("evals")
        (folder / "theirs.eval.yaml").write_text("something: else\n")
        result = run(pytester, "evals/theirs.eval.yaml")
        assert result.ret == pytest.ExitCode.INTERRUPTED
        result.stdout.fnmatch_lines(["P6003: there is no Proctor project here*"])

    def test_files_of_a_project_outside_of_its_folder_of_suites_are_left_alone(
        self, project, pytester
    ):
        project.exam({"one": "yes"})
        project.write("drafts/quiz.eval.yaml", "not: finished\n")
        run(pytester).assert_outcomes(passed=2)

    @pytest.mark.parametrize(
        ("path", "content", "said"),
        [
            (
                "evals/quiz.eval.yaml",
                SUITE + "asertions: []\n",
                "evals/quiz.eval.yaml:5: P6201: unknown key `asertions`*",
            ),
            ("evals/cases.jsonl", '{"id": "one", "id": "two"}\n', "evals/cases.jsonl:1: P6101: *"),
            ("prompts/answer.prompt.yaml", "user: '{{input.x}}'\n", "*P6205: *"),
        ],
    )
    def test_what_is_not_right_is_said_with_code_and_place_and_nothing_of_ours(
        self, project, pytester, path, content, said
    ):
        project.exam({"one": "yes"})
        project.write(path, content)
        result = run(pytester)
        assert result.ret == pytest.ExitCode.INTERRUPTED
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines([said])
        assert "Traceback" not in result.stdout.str()
        assert ".py:" not in result.stdout.str()

    def test_a_suite_that_is_not_right_does_not_hide_the_others(self, project, pytester):
        project.exam({"one": "yes"})
        project.write("evals/broken.eval.yaml", "prompt: answer\n")
        result = run(pytester, "--continue-on-collection-errors")
        result.assert_outcomes(passed=2, errors=1)

    def test_ids_of_cases_neither_act_on_the_terminal_nor_part_the_name(self, project, pytester):
        name = "a::b \u202e<[x]>"
        project.write("proctor.toml", 'project = "tests"\n[scan]\nS014 = "off"\n')
        project.exam({name: "yes"})
        result = run(pytester, "--collect-only", "-q")
        assert result.outlines[0] == node("a:\\x3ab \\u202e<[x]>")
        run(pytester, result.outlines[0]).assert_outcomes(passed=1)


class TestOutcomes:
    def test_cases_that_pass(self, project, pytester):
        project.exam({"one": "yes", "two": "yes"})
        result = run(pytester, "-rA")
        assert outcomes(result) == dict.fromkeys([node("one"), node("two"), THRESHOLDS], "passed")
        assert result.ret == 0

    def test_a_failure_says_what_was_expected_what_came_and_where_it_is(self, project, pytester):
        project.exam({"one": "yes", "two": "no"})
        result = run(pytester, "-rA")
        assert outcomes(result) == {
            node("one"): "passed",
            node("two"): "failed",
            THRESHOLDS: "failed",
        }
        said = section(result, f"two[{SUBJECT}]")
        assert said == [
            'right: label: expected "yes", got "no"',
            "answer: evals/cassettes/quiz.jsonl:2",
        ]
        assert section(result, "thresholds") == [
            "failed: 1 of 2 rows passed, 1 failed",
            "not met: passRate is 0.5, at least 1 is asked for",
        ]

    def test_the_summary_has_the_first_line(self, project, pytester):
        project.exam({"one": "no"})
        result = run(pytester)
        result.stdout.fnmatch_lines(
            [f'FAILED {glob(node("one"))} - Failed: right: label: expected "yes", got "no"']
        )

    def test_a_case_without_a_recording_is_red_with_its_code_and_what_to_do(
        self, project, pytester
    ):
        project.exam({"one": "yes"})
        project.cassette()
        result = run(pytester, "-rA")
        assert outcomes(result) == {node("one"): "failed", THRESHOLDS: "failed"}
        (said,) = section(result, f"one[{SUBJECT}]")
        assert said.startswith("P6402: ")
        assert said.endswith("; `proctor run quiz --cache record` records it")
        assert section(result, "thresholds")[0] == "unmeasured: 0 of 1 row passed, 1 errored"

    def test_a_case_that_was_not_measured_is_never_green(self, project, pytester):
        suite = SUITE + "  - {id: cheap, kind: cost, max: 1}\n"
        project.write("evals/quiz.eval.yaml", suite)
        project.cases(project.case("one"))
        project.cassette(project.recording("one", '{"label":"yes"}', cost_usd=None))
        result = run(pytester, "-rA")
        assert outcomes(result) == {node("one"): "failed", THRESHOLDS: "failed"}
        assert section(result, f"one[{SUBJECT}]")[0] == "cheap unmeasured: unknown cost"

    def test_repeats_are_one_item_that_says_which_of_them_failed(self, project, pytester):
        project.write("evals/quiz.eval.yaml", f"repeats: 3\n{SUITE}")
        project.cases(project.case("one"))
        project.cassette(
            *(
                project.recording("one", json.dumps({"label": label}), take=take)
                for take, label in enumerate(["yes", "no", "no"], 1)
            )
        )
        result = run(pytester)
        assert section(result, f"one[{SUBJECT}]") == [
            'repeats 2-3: right: label: expected "yes", got "no"',
            "failed: passed 1/3",
            "answer: evals/cassettes/quiz.jsonl:2",
            "answer: evals/cassettes/quiz.jsonl:3",
        ]

    def test_the_results_are_there_for_a_ci_system(self, project, pytester):
        project.exam({"one": "yes", "two": "no"})
        run(pytester, "--junitxml=results.xml")
        (suite,) = etree.parse(pytester.path / "results.xml").getroot()
        names = [case.get("name") for case in suite]
        assert names == [f"one[{SUBJECT}]", f"two[{SUBJECT}]", "thresholds"]
        failures = [case.find("failure") for case in suite]
        assert [failure is None for failure in failures] == [True, False, False]
        assert failures[1].text.startswith('right: label: expected "yes", got "no"')

    def test_what_an_answer_holds_acts_on_no_terminal_and_no_runner(self, project, pytester):
        project.exam({"one": "\x1b[31m\n::error::forged\n##[error]x"})
        result = run(pytester)
        text = result.stdout.str()
        assert "\x1b[31m" not in text
        assert not any(line.lstrip().startswith(("::", "##[")) for line in result.outlines)
        assert "##[" not in text


class TestThresholds:
    @pytest.fixture
    def lenient(self, project):
        project.write("evals/quiz.eval.yaml", SUITE + "thresholds: {passRate: 0.5}\n")
        return project

    def test_a_failure_that_the_thresholds_forgive_is_an_expected_one(self, lenient, pytester):
        lenient.exam({"one": "yes", "two": "no"})
        result = run(pytester, "-rA")
        assert result.ret == 0
        assert outcomes(result) == {
            node("one"): "passed",
            node("two"): "xfail",
            THRESHOLDS: "passed",
        }
        result.stdout.fnmatch_lines(
            ["*failed, and the thresholds of the suite hold: right: label: expected *"]
        )

    def test_one_failure_too_many_is_red_and_so_are_all(self, lenient, pytester):
        lenient.exam({"one": "no", "two": "no", "three": "yes"})
        result = run(pytester, "-rA")
        assert result.ret == 1
        assert outcomes(result) == {
            node("one"): "failed",
            node("two"): "failed",
            node("three"): "passed",
            THRESHOLDS: "failed",
        }

    def test_runxfail_shows_what_the_thresholds_forgive(self, lenient, pytester):
        lenient.exam({"one": "yes", "two": "no"})
        run(pytester, "--runxfail").assert_outcomes(passed=2, failed=1)

    def test_errors_can_be_forgiven_too(self, project, pytester):
        project.write(
            "evals/quiz.eval.yaml",
            SUITE + "thresholds: {maxErrorRate: 0.5, minMeasured: 0.5}\n",
        )
        project.cases(project.case("one"), project.case("two"))
        project.cassette(project.recording("one", '{"label":"yes"}'))
        run(pytester).assert_outcomes(passed=2, xfailed=1)

    def test_a_threshold_can_be_red_alone(self, project, pytester):
        project.write("evals/quiz.eval.yaml", SUITE + "thresholds: {maxCostUsd: 0.001}\n")
        project.exam({"one": "yes", "two": "yes"})
        result = run(pytester, "-rA")
        assert outcomes(result) == {
            node("one"): "passed",
            node("two"): "passed",
            THRESHOLDS: "failed",
        }
        assert section(result, "thresholds")[1] == (
            "not met: maxCostUsd is $0.002, at most $0.001 is asked for"
        )

    def test_each_suite_has_thresholds_of_its_own(self, lenient, pytester):
        lenient.exam({"one": "yes", "two": "no"})
        lenient.write("evals/strict.eval.yaml", SUITE)
        cassette = lenient.root / "evals/cassettes"
        (cassette / "strict.jsonl").write_bytes((cassette / "quiz.jsonl").read_bytes())
        result = run(pytester, "-rA")
        assert outcomes(result) == {
            node("one"): "passed",
            node("two"): "xfail",
            THRESHOLDS: "passed",
            node("one", suite="strict"): "passed",
            node("two", suite="strict"): "failed",
            "evals/strict.eval.yaml::thresholds": "failed",
        }


class TestWhatCannotBeRun:
    def test_a_damaged_cassette_is_an_error_of_each_item_and_read_once(
        self, project, pytester, runs
    ):
        project.exam({"one": "yes", "two": "yes"})
        project.write("evals/cassettes/quiz.jsonl", "damaged\n")
        result = run(pytester)
        result.assert_outcomes(errors=3)
        assert len(runs) == 1
        result.stdout.fnmatch_lines(["evals/cassettes/quiz.jsonl:1: P6403: *"])
        assert "Traceback" not in result.stdout.str()

    def test_code_of_the_project_needs_permission_and_is_not_imported(self, project, pytester):
        marker = project.root / "imported"
        write_checks(project, "checks", marker)
        project.exam({"one": "yes"})
        suite = SUITE + "  - {id: mine, kind: python, function: 'checks:good'}\n"
        project.write("evals/quiz.eval.yaml", suite)
        result = run(pytester)
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(
            [
                "evals/quiz.eval.yaml:5: P6220: `checks:good` is code of the project*",
                "*read it, then add `--proctor-allow-code`",
            ]
        )
        assert not marker.exists()

    def test_code_of_the_project_is_imported_when_it_may_and_not_before_a_case_is_run(
        self, project, pytester, monkeypatch
    ):
        marker = project.root / "imported"
        name = "checks_of_test_plugin_items"
        write_checks(project, name, marker)
        project.exam({"one": "yes"})
        suite = SUITE + f"  - {{id: mine, kind: python, function: '{name}:good'}}\n"
        project.write("evals/quiz.eval.yaml", suite)
        run(pytester, "--proctor-allow-code", "--collect-only")
        assert not marker.exists()
        run(pytester, "--proctor-allow-code").assert_outcomes(passed=2)
        assert marker.exists()

    def test_a_prompt_that_is_code_is_replayed_without_permission(self, project, pytester):
        code = "raise RuntimeError('imported')\ndef ask(inputs): return 'hello'\n"
        project.write("asks.py", code)
        project.exam({"one": "yes"})
        models = "models: [local/tiny]\n"
        project.write("evals/quiz.eval.yaml", models + SUITE.replace("answer", "'python:asks:ask'"))
        result = run(pytester, "-rA")
        assert "P6402" in result.stdout.str()
        assert "imported" not in result.stdout.str()


def write_checks(project, module: str, marker) -> None:
    """A module with a check, which leaves a mark when it is imported."""
    mark = f"import pathlib\npathlib.Path({str(marker)!r}).touch()\n"
    project.write(f"{module}.py", f"{mark}def good(answer, case): return True\n")
