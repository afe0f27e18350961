"""Every kind of assertion in a suite, on answers that pass it and answers that do not."""

from __future__ import annotations

import pytest

from proctor.registry import assertion_kinds

CALL = {"id": None, "name": "book", "args": {"days": 2}}
CALLS = "[{name: book, args: {days: 2}}]"

KINDS = {
    "all-of": "of: [{kind: contains, value: 'ye'}, {kind: length, max: 30}]",
    "any-of": "of: [{kind: contains, value: 'maybe'}, {kind: equals, field: label}]",
    "choice": "options: ['yes', 'no'], value: 'yes'",
    "contains": "value: 'yes'",
    "cost": "max: 0.001",
    "ends-with": "value: '}'",
    "equals": "field: label",
    "json-schema": "schema: {properties: {label: {const: 'yes'}}}",
    "latency": "max: 20",
    "length": "max: 4, unit: tokens",
    "number": "field: score, value: 7.5, abs: 0.5",
    "one-of": "field: label, values: ['yes', 'sure']",
    "python": "function: 'judging:is_yes'",
    "regex": "pattern: '\"yes\"'",
    "similarity": "field: label, metric: levenshtein, min: 0.9",
    "starts-with": "value: '{'",
    "tool-calls": f"calls: {CALLS}",
}
WRONG = {
    "all-of": "of: [{kind: contains, value: 'ye'}, {kind: length, max: 3}]",
    "any-of": "of: [{kind: contains, value: 'maybe'}]",
    "choice": "options: ['yes', 'no'], value: 'no'",
    "contains": "value: 'no'",
    "cost": "max: 0.0009",
    "ends-with": "value: '{'",
    "equals": "field: label, value: 'no'",
    "json-schema": "schema: {properties: {label: {const: 'no'}}}",
    "latency": "max: 19",
    "length": "max: 3, unit: tokens",
    "number": "field: score, min: 8",
    "one-of": "field: label, values: ['no']",
    "python": "function: 'judging:is_yes', negate: true",
    "regex": "pattern: 'no'",
    "similarity": "field: label, value: 'xyz', metric: levenshtein, min: 0.9",
    "starts-with": "value: '['",
    "tool-calls": "calls: []",
}


@pytest.fixture
def quiz(project):
    project.cases(project.case("one"))
    line = project.recording("one", '{"label": "yes", "score": 7}')
    line["answer"]["tool_calls"] = [CALL]
    project.cassette(line)
    project.write("judging.py", "def is_yes(answer, case):\n    return 'yes' in answer.text\n")
    return project


def suite(project, kinds):
    lines = [f"  - {{id: {kind}, kind: {kind}, {fields}}}\n" for kind, fields in kinds.items()]
    project.write(
        "evals/quiz.eval.yaml",
        f"prompt: answer\ndataset: cases.jsonl\nassertions:\n{''.join(lines)}",
    )


def outcomes(result):
    checks = result.report["suites"][0]["subjects"][0]["cases"][0]["rows"][0]["checks"]
    return {check["kind"]: check["outcome"] for check in checks}


def test_every_kind_is_tried_here():
    # A judge needs somebody to ask; test_judged_runs.py is about that.
    without_judges = [name for name in assertion_kinds.names() if name != "llm-judge"]
    assert sorted(KINDS) == sorted(WRONG) == without_judges


def test_every_kind_passes_a_right_answer(quiz):
    suite(quiz, KINDS)
    result = quiz.proctor("run", "--allow-code", "--format", "json")
    assert (result.code, outcomes(result)) == (0, dict.fromkeys(KINDS, "passed"))


def test_every_kind_fails_a_wrong_answer_and_says_why(quiz):
    suite(quiz, WRONG)
    result = quiz.proctor("run", "--allow-code", "--format", "json")
    assert (result.code, outcomes(result)) == (1, dict.fromkeys(WRONG, "failed"))
    text = quiz.proctor("run", "--allow-code").text
    for said in (
        'contains: not found, expected "no", got',
        "latency: above max, got 20",
        'tool-calls: tool_calls: number of calls, expected [], got ["book"]',
        "all-of: not all passed, `all-of.2`: too long",
    ):
        assert said in text


def test_a_reply_of_tool_calls_alone_is_seen_by_tools_and_has_no_text_for_others(quiz):
    line = quiz.recording("one", None)
    line["answer"] |= {"tool_calls": [CALL], "finish": "tool_calls"}
    quiz.cassette(line)
    suite(
        quiz,
        {
            "tool-calls": f"calls: {CALLS}",
            "latency": "max: 20",
            "contains": "value: sorry, negate: true",
            "length": "max: 4, unit: tokens",
        },
    )
    result = quiz.proctor("run", "--format", "json")
    assert outcomes(result) == {
        "tool-calls": "passed",
        "latency": "passed",
        "contains": "failed",
        "length": "passed",
    }
    assert "contains: no text" in quiz.proctor("run").text


def test_figures_that_were_not_recorded_leave_the_run_unmeasured(quiz):
    quiz.cassette(
        quiz.recording("one", '{"label": "yes"}', usage=None, cost_usd=None, latency_ms=None)
    )
    suite(quiz, {kind: KINDS[kind] for kind in ("cost", "latency", "length", "equals")})
    result = quiz.proctor("run", "--format", "json")
    assert result.code == 3
    assert outcomes(result) == {
        "cost": "unmeasured",
        "latency": "unmeasured",
        "length": "unmeasured",
        "equals": "passed",
    }


def test_every_case_that_lacks_something_is_told_before_anything_runs(quiz):
    suite(
        quiz,
        {"choice": "options: ['a', 'b']", "number": "field: label", "tool-calls": "args: subset"},
    )
    result = quiz.proctor("run")
    assert result.code == 2
    for sentence in (
        "the assertion `choice` cannot be asked: its expected value is none of the options",
        "the assertion `number` cannot be asked: its expected value has no number",
        "the assertion `tool-calls` cannot be asked: its expected value is not a list of calls",
    ):
        assert sentence in result.err
    assert result.err.count("evals/cases.jsonl:1: P6104:") == 3
    assert "yes" not in result.err
