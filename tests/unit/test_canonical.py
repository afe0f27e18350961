import hashlib
import math
import os
import subprocess
import sys
from enum import IntEnum, StrEnum

import pytest

from proctor.canonical import CallKeys, RecordingsDigest, canonical_json, digest, sha256_hex
from proctor.records import CallKind
from proctor.strict_json import parse_json

ZEROS = "0" * 64


def text_of(value):
    return canonical_json(value).decode("utf-8")


def test_the_printed_vector_has_its_digest():
    value = {
        "é": {},
        "b": 1.0,
        "a": ["é", None, True, 0.1, 1e21, -0.0, '\u2028\n"'],
        "Z": 2**60,
    }
    assert text_of(value) == (
        '{"Z":1152921504606846976,"a":["é",null,true,0.1,1e+21,0,"\u2028\\n\\""],"b":1,"é":{}}'
    )
    assert digest(value) == "39a881c403cb02dd5838c3036a4386b50fdd10d0353ba1cbe2f29f847c2987d6"


def test_the_printed_bundle_has_its_digest():
    bundle = {
        "tools": [],
        "output": {"label": {"type": "enum", "options": ["positive", "negative"]}},
        "messages": [{"role": "user", "content": "Review: {{input.review}}"}],
        "inputs": {"review": {"type": "string"}},
    }
    assert digest(bundle) == "6cbf2fa8e901f389616d8bbcbe4cfa9eecce8a697cae380841af23b94eaaa47a"


def test_the_printed_call_has_its_key():
    inputs = digest({"review": "Meh."})
    assert inputs.startswith("7ff003e3")
    assert inputs.endswith("af6583")
    keys = CallKeys(
        call=CallKind.ANSWER,
        prompt=ZEROS,
        model="local/gemma-3-270m-q4_k_m",
        params={"temperature": 0.7, "maxTokens": 24},
    )
    assert keys.key(inputs, 1) == "fdc0ca6fb423b144ce4db82920132af5828915e0c17b6fa1c81fa3dffd2ae898"


@pytest.mark.parametrize(
    ("number", "spelled"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (0, "0"),
        (1.0, "1"),
        (-3.0, "-3"),
        (100000.0, "100000"),
        (1e15, "1000000000000000"),
        (2.0**53 - 1, "9007199254740991"),
        (-(2.0**53) + 1, "-9007199254740991"),
        (2.0**53, "9007199254740992.0"),
        (-(2.0**53), "-9007199254740992.0"),
        (2**53, "9007199254740992"),
        (2**53 + 1, "9007199254740993"),
        (1e16, "1e+16"),
        (1e21, "1e+21"),
        (1e22, "1e+22"),
        (-1e300, "-1e+300"),
        (0.1, "0.1"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e-5, "1e-05"),
        (1e-7, "1e-07"),
        (5e-324, "5e-324"),
        (1.5, "1.5"),
        (10**40, "1" + "0" * 40),
        (-(10**40), "-1" + "0" * 40),
        (True, "true"),
        (False, "false"),
    ],
)
def test_numbers_have_one_spelling(number, spelled):
    assert text_of(number) == spelled


@pytest.mark.parametrize(
    "wrap", [lambda x: [x], lambda x: {"k": x}, lambda x: {"k": [{"j": (x,)}]}]
)
def test_integral_floats_are_integers_at_any_depth(wrap):
    assert canonical_json(wrap(7.0)) == canonical_json(wrap(7))
    assert canonical_json(wrap(-0.0)) == canonical_json(wrap(0))


def test_a_number_after_other_members_is_still_spelled_as_an_integer():
    assert text_of({"a": "x", "b": None, "c": {"d": ["y", 2.0]}}) == (
        '{"a":"x","b":null,"c":{"d":["y",2]}}'
    )


