import doctest
from decimal import Decimal

import pytest
from asking import answered, assertion, case, check, refusal, verdict
from hypothesis import given
from hypothesis import strategies as st

from proctor.assertions import number
from proctor.assertions.number import first_number, number_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("60", "60"),
        ("60%", "60"),
        ("ANSWER: 60%", "60"),
        ("**60**", "60"),
        ("60.", "60"),
        ("It is 60. Truly.", "60"),
        ("1,234", "1234"),
        ("1,234,567.5", "1234567.5"),
        ("-3", "-3"),
        ("\u22123", "-3"),
        ("+3", "3"),
        ("- 3 apples", "3"),
        ("x=-3", "-3"),
        ("(-3)", "-3"),
        ("$-3$", "-3"),
        ("-$3", "-3"),
        ("$1,234.50", "1234.50"),
        (r"\boxed{42}", "42"),
        ("1.5e3", "1.5E+3"),
        ("1.5E-3", "0.0015"),
        ("1e", "1"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("60kg", "60"),
        ("5 of 7", "5"),
        ("3-5", "3"),
        ("2026-11-30", "2026"),
        ("60 items", "60"),
        ("3 of 5", "3"),
        ("3 million", "3"),
        ("$60", "60"),
        ("60 %", "60"),
        ("*60*", "60"),
        ("5 m\u00b2", "5"),
        ("1: 60", "1"),
        ("2026 100", "2026"),
        ("1\n200", "1"),
        ("60. 100 in all", "60"),
        ("5 - 10", "5"),
        ("0", "0"),
        ("0 x", "0"),
        ("60\u00b0C", "60"),
        ("60^\\circ", "60"),
        ("60^{\\circ}", "60"),
        ("**60** (about)", "60"),
        ("**60** - about 10", "60"),
        ("**60** 10 in all", "60"),
        ("*60* 10 in all", "60"),
        ("B2 is 3", "3"),
        ("GPT-4 says 60", "60"),
        ("v1.2 says 60", "60"),
        ("\u7b54\u6848\u662f60", "60"),
        ("1e-400", "0"),
        ("a, 7", "7"),
        ("one, 7", "7"),
    ],
)
def test_the_first_number_of_a_text_is_read(text, expected):
    assert first_number(text) == Decimal(expected)


OTHER_NOTATIONS = (
    *("1/2", "1 / 2", "1\u20442", "1 1/2", "1\u00bd", "1 \u00bd", r"\frac{1}{2}"),
    *("1 000", "1\u00a0000", "1\u202f000", "1\u2009000", "-1 000 000", r"1\,000", "1{,}000"),
    *("1'000", "1\u2019000", "1_000", "1..2", "1...2", "10:30", "5\u00b2", "5\u207b\u00b9"),
    *(
        "10^5",
        "10 ^ 5",
        "10^{5}",
        "10**5",
        "10 ** 5",
        "1 x 10^5",
        "1\u00d710^5",
        "1 \u00d7 10^5",
        "1*10^5",
        "1x10",
    ),
    *(r"1 \times 10^5", "5\u00b11", "5 \u00b1 1", "5+/-1", "5 +- 1", r"5 \pm 1"),
    *("0x10", "0xFF", "0b1", "1e5e5", "1e5.5", "1e\u22125", "1\u066b5", "1\u00b75"),
    *("1\u0662", "1\uff12", "**1/2**", "ANSWER: 1/2"),
)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "no_number"),
        ("none", "no_number"),
        ("B2", "no_number"),
        ("GPT-4", "no_number"),
        ("-", "no_number"),
        ("\u0663", "no_number"),
        ("1,5", "ambiguous_number"),
        ("12,34", "ambiguous_number"),
        ("1,2345", "ambiguous_number"),
        ("1.234,5", "ambiguous_number"),
        ("1.2.3", "ambiguous_number"),
        ("30.11.2026", "ambiguous_number"),
        *((text, "ambiguous_number") for text in OTHER_NOTATIONS),
        ("1e999", "out_of_range"),
        ("9" * 310, "out_of_range"),
        ("0." + "1" * 4_000, "out_of_range"),
        ("1e" + "9" * 30, "out_of_range"),
    ],
)
def test_what_is_no_number_is_named(text, code):
    assert first_number(text).code == code


