"""Answers that are there already, and cases that a plugin makes, from their files to the report."""

from __future__ import annotations

import json

import pytest

from agent_support import (
    RIGHT,
    Agent,
    AgentProject,
    as_replayed,
    ask_agent,
    asked,
    case,
    replay_agent,
    rows_by_name,
)
from judged_support import FAIL, PASS
from proctor.errors import ProctorError
from proctor.loading import sources
from proctor.registry import Registry

TONE = {"id": "tone", "kind": "llm-judge", "rubric": "judge-tone"}


@pytest.fixture
def project(tmp_path):
    project = AgentProject(tmp_path)
    for name, text in (("a1", "a"), ("a2", "no"), ("b1", '{"text": "b", "evidence": ["seen"]}')):
        project.write(f"evals/answers/{name}.txt", text)
    return project


def suite(project, *assertions: dict, files: dict | None = None, **keys) -> None:
    outputs = files or {"a": ["answers/a1.txt", "answers/a2.txt"], "b": ["answers/b1.txt"]}
    written = {
        "outputs": outputs,
        "dataset": "cases.jsonl",
        "assertions": list(assertions) or [RIGHT],
        "judge": {"model": "local/judge", "runs": 1, "params": {"maxTokens": 64}},
    }
    project.write("evals/quiz.eval.yaml", json.dumps(written | keys))


def test_answers_that_are_there_are_checked_as_if_they_had_just_come(project):
    suite(project, repeats=3)
    project.cases(case("a"), case("b"), case("c"))
    replayed = json.loads(replay_agent(project))
    rows = rows_by_name(replayed)
    # Repeats take the files of a case in turn.
    assert {key: row["outcome"] for key, row in rows.items()} == {
        ("a", None, 1): "passed",
        ("a", None, 2): "failed",
        ("a", None, 3): "passed",
        ("b", None, 1): "passed",
        ("b", None, 2): "passed",
        ("b", None, 3): "passed",
    }
    assert rows["b", None, 1]["answer"]["evidence"] == ["seen"]
    (warning,) = replayed["suites"][0]["warnings"]
    assert warning["message"] == "left out, without an answer among `outputs`: `c`"
    cache = replayed["suites"][0]["cache"]
    assert (cache["replayed"], cache["recorded"], cache["live"]) == (0, 0, False)
    live = asked(project, None)
    assert rows_by_name(live) == rows
    assert not (project.root / "evals/cassettes/quiz.jsonl").exists()


def test_answers_that_are_there_are_not_asked_for_and_their_judges_are(project):
    suite(project, RIGHT, TONE)
    project.cases(case("a"), case("b"))
    missing = json.loads(replay_agent(project))
    assert {row["error"]["code"] for row in rows_by_name(missing).values()} == {"P6402"}
    live = asked(project, None, lambda request, call: FAIL if call.case == "a" else PASS)
    assert [line["call"] for line in project.stored] == ["judge", "judge"]
    outcomes = {name: row["outcome"] for (name, *_), row in rows_by_name(live).items()}
    assert outcomes == {"a": "failed", "b": "passed"}
    assert rows_by_name(json.loads(replay_agent(project))) == rows_by_name(live)


def test_a_scenario_of_a_case_with_answers_is_checked_by_its_own_rules(project):
    suite(project, files={"a": ["answers/a1.txt"]})
    told = case("a", {"name": "s1", "expected": "a"}, {"name": "s2", "expected": "other"})
    project.cases(told)
    found = {
        key: row["outcome"] for key, row in rows_by_name(json.loads(replay_agent(project))).items()
    }
    assert found == {("a", "s1", 1): "passed", ("a", "s2", 1): "failed"}


def test_a_file_without_an_answer_spoils_its_row(project):
    project.write("evals/answers/a1.txt", '{"text": 5}')
    suite(project)
    project.cases(case("a"), case("b"))
    rows = rows_by_name(json.loads(replay_agent(project)))
    assert rows["b", None, 1]["outcome"] == "passed"
    assert rows["a", None, 1]["error"]["code"] == "P6701"
    assert rows_by_name(asked(project, None))["a", None, 1]["error"]["code"] == "P6701"


def agents_of_a_shop(options, root):
    """Cases that a plugin makes."""
    for name in options["names"]:
        yield case(name, "s1", expectations=["It is red."])


@pytest.fixture
def shop(project, monkeypatch):
    registry = Registry("case source", {"shop": "test_agent_outputs:agents_of_a_shop"})
    monkeypatch.setattr(sources, "case_sources", registry)
    project.agent_suite(dataset={"source": "shop", "options": {"names": ["x", "y"]}})
    return project


def test_cases_of_a_plugin_are_run_and_replayed(shop):
    live = ask_agent(shop, Agent(), allow_code=True)
    report = json.loads(live)
    assert list(rows_by_name(report)) == [("x", "s1", 1), ("y", "s1", 1)]
    assert report["verdict"] == "passed"
    assert report["suites"][0]["dataset"]["path"] == "source:shop"
    assert as_replayed(replay_agent(shop, allow_code=True)) == as_replayed(live)


def test_cases_of_a_plugin_are_not_made_where_code_may_not_run(shop):
    with pytest.raises(ProctorError) as raised:
        replay_agent(shop)
    assert raised.value.code == "P6220"


def test_scenarios_of_a_plugin_must_fit_the_suite(shop, monkeypatch):
    def wrong(options, root):
        yield case("x", {"name": "s1", "assertions": ["nowhere"]})

    registry = Registry("case source", {"shop": "test_agent_outputs:agents_of_a_shop"})
    registry._loaded["shop"] = wrong
    monkeypatch.setattr(sources, "case_sources", registry)
    with pytest.raises(ProctorError) as raised:
        replay_agent(shop, allow_code=True)
    assert raised.value.code == "P6104"
    assert "nowhere" in raised.value.message
