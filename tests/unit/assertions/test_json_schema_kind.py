import pytest
from asking import FakeScope, answered, assertion, case, check, refusal, verdict

from proctor.errors import SuiteError

GOOD = '{"decision": "deny", "reply": "Sorry."}'


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (GOOD, "passed"),
        ('{"reply": "Sorry.", "decision": "deny"}', "passed"),
        ('{"decision": "maybe", "reply": ""}', "schema: decision"),
        ('{"decision": "deny"}', "schema"),
        ('{"decision": "deny", "reply": "", "more": 1}', "schema"),
        ('{"decision": "deny", "reply": 1}', "schema: reply"),
        ("[]", "schema"),
        ("Sorry.", "not_json"),
        (GOOD + " ", "passed"),
        (GOOD + "!", "not_json"),
        (None, "no_text"),
    ],
)
def test_without_a_schema_the_output_contract_of_the_prompt_holds(text, result):
    assert verdict("json-schema", text) == result


@pytest.mark.parametrize(
    ("fields", "text", "result"),
    [
        ({"field": "decision"}, GOOD, "passed"),
        ({"field": "decision"}, '{"decision": 1}', "schema: decision"),
        ({"field": "decision"}, "{}", "missing_field: decision"),
        ({"field": "f", "schema": {"type": "integer"}}, '{"f": 1}', "passed"),
        ({"field": "/f/0", "schema": {"type": "integer"}}, '{"f": [1.0]}', "passed"),
        ({"field": "/f/0", "schema": {"type": "integer"}}, '{"f": [1.5]}', "schema: f[0]"),
        ({"field": "/f/0", "schema": {"required": ["a"]}}, '{"f": [{}]}', "schema: f[0]"),
        (
            {"field": "f", "schema": {"items": {"type": "string"}}},
            '{"f": ["a", 1]}',
            "schema: f[1]",
        ),
    ],
)
def test_a_field_is_checked_alone(fields, text, result):
    assert verdict("json-schema", text, **fields) == result


def test_a_schema_file_is_read_through_the_scope():
    scope = FakeScope(contract=None, files={"a.json": {"type": "array"}})
    one = assertion("json-schema", scope=scope, schemaFile="a.json")
    assert one.check(answered("[]"), case()).reason is None
    assert one.check(answered("{}"), case()).reason == "schema"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (GOOD, "fits"),
        ('{"decision": "maybe", "reply": ""}', "passed"),
        ("Sorry.", "not_json"),
        (None, "no_text"),
    ],
)
def test_negated_an_answer_passes_when_it_is_json_and_does_not_fit(text, result):
    assert verdict("json-schema", text, negate=True) == result


