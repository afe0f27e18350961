import os
import subprocess
import sys

import pytest

from proctor.strict_json import JsonFault, JsonProblem, decode_utf8, parse_json

FAR = 100_000


def problem_of(data, **options):
    with pytest.raises(JsonProblem) as caught:
        parse_json(data, **options)
    return caught.value


BRACKETS = {
    "lists": [("[", "]")],
    "mappings": [('{"a":', "}")],
    "both": [("[", "]"), ('{"a":', "}")],
}


def nested(depth, kind):
    pairs = (BRACKETS[kind] * depth)[:depth]
    opening = "".join(pair[0] for pair in pairs)
    return opening + "1" + "".join(pair[1] for pair in reversed(pairs))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("true", True),
        ("false", False),
        ("0", 0),
        ("-0", 0),
        ("9007199254740993", 9007199254740993),
        ("1152921504606846976", 2**60),
        ("-123456789012345678901234567890", -123456789012345678901234567890),
        ("1.5e3", 1500.0),
        ('""', ""),
        ('"\\u0000\\u001f\\/\\"\\\\\\b\\f\\n\\r\\t"', '\0\x1f/"\\\b\f\n\r\t'),
        ('"\x7f\x80\u2028\u2029\ufeff"', "\x7f\x80\u2028\u2029\ufeff"),
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ("[]", []),
        ("{}", {}),
        (' \t\r\n{"b": [1, {}], "a": ""}\n ', {"b": [1, {}], "a": ""}),
        ('{"": {"": 1}}', {"": {"": 1}}),
    ],
)
def test_json_is_read_as_it_stands(text, value):
    for data in (text, text.encode()):
        read = parse_json(data)
        assert read == value
        assert type(read) is type(value)


def test_members_keep_the_order_of_the_text():
    assert list(parse_json('{"z":1,"a":2,"m":3}')) == ["z", "a", "m"]


@pytest.mark.parametrize("text", ["1.0", "-0.0", "1e2", "0E0"])
def test_a_number_with_a_point_or_an_exponent_is_a_float(text):
    assert repr(parse_json(text)) == repr(float(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"\\ud800"', "\ud800"),
        ('"a\\udfffb"', "a\udfffb"),
        ('"\\ude00\\ud83d"', "\ude00\ud83d"),
        ('{"\\ud800":1}', {"\ud800": 1}),
    ],
)
def test_lone_surrogates_are_kept(text, value):
    assert parse_json(text.encode()) == value


@pytest.mark.parametrize(
    "text",
    ['"\\ud800"', '["\\ude00\\ud83d"]', '{"\\ud800":1}', '{"a":[{"b":"x\\udfff"}]}', '"\ud800"'],
)
def test_lone_surrogates_are_refused_where_they_are_not_wanted(text):
    problem = problem_of(text, surrogates=False)
    assert problem.fault is JsonFault.SURROGATE
    assert problem.detail == "has a lone surrogate, which is no character"
    assert parse_json('"\\ud83d\\ude00"', surrogates=False) == "\U0001f600"


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '{"a":1,"b":2,"a":{}}',
        '{"b":1,"a":2,"c":3,"a":4}',
        '{"a":1,"\\u0061":2}',
        '[[{"x":{"a":[],"a":[]}}]]',
        '{"b":{"c":[0,{"a":1,"z":1,"a":2}]}}',
    ],
)
def test_a_key_that_stands_twice_is_refused_at_any_depth(text):
    problem = problem_of(text)
    assert problem.fault is JsonFault.DUPLICATE_KEY
    assert problem.detail == "has the key `a` twice"


def test_the_same_key_in_two_mappings_is_fine():
    assert parse_json('[{"a":{"a":1}},{"a":2}]') == [{"a": {"a": 1}}, {"a": 2}]


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1" * 310 + ".0"]
)
@pytest.mark.parametrize("around", ["{}", "[{}]", '{{"a":[1,{}]}}'])
def test_a_number_that_is_not_finite_is_refused(number, around):
    assert problem_of(around.format(number)).fault is JsonFault.NOT_FINITE


def test_the_names_of_infinities_are_fine_as_text():
    assert parse_json('["NaN","Infinity"]') == ["NaN", "Infinity"]


