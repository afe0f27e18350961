import math
from types import MappingProxyType

import pytest

from proctor import (
    EvalInputError,
    JsonSchemaScorer,
    ScorerResult,
    ScorerTarget,
    evaluate_deterministic_scorer,
)

PASSED = ScorerResult(1.0, True)
VALUES = {
    "object": {"a": 1},
    "array": [1],
    "string": "1",
    "number": 1.5,
    "integer": 1,
    "boolean": True,
    "null": None,
}


def result(schema, output, **more):
    definition = {"type": "json-schema", "schema": schema, **more}
    return evaluate_deterministic_scorer(definition, ScorerTarget("input", output))


def issues(schema, output):
    got = result(schema, output)
    assert (got.score, got.passed) == (0.0, False)
    assert got.evidence["reason"] == "schema_validation_failed"
    assert set(got.evidence) == {"reason", "issues"}
    return got.evidence["issues"]


def issue(path, reason, **more):
    return {"path": path, "reason": reason, **more}


def wrong_type(path, expected, got):
    return issue(path, "type", expected=expected, got=got)


@pytest.mark.parametrize("wanted", VALUES)
@pytest.mark.parametrize("given", VALUES)
def test_each_type_fits_itself_and_an_integer_is_a_number(wanted, given):
    schema = {"type": wanted}
    if wanted == given or (wanted, given) == ("number", "integer"):
        assert result(schema, VALUES[given]) == PASSED
    else:
        assert issues(schema, VALUES[given]) == [wrong_type("", wanted, given)]


@pytest.mark.parametrize(
    ("wanted", "output"),
    [
        ("integer", 1.0),
        ("integer", -0.0),
        ("integer", 10**30),
        ("integer", 1e300),
        ("number", 1.0),
        ("object", MappingProxyType({})),
        ("array", ()),
    ],
)
def test_a_type_is_that_of_the_value_not_of_its_class(wanted, output):
    assert result({"type": wanted}, output) == PASSED


@pytest.mark.parametrize(
    ("wanted", "output", "got"),
    [
        ("number", True, "boolean"),
        ("integer", False, "boolean"),
        ("integer", 1.5, "number"),
        ("string", 2.0, "integer"),
        ("number", math.nan, "not_json"),
        ("number", math.inf, "not_json"),
        ("string", b"x", "not_json"),
        ("array", {1}, "not_json"),
    ],
)
def test_a_type_that_does_not_fit_is_named(wanted, output, got):
    assert issues({"type": wanted}, output) == [wrong_type("", wanted, got)]


@pytest.mark.parametrize(
    ("schema", "output"),
    [
        ({"const": 1}, 1.0),
        ({"const": None}, None),
        ({"const": {"a": [1], "b": 2}}, {"b": 2, "a": (1,)}),
        ({"enum": [1, "1"]}, "1"),
        ({"enum": ({"a": 1}, [])}, []),
        ({}, object),
        (True, math.nan),
        ({"properties": {"a": True}}, {"a": 1}),
        ({"properties": {"a": False}}, {"b": 1}),
        ({"properties": {"a": {"const": 1}}}, "no object"),
        ({"required": ["a"]}, ["no object"]),
        ({"additionalProperties": False}, 7),
        ({"required": ["a"], "additionalProperties": False, "properties": {"a": {}}}, {"a": 1}),
        ({"additionalProperties": True}, {"a": 1}),
        ({"properties": {"a": {}}}, {"b": 1}),
    ],
)
def test_what_fits(schema, output):
    assert result(schema, output) == PASSED


