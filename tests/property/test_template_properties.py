import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proctor.records import FieldSpec
from proctor.templates import parse_template, render

INPUTS = {"first": FieldSpec(type="string"), "second": FieldSpec(type="string")}

pieces = st.sampled_from(
    [
        "{{",
        "}}",
        "{",
        "}",
        "\\",
        "first",
        "input.",
        "{{first}}",
        "{{input.second}}",
        "\n",
        "{%",
        "#",
    ]
)
# Every code point, lone surrogates included, mixed with what a template could take for its own.
hostile = st.lists(pieces | st.integers(0, 0x10FFFF).map(chr), max_size=30).map("".join)


@given(hostile, hostile)
@example("{{input.second}}", "{{first}}")
@example("\\{{first}}", "\ud800\udfff")
def test_a_string_goes_into_the_text_unaltered(first, second):
    parts, problems = parse_template("a{{first}}b{{ input.second }}c{{first}}", INPUTS)
    assert problems == []
    assert render(parts, {"first": first, "second": second}) == f"a{first}b{second}c{first}"


@given(hostile)
@example("{{{")
@example("\\{{")
def test_a_text_with_its_braces_escaped_renders_as_itself(text):
    parts, problems = parse_template(text.replace("{{", "\\{{"), {})
    assert problems == []
    assert render(parts, {}) == text


@given(hostile)
def test_a_template_is_either_refused_or_rendered_whole(template):
    parts, problems = parse_template(template, INPUTS)
    lines = [problem.line for problem in problems]
    assert lines == sorted(lines)
    assert all(0 <= line <= template.count("\n") for line in lines)
    if not problems:
        # Nothing but placeholders and escapes is taken out of the text.
        assert len(render(parts, {"first": "", "second": ""})) <= len(template)
        filled = render(parts, {"first": "{{first}}", "second": "{{second}}"})
        assert filled.count("{{first}}") >= sum(
            1 for part in parts if not isinstance(part, str) and part.path == ("first",)
        )


@pytest.mark.parametrize("text", ["", "}", "plain", "{ {", "a } } b", "{%{#"])
@given(values=st.dictionaries(st.sampled_from(["first", "second"]), st.text()))
def test_a_text_without_two_braces_is_itself_whatever_the_values(text, values):
    parts, problems = parse_template(text, INPUTS)
    assert (render(parts, values), problems) == (text, [])
