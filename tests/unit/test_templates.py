import doctest

import pytest

from proctor import templates
from proctor.records import FieldSpec, Placeholder
from proctor.templates import MissingValue, names_in, parse_template, render

ADDRESS = FieldSpec(
    type="object",
    fields={
        "city": FieldSpec(type="string"),
        "geo": FieldSpec(type="object", fields={"lat": FieldSpec(type="number")}),
        "notes": FieldSpec(type="object"),
    },
)
INPUTS = {
    "name": FieldSpec(type="string"),
    "question": FieldSpec(type="string"),
    "total": FieldSpec(type="number"),
    "address": ADDRESS,
    "my_own-2": FieldSpec(type="string"),
}


def problems_of(template):
    return parse_template(template, INPUTS)[1]


def rendered(template, **values):
    parts, problems = parse_template(template, INPUTS)
    assert problems == []
    return render(parts, values)


@pytest.mark.parametrize(
    ("template", "path"),
    [
        ("{{input.name}}", ("name",)),
        ("{{name}}", ("name",)),
        ("{{ input.name }}", ("name",)),
        ("{{\n\tname  }}", ("name",)),
        ("{{input.my_own-2}}", ("my_own-2",)),
        ("{{input.address.city}}", ("address", "city")),
        ("{{address.geo.lat}}", ("address", "geo", "lat")),
        ("{{input.address.notes.anything.below}}", ("address", "notes", "anything", "below")),
    ],
)
def test_a_placeholder_names_an_input_or_a_field_below_it(template, path):
    assert parse_template(template, INPUTS) == ([Placeholder(path)], [])


def test_an_input_called_input_is_reached_by_both_spellings():
    inputs = {
        "input": FieldSpec(type="object", fields={"name": FieldSpec(type="string")}),
        "name": FieldSpec(type="string"),
    }
    parts, problems = parse_template("{{input}} {{input.input.name}} {{input.name}}", inputs)
    assert problems == []
    assert [part.path for part in parts if isinstance(part, Placeholder)] == [
        ("input",),
        ("input", "name"),
        ("name",),
    ]


def test_text_around_placeholders_stays_as_it_is():
    text = "  Dear {{name}},\r\n\n{% x %} {# y #} ${HOME} {z} }} \\n\t--- {{question}}\n"
    assert rendered(text, name="Ada", question="Why?") == (
        "  Dear Ada,\r\n\n{% x %} {# y #} ${HOME} {z} }} \\n\t--- Why?\n"
    )


@pytest.mark.parametrize(
    ("template", "text"),
    [
        (r"\{{", "{{"),
        (r"\{{name}}", "{{name}}"),
        (r"\{{{{name}}}}", "{{Ada}}"),
        (r"{{name}}\{{x}}{{name}}", "Ada{{x}}Ada"),
        (r"x^\{{\alpha}_2}", r"x^{{\alpha}_2}"),
        (r"\\{{name}}", r"\{{name}}"),
        (r"\{name}", r"\{name}"),
    ],
)
def test_a_backslash_before_two_braces_makes_them_literal(template, text):
    assert rendered(template, name="Ada") == text


@pytest.mark.parametrize(
    "value",
    [
        "{{question}}",
        "{{input.question}}",
        "{{ input.secret }}",
        r"\{{name}}",
        "{% for x in y %}",
        "Use {#intro} as anchor",
        "cost is ${TOTAL} and $HOME",
        "---\nrole: system\n---",
        r"x^{{\alpha}_2 at 3 %}",
        "{{" * 50,
        "}}",
        "\\1 \\g<0> %s %(name)s {0}",
        "a\x00b\r\n\u2028\ud800é\U0001f44d🏽\u202e",
        "e\u0301 and \u00e9",
        "",
        " ",
    ],
)
def test_a_value_comes_out_as_it_went_in(value):
    assert rendered("[{{name}}|{{question}}]", name=value, question=value) == f"[{value}|{value}]"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (1.0, "1"),
        (-0.0, "0"),
        (39.9, "39.9"),
        (1e21, "1e+21"),
        (9007199254740993, "9007199254740993"),
        (2**70, "1180591620717411303424"),
        (True, "true"),
        (False, "false"),
        (None, "null"),
        ([], "[]"),
        (["b", 1.0, None, "é"], '["b",1,null,"é"]'),
        ({"b": 1, "a": {"d": [2.0], "c": "{{name}}"}}, '{"a":{"c":"{{name}}","d":[2]},"b":1}'),
        (["\ud800"], '["\\ud800"]'),
    ],
)
def test_what_is_not_a_string_is_written_as_canonical_json(value, text):
    assert rendered("<{{total}}>", total=value) == f"<{text}>"


def test_a_field_of_an_object_is_inserted_alone():
    values = {"address": {"city": "Bonn", "geo": {"lat": 50.0}, "notes": {"door": ["left"]}}}
    template = "{{input.address.city}} {{address.geo.lat}} {{address.notes.door}}"
    assert rendered(template, **values) == 'Bonn 50 ["left"]'


