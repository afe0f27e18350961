import doctest

import pytest
from asking import answered, assertion, case, refusal, verdict

from proctor.assertions import tool_calls
from proctor.records import Finish, Outcome, ToolCall

PARIS = {"name": "weather", "args": {"city": "Paris", "days": 2}}
BOOK = {"name": "book", "args": {}}


def call(written):
    return ToolCall(None, written["name"], written.get("args", {}))


def asked(made, *, text=None, **fields):
    one = assertion("tool-calls", **fields)
    return one.check(answered(text, Finish.TOOL_CALLS, calls=[call(one) for one in made]), case())


def reason(made, **fields):
    return asked(made, **fields).reason


@pytest.mark.parametrize(
    ("made", "fields", "result"),
    [
        ([PARIS], {"calls": [PARIS]}, None),
        ([PARIS], {"calls": [{"name": "weather"}]}, None),
        ([PARIS], {"calls": [BOOK]}, "other_call: tool_calls[0].name"),
        ([PARIS, BOOK], {"calls": [PARIS, BOOK]}, None),
        ([PARIS, BOOK], {"calls": [BOOK, PARIS]}, "other_call: tool_calls[0].name"),
        ([PARIS, BOOK], {"calls": [BOOK, PARIS], "order": "any"}, None),
        ([PARIS, PARIS], {"calls": [PARIS, BOOK], "order": "any"}, "call_missing: tool_calls"),
        ([PARIS, BOOK], {"calls": [PARIS]}, "number_of_calls: tool_calls"),
        ([PARIS], {"calls": [PARIS, BOOK]}, "number_of_calls: tool_calls"),
        ([PARIS, PARIS], {"calls": [PARIS], "order": "any"}, "number_of_calls: tool_calls"),
        ([PARIS], {"calls": []}, "number_of_calls: tool_calls"),
    ],
)
def test_the_calls_are_the_expected_ones_and_no_others(made, fields, result):
    assert reason(made, **fields) == result


@pytest.mark.parametrize(
    ("made", "expected", "exact", "subset"),
    [
        ({"a": 1}, {"a": 1}, None, None),
        ({"a": 1.0}, {"a": 1}, None, None),
        ({"b": 2, "a": 1}, {"a": 1, "b": 2}, None, None),
        ({"a": 1, "b": 2}, {"a": 1}, "b", None),
        ({"a": 1}, {"a": 1, "b": 2}, "b", "b"),
        ({"a": True}, {"a": 1}, "a", "a"),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, "a.c", None),
        ({"a": {"b": 2}}, {"a": {"b": 1}}, "a.b", "a.b"),
        ({"a": [1, 2]}, {"a": [1]}, "a[1]", "a"),
        ({"a": None}, {}, "a", None),
        ({}, {"a": None}, "a", "a"),
        ({"a": 1}, {"a": {}}, "a", "a"),
    ],
)
def test_arguments_are_equal_or_at_least_those_expected(made, expected, exact, subset):
    for args, place in (("exact", exact), ("subset", subset)):
        got = reason(
            [{"name": "f", "args": made}], calls=[{"name": "f", "args": expected}], args=args
        )
        assert got == (place and f"other_arguments: tool_calls[0].args.{place}")


@pytest.mark.parametrize("made", [{"a": 1}, '{"a": 1}', ' {"a":1.0}\n'])
@pytest.mark.parametrize("expected", [{"a": 1}, '{"a": 1}'])
def test_arguments_are_an_object_or_a_string_of_one(made, expected):
    calls = [{"name": "f", "args": expected}]
    assert reason([{"name": "f", "args": made}], calls=calls) is None
    one = assertion("tool-calls")
    assert one.needs(case(calls)) is None
    assert one.check(answered(None, calls=[ToolCall(None, "f", made)]), case(calls)).reason is None


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize("args", ["{", "", "1", "[]", '{"a": 1, "a": 2}'])
def test_arguments_that_are_no_object_fail_by_name(args, negate):
    made = [BOOK, {"name": "f", "args": args}]
    result = asked(made, text="So:", calls=[BOOK, {"name": "f", "args": {}}], negate=negate)
    assert (result.outcome, result.reason) == (
        Outcome.FAILED,
        "arguments_not_json: tool_calls[1].args",
    )
    assert result.evidence == {"path": "tool_calls[1].args", "got": args}


def test_arguments_that_do_not_matter_are_not_read():
    assert reason([{"name": "f", "args": "{"}], calls=[{"name": "f"}]) is None


def test_a_tool_call_without_text_is_an_answer_for_tools_and_none_for_text():
    assert reason([PARIS], calls=[PARIS]) is None
    without = answered(None, Finish.TOOL_CALLS, calls=[call(PARIS)])
    for kind in (
        "equals",
        "contains",
        "starts-with",
        "ends-with",
        "choice",
        "number",
        "similarity",
    ):
        fields = {
            "choice": {"options": ["a", "b"]},
            "number": {"value": 1},
            "similarity": {"metric": "levenshtein", "min": 1},
        }.get(kind, {})
        fields.setdefault("value", "a")
        one = assertion(kind, **fields, negate=True)
        assert one.check(without, case()).reason == "no_text"


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize("calls", [[], [PARIS]])
def test_an_answer_without_text_and_calls_fails_also_when_negated(calls, negate):
    assert verdict("tool-calls", None, calls=calls, negate=negate) == "no_answer"


