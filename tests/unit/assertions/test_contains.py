import pytest
from asking import answered, assertion, case, check, refusal, verdict


@pytest.mark.parametrize(
    ("text", "fields", "result"),
    [
        ("a refund is due", {"value": "refund"}, "passed"),
        ("a Refund is due", {"value": "refund"}, "not_found"),
        ("a Refund is due", {"value": "refund", "ignoreCase": True}, "passed"),
        ("refund", {"value": " refund "}, "not_found"),
        ("refund", {"value": " refund ", "trim": True}, "passed"),
        ("a b c", {"values": ["a", "c"]}, "passed"),
        ("a b", {"values": ["a", "c"]}, "not_found"),
        ("a b", {"values": ["a", "c"], "mode": "any"}, "passed"),
        ("x", {"values": ["a", "c"], "mode": "any"}, "not_found"),
        ("a b c", {"value": ["a", "c"]}, "passed"),
        ("", {"value": "a"}, "not_found"),
        (None, {"value": "a"}, "no_text"),
        ("[1, 2]", {"value": 2}, "passed"),
        ("[1, 12]", {"value": 2}, "not_found"),
        ("12", {"value": 2}, "passed"),
        ("2 apples", {"value": 2}, "not_json"),
        ("[true]", {"value": 1}, "not_found"),
    ],
)
def test_texts_are_found_in_a_text(text, fields, result):
    assert verdict("contains", text, **fields) == result


@pytest.mark.parametrize(
    ("member", "value", "result"),
    [
        ("12", "2", "passed"),
        ("1.5", ".5", "passed"),
        ("60.0", "60.0", "not_found: f"),
        ("true", "tru", "passed"),
        ("null", "null", "passed"),
        ("{}", "a", "not_text: f"),
        ('{"a": 1}', "a", "not_text: f"),
        ('["refund", "sorry"]', "refund", "passed"),
        ('["refunds"]', "refund", "not_found: f"),
        ("[1, 2]", "2", "not_found: f"),
        ("[1, 2]", 2, "passed"),
        ("[1, 2]", 2.0, "passed"),
        ("[1, true]", True, "passed"),
        ("[1]", True, "not_found: f"),
        ('[{"a": 1}]', {"a": 1.0}, "passed"),
        ("[]", "a", "not_found: f"),
        ('"text"', {"a": 1}, "not_text: f"),
        ("[null]", None, "passed"),
    ],
)
def test_other_values_are_spelled_as_json_and_lists_are_looked_into(member, value, result):
    assert verdict("contains", f'{{"f": {member}}}', field="f", value=value) == result


def test_members_of_a_list_are_folded_when_asked():
    fields = {"field": "f", "value": "refund", "ignoreCase": True, "trim": True}
    assert verdict("contains", '{"f": [" REFUND"]}', **fields) == "passed"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ('{"f": "guaranteed"}', "found: f"),
        ('{"f": "sorry"}', "passed"),
        ('{"f": {}}', "not_text: f"),
        ("{}", "missing_field: f"),
        ("sorry", "not_json"),
        (None, "no_text"),
    ],
)
def test_an_answer_that_is_not_there_fails_also_when_negated(text, result):
    assert verdict("contains", text, field="f", value="guarantee", negate=True) == result


@pytest.mark.parametrize(
    ("text", "fields", "evidence"),
    [
        ("a", {"values": ["a", "b", "c"]}, {"expected": ["b", "c"], "got": "a"}),
        ("a", {"values": ["a", "b"]}, {"expected": "b", "got": "a"}),
        ("x", {"values": ["a", "b"], "mode": "any"}, {"expected": ["a", "b"], "got": "x"}),
        ("ab", {"values": ["a", "c"], "mode": "any", "negate": True}, {"got": "a"}),
        ('["b"]', {"value": "a", "extract": "json"}, {"expected": "a", "got": ["b"]}),
    ],
)
def test_evidence_names_what_is_missing_or_what_was_found(text, fields, evidence):
    found = dict(check("contains", text, **fields).evidence)
    found.pop("extracted", None)
    assert found == evidence


@pytest.mark.parametrize("value", [[], "", ["a", ""], [[]]])
def test_the_expected_value_of_a_case_may_be_a_list(value):
    one = assertion("contains")
    if value == [[]]:
        assert one.needs(case(value)) is None
    else:
        assert one.needs(case(value)).startswith("it ")


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        ((), "the case has no `expected`"),
        (("",), "it looks for an empty text, which is in every text"),
        ((["a", ""],), "it looks for an empty text, which is in every text"),
        (([],), "it has nothing to look for"),
        (("a",), None),
        ((["a", "b"],), None),
        ((None,), None),
    ],
)
def test_a_case_that_could_not_fail_is_told(expected, sentence):
    assert assertion("contains").needs(case(*expected)) == sentence


def test_a_given_value_needs_nothing_of_a_case():
    assert assertion("contains", value="a").needs(case()) is None
    assert assertion("contains", values=["a"]).needs(case()) is None


def test_the_expected_value_of_each_case_is_looked_for():
    one = assertion("contains")
    assert one.check(answered("a b"), case(["a", "b"])).reason is None
    assert one.check(answered("a b"), case("c")).reason == "not_found"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"value": "a", "values": ["b"]}, "P6201 `values` and `value` exclude each other"),
        ({"values": ["b"], "expected": "x"}, "P6201 `values` and `expected` exclude each other"),
        ({"value": "b", "expected": "x"}, "P6201 `value` and `expected` exclude each other"),
        ({"values": []}, "P6202 the assertion has nothing to look for"),
        ({"value": []}, "P6202 the assertion has nothing to look for"),
        ({"value": ""}, "P6202 the assertion looks for an empty text, which is in every text"),
        (
            {"values": ["a", ""], "mode": "any"},
            "P6202 the assertion looks for an empty text, which is in every text",
        ),
        (
            {"value": " ", "trim": True},
            "P6202 the assertion looks for an empty text, which is in every text",
        ),
    ],
)
def test_a_spec_that_cannot_work_or_cannot_fail_is_refused(fields, message):
    assert refusal("contains", **fields) == message
