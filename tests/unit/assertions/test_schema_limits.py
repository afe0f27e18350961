import pytest
from asking import refusal, verdict

from proctor.assertions.json_schema import compile_schema
from proctor.errors import SuiteError

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


@pytest.mark.parametrize(
    ("schema", "text", "result"),
    [
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}, "1", "schema"),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "null"}}}, "1", "schema"),
        ({"$ref": "#/$defs/a%20b", "$defs": {"a b": {"type": "null"}}}, "1", "schema"),
        ({"$ref": "#x", "$defs": {"a": {"$anchor": "x", "type": "null"}}}, "1", "schema"),
        ({"$ref": "#x", "$defs": {"a": {"$dynamicAnchor": "x", "type": "null"}}}, "1", "schema"),
        (
            {"$schema": DRAFT_7, "$ref": "#x", "definitions": {"a": {"$id": "#x", "type": "null"}}},
            "1",
            "schema",
        ),
        (
            {"$schema": DRAFT_4, "$ref": "#x", "definitions": {"a": {"id": "#x", "type": "null"}}},
            "1",
            "schema",
        ),
        ({"properties": {"a": {"$ref": "#"}}, "type": "object"}, '{"a": 1}', "schema: a"),
        ({"$id": "https://schemas.example/s", "items": {"$ref": "#"}, "maxItems": 1}, "[[]]",
         "passed"),
        ({"properties": {"$ref": {"type": "null"}}}, '{"$ref": 1}', 'schema: ["$ref"]'),
        ({"properties": {"$id": {"type": "null"}}}, '{"$id": 1}', 'schema: ["$id"]'),
        ({"const": {"$ref": "https://schemas.example/s"}}, "1", "schema"),
    ],
)  # fmt: skip
def test_references_within_the_schema_are_followed(schema, text, result):
    assert verdict("json-schema", text, schema=schema) == result


@pytest.mark.parametrize(
    "address",
    [
        "https://schemas.example/s.json",
        "http://127.0.0.1:9/s.json#/a",
        "file:///etc/passwd",
        "other.json",
        "other.json#/a",
        "../other.json",
        "/other.json",
        "",
        "https://json-schema.org/draft/2020-12/schema",
    ],
)
@pytest.mark.parametrize("place", ["top", "below", "recursion"])
def test_a_reference_out_of_the_schema_is_refused(address, place):
    schema = {
        "top": {"$ref": address},
        "below": {"properties": {"a": {"anyOf": [{"items": {"$ref": address}}]}}},
        "recursion": {"$defs": {"a": {"items": {"$ref": "#/$defs/a"}, "not": {"$ref": address}}},
                      "$ref": "#/$defs/a"},
    }[place]  # fmt: skip
    message = refusal("json-schema", schema=schema)
    assert message == f"P6201 `$ref`: `{address}` is not in the schema"


def test_a_reference_out_of_a_part_that_is_not_used_is_refused_too():
    message = refusal("json-schema", schema={"$defs": {"a": {"$ref": "https://schemas.example/s"}}})
    assert message.startswith("P6201 the schema cannot be used: ")


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"$ref": "#/$defs/a"}, "`$ref`: there is no schema at `#/$defs/a`"),
        ({"$ref": "#a"}, "`$ref`: there is no schema at `#a`"),
        ({"$ref": "#/a", "a": 1}, "`$ref`: there is no schema at `#/a`"),
        ({"$dynamicRef": "#a"}, "`$dynamicRef` is not supported"),
        ({"not": {"$recursiveRef": "#"}}, "`$recursiveRef` is not supported"),
        (
            {"$defs": {"a": {"$id": "https://schemas.example/s"}}},
            "a schema within the schema has its own `$id`",
        ),
        (
            {"$schema": DRAFT_4, "items": {"id": "https://schemas.example/s"}},
            "a schema within the schema has its own `id`",
        ),
    ],
)
def test_a_reference_that_leads_nowhere_or_depends_on_the_way_is_refused(schema, message):
    assert refusal("json-schema", schema=schema) == f"P6201 {message}"


ENDLESS = {
    "itself": {"$ref": "#"},
    "all of": {"allOf": [{"$ref": "#"}]},
    "any of": {"anyOf": [{"type": "string"}, {"$ref": "#"}]},
    "not": {"not": {"$ref": "#"}},
    "if": {"if": {"$ref": "#"}},
    "two": {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
    },
    "dependent": {"dependentSchemas": {"a": {"$ref": "#"}}},
    "below": {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"oneOf": [{"$ref": "#/$defs/a"}]}}},
}


@pytest.mark.parametrize("schema", ENDLESS.values(), ids=ENDLESS)
def test_a_schema_that_never_gets_to_the_answer_is_refused(schema):
    message = refusal("json-schema", schema=schema)
    assert message == "P6201 the schema comes back to itself without going into the answer"


def test_beside_a_reference_old_drafts_mean_nothing():
    schema = {
        "$schema": DRAFT_7,
        "$ref": "#/definitions/a",
        "allOf": [{"$ref": "#"}],
        "definitions": {"a": {"type": "null"}},
    }
    assert verdict("json-schema", "1", schema=schema) == "schema"


