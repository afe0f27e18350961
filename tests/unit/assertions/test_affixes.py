import pytest
from asking import answered, assertion, case, check, refusal, verdict


@pytest.mark.parametrize(
    ("text", "fields", "start", "end"),
    [
        ("refund due", {"value": "refund"}, "passed", "not_at_end"),
        ("due refund", {"value": "refund"}, "not_at_start", "passed"),
        ("refund", {"value": "refund"}, "passed", "passed"),
        ("no", {"value": "refund"}, "not_at_start", "not_at_end"),
        ("", {"value": "refund"}, "not_at_start", "not_at_end"),
        (" refund ", {"value": "refund"}, "not_at_start", "not_at_end"),
        (" refund ", {"value": "refund", "trim": True}, "passed", "passed"),
        ("refund", {"value": " refund"}, "not_at_start", "not_at_end"),
        ("refund", {"value": " refund", "trim": True}, "passed", "passed"),
        ("Refund", {"value": "refund"}, "not_at_start", "not_at_end"),
        ("REFUND", {"value": "refund", "ignoreCase": True}, "passed", "passed"),
        ("STRASSE", {"value": "straße", "ignoreCase": True}, "passed", "passed"),
        ("12", {"value": 12}, "passed", "passed"),
        ("12.0", {"value": 12}, "passed", "passed"),
        ("12 apples", {"value": 12}, "not_json", "not_json"),
        ('"12 apples"', {"value": 12}, "passed", "not_at_end"),
        ("a\ud800", {"value": "a\ud800"}, "passed", "passed"),
        (None, {"value": "a"}, "no_text", "no_text"),
    ],
)
def test_a_text_is_looked_for_at_one_end(text, fields, start, end):
    assert verdict("starts-with", text, **fields) == start
    assert verdict("ends-with", text, **fields) == end


@pytest.mark.parametrize(
    ("member", "value", "result"),
    [
        ('"refund due"', "refund", "passed"),
        ('"due"', "refund", "not_at_start: f"),
        ("12.5", "12", "passed"),
        ("60.0", "60.", "not_at_start: f"),
        ("true", "tr", "passed"),
        ("null", "nu", "passed"),
        ("[]", "a", "not_text: f"),
        ('["a"]', "a", "not_text: f"),
        ("{}", "a", "not_text: f"),
    ],
)
def test_a_part_that_is_no_text_is_spelled_as_json(member, value, result):
    assert verdict("starts-with", f'{{"f": {member}}}', field="f", value=value) == result


@pytest.mark.parametrize("kind", ["starts-with", "ends-with"])
@pytest.mark.parametrize(
    ("text", "result"),
    [
        ('{"f": "guaranteed"}', "at"),
        ('{"f": "sorry"}', "passed"),
        ('{"f": {}}', "not_text: f"),
        ("{}", "missing_field: f"),
        ("sorry", "not_json"),
        (None, "no_text"),
    ],
)
def test_an_answer_that_is_not_there_fails_also_when_negated(kind, text, result):
    got = verdict(kind, text, field="f", value="guaranteed", negate=True)
    assert got == (f"at_{kind.partition('s-')[0]}: f" if result == "at" else result)


def test_what_is_wanted_may_stand_in_the_case():
    one = assertion("starts-with", field="reply")
    assert one.check(answered('{"reply": "Hi Ann"}'), case({"reply": "Hi"})).reason is None
    result = one.check(answered('{"reply": "Yo Ann"}'), case({"reply": "Hi"}))
    assert result.reason == "not_at_start: reply"
    assert result.evidence == {"path": "reply", "expected": "Hi", "got": "Yo Ann"}


@pytest.mark.parametrize(
    ("fields", "expected", "sentence"),
    [
        ({"value": "a"}, (), None),
        ({}, ("a",), None),
        ({}, (7,), None),
        ({}, (), "the case has no `expected`"),
        ({}, ("",), "it looks for an empty text, which is in every text"),
        ({"trim": True}, (" ",), "it looks for an empty text, which is in every text"),
        ({}, (["a"],), "its expected value is not a text"),
        ({}, ({"a": 1},), "its expected value is not a text"),
    ],
)
def test_a_case_that_could_not_fail_is_told(fields, expected, sentence):
    assert assertion("ends-with", **fields).needs(case(*expected)) == sentence


def test_evidence_shows_both_texts():
    assert check("ends-with", "ab", value="a").evidence == {"expected": "a", "got": "ab"}
    negated = check("ends-with", "ab", value="b", negate=True)
    assert (negated.reason, negated.evidence) == ("at_end", {"expected": "b", "got": "ab"})
    extracted = check("starts-with", 'So {"a": "xy"}', field="a", value="x", extract="json")
    assert extracted.evidence == {"extracted": "text"}


@pytest.mark.parametrize("kind", ["starts-with", "ends-with"])
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"value": ""}, "P6202 the assertion looks for an empty text, which is in every text"),
        (
            {"value": " ", "trim": True},
            "P6202 the assertion looks for an empty text, which is in every text",
        ),
        ({"value": ["a"]}, "P6201 `value` must be a text"),
        ({"value": {}}, "P6201 `value` must be a text"),
        ({"value": "a", "expected": "b"}, "P6201 `value` and `expected` exclude each other"),
        ({"value": "a", "field": "/~"}, "P6201 `field`: `/~` is not a JSON Pointer"),
    ],
)
def test_a_spec_that_cannot_work_or_cannot_fail_is_refused(kind, fields, message):
    assert refusal(kind, **fields) == message
