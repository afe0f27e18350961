import pytest
from asking import answered, assertion, case, check, refusal, verdict


@pytest.mark.parametrize(
    ("text", "fields", "result"),
    [
        ("approve", {"values": ["approve", "deny"]}, "passed"),
        ("deny", {"values": ["approve", "deny"]}, "passed"),
        ("Deny", {"values": ["approve", "deny"]}, "not_one_of"),
        ("deny ", {"values": ["approve", "deny"]}, "not_one_of"),
        (" DENY", {"values": ["deny"], "trim": True, "ignoreCase": True}, "passed"),
        ("", {"values": ["", "a"]}, "passed"),
        ('"deny"', {"values": ["deny"]}, "not_one_of"),
        ("1.0", {"values": [1, 2]}, "passed"),
        ("true", {"values": [1]}, "not_one_of"),
        ("null", {"values": [None]}, "passed"),
        ('{"a": 1}', {"values": [{"a": 1.0}]}, "passed"),
        ("deny", {"values": ["deny", 1]}, "not_json"),
        ('"deny"', {"values": ["deny", 1]}, "passed"),
        (None, {"values": ["a"]}, "no_text"),
        ('{"f": "deny"}', {"field": "f", "values": ["deny"]}, "passed"),
        ('{"f": "no"}', {"field": "f", "values": ["deny"]}, "not_one_of: f"),
        ('{"f": 1}', {"field": "f", "values": ["1"]}, "not_one_of: f"),
        ('{"f": [1]}', {"field": "f", "values": ["1", [1]]}, "passed"),
        ("{}", {"field": "f", "values": ["deny"]}, "missing_field: f"),
    ],
)
def test_a_value_is_one_of_several_by_the_rules_of_equals(text, fields, result):
    assert verdict("one-of", text, **fields) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [("approve", "passed"), ("deny", "one_of"), (None, "no_text")],
)
def test_negated_none_of_the_values_passes(text, result):
    assert verdict("one-of", text, values=["deny"], negate=True) == result


def test_the_list_may_stand_in_the_case():
    one = assertion("one-of", expected="fine", trim=True)
    assert one.check(answered("yes "), case({"fine": ["yes", "yeah"]})).reason is None
    result = one.check(answered("no"), case({"fine": ["yes", "yeah"]}))
    assert (result.reason, result.evidence) == (
        "not_one_of",
        {"expected": ["yes", "yeah"], "got": "no"},
    )
    numbers = assertion("one-of")
    assert numbers.check(answered("2.0"), case([1, 2])).reason is None


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        ((), "the case has no `expected`"),
        (("a",), "its expected value is not a list of values"),
        (([],), "its expected value is not a list of values"),
        ((["a"],), None),
    ],
)
def test_a_case_without_a_list_is_told(expected, sentence):
    assert assertion("one-of").needs(case(*expected)) == sentence
    assert assertion("one-of", values=["a"]).needs(case(*expected)) is None


def test_evidence_shows_the_values_and_what_came():
    assert check("one-of", "c", values=["a", "b"]).evidence == {"expected": ["a", "b"], "got": "c"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"values": []}, "P6201 `values` is empty"),
        ({"values": [], "negate": True}, "P6202 `values` is empty"),
        ({"values": ["a"], "expected": "b"}, "P6201 `values` and `expected` exclude each other"),
    ],
)
def test_a_spec_that_cannot_work_or_cannot_fail_is_refused(fields, message):
    assert refusal("one-of", **fields) == message
