import re

import pytest

from proctor.judging.rubrics import RubricKind, parse_rubric, self_judging
from proctor.records import Prompt
from rubric_prompts import CRITERIA, INPUTS, RULES, USER, VERDICT, criteria_rubric, parsed, rubric


def faults(**parts):
    """What the message says after the name of the rubric, for each problem."""
    read, problems = parsed(**parts)
    assert read is None
    assert {(one.code, one.where) for one in problems} == {("P6211", "prompts/tone.prompt.yaml")}
    assert all(one.hint for one in problems)
    return [one.message.removeprefix("the rubric `tone` ") for one in problems]


def test_what_a_rubric_asks_for_decides_its_kind():
    assert rubric().kind is RubricKind.VERDICT
    assert criteria_rubric().kind is RubricKind.CRITERIA


@pytest.mark.parametrize(
    "output",
    [
        VERDICT.replace("[pass, fail]", "[fail, pass]"),
        VERDICT.replace("string", "string, description: Why"),
        VERDICT.replace("enum,", "enum, description: What,"),
    ],
)
def test_descriptions_and_the_order_of_options_do_not_matter(output):
    assert rubric(output=output).kind is RubricKind.VERDICT


@pytest.mark.parametrize(
    "output",
    [
        "verdict: {type: enum, options: [pass, fail]}",
        "reason: {type: string}",
        f"{VERDICT}, score: {{type: number}}",
        VERDICT.replace("[pass, fail]", "[pass, fail, unsure]"),
        VERDICT.replace("[pass, fail]", "[pass]"),
        VERDICT.replace("[pass, fail]", "[Pass, Fail]"),
        VERDICT.replace("[pass, fail]", "[good, bad]"),
        "verdict: {type: string}, reason: {type: string}",
        "verdict: {type: boolean}, reason: {type: string}",
        VERDICT.replace("type: string", "type: string, optional: true"),
        VERDICT.replace("type: string", "type: string, maxLength: 9"),
        VERDICT.replace("type: string", "type: list"),
        CRITERIA.replace("passes", "passed"),
        CRITERIA.replace("reason: {type: string}", "reason: {type: integer}"),
        CRITERIA.replace("rule: {type: string}, ", ""),
        CRITERIA.replace("fields: {", "fields: {weight: {type: number}, "),
        "violations: {type: list}, passes: {type: list}",
        f"{VERDICT}, {CRITERIA}",
    ],
)
def test_any_other_output_is_refused(output):
    assert faults(output=output, inputs=f"{INPUTS}, {RULES}")[0].startswith("must ask for exactly")


def foreign_prompt(path, function=None):
    """A prompt in a format that declares no output."""
    return Prompt(
        id="tone",
        path=path,
        messages=(),
        inputs={},
        output=None,
        model=None,
        bundle_sha256="0" * 64,
        function=function,
    )


@pytest.mark.parametrize(
    ("path", "function", "sentences"),
    [
        ("prompts/tone.txt", None, ["must ask for exactly `verdict`", "has no input `response`"]),
        ("checks.py", "checks:judge", ["is a function, so nobody can see beforehand"]),
    ],
)
def test_free_text_and_functions_are_no_rubrics(path, function, sentences):
    read, problems = parse_rubric(foreign_prompt(path, function), [])
    assert read is None
    assert {(one.code, one.where) for one in problems} == {("P6211", path)}
    for problem, sentence in zip(problems, sentences, strict=True):
        assert problem.message.startswith(f"the rubric `tone` {sentence}")


def test_tools_are_refused():
    tools = "tools: [{name: look, parameters: {type: object}}]\n"
    assert faults(more=tools) == ["offers tools, and a judge that calls one gives no verdict"]


def test_every_input_with_a_meaning_may_be_used():
    texts = ["expected", "context", "evidence", "artifact", "transcript"]
    declared = ", ".join(f"{name}: {{type: string}}" for name in texts)
    shown = "".join(f"{{{{input.{name}}}}}" for name in [*texts, "dos", "donts"])
    read = rubric(inputs=f"{INPUTS}, {declared}, {RULES}", messages=[("user", USER + shown)])
    assert read.used == {"response", "case_inputs", "boundary", *texts, "dos", "donts"}


