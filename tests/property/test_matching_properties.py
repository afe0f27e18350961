import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.assertions.extracting import Extracted, NotExtracted, extract_json
from proctor.assertions.matching import first_difference, folding, json_equal, spell, spell_place
from proctor.pointers import MISSING, resolve_pointer

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.0, -0.0, 1.0, 2.0**53, float(2**63)])
    | st.text(max_size=3)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=12,
)


def naive_equal(one, other) -> bool:
    """Equality as the page says it, by recursion and exact types."""
    if isinstance(one, bool) or isinstance(other, bool):
        return isinstance(one, bool) and isinstance(other, bool) and one == other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return one == other
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return set(one) == set(other) and all(naive_equal(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(naive_equal, one, other))
    return one == other


@given(VALUES, VALUES)
def test_equality_agrees_with_the_naive_rule_and_is_symmetric(one, other):
    assert json_equal(one, other) is naive_equal(one, other)
    assert json_equal(one, other) is json_equal(other, one)


@given(VALUES)
def test_every_value_equals_itself_in_any_order_of_keys(value):
    def reordered(one):
        if isinstance(one, dict):
            return {key: reordered(one[key]) for key in reversed(one)}
        return [reordered(member) for member in one] if isinstance(one, list) else one

    assert json_equal(value, reordered(value))
    assert first_difference(value, reordered(value)) is None


@given(VALUES, VALUES)
def test_there_is_a_first_difference_exactly_when_values_are_not_equal(one, other):
    difference = first_difference(one, other)
    assert (difference is None) is json_equal(one, other)
    if difference is not None:
        assert not json_equal(difference.expected, difference.got)


@given(VALUES, VALUES)
def test_folding_only_ever_makes_more_values_equal(one, other):
    fold = folding(trim=True, ignore_case=True)
    if json_equal(one, other):
        assert json_equal(one, other, fold)
    assert (first_difference(one, other, fold) is None) is json_equal(one, other, fold)


def paths(value, steps=()):
    yield steps, value
    if isinstance(value, dict):
        for name, member in value.items():
            yield from paths(member, (*steps, name))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from paths(member, (*steps, index))


@given(VALUES)
def test_a_pointer_finds_every_part_of_a_value(value):
    for steps, part in paths(value):
        pointer = "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)
        assert resolve_pointer(value, pointer) is part


@given(VALUES)
def test_each_part_of_a_value_has_its_own_place(value):
    places = [spell_place(steps) for steps, _ in paths(value)]
    assert len(set(places)) == len(places)


@given(VALUES, st.text())
def test_no_pointer_raises(value, pointer):
    resolve_pointer(value, pointer)


@given(SCALARS)
def test_scalars_are_spelled_as_json_reads_them(value):
    text = spell(value)
    if isinstance(value, str):
        assert text == value
    else:
        assert json_equal(json.loads(text), value)


@pytest.mark.parametrize(
    ("value", "pointer", "found"),
    [
        ({"a": None}, "/a", None),
        ({"a": 1}, "", {"a": 1}),
        ({"a": 1}, "a", MISSING),
        ({"a": 1}, "/b", MISSING),
        ({"a/b": {"~k": 1}}, "/a~1b/~0k", 1),
        ({"~1": 1}, "/~01", 1),
        ({"a": 1}, "/a~2", MISSING),
        ({"a~": 1}, "/a~", MISSING),
        ({"": {"": 1}}, "//", 1),
        ([1, 2], "/0", 1),
        ([1, 2], "/2", MISSING),
        ([1, 2], "/-", MISSING),
        ([1, 2], "/01", MISSING),
        ([1, 2], "/+1", MISSING),
        ([1, 2], "/-1", MISSING),
        ([1, 2], "/1 ", MISSING),
        ([1, 2], "/\u0661", MISSING),
        ([1, 2], "/" + "9" * 5_000, MISSING),
        ({"01": 1, "-": 2}, "/01", 1),
        ("text", "/0", MISSING),
        (1, "/real", MISSING),
        (None, "/a", MISSING),
    ],
)
def test_pointers_are_those_of_rfc_6901(value, pointer, found):
    result = resolve_pointer(value, pointer)
    assert result == found
    assert (result is MISSING) is (found is MISSING)


def test_nan_equals_nothing_and_not_itself():
    assert not json_equal(math.nan, math.nan)
    assert not json_equal([math.nan], [math.nan])
    assert not json_equal({"a": math.nan}, {"a": math.nan})


def test_depth_is_no_problem():
    def nested(leaf):
        for _ in range(100_000):
            leaf = [leaf]
        return leaf

    assert json_equal(nested(1), nested(1.0))
    assert first_difference(nested(1), nested(True)).got is True


def test_huge_integers_are_compared_exactly():
    assert not json_equal(10**400, 10**400 + 1)
    assert not json_equal(2**53 + 1, float(2**53))


PIECES = st.sampled_from(
    [*'{}[]"\\\n :,1a', "```", "````", "~~~", "```json\n", "<think>", "</think>", "{}", '{"a":1}']
)


@given(st.lists(PIECES, max_size=40).map("".join))
@settings(max_examples=500)
def test_extraction_gives_a_value_or_a_reason_and_never_raises(text):
    assert isinstance(extract_json(text), (Extracted, NotExtracted))


OBJECTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=3) | st.lists(VALUES, max_size=3)
PROSE = st.text(st.characters(exclude_characters="{}[]<`~", codec="utf-8"), max_size=20)


@given(PROSE, OBJECTS, PROSE, st.sampled_from([None, 2]), st.booleans())
def test_a_value_in_prose_is_found_wherever_it_stands(before, value, after, indent, thought):
    text = before + json.dumps(value, indent=indent, ensure_ascii=False) + after
    result = extract_json(f"<think>{{</think>{text}" if thought else text)
    assert json_equal(result.value, value)


@given(PROSE, VALUES, PROSE, st.sampled_from(["", "json", "JSON", "text"]), st.integers(3, 12))
def test_a_value_in_a_fence_is_found_whatever_the_label(before, value, after, label, length):
    body = json.dumps(value, ensure_ascii=False)
    fence = "`" * length
    result = extract_json(f"{before}\n{fence}{label}\n{body}\n{fence}\n{after}")
    assert json_equal(result.value, value)


@given(PROSE, OBJECTS, OBJECTS)
def test_of_two_values_none_is_taken(between, one, other):
    text = f"{json.dumps(one)} {between} {json.dumps(other)}"
    assert extract_json(text).fault.value == "two_candidates"
