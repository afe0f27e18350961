"""`proctor run`, as a user would start it."""

from __future__ import annotations

import json

import pytest


def test_a_suite_whose_answers_are_right_passes(project):
    project.exam({"one": "yes", "two": "yes"})
    result = project.proctor("run")
    assert result.code == 0
    assert "PASSED" in result.text
    assert "2 of 2" in result.text
    assert result.err == ""


def test_a_wrong_answer_is_named_with_expected_and_got(project):
    project.exam({"one": "yes", "two": "no"})
    result = project.proctor("run")
    assert result.code == 1
    assert "FAILED" in result.text
    assert "two" in result.text
    assert 'label: expected "yes", got "no"' in result.text


def test_a_missing_recording_is_unmeasured_and_says_what_changed(project):
    project.cases(project.case("one"), project.case("two"))
    project.cassette(
        project.recording("one", '{"label": "yes"}'),
        project.recording(
            "two", '{"label": "yes"}', parts={"params": {"maxTokens": 16, "temperature": 0.7}}
        ),
    )
    result = project.proctor("run")
    assert result.code == 3
    assert "P6402" in result.text
    assert "temperature 0.7 -> 0" in result.text
    assert "proctor run quiz --cache record" in result.text


def test_a_missing_cassette_is_misses_not_an_error(project):
    project.cases(project.case("one"), project.case("two"))
    result = project.proctor("run", "--format", "json")
    assert result.code == 3
    report = result.report
    assert report["verdict"] == "unmeasured"
    errors = {row["error"]["message"] for case in _cases(report) for row in case["rows"]}
    assert len(errors) == 1
    assert "no cassette at evals/cassettes/quiz.jsonl" in errors.pop()


def test_a_failure_beats_a_miss(project):
    project.cases(project.case("one"), project.case("two"))
    project.cassette(project.recording("one", '{"label": "no"}'))
    assert project.proctor("run").code == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("yes", "not_json"),
        ('{"other": "yes"}', "missing_field: label"),
        ('```json\n{"label": "yes"}\n```', "not_json"),
        (None, "no_text"),
        ("", "not_json"),
    ],
)
def test_an_answer_without_the_field_fails_with_its_reason(project, text, reason):
    project.cases(project.case("one"))
    project.cassette(project.recording("one", text))
    result = project.proctor("run", "--format", "json")
    assert result.code == 1
    (check,) = _cases(result.report)[0]["rows"][0]["checks"]
    assert (check["outcome"], check["reason"]) == ("failed", reason)


def test_a_negated_check_does_not_pass_on_an_answer_that_is_not_there(project):
    project.write(
        "evals/quiz.eval.yaml",
        "prompt: answer\ndataset: cases.jsonl\nassertions:\n"
        "  - {id: clean, kind: contains, field: label, value: secret, negate: true}\n",
    )
    project.cases(project.case("one"), project.case("two"))
    project.cassette(
        project.recording("one", '{"label": "fine"}'), project.recording("two", "no json")
    )
    result = project.proctor("run", "--format", "json")
    assert [case["outcome"] for case in _cases(result.report)] == ["passed", "failed"]


def test_an_edited_expected_value_is_scored_without_asking_again(project):
    project.exam({"one": "12"})
    project.cases(project.case("one", label="12"))
    assert project.proctor("run").code == 0
    project.cases(project.case("one", label="13"))
    assert project.proctor("run").code == 1


def test_a_renamed_case_still_finds_its_recording(project):
    project.cases({**project.case("one"), "id": "renamed"})
    project.cassette(project.recording("one", '{"label": "yes"}'))
    assert project.proctor("run").code == 0


def test_two_cases_with_the_same_inputs_share_one_recording(project):
    project.cases(project.case("one"), {**project.case("one"), "id": "again"})
    project.cassette(project.recording("one", '{"label": "yes"}'))
    result = project.proctor("run", "--format", "json")
    assert result.code == 0
    rows = [case["rows"][0] for case in _cases(result.report)]
    assert rows[0]["recording"] == rows[1]["recording"]
    assert result.report["suites"][0]["cache"]["replayed"] == 2