@given(st.integers(-(10**15), 10**15) | st.decimals(-1_000_000, 1_000_000, places=3))
def test_a_number_is_read_however_it_is_written(value):
    written = {str(value), f"{value:,}", f"**{value}**", f"Answer: {value}%", f"= {value}."}
    assert {first_number(text) for text in written} == {Decimal(value)}


HOSTILE = {
    "digits": "1" * 1_000_000,
    "groups": "1,111" * 200_000,
    "commas": "1,11," * 200_000,
    "signs": "-" * 1_000_000,
    "money": "-$" * 500_000,
    "words": "a1" * 500_000,
    "dashed words": "a-1" * 300_000,
    "exponents": "1e" * 500_000,
    "points": "." * 1_000_000,
    "a second exponent": "1" + "e5" * 500_000,
    "blanks": "1" + " " * 1_000_000,
    "dots": "1" + "." * 1_000_000,
    "a second number": "1 " + "1" * 1_000_000,
    "fractions": "a1/" * 300_000,
    "groups in a word": "a1,111," * 150_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_is_read_once(text):
    first_number(text)


@pytest.mark.parametrize(
    ("text", "fields", "result"),
    [
        ("60%", {"value": 60}, "passed"),
        ("ANSWER: 60%", {"value": "60%"}, "passed"),
        ("61", {"value": 60}, "not_equal"),
        ("0", {"value": 0}, "passed"),
        ("61", {"value": 60, "abs": 1}, "passed"),
        ("61.5", {"value": 60, "abs": 1}, "outside_tolerance"),
        ("66", {"value": 60, "rel": 0.1}, "passed"),
        ("-66", {"value": -60, "rel": 0.1}, "passed"),
        ("66.1", {"value": 60, "rel": 0.1}, "outside_tolerance"),
        ("61", {"value": 60, "rel": 0.001, "abs": 1}, "passed"),
        ("61", {"value": 60, "rel": 0.1, "abs": 0.5}, "passed"),
        ("0.4", {"value": 0.3, "abs": 0.1}, "passed"),
        ("0.7", {"value": 0.8, "abs": 0.1}, "passed"),
        ("9007199254740993", {"value": 9007199254740992}, "not_equal"),
        ("9007199254740993", {"value": 9007199254740993}, "passed"),
        ("5", {"min": 0, "max": 10}, "passed"),
        ("0", {"min": 0}, "passed"),
        ("-1", {"min": 0}, "below_min"),
        ("10", {"max": 10}, "passed"),
        ("11", {"max": 10}, "above_max"),
        ("5", {"value": 4, "abs": 2, "max": 4.5}, "above_max"),
        ("none", {"value": 60}, "no_number"),
        ("1,5", {"value": 1}, "ambiguous_number"),
        ("1e999", {"min": 0}, "out_of_range"),
        (None, {"value": 60}, "no_text"),
    ],
)
def test_a_number_is_within_its_limits(text, fields, result):
    assert verdict("number", text, **fields) == result


@pytest.mark.parametrize(
    ("member", "result"),
    [
        ("60", "passed"),
        ("60.0", "passed"),
        ('"about 60%"', "passed"),
        ("61", "not_equal: f"),
        ("1" + "0" * 400, "not_equal: f"),
        ("true", "no_number: f"),
        ("null", "no_number: f"),
        ('"none"', "no_number: f"),
        ("[60]", "not_text: f"),
        ("{}", "not_text: f"),
    ],
)
def test_a_field_may_be_a_number_or_a_text(member, result):
    assert verdict("number", f'{{"f": {member}}}', field="f", value=60) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("60", "within"),
        ("61", "passed"),
        ("none", "no_number"),
        ("1,5", "ambiguous_number"),
        (None, "no_text"),
    ],
)
def test_negated_another_number_passes_and_none_fails(text, result):
    assert verdict("number", text, value=60, negate=True) == result