def test_an_input_without_a_meaning_is_refused_with_what_was_meant():
    inputs = f"{INPUTS}, respones: {{type: string}}, author: {{type: string}}"
    read, problems = parsed(inputs=inputs)
    assert read is None
    assert [one.message.partition("` ")[2] for one in problems] == [
        "has the input `respones`, which nothing is given for",
        "has the input `author`, which nothing is given for",
    ]
    assert problems[0].hint == "did you mean `response`?"
    assert problems[1].hint.startswith("inputs of a rubric: response, case_inputs, boundary")


def test_a_rubric_must_have_the_response():
    found = faults(inputs="boundary: {type: string}", messages=[("user", "{{input.boundary}}")])
    assert found == ["has no input `response`"]


@pytest.mark.parametrize(
    ("inputs", "messages", "name"),
    [
        (INPUTS, [("user", "{{input.case_inputs}}")], "response"),
        (f"{INPUTS}, {RULES}", [("user", USER + "{{input.dos}}")], "donts"),
        (f"{INPUTS}, {RULES}", [("user", USER + "{{input.donts}}")], "dos"),
    ],
)
def test_what_a_judge_cannot_do_without_must_be_shown(inputs, messages, name):
    output = VERDICT if name == "response" else CRITERIA
    found = faults(inputs=inputs, messages=messages, output=output)
    assert found == [f"never shows `{name}` to the judge"]


def test_a_rubric_with_verdicts_may_leave_rules_unused():
    assert rubric(inputs=f"{INPUTS}, {RULES}").kind is RubricKind.VERDICT


def test_a_rubric_that_judges_by_rules_must_take_them():
    assert faults(output=CRITERIA) == [
        "judges by rules but has no input `dos`",
        "judges by rules but has no input `donts`",
    ]


@pytest.mark.parametrize(
    ("name", "declared"),
    [
        ("response", "{type: object}"),
        ("response", "{type: string, optional: true}"),
        ("response", "{type: string, default: none}"),
        ("response", "{type: string, maxLength: 99}"),
        ("boundary", "{type: string, default: '0'}"),
        ("case_inputs", "{type: object}"),
        ("expected", "{type: object, fields: {label: {type: string}}}"),
        ("evidence", "{type: list}"),
        ("context", "{type: enum, options: [a]}"),
    ],
)
def test_a_text_must_be_declared_as_a_string(name, declared):
    others = re.sub(rf"\b{name}: {{type: string}}(, )?", "", INPUTS).removesuffix(", ")
    assert faults(inputs=f"{others}, {name}: {declared}") == [f"must have `{name}` as a string"]


@pytest.mark.parametrize(
    "declared", ["{type: string, optional: true}", "{type: string, default: x}"]
)
@pytest.mark.parametrize("name", ["expected", "context", "evidence", "artifact", "transcript"])
def test_what_a_case_or_an_answer_may_lack_can_be_optional(name, declared):
    assert rubric(inputs=f"{INPUTS}, {name}: {declared}").prompt.inputs[name]


@pytest.mark.parametrize(
    "declared",
    [
        "{type: string}",
        "{type: list, items: {type: integer}}",
        "{type: list, maxLength: 3}",
        "{type: list, optional: true}",
    ],
)
def test_rules_must_be_declared_as_a_list_of_strings(declared):
    found = faults(inputs=f"{INPUTS}, dos: {declared}")
    assert found == ["must have `dos` as a list of strings"]


def test_rules_may_be_declared_as_any_list():
    assert rubric(inputs=f"{INPUTS}, donts: {{type: list}}")


def test_all_that_is_wrong_is_told_at_once():
    found = faults(
        inputs="answer: {type: string}, dos: {type: string}",
        output="verdict: {type: string}",
        messages=[("user", "{{input.answer}}")],
    )
    assert [text.split(" ")[0] for text in found] == ["must", "has", "has", "must"]


def test_a_model_that_judges_its_own_answers_is_named_once():
    warnings = self_judging(
        rubric(), ["a/x", "b/y", "a/x"], ["a/x", "c/z", "a/x"], where="evals/q.eval.yaml:4"
    )
    assert [(one.code, one.message, one.where) for one in warnings] == [
        ("P6215", "`a/x` judges its own answers by the rubric `tone`", "evals/q.eval.yaml:4")
    ]


def test_a_judge_of_other_models_is_no_warning():
    assert self_judging(rubric(), ["a/x"], ["a/x-mini", "b/x"], where=None) == []