def test_two_models_have_answers_of_their_own(project):
    project.write(
        "evals/quiz.eval.yaml",
        "prompt: answer\ndataset: cases.jsonl\nmodels: [local/tiny, local/other]\n"
        "assertions:\n  - {id: right, kind: equals, field: label}\n",
    )
    project.cases(project.case("one"))
    project.cassette(
        project.recording("one", '{"label": "yes"}'),
        project.recording("one", '{"label": "no"}', model="local/other"),
    )
    result = project.proctor("run", "--format", "json")
    subjects = result.report["suites"][0]["subjects"]
    outcomes = {subject["model"]: subject["cases"][0]["outcome"] for subject in subjects}
    assert outcomes == {"local/tiny": "passed", "local/other": "failed"}


def test_json_on_stdout_leaves_words_to_stderr(project):
    project.exam({"one": "yes"})
    result = project.proctor("run", "--format", "json")
    assert json.loads(result.out)["schema"] == "proctor.report.v1"
    assert "1 of 1" in result.err


def test_out_writes_what_is_printed(project):
    project.exam({"one": "yes"})
    result = project.proctor("run", "--format", "json", "--out", "report.json")
    assert (project.root / "report.json").read_bytes() == result.out


def test_out_replaces_a_file_and_leaves_nothing_beside_it(project):
    project.exam({"one": "yes"})
    project.write("report.json", "old")
    before = sorted(path.name for path in project.root.iterdir())
    assert project.proctor("run", "--format", "json", "--out", "report.json").code == 0
    assert sorted(path.name for path in project.root.iterdir()) == before
    assert json.loads((project.root / "report.json").read_bytes())["verdict"] == "passed"


@pytest.mark.parametrize("out", ["missing/report.json", ".", "/dev/null", "evals"])
def test_out_that_cannot_be_written_is_one_clear_error(project, out):
    project.exam({"one": "yes"})
    result = project.proctor("run", "--out", out)
    assert result.code == 2
    assert "P6004" in result.err
    assert "Traceback" not in result.err


def test_report_dir_holds_one_whole_report_per_suite(project):
    project.exam({"one": "yes", "two": "no"})
    project.write("evals/other.eval.yaml", (project.root / "evals/quiz.eval.yaml").read_text())
    result = project.proctor("run", "--report-dir", "out/reports")
    assert result.code == 1
    quiz, other = (
        json.loads((project.root / f"out/reports/{name}.json").read_bytes())
        for name in ("quiz", "other")
    )
    assert [suite["suite"] for suite in quiz["suites"]] == ["quiz"]
    assert (quiz["verdict"], quiz["exit_code"]) == ("failed", 1)
    assert (other["verdict"], other["exit_code"]) == ("unmeasured", 3)


def test_suites_can_be_named_by_name_and_by_path(project):
    project.exam({"one": "yes"})
    project.write("evals/broken.eval.yaml", "nonsense: 1\n")
    assert project.proctor("run", "quiz").code == 0
    assert project.proctor("run", "evals/quiz.eval.yaml").code == 0
    assert project.proctor("run").code == 2


def test_an_unknown_suite_says_how_many_there_are(project):
    project.exam({"one": "yes"})
    result = project.proctor("run", "quizz")
    assert result.code == 2
    assert "P6001" in result.err
    assert "0 of 1" in result.err
    assert "did you mean `quiz`?" in result.err


def test_cassettes_of_another_folder_are_replayed(project):
    project.exam({"one": "yes"})
    project.cassette(project.recording("one", '{"label": "no"}'), folder="other")
    assert project.proctor("run").code == 0
    assert project.proctor("run", "--cassettes", "other").code == 1


def test_a_cassettes_folder_that_is_not_there_is_refused(project):
    project.exam({"one": "yes"})
    result = project.proctor("run", "--cassettes", "nowhere")
    assert result.code == 2
    assert "P6002" in result.err


def test_relative_paths_start_at_cwd_option(project, tmp_path_factory):
    project.exam({"one": "yes"})
    project.cassette(project.recording("one", '{"label": "no"}'), folder="other")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    arguments = ["--cwd", str(project.root), "--cassettes", "other", "--out", "report.txt"]
    assert project.proctor("run", *arguments, cwd=elsewhere).code == 1
    assert (project.root / "report.txt").exists()
    assert list(elsewhere.iterdir()) == []


