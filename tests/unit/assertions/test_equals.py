import pytest
from asking import answered, assertion, case, check, refusal, verdict

from proctor.records import Outcome, Severity


@pytest.mark.parametrize(
    ("text", "expected", "result"),
    [
        ("yes", "yes", "passed"),
        ("yes ", "yes", "not_equal"),
        ("Yes", "yes", "not_equal"),
        (" yes", " yes", "passed"),
        ("", "", "passed"),
        ('{"a": 1}', {"a": 1}, "passed"),
        ('{"b": 2, "a": 1}', {"a": 1, "b": 2}, "passed"),
        ("1.0", 1, "passed"),
        ("1", 1.0, "passed"),
        ("true", 1, "not_equal"),
        ("1", True, "not_equal"),
        ("0", False, "not_equal"),
        ("null", None, "passed"),
        ("[1, 2]", [2, 1], "not_equal: [0]"),
        ("[1, 2]", [1], "not_equal: [1]"),
        ("[1]", [1, 2], "not_equal: [1]"),
        ('{"a": {"b": 2}}', {"a": {"b": 1}}, "not_equal: a.b"),
        ('{"a": {}}', {"a": {"b": 1}}, "not_equal: a.b"),
        ('{"a": 1, "b": 2}', {"a": 1}, "not_equal: b"),
        ('{"items": [{"title": "x"}]}', {"items": [{"title": "y"}]}, "not_equal: items[0].title"),
        ("9007199254740993", 9007199254740992, "not_equal"),
        ("9007199254740993", 9007199254740992.0, "not_equal"),
        (f"1{'0' * 300}", 10**300, "passed"),
        ("nope", {"a": 1}, "not_json"),
        ('"yes"', "yes", "not_equal"),
        (None, "yes", "no_text"),
        (None, 1, "no_text"),
    ],
)
def test_equality_is_deep_and_knows_types(text, expected, result):
    assert verdict("equals", text, value=expected) == result
    assert verdict("equals", text, expected) == result


def test_text_that_only_looks_the_same_is_not_equal():
    composed, decomposed = "na\u00efve", "nai\u0308ve"
    assert verdict("equals", composed, value=composed) == "passed"
    assert verdict("equals", composed, value=decomposed) == "not_equal"
    assert verdict("equals", composed, value=decomposed, trim=True, ignoreCase=True) == "not_equal"


@pytest.mark.parametrize("text", ["a\0b", "a\u2028b", "\U0001f44d\U0001f3fd", "a\ud800b"])
def test_any_text_can_be_compared(text):
    assert verdict("equals", text, value=text) == "passed"
    assert verdict("equals", text, value="other") == "not_equal"


@pytest.mark.parametrize(
    ("fields", "text", "expected", "result"),
    [
        ({"trim": True}, " yes\n", "\tyes", "passed"),
        ({"trim": True}, "Yes", "yes", "not_equal"),
        ({"ignoreCase": True}, "YES", "yes", "passed"),
        ({"ignoreCase": True}, "STRASSE", "straße", "passed"),
        ({"ignoreCase": True}, " yes", "yes", "not_equal"),
        ({"trim": True, "ignoreCase": True}, " YES ", "yes", "passed"),
        ({"ignoreCase": True}, '{"a": ["YES"]}', {"a": ["yes"]}, "passed"),
        ({"ignoreCase": True}, '{"A": "yes"}', {"a": "yes"}, "not_equal: a"),
    ],
)
def test_text_is_trimmed_and_folded_only_when_asked(fields, text, expected, result):
    assert verdict("equals", text, value=expected, **fields) == result


@pytest.mark.parametrize(
    ("field", "text", "result"),
    [
        ("decision", '{"decision": "deny"}', "passed"),
        ("decision", '{"decision": "approve"}', "not_equal: decision"),
        ("decision", '{"decision": null}', "not_equal: decision"),
        ("decision", '{"other": "deny"}', "missing_field: decision"),
        ("decision", '["deny"]', "missing_field: decision"),
        ("decision", '"deny"', "missing_field: decision"),
        ("decision", "deny", "not_json"),
        ("decision", "", "not_json"),
        ("decision", '{"decision": "deny", "decision": "deny"}', "not_json"),
        ("decision", '```json\n{"decision": "deny"}\n```', "not_json"),
        ("decision", None, "no_text"),
        ("/a/0/b", '{"a": [{"b": "deny"}]}', "passed"),
        ("/a/0/b", '{"a": [{"b": 1}]}', "not_equal: a[0].b"),
        ("/a/0/b", '{"a": []}', "missing_field: a[0].b"),
        ("/a~1b/~0k", '{"a/b": {"~k": "deny"}}', "passed"),
        ("a.b", '{"a.b": "deny"}', "passed"),
        ("a.b", '{"a": {"b": "deny"}}', 'missing_field: ["a.b"]'),
        ("/", '{"": "deny"}', "passed"),
    ],
)
def test_a_field_is_a_name_or_a_pointer(field, text, result):
    assert verdict("equals", text, field=field, value="deny") == result


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "no_text"),
        ("no json", "not_json"),
        ('{"a": 1}', "missing_field: decision"),
        ('{"decision": "deny"}', "equal: decision"),
        ('{"decision": "approve"}', "passed"),
    ],
)
def test_an_answer_that_is_not_there_fails_also_when_negated(text, reason):
    assert verdict("equals", text, field="decision", value="deny", negate=True) == reason


