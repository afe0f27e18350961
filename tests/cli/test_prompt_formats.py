"""Prompts that are texts, files of GitHub Models or functions, linted and replayed like others."""

from __future__ import annotations

import json

import pytest

from proctor.canonical import digest, sha256_hex

SUITE = """\
prompt: {prompt}
dataset: cases.jsonl
{models}assertions:
  - {{id: right, kind: equals}}
"""
MODELS = "models: [{ref: local/tiny, params: {maxTokens: 16}}]\n"
PARAMS = {"maxTokens": 16}


def bundle(content: str, *names: str, output: dict | None = None) -> str:
    return digest(
        {
            "messages": [{"role": "user", "content": content}],
            "tools": [],
            "inputs": {name: {"type": "string"} for name in names},
            "output": output,
        }
    )


def replayed(project, prompt: str, prompt_sha256: str, *, models: str = MODELS, params=PARAMS):
    """One case, answered right; returns the result of the run."""
    project.write("evals/quiz.eval.yaml", SUITE.format(prompt=prompt, models=models))
    project.cases({"id": "one", "inputs": {"question": "{{x}}"}, "expected": "yes"})
    parts = {"prompt": prompt_sha256, "inputs": digest({"question": "{{x}}"}), "params": params}
    project.cassette(project.recording("one", "yes", parts=parts))
    return project.proctor("run", "--format", "json")


@pytest.mark.parametrize("path", ["ask.txt", "ask.md", "ask.prompt.txt", "ask.prompt.md"])
def test_a_text_is_replayed(project, path):
    project.write(f"prompts/{path}", "Answer yes or no.\n\n{{question}}\n")
    result = replayed(project, "ask", bundle("Answer yes or no.\n\n{{question}}", "question"))
    assert result.code == 0, result.text
    assert result.report["suites"][0]["subjects"][0]["prompt"] == "ask"


def test_a_text_without_models_in_the_suite_has_nobody_to_ask(project):
    project.write("prompts/ask.txt", "{{question}}\n")
    result = replayed(project, "ask", bundle("{{question}}", "question"), models="")
    assert result.code == 2
    assert "P6201: the prompt `ask` has no model, and the suite names none" in result.err


def test_a_case_must_fit_the_inputs_a_text_names(project):
    project.write("prompts/ask.txt", "{{question}} {{hint}}\n")
    result = replayed(project, "ask", bundle("{{question}} {{hint}}", "question", "hint"))
    assert result.code == 2
    assert "evals/cases.jsonl:1: P6104: case `one`: `inputs.hint` is missing" in result.err


def test_a_prompt_of_github_models_is_replayed_with_its_model_and_parameters(project):
    schema = {"type": "string"}
    project.write(
        "prompts/ask.prompt.yml",
        "model: local/tiny\n"
        "modelParameters: {maxTokens: 16, topP: 1}\n"
        "responseFormat: json_schema\n"
        f"jsonSchema: '{json.dumps({'name': 'n', 'schema': schema})}'\n"
        "messages:\n  - {role: user, content: '{{question}}'}\n"
        "testData: [{question: x}]\n",
    )
    result = replayed(
        project,
        "tests/ask",
        bundle("{{question}}", "question", output=schema),
        models="",
        params={"maxTokens": 16, "top_p": 1},
    )
    assert result.code == 0, result.text
    linted = project.proctor("lint")
    assert "prompts/ask.prompt.yml:7: warning: `testData` of prompt `ask` is not read" in linted.err


def test_parameters_of_a_github_prompt_go_to_the_models_of_the_suite(project):
    project.write(
        "prompts/ask.prompt.yml",
        "model: gpt-4o\nmodelParameters: {temperature: 0.5, max_tokens: 99}\n"
        "messages: [{role: user, content: '{{question}}'}]\n",
    )
    result = replayed(
        project,
        "ask",
        bundle("{{question}}", "question"),
        params={"maxTokens": 16, "temperature": 0.5},
    )
    assert result.code == 0, result.text


def test_a_function_is_replayed_without_being_imported(project):
    code = "raise SystemExit('imported')\ndef ask(inputs): ...\n"
    project.write("made/refund.py", code)
    sha256 = digest({"python": "made.refund:ask", "sha256": sha256_hex(code.encode())})
    result = replayed(project, "python:made.refund:ask", sha256)
    assert result.code == 0, result.text + result.err
    subject = result.report["suites"][0]["subjects"][0]
    assert (subject["prompt"], subject["bundle_sha256"]) == ("python:made.refund:ask", sha256)
    assert project.proctor("lint").code == 0


def test_the_cost_of_a_function_that_was_not_recorded_is_not_guessed(project):
    code = "def ask(inputs): ...\n"
    project.write("made.py", code)
    project.write(
        "proctor.toml", 'project = "tests"\n[prices."local/tiny"]\ninput = 1\noutput = 1\n'
    )
    project.write(
        "evals/quiz.eval.yaml",
        SUITE.format(prompt="python:made:ask", models=MODELS) + "thresholds: {maxCostUsd: 1}\n",
    )
    project.cases({"id": "one", "inputs": {"any": [1]}, "expected": "yes"})
    sha256 = digest({"python": "made:ask", "sha256": sha256_hex(code.encode())})
    parts = {"prompt": sha256, "inputs": digest({"any": [1]}), "params": PARAMS}
    project.cassette(project.recording("one", "yes", parts=parts, cost_usd=None))
    result = project.proctor("run")
    assert result.code == 3
    assert "P6220" not in result.text + result.err


def test_an_unknown_function_is_told_at_the_place_that_names_it(project):
    result = replayed(project, "python:made.refund:ask", "0" * 64)
    assert result.code == 2
    assert "evals/quiz.eval.yaml:1: P6203: there is no module `made.refund`" in result.err


def test_editing_the_module_is_a_miss(project):
    project.write("made.py", "def ask(inputs): ...\n")
    result = replayed(project, "python:made:ask", "0" * 64)
    assert result.code == 3
    assert "prompt changed" in result.text


def test_tools_are_part_of_what_was_recorded(project):
    tools = [{"name": "look", "description": "Looks", "parameters": {"type": "object"}}]
    project.write(
        "prompts/ask.prompt.yaml",
        f"tools: {json.dumps(tools)}\ninputs: {{question: {{type: string}}}}\n"
        "user: '{{question}}'\n",
    )
    with_tools = digest(
        {
            "messages": [{"role": "user", "content": "{{question}}"}],
            "tools": tools,
            "inputs": {"question": {"type": "string"}},
            "output": None,
        }
    )
    assert replayed(project, "ask", with_tools).code == 0
    assert replayed(project, "ask", bundle("{{question}}", "question")).code == 3


def test_two_files_with_one_id_are_refused(project):
    project.write("prompts/answer.md", "{{question}}\n")
    project.exam({"one": "yes"})
    result = project.proctor("run")
    assert result.code == 2
    assert (
        "prompts/answer.prompt.yaml: P6204: the prompt id `answer` is taken by `prompts/answer.md`"
        in result.err
    )