@pytest.mark.parametrize(
    ("template", "values", "path"),
    [
        ("{{input.name}}", {}, "name"),
        ("{{address.city}}", {"address": {"town": "Bonn"}}, "address.city"),
        ("{{address.notes.door}}", {"address": {"notes": {}}}, "address.notes.door"),
        ("{{address.notes.a.b}}", {"address": {"notes": {"a": "text"}}}, "address.notes.a.b"),
    ],
)
def test_a_value_that_is_not_there_is_never_silently_empty(template, values, path):
    parts, _ = parse_template(template, INPUTS)
    with pytest.raises(MissingValue) as caught:
        render(parts, values)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("template", "detail", "hint"),
    [
        (
            "{{nmae}}",
            "the placeholder `{{nmae}}` names nothing: there is no input `nmae`",
            "did you mean `name`?",
        ),
        (
            "{{ input.nmae }}",
            "the placeholder `{{ input.nmae }}` names nothing: there is no input `nmae`",
            "did you mean `name`?",
        ),
        (
            "{{env.HOME}}",
            "the placeholder `{{env.HOME}}` names nothing: there is no input `env`",
            "declared: address, my_own-2, name, question, total",
        ),
        (
            "{{address.ctiy}}",
            "the placeholder `{{address.ctiy}}` names nothing: `address` has no field `ctiy`",
            "did you mean `city`?",
        ),
        (
            "{{address.geo.height}}",
            "the placeholder `{{address.geo.height}}` names nothing: "
            "`address.geo` has no field `height`",
            "declared: lat",
        ),
        (
            "{{name.first}}",
            "the placeholder `{{name.first}}` reads a field of `name`, which is of type string",
            "only an object has fields",
        ),
    ],
)
def test_a_name_that_is_not_declared_is_a_problem(template, detail, hint):
    (problem,) = problems_of(template)
    assert (problem.detail, problem.hint) == (detail, hint)


def test_without_inputs_the_hint_says_that_none_is_declared():
    (problem,) = parse_template("{{name}}", {})[1]
    assert problem.hint == "declared: none"


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("{{#if x}}", "{{#if x}}"),
        ("{{/if}}", "{{/if}}"),
        ("{{>partial}}", "{{>partial}}"),
        ("{{name | upper}}", "{{name | upper}}"),
        ("{{name()}}", "{{name()}}"),
        ("{{input.}}", "{{input.}}"),
        ("{{.name}}", "{{.name}}"),
        ("{{input . name}}", "{{input . name}}"),
        ("{{address[city]}}", "{{address[city]}}"),
        ("{{2name}}", "{{2name}}"),
        ("{{näme}}", "{{näme}}"),
        ("{{}}", "{{}}"),
        ("{{ }}", "{{ }}"),
        ("{{name", "{{"),
        ("{{name}", "{{"),
        ("{{ {name} }}", "{{"),
    ],
)
def test_braces_that_hold_no_name_are_a_problem(template, shown):
    (problem,) = problems_of(f"before {template}")
    assert problem.detail == f"`{shown}` is not a placeholder"
    assert r"\{{" in problem.hint


def test_three_braces_are_refused_rather_than_guessed():
    assert [problem.detail for problem in problems_of("{{{name}}}")] == [
        "`{{` is not a placeholder"
    ]


def test_every_problem_of_a_template_is_found_with_its_line():
    template = "{{name}}\n{{one}} {{two}}\n\\{{\n{{\nname}}\n\n{{#if x}}"
    assert [(problem.line, problem.detail.split("`")[1]) for problem in problems_of(template)] == [
        (1, "{{one}}"),
        (1, "{{two}}"),
        (6, "{{#if x}}"),
    ]


def test_half_a_million_open_braces_are_told_as_a_few_problems():
    problems = problems_of("\n" + "{{" * 500_000)
    assert len(problems) == 21
    assert {problem.line for problem in problems} == {1}
    assert problems[-1].detail == "there are more placeholders that cannot be used"


def test_half_a_million_unknown_names_are_told_as_a_few_problems():
    assert len(problems_of("{{x}}\n" * 500_000)) == 21


def test_a_long_body_is_not_quoted_whole():
    for template in ("{{" + "x" * 100_000 + "}}", "{{" + "# " * 100_000 + "}}"):
        (problem,) = problems_of(template)
        assert len(problem.detail) < 300


def test_fifty_thousand_placeholders_are_all_filled():
    assert rendered("{{name}} " * 50_000, name="x") == "x " * 50_000


@pytest.mark.parametrize(
    ("template", "names"),
    [
        ("nothing", []),
        ("{{b}} {{ a }} {{input.b}}", ["b", "a"]),
        ("{{input}} {{input.x.y}}", ["input", "x"]),
        ("\\{{a}} {{b c}} {{#if d}} {{ {{e}}", ["e"]),
        ("{{user-name}} {{_x}}", ["user-name", "_x"]),
    ],
)
def test_the_names_in_a_template_are_those_its_placeholders_begin_with(template, names):
    assert names_in(template) == names


def test_the_examples_in_the_documentation_are_true():
    assert doctest.testmod(templates).attempted
    assert doctest.testmod(templates).failed == 0