def test_the_expected_number_may_stand_in_the_case():
    one = assertion("number", field="total", abs=0.5)
    assert one.check(answered('{"total": "60.5"}'), case({"total": "60 EUR"})).reason is None
    assert one.needs(case({"total": 60})) is None


@pytest.mark.parametrize(
    ("fields", "expected", "sentence"),
    [
        ({}, (), "the case has no `expected`"),
        ({}, (60,), None),
        ({}, ("60%",), None),
        ({}, ("sixty",), "its expected value has no number that can be read"),
        ({}, (True,), "its expected value has no number that can be read"),
        ({}, ([60],), "its expected value has no number that can be read"),
        ({"abs": 1}, (), "the case has no `expected`"),
        ({"min": 0, "rel": 0.1}, (), "the case has no `expected`"),
        ({"min": 0, "expected": "n"}, ({},), "the case has no `n` in its `expected`"),
        ({"min": 0}, (), None),
        ({"max": 0}, ("sixty",), None),
        ({"value": 60}, (), None),
    ],
)
def test_a_case_that_lacks_the_number_is_told(fields, expected, sentence):
    assert assertion("number", **fields).needs(case(*expected)) == sentence


def test_a_range_alone_does_not_look_at_the_case():
    one = assertion("number", min=0, max=10)
    assert one.check(answered("5"), case(60)).reason is None


@pytest.mark.parametrize(
    ("text", "fields", "evidence"),
    [
        ("61", {"value": 60}, {"expected": 60, "got": 61}),
        ("Say 0.50", {"value": "60%"}, {"expected": "60%", "got": 0.5}),
        (
            "70",
            {"value": 60, "abs": 1, "rel": 0.1},
            {"expected": 60, "got": 70, "abs": 1, "rel": 0.1},
        ),
        ("70", {"value": 60, "abs": 1}, {"expected": 60, "got": 70, "abs": 1}),
        ("-1", {"min": 0}, {"got": -1, "min": 0}),
        ("11", {"max": 10.5}, {"got": 11, "max": 10.5}),
        ("5", {"max": 10, "negate": True}, {"got": 5}),
        ("none", {"value": 60}, {"got": "none"}),
        ('{"f": 2.5}', {"field": "f", "value": 2}, {"path": "f", "expected": 2, "got": 2.5}),
        ("1e300", {"value": 2}, {"expected": 2, "got": 1e300}),
    ],
)
def test_evidence_shows_the_number_that_was_read(text, fields, evidence):
    assert check("number", text, **fields).evidence == evidence


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"value": "sixty"}, "P6201 `value` has no number that can be read"),
        ({"value": True}, "P6201 `value` has no number that can be read"),
        ({"value": None}, "P6201 `value` has no number that can be read"),
        ({"value": [60]}, "P6201 `value` has no number that can be read"),
        ({"value": 1, "abs": -1}, "P6201 `abs` must be 0 or more"),
        ({"value": 1, "rel": -0.1}, "P6201 `rel` must be 0 or more"),
        ({"value": 1, "abs": float("inf")}, "P6201 `abs` must be a number"),
        ({"min": float("nan")}, "P6201 `min` must be a number"),
        ({"min": 2, "max": 1}, "P6201 `min` is above `max`, so no number passes"),
        ({"value": 1, "expected": "a"}, "P6201 `value` and `expected` exclude each other"),
    ],
)
def test_a_spec_that_cannot_work_is_refused(fields, message):
    assert refusal("number", **fields) == message


def test_json_numbers_are_exact():
    assert number_of(10**4_000) == Decimal(10**4_000)
    assert number_of(0.1) == Decimal("0.1")


def test_examples_in_docstrings_hold():
    assert doctest.testmod(number).failed == 0
