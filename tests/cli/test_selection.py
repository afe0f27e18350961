"""What `proctor run` runs of a project."""

from __future__ import annotations

import json

import pytest

from live_support import rows_of

pytestmark = pytest.mark.slow
"""Each test starts a program, and there are many of them."""

RIGHT = "assertions:\n  - {id: right, kind: equals, field: label}\n"
CASES = {"late-1": ["late", "slow"], "late-2": ["late"], "lost": ["slow"], "odd": []}


@pytest.fixture
def project(project):
    """Two suites; `quiz` on two models, with one wrong and one missing answer."""
    project.write(
        "evals/quiz.eval.yaml",
        f"prompt: answer\nmodels: [local/tiny, local/other]\ndataset: cases.jsonl\n{RIGHT}",
    )
    project.write("evals/mail.eval.yaml", f"prompts: [answer, brief]\ndataset: mail.jsonl\n{RIGHT}")
    prompt = (project.root / "prompts/answer.prompt.yaml").read_text()
    project.write("prompts/brief.prompt.yaml", prompt + "  Be brief.\n")
    project.cases(*({**project.case(name), "tags": tags} for name, tags in CASES.items()))
    project.write("evals/mail.jsonl", json.dumps(project.case("late-9")) + "\n")
    project.cassette(
        *(
            project.recording(name, json.dumps({"label": label}), model=model)
            for model in ("local/other", "local/tiny")
            for name, label in {"late-1": "yes", "late-2": "no", "lost": "yes"}.items()
        )
    )
    return project


def run(project, *arguments):
    result = project.proctor("run", *arguments, "--format", "json")
    assert result.code in (0, 1, 3), result.err
    return result.report


def selected(project, *arguments):
    """The cases that were run, as suite and id, with what the report says was selected."""
    report = run(project, *arguments)
    for suite in report["suites"]:
        for subject in suite["subjects"]:
            assert subject["counts"]["cases"] == suite["dataset"]["selected"]
            assert len(subject["cases"]) == suite["dataset"]["selected"]
    return [
        f"{suite['suite']}/{case['id']}"
        for suite in report["suites"]
        for case in suite["subjects"][0]["cases"]
    ]


QUIZ = ["quiz/late-1", "quiz/late-2", "quiz/lost", "quiz/odd"]
MAIL = ["mail/late-9"]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ("", MAIL + QUIZ),
        ("quiz", QUIZ),
        ("--case late-1", QUIZ[:1]),
        ("--case late-*", MAIL + QUIZ[:2]),
        ("--case l?st --case odd", QUIZ[2:]),
        ("--tag late", QUIZ[:2]),
        ("--tag late --tag slow", QUIZ[:3]),
        ("--filter quiz", QUIZ),
        ("--filter mail,odd", MAIL + QUIZ[3:]),
        ("--filter late", MAIL + QUIZ[:2]),
        ("--exclude quiz", MAIL),
        ("--exclude mail,late-1", QUIZ[1:]),
        ("--first 2", MAIL + QUIZ[:2]),
        ("--model local/other", QUIZ),
        ("--prompt brief", MAIL),
        ("--tag slow --case l* --exclude late", QUIZ[2:3]),
        ("--filter late --first 1", MAIL + QUIZ[:1]),
        ("quiz --exclude late --first 1 --model local/other", QUIZ[2:3]),
    ],
)
def test_cases_are_selected(project, arguments, wanted):
    assert selected(project, *arguments.split()) == wanted


def test_a_report_counts_what_was_selected_and_what_there_was(project):
    (suite,) = run(project, "quiz", "--tag", "slow")["suites"]
    assert (suite["dataset"]["cases"], suite["dataset"]["selected"]) == (4, 2)
    assert [case["index"] for case in suite["subjects"][0]["cases"]] == [0, 2]


def test_subjects_are_selected_by_model_and_prompt(project):
    report = run(project, "--model", "local/tiny", "--prompt", "answer")
    subjects = [
        (suite["suite"], subject["prompt"], subject["model"])
        for suite in report["suites"]
        for subject in suite["subjects"]
    ]
    assert subjects == [("mail", "answer", "local/tiny"), ("quiz", "answer", "local/tiny")]


def test_repeats_of_the_command_line_count_instead_of_the_suites(project):
    report = run(project, "quiz", "--case", "late-1", "--repeats", "3")
    assert report["suites"][0]["repeats"] == 3
    assert [row["repeat"] for row in rows_of(report)] == [1, 2, 3] * 2


