"""Reports and comparisons as Python has them: cases, flat rows, files, what they say they are."""

from __future__ import annotations

import json

import pytest

import proctor
from proctor.errors import EvalInputError, ReportError, UsageError
from support import SUITE, Project


@pytest.fixture
def project(tmp_path):
    project = Project(tmp_path)
    project.exam({"one": "yes", "two": "no", "three": "yes"})
    return project


class TestReport:
    def test_it_says_what_it_is_in_a_line(self, project):
        report = proctor.run(root=project.root)
        assert repr(report) == "<Report tests: failed, 2 of 3 rows passed, 1 failed>"

    def test_it_is_neither_true_nor_false(self, project):
        with pytest.raises(TypeError, match="ask for its `passed`"):
            assert proctor.run(root=project.root)

    def test_cases_by_suite_subject_and_outcome(self, project):
        project.write("evals/other.eval.yaml", SUITE)
        report = proctor.run(root=project.root)
        found = [(suite, subject, case.id) for suite, subject, case in report.cases(suite="quiz")]
        assert found == [("quiz", "answer@local/tiny", one) for one in ("one", "two", "three")]
        failed = report.cases(outcome="failed")
        assert [(suite, case.id) for suite, _, case in failed] == [("quiz", "two")]
        assert [case.suite for case in report.cases(outcome="errored")] == ["other"] * 3
        assert len(list(report.cases(subject="answer@local/tiny"))) == 6
        assert list(report.cases(subject="another@local/tiny")) == []
        with pytest.raises(EvalInputError):
            list(report.cases(outcome="wrong"))

    def test_rows_are_flat_and_all_alike(self, project):
        project.cases(
            {**project.case("one"), "tags": ["easy"]}, project.case("two"), project.case("four")
        )
        rows = proctor.run(root=project.root).to_rows()
        assert rows[0] == {
            "suite": "quiz",
            "subject": "answer@local/tiny",
            "prompt": "answer",
            "model": "local/tiny",
            "case": "one",
            "index": 0,
            "tags": ["easy"],
            "tiers": [],
            "scenario": None,
            "repeat": 1,
            "outcome": "passed",
            "category": None,
            "attribution": None,
            "answer": '{"label": "yes"}',
            "finish": "stop",
            "recording": rows[0]["recording"],
            "cost_usd": 0.001,
            "latency_ms": 20.0,
            "input_tokens": 10,
            "output_tokens": 4,
            "cached_tokens": 0,
            "failed_checks": [],
            "warned_checks": [],
            "unmeasured_checks": [],
            "error_code": None,
            "error_message": None,
        }
        assert rows[1]["failed_checks"] == ["right"]
        assert (rows[2]["outcome"], rows[2]["error_code"]) == ("errored", "P6402")
        assert (rows[2]["answer"], rows[2]["cost_usd"], rows[2]["input_tokens"]) == (None,) * 3
        assert {tuple(row) for row in rows} == {tuple(rows[0])}
        kinds = (str, int, float, type(None))
        for value in (value for row in rows for value in row.values()):
            assert isinstance(value, kinds) or all(type(one) is str for one in value)

    def test_a_warning_is_told_from_a_failure(self, project):
        suite = SUITE.replace("field: label}", "field: label, severity: warn}")
        project.write("evals/quiz.eval.yaml", suite + "  - {id: short, kind: length, max: 100}\n")
        rows = proctor.run(root=project.root).to_rows()
        assert (rows[1]["outcome"], rows[1]["failed_checks"]) == ("passed", [])
        assert rows[1]["warned_checks"] == ["right"]

    def test_it_is_saved_and_read_again(self, project, tmp_path):
        report = proctor.run(root=project.root)
        report.save(tmp_path / "report.json")
        stored = proctor.load_report(tmp_path / "report.json")
        assert stored.to_json() == report.to_json()
        assert stored.to_rows() == report.to_rows()

    def test_a_report_whose_figures_are_not_those_of_its_rows_is_refused(self, project, tmp_path):
        forged = json.loads(proctor.run(root=project.root).to_json())
        forged["verdict"], forged["exit_code"] = "passed", 0
        (tmp_path / "report.json").write_text(json.dumps(forged))
        with pytest.raises(ReportError) as raised:
            proctor.load_report(tmp_path / "report.json")
        assert raised.value.__notes__

    def test_it_cannot_be_saved_where_nothing_can_be(self, project, tmp_path):
        with pytest.raises(UsageError) as raised:
            proctor.run(root=project.root).save(tmp_path / "missing" / "report.json")
        assert raised.value.code == "P6004"


class TestCompare:
    @pytest.fixture
    def two(self, project):
        before = proctor.run(root=project.root)
        project.exam({"one": "no", "two": "no", "three": "yes"})
        return before, proctor.run(root=project.root)

    def test_reports_and_files_come_to_the_same(self, two, tmp_path):
        before, now = two
        before.save(tmp_path / "before.json")
        found = proctor.compare(before, now)
        assert found.verdict == "regressed"
        assert proctor.compare(tmp_path / "before.json", now).to_json() == found.to_json()
        assert json.loads(found.to_json())["baseline"]["project"] == "tests"
        assert repr(found).startswith("<ComparisonReport regressed: 1 case passed in the baseline")

    def test_rows_are_the_units_that_changed(self, two):
        (row,) = proctor.compare(*two).to_rows()
        assert (row["case"], row["baseline_passed"], row["passed"]) == ("one", 1, 0)
        assert (row["suite"], row["subject"]) == ("quiz", "answer@local/tiny")

    @pytest.mark.parametrize(
        ("options", "code"),
        [({}, 0), ({"fail_on_regression": True}, 1), ({"fail_on_missing": True}, 0)],
    )
    def test_the_exit_code_is_what_was_asked_for(self, two, options, code):
        assert proctor.compare(*two, **options).exit_code == code

    @pytest.mark.parametrize("tolerance", [0.25, "no number"])
    def test_tolerance_is_a_share(self, two, tolerance):
        if isinstance(tolerance, str):
            with pytest.raises(EvalInputError, match="`tolerance` must be a number from 0 to 1"):
                proctor.compare(*two, tolerance=tolerance)
        else:
            # The rate fell by a third.
            assert proctor.compare(*two, tolerance=tolerance).subjects[0].fell
            assert not proctor.compare(*two, tolerance=0.34).subjects[0].fell

    def test_names_that_changed(self, project):
        before = proctor.run(root=project.root)
        prompt = (project.root / "prompts/answer.prompt.yaml").read_text()
        project.write("prompts/other.prompt.yaml", prompt)
        project.write("evals/quiz.eval.yaml", SUITE.replace("prompt: answer", "prompt: other"))
        now = proctor.run(root=project.root)
        for match in ({"answer": "other"}, "answer=other", ["answer=other"]):
            assert proctor.compare(before, now, match=match).verdict == "clean"
        with pytest.raises(UsageError) as raised:
            proctor.compare(before, now, match={"answer": "nonsense"})
        assert raised.value.message.startswith("`match='answer=nonsense'`: ")

    def test_options_that_contradict_each_other(self, two):
        with pytest.raises(UsageError, match="`strict=True` and `noise_aware=True` say two things"):
            proctor.compare(*two, strict=True, noise_aware=True)
        with pytest.raises(TypeError, match="compare"):
            proctor.compare(*two, tolerant=1)