@pytest.mark.parametrize(
    ("fields", "scope", "message"),
    [
        (
            {},
            FakeScope(contract=None),
            "P6201 the prompt has no `output`, so there is no schema to check against",
        ),
        (
            {"field": "other"},
            FakeScope(),
            "P6201 `field`: the prompt's `output` has no `other`",
        ),
        (
            {"field": "/decision"},
            FakeScope(),
            "P6201 `field`: the prompt's `output` has no `/decision`",
        ),
        (
            {"schema": {}, "schemaFile": "a.json"},
            FakeScope(),
            "P6201 `schema` and `schemaFile` exclude each other",
        ),
        ({"schema": []}, FakeScope(), "P6201 a schema must be a mapping or a boolean"),
        ({"schema": None}, FakeScope(), "P6201 a schema must be a mapping or a boolean"),
        (
            {"schemaFile": "a.json"},
            FakeScope(files={"a.json": "text"}),
            "P6201 a schema must be a mapping or a boolean",
        ),
        (
            {"schema": {"properties": {"a": {"type": "strin"}}}},
            FakeScope(),
            "P6201 the schema cannot be used at `properties.a.type`: ",
        ),
        (
            {"schema": {"pattern": "(?=look)ahead"}},
            FakeScope(),
            "P6201 the schema cannot be used at `pattern`: ",
        ),
        (
            {"schema": {"pattern": "(a{1000}){1000}"}},
            FakeScope(),
            "P6201 the schema cannot be used at `pattern`: ",
        ),
        ({"schema": {"const": "\ud800"}}, FakeScope(), "P6201 the schema cannot be used: "),
        ({"schema": {"const": float("nan")}}, FakeScope(), "P6201 the schema holds a number"),
        (
            {"schema": {"format": "no-such-format"}, "formats": True},
            FakeScope(),
            "P6201 the schema cannot be used at `format`: ",
        ),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(fields, scope, message):
    assert refusal("json-schema", scope=scope, **fields).startswith(message)


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize(
    "schema", [True, {}, {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Any"}]
)
def test_a_schema_that_everything_fits_is_refused(schema, negate):
    message = "P6202 the schema fits everything"
    assert refusal("json-schema", schema=schema, negate=negate) == message
    scope = FakeScope(files={"a.json": schema})
    assert refusal("json-schema", scope=scope, schemaFile="a.json", negate=negate) == message


def test_a_schema_that_nothing_fits_is_refused_under_negate():
    assert refusal("json-schema", schema=False, negate=True).startswith("P6202 nothing fits")


@pytest.mark.parametrize(
    ("schema", "hint"),
    [
        ({"typ": "object"}, "did you mean `type`?"),
        ({"title": "A reply", "propertys": {}}, "did you mean `properties`?"),
        ({"decision": "string"}, None),
    ],
)
def test_a_schema_without_a_keyword_is_refused(schema, hint):
    with pytest.raises(SuiteError, match="no keyword that asks for anything") as caught:
        assertion("json-schema", schema=schema)
    assert (caught.value.code, caught.value.hint) == ("P6201", hint)


def test_a_keyword_that_is_not_known_may_stand_beside_others():
    assert verdict("json-schema", "1", schema={"type": "integer", "x-note": 1}) == "passed"


def test_a_refused_pattern_says_what_patterns_can_do():
    with pytest.raises(SuiteError) as caught:
        assertion("json-schema", schema={"pattern": r"(a)\1"})
    assert "back-references" in caught.value.hint


@pytest.mark.parametrize(
    ("draft", "schema", "text", "result"),
    [
        ("http://json-schema.org/draft-04/schema#", {"exclusiveMinimum": True, "minimum": 1}, "1",
         "schema"),
        ("http://json-schema.org/draft-06/schema#", {"exclusiveMinimum": 1}, "1", "schema"),
        ("http://json-schema.org/draft-07/schema", {"if": True, "then": False}, "1", "schema"),
        ("https://json-schema.org/draft/2019-09/schema", {"dependentRequired": {"a": ["b"]}},
         '{"a": 1}', "schema"),
        ("https://json-schema.org/draft/2020-12/schema", {"prefixItems": [{"type": "null"}]},
         "[1]", "schema: [0]"),
        ("http://json-schema.org/draft-07/schema#", {"prefixItems": [{"type": "null"}]},
         "[1]", "passed"),
        ("http://json-schema.org/draft-07/schema#", {"items": [{"type": "null"}]},
         "[1]", "schema: [0]"),
    ],
)  # fmt: skip
def test_a_schema_is_read_in_the_draft_it_names(draft, schema, text, result):
    assert verdict("json-schema", text, schema={"$schema": draft, **schema}) == result


@pytest.mark.parametrize("draft", ["http://json-schema.org/draft-03/schema#", "", 7, "2020-12"])
def test_a_draft_that_is_not_known_is_refused(draft):
    message = refusal("json-schema", schema={"$schema": draft})
    assert message == "P6201 `$schema` names no draft that is supported"


@pytest.mark.parametrize(
    ("draft", "format_", "text"),
    [
        ("https://json-schema.org/draft/2020-12/schema", "date", '"2024-13-40"'),
        ("https://json-schema.org/draft/2020-12/schema", "email", '"nobody"'),
        ("https://json-schema.org/draft/2020-12/schema", "uuid", '"1"'),
        ("http://json-schema.org/draft-07/schema#", "date", '"2024-13-40"'),
        ("http://json-schema.org/draft-07/schema#", "email", '"nobody"'),
    ],
)
def test_formats_are_enforced_only_when_asked(draft, format_, text):
    schema = {"$schema": draft, "format": format_}
    assert verdict("json-schema", text, schema=schema) == "passed"
    assert verdict("json-schema", text, schema=schema, formats=False) == "passed"
    assert verdict("json-schema", text, schema=schema, formats=True) == "schema"


def test_a_format_that_the_draft_does_not_know_is_refused_only_when_formats_are_enforced():
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "format": "uuid"}
    assert verdict("json-schema", '"1"', schema=schema) == "passed"
    assert "Unknown format: 'uuid'" in refusal("json-schema", schema=schema, formats=True)


def test_issues_name_path_keyword_and_message_and_quote_no_value():
    result = check("json-schema", '{"decision": "secret", "reply": 1, "more": 2}')
    assert result.reason == "schema"
    assert result.evidence == {
        "issues": [
            {
                "path": "",
                "reason": "additionalProperties",
                "message": "Additional properties are not allowed ('more' was unexpected)",
            },
            {
                "path": "decision",
                "reason": "enum",
                "message": 'the value is not one of "approve" or "deny"',
            },
            {
                "path": "reply",
                "reason": "type",
                "message": 'the value is not of type "string"',
            },
        ],
    }


def test_issues_are_in_the_order_of_their_places():
    schema = {"items": {"type": "string"}}
    found = check("json-schema", "[0,0,0,0,0,0,0,0,0,0,0,0]", schema=schema).evidence
    assert [issue["path"] for issue in found["issues"]] == [f"[{n}]" for n in range(12)]


def test_at_most_twenty_errors_are_read():
    schema = {"items": {"type": "string"}}
    text = "[" + ",".join("1" * 500) + "]"
    assert len(check("json-schema", text, schema=schema).evidence["issues"]) == 20


def test_of_a_very_large_answer_one_error_is_read():
    schema = {"items": {"type": "string"}}
    text = "[" + ",".join("1" * 100_000) + "]"
    assert len(check("json-schema", text, schema=schema).evidence["issues"]) == 1


@pytest.mark.parametrize(
    ("schema", "text", "result"),
    [
        ({"type": "integer"}, "1" + "0" * 300, "passed"),
        ({"maximum": 10**20}, "1" + "0" * 30, "schema"),
        ({"const": 10**30}, "1" + "0" * 30, "passed"),
        ({"const": 10**30}, "1" + "0" * 29 + "1", "schema"),
        ({"type": "integer"}, "1e300", "passed"),
        ({"type": "integer"}, "1.0", "passed"),
        ({"type": "integer"}, "true", "schema"),
        ({"enum": [1]}, "true", "schema"),
        ({"type": "string"}, '"a\\ud800b"', "passed"),
        ({"maxLength": 3}, '"a\\ud800b"', "passed"),
        ({"type": "integer"}, '"a\\ud800b"', "schema"),
        ({"properties": {"a": {"type": "string"}}}, '{"\\ud800": 1}', "passed"),
        ({"additionalProperties": False}, '{"\\ud800": ["\\udfff"]}', "schema"),
        (False, "1", "schema"),
        ({"type": "array"}, "[" * 64 + "]" * 64, "passed"),
        ({"type": "string"}, "[" * 64 + "]" * 64, "schema"),
        ({"type": "array"}, "[" * 65 + "]" * 65, "not_json"),
    ],
)
def test_values_at_the_edges_are_judged_and_never_raise(schema, text, result):
    assert verdict("json-schema", text, schema=schema) == result


def test_the_evidence_of_long_names_stays_small():
    schema = {"additionalProperties": {"type": "string"}}
    names = ", ".join(f'"{letter * 5_000}": 1' for letter in "abcdefghijklmnopqrstuvwxyz")
    result = check("json-schema", f"{{{names}}}", schema=schema)
    assert len(result.reason) < 250
    assert len(str(result.evidence)) < 5_000
    assert len(result.evidence["issues"]) + result.evidence["issues_left_out"] == 20