def test_the_largest_and_the_smallest_floats_are_read():
    assert parse_json("1.7976931348623157e308") == sys.float_info.max
    assert parse_json("5e-324") == 5e-324
    assert parse_json("1e-400") == 0.0


@pytest.mark.parametrize("text", ["{} {}", "1 2", "null,", '{"a":1}}', "[1]]", '""x', "{}\n# note"])
def test_text_after_the_value_is_refused(text):
    problem = problem_of(text)
    assert problem.fault is JsonFault.TRAILING_TEXT
    assert problem.detail == "has text after the JSON value"


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\t\r\n "])
def test_an_empty_text_is_said_to_be_empty(text):
    problem = problem_of(text)
    assert (problem.fault, problem.detail) == (JsonFault.NOT_JSON, "is empty")


@pytest.mark.parametrize(
    "text",
    [
        "hello", "'a'", "{'a':1}", "{a:1}", '{"a" 1}', '{"a":}', '{"a":1,}', "[1,]", "[,1]",
        "[1 2]", "[", "{", '{"a"', '"a', "tru", "TRUE", "None", "undefined", "nan", "inf", "01",
        "+1", ".5", "1.", "1e", "0x1F", "1_000", "--1", "-", "// x\n1", "/* x */ 1", "1 // x",
        '"\\x41"', '"\\u12"', '"\\ud8zz"', '"\\', "\v1", "(1)", "\0", "\0\0\0\0", "\xa01",
    ],
)  # fmt: skip
def test_what_is_almost_json_is_refused(text):
    problem = problem_of(text)
    assert problem.fault in (JsonFault.NOT_JSON, JsonFault.TRAILING_TEXT)
    assert problem_of(text.encode()).fault is problem.fault


@pytest.mark.parametrize("code", range(0x20))
def test_raw_control_characters_in_strings_are_refused(code):
    problem = problem_of(f'{{"a":\n"b{chr(code)}c"}}')
    assert problem.fault is JsonFault.NOT_JSON
    assert "control character" in problem.detail
    assert problem.line == 2


@pytest.mark.parametrize("kind", ["lists", "mappings", "both"])
class TestDepth:
    def test_64_is_read(self, kind):
        parse_json(nested(64, kind))

    def test_65_is_refused(self, kind):
        problem = problem_of(nested(65, kind))
        assert problem.fault is JsonFault.TOO_DEEP
        assert problem.detail == "is nested deeper than 64"

    @pytest.mark.parametrize("depth", [66, 900, 5_000, FAR])
    def test_any_more_is_refused_in_the_same_way(self, kind, depth):
        assert problem_of(nested(depth, kind)).fault is JsonFault.TOO_DEEP

    def test_a_caller_can_ask_for_less(self, kind):
        parse_json(nested(3, kind), max_depth=3)
        problem = problem_of(nested(4, kind), max_depth=3)
        assert problem.detail == "is nested deeper than 3"


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
def test_nesting_that_is_never_closed_is_refused_without_a_crash(opening):
    assert problem_of(opening * FAR).fault is JsonFault.TOO_DEEP


def test_brackets_in_strings_are_not_nesting():
    assert parse_json('["' + "[{" * 500 + '"]') == ["[{" * 500]


def test_many_brackets_side_by_side_are_not_nesting():
    assert parse_json("[" + ",".join(["[]"] * 1000) + "]") == [[]] * 1000


def test_a_scalar_has_no_depth():
    assert parse_json("1", max_depth=0) == 1
    assert problem_of("[]", max_depth=0).fault is JsonFault.TOO_DEEP


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize("around", ["{}", "[1,{}]", '{{"a":[{}]}}'])
def test_an_integer_of_too_many_digits_is_refused(sign, around):
    longest = parse_json(around.format(sign + "7" * 4000))
    assert str(longest).count("7") == 4000
    for digits in (4001, 5000, FAR):
        problem = problem_of(around.format(sign + "7" * digits))
        assert problem.fault is JsonFault.LONG_INTEGER
        assert problem.detail == "has an integer of more than 4000 digits"


def test_digits_in_strings_are_not_an_integer():
    assert parse_json('["' + "7" * 5000 + '"]') == ["7" * 5000]


