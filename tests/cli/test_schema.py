"""`proctor schema`: what the files of a project are, for editors and for other programs."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from support import EXAMPLES, proctor

pytestmark = pytest.mark.slow
"""Each test starts a program, and there are many of them."""

NAMES = ["suite", "prompt", "dataset", "report", "comparison", "pairwise", "packet"]
SUITE = {
    "prompt": "answer",
    "dataset": "cases.jsonl",
    "assertions": [{"id": "a", "kind": "equals", "field": "label"}],
}


def schema(name: str) -> dict:
    result = proctor("schema", name, cwd=Path("/"))
    assert result.code == 0, result.err
    return json.loads(result.out)


@pytest.fixture(scope="module")
def validators() -> dict:
    return {name: jsonschema_rs.validator_for(schema(name)) for name in NAMES}


@pytest.fixture
def fits(validators):
    return lambda name, value: validators[name].is_valid(value)


@pytest.fixture
def faults(validators):
    return lambda name, value: [error.message for error in validators[name].iter_errors(value)]


def example_files(pattern: str) -> list:
    return [
        pytest.param(path, id=str(path.relative_to(EXAMPLES)))
        for path in sorted(EXAMPLES.glob(pattern))
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_one_of_draft_2020_12(name):
    printed = schema(name)
    assert printed["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema_rs.meta.validate(printed)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_bytes_every_time(name):
    first, second = (
        proctor("schema", name, cwd=Path("/"), env={"PYTHONHASHSEED": seed, "COLUMNS": seed})
        for seed in ("1", "99")
    )
    assert first.out == second.out
    assert first.out.endswith(b"}\n")


@pytest.mark.parametrize("path", example_files("*/evals/*.eval.yaml"))
def test_the_suites_of_the_examples_fit(path, faults):
    assert faults("suite", yaml.safe_load(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", example_files("*/prompts/*.prompt.yaml"))
def test_the_prompts_of_the_examples_fit(path, faults):
    assert faults("prompt", yaml.safe_load(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", example_files("*/evals/datasets/*.jsonl"))
def test_the_cases_of_the_examples_fit(path, faults):
    for line in path.read_text(encoding="utf-8").splitlines():
        assert faults("dataset", json.loads(line)) == []


@pytest.mark.parametrize("path", example_files("*/reports/*.json"))
def test_the_committed_reports_fit(path, faults):
    assert faults("report", json.loads(path.read_text(encoding="utf-8"))) == []


def test_what_init_writes_fits(tmp_path, faults):
    proctor("init", cwd=tmp_path)
    for name, pattern in (("suite", "evals/*.yaml"), ("prompt", "prompts/*.yaml")):
        for path in tmp_path.glob(pattern):
            assert faults(name, yaml.safe_load(path.read_text(encoding="utf-8"))) == []


def test_a_report_with_every_outcome_fits(project, faults):
    project.exam({"right": "yes", "wrong": "no"})
    project.cases(*(project.case(name) for name in ("right", "wrong", "missing")))
    result = project.proctor("run", "--format", "json")
    assert result.code == 1
    outcomes = {case["outcome"] for case in result.report["suites"][0]["subjects"][0]["cases"]}
    assert outcomes == {"passed", "failed", "errored"}
    assert faults("report", result.report) == []
    without = project.proctor("run", "--format", "json", "--no-answers")
    assert faults("report", without.report) == []


def test_a_comparison_fits_and_one_that_lacks_something_does_not(faults, fits):
    reports = EXAMPLES / "support-refund/reports"
    result = proctor("compare", "baseline.json", "regressed.json", "--format", "json", cwd=reports)
    comparison = json.loads(result.out)
    assert faults("comparison", comparison) == []
    for key in comparison:
        assert not fits("comparison", {k: comparison[k] for k in comparison if k != key})
    assert not fits("comparison", {**comparison, "more": 1})


def test_a_report_that_is_not_one_does_not_fit(fits):
    report = json.loads((EXAMPLES / "support-refund/reports/baseline.json").read_bytes())
    subject = report["suites"][0]["subjects"][0]
    assert fits("report", report)
    for change in (
        {"verdict": "green"},
        {"schema": "proctor.report.v2"},
        {"exit_code": "0"},
        {"made_on": "2026-11-30"},
        {"suites": [{**report["suites"][0], "subjects": [{**subject, "cases": None}]}]},
        {"suites": [{**report["suites"][0], "subjects": [{**subject, "counts": {}}]}]},
    ):
        assert not fits("report", {**report, **change}), change
    for key in report:
        assert not fits("report", {name: report[name] for name in report if name != key})


@pytest.mark.parametrize(
    "change",
    [
        {"$schema": ".schema/suite.json", "description": "d", "tiers": ["pr"]},
        {"prompt": "acme/answer", "models": ["local/tiny", {"ref": "a/b", "params": {"x": 1}}]},
        {"dataset": {"path": "cases.jsonl"}},
        {"thresholds": {"passRate": 0.9, "maxCostUsd": 1}},
        {"assertions": [{"id": "a", "kind": "regex", "pattern": "x", "severity": "warn"}]},
        {"assertions": [{"id": "a", "kind": "contains", "values": ["x"], "mode": "any"}]},
        {"assertions": [{"id": "a", "kind": "json-schema", "schema": {"type": "object"}}]},
        {"assertions": [{"id": "a", "kind": "equals", "value": None, "ignoreCase": True}]},
        {"assertions": [{"id": "a", "kind": "any-of", "of": [{"kind": "equals"}]}]},
        {"assertions": [{"id": "a", "kind": "number", "min": 0, "max": 2.5}]},
    ],
)
def test_suites_that_can_be_written_fit(change, faults):
    assert faults("suite", {**SUITE, **change}) == []


@pytest.mark.parametrize(
    "change",
    [
        {"asertions": []},
        {"assertions": []},
        {"assertions": SUITE["assertions"] * 21},
        {"assertions": ["equals"]},
        {"assertions": [{"id": "a"}]},
        {"assertions": [{"kind": "equals"}]},
        {"assertions": [{"id": "a b", "kind": "equals"}]},
        {"assertions": [{"id": "a", "kind": "equal"}]},
        {"assertions": [{"id": "a", "kind": "equals", "pattern": "x"}]},
        {"assertions": [{"id": "a", "kind": "regex"}]},
        {"assertions": [{"id": "a", "kind": "equals", "severity": "warning"}]},
        {"assertions": [{"id": "a", "kind": "equals", "ignore_case": True}]},
        {"assertions": [{"id": "a", "kind": "any-of", "of": []}]},
        {"assertions": [{"id": "a", "kind": "any-of", "of": [{"kind": "equal"}]}]},
        {
            "assertions": [
                {"id": "a", "kind": "all-of", "of": [{"kind": "equals", "severity": "warn"}]}
            ]
        },
        {"dataset": 5},
        {"dataset": {"file": "cases.jsonl"}},
        {"prompts": ["answer"]},
        {"models": []},
        {"models": [5]},
        {"models": [{"name": "x"}]},
        {"thresholds": {"pass_rate": 1}},
        {"thresholds": {"passRate": "1"}},
        {"tiers": []},
        {"assert": []},
    ],
)
def test_suites_with_a_typical_fault_do_not(change, fits):
    assert not fits("suite", {**SUITE, **change})


@pytest.mark.parametrize("key", list(SUITE))
def test_a_suite_without_what_it_needs_does_not_fit(key, fits):
    assert not fits("suite", {name: SUITE[name] for name in SUITE if name != key})


def test_every_kind_of_assertion_has_its_own_schema():
    from proctor.registry import assertion_kinds

    definitions = schema("suite")["$defs"]
    kinds = {name.removeprefix("kind-") for name in definitions if name.startswith("kind-")}
    assert kinds == set(assertion_kinds.names())
    for name in kinds:
        kind = definitions[f"kind-{name}"]
        assert kind["title"] == name
        assert kind["properties"]["kind"]["const"] == name
        assert kind["description"]
        assert kind["properties"]["id"]["description"] == "Unique in the suite."


def test_every_key_of_a_suite_and_a_prompt_is_described():
    for name, struct in (("suite", "SuiteFile"), ("prompt", "PromptFile"), ("dataset", "CaseFile")):
        for key, value in schema(name)["$defs"][struct]["properties"].items():
            assert value.get("description"), f"{name}: {key}"


@pytest.mark.parametrize(
    ("prompt", "fitting"),
    [
        ({"user": "Hi"}, True),
        ({"system": "S", "user": "Hi", "model": {"ref": "a/b", "maxTokens": 5}}, True),
        ({"messages": [{"role": "user", "content": "Hi"}]}, True),
        ({"user": "{{a}}", "inputs": {"a": {"type": "list", "items": {"type": "string"}}}}, True),
        ({"user": "Hi", "tools": [{"name": "t", "parameters": {"type": "object"}}]}, True),
        ({}, False),
        ({"system": "S"}, False),
        ({"user": "Hi", "messages": [{"role": "user", "content": "Hi"}]}, False),
        ({"system": "S", "messages": [{"role": "user", "content": "Hi"}]}, False),
        ({"user": "Hi", "model": "a/b"}, False),
        ({"user": "Hi", "model": {"ref": "a/b", "max_tokens": 5}}, False),
        ({"user": "Hi", "inputs": {"a": "string"}}, False),
        ({"user": "Hi", "inputs": {"a": {"type": "text"}}}, False),
        ({"user": "Hi", "output": {"a": {"type": "list", "items": {"typ": "string"}}}}, False),
        ({"user": "Hi", "tools": [{"name": "a tool", "parameters": {}}]}, False),
        ({"messages": [{"role": "tool", "content": "Hi"}]}, False),
    ],
)
def test_prompts_fit_or_do_not(prompt, fitting, fits):
    assert fits("prompt", prompt) is fitting


@pytest.mark.parametrize(
    ("case", "fitting"),
    [
        ({"id": "a", "inputs": {}}, True),
        ({"id": "a", "inputs": {"x": 1}, "expected": None, "tags": ["t"], "metadata": {}}, True),
        ({"inputs": {}}, False),
        ({"id": "a"}, False),
        ({"id": 1, "inputs": {}}, False),
        ({"id": "", "inputs": {}}, False),
        ({"id": "x" * 129, "inputs": {}}, False),
        ({"id": "a", "input": {}}, False),
        ({"id": "a", "inputs": {}, "tags": "t"}, False),
    ],
)
def test_cases_fit_or_do_not(case, fitting, fits):
    assert fits("dataset", case) is fitting


def test_schemas_are_written_below_the_suites(project):
    project.write("proctor.toml", 'project = "tests"\nevals = "checks/evals"\n')
    result = project.proctor("schema", "--write")
    assert result.code == 0, result.err
    assert result.text.splitlines() == [f"wrote checks/evals/.schema/{n}.json" for n in NAMES]
    for name in NAMES:
        file = project.root / f"checks/evals/.schema/{name}.json"
        assert file.read_bytes() == proctor("schema", name, cwd=project.root).out
    again = project.proctor("schema", "prompt", "--write")
    assert again.text == "wrote checks/evals/.schema/prompt.json\n"


def test_a_written_schema_is_no_suite(project):
    project.exam({"one": "yes"})
    project.proctor("schema", "--write")
    assert "1 suite" in project.proctor("lint").text


def test_a_link_is_not_written_through(project, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (project.root / "evals/.schema").symlink_to(outside)
    result = project.proctor("schema", "--write")
    assert result.code == 2
    assert "P6805" in result.err
    assert list(outside.iterdir()) == []


def test_writing_needs_a_project_and_printing_needs_a_name(tmp_path):
    (tmp_path / ".git").mkdir()
    assert "P6003" in proctor("schema", "--write", cwd=tmp_path).err
    result = proctor("schema", cwd=tmp_path)
    assert result.code == 2
    assert "P6002: the name of a schema is missing" in result.err
    result = proctor("schema", "sweet", cwd=tmp_path)
    assert result.code == 2
    assert "P6002" in result.err
