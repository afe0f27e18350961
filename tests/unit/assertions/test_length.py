import pytest
from asking import answered, assertion, case, check, refusal, verdict

from proctor.records import Outcome, Usage


@pytest.mark.parametrize(
    ("text", "fields", "result"),
    [
        ("abc", {"min": 3, "max": 3}, "passed"),
        ("ab", {"min": 3}, "too_short"),
        ("abcd", {"max": 3}, "too_long"),
        ("", {"max": 3}, "passed"),
        ("", {"min": 1}, "too_short"),
        ("", {"max": 0}, "passed"),
        ("a", {"max": 0}, "too_long"),
        ("\U0001f44d\U0001f3fd", {"max": 2}, "passed"),
        (" a  b\nc ", {"max": 3, "unit": "words"}, "passed"),
        ("a b c d", {"max": 3, "unit": "words"}, "too_long"),
        ("", {"min": 1, "unit": "words"}, "too_short"),
        (None, {"max": 3}, "no_text"),
        ('{"f": "abcd"}', {"field": "f", "max": 3}, "too_long: f"),
        ('{"f": 1234}', {"field": "f", "max": 3}, "too_long: f"),
        ('{"f": ["a"]}', {"field": "f", "max": 3}, "not_text: f"),
        ("abc", {"max": 3, "negate": True}, "within"),
        ("abcd", {"max": 3, "negate": True}, "passed"),
        (None, {"max": 3, "negate": True}, "no_text"),
    ],
)
def test_a_text_is_neither_too_short_nor_too_long(text, fields, result):
    assert verdict("length", text, **fields) == result


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize("usage", [None, Usage(7, None, None)])
def test_tokens_that_were_not_recorded_give_no_verdict(usage, negate):
    one = assertion("length", unit="tokens", max=5, negate=negate)
    result = one.check(answered("a", usage=usage), case())
    assert (result.outcome, result.reason) == (Outcome.UNMEASURED, "unknown_usage")


@pytest.mark.parametrize("text", ["a", None])
@pytest.mark.parametrize(("tokens", "reason"), [(0, None), (5, None), (6, "too_long")])
def test_tokens_are_those_of_the_whole_answer(tokens, reason, text):
    one = assertion("length", unit="tokens", max=5)
    result = one.check(answered(text, usage=Usage(100, tokens, 0)), case())
    assert result.reason == reason


@pytest.mark.parametrize(
    ("text", "fields", "evidence"),
    [
        ("a", {"min": 2, "max": 9}, {"got": 1, "unit": "chars", "min": 2}),
        ("abc", {"min": 1, "max": 2}, {"got": 3, "unit": "chars", "max": 2}),
        (
            "abc",
            {"min": 1, "max": 2, "unit": "words", "negate": True},
            {"got": 1, "unit": "words", "min": 1, "max": 2},
        ),
        ("a", {"max": 2, "negate": True}, {"got": 1, "unit": "chars", "max": 2}),
        ("", {"min": 1}, {"got": 0, "unit": "chars", "min": 1, "empty_text": True}),
    ],
)
def test_evidence_shows_the_length_and_the_limit_in_question(text, fields, evidence):
    assert check("length", text, **fields).evidence == evidence


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "P6202 every length is within the limits"),
        ({"min": 0}, "P6202 every length is within the limits"),
        ({"min": -1}, "P6201 `min` must be 0 or more"),
        ({"max": -1}, "P6201 `max` must be 0 or more"),
        ({"min": 3, "max": 2}, "P6201 `min` is above `max`, so no length passes"),
        (
            {"max": 2, "unit": "tokens", "field": "f"},
            "P6201 `unit: tokens` counts the whole answer, not what `field` reads",
        ),
        (
            {"max": 2, "unit": "tokens", "extract": "json"},
            "P6201 `unit: tokens` counts the whole answer, not what `extract` reads",
        ),
    ],
)
def test_a_spec_that_cannot_work_or_cannot_fail_is_refused(fields, message):
    assert refusal("length", **fields) == message