@pytest.mark.parametrize(
    ("character", "spelled"),
    [
        ("\b", "\\b"),
        ("\f", "\\f"),
        ("\n", "\\n"),
        ("\r", "\\r"),
        ("\t", "\\t"),
        ("\0", "\\u0000"),
        ("\x0b", "\\u000b"),
        ("\x1f", "\\u001f"),
        ('"', '\\"'),
        ("\\", "\\\\"),
        ("/", "/"),
        ("\x7f", "\x7f"),
        ("\x80", "\x80"),
        ("\u2028", "\u2028"),
        ("\u2029", "\u2029"),
        ("é", "é"),
        ("e\u0301", "e\u0301"),
        ("\U0001f44d\U0001f3fd", "\U0001f44d\U0001f3fd"),
        ("\ud800", "\\ud800"),
        ("\udfff", "\\udfff"),
        ("\ude00\ud83d", "\\ude00\\ud83d"),
    ],
)
def test_characters_are_escaped_only_where_they_must_be(character, spelled):
    assert text_of(character) == f'"{spelled}"'
    assert text_of({character: 1}) == f'{{"{spelled}":1}}'


def test_a_value_is_spelled_the_same_beside_any_other():
    characters = "".join(map(chr, [*range(0x100), 0x2028, 0xFF5E, 0x1F600]))
    value = {**dict.fromkeys(characters, 2**70), "text": characters, "list": [characters, None]}
    for other in (0.5, (1,), "\ud800"):
        together = text_of({"a": value, "b": other})
        assert together.startswith(f'{{"a":{text_of(value)},"b":')


def test_text_that_looks_like_an_escape_is_not_one():
    assert text_of("\\ud800") == '"\\\\ud800"'
    assert digest("\\ud800") != digest("\ud800")


def test_equal_looking_texts_in_two_normal_forms_differ():
    assert digest("naïve") != digest("nai\u0308ve")


def test_keys_are_ordered_by_code_point_and_not_by_utf16_or_locale():
    value = {"\uff5e": 0, "\U0001f600": 0, "é": 0, "z": 0, "Z": 0, "a": 0, "": 0, "aa": 0, "10": 0}
    assert list(parse_json(canonical_json(value))) == [
        "", "10", "Z", "a", "aa", "z", "é", "\uff5e", "\U0001f600"
    ]  # fmt: skip


def test_the_order_of_keys_is_lost_at_every_depth():
    one = {"a": {"x": 1, "y": [{"p": 1, "q": 2}]}, "b": 2}
    other = {"b": 2, "a": {"y": [{"q": 2, "p": 1}], "x": 1}}
    assert canonical_json(one) == canonical_json(other)


def test_the_order_of_lists_is_kept():
    assert digest([1, 2]) != digest([2, 1])


def test_what_differs_in_type_differs_in_spelling():
    values = [1, "1", True, "true", None, "null", [], {}, [1], {"1": 1}, "", 1.5, "1.5", [[]], [{}]]
    assert len({digest(value) for value in values}) == len(values)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x], lambda x: {"a": {"b": [x]}}])
def test_numbers_that_json_does_not_have_are_refused(wrap, number):
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical_json(wrap(number))


@pytest.mark.parametrize("value", [b"x", {1, 2}, object(), [object()], {"a": b"x"}, 1j])
def test_what_is_not_json_is_refused(value):
    with pytest.raises(TypeError, match="not JSON serializable"):
        canonical_json(value)


@pytest.mark.parametrize("key", [1, 1.0, True, None, ("a",)])
def test_a_key_that_is_not_a_string_is_refused_and_not_spelled_as_one(key):
    for value in ({key: "x"}, [{"a": {key: "x"}}], {"1": "y", key: "x"}):
        with pytest.raises(TypeError, match="a key must be a string"):
            canonical_json(value)


def test_words_and_numbers_of_enums_are_spelled_as_their_values():
    class Word(StrEnum):
        A = "a"

    class Number(IntEnum):
        ONE = 1

    assert text_of([Word.A, Number.ONE]) == '["a",1]'


def test_the_value_itself_is_left_alone():
    value = {"b": [1.0, {"c": -0.0}], "a": (2.0,)}
    canonical_json(value)
    assert repr(value) == "{'b': [1.0, {'c': -0.0}], 'a': (2.0,)}"


def test_a_digest_is_the_sha256_of_the_canonical_bytes():
    value = {"b": 1, "a": "ü"}
    assert digest(value) == hashlib.sha256('{"a":"ü","b":1}'.encode()).hexdigest()
    assert sha256_hex(b"abc") == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


