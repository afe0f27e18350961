import json

import pytest

from pairwise_support import PairwiseProject
from proctor.errors import ProctorError
from proctor.pairwise.pairing import Choice, Half, pair_reports
from proctor.records import RowError


@pytest.fixture
def project(tmp_path):
    return PairwiseProject(tmp_path)


def paired(project, *, a="a.json", b="b.json", subject_a=None, subject_b=None, suite="quiz"):
    return pair_reports(
        suite,
        Choice("a", project.root / a, subject_a),
        Choice("b", project.root / b, subject_b),
    )


def refused(project, code, **options):
    with pytest.raises(ProctorError) as caught:
        paired(project, **options)
    problems = list(caught.value.problems())
    assert {one.code for one in problems} == {code}
    assert all(one.hint for one in problems)
    return [one.message for one in problems]


def texts(reports):
    return {
        (case.id, row.scenario, row.repeat): (row.a.text, row.b.text)
        for case in reports.pairs
        for row in case.rows
    }


def edited(project, name, edit):
    """Change a report without contradicting it."""
    report = json.loads((project.root / name).read_bytes())
    edit(report)
    project.write(name, json.dumps(report))


def first_case(report):
    return report["suites"][0]["subjects"][0]["cases"][0]


class TestTwoReports:
    def test_answers_to_the_same_case_are_a_pair_in_the_order_of_b(self, project):
        project.answered("a.json", {"one": "a1", "two": "a2"})
        project.answered("b.json", {"two": "b2", "one": "b1"})
        reports = paired(project)
        assert list(texts(reports).items()) == [
            (("two", None, 1), ("a2", "b2")),
            (("one", None, 1), ("a1", "b1")),
        ]
        assert reports.pairs.rows == 2
        assert (reports.a.id, reports.b.id) == ("answer@local/tiny",) * 2
        assert len({reports.a.report_sha256, reports.b.report_sha256}) == 2

    def test_they_can_be_read_again_and_again(self, project):
        project.answered("a.json", {"one": "a1", "two": "a2"})
        project.answered("b.json", {"one": "b1", "two": "b2"})
        reports = paired(project)
        assert texts(reports) == texts(reports) != {}

    def test_a_pair_knows_what_its_case_asks_and_expects(self, project):
        project.answered("a.json", {"one": "a1"})
        project.answered("b.json", {"one": "b1"})
        (case,) = paired(project).pairs
        pair = case.pair(case.rows[0])
        assert (pair.inputs, pair.expected) == ({"question": "one"}, {"label": "yes"})

    def test_cases_of_one_report_only_are_in_no_pair(self, project):
        project.answered("a.json", {"one": "a1", "two": "a2", "old": "a3"})
        project.answered("b.json", {"new": "b0", "one": "b1", "two": "b2"})
        reports = paired(project)
        assert [case.id for case in reports.pairs] == ["one", "two"]
        assert (reports.unpaired.only_a, reports.unpaired.only_b) == (["old"], ["new"])
        assert (reports.unpaired.changed, reports.unpaired.rows) == ([], 0)

    @pytest.mark.parametrize(
        "change", [{"inputs": {"question": "other"}}, {"expected": {"label": "no"}}]
    )
    def test_a_case_that_asks_or_expects_something_else_is_in_no_pair(self, project, change):
        project.answered("a.json", {"one": "a1", "two": "a2"})
        cases = [project.case("one"), project.case("two") | change]
        project.cases(*cases)
        question = cases[1]["inputs"]["question"]
        two = project.recording(question, "b2", case="two")
        project.reported("b.json", project.recording("one", "b1"), two)
        reports = paired(project)
        assert [case.id for case in reports.pairs] == ["one"]
        assert reports.unpaired.changed == ["two"]

    def test_a_whole_number_spelled_as_a_fraction_is_no_change(self, project):
        for name, number in (("a.json", "1"), ("b.json", "1.0")):
            project.answered(name, {"one": name, "two": name})
            text = (project.root / name).read_text().replace('"question":"two"', f'"n":{number}')
            project.write(name, text)
        assert paired(project).unpaired.changed == []

    def test_repeats_are_paired_one_by_one(self, project):
        project.cases(project.case("one"))
        takes = [project.recording("one", f"a{take}", take=take) for take in (1, 2, 3)]
        project.reported("a.json", *takes, repeats=3)
        takes = [project.recording("one", f"b{take}", take=take) for take in (1, 2)]
        project.reported("b.json", *takes, repeats=2)
        reports = paired(project)
        assert texts(reports) == {
            ("one", None, 1): ("a1", "b1"),
            ("one", None, 2): ("a2", "b2"),
        }
        assert reports.unpaired.rows == 1

    def test_an_answer_that_is_not_there_says_why(self, project):
        project.answered("a.json", {"one": "a1", "two": None})
        project.answered("b.json", {"one": "b1", "two": "b2"})
        one, two = [case.rows[0] for case in paired(project).pairs]
        assert (one.unasked, two.unasked) == (None, "no_answer: a")
        assert isinstance(two.a.error, RowError)
        assert two.a.error.code == "P6402"
        assert two.b == Half("b2", None)

    def test_equal_answers_need_no_judge(self, project):
        project.answered("a.json", {"one": "same", "two": "a2"})
        project.answered("b.json", {"one": "same", "two": "b2"})
        unasked = [case.rows[0].unasked for case in paired(project).pairs]
        assert unasked == ["identical", None]

    def test_a_lone_surrogate_stays_what_it_is(self, project):
        project.answered("a.json", {"one": "a \ud800"})
        project.answered("b.json", {"one": "b"})
        assert texts(paired(project)) == {("one", None, 1): ("a \ud800", "b")}


