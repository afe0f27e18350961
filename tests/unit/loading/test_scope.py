import pytest

from proctor.errors import FileError, SuiteError
from proctor.loading.prompts import parse_prompt
from proctor.loading.scope import SuiteScope
from proctor.loading.yaml import parse_yaml


def scope(root, prompt=None):
    return SuiteScope(root, "evals", prompt=prompt, regex_timeout_s=0.5)


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