@pytest.mark.parametrize(
    ("limit", "digits"), [("0", 4001), ("100000", 4001), ("640", 4001), ("640", 1000)]
)
def test_no_limit_of_the_environment_lets_a_long_integer_through_or_crash(limit, digits):
    program = (
        "from proctor.strict_json import JsonProblem, parse_json\n"
        f"try: parse_json('[' + '7' * {digits} + ']')\n"
        "except JsonProblem as problem: print(problem.fault)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONINTMAXSTRDIGITS": limit},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "long_integer\n"


class TestEncodings:
    def test_a_byte_order_mark_is_refused(self):
        for data in (b"\xef\xbb\xbf{}", "\ufeff{}"):
            problem = problem_of(data)
            assert problem.fault is JsonFault.BOM
            assert problem.line == 1
        with pytest.raises(JsonProblem, match="starts with a byte order mark"):
            decode_utf8(b"\xef\xbb\xbftext")

    @pytest.mark.parametrize(
        ("codec", "name"),
        [
            ("utf-16", "UTF-16"),
            ("utf-16-le", "UTF-16"),
            ("utf-16-be", "UTF-16"),
            ("utf-32", "UTF-32"),
            ("utf-32-le", "UTF-32"),
            ("utf-32-be", "UTF-32"),
        ],
    )
    @pytest.mark.parametrize("text", ['{"a":"é"}', "{}", "[1]", "\n1"])
    def test_other_unicode_encodings_are_refused_by_name(self, codec, name, text):
        problem = problem_of(text.encode(codec))
        assert problem.fault is JsonFault.NOT_UTF8
        assert problem.detail == f"is {name}, not UTF-8"
        assert problem.line == 1

    @pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff", b"\xff\xfe\0\0"])
    def test_a_mark_alone_is_enough_for_the_name(self, mark):
        assert "not UTF-8" in problem_of(mark).detail

    @pytest.mark.parametrize(
        "bad",
        [b"\xe9", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80"],
        ids=["latin-1", "no start", "overlong", "surrogate", "beyond Unicode", "cut off"],
    )
    def test_bytes_that_are_not_utf8_are_refused_with_their_line(self, bad):
        problem = problem_of(b'{"a":\n\n"x' + bad + b'"}\n')
        assert problem.fault is JsonFault.NOT_UTF8
        assert problem.detail == "is not UTF-8"
        assert problem.line == 3

    def test_text_is_decoded_as_it_stands(self):
        assert decode_utf8("a\r\n\u2028\0\U0001f600".encode()) == "a\r\n\u2028\0\U0001f600"
        assert decode_utf8(b"") == ""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x", 1),
        ('{\n"a": 1,\n"b": x\n}', 3),
        ('{\r\n"a": 1\r\n"b": 2}', 3),
        ('["a\u2028b",\nx]', 2),
        ("[1]\n\n[2]", 3),
        ('{"a": 1,\n\n', 3),
        ('[\n"open', 2),
        ("\n\n", 3),
    ],
)
def test_a_problem_has_the_line_where_reading_stopped(text, line):
    assert problem_of(text).line == line


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ('{"a": x}', "is not JSON: expecting value at column 7"),
        ('[1,\n "open', "is not JSON: unterminated string starting at column 2"),
        ('"tab\t"', "is not JSON: invalid control character at column 5"),
        (" {a: 1}", "is not JSON: expecting property name enclosed in double quotes at column 3"),
    ],
)
def test_a_problem_says_what_was_expected_and_in_which_column(text, detail):
    assert problem_of(text).detail == detail


@pytest.mark.parametrize(
    "text",
    ['{"a":"secret"', '["secret" "secret"]', '"secret', '{"a":1}secret', "secret", '"secret\x01"'],
)
def test_a_problem_quotes_nothing_of_the_text(text):
    problem = problem_of(text)
    assert "secret" not in problem.detail
    assert str(problem) == problem.detail


@pytest.mark.parametrize(
    "text",
    [
        "[" + "[]," * 300_000 + "[]]",
        "[" + "1," * 500_000 + "1]",
        '"' + '\\"' * 500_000 + '"',
        '"' + "\\u0041" * 150_000 + '"',
        " " * 1_000_000 + "1",
        "{" + ",".join(f'"k{n}":1' for n in range(80_000)) + "}",
        "0." + "1" * 1_000_000,
    ],
    ids=["empty lists", "numbers", "quotes", "escapes", "spaces", "keys", "digits"],
)
def test_a_large_text_is_read_like_a_small_one(text):
    parse_json(text)
