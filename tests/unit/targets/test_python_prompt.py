import sys

import pytest

from proctor.errors import SuiteError
from proctor.loading.python_prompts import load_python_prompt
from proctor.protocols import PlannedRow
from proctor.records import Case, Message, ModelChoice, Subject
from proctor.targets.prompt import PromptTarget

MODEL = ModelChoice(ref="local/tiny", params={"maxTokens": 5})


def row(case):
    return PlannedRow(0, case, 1)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose module `made` is forgotten afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.delitem(sys.modules, "made", raising=False)
    yield tmp_path
    sys.modules.pop("made", None)


def target(root, body):
    (root / "made.py").write_text(f"def build(inputs):\n    {body}\n", encoding="utf-8")
    loaded = load_python_prompt(root, "python:made:build", "here")
    return PromptTarget(Subject(prompt=loaded.prompt, model=MODEL), loaded.templates)


def messages(root, body, inputs):
    asked = target(root, body)
    asked.prepare(root, allow_code=True)
    return asked.request(Case("a", inputs)).messages


def test_the_function_makes_the_messages_from_the_inputs(project):
    body = "return [{'role': 'system', 'content': 'S'}, {'role': 'user', 'content': inputs['q']}]"
    assert messages(project, body, {"q": "{{q}}"}) == (
        Message(role="system", content="S"),
        Message(role="user", content="{{q}}"),
    )


def test_a_text_is_one_user_message(project):
    assert messages(project, "return 'Hi ' + inputs['q']", {"q": "you"}) == (
        Message(role="user", content="Hi you"),
    )


def test_the_function_cannot_change_the_inputs_that_are_hashed(project):
    asked = target(project, "inputs['q'].append('more'); inputs.clear(); return 'Hi'")
    asked.prepare(project, allow_code=True)
    case = Case("a", {"q": ["x"]})
    before = asked.inputs_sha256(row(case))
    asked.request(case)
    assert asked.inputs_sha256(row(case)) == before


def test_nothing_is_imported_unless_code_is_allowed(project):
    asked = target(project, "return 'Hi'")
    assert not asked.is_prepared
    with pytest.raises(SuiteError) as caught:
        asked.prepare(project, allow_code=False)
    assert (caught.value.code, caught.value.hint) == ("P6220", "read it, then add `--allow-code`")
    with pytest.raises(SuiteError) as caught:
        asked.request(Case("a", {}))
    assert caught.value.code == "P6220"
    assert "made" not in sys.modules
    assert str(project) not in sys.path


def test_the_inputs_are_hashed_without_the_function(project):
    asked = target(project, "return 'Hi'")
    assert len(asked.inputs_sha256(row(Case("a", {"b": 1})))) == 64


def test_the_root_joins_the_path_last_and_once(project):
    for _ in range(2):
        target(project, "return 'Hi'").prepare(project, allow_code=True)
    assert sys.path[-1] == str(project)
    assert sys.path.count(str(project)) == 1


def test_an_installed_module_of_the_same_name_is_not_taken_for_the_projects(project):
    (project / "json.py").write_text("def dumps(inputs): return 'mine'\n", encoding="utf-8")
    loaded = load_python_prompt(project, "python:json:dumps", "here")
    asked = PromptTarget(Subject(prompt=loaded.prompt, model=MODEL), loaded.templates)
    with pytest.raises(SuiteError) as caught:
        asked.prepare(project, allow_code=True)
    assert caught.value.code == "P6203"
    assert "another module than `json.py`" in caught.value.message


def test_a_file_that_changed_since_it_was_hashed_is_noticed(project):
    asked = target(project, "return 'Hi'")
    (project / "made.py").write_text("def build(inputs): return 'Ho'\n", encoding="utf-8")
    with pytest.raises(SuiteError) as caught:
        asked.prepare(project, allow_code=True)
    assert caught.value.message == "`made.py` changed while it was being used"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def build(:", "importing `made` failed: SyntaxError"),
        ("import nowhere_to_be_found\nbuild = 1", "importing `made` failed: ModuleNotFoundError"),
        ("build = 1", "`made` has no function `build`"),
        ("# build", "`made` has no function `build`"),
        ("raise SystemExit  # build", "importing `made` failed: SystemExit"),
    ],
)
def test_a_module_that_cannot_be_used_says_why(project, code, words):
    (project / "made.py").write_text(code, encoding="utf-8")
    loaded = load_python_prompt(project, "python:made:build", "here")
    asked = PromptTarget(Subject(prompt=loaded.prompt, model=MODEL), loaded.templates)
    with pytest.raises(SuiteError) as caught:
        asked.prepare(project, allow_code=True)
    assert caught.value.code == "P6203"
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise ValueError(inputs['q'])", "failed: ValueError"),
        ("return None", "no messages but a value of type NoneType"),
        ("return []", "no messages but an empty list"),
        ("return [{'role': 'robot', 'content': 'Hi'}]", "no messages but a value of type list"),
        ("return [{'role': 'user'}]", "no messages but a value of type list"),
        ("return __import__('asyncio').sleep(0)", "no messages but a value of type coroutine"),
    ],
)
def test_a_function_that_fails_spoils_its_row_and_quotes_no_value(project, body, words):
    with pytest.raises(SuiteError) as caught:
        messages(project, body, {"q": "secret"})
    assert caught.value.code == "P6701"
    assert words in caught.value.message
    assert "secret" not in caught.value.message


def test_what_the_code_prints_is_no_part_of_the_output(project, capsys):
    target(project, "print('called'); return 'Hi'")
    with (project / "made.py").open("a", encoding="utf-8") as file:
        file.write("print('imported')\n")
    loaded = load_python_prompt(project, "python:made:build", "here")
    asked = PromptTarget(Subject(prompt=loaded.prompt, model=MODEL), loaded.templates)
    asked.prepare(project, allow_code=True)
    asked.request(Case("a", {}))
    assert capsys.readouterr() == ("", "imported\ncalled\n")


def test_other_prompts_are_always_prepared(project):
    (project / "prompts").mkdir()
    (project / "prompts/p.txt").write_text("Hi\n", encoding="utf-8")
    from proctor.loading.prompts import Prompts

    loaded = Prompts(project, "prompts", "acme").load("p")
    asked = PromptTarget(Subject(prompt=loaded.prompt, model=MODEL), loaded.templates)
    asked.prepare(project, allow_code=False)
    assert asked.is_prepared