@pytest.mark.parametrize(
    ("fields", "expected", "wanted"),
    [
        ({"value": "v"}, {"decision": "c"}, "v"),
        ({"value": None}, {"decision": "c"}, None),
        ({}, {"decision": "c"}, "c"),
        ({}, {"decision": None}, None),
        ({}, "all of it", "all of it"),
        ({}, ["a", "list"], ["a", "list"]),
        ({"expected": "other"}, {"decision": "c", "other": "o"}, "o"),
        ({"expected": "/deep/0"}, {"deep": ["d"]}, "d"),
    ],
)
def test_where_the_expected_value_comes_from(fields, expected, wanted):
    one = assertion("equals", field="decision", **fields)
    assert one.needs(case(expected)) is None
    result = one.check(answered('{"decision": "not this"}'), case(expected))
    assert result.evidence["expected"] == wanted


@pytest.mark.parametrize(
    ("fields", "expected", "sentence"),
    [
        ({}, (), "the case has no `expected`"),
        ({"field": "a"}, (), "the case has no `expected`"),
        ({"field": "a"}, ({"b": 1},), "the case has no `a` in its `expected`"),
        ({"field": "/a/0"}, ({"a": []},), "the case has no `/a/0` in its `expected`"),
        ({"expected": "a"}, ({"b": 1},), "the case has no `a` in its `expected`"),
        ({"expected": "a"}, ("text",), "the case has no `a` in its `expected`"),
        ({"field": "a"}, ("text",), None),
        ({"field": "a"}, (None,), None),
        ({}, ("",), None),
        ({"value": 1}, (), None),
    ],
)
def test_a_case_that_lacks_the_expected_value_is_told(fields, expected, sentence):
    assert assertion("equals", **fields).needs(case(*expected)) == sentence


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"value": 1, "expected": "a"}, "P6201 `value` and `expected` exclude each other"),
        ({"field": "/a~2"}, "P6201 `field`: `/a~2` is not a JSON Pointer"),
        ({"expected": "/~"}, "P6201 `expected`: `/~` is not a JSON Pointer"),
    ],
)
def test_a_spec_that_cannot_work_is_refused(fields, message):
    assert refusal("equals", **fields) == message


@pytest.mark.parametrize(
    ("text", "expected", "evidence"),
    [
        ('{"a": {"b": 2}}', {"a": {"b": 1}}, {"path": "a.b", "expected": 1, "got": 2}),
        ('{"a": {}}', {"a": {"b": None}}, {"path": "a.b", "expected": None}),
        ('{"a": 1}', {}, {"path": "a", "got": 1}),
        ("[true]", [1], {"path": "[0]", "expected": 1, "got": True}),
        ("no", "yes", {"expected": "yes", "got": "no"}),
        ('{"c d": 1}', {"c d": 2}, {"path": '["c d"]', "expected": 2, "got": 1}),
    ],
)
def test_evidence_names_the_first_place_that_differs(text, expected, evidence):
    assert check("equals", text, value=expected).evidence == evidence


def test_the_path_of_a_difference_starts_with_the_field():
    result = check("equals", '{"items": [{"n": 1}]}', field="/items/0", value={"n": 2})
    assert result.reason == "not_equal: items[0].n"
    assert result.evidence == {"path": "items[0].n", "expected": 2, "got": 1}


def test_a_check_carries_id_kind_and_severity():
    result = check("equals", "no", value="yes", severity="warn")
    assert (result.id, result.kind, result.outcome, result.severity, result.votes) == (
        "it",
        "equals",
        Outcome.FAILED,
        Severity.WARN,
        [],
    )
    assert check("equals", "yes", value="yes", severity="warn").severity is Severity.WARN


def test_a_plain_pass_has_neither_reason_nor_evidence():
    result = check("equals", "yes", value="yes")
    assert (result.outcome, result.reason, result.evidence) == (Outcome.PASSED, None, None)
