"""Suites that repeat every row, as a user would run them."""

from __future__ import annotations

import json

import pytest


def answers(project, **labels):
    """A dataset and cassette: the case's name to the labels of its takes; `yes` is right."""
    project.cases(*(project.case(name) for name in labels))
    project.cassette(
        *(
            project.recording(name, json.dumps({"label": label}), take=take)
            for name, takes in labels.items()
            for take, label in enumerate(takes, 1)
        )
    )


def suite(project, text):
    first = (project.root / "evals/quiz.eval.yaml").read_text()
    project.write("evals/quiz.eval.yaml", f"{first}{text}\n")


def subject(result):
    return result.report["suites"][0]["subjects"][0]


def test_each_repeat_has_the_take_of_its_number_in_order(project):
    answers(project, one=["yes", "no", "maybe"], two=["no", "yes", "yes"])
    suite(project, "repeats: 3")
    result = project.proctor("run", "--format", "json")
    assert result.code == 1
    found = {
        case["id"]: [
            (row["repeat"], json.loads(row["answer"]["text"])["label"]) for row in case["rows"]
        ]
        for case in subject(result)["cases"]
    }
    assert found == {
        "one": [(1, "yes"), (2, "no"), (3, "maybe")],
        "two": [(1, "no"), (2, "yes"), (3, "yes")],
    }
    assert [case["units"] for case in subject(result)["cases"]] == [
        [{"scenario": None, "n": 3, "passed": 1}],
        [{"scenario": None, "n": 3, "passed": 2}],
    ]


def test_the_report_says_what_repeats_say(project):
    answers(project, one=["yes", "yes"], two=["no", "yes"], three=["no", "no"])
    suite(project, "repeats: 2")
    found = subject(project.proctor("run", "--format", "json"))
    assert found["per_repeat"] == [
        {"repeat": 1, "passed": 1, "measured": 3},
        {"repeat": 2, "passed": 2, "measured": 3},
    ]
    assert [(each["k"], each["value"]) for each in found["pass_at_k"]] == [(1, 0.5), (2, 2 / 3)]
    assert [(each["k"], each["value"]) for each in found["pass_hat_k"]] == [(1, 0.5), (2, 1 / 3)]
    assert [case["flaky"] for case in found["cases"]] == [False, True, False]


def test_a_suite_without_repeats_leaves_the_other_takes_alone(project):
    answers(project, one=["yes", "no"])
    result = project.proctor("run", "--format", "json")
    assert result.code == 0
    assert (subject(result)["pass_at_k"], subject(result)["counts"]["rows"]) == ([], 1)


def test_the_command_line_can_repeat_what_the_suite_does_not(project):
    answers(project, one=["yes", "no", "yes"])
    result = project.proctor("run", "--repeats", "3")
    assert result.code == 1
    assert "    per repeat: 100% / 0% / 100%\n" in result.text
    assert "    failed  one  passed 2/3\n      repeat 2: right: label: " in result.text
    assert project.proctor("run", "--repeats", "1").code == 0


def test_a_repeat_without_a_recording_is_a_miss_that_names_the_takes(project):
    answers(project, one=["yes", "yes", "yes"])
    result = project.proctor("run", "--repeats", "5")
    assert result.code == 3
    assert "recorded takes 1-3, asked for 4" in result.text
    assert "quiz --cache record --repeats 5` records it" in result.text
    assert "    per repeat: 100% / 100% / 100% / n/a / n/a\n" in result.text
    assert "pass@5 n/a, pass^5 n/a (0 of 1 cases have 5 measured rows)" in result.text


@pytest.mark.parametrize(
    ("thresholds", "code"),
    [
        ("{passRate: 0.5, passAtK: {k: 10, min: 0.5}}", 0),
        ("{passRate: 0.5, passAtK: {k: 10, min: 0.51}}", 1),
        ("{passRate: 0.5, passHatK: {k: 10, min: 0.5}}", 0),
        # Half of the rows pass, but one case never does: a rule per case tells.
        ("{passRate: 0.5, passHatK: {k: 10, min: 1}}", 1),
    ],
)
def test_thresholds_at_k_decide_the_exit_code(project, thresholds, code):
    answers(project, never=["no"] * 10, always=["yes"] * 10)
    suite(project, f"repeats: 10\nthresholds: {thresholds}")
    result = project.proctor("run", "--format", "json")
    assert result.code == code == result.report["exit_code"]
    found = result.report["suites"][0]["thresholds"][-1]
    assert (found["actual"], found["limit"]["k"]) == (0.5, 10)


def test_a_threshold_without_enough_rows_is_not_available(project):
    answers(project, one=["yes"])
    suite(
        project,
        "repeats: 2\nthresholds: {maxErrorRate: 0.5, passHatK: {k: 2, min: 0.5}}",
    )
    result = project.proctor("run")
    assert result.code == 3
    assert "not available: passHatK at k = 2, at least 0.5 is asked for" in result.text


def test_fewer_repeats_than_a_threshold_needs_are_refused(project):
    answers(project, one=["yes"] * 3)
    suite(project, "repeats: 3\nthresholds: {passAtK: {k: 3, min: 1}}")
    assert project.proctor("run").code == 0
    result = project.proctor("run", "--repeats", "2")
    assert result.code == 2
    assert "P6201: the threshold `passAtK` asks for k = 3, but `--repeats` is 2" in result.err


@pytest.mark.parametrize("repeats", ["0", "1001", "-1", "x"])
def test_repeats_of_the_command_line_have_a_range(project, repeats):
    project.exam({"one": "yes"})
    result = project.proctor("run", "--repeats", repeats)
    assert result.code == 2
    assert "P6002" in result.err


def test_lint_reads_repeats(project):
    project.exam({"one": "yes"})
    suite(project, "repeats: 1001")
    result = project.proctor("lint")
    assert result.code == 2
    assert "evals/quiz.eval.yaml:5: P6201: `repeats`" in result.err
