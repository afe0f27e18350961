import json
from pathlib import Path

import pytest

from proctor.contracts import contract_faults, input_faults, json_schema, with_defaults
from proctor.records import FieldSpec

REQUESTS = Path(__file__).parents[1] / "data" / "review_sentiment_requests.jsonl"


def field(type="string", **attributes):
    return FieldSpec(type=type, **attributes)


def enum(*options, **attributes):
    return field("enum", options=list(options), **attributes)


def faults(spec, value):
    """The faults of one value, spelled as a reader sees them."""
    return [f"{place} {fault}" for place, fault in input_faults({"x": spec}, {"x": value})]


@pytest.mark.parametrize(
    ("type_", "fitting"),
    [
        ("string", ["", "text", "1", "\ud800"]),
        ("number", [0, -1, 1.5, 1e300, 2**70]),
        ("integer", [0, -1, 2**70, 1.0, -0.0, 1e21]),
        ("boolean", [True, False]),
        ("list", [[], [1, "a", None, [[]]]]),
        ("object", [{}, {"a": {"b": None}}]),
    ],
)
def test_a_value_of_its_type_fits(type_, fitting):
    for value in fitting:
        assert faults(field(type_), value) == []


@pytest.mark.parametrize(
    ("type_", "wanted", "refused"),
    [
        ("string", "a string", [1, 1.5, True, None, [], {}]),
        ("number", "a number", ["1", True, False, None, [], {}]),
        ("integer", "an integer", [1.5, -0.1, "1", True, None, [], {}]),
        ("boolean", "a boolean", [0, 1, "true", None, [], {}]),
        ("enum", "one of its options", [0, True, None, [], {}]),
        ("list", "a list", ["[]", {}, 1, None]),
        ("object", "an object", ["{}", [], 1, None]),
    ],
)
def test_a_value_of_another_type_is_a_fault(type_, wanted, refused):
    spec = enum("a", "b") if type_ == "enum" else field(type_)
    names = {type(None): "null", bool: "a boolean", str: "a string", list: "a list"}
    for value in refused:
        got = names.get(type(value), "a mapping" if value == {} else "a number")
        assert faults(spec, value) == [f"inputs.x must be {wanted}, not {got}"]


def test_an_enum_takes_its_options_to_the_letter():
    spec = enum("yes", "no")
    assert faults(spec, "yes") == []
    for value in ("Yes", "yes ", "", "maybe"):
        assert faults(spec, value) == ["inputs.x must be one of yes, no"]


@pytest.mark.parametrize(
    ("spec", "longest", "too_long"),
    [
        (field(max_length=3), "abc", "abcd"),
        (field(max_length=3), "👍👍👍", "👍👍👍👍"),
        (field("list", max_length=2), [1, 2], [1, 2, 3]),
    ],
)
def test_max_length_counts_characters_or_members(spec, longest, too_long):
    assert faults(spec, longest) == []
    assert faults(spec, too_long) == [f"inputs.x is longer than {spec.max_length}"]


def test_members_of_a_list_are_checked_one_by_one():
    spec = field("list", items=field("list", items=field("integer")))
    assert faults(spec, [[1], [], [2, 3.0]]) == []
    assert faults(spec, [[1, "2"], 3, [True]]) == [
        "inputs.x[0][1] must be an integer, not a string",
        "inputs.x[1] must be a list, not a number",
        "inputs.x[2][0] must be an integer, not a boolean",
    ]


def test_fields_of_an_object_are_checked_at_every_depth():
    spec = field(
        "object",
        fields={
            "street": field(),
            "geo": field("object", fields={"lat": field("number")}, optional=True),
        },
    )
    assert faults(spec, {"street": "Main"}) == []
    assert faults(spec, {"street": 7, "geo": {"lat": "50", "long": 7}, "zip": "1"}) == [
        "inputs.x.street must be a string, not a number",
        "inputs.x.geo.lat must be a number, not a string",
        "inputs.x.geo.long is not declared in the prompt's inputs",
        "inputs.x.zip is not declared in the prompt's inputs",
    ]
    assert faults(spec, {"geo": {}}) == [
        "inputs.x.street is missing",
        "inputs.x.geo.lat is missing",
    ]


