import pytest

from pairwise_support import RUBRIC_INPUTS, RUBRIC_OUTPUT, RUBRIC_USER, fenced, written_rubric
from proctor.judging.fences import rubric_faults, rubric_warnings
from proctor.judging.pairwise_rubrics import parse_pairwise_rubric
from proctor.judging.rubrics import RubricKind, parse_rubric
from rubric_prompts import loaded_prompt

TOOL = "tools: [{name: look, description: Look, parameters: {type: object}}]"


def parsed(**parts):
    loaded = loaded_prompt(written_rubric(**parts))
    return parse_pairwise_rubric(loaded.prompt, loaded.templates)


def rubric(**parts):
    read, problems = parsed(**parts)
    assert problems == []
    return read


def faults(**parts):
    """What the message says after the name of the rubric, for each problem."""
    read, problems = parsed(**parts)
    assert read is None
    assert {(one.code, one.where) for one in problems} == {("P6211", "prompts/tone.prompt.yaml")}
    assert all(one.hint for one in problems)
    return [one.message.removeprefix("the rubric `tone` ") for one in problems]


def fence_faults(**parts):
    return [(one.code, one.message) for one in rubric_faults(rubric(**parts), allow_unfenced=None)]


def test_a_rubric_that_compares_is_no_rubric_of_an_assertion_and_the_other_way_round():
    loaded = loaded_prompt(written_rubric())
    assert rubric().kind is RubricKind.PAIRWISE
    read, problems = parse_rubric(loaded.prompt, loaded.templates)
    assert read is None
    assert "must ask for exactly `verdict` and `reason`" in problems[0].message
    verdict = "verdict: {type: enum, options: [pass, fail]}, reason: {type: string}"
    assert faults(output=verdict) == ["must ask for exactly `winner` and `reason`"]


@pytest.mark.parametrize(
    "output",
    [
        RUBRIC_OUTPUT.replace("[first, second, tie]", "[tie, second, first]"),
        RUBRIC_OUTPUT.replace("type: string", "type: string, description: Why"),
    ],
)
def test_descriptions_and_the_order_of_options_do_not_matter(output):
    assert rubric(output=output).kind is RubricKind.PAIRWISE


@pytest.mark.parametrize(
    "output",
    [
        "winner: {type: enum, options: [first, second, tie]}",
        "reason: {type: string}",
        f"{RUBRIC_OUTPUT}, score: {{type: number}}",
        RUBRIC_OUTPUT.replace("first, second, tie", "first, second"),
        RUBRIC_OUTPUT.replace("first, second, tie", "a, b, tie"),
        RUBRIC_OUTPUT.replace("winner", "verdict"),
        RUBRIC_OUTPUT.replace("type: string", "type: string, optional: true"),
        "winner: {type: string}, reason: {type: string}",
    ],
)
def test_any_other_output_is_refused(output):
    assert faults(output=output) == ["must ask for exactly `winner` and `reason`"]


def test_tools_are_refused():
    assert faults(more=TOOL) == ["offers tools, and a judge that calls one gives no verdict"]


@pytest.mark.parametrize("name", ["first", "second"])
def test_both_answers_are_declared_and_shown(name):
    other = {"first": "second", "second": "first"}[name]
    inputs = RUBRIC_INPUTS.replace(f"{name}: {{type: string}}, ", "")
    shown = RUBRIC_USER.replace(f"{{{{input.{name}}}}}", f"{{{{input.{other}}}}}")
    assert faults(inputs=inputs, user=shown) == [f"has no input `{name}`"]
    assert faults(user=shown) == [f"never shows `{name}` to the judge"]


@pytest.mark.parametrize("name", ["case_inputs", "expected"])
def test_inputs_with_a_meaning_may_be_declared(name):
    shown = RUBRIC_USER + fenced(name)
    read = rubric(inputs=f"{RUBRIC_INPUTS}, {name}: {{type: string}}", user=shown)
    assert rubric_faults(read, allow_unfenced=None) == []


@pytest.mark.parametrize("name", ["response", "context", "dos", "evidence", "score"])
def test_an_input_without_a_meaning_here_is_refused(name):
    inputs = f"{RUBRIC_INPUTS}, {name}: {{type: string}}"
    assert faults(inputs=inputs) == [f"has the input `{name}`, which nothing is given for"]


@pytest.mark.parametrize(
    "field", ["{type: number}", "{type: string, maxLength: 3}", "{type: list}"]
)
@pytest.mark.parametrize("name", ["first", "case_inputs", "expected"])
def test_inputs_are_plain_strings(name, field):
    inputs = (
        RUBRIC_INPUTS.replace("first: {type: string}", "") if name == "first" else RUBRIC_INPUTS
    )
    inputs = f"{name}: {field}, {inputs.removeprefix(', ')}"
    assert faults(inputs=inputs) == [f"must have `{name}` as a string"]


def test_only_what_a_case_may_lack_may_be_absent():
    absent = "{type: string, optional: true}"
    assert rubric(inputs=f"{RUBRIC_INPUTS}, expected: {absent}")
    assert faults(inputs=RUBRIC_INPUTS.replace("{type: string}", absent, 1)) == [
        "must have `first` as a string"
    ]


def test_every_fault_is_said_together():
    inputs = "first: {type: number}, score: {type: string}"
    found = faults(inputs=inputs, output="winner: {type: string}", user="{{input.score}}")
    assert found == [
        "must ask for exactly `winner` and `reason`",
        "never shows `first` to the judge",
        "has no input `second`",
        "must have `first` as a string",
        "has the input `score`, which nothing is given for",
    ]


class TestFences:
    def test_a_rubric_with_both_answers_in_fences_of_their_own_is_in_order(self):
        assert fence_faults() == []
        assert rubric_warnings(rubric()) == []

    @pytest.mark.parametrize("name", ["first", "second"])
    def test_an_answer_in_a_system_message_is_refused(self, name):
        found = fence_faults(system=f"Data between tags. {{{{input.{name}}}}}")
        assert [code for code, _ in found] == ["P6212"]

    @pytest.mark.parametrize("name", ["first", "second"])
    def test_an_answer_outside_of_a_fence_is_refused(self, name):
        found = fence_faults(user=f"{RUBRIC_USER} {{{{input.{name}}}}}")
        assert found == [("P6216", f"the rubric `tone` has `{name}` outside of a fence")]

    def test_both_answers_in_one_fence_are_refused(self):
        user = (
            "<both-{{input.boundary}}>{{input.first}} or {{input.second}}</both-{{input.boundary}}>"
        )
        assert fence_faults(user=user) == [
            ("P6216", "the rubric `tone` has `first` and `second` in one fence")
        ]

    def test_a_rubric_that_does_not_say_what_fences_mean_is_warned_of(self):
        assert [one.code for one in rubric_warnings(rubric(system="Which is better?"))] == ["P6217"]
