import doctest

import pytest
from asking import answered, assertion, case, check, refusal, verdict

from proctor.assertions import choice
from proctor.assertions.choice import Options

ABCD = ["A", "B", "C", "D"]


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("B", ["B"]),
        ("(B)", ["B"]),
        ("**B**", ["B"]),
        ("$B$", ["B"]),
        ("B.", ["B"]),
        (r"\boxed{B}", ["B"]),
        ("Answer: B", ["B"]),
        ("Answer:B\n", ["B"]),
        ("_B_", ["B"]),
        ("[B]", ["B"]),
        ("'B'", ["B"]),
        ("B, since it is so", ["B"]),
        ("B: because\nB", ["B"]),
        ("2.B", ["B"]),
        ("\u7b54\u6848\u662fB\u3002", ["B"]),
        ("B\uc785\ub2c8\ub2e4", ["B"]),
        ("", []),
        ("b", []),
        ("Because", []),
        ("AB", []),
        ("B2", []),
        ("B-cell", []),
        ("non-B", []),
        ("B's", []),
        ("don\u2019B", []),
        ("E", []),
        ("A or B", ["A", "B"]),
        ("A good answer is B", ["A", "B"]),
        ("A B C D", ["A", "B"]),
    ],
)
def test_an_option_counts_where_it_stands_alone(text, chosen):
    assert Options(ABCD).standing_in(text) == chosen


@pytest.mark.parametrize(
    ("options", "text", "chosen"),
    [
        (["relevant", "not relevant"], "It is not relevant.", ["not relevant"]),
        (["relevant", "not relevant"], "It is relevant.", ["relevant"]),
        (
            ["relevant", "not relevant"],
            "not relevant, no: relevant",
            ["not relevant", "relevant"],
        ),
        (["relevant", "not relevant"], "irrelevant", []),
        (["C", "C++", "C#"], "I like C++.", ["C++"]),
        (["C", "C++", "C#"], "C and nothing else", ["C"]),
        (["1", "2", "15"], "1.5", []),
        (["1", "2"], "2,1", []),
        (["1", "2"], "2, not more", ["2"]),
        (["1", "2"], "-1", []),
        (["1", "2"], "\u22121", []),
        (["1", "-1"], "-1", ["-1"]),
        (["1", "2"], "1%", ["1"]),
        (["1", "2"], "12", []),
        (["yes", "no"], "no-one", []),
        (["yes", "no"], "no", ["no"]),
        (["\u662f", "\u5426"], "\u4e0d\u662f", []),
        (["\u662f", "\u5426"], "\u7b54\u6848\uff1a\u662f\u3002", ["\u662f"]),
    ],
)
def test_options_of_several_characters(options, text, chosen):
    assert Options(options).standing_in(text) == chosen


HOSTILE = {
    "one word": "A" * 1_000_000,
    "many words": "xA" * 300_000,
    "dashes": "A-" * 300_000,
    "nothing": "x" * 1_000_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_chooses_nothing(text):
    assert Options(ABCD).standing_in(text) == []


def test_options_that_begin_alike_do_not_multiply_the_work():
    options = [f"{'a ' * count}b" for count in range(1, 100)]
    assert Options(options).standing_in("a " * 300_000) == []
    options = [f"{'a ' * count}a" for count in range(100)]
    assert Options(options).standing_in("a " * 300_000) == [options[-1]]


@pytest.mark.parametrize(
    ("text", "fields", "result"),
    [
        ("Answer: B", {"value": "B"}, "passed"),
        ("Answer: C", {"value": "B"}, "other_choice"),
        ("B or C", {"value": "B"}, "two_choices"),
        ("dunno", {"value": "B"}, "no_choice"),
        ("answer: b", {"value": "B"}, "no_choice"),
        ("answer: b", {"value": "B", "ignoreCase": True}, "passed"),
        ("(B)", {"value": " B ", "trim": True}, "passed"),
        (None, {"value": "B"}, "no_text"),
        ('{"f": "(B)"}', {"field": "f", "value": "B"}, "passed"),
        ('{"f": ["B"]}', {"field": "f", "value": "B"}, "not_text: f"),
        ('{"f": "x"}', {"field": "f", "value": "B"}, "no_choice: f"),
        ("B", {"value": "B", "negate": True}, "chosen"),
        ("C", {"value": "B", "negate": True}, "passed"),
        ("B or C", {"value": "B", "negate": True}, "two_choices"),
        ("dunno", {"value": "B", "negate": True}, "no_choice"),
        (None, {"value": "B", "negate": True}, "no_text"),
    ],
)
def test_no_choice_is_neither_right_nor_wrong(text, fields, result):
    assert verdict("choice", text, options=ABCD, **fields) == result


def test_options_may_be_numbers_and_booleans():
    assert verdict("choice", "It is (2)", options=[1, 2], value=2) == "passed"
    assert verdict("choice", '{"f": 2}', field="f", options=[1, 2], value=2) == "passed"
    assert verdict("choice", "That is true", True, options=[True, False]) == "passed"


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        ((), "the case has no `expected`"),
        (("B",), None),
        (("b",), "its expected value is none of the options"),
        ((["B"],), "its expected value is none of the options"),
    ],
)
def test_a_case_without_an_option_is_told(expected, sentence):
    assert assertion("choice", options=ABCD).needs(case(*expected)) == sentence


def test_evidence_shows_what_was_chosen():
    wrong = check("choice", "(C)", options=ABCD, value="B")
    assert wrong.evidence == {"expected": "B", "got": "C"}
    assert check("choice", "?", options=ABCD, value="B").evidence == {"got": "?"}
    one = assertion("choice", options=ABCD, negate=True)
    assert one.check(answered("(C)"), case("C")).evidence == {"got": "C"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"options": []}, "P6201 `options` has 0 of the 2 to 100 there may be"),
        ({"options": ["A"]}, "P6201 `options` has 1 of the 2 to 100 there may be"),
        (
            {"options": list(range(101))},
            "P6201 `options` has 101 of the 2 to 100 there may be",
        ),
        ({"options": ["A", ""]}, "P6201 `options`: each must be a text that is not empty"),
        (
            {"options": ["A", " "], "trim": True},
            "P6201 `options`: each must be a text that is not empty",
        ),
        ({"options": ["A", ["B"]]}, "P6201 `options`: each must be a text that is not empty"),
        ({"options": ["A", "A"]}, "P6201 `options`: two of them are the same"),
        ({"options": ["A", "a"], "ignoreCase": True}, "P6201 `options`: two of them are the same"),
        ({"options": ["1", 1]}, "P6201 `options`: two of them are the same"),
        ({"value": "E"}, "P6201 `value` is none of `options`, so no answer passes"),
        ({"value": {}}, "P6201 `value` is none of `options`, so no answer passes"),
        ({"value": "A", "expected": "x"}, "P6201 `value` and `expected` exclude each other"),
    ],
)
def test_a_spec_that_cannot_work_is_refused(fields, message):
    assert refusal("choice", **{"options": ABCD, **fields}) == message


def test_examples_in_docstrings_hold():
    assert doctest.testmod(choice).failed == 0