TREE = {
    "type": "object",
    "required": ["n"],
    "properties": {"children": {"type": "array", "items": {"$ref": "#"}}},
}
BINARY = {
    "required": ["n"],
    "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "n": True},
    "allOf": [True],
}
FILTER = {
    "oneOf": [
        {"required": ["is"], "properties": {"is": {"type": "string"}}},
        {"required": ["and"], "properties": {"and": {"items": {"$ref": "#"}}}},
        {"required": ["or"], "properties": {"or": {"items": {"$ref": "#"}}}},
        {"required": ["not"], "properties": {"not": {"$ref": "#"}}},
    ],
    "additionalProperties": {},
}
PAIRS = {"prefixItems": [{"type": "string"}, {"$ref": "#"}, {"$ref": "#"}], "type": "array"}


@pytest.mark.parametrize(
    ("schema", "text", "result"),
    [
        (TREE, '{"n": 1, "children": [{"n": 2, "children": []}]}', "passed"),
        (TREE, '{"n": 1, "children": [{"n": 2, "children": [{}]}]}', "schema: "
         "children[0].children[0]"),
        (BINARY, '{"n": 1, "left": {"n": 2}, "right": {"n": 1, "left": {"n": 1}}}', "passed"),
        (BINARY, '{"n": 1, "left": {"n": 2}, "right": {"n": 1, "left": {}}}',
         "schema: right.left"),
        (FILTER, '{"and": [{"is": "a"}, {"or": [{"not": {"is": "b"}}]}]}', "passed"),
        (FILTER, '{"and": [{"is": "a"}, {"or": [{"not": {"is": 1}}]}]}', "schema"),
        (PAIRS, '["a", ["b"], ["c", ["d"], ["e"]]]', "passed"),
        (PAIRS, '["a", ["b"], ["c", ["d"], [1]]]', "schema: [2][2][0]"),
    ],
)  # fmt: skip
def test_recursion_into_the_answer_is_followed(schema, text, result):
    assert verdict("json-schema", text, schema=schema) == result


def doubling(levels: int, wrap: str) -> dict:
    """A schema of one node per level that stands for two nodes per level."""
    defs = {}
    for n in range(levels):
        ref = {"$ref": f"#/$defs/a{n + 1}"}
        both = {"a": ref, "b": ref} if wrap == "properties" else [ref, ref]
        defs[f"a{n}"] = {wrap: both}
    return {"$ref": "#/$defs/a0", "$defs": {**defs, f"a{levels}": {"type": "string"}}}


@pytest.mark.parametrize("wrap", ["allOf", "anyOf", "oneOf", "properties", "prefixItems"])
def test_references_that_stand_for_too_many_nodes_are_refused(wrap):
    assert compile_schema(doubling(8, wrap), formats=False)
    message = refusal("json-schema", schema=doubling(30, wrap))
    assert message == "P6201 the schema has over 10,000 nodes with its `$ref`s followed"


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]},
        {"anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]},
        {"properties": {"a": {"$ref": "#"}}, "patternProperties": {"^a": {"$ref": "#"}}},
        {
            "$ref": "#/$defs/a",
            "$defs": {
                "a": {"items": {"$ref": "#/$defs/b"}},
                "b": {
                    "allOf": [{"items": {"$ref": "#/$defs/a"}}, {"items": {"$ref": "#/$defs/b"}}]
                },
            },
        },
    ],
)
def test_a_recursion_that_multiplies_is_refused(schema):
    assert "recursion doubles its work" in refusal("json-schema", schema=schema)


def test_a_recursion_beside_other_branches_does_not_multiply():
    schema = {
        "anyOf": [
            {"properties": {"a": {"type": "string"}}},
            {"properties": {"a": {"$ref": "#"}}},
        ]
    }
    assert verdict("json-schema", '{"a": {"a": {"a": 1}}}', schema=schema) == "passed"


def chain(levels: int) -> dict:
    defs = {f"a{n}": {"items": {"$ref": f"#/$defs/a{n + 1}"}} for n in range(levels)}
    return {"$ref": "#/$defs/a0", "$defs": {**defs, f"a{levels}": {"type": "string"}}}


def test_references_deeper_than_an_answer_can_be_are_refused():
    assert compile_schema(chain(30), formats=False)
    message = refusal("json-schema", schema=chain(64))
    assert message == "P6201 the schema is deeper than 64 with its `$ref`s followed"


def test_a_schema_of_more_than_256_kib_is_refused():
    schema = {"enum": ["x" * 262_144]}
    message = refusal("json-schema", schema=schema)
    assert message == "P6201 the schema has 262,157 bytes of JSON; the limit is 262,144"
    schema = {"enum": ["x" * 262_000]}
    assert compile_schema(schema, formats=False)


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": 1},
        {"allOf": [1]},
        {"properties": [1]},
        {"items": 1},
        {"$ref": 1},
        {"$defs": []},
        {"not": "text"},
        {"patternProperties": None},
    ],
)
def test_a_value_that_is_no_schema_is_refused_by_its_place(schema):
    with pytest.raises(SuiteError) as caught:
        compile_schema(schema, formats=False)
    assert caught.value.code == "P6201"
