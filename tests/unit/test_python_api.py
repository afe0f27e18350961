"""Running suites from Python, in this process: what is returned, what is raised, what is asked."""

from __future__ import annotations

import sys

import pytest

import proctor
from proctor.errors import EvalInputError, ManyProblems, ProctorError, UsageError
from proctor.python_api import running
from proctor.python_api.options import RunKeywords, RunOptions, read_run
from proctor.python_api.wording import as_keyword
from support import EXAMPLES, SUITE, Project

REFUND = EXAMPLES / "support-refund"


@pytest.fixture
def project(tmp_path):
    project = Project(tmp_path)
    project.exam({"one": "yes", "two": "no", "three": "yes"})
    return project


def cases_of(report) -> list[str]:
    return [case.id for _, _, case in report.cases()]


class TestRun:
    def test_a_replay_has_the_bytes_of_the_command_line(self):
        report = proctor.run(root=REFUND, cassettes="cassettes-regressed")
        assert report.to_json() == (REFUND / "reports/regressed.json").read_bytes()

    def test_a_verdict_raises_nothing(self, project, capfd):
        report = proctor.run(root=project.root)
        assert (report.verdict, report.exit_code, report.passed) == ("failed", 1, False)
        assert capfd.readouterr() == ("", "")

    def test_the_root_is_the_nearest_one_upward(self, project, monkeypatch):
        folder = project.root / "evals/deeper"
        folder.mkdir()
        monkeypatch.chdir(folder)
        assert proctor.run().head.project == "tests"

    def test_a_root_that_is_given_is_not_looked_for_upward(self, project):
        with pytest.raises(UsageError) as raised:
            proctor.run(root=project.root / "evals")
        assert raised.value.code == "P6003"

    @pytest.mark.parametrize("suite", ["quiz", "evals/quiz.eval.yaml"])
    def test_suites_by_name_and_by_path(self, project, suite):
        project.write("evals/other.eval.yaml", SUITE)
        report = proctor.run(suite, root=project.root)
        assert [one.suite for one in report.suites] == ["quiz"]

    @pytest.mark.parametrize(
        ("options", "cases"),
        [
            ({}, ["one", "two", "three"]),
            ({"case": "t*"}, ["two", "three"]),
            ({"case": ["one", "three"]}, ["one", "three"]),
            ({"case": None, "first": None}, ["one", "two", "three"]),
            ({"filter": "o"}, ["one", "two"]),
            ({"exclude": ("one", "two")}, ["three"]),
            ({"first": 1}, ["one"]),
            ({"model": "local/tiny", "prompt": "answer"}, ["one", "two", "three"]),
            ({"tier": "full"}, ["one", "two", "three"]),
        ],
    )
    def test_a_selection(self, project, options, cases):
        assert cases_of(proctor.run(root=project.root, **options)) == cases

    def test_a_tag_selects(self, project):
        project.cases(project.case("one"), {**project.case("two"), "tags": ["hard"]})
        assert cases_of(proctor.run(root=project.root, tag="hard")) == ["two"]

    def test_what_failed_is_run_again_by_report_and_by_file(self, project, tmp_path):
        report = proctor.run(root=project.root)
        report.save(tmp_path / "now.json")
        for failed in (report, tmp_path / "now.json", "now.json"):
            assert cases_of(proctor.run(root=project.root, failed_in=failed)) == ["two"]

    def test_repeats_and_the_command_that_records_them(self, project):
        report = proctor.run(root=project.root, repeats=2)
        rows = report.to_rows()
        assert [row["repeat"] for row in rows] == [1, 2] * 3
        assert "`proctor run quiz --cache record --repeats 2`" in rows[1]["error_message"]

    def test_without_answers_nothing_of_them_is_kept(self, project):
        rows = proctor.run(root=project.root, answers=False).to_rows()
        assert [row["answer"] for row in rows] == [None] * 3
        assert [row["outcome"] for row in rows] == ["passed", "failed", "passed"]

    def test_code_of_the_project_runs_only_when_it_may(self, project):
        suite = SUITE + "  - {id: mine, kind: python, function: 'checks_of_test_api:good'}\n"
        project.write("evals/quiz.eval.yaml", suite)
        project.write("checks_of_test_api.py", "def good(answer, case): return False\n")
        with pytest.raises(ProctorError) as raised:
            proctor.run(root=project.root)
        assert (raised.value.code, raised.value.hint) == (
            "P6220",
            "read it, then add `allow_code=True`",
        )
        report = proctor.run(root=project.root, allow_code=True)
        assert report.to_rows()[0]["failed_checks"] == ["mine"]

    def test_a_replay_is_stored_when_asked_for(self, project):
        proctor.run(root=project.root)
        assert not (project.root / ".proctor").exists()
        report = proctor.run(root=project.root, store=True)
        (stored,) = project.root.glob(".proctor/runs/*/report.json")
        assert stored.read_bytes() == report.to_json()

    def test_too_many_cases(self, project):
        with pytest.raises(ProctorError) as raised:
            proctor.run(root=project.root, max_cases=2)
        assert raised.value.code == "P6102"

    def test_every_keyword_of_a_run_is_one_of_its_options(self):
        paths = {"root", "cassettes", "failed_in"}
        assert {*RunKeywords.__annotations__} == paths | {*RunOptions.__struct_fields__}

    def test_options_become_the_rules_of_a_live_run(self):
        given = {
            "cache": "off",
            "max_cost": 2,
            "allow_hosts": "gateway.example",
            "allow_local": True,
            "allow_local_ports": [8080],
            "allow_keys": ["MY_KEY=gateway.example"],
            "allow_code": True,
            "timeout": 5,
            "max_wait": 0,
        }
        rules = read_run((), given).options.rules()
        assert rules.cache == "off"
        assert (rules.max_cost_usd, rules.timeout_s, rules.max_wait_s) == (2, 5, 0)
        assert (rules.allow_hosts, rules.allow_keys) == (
            ("gateway.example",),
            ("MY_KEY=gateway.example",),
        )
        assert (rules.allow_local, rules.allow_local_ports, rules.allow_code) == (
            True,
            (8080,),
            True,
        )


