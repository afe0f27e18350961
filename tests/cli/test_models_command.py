"""`proctor models`: who would be asked, with which key, at what price."""

from __future__ import annotations

import json
import re

import pytest

KEY = "sk-dummy-000111222333444"
NO_KEYS = {"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}
CONFIG = """\
project = "tests"
[providers.local]
kind = "openai"
base_url = "http://127.0.0.1:8080/v1"
key_env = "LOCAL_KEY"
[providers.canned]
kind = "scripted"
answers = "script.jsonl"
[providers.acme]
kind = "openai"
base_url = "https://llm.acme.example:8443/v1"
[prices."local/tiny"]
input = 0
output = 0.5
"""
PROMPT = "model: {{ref: {}, maxTokens: 16}}\nuser: Hi\n"
MODELS = ["acme/large", "anthropic/claude-haiku-4-5", "canned/any", "local/tiny", "nobody/m"]


@pytest.fixture
def asked(project):
    """A project whose suite and prompts ask a model of each sort."""
    project.write("proctor.toml", CONFIG)
    project.cases(project.case("a"))
    for number, ref in enumerate([*MODELS, "openai/o3"]):
        project.write(f"prompts/other-{number}.prompt.yaml", PROMPT.format(ref))
    suite = (project.root / "evals/quiz.eval.yaml").read_text()
    project.write("evals/quiz.eval.yaml", f"models: [local/tiny, openai/gpt-4o-mini]\n{suite}")
    return project


def models(project, **env):
    result = project.proctor("models", "--format", "json", env=NO_KEYS | env)
    assert result.code == 0, result.err
    return {one.pop("model"): one for one in result.report["models"]}


def rows(result):
    return [re.split(r" {2,}", line) for line in result.text.splitlines()]


def test_the_models_of_all_suites_and_prompts_are_listed_once_in_order(asked):
    assert list(models(asked)) == sorted([*MODELS, "openai/gpt-4o-mini", "openai/o3"])


def test_each_model_is_described(asked):
    found = models(asked, LOCAL_KEY=KEY)
    openai = {"name": "openai", "is_installed": True}
    assert found["local/tiny"] == {
        "kind": "openai",
        "host": "127.0.0.1:8080",
        "key": {"variable": "LOCAL_KEY", "is_set": True},
        "price": {"input": 0, "output": 0.5, "source": "project"},
        "sdk": openai,
    }
    assert found["anthropic/claude-haiku-4-5"] == {
        "kind": "anthropic",
        "host": "api.anthropic.com",
        "key": {"variable": "ANTHROPIC_API_KEY", "is_set": False},
        "price": {"input": 1, "output": 5, "source": "genai-prices"},
        "sdk": {"name": "anthropic", "is_installed": True},
    }
    assert found["acme/large"] == {
        "kind": "openai",
        "host": "llm.acme.example:8443",
        "key": None,
        "price": None,
        "sdk": openai,
    }
    assert found["canned/any"] == {
        "kind": "scripted",
        "host": None,
        "key": None,
        "price": {"input": 0, "output": 0, "source": "scripted"},
        "sdk": None,
    }
    assert found["nobody/m"] == dict.fromkeys(("kind", "host", "key", "price", "sdk"))


def test_the_same_as_a_table(asked):
    result = asked.proctor("models", env=NO_KEYS)
    assert result.code == 0
    assert result.err == ""
    head, *listed = rows(result)
    assert head == ["model", "kind", "host", "key", "USD/M in", "USD/M out", "price", "SDK"]
    by_model = {row[0]: row[1:] for row in listed}
    assert by_model["local/tiny"] == [
        "openai",
        "127.0.0.1:8080",
        "LOCAL_KEY (not set)",
        "0",
        "0.5",
        "project",
        "openai",
    ]
    assert by_model["nobody/m"] == ["-"] * 7
    assert by_model["canned/any"] == ["scripted", "-", "-", "0", "0", "scripted", "-"]


@pytest.mark.parametrize("shape", ["text", "json"])
def test_of_a_key_only_is_said_whether_it_is_set(asked, shape):
    env = NO_KEYS | {"OPENAI_API_KEY": KEY}
    result = asked.proctor("models", "--format", shape, env=env)
    assert b"OPENAI_API_KEY" in result.out
    assert KEY not in result.text + result.err


def test_a_key_that_stands_where_its_variable_should_is_not_printed(asked):
    asked.write("proctor.toml", CONFIG.replace("LOCAL_KEY", KEY))
    result = asked.proctor("models")
    assert result.code == 0
    assert KEY not in result.text + result.err
    assert models(asked)["local/tiny"]["key"] is None


def test_the_key_of_a_provider_never_stands_for_another_host(asked):
    asked.write(
        "proctor.toml",
        'project = "tests"\n[providers.openai]\nkind = "openai"\n'
        'base_url = "https://llm.acme.example"\n',
    )
    assert models(asked)["openai/o3"]["key"] is None


def test_an_address_that_a_run_refuses_is_not_shown(asked):
    asked.write("proctor.toml", CONFIG.replace("https://llm.", f"https://{KEY}@llm."))
    result = asked.proctor("models", env=NO_KEYS)
    assert result.code == 0
    assert KEY not in result.text + result.err
    assert models(asked)["acme/large"]["host"] is None


def test_a_price_that_is_too_low_is_reported_and_not_shown(asked):
    price = '[prices."anthropic/claude-haiku-4-5"]\ninput = 0.1\noutput = 5\n'
    asked.write("proctor.toml", CONFIG + price)
    assert models(asked)["anthropic/claude-haiku-4-5"]["price"] is None
    result = asked.proctor("models", env=NO_KEYS)
    assert result.code == 0
    assert "P6505" in result.err


def test_it_works_with_no_extra_installed(asked):
    for package in ("anthropic", "openai", "httpx2", "genai_prices", "rich"):
        asked.write(f"missing/{package}.py", "raise ModuleNotFoundError(__name__)\n")
    env = {"PYTHONPATH": str(asked.root / "missing")}
    found = models(asked, **env)
    assert found["anthropic/claude-haiku-4-5"]["price"] is None
    assert found["local/tiny"]["price"] == {"input": 0, "output": 0.5, "source": "project"}


def test_what_is_not_installed_is_named_with_what_to_do(asked, monkeypatch, capfdbinary):
    from proctor.cli import models as module

    monkeypatch.setattr(module, "find_spec", lambda name: None)
    arguments = ["--cwd", str(asked.root), "--format", "json"]
    module.command.main(arguments, standalone_mode=False)
    printed = capfdbinary.readouterr()
    listed = {one["model"]: one["sdk"] for one in json.loads(printed.out)["models"]}
    assert listed["openai/o3"] == {"name": "openai", "is_installed": False}
    assert b"not installed: anthropic, openai; `pip install 'proctor[live]'`" in printed.err


def test_no_sdk_is_imported(asked):
    result = asked.proctor("models", env={"PYTHONPROFILEIMPORTTIME": "1"})
    for package in ("anthropic", "openai"):
        assert not re.search(rf"\| +{package}$", result.err, re.MULTILINE)


def test_no_dataset_is_needed(asked):
    (asked.root / "evals/cases.jsonl").unlink()
    assert "local/tiny" in models(asked)


def test_the_problems_of_all_files_are_listed(asked):
    asked.write("prompts/broken.prompt.yaml", "nonsense: 1\n")
    asked.write("evals/broken.eval.yaml", "nonsense: 1\n")
    result = asked.proctor("models")
    assert result.code == 2
    assert "prompts/broken.prompt.yaml" in result.err
    assert "evals/broken.eval.yaml" in result.err


def test_nothing_a_terminal_acts_upon_is_printed(asked):
    asked.write("prompts/odd.prompt.yaml", PROMPT.format('"local/::error::x"'))
    result = asked.proctor("models")
    assert result.code == 0
    assert not any(line.startswith("::") for line in result.text.splitlines())
