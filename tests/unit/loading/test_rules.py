import pytest

from proctor.loading.prompts import parse_prompt
from proctor.loading.rules import SuiteRules
from proctor.loading.yaml import parse_yaml
from proctor.records import Case


def prompt(inputs, user, name="p"):
    text = f"inputs: {inputs}\nuser: '{user}'\n"
    loaded, problems = parse_prompt(parse_yaml(text.encode(), f"{name}.prompt.yaml"), name)
    assert problems == []
    return loaded


def faults(inputs, *prompts, needs=None):
    return list(SuiteRules(prompts, needs).faults(Case("a", inputs)))


def test_a_case_that_fits_has_no_faults():
    assert faults({"q": "Why?"}, prompt("{q: {type: string}}", "{{q}}")) == []


def test_inputs_off_the_contract_are_told_with_their_place():
    loaded = prompt("{q: {type: string}, n: {type: integer}}", "{{q}} {{n}}")
    assert faults({"q": 1, "m": 2}, loaded) == [
        ("P6104", "`inputs.q` must be a string, not a number"),
        ("P6104", "`inputs.n` is missing"),
        ("P6104", "`inputs.m` is not declared in the prompt's inputs"),
    ]


def test_a_suite_with_several_prompts_says_which_one_does_not_fit():
    one = prompt("{q: {type: string}}", "{{q}}", "one")
    two = prompt("{q: {type: string}, r: {type: string}}", "{{q}} {{r}}", "two")
    assert faults({"q": "a"}, one, two) == [("P6104", "`inputs.r` is missing (prompt `two`)")]
    assert faults({"q": "a", "r": "b"}, one, two) == [
        ("P6104", "`inputs.r` is not declared in the prompt's inputs (prompt `one`)")
    ]


@pytest.mark.parametrize(
    ("inputs", "user", "given", "lacking"),
    [
        ("{q: {type: string, optional: true}}", "{{q}}", {}, ["q"]),
        ("{q: {type: string, optional: true}}", "{{q}}", {"q": ""}, []),
        ("{q: {type: string, optional: true, default: d}}", "{{q}}", {}, []),
        ("{q: {type: string, optional: true}}", "Hi", {}, []),
        ("{o: {type: object}}", "{{o.a.b}}", {"o": {"a": 1}}, ["o.a.b"]),
        ("{o: {type: object}}", "{{o.a.b}} {{o}}", {"o": {"a": {"b": None}}}, []),
        (
            "{o: {type: object, fields: {a: {type: string, optional: true}}}}",
            "{{o.a}} {{input.o.a}}",
            {"o": {}},
            ["o.a", "o.a"],
        ),
        (
            "{o: {type: object, fields: {a: {type: string, optional: true, default: d}}}}",
            "{{o.a}}",
            {"o": {}},
            [],
        ),
        (
            "{o: {type: object, optional: true, fields: {a: {type: string}}}}",
            "{{o.a}}",
            {},
            ["o.a"],
        ),
        (
            "{o: {type: object, default: {}, fields: {a: {type: string, optional: true}}}}",
            "{{o.a}}",
            {},
            ["o.a"],
        ),
    ],
)
def test_an_absent_value_is_a_fault_only_when_the_template_uses_it(inputs, user, given, lacking):
    assert faults(given, prompt(inputs, user)) == [
        ("P6104", f"the template uses `{path}`, which this case lacks") for path in lacking
    ]


def test_the_template_is_looked_at_only_when_the_inputs_fit():
    loaded = prompt("{q: {type: string, optional: true}, n: {type: integer}}", "{{q}} {{n}}")
    assert faults({"n": "1"}, loaded) == [("P6104", "`inputs.n` must be an integer, not a string")]


def test_what_assertions_need_is_told_with_their_id():
    asked = []

    def needs(case):
        asked.append(case)
        yield "right", "the case has no `expected`"
        yield "other", "`expected` has no part `label`"

    loaded = prompt("{q: {type: string}}", "{{q}}")
    assert faults({"q": "a"}, loaded, needs=needs) == [
        ("P6104", "the assertion `right` cannot be asked: the case has no `expected`"),
        ("P6104", "the assertion `other` cannot be asked: `expected` has no part `label`"),
    ]
    assert asked == [Case("a", {"q": "a"})]


def test_faults_of_inputs_and_needs_of_assertions_are_told_together():
    loaded = prompt("{q: {type: string}}", "{{q}}")
    found = faults({}, loaded, needs=lambda case: [("right", "there is nothing to compare with")])
    assert len(found) == 2


def test_no_fault_quotes_a_value():
    secret = "sk-test-000111222333"  # noqa: S105 - a value that must not be shown
    loaded = prompt("{q: {type: integer}, r: {type: enum, options: [a]}}", "{{q}} {{r}}")
    found = faults({"q": secret, "r": secret, "s": secret}, loaded)
    assert len(found) == 3
    assert secret not in str(found)