def test_objects_and_lists_without_a_declared_shape_take_anything():
    assert faults(field("object"), {"a": [None, {"b": 1}]}) == []
    assert faults(field("list"), [None, {"b": 1}]) == []


def test_only_a_default_or_optional_excuses_an_absent_input():
    fields = {
        "needed": field(),
        "described": field(optional=False),
        "spare": field(optional=True),
        "filled": field(default=""),
    }
    assert list(input_faults(fields, {})) == [
        ("inputs.needed", "is missing"),
        ("inputs.described", "is missing"),
    ]
    assert list(input_faults(fields, {"needed": "a", "described": "b"})) == []


def test_null_is_a_value_and_not_an_absence():
    assert faults(field(optional=True), None) == ["inputs.x must be a string, not null"]
    assert faults(field(default="a"), None) == ["inputs.x must be a string, not null"]


def test_an_undeclared_input_is_named_but_a_long_name_is_cut():
    assert list(input_faults({}, {"reveiw": "a"})) == [
        ("inputs.reveiw", "is not declared in the prompt's inputs")
    ]
    ((place, _),) = input_faults({}, {"k" * 1_000_000: "a"})
    assert place.startswith("inputs.kkk")
    assert len(place) < 120


def test_no_fault_quotes_a_value():
    secret = "sk-test-000111222333"  # noqa: S105 - a value that must not be shown
    fields = {
        "number": field("number"),
        "choice": enum("a", "b"),
        "short": field(max_length=3),
        "members": field("list", items=field("integer")),
        "holder": field("object", fields={"flag": field("boolean")}),
    }
    inputs = {
        "number": secret,
        "choice": secret,
        "short": secret,
        "members": [secret],
        "holder": {"flag": secret, "other": secret},
        "undeclared": secret,
    }
    found = list(input_faults(fields, inputs))
    assert len(found) == 7
    assert secret not in str(found)


def test_a_case_with_very_many_faults_is_told_one_by_one():
    told = input_faults({"x": field("list", items=field())}, {"x": [1] * 500_000})
    assert next(told) == ("inputs.x[0]", "must be a string, not a number")


@pytest.mark.parametrize(
    ("fields", "inputs", "filled"),
    [
        ({"a": field(default="d")}, {}, {"a": "d"}),
        ({"a": field(default="d")}, {"a": ""}, {"a": ""}),
        ({"a": field("boolean", default=False)}, {}, {"a": False}),
        ({"a": field("list", default=[])}, {}, {"a": []}),
        ({"a": field(optional=True), "b": field(default="d")}, {}, {"b": "d"}),
        ({"a": field(optional=True, default="d")}, {}, {"a": "d"}),
        (
            {"a": field("object", fields={"b": field(default="d"), "c": field()})},
            {"a": {"c": "x"}},
            {"a": {"b": "d", "c": "x"}},
        ),
        (
            {"a": field("object", fields={"b": field(default="d")}, default={})},
            {},
            {"a": {"b": "d"}},
        ),
        (
            {"a": field("object", fields={"b": field(default="d")}, optional=True)},
            {},
            {},
        ),
        (
            {"a": field("list", items=field("object", fields={"b": field(default="d")}))},
            {"a": [{}, {"b": "x"}]},
            {"a": [{"b": "d"}, {"b": "x"}]},
        ),
        (
            {
                "a": field(
                    "list",
                    items=field(
                        "list", items=field("object", fields={"b": field("integer", default=1)})
                    ),
                )
            },
            {"a": [[{}], []]},
            {"a": [[{"b": 1}], []]},
        ),
    ],
)
def test_defaults_are_filled_in_at_every_depth(fields, inputs, filled):
    assert list(input_faults(fields, inputs)) == []
    before = json.dumps(inputs)
    assert with_defaults(fields, inputs) == filled
    assert json.dumps(inputs) == before


def test_inputs_of_a_contract_without_defaults_are_not_copied():
    fields = {"a": field("object", fields={"b": field(optional=True)}), "c": field("list")}
    inputs = {"a": {}, "c": []}
    assert with_defaults(fields, inputs) is inputs