class TestRefusals:
    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("cache", "sometimes"),
            ("cache", 1),
            ("case", 1),
            ("case", []),
            ("filter", ()),
            ("tag", [1]),
            ("first", 0),
            ("first", "3"),
            ("first", True),
            ("repeats", 0),
            ("repeats", 1_001),
            ("max_cases", 0),
            ("label", 1),
            ("max_cost", -1),
            ("max_cost", float("nan")),
            ("max_cost", float("inf")),
            ("allow_code", "yes"),
            ("allow_local", 1),
            ("allow_local_ports", [0]),
            ("concurrency", 1_025),
            ("timeout", 0),
            ("max_wait", -1),
            ("answers", "no"),
            ("store", 1),
            ("root", 3),
            ("cassettes", 3),
            ("failed_in", 3),
        ],
    )
    def test_a_value_that_cannot_be_used_names_its_argument(self, field, value):
        with pytest.raises(EvalInputError) as raised:
            proctor.run(**{"root": REFUND, field: value})
        assert (raised.value.code, raised.value.field) == ("P6005", field)
        assert f"`{field}`" in raised.value.message or f"`{field}[" in raised.value.message

    def test_an_argument_there_is_none_of_is_a_type_error_that_names_the_nearest(self):
        with pytest.raises(TypeError, match=r"'max_costs'; did you mean `max_cost`"):
            proctor.run(max_costs=1)

    def test_the_traceback_has_code_place_and_hint(self, project):
        with pytest.raises(UsageError) as raised:
            proctor.run("quizz", root=project.root)
        assert raised.value.__notes__ == [
            "P6001: 0 of 1 suites are called `quizz`",
            "    did you mean `quiz`?",
        ]

    def test_several_problems_are_one_exception_that_lists_them(self, project):
        project.write("evals/quiz.eval.yaml", SUITE + "one: 1\ntwo: 2\n")
        with pytest.raises(ManyProblems) as raised:
            proctor.run(root=project.root)
        places = [problem.where for problem in raised.value.problems()]
        assert places == ["evals/quiz.eval.yaml:5", "evals/quiz.eval.yaml:6"]
        notes = "\n".join(raised.value.__notes__)
        assert all(place in notes for place in places)

    def test_options_are_written_as_they_are_in_python(self, project):
        prompt = (project.root / "prompts/answer.prompt.yaml").read_text()
        project.write("prompts/answer.prompt.yaml", prompt.replace("local/tiny", "openai/gpt-x"))
        with pytest.raises(ProctorError) as raised:
            proctor.run(root=project.root, cache="record")
        problems = {one.code: one for one in raised.value.problems()}
        assert problems["P6504"].message.startswith("`cache='record'` asks models")
        assert problems["P6504"].hint == (
            "give the most it may cost, as in `max_cost=1.50`; `proctor run --dry-run` says how "
            "much that could be"
        )

    @pytest.mark.parametrize(
        ("name", "value", "written"),
        [
            ("max-cost", None, "max_cost"),
            ("allow-host", "gateway.example:8443", "allow_hosts='gateway.example:8443'"),
            ("allow-local", None, "allow_local=True"),
            ("allow-local", "8080", "allow_local_ports=[8080]"),
            ("match", "a=b", "match='a=b'"),
            ("cwd", None, "root"),
            ("out", "x.json", None),
        ],
    )
    def test_the_names_of_options_in_python(self, name, value, written):
        assert as_keyword(name, value) == written

    def test_a_key_in_a_message_is_not_shown(self, project, monkeypatch):
        from proctor.scrubbing import SECRETS

        SECRETS.add("hunter2-hunter2")
        monkeypatch.setattr(
            running, "load_exam", raising(UsageError("hunter2-hunter2", code="P6002", hint=None))
        )
        with pytest.raises(UsageError) as raised:
            proctor.run(root=project.root)
        assert "hunter2" not in f"{raised.value}{raised.value.__notes__}"


def raising(error):
    def function(*arguments, **options):
        raise error

    return function


def test_a_replay_imports_no_event_loop(project):
    import subprocess

    code = (
        f"import proctor, sys; proctor.run(root={str(project.root)!r}).to_rows(); "
        "print(*{'asyncio', 'click', 'httpx2', 'rich', 'pytest'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