@pytest.mark.parametrize(
    "arguments",
    [
        "--filter zzz",
        "--exclude quiz,mail",
        "--tag late --case lost",
        "--filter zzz --cache record",
        "--filter zzz --exit-zero",
    ],
)
def test_nothing_selected_is_refused_with_how_much_there_was(project, arguments):
    result = project.proctor("run", *arguments.split(), "--out", "report.txt")
    assert (result.code, result.out) == (2, b"")
    assert "P6001: 0 of 5 cases are selected" in result.err
    assert not (project.root / "report.txt").exists()
    assert not (project.root / ".proctor").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--exclude late-*", "`--exclude` takes parts of names, and not globs"),
        ("--filter lat?", "`--filter` takes parts of names, and not globs"),
        ("--lane http://127.0.0.1:9001", "nothing that is selected has any"),
    ],
)
def test_what_would_select_or_do_nothing_without_a_word_is_refused(project, arguments, said):
    result = project.proctor("run", *arguments.split())
    assert (result.code, result.out) == (2, b"")
    assert "P6002: " in result.err
    assert said in result.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--case zzz", "`--case zzz` fits 0 of 5 cases"),
        ("--case late-1 --case lat-*", "`--case lat-*` fits 0 of 5 cases"),
        ("--tag late --tag lat", "`--tag lat` fits 0 of 5 cases"),
        ("--model local/tiny --model local/othr", "`--model local/othr` fits 0 of 4 subjects"),
        ("--prompt answer --prompt zzz", "`--prompt zzz` fits 0 of 4 subjects"),
        ("mail --case * --tag late", "`--tag late` fits 0 of 1 cases"),
        ("quiz --prompt answer --prompt brief", "`--prompt brief` fits 0 of 2 subjects"),
    ],
)
def test_what_fits_nothing_is_refused_also_beside_what_fits(project, arguments, said):
    result = project.proctor("run", *arguments.split())
    assert (result.code, result.out) == (2, b"")
    assert f"P6001: {said}" in result.err
    assert result.err.count("P6001: ") == 1


def test_everything_that_fits_nothing_is_named_with_what_was_meant(project):
    result = project.proctor("run", "--case", "zzz", "--tag", "yyy", "--model", "local/othr")
    assert result.err.count("P6001: ") == 3
    assert "did you mean `local/other`?" in result.err


@pytest.mark.parametrize("first", ["0", "-1", "many"])
def test_a_first_that_is_no_number_of_cases_is_refused(project, first):
    result = project.proctor("run", "--first", first)
    assert result.code == 2
    assert "P6002" in result.err


class TestFailedIn:
    def test_cases_that_did_not_pass_are_run_again(self, project):
        project.proctor("run", "--format", "json", "--out", "was.json")
        assert selected(project, "--failed-in", "was.json") == [*MAIL, *QUIZ[1:2], *QUIZ[3:]]
        assert selected(project, "--failed-in", "was.json", "--tag", "late") == QUIZ[1:2]

    def test_one_without_answers_will_do(self, project):
        project.proctor("run", "quiz", "--no-answers", "--format", "json", "--out", "was.json")
        assert selected(project, "--failed-in", "was.json") == [QUIZ[1], QUIZ[3]]

    def test_a_case_that_failed_on_one_model_is_run_on_all(self, project):
        project.proctor("run", "quiz", "--model", "local/tiny", "--format", "json", "--out", "was")
        report = run(project, "--failed-in", "was", "--tag", "late")
        assert [subject["model"] for subject in report["suites"][0]["subjects"]] == [
            "local/tiny",
            "local/other",
        ]

    def test_cases_and_suites_that_are_gone_since_are_passed_over(self, project):
        project.proctor("run", "--format", "json", "--out", "was.json")
        (project.root / "evals/mail.eval.yaml").unlink()
        project.cases(project.case("late-2"), project.case("new"))
        assert selected(project, "--failed-in", "was.json") == ["quiz/late-2"]
        project.cases(project.case("new"))
        result = project.proctor("run", "--failed-in", "was.json")
        assert result.code == 2
        assert "P6001: 0 of 1 cases" in result.err

    def test_a_report_in_which_all_passed_selects_nothing(self, project):
        arguments = ["quiz", "--case", "late-1", "--format", "json", "--out", "was.json"]
        assert project.proctor("run", *arguments).code == 0
        result = project.proctor("run", "--failed-in", "was.json")
        assert result.code == 2
        assert "P6001" in result.err

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (None, "cannot be read: no such file"),
            ("nonsense", "is not JSON"),
            ('{"schema": "proctor.report.v9"}', "which is newer than this Proctor"),
            ('{"schema": "proctor.report.v1", "suites": 1}', "is not a report"),
        ],
    )
    def test_what_is_no_report_is_refused_before_anything_is_run(self, project, content, said):
        if content is not None:
            project.write("was.json", content)
        result = project.proctor("run", "--failed-in", "was.json")
        assert (result.code, result.out) == (2, b"")
        assert "was.json: P6901: " in result.err
        assert said in result.err

    def test_a_link_is_refused(self, project):
        project.proctor("run", "--format", "json", "--out", "was.json")
        (project.root / "link.json").symlink_to("was.json")
        result = project.proctor("run", "--failed-in", "link.json")
        assert result.code == 2
        assert "P6805" in result.err

    def test_relative_paths_start_at_the_cwd_option(self, project, tmp_path_factory):
        project.proctor("run", "quiz", "--format", "json", "--out", "was.json")
        elsewhere = tmp_path_factory.mktemp("elsewhere")
        arguments = ["--cwd", str(project.root), "--failed-in", "was.json", "--first", "1"]
        assert project.proctor("run", *arguments, cwd=elsewhere).code == 1