def test_more_than_twenty_failing_cases_are_cut_unless_all_are_asked_for(project):
    project.exam({f"case-{number:02}": "no" for number in range(30)})
    short, whole = project.proctor("run").text, project.proctor("run", "--all").text
    assert sum(f"case-{number:02}" in short for number in range(30)) == 20
    assert sum(f"case-{number:02}" in whole for number in range(30)) == 30
    assert "--all" in short


def test_output_that_is_not_a_terminal_has_no_control_codes(project):
    project.exam({"one": "no"})
    result = project.proctor("run", env={"TERM": "xterm-256color", "FORCE_COLOR": "1"})
    assert b"\x1b" not in result.out


def test_a_line_of_warn_severity_never_fails_the_suite(project):
    project.write(
        "evals/quiz.eval.yaml",
        "prompt: answer\ndataset: cases.jsonl\nassertions:\n"
        "  - {id: right, kind: equals, field: label}\n"
        "  - {id: short, kind: regex, pattern: xyz, severity: warn}\n",
    )
    project.exam({"one": "yes"})
    result = project.proctor("run", "--format", "json")
    assert result.code == 0
    assert result.report["suites"][0]["subjects"][0]["checks"]["short"]["failed"] == 1


@pytest.mark.parametrize(
    ("thresholds", "code"),
    [
        ("{passRate: 0.5}", 0),
        ("{passRate: 0.51}", 1),
        ("{passRate: 0.5, maxCostUsd: 0.0019}", 1),
        ("{passRate: 0.5, maxCostUsd: 0.002}", 0),
    ],
)
def test_thresholds_decide_the_exit_code(project, thresholds, code):
    project.exam({"one": "yes", "two": "no"})
    suite = (project.root / "evals/quiz.eval.yaml").read_text()
    project.write("evals/quiz.eval.yaml", f"{suite}thresholds: {thresholds}\n")
    result = project.proctor("run", "--format", "json")
    assert result.code == code == result.report["exit_code"]


def test_an_error_rate_within_its_threshold_passes(project):
    suite = (project.root / "evals/quiz.eval.yaml").read_text()
    project.write("evals/quiz.eval.yaml", f"{suite}thresholds: {{maxErrorRate: 0.5}}\n")
    project.cases(project.case("one"), project.case("two"))
    project.cassette(project.recording("one", '{"label": "yes"}'))
    assert project.proctor("run").code == 0


def test_nothing_measured_is_not_available_and_not_a_pass(project):
    suite = (project.root / "evals/quiz.eval.yaml").read_text()
    project.write("evals/quiz.eval.yaml", f"{suite}thresholds: {{maxErrorRate: 0.99}}\n")
    project.cases(project.case("one"))
    result = project.proctor("run", "--format", "json")
    assert result.code == 3
    pass_rate = result.report["suites"][0]["subjects"][0]["pass_rate"]
    assert pass_rate["rate"] is None


def _cases(report):
    return report["suites"][0]["subjects"][0]["cases"]


def test_only_rows_after_the_one_that_ran_out_of_time_are_said_not_to_have_been_run(project):
    # Nothing this pattern could do with the first answer ends, so no limit is too short for it.
    suite = project.write(
        "evals/quiz.eval.yaml",
        "prompt: answer\ndataset: cases.jsonl\nassertions:\n"
        "  - {id: slow, kind: regex, pattern: '(a|aa)+$'}\n",
    )
    assert suite.exists()
    names = [f"case-{number}" for number in range(3)]
    project.cases(*(project.case(name) for name in names))
    project.cassette(*(project.recording(name, "a" * 40 + "!") for name in names))
    result = project.proctor("run", "--format", "json")
    assert result.code == 1
    checks = [case["rows"][0]["checks"][0] for case in _cases(result.report)]
    assert [check["reason"] for check in checks] == ["timed_out"] * 3
    skipped = [(check["evidence"] or {}).get("skipped", False) for check in checks]
    assert skipped == [False, True, True]
