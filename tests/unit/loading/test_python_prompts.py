import sys

import pytest

from proctor.canonical import digest, sha256_hex
from proctor.errors import FileError, SuiteError
from proctor.loading.prompts import Prompts
from proctor.loading.python_prompts import load_python_prompt
from proctor.loading.rules import SuiteRules
from proctor.records import Case

CODE = b"raise RuntimeError('imported')\ndef build(inputs):\n    return []\n"
WHERE = "evals/x.eval.yaml:1"


def write(root, path, content=CODE):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def refused(root, reference, error=SuiteError):
    with pytest.raises(error) as caught:
        load_python_prompt(root, reference, WHERE)
    assert caught.value.where == WHERE
    return caught.value


@pytest.mark.parametrize("path", ["made/refund.py", "made/refund/__init__.py"])
def test_the_module_is_hashed_and_never_imported(tmp_path, path):
    write(tmp_path, path)
    loaded = load_python_prompt(tmp_path, "python:made.refund:build", WHERE)
    prompt = loaded.prompt
    assert prompt.id == "python:made.refund:build"
    assert (prompt.path, prompt.function) == (path, "made.refund:build")
    assert prompt.bundle_sha256 == digest(
        {"python": "made.refund:build", "sha256": sha256_hex(CODE)}
    )
    assert (prompt.model, prompt.messages, loaded.templates, loaded.warnings) == (None, (), [], [])
    assert "made" not in sys.modules
    assert str(tmp_path) not in sys.path


def test_a_package_goes_before_a_module_of_the_same_name_as_in_python(tmp_path):
    write(tmp_path, "made/__init__.py")
    write(tmp_path, "made.py", b"def build(): ...")
    assert load_python_prompt(tmp_path, "python:made:build", WHERE).prompt.path == (
        "made/__init__.py"
    )


def test_editing_the_module_is_another_prompt(tmp_path):
    write(tmp_path, "made.py")
    before = load_python_prompt(tmp_path, "python:made:build", WHERE).prompt
    write(tmp_path, "made.py", CODE + b"# edited\n")
    after = load_python_prompt(tmp_path, "python:made:build", WHERE).prompt
    assert before.bundle_sha256 != after.bundle_sha256


@pytest.mark.parametrize(
    "reference",
    [
        "python:",
        "python:made",
        "python:made:",
        "python::build",
        "python:made.py",
        "python:../made:build",
        "python:made/x:build",
        "python:made:build()",
        "python:made..x:build",
        "python:.made:build",
        "python:made:build\n",
        "python:mädé:build",
    ],
)
def test_a_reference_written_otherwise_is_no_prompt(tmp_path, reference):
    write(tmp_path, "made.py")
    problem = refused(tmp_path, reference)
    assert problem.code == "P6203"
    assert problem.hint == "write `python:package.module:function`"


def test_a_module_that_is_not_in_the_project_is_unknown_even_when_it_is_installed(tmp_path):
    for module in ("json", "made.refund", "made"):
        problem = refused(tmp_path, f"python:{module}:dumps")
        assert problem.code == "P6203"
        assert problem.message == f"there is no module `{module}` in the project"


def test_a_file_where_a_package_should_be_is_no_module(tmp_path):
    write(tmp_path, "made.py")
    (tmp_path / "made").write_bytes(b"")
    assert load_python_prompt(tmp_path, "python:made:build", WHERE).prompt.path == "made.py"


def test_a_function_the_module_never_mentions_is_unknown(tmp_path):
    write(tmp_path, "made.py")
    problem = refused(tmp_path, "python:made:buil")
    assert (problem.code, problem.message) == ("P6203", "`made.py` has no `buil`")


def test_a_module_reached_through_a_link_is_refused(tmp_path):
    write(tmp_path, "outside/made.py")
    (tmp_path / "project").mkdir()
    (tmp_path / "project/made.py").symlink_to(tmp_path / "outside/made.py")
    (tmp_path / "project/pack").symlink_to(tmp_path / "outside")
    for module in ("made", "pack.made"):
        assert refused(tmp_path / "project", f"python:{module}:build", FileError).code == "P6805"


def test_a_suite_may_refer_to_a_function(tmp_path):
    write(tmp_path, "made.py")
    prompts = Prompts(tmp_path, "prompts", "acme")
    loaded = prompts.get("python:made:build", WHERE)
    assert prompts.get("python:made:build", WHERE) is loaded
    assert prompts.get("python:gone:build", WHERE) is None
    assert [problem.code for problem in prompts.problems] == ["P6203"]
    assert prompts.ids() == []


def test_a_function_takes_any_inputs(tmp_path):
    write(tmp_path, "made.py")
    loaded = load_python_prompt(tmp_path, "python:made:build", WHERE)
    assert list(SuiteRules([loaded], None).faults(Case("a", {"x": 1, "y": []}))) == []
