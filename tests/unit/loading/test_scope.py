from pathlib import Path

import pytest

from proctor.errors import FileError, SuiteError
from proctor.judging.rubrics import parse_rubric
from proctor.loading.prompts import Prompts, parse_prompt
from proctor.loading.scope import SuiteScope
from proctor.loading.yaml import parse_yaml
from proctor.records import JudgeSetup, ModelChoice, Subject
from rubric_prompts import written

MODEL = ModelChoice(ref="local/tiny", params={})
JUDGE = JudgeSetup(model="local/judge", runs=1)


def scope(root, tested=None):
    subject = None if tested is None else Subject(prompt=tested, model=MODEL)
    prompts = Prompts(root, "prompts", "tests")
    return SuiteScope(
        root, "evals", subject=subject, prompts=prompts, judge=JUDGE, regex_timeout_s=0.5
    )


def prompt(text):
    return parse_prompt(parse_yaml(text.encode(), "p.prompt.yaml"), "p")[0].prompt


def test_assertions_are_offered_the_output_contract_of_the_prompt(tmp_path):
    loaded = prompt("output: {n: {type: integer, optional: true}}\nuser: Hi\n")
    assert scope(tmp_path, loaded).output_schema == {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": [],
        "additionalProperties": False,
    }


def test_free_text_has_no_output_contract(tmp_path):
    assert scope(tmp_path).output_schema is None
    assert scope(tmp_path, prompt("user: Hi\n")).output_schema is None


@pytest.mark.parametrize(
    ("name", "text"),
    [("answer.json", '{"type": "object"}'), ("answer.yaml", "type: object\n")],
)
def test_a_schema_is_read_by_a_path_relative_to_the_suite(tmp_path, name, text):
    (tmp_path / "evals").mkdir()
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / name).write_text(text, encoding="utf-8")
    assert scope(tmp_path).read_schema(f"../schemas/{name}") == {"type": "object"}


def test_a_schema_that_cannot_be_read_is_a_problem_of_the_suite(tmp_path):
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals/broken.json").write_text("{", encoding="utf-8")
    for path in ("broken.json", "gone.json"):
        with pytest.raises(SuiteError) as caught:
            scope(tmp_path).read_schema(path)
        assert caught.value.code == "P6201"


@pytest.mark.parametrize("path", ["/etc/passwd", "../../x.json", "file://x.json", "link.json"])
def test_a_schema_outside_the_project_is_refused(tmp_path, path):
    (tmp_path / "project/evals").mkdir(parents=True)
    (tmp_path / "outside.json").write_text("{}", encoding="utf-8")
    (tmp_path / "project/evals/link.json").symlink_to(tmp_path / "outside.json")
    with pytest.raises(FileError) as caught:
        scope(tmp_path / "project").read_schema(path)
    assert caught.value.code == "P6805"


def test_a_judge_is_offered_who_judges_and_whom():
    offered = scope(Path(), prompt("user: Hi\n"))
    assert (offered.judge, offered.model) == (JUDGE, MODEL)
    assert scope(Path()).model is None


@pytest.mark.parametrize("reference", ["tone", "tests/tone"])
def test_a_rubric_is_a_prompt_of_the_project_with_its_templates(tmp_path, reference):
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/tone.prompt.yaml").write_text(written(), encoding="utf-8")
    rubric, templates = scope(tmp_path).rubric(reference)
    assert (rubric.id, rubric.path) == ("tone", "prompts/tone.prompt.yaml")
    assert parse_rubric(rubric, templates)[1] == []


def test_a_rubric_that_is_not_there_is_told_without_a_place(tmp_path):
    with pytest.raises(SuiteError) as caught:
        scope(tmp_path).rubric("tone")
    assert (caught.value.code, caught.value.where) == ("P6203", "")
