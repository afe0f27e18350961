"""Labels in runs, in this process: which answers they are of, and what is made of them."""

import json

import pytest

from judged_support import FAIL, JUNK, PASS, RIGHT, TONE, Asked
from labelled_support import NAMES, LabelledProject, label
from live_support import replay, rows_of, run_live
from proctor.errors import ProctorError

COUNTS = ("both_pass", "only_judge_passes", "only_people_pass", "both_fail")
UNUSED = ("stale", "disputed", "unmeasured", "not_judged")


@pytest.fixture
def project(tmp_path):
    return LabelledProject(tmp_path)


def agreement_of(report):
    return report["suites"][0]["judge"]["agreement"]


def counts_of(report):
    figures = agreement_of(report)
    return tuple(figures[name] for name in COUNTS)


def unused_of(report):
    figures = agreement_of(report)
    return tuple(figures[name] for name in UNUSED)


def thresholds_of(report):
    """What became of each threshold on agreement."""
    return {
        one["name"]: (one["actual"], one["met"])
        for one in report["suites"][0]["thresholds"]
        if one["name"].startswith("judgeAgreement")
    }


def by_case(**verdicts):
    """A script whose judges say of each case what is said here."""
    return Asked(lambda request, call: verdicts[call.case])


class TestWhichAnswersLabelsAreOf:
    def test_the_verdicts_of_a_run_are_compared_with_the_labels(self, project):
        project.labels(label("one", "pass"), label("two", "pass"), label("three", "fail"))
        report = run_live(project, by_case(one=PASS, two=FAIL, three=FAIL))
        assert counts_of(report) == (1, 0, 1, 1)
        assert agreement_of(report)["agreement"]["rate"] == pytest.approx(2 / 3)
        assert agreement_of(json.loads(replay(project))) == agreement_of(report)

    def test_the_text_of_the_field_that_is_judged_is_what_a_label_is_of(self, project):
        project.labelled(RIGHT, TONE | {"field": "label"})
        project.labels(label("one", "pass", text="yes"), label("two", "pass"))
        report = run_live(project, Asked(PASS))
        assert (counts_of(report), unused_of(report)) == ((1, 0, 0, 0), (1, 0, 0, 0))

    def test_a_value_that_is_no_text_is_labelled_as_it_is_shown(self, project):
        project.labelled(RIGHT, TONE | {"field": "parts"})
        project.labels(label("one", "fail", text='{"a":1,"b":[2]}'))
        report = run_live(project, Asked(PASS, '{"label": "yes", "parts": {"b": [2], "a": 1.0}}'))
        assert counts_of(report) == (0, 1, 0, 0)

    def test_an_answer_that_changed_makes_its_labels_stale(self, project):
        project.labels(label("one", "pass", text="No."), label("two", "pass"))
        report = run_live(project, Asked(PASS))
        assert (counts_of(report), unused_of(report)) == ((1, 0, 0, 0), (1, 0, 0, 0))

    def test_the_verdict_of_the_judges_counts_and_not_what_negate_makes_of_it(self, project):
        project.labelled(RIGHT, TONE | {"negate": True})
        project.labels(label("one", "pass"), label("two", "fail"))
        report = run_live(project, by_case(one=PASS, two=FAIL, three=PASS))
        assert counts_of(report) == (1, 0, 0, 1)
        assert [row["outcome"] for row in rows_of(report)] == ["failed", "passed", "failed"]

    def test_two_people_who_differ_are_left_out(self, project):
        project.labels(
            label("one", "pass", by="ada"), label("one", "fail", by="bob"), label("two", "pass")
        )
        report = run_live(project, Asked(PASS))
        assert (counts_of(report), unused_of(report)) == ((1, 0, 0, 0), (0, 1, 0, 0))

    def test_an_answer_without_a_verdict_is_left_out(self, project):
        project.labels(label("one", "pass"), label("two", "pass"))
        report = run_live(project, by_case(one=PASS, two=JUNK, three=PASS))
        assert (counts_of(report), unused_of(report)) == ((1, 0, 0, 0), (0, 0, 1, 0))

    def test_what_was_not_judged_says_nothing(self, project):
        project.labelled(RIGHT, TONE, judge={"model": "local/judge", "skipAfterFailure": True})
        project.labels(*(label(name, "pass", text='{"label": "no"}') for name in NAMES))
        project.cases(project.case("one", "no"), project.case("two"), project.case("three"))
        report = run_live(project, Asked(PASS, '{"label": "no"}'))
        assert (counts_of(report), unused_of(report)) == ((1, 0, 0, 0), (0, 0, 0, 2))

    def test_an_answer_that_lacks_what_is_judged_is_not_judged(self, project):
        project.labelled(RIGHT, TONE | {"field": "reply"})
        project.labels(label("one", "fail"))
        assert unused_of(run_live(project, Asked(PASS))) == (0, 0, 0, 1)

    def test_a_label_is_of_one_subject_and_repeat(self, project):
        project.labelled(models=["local/a", "local/b"], repeats=2)
        project.labels(
            label("one", "pass", subject="answer@local/a", repeat=2),
            label("one", "fail", subject="answer@local/b"),
        )
        report = run_live(project, Asked(PASS))
        assert (counts_of(report), unused_of(report)) == ((1, 1, 0, 0), (0, 0, 0, 0))

    def test_without_a_file_there_is_no_agreement(self, project):
        project.labelled(labels=None)
        assert agreement_of(run_live(project, Asked(PASS))) is None

    def test_an_empty_file_is_one_without_labels(self, project):
        report = run_live(project, Asked(PASS))
        assert (counts_of(report), unused_of(report)) == ((0, 0, 0, 0), (0, 0, 0, 0))
        assert (agreement_of(report)["kappa"], agreement_of(report)["enough"]) == (None, False)


