import pytest
from msgspec.structs import replace

from proctor.loading.cases import CellTypes
from proctor.loading.prompts import parse_prompt
from proctor.loading.rules import SuiteRules
from proctor.loading.yaml import parse_yaml
from proctor.records import Case


def prompt(inputs, user, name="p", more=""):
    text = f"inputs: {inputs}\nuser: '{user}'\n{more}"
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


# Cells of tables


def with_prompt(loaded, **changes):
    return replace(loaded, prompt=replace(loaded.prompt, **changes))


def test_cells_become_what_the_contracts_say():
    output = "output: {score: {type: number}, tags: {type: list}, order: {type: object}}\n"
    loaded = prompt("{q: {type: string}, n: {type: integer}}", "{{q}} {{n}}", more=output)
    assert SuiteRules([loaded], None).cell_types() == CellTypes(
        inputs={"q": "string", "n": "integer"},
        expected={"score": "number", "tags": "array", "order": "object"},
        answers_are_objects=True,
    )


def test_of_several_prompts_the_first_that_says_something_counts():
    one = prompt("{q: {type: string}}", "{{q}}", "one", "output: {a: {type: number}}\n")
    two = prompt(
        "{q: {type: object}, n: {type: list}}",
        "{{q}} {{n}}",
        "two",
        "output: {a: {type: string}, b: {type: boolean}}\n",
    )
    assert SuiteRules([one, two], None).cell_types() == CellTypes(
        inputs={"q": "string", "n": "list"},
        expected={"a": "number", "b": "boolean"},
        answers_are_objects=True,
    )


@pytest.mark.parametrize(
    ("schema", "expected", "are_objects"),
    [
        (None, {}, False),
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, {"a": "integer"}, True),
        ({"type": "object", "properties": {"a": {"type": ["null"]}, "b": True}}, {}, True),
        ({"type": "array", "properties": 7}, {}, False),
    ],
)
def test_a_schema_in_place_of_an_output_contract_is_read_as_far_as_it_is_plain(
    schema, expected, are_objects
):
    loaded = with_prompt(prompt("{q: {type: string}}", "{{q}}"), output_schema=schema)
    types = SuiteRules([loaded], None).cell_types()
    assert (types.expected, types.answers_are_objects) == (expected, are_objects)


def test_a_function_takes_inputs_of_any_name():
    loaded = prompt("{q: {type: number}}", "{{q}}")
    made = with_prompt(loaded, function="made.p:build", inputs={})
    assert SuiteRules([made], None).cell_types().inputs is None
    assert SuiteRules([made, loaded], None).cell_types().inputs == {"q": "number"}