@pytest.mark.parametrize(
    ("schema", "output", "expected"),
    [
        (False, None, [issue("", "false_schema")]),
        ({"const": 1}, True, [issue("", "const")]),
        ({"const": True}, 1, [issue("", "const")]),
        ({"const": math.nan}, math.nan, [issue("", "const")]),
        ({"enum": [1, None]}, False, [issue("", "enum")]),
        ({"enum": []}, 1, [issue("", "enum")]),
        ({"required": ["a", "a"]}, {}, [issue("/a", "required")]),
        ({"additionalProperties": False}, {"a": 1}, [issue("/a", "additional_properties")]),
        ({"properties": {"a": False}}, {"a": 1}, [issue("/a", "false_schema")]),
        (
            {"type": "string", "const": "x", "enum": ["x"]},
            {"b": 1},
            [issue("", "const"), issue("", "enum"), wrong_type("", "string", "object")],
        ),
        (
            {"properties": {"a": {"properties": {"b": {"type": "null"}}}}},
            {"a": {"b": ""}},
            [wrong_type("/a/b", "null", "string")],
        ),
        (
            {"required": ["~/"], "additionalProperties": False},
            {"a/b": 1, "~": 2, "": 3},
            [
                issue("/", "additional_properties"),
                issue("/a~1b", "additional_properties"),
                issue("/~0", "additional_properties"),
                issue("/~0~1", "required"),
            ],
        ),
        ({"additionalProperties": False}, {7: 1}, [issue("/7", "additional_properties")]),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(schema, output, expected):
    assert issues(schema, output) == expected


def test_the_order_of_issues_does_not_depend_on_the_order_of_keys():
    schema = {
        "required": ["z", "y"],
        "properties": {"c": {"type": "string"}, "b": {"type": "null"}},
        "additionalProperties": False,
    }
    turned = {key: schema[key] for key in reversed(schema)}
    turned["properties"] = {"b": {"type": "null"}, "c": {"type": "string"}}
    turned["required"] = ["y", "z"]
    expected = [
        issue("/a", "additional_properties"),
        wrong_type("/b", "null", "integer"),
        wrong_type("/c", "string", "integer"),
        issue("/y", "required"),
        issue("/z", "required"),
    ]
    assert issues(schema, {"a": 0, "b": 0, "c": 0}) == expected
    assert issues(turned, {"c": 0, "b": 0, "a": 0}) == expected


def test_twenty_issues_are_kept_and_the_rest_is_counted():
    got = result({"additionalProperties": False}, {f"{at:02}": 0 for at in range(25)})
    assert [one["path"] for one in got.evidence["issues"]] == [f"/{at:02}" for at in range(20)]
    assert got.evidence["issues_left_out"] == 5


IGNORED = [
    {"$ref": "#/nowhere"},
    {"oneOf": [False]},
    {"format": "date"},
    {"minimum": 1_000},
    {"maxLength": 0},
    {"pattern": "("},
    {"items": False},
    {"additionalProperties": {"type": "null"}},
    {"additionalproperties": False},
    {"title": "A title"},
]


@pytest.mark.parametrize("schema", IGNORED)
@pytest.mark.parametrize("output", [1, "text", [1], {"a": 1}])
def test_everything_else_is_ignored(schema, output):
    assert result(schema, output) == PASSED
    assert result({"properties": {"a": schema}}, {"a": output}) == PASSED


@pytest.mark.parametrize("schema", IGNORED)
def test_or_refused_when_strict(schema):
    (keyword,) = schema
    for place, whole in (("", schema), ("/properties/a~1b", {"properties": {"a/b": schema}})):
        with pytest.raises(EvalInputError, match=f"`{keyword}`".replace("$", r"\$")) as caught:
            JsonSchemaScorer(whole, strict=True)
        assert ("at `/a~1b`" in caught.value.message) is bool(place)
        assert caught.value.hint == "leave out `strict` to have such keywords ignored"


def test_a_schema_of_the_subset_alone_is_strict():
    schema = {
        "type": "object",
        "properties": {"a": {"const": 1}, "b": {"enum": [1]}, "c": True},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert result(schema, {"a": 1, "b": 1, "c": 1}, strict=True) == PASSED


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (None, "the schema must be a mapping or a boolean, not a `NoneType`"),
        ([], "not a `list`"),
        ("object", "not a `str`"),
        ({"type": ["string", "null"]}, "a `type` that is not one of object, array, string"),
        ({"type": "float"}, "a `type` that is not one of"),
        ({"type": None}, "a `type` that is not one of"),
        ({"enum": "abc"}, "an `enum` that is no list"),
        ({"enum": {"a": 1}}, "an `enum` that is no list"),
        ({"properties": []}, "`properties` that are no mapping"),
        ({"properties": {"a": 7}}, "at `/a` must be a mapping or a boolean, not a `int`"),
        ({"required": "a"}, "a `required` that is no list of names"),
        ({"required": [1]}, "a `required` that is no list of names"),
        ({"additionalProperties": "no"}, "`additionalProperties` other than `false`"),
    ],
)
def test_a_keyword_that_cannot_have_its_value_is_refused(schema, says):
    with pytest.raises(EvalInputError) as caught:
        JsonSchemaScorer(schema)
    assert caught.value.field == "schema"
    assert says in caught.value.message


def test_a_schema_that_never_ends_is_refused():
    schema = {"properties": {}}
    schema["properties"]["again"] = schema
    with pytest.raises(EvalInputError, match="nested deeper than 64"):
        JsonSchemaScorer(schema)


def test_a_schema_that_changes_later_changes_nothing():
    schema = {"enum": [1], "required": ["a"]}
    scorer = JsonSchemaScorer(schema)
    schema["enum"].append(2)
    schema["required"].clear()
    assert not scorer(ScorerTarget("input", 2)).passed


def test_an_output_that_is_json_text_is_a_string():
    assert result({"type": "string"}, '{"a": 1}') == PASSED