class TestCallKeys:
    def key(self, *, inputs=ZEROS, take=1, **changed):
        fixed = {
            "call": CallKind.ANSWER,
            "prompt": ZEROS,
            "model": "local/tiny",
            "params": {"maxTokens": 24, "temperature": 0},
        }
        return CallKeys(**{**fixed, **changed}).key(inputs, take)

    @pytest.mark.parametrize("call", list(CallKind))
    @pytest.mark.parametrize("take", [1, 2, 10, 1000])
    @pytest.mark.parametrize("model", ["local/tiny", "target:python:é", 'odd/"name"\\\n\ud800'])
    @pytest.mark.parametrize("params", [{}, {"b": [1.0, {"z": 1, "a": -0.0}], "a": "\u2028"}])
    def test_a_key_is_the_digest_of_its_parts(self, call, take, model, params):
        parts = {
            "v": 1,
            "call": call.value,
            "prompt": "a" * 64,
            "inputs": "b" * 64,
            "model": model,
            "params": params,
            "take": take,
        }
        key = self.key(
            call=call, prompt="a" * 64, inputs="b" * 64, model=model, params=params, take=take
        )
        assert key == digest(parts)

    @pytest.mark.parametrize(
        "changed",
        [
            {"call": CallKind.JUDGE},
            {"prompt": "1" + ZEROS[1:]},
            {"inputs": "1" + ZEROS[1:]},
            {"model": "local/tiny2"},
            {"params": {"maxTokens": 25, "temperature": 0}},
            {"params": {"maxTokens": 24, "temperature": 0.1}},
            {"params": {"maxTokens": 24, "temperature": 0, "seed": 1}},
            {"params": {"maxTokens": 24, "temperature": 0, "stop": ["\n"]}},
            {"params": {"maxTokens": 24, "temperature": None}},
            {"params": {"maxTokens": 24}},
            {"params": {}},
            {"take": 2},
        ],
    )
    def test_a_change_of_any_part_is_another_key(self, changed):
        assert self.key(**changed) != self.key()

    @pytest.mark.parametrize(
        "params",
        [
            {"temperature": 0, "maxTokens": 24},
            {"maxTokens": 24.0, "temperature": 0.0},
            {"maxTokens": 24, "temperature": -0.0},
        ],
    )
    def test_the_same_params_written_otherwise_are_the_same_key(self, params):
        assert self.key(params=params) == self.key()


PROGRAM = """
import json, sys
from proctor.canonical import CallKeys, digest
from proctor.records import CallKind
inputs, params = json.loads(sys.argv[1])
print(digest(inputs))
keys = CallKeys(call=CallKind.ANSWER, prompt="0" * 64, model="local/tiny", params=params)
print(keys.key(digest(inputs), 3))
print(digest({tag: len(tag) for tag in {"red", "green", "blue", "cyan"}}))
"""


def test_a_key_is_the_same_in_every_process_and_for_every_order_of_keys():
    written = [
        '[{"a": "x", "b": {"d": 1.0, "c": [2, "\\ud800"]}}, {"temperature": 0, "seed": 7}]',
        '[{"b": {"c": [2, "\\ud800"], "d": 1}, "a": "x"}, {"seed": 7.0, "temperature": -0.0}]',
    ]
    printed = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM, text],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
        for text in written
    }
    assert len(printed) == 1
    assert len(printed.pop().split()) == 3


def test_the_digest_of_recordings_is_over_their_hex_lines_in_order():
    both = RecordingsDigest()
    both.add("a" * 64)
    both.add("b" * 64)
    assert both.hex() == hashlib.sha256(f"{'a' * 64}\n{'b' * 64}\n".encode()).hexdigest()
    swapped = RecordingsDigest()
    swapped.add("b" * 64)
    swapped.add("a" * 64)
    assert swapped.hex() != both.hex()


def test_a_recording_used_twice_counts_twice():
    once, twice = RecordingsDigest(), RecordingsDigest()
    once.add("a" * 64)
    twice.add("a" * 64)
    twice.add("a" * 64)
    assert once.hex() != twice.hex()


def test_no_recordings_have_the_digest_of_nothing():
    assert RecordingsDigest().hex() == hashlib.sha256(b"").hexdigest()