@pytest.mark.parametrize(
    ("spec", "place", "fault"),
    [
        (field("enum"), ("f",), "an enum needs `options`"),
        (field(options=["a"]), ("f", "options"), "`options` goes with type enum only"),
        (field("number", options=["1"]), ("f", "options"), "`options` goes with type enum only"),
        (field(items=field()), ("f", "items"), "`items` goes with type list only"),
        (field("list", fields={}), ("f", "fields"), "`fields` goes with type object only"),
        (
            field("number", max_length=3),
            ("f", "maxLength"),
            "`maxLength` goes with type string or list only",
        ),
        (
            field("enum", options=["a"], max_length=3),
            ("f", "maxLength"),
            "`maxLength` goes with type string or list only",
        ),
        (field(default=3), ("f", "default"), "`default` must be a string, not a number"),
        (field(default=None), ("f", "default"), "`default` must be a string, not null"),
        (
            field("number", default=True),
            ("f", "default"),
            "`default` must be a number, not a boolean",
        ),
        (enum("a", "b", default="c"), ("f", "default"), "`default` must be one of a, b"),
        (field(max_length=2, default="abc"), ("f", "default"), "`default` is longer than 2"),
        (
            field("list", items=field(), default=["a", 1]),
            ("f", "default"),
            "`default[1]` must be a string, not a number",
        ),
        (
            field("object", fields={"a": field()}, default={}),
            ("f", "default"),
            "`default.a` is missing",
        ),
        (field("list", items=field("enum")), ("f", "items"), "an enum needs `options`"),
        (
            field("object", fields={"a": field("object", fields={"b": field("enum")})}),
            ("f", "fields", "a", "fields", "b"),
            "an enum needs `options`",
        ),
        (
            field("list", items=field("object", fields={"a": field(default=1)})),
            ("f", "items", "fields", "a", "default"),
            "`default` must be a string, not a number",
        ),
    ],
)
def test_a_contract_that_makes_no_sense_is_a_fault_at_its_place(spec, place, fault):
    assert list(contract_faults({"f": spec}, ())) == [(place, fault)]


def test_a_contract_that_uses_every_attribute_has_no_fault():
    fields = {
        "a": field(description="d", max_length=3, default="abc", optional=True),
        "b": enum("x", "y", default="y"),
        "c": field("list", items=enum("x"), max_length=2, default=["x"]),
        "d": field("object", fields={"e": field("integer", default=2.0)}, default={}),
    }
    assert list(contract_faults(fields, ("inputs",))) == []


def test_faults_of_a_contract_stand_below_the_path_they_are_given():
    fields = {"a": field("enum"), "b": field("enum")}
    places = [place for place, _ in contract_faults(fields, ("output",))]
    assert places == [("output", "a"), ("output", "b")]


def test_output_contract_is_spelled_as_the_recorded_requests_spell_it():
    schemas = {
        json.dumps(json.loads(line)["request"]["response_format"]["schema"])
        for line in REQUESTS.read_text(encoding="utf-8").splitlines()
    }
    ours = json_schema({"label": enum("positive", "negative", description="not sent")})
    assert schemas == {json.dumps(ours)}


@pytest.mark.parametrize(
    ("spec", "schema"),
    [
        (field(), {"type": "string"}),
        (field(max_length=5), {"type": "string", "maxLength": 5}),
        (field("number"), {"type": "number"}),
        (field("integer"), {"type": "integer"}),
        (field("boolean"), {"type": "boolean"}),
        (enum("a", "b"), {"enum": ["a", "b"]}),
        (field("list"), {"type": "array"}),
        (
            field("list", items=enum("a"), max_length=2),
            {"type": "array", "items": {"enum": ["a"]}, "maxItems": 2},
        ),
        (field("object"), {"type": "object"}),
        (
            field("object", fields={"a": field(), "b": field(optional=True)}),
            {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "required": ["a"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_a_field_as_json_schema(spec, schema):
    assert json.dumps(json_schema({"f": spec})["properties"]["f"]) == json.dumps(schema)


def test_every_field_is_required_unless_optional():
    fields = {
        "b": field(),
        "a": field(default="d"),
        "c": field(optional=True, description="d"),
        "d": field(optional=False),
    }
    schema = json_schema(fields)
    assert schema["required"] == ["b", "a", "d"]
    assert list(schema["properties"]) == ["b", "a", "c", "d"]
    assert schema["additionalProperties"] is False
    assert "description" not in json.dumps(schema)
