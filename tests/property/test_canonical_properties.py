import math

from hypothesis import given
from hypothesis import strategies as st

from proctor.canonical import CallKeys, canonical_json, digest
from proctor.records import CallKind
from proctor.strict_json import parse_json

characters = st.characters() | st.sampled_from('\0\b\t\n\f\r\x1f"\\/\x7f\u2028\ud800\udc00\udfff')
texts = st.text(characters, max_size=8)
integers = st.integers() | st.integers(2**53 - 2, 2**53 + 2) | st.integers(-(10**40), 10**40)
floats = st.floats(allow_nan=False, allow_infinity=False) | integers.map(
    lambda number: float(number % 10**20)
)
scalars = st.none() | st.booleans() | integers | floats | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)

SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def spelled(value):
    """The rules once more, one character and one number at a time."""
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return '"' + "".join(map(spelled_character, value)) + '"'
        case int():
            return f"{value:d}"
        case float() if math.trunc(value) == value and abs(value) < 9007199254740992:
            return f"{math.trunc(value):d}"
        case float():
            return repr(value)
        case list():
            return "[" + ",".join(map(spelled, value)) + "]"
        case dict():
            keys = sorted(value, key=lambda key: [ord(character) for character in key])
            return "{" + ",".join(f"{spelled(key)}:{spelled(value[key])}" for key in keys) + "}"
    raise AssertionError(value)


def spelled_character(character):
    if character in SHORT:
        return SHORT[character]
    if character < " " or "\ud800" <= character <= "\udfff":
        return f"\\u{ord(character):04x}"
    return character


def in_another_order(value):
    if isinstance(value, dict):
        return {key: in_another_order(value[key]) for key in reversed(value)}
    return [in_another_order(member) for member in value] if isinstance(value, list) else value


def without_integral_floats(value):
    if isinstance(value, dict):
        return {key: without_integral_floats(member) for key, member in value.items()}
    if isinstance(value, list):
        return [without_integral_floats(member) for member in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


@given(values)
def test_a_value_is_spelled_as_the_rules_say(value):
    assert canonical_json(value) == spelled(value).encode("utf-8")


@given(values)
def test_what_is_read_back_is_spelled_the_same_again(value):
    spelling = canonical_json(value)
    assert canonical_json(parse_json(spelling)) == spelling


@given(values)
def test_nothing_but_the_type_of_integral_floats_is_lost(value):
    assert repr(parse_json(canonical_json(value))) == repr(
        parse_json(canonical_json(without_integral_floats(value)))
    )
    assert parse_json(canonical_json(value)) == value


@given(values)
def test_the_order_of_keys_does_not_matter(value):
    assert digest(in_another_order(value)) == digest(value)


@given(values, values)
def test_two_values_have_one_spelling_only_if_they_are_equal(one, other):
    assert (canonical_json(one) == canonical_json(other)) == (spelled(one) == spelled(other))


@given(
    call=st.sampled_from(CallKind),
    prompt=st.text("0123456789abcdef", min_size=64, max_size=64),
    inputs=st.text("0123456789abcdef", min_size=64, max_size=64),
    model=texts,
    params=st.dictionaries(texts, values, max_size=4),
    take=st.integers(1, 1000),
)
def test_a_key_is_the_digest_of_its_parts(call, prompt, inputs, model, params, take):
    keys = CallKeys(call=call, prompt=prompt, model=model, params=params)
    assert keys.key(inputs, take) == digest(
        {
            "v": 1,
            "call": call.value,
            "prompt": prompt,
            "inputs": inputs,
            "model": model,
            "params": params,
            "take": take,
        }
    )