def problems_of(project):
    with pytest.raises(ProctorError) as raised:
        run_live(project, Asked(PASS))
    return sorted(
        f"{one.where.removeprefix('evals/')}: {one.code}" for one in raised.value.problems()
    )


class TestLoading:
    def test_problems_of_labels_are_told_with_those_of_the_dataset(self, project):
        project.labels(label("one", "pass"), "no label", label("two", "maybe"))
        project.cases(project.case("one"), project.case("one"))
        assert problems_of(project) == [
            "cases.jsonl:2: P6103",
            "labels/quiz.jsonl:2: P6218",
            "labels/quiz.jsonl:3: P6218",
        ]

    def test_labels_are_not_called_wrong_while_their_assertion_is(self, project):
        project.labels(label("one", "pass"))
        project.labelled(RIGHT, TONE | {"rubrik": "x"})
        assert {problem.partition(": ")[2] for problem in problems_of(project)} == {"P6201"}

    def test_a_file_that_is_not_there_is_told(self, project):
        project.labelled(labels="labels/gone.jsonl")
        (problem,) = problems_of(project)
        assert problem.endswith("P6218")

    def test_a_threshold_without_labels_is_refused(self, project):
        project.labelled(thresholds={"judgeAgreement": {"min": 0.5}}, labels=None)
        assert {problem.partition(": ")[2] for problem in problems_of(project)} == {"P6201"}


ALL = {"min": 0.5, "minTpr": 0.5, "minTnr": 0.5}


class TestThresholds:
    def run(self, project, table, limits):
        project.labelled(thresholds={"judgeAgreement": limits})
        return run_live(project, by_case(**project.table(*table)))

    def test_the_lower_ends_of_the_intervals_are_compared(self, project):
        # 27/30, 19/20 and 8/10: the lower ends of their 95% intervals after Wilson.
        low = {"min": 0.74379, "minTpr": 0.76387, "minTnr": 0.49016}
        report = self.run(project, (19, 2, 1, 8), {"min": 0.74, "minTpr": 0.77, "minTnr": 0.4})
        found = thresholds_of(report)
        assert {name: actual for name, (actual, _) in found.items()} == pytest.approx(
            {f"judgeAgreement.{name}": value for name, value in low.items()}, abs=5e-6
        )
        assert [met for _, met in found.values()] == [True, False, True]
        assert (report["verdict"], report["exit_code"]) == ("failed", 1)

    def test_only_those_that_are_asked_for_are_in_the_report(self, project):
        report = self.run(project, (20, 0, 0, 10), {"minTnr": 0.7})
        assert thresholds_of(report) == {
            "judgeAgreement.minTnr": (pytest.approx(0.7225, abs=5e-5), True)
        }
        assert report["exit_code"] == 0

    @pytest.mark.parametrize("table", [(19, 0, 0, 10), (21, 0, 0, 9), (9, 0, 0, 21)])
    def test_with_too_few_labels_nothing_is_available(self, project, table):
        report = self.run(project, table, ALL)
        assert set(thresholds_of(report).values()) == {(None, None)}
        assert len(thresholds_of(report)) == 3
        assert (report["verdict"], report["exit_code"]) == ("unmeasured", 3)