class TestTwoSubjectsOfOneReport:
    @pytest.fixture
    def report(self, project):
        prompt = (project.root / "prompts/answer.prompt.yaml").read_text()
        project.write("prompts/brief.prompt.yaml", prompt.replace("{{input", "Brief: {{input"))
        project.suite(prompts=["answer", "brief"], models=["local/x", "local/y"], prompt=None)
        text = (project.root / "evals/quiz.eval.yaml").read_text().replace("prompt: null\n", "")
        project.write("evals/quiz.eval.yaml", text)
        project.cases(project.case("one"))
        project.reported("run.json")
        return project

    def both(self, report, a, b):
        return paired(report, a="run.json", b="run.json", subject_a=a, subject_b=b)

    @pytest.mark.parametrize("a", ["answer@local/x", "brief@local/y"])
    def test_each_is_named_whole(self, report, a):
        reports = self.both(report, a, "answer@local/y")
        assert (reports.a.id, reports.b.id) == (a, "answer@local/y")
        assert reports.a.report_sha256 == reports.b.report_sha256

    def test_a_name_that_several_have_is_refused(self, report):
        found = refused(
            report, "P6002", a="run.json", b="run.json", subject_a="answer", subject_b="local/y"
        )
        assert found == [
            "the report `run.json` has 2 subjects of `quiz` that `answer` fits",
            "the report `run.json` has 2 subjects of `quiz` that `local/y` fits",
        ]

    def test_without_a_name_there_must_be_one(self, report):
        found = refused(report, "P6002", a="run.json", b="run.json")
        assert found == ["the report `run.json` has 4 subjects of `quiz`"] * 2

    def test_a_name_that_nobody_has_is_refused(self, report):
        found = refused(
            report,
            "P6002",
            a="run.json",
            b="run.json",
            subject_a="answr@local/x",
            subject_b="answer@local/y",
        )
        assert found == ["the report `run.json` has no subject `answr@local/x`"]

    def test_nobody_is_compared_with_itself(self, report):
        name = "answer@local/x"
        found = refused(report, "P6002", a="run.json", b="run.json", subject_a=name, subject_b=name)
        assert found == ["A and B are the same subject of the same report"]


class TestWhatCannotBeCompared:
    def test_a_report_without_the_suite(self, project):
        project.answered("a.json", {"one": "a1"})
        project.answered("b.json", {"one": "b1"})
        found = refused(project, "P6002", suite="quizz")
        assert found == [
            f"the report `{name}` has no suite `quizz`" for name in ("a.json", "b.json")
        ]

    def test_reports_without_a_case_in_common(self, project):
        project.answered("a.json", {"one": "a1"})
        project.answered("b.json", {"two": "b1"})
        assert refused(project, "P6001") == ["0 answers of `quiz` are in both reports"]

    def test_a_report_without_answers(self, project):
        project.answered("a.json", {"one": "a1"})
        project.answered("b.json", {"one": "b1"})

        def forget(report):
            case = first_case(report)
            case["inputs"] = case["expected"] = case["rows"][0]["answer"] = None

        edited(project, "b.json", forget)
        assert refused(project, "P6901") == ["the report `b.json` holds no answers"]

    @pytest.mark.parametrize("name", ["a.json", "b.json"])
    def test_a_report_that_contradicts_itself(self, project, name):
        project.answered("a.json", {"one": "a1"})
        project.answered("b.json", {"one": "b1"})
        edited(project, name, lambda report: first_case(report).update(outcome="passed"))
        assert len(refused(project, "P6901")) == 1

    @pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff", None])
    def test_what_is_no_report(self, project, content):
        project.answered("a.json", {"one": "a1"})
        if content is not None:
            project.write("b.json", content)
        refused(project, "P6901")