@pytest.mark.parametrize(
    ("made", "calls", "result"),
    [
        ([], [], None),
        ([], [PARIS], "number_of_calls: tool_calls"),
        ([PARIS], [PARIS], None),
    ],
)
def test_text_beside_the_calls_does_not_matter(made, calls, result):
    assert reason(made, text="Sure.", calls=calls) == result


def test_negated_these_very_calls_are_refused():
    result = asked([PARIS], calls=[PARIS], negate=True)
    assert (result.reason, result.evidence) == ("calls_match", {"got": [PARIS]})
    assert reason([BOOK], calls=[PARIS], negate=True) is None
    assert reason([], text="No.", calls=[], negate=True) == "calls_match"


def test_calls_in_any_order_are_paired_so_that_all_find_one():
    made = [{"name": "f", "args": {"a": 1}}, {"name": "f", "args": {"b": 1}}]
    loose = [{"name": "f"}, {"name": "f", "args": {"a": 1}}]
    assert reason(made, calls=loose, order="any", args="subset") is None
    assert reason(made[::-1], calls=loose, order="any") is None
    twice = [{"name": "f", "args": {"a": 1}}] * 2
    result = asked(made, calls=twice, order="any")
    assert result.reason == "call_missing: tool_calls"
    assert result.evidence == {"path": "tool_calls", "expected": twice[1], "got": made}


def test_a_hundred_calls_in_any_order():
    calls = [{"name": "f", "args": {"n": number}} for number in range(100)]
    assert reason(calls[::-1], calls=calls, order="any") is None


@pytest.mark.parametrize(
    ("made", "fields", "evidence"),
    [
        (
            [PARIS],
            {"calls": [{"name": "weather", "args": {"city": "Rome", "days": 2}}]},
            {"path": "tool_calls[0].args.city", "expected": "Rome", "got": "Paris"},
        ),
        (
            [{"name": "f", "args": {}}],
            {"calls": [{"name": "f", "args": {"a": 1}}]},
            {"path": "tool_calls[0].args.a", "expected": 1},
        ),
        (
            [PARIS, BOOK],
            {"calls": [PARIS]},
            {"path": "tool_calls", "expected": ["weather"], "got": ["weather", "book"]},
        ),
        (
            [PARIS],
            {"calls": [BOOK]},
            {"path": "tool_calls[0].name", "expected": "book", "got": "weather"},
        ),
        (
            [PARIS],
            {"calls": [{"name": "book"}], "order": "any"},
            {"path": "tool_calls", "expected": {"name": "book"}, "got": [{"name": "weather"}]},
        ),
    ],
)
def test_evidence_names_the_first_difference(made, fields, evidence):
    assert asked(made, **fields).evidence == evidence


def test_the_expected_calls_may_stand_in_the_case():
    expected = {"calls": [PARIS], "note": "x"}
    one = assertion("tool-calls", expected="calls")
    assert one.needs(case(expected)) is None
    assert one.check(answered(None, calls=[call(PARIS)]), case(expected)).reason is None
    answer = answered(None, calls=[call(BOOK)])
    assert one.check(answer, case(expected)).reason == "other_call: tool_calls[0].name"


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        ((), "the case has no `expected`"),
        (([],), None),
        (([PARIS],), None),
        (([{"name": "f"}],), None),
        ((PARIS,), "its expected value is not a list of calls with `name` and `args`"),
        ((["f"],), "its expected value is not a list of calls with `name` and `args`"),
        (
            ([{"name": "f", "arguments": {}}],),
            "its expected value is not a list of calls with `name` and `args`",
        ),
        (
            ([{"name": "f", "args": "{"}],),
            "its expected value has arguments that are not a JSON object, at `[0].args`",
        ),
        (([PARIS] * 101,), "its expected value has 101 calls, which is more than 100"),
    ],
)
def test_a_case_without_calls_is_told(expected, sentence):
    assert assertion("tool-calls").needs(case(*expected)) == sentence
    assert assertion("tool-calls", calls=[]).needs(case(*expected)) is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"calls": [BOOK, {"name": "f", "args": "{"}]},
            "P6201 `calls` has arguments that are not a JSON object, at `[1].args`",
        ),
        ({"calls": [BOOK] * 101}, "P6201 `calls` has 101 calls, which is more than 100"),
        ({"calls": [], "expected": "x"}, "P6201 `calls` and `expected` exclude each other"),
    ],
)
def test_a_spec_that_cannot_work_is_refused(fields, message):
    assert refusal("tool-calls", **fields) == message


def test_examples_in_docstrings_hold():
    assert doctest.testmod(tool_calls).failed == 0
