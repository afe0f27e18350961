"""Choosing items: only what is chosen is run, and judged by itself."""

from __future__ import annotations

import pytest

from plugin_support import SUBJECT, node, outcomes, run, two_prompts
from support import SUITE

pytest_plugins = ["pytester"]

THRESHOLDS = "evals/quiz.eval.yaml::thresholds"


class TestSelecting:
    @pytest.fixture
    def exam(self, project):
        project.exam({"one": "yes", "two": "no", "three": "yes"})
        cases = [project.case(name) for name in ("one", "two", "three")]
        cases[2]["tags"] = ["slow"]
        project.cases(*cases)
        return project

    def test_a_suite_is_run_once_whole(self, exam, pytester, runs):
        run(pytester)
        assert runs == [[("quiz", [SUBJECT], ["one", "two", "three"])]]

    @pytest.mark.parametrize(
        ("arguments", "cases"),
        [
            (["-k", "one"], ["one"]),
            (["-k", "slow"], ["three"]),
            (["-k", "not two and not thresholds"], ["one", "three"]),
            ([node("three"), node("one")], ["one", "three"]),
            ([THRESHOLDS], ["one", "two", "three"]),
            (["-k", "one or thresholds"], ["one", "two", "three"]),
        ],
    )
    def test_only_what_is_selected_is_run(self, exam, pytester, runs, arguments, cases):
        run(pytester, *arguments)
        assert runs == [[("quiz", [SUBJECT], cases)]]

    def test_other_cases_for_each_subject_are_run_subject_by_subject(self, project, pytester, runs):
        two_prompts(project)
        project.exam({"one": "yes", "two": "no"})
        result = run(pytester, node("one"), node("two", subject="other@local/tiny"))
        result.assert_outcomes(passed=1, failed=1)
        (parts,) = runs
        assert sorted(parts) == [
            ("quiz", ["answer@local/tiny"], ["one"]),
            ("quiz", ["other@local/tiny"], ["two"]),
        ]

    def test_a_selection_has_the_verdict_it_would_have_on_the_command_line(self, project, pytester):
        project.write("evals/quiz.eval.yaml", SUITE + "thresholds: {passRate: 0.5}\n")
        project.exam({"one": "yes", "two": "no"})
        run(pytester, "-k", "two").assert_outcomes(failed=1)

    def test_the_marker_tells_suites_from_other_tests(self, exam, pytester):
        pytester.makepyfile("def test_other(): pass")
        run(pytester, "-m", "not proctor", "--strict-markers").assert_outcomes(
            passed=1, deselected=4
        )
        run(pytester, "-m", "proctor").assert_outcomes(passed=2, failed=2, deselected=1)

    def test_the_last_failures_can_be_run_again(self, exam, pytester):
        pytester.runpytest_inprocess("-k", "not thresholds").assert_outcomes(
            passed=2, failed=1, deselected=1
        )
        exam.exam({"one": "yes", "two": "yes", "three": "yes"})
        result = pytester.runpytest_inprocess("--lf", "-rA")
        assert outcomes(result) == {node("two"): "passed"}
