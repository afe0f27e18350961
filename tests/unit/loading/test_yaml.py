import math
from itertools import pairwise

import pytest

from proctor.loading.yaml import YamlProblem, parse_yaml

MEBIBYTE = 1024 * 1024


def document(text):
    return parse_yaml(text if isinstance(text, bytes) else text.encode(), "f.yaml")


def value_of(text):
    return document(text).value


def lines_of(text):
    return dict(document(text).lines)


def problem_of(text):
    with pytest.raises(YamlProblem) as caught:
        document(text)
    return caught.value


def refused(text, line, detail):
    problem = problem_of(text)
    assert (problem.line, problem.detail) == (line, detail)
    assert str(problem) == detail


# A tag is what the core schema of YAML 1.2 gives to a plain scalar.
STRINGS = [
    "no", "NO", "No", "yes", "Yes", "on", "ON", "off", "y", "Y", "n", "N", "t", "f",
    "nULL", "tRUE", "fALSE", "none", "None", "undefined", "~~", "null.",
    "1_000", "1_000.5", "0_1", "2024-01-02", "2026-11-30T10:00:00Z", "12:30", "12:30:45", "1:1",
    "0x", "0xG", "0X1F", "-0x1F", "+0x1F", "0o", "0o8", "0O17", "-0o17", "0b101", "0x1.8p3",
    "1e", "1e+", "e3", "1e3.5", "1.2.3", "1..", ".", "..", "+.", "+", "++1", "--1", "+-1", "-",
    "1,5", "1 000", "1e 3", "\u0661\u0662", "\uff11", "\xb2", "Infinity", "inf", "NaN", "nan",
    "-nan", ".Nan", ".iNF", "+.nan", "=", "<", "a<<", "1px", "1.0.0", "v1",
    "0.1-beta", "x#",
]  # fmt: skip

NUMBERS = [
    ("0", 0), ("-0", 0), ("+0", 0), ("1", 1), ("+1", 1), ("-1", -1), ("012", 12), ("08", 8),
    ("-007", -7), ("0000", 0), ("9007199254740993", 9007199254740993),
    ("1152921504606846976", 1152921504606846976),
    ("123456789012345678901234567890", 123456789012345678901234567890),
    ("0o17", 15), ("0o0", 0), ("0x1F", 31), ("0xdeadBEEF", 0xDEADBEEF), ("0x0", 0),
    ("1e3", 1000.0), ("1E3", 1000.0), ("1e+3", 1000.0), ("1e-3", 0.001), ("-1.5e3", -1500.0),
    ("1.", 1.0), ("1.e2", 100.0), (".5", 0.5), ("+.5", 0.5), ("-.5e1", -5.0), ("-0.0", -0.0),
    ("0.1", 0.1), ("00.5", 0.5), ("1.0", 1.0), ("685.230_15".replace("_", ""), 685.23015),
    ("1.7976931348623157e308", 1.7976931348623157e308), ("1e-400", 0.0), ("5e-324", 5e-324),
]  # fmt: skip

WORDS = [
    ("~", None), ("null", None), ("Null", None), ("NULL", None), ("", None),
    ("true", True), ("True", True), ("TRUE", True),
    ("false", False), ("False", False), ("FALSE", False),
]  # fmt: skip


class TestPlainScalars:
    @pytest.mark.parametrize("text", [text for text in STRINGS if text != "-"])
    def test_what_the_core_schema_does_not_know_is_text(self, text):
        assert value_of(text) == text
        assert value_of(f"a: {text}") == {"a": text}
        assert value_of(f"- {text}") == [text]

    def test_a_single_dash_is_text_where_it_starts_no_item(self):
        assert value_of("a: -x") == {"a": "-x"}
        assert value_of('a: "-"') == {"a": "-"}

    @pytest.mark.parametrize(("text", "number"), NUMBERS)
    def test_a_number_of_the_core_schema_is_a_number(self, text, number):
        for read in (value_of(text), value_of(f"a: {text}")["a"], value_of(f"[{text}]")[0]):
            assert type(read) is type(number)
            assert repr(read) == repr(number)

    @pytest.mark.parametrize(("text", "word"), WORDS)
    def test_a_word_of_the_core_schema_is_what_it_says(self, text, word):
        assert value_of(f"a: {text}") == {"a": word}
        assert value_of(f"- {text}\n- x") == [word, "x"]
        assert value_of(f"a: {text} # note") == {"a": word}

    @pytest.mark.parametrize(
        "text", [*(text for text, _ in NUMBERS + WORDS), ".inf", ".nan", "1e400"]
    )
    @pytest.mark.parametrize("quote", ["'{}'", '"{}"', "|-\n {}", ">-\n {}"])
    def test_quoted_and_block_text_is_text_whatever_it_looks_like(self, text, quote):
        assert value_of(f"a: {quote.format(text)}") == {"a": text}

    @pytest.mark.parametrize(
        "text", [".inf", ".Inf", ".INF", "-.inf", "+.inf", "-.INF", ".nan", ".NaN", ".NAN"]
    )
    def test_a_number_that_is_not_finite_is_refused(self, text):
        detail = f"has `{text}`, which is not a finite number; quote it"
        refused(f"a: 1\nb: {text}\n", 2, detail)
        refused(f"a: 1\n{text}: 1\n", 2, detail)

    @pytest.mark.parametrize("text", ["1e400", "-1e400", "1.5e+309", "9" * 400 + ".5"])
    def test_a_number_beyond_the_range_of_a_float_is_refused(self, text):
        refused(f"- 1\n- {text}\n", 2, "has a number beyond the range of a float")

    @pytest.mark.parametrize("sign", ["", "-", "+"])
    def test_an_integer_of_too_many_digits_is_refused(self, sign):
        assert abs(value_of(sign + "7" * 4000)) == int("7" * 4000)
        for digits in (4001, 5000, 1_000_000):
            refused(f"- 1\n- {sign}{'7' * digits}", 2, "has an integer of more than 4000 digits")

    @pytest.mark.parametrize(
        "text", ["0x1" + "0" * 3500, "0x" + "f" * 1_000_000, "0o1" + "0" * 5000]
    )
    def test_a_number_in_hex_or_octal_has_the_same_limit(self, text):
        refused(f"- {text}", 1, "has an integer of more than 4000 digits")

    def test_the_limit_is_the_same_number_in_hex(self):
        assert value_of(hex(10**4000 - 1)) == 10**4000 - 1
        refused(hex(10**4000), 1, "has an integer of more than 4000 digits")


class TestText:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("a: x y  z ", "x y  z"),
            ("a: x\n  y\n\n  z", "x y\nz"),
            ('a: it\'s "quoted" {x} [y] #z', 'it\'s "quoted" {x} [y]'),
            ("a: '{{input.x}}'", "{{input.x}}"),
            ("a: x#y", "x#y"),
            ("a: x:y", "x:y"),
            ("a: %x", None),
            ("a: 'it''s'", "it's"),
            ("a: 'x\n  y'", "x y"),
            (
                'a: "\\x41\\u00e9\\U0001F600\\0\\e\\L\\N\\/\\t"',
                "A\xe9\U0001f600\0\x1b\u2028\x85/\t",
            ),
            ('a: "x\\\n  y"', "xy"),
            ("a: |\n  x\n   y\n\n  z\n\n", "x\n y\n\nz\n"),
            ("a: |-\n  x\n", "x"),
            ("a: |+\n  x\n\n", "x\n\n"),
            ("a: |2\n    x\n", "  x\n"),
            ("a: >\n  x\n  y\n\n  z\n", "x y\nz\n"),
            ("a: |\n  x # no comment\n  - y\n", "x # no comment\n- y\n"),
            ("a: |\n  x\r\n  y\r\n", "x\ny\n"),
            ("a: na\u0308ive", "na\u0308ive"),
            (
                "a: \U0001f44d\U0001f3fd\u200d\u202e\ufeff.",
                "\U0001f44d\U0001f3fd\u200d\u202e\ufeff.",
            ),
        ],
    )
    def test_text_is_read_as_yaml_says(self, text, value):
        if value is None:
            assert "cannot start any token" in problem_of(text).detail
        else:
            assert value_of(text) == {"a": value}

    @pytest.mark.parametrize(
        "code",
        [
            *range(9),
            0x0B,
            0x0C,
            *range(0x0E, 0x20),
            *range(0x7F, 0xA0),
            0x2028,
            0x2029,
            0xFFFE,
            0xFFFF,
        ],
    )
    def test_a_character_yaml_does_not_allow_or_ends_a_line_at_is_refused_as_it_is(self, code):
        detail = f"has the character U+{code:04X} as it is; write it as an escape in double quotes"
        for text in ("a: 'é'\nb: x{}y\n", "a: 1\nb: '{}'\n", "a: |\n  {}x\n", "a: 1\n# {}\n"):
            refused(text.format(chr(code)), 2, detail)

    @pytest.mark.parametrize("code", [0x00, 0x1B, 0x7F, 0x85, 0x2028, 0x2029, 0xFFFE])
    def test_the_same_character_is_read_as_an_escape(self, code):
        assert value_of(f'a: "x\\u{code:04x} y"') == {"a": f"x{chr(code)} y"}

    @pytest.mark.parametrize("escape", ["\\ud800", "\\ud83d\\ude00", "\\U00110000", "\\z", "\\x4"])
    def test_an_escape_of_no_character_is_refused(self, escape):
        problem = problem_of(f'a: 1\nb: "{escape}"\n')
        assert problem.line == 2
        assert problem.detail.startswith("is not YAML: ")

    def test_json_is_yaml(self):
        text = '{"a": [1, -2.5e3, true, null, "x\\n\\"\\u00e9\\/"], "b": {"c": {}}, "": []}'
        assert value_of(text) == {
            "a": [1, -2500.0, True, None, 'x\n"é/'],
            "b": {"c": {}},
            "": [],
        }


class TestKeys:
    @pytest.mark.parametrize(
        "key", ["a", "no", "on", "1_000", "2024-01-02", "-x", "a b", "$schema"]
    )
    def test_a_plain_key_that_is_text_is_a_key(self, key):
        assert value_of(f"{key}: 1") == {key: 1}

    @pytest.mark.parametrize(
        "key", ["1", "true", "null", "", "~", "<<", "1.5", ".inf", "a: b", "?"]
    )
    @pytest.mark.parametrize("quote", ["'", '"'])
    def test_any_quoted_key_is_a_key(self, key, quote):
        assert value_of(f"{quote}{key}{quote}: 1") == {key: 1}

    @pytest.mark.parametrize("key", ["1", "012", "1.5", "true", "False", "~", "null", "0x1F", "-0"])
    def test_a_key_that_is_not_text_is_refused(self, key):
        detail = f"has the key `{key}`, which is not a string; quote it"
        refused(f"a: 1\n{key}: 2\n", 2, detail)
        refused(f"a:\n  b: [{{{key}: 2}}]\n", 2, detail)

    def test_a_key_that_is_missing_is_refused(self):
        refused("a: 1\n?\n: 2\n", 2, "has the key ``, which is not a string; quote it")
        for text in (": 1", "a:\n  : 1", "{: 1}"):
            assert problem_of(text).detail.startswith("is not YAML: ")

    @pytest.mark.parametrize("key", ["[a]", "{a: b}", "[]", "{}"])
    def test_a_list_or_mapping_as_a_key_is_refused(self, key):
        refused(f"x: 1\n? {key}\n: 2\n", 2, "has a key that is not a string")
        refused(f"x:\n  {{{key}: 2}}\n", 2, "has a key that is not a string")

    def test_a_key_may_be_marked_as_one(self):
        assert value_of("? a\n: 1\n? b\n") == {"a": 1, "b": None}

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("a: 1\nb: 2\na: 1\n", 3),
            ("a: 1\n'a': 2\n", 2),
            ('a: 1\n"\\x61": 2\n', 2),
            ("{a: 1, b: 2,\n a: 3}", 2),
            ("x:\n  - y:\n      a: 1\n      a: 1\n", 4),
            ("x: &x\n  a: 1\ny:\n  - *x\n  - a:\n    a:\n", 6),
            ("a:\n  b: 1\na:\n  c: 1\n", 3),
        ],
    )
    def test_a_key_that_stands_twice_is_refused(self, text, line):
        refused(text, line, "has the key `a` twice")

    def test_the_same_key_in_two_mappings_is_fine(self):
        assert value_of("a: {a: 1}\nb: [{a: 1}, {a: 2}]") == {
            "a": {"a": 1},
            "b": [{"a": 1}, {"a": 2}],
        }

    @pytest.mark.parametrize("text", ["x: 1\n<<: {a: 1}\n", "x: &x {a: 1}\ny: {<<: *x}\n"])
    def test_a_merge_key_is_refused(self, text):
        refused(text, 2, "has a merge key `<<`; merge keys are not read")

    def test_the_mark_of_a_merge_is_text_as_a_value(self):
        assert value_of("a: <<") == {"a": "<<"}


@pytest.mark.parametrize(
    ("tag", "shown"),
    [
        ("!", "!"),
        ("!!str", "tag:yaml.org,2002:str"),
        ("!!int", "tag:yaml.org,2002:int"),
        ("!!binary", "tag:yaml.org,2002:binary"),
        ("!!python/object/apply:os.system", "tag:yaml.org,2002:python/object/apply:os.system"),
        ("!!python/name:os.system", "tag:yaml.org,2002:python/name:os.system"),
        ("!include", "!include"),
        ("!<tag:yaml.org,2002:str>", "tag:yaml.org,2002:str"),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        "x: 1\ny: {} 5\n",
        "x: 1\ny: {} 'a'\n",
        "x: 1\ny: {} [a]\n",
        "x: 1\ny: {} {{a: b}}\n",
        "x: 1\n{} y: 2\n",
        "x: 1\n? {} [y]\n",
        "x:\n  - {}\n",
        "x: 1\ny: &a {} b\n",
        "x: 1\ny: {} |\n  b\n",
    ],
)
def test_a_tag_is_refused_wherever_it_stands(tag, shown, text):
    refused(text.format(tag), 2, f"has the tag `{shown}`; tags are not read")


def test_a_tag_by_a_handle_of_the_file_is_refused_too():
    problem = problem_of("%TAG !e! tag:example.com,2026:\n---\n!e!x y\n")
    assert problem.detail == "has the tag `tag:example.com,2026:x`; tags are not read"
    assert "undefined tag handle" in problem_of("a: 1\nb: !e!x y\n").detail


class TestDocuments:
    @pytest.mark.parametrize(
        "text",
        [
            "",
            "\n\n",
            "# only a note\n",
            "  # note\n\n# note",
            "\r\n",
            "%YAML 1.2\n",
            b"\xef\xbb\xbf",
        ],
    )
    def test_a_file_without_a_value_is_empty(self, text):
        assert problem_of(text).detail in (
            "is empty",
            "is not YAML: did not find expected <document start>",
        )

    def test_a_file_of_comments_is_empty(self):
        refused("# a\n# b\n", 1, "is empty")

    @pytest.mark.parametrize("text", ["---\n", "--- ~\n", "null", "---\n...\n", "--- # note\n"])
    def test_a_document_without_content_is_null(self, text):
        assert value_of(text) is None

    @pytest.mark.parametrize(
        "text", ["---\na: 1\n", "a: 1\n...\n", "%YAML 1.2\n---\na: 1\n", "# x\n---\na: 1"]
    )
    def test_one_document_may_be_marked_as_one(self, text):
        assert value_of(text) == {"a": 1}

    def test_a_file_of_another_version_is_read_as_this_one(self):
        assert value_of("%YAML 1.1\n---\na: no\n") == {"a": "no"}

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("a: 1\n---\nb: 2\n", 2),
            ("---\na: 1\n---\n", 3),
            ("a\n...\n---\nb", 3),
            ("---\n---\n", 2),
        ],
    )
    def test_more_than_one_document_is_refused(self, text, line):
        refused(text, line, "holds more than one document")

    def test_a_line_of_dashes_in_text_starts_no_document(self):
        assert value_of("a: |\n  x\n  ---\n  y\n") == {"a": "x\n---\ny\n"}
        assert value_of('a: "---"') == {"a": "---"}

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("a: 1\nb: [1, 2\nc: 3\n", 3),
            ("a: 1\n b: 2\n", 2),
            ("a: 'x\n", 2),
            ("a: 1\nb: @x\n", 2),
            ("a: 1\nb: `x`\n", 2),
            ("a:\n\t- b\n", 2),
            ("a: b: c\n", 1),
            ("- a\nb: 1\n", 2),
            ("a: &\n", 1),
            ("a: *\n", 1),
            ("}\n", 1),
            ("%FOO\n---\na", 1),
        ],
    )
    def test_what_is_not_yaml_is_refused_with_its_line(self, text, line):
        problem = problem_of(text)
        assert problem.detail.startswith("is not YAML: ")
        assert problem.line == line

    def test_a_problem_quotes_no_value(self):
        for text in ("a: [secret", "a: 'secret", "- secret\nb: c", "a: b: secret", "a: !x secret"):
            assert "secret" not in problem_of(text).detail


class TestEncodings:
    def test_a_byte_order_mark_is_passed_over_once(self):
        assert value_of(b"\xef\xbb\xbfa: 1\n") == {"a": 1}
        refused(b"\xef\xbb\xbf\xef\xbb\xbfa: 1\n", 1, "starts with a byte order mark")

    @pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be"])
    def test_utf_16_is_refused_by_name(self, codec):
        refused("a: é\n".encode(codec), 1, "is UTF-16, not UTF-8")

    @pytest.mark.parametrize("codec", ["utf-32", "utf-32-le", "utf-32-be"])
    def test_utf_32_is_refused_by_name(self, codec):
        refused("a: é\n".encode(codec), 1, "is UTF-32, not UTF-8")

    @pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\0\0\xfe\xff"])
    def test_a_mark_alone_is_refused(self, mark):
        assert problem_of(mark).detail.endswith("not UTF-8")

    @pytest.mark.parametrize(
        "bad", [b"\xe9", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\x80"]
    )
    def test_bytes_that_are_not_utf8_are_refused_with_their_line(self, bad):
        refused(b"a: 1\nb:\n  - x" + bad + b"\n", 3, "is not UTF-8")


def nodes(count):
    """A list that is `count` nodes with itself, written in one line."""
    return "[" + ", ".join(["x"] * (count - 1)) + "]"


class TestAliases:
    def test_an_alias_is_what_its_anchor_stands_at(self):
        assert value_of("a: &x {b: [1]}\nc: *x\nd: [*x, *x]\n") == {
            "a": {"b": [1]},
            "c": {"b": [1]},
            "d": [{"b": [1]}, {"b": [1]}],
        }

    def test_an_alias_of_a_scalar_keeps_its_type(self):
        text = "- &a 1\n- *a\n- &b '1'\n- *b\n- &c\n- *c\n- &d |\n  x\n- *d\n"
        assert value_of(text) == [1, 1, "1", "1", None, None, "x\n", "x\n"]

    def test_an_anchor_given_again_stands_for_the_last_place(self):
        assert value_of("- &a 1\n- *a\n- &a 2\n- *a\n") == [1, 1, 2, 2]

    def test_what_an_alias_stands_for_has_the_line_of_the_alias(self):
        read = document("a: &x\n  b: 1\nc: *x\nd:\n  - *x\n")
        assert read.where(("a", "b")) == "f.yaml:2"
        assert read.where(("c", "b")) == "f.yaml:3"
        assert read.where(("d", 0, "b")) == "f.yaml:5"

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("a: 1\nb: *x\n", 2),
            ("a: *x\nb: &x 1\n", 1),
            ("&x\na: *x\n", 2),
            ("a: &x\n  - 1\n  - *x\n", 3),
            ("a: &x\n  b:\n    c: [*x]\n", 3),
            ("- &x 1\n- &x [*x]\n", 2),
            ("- &x [1]\n- &x {a: {b: *x}}\n", 2),
        ],
    )
    def test_an_alias_before_the_end_of_its_anchor_is_refused(self, text, line):
        refused(text, line, "has the alias `*x` of no anchor that ends above")

    @pytest.mark.parametrize(
        "text",
        [
            "a: &x b\n*x : 1\n",
            "a: &x b\n? *x\n: 1\n",
            "- &x b\n- {*x : 1}",
            "- &x b\n- *x : 1",
        ],
    )
    def test_an_alias_as_a_key_is_refused(self, text):
        refused(text, 2, "has an alias as a key")

    def test_an_anchor_on_a_key_is_refused(self):
        refused("a: 1\n&x b: 2\n", 2, "has an anchor on a key")

    def test_aliases_work_up_to_the_limit_of_nodes(self):
        # The list around, the anchored list of 100 nodes, 98 times again, and 99 scalars.
        text = f"- &x {nodes(100)}\n" + "- *x\n" * 98 + "- y\n" * 99
        assert len(value_of(text)) == 198
        refused(text + "- y\n", 199, "expands to more than 10000 nodes")
        refused(f"- &x {nodes(100)}\n" + "- *x\n" * 99, 100, "expands to more than 10000 nodes")

    def test_an_alias_of_a_scalar_is_one_node(self):
        text = "- &x y\n" + "- *x\n" * 9_998
        assert len(value_of(text)) == 9_999
        refused(text + "- *x\n", 10_000, "expands to more than 10000 nodes")

    def test_nodes_are_counted_inside_of_what_an_alias_stands_for(self):
        # 10 x 10 x 10 scalars; with the lists around them 1, 1 + 10, 1 + 11 x 10 and so on.
        text = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        for name, of in ("ba", "cb"):
            text += f"{name}: &{name} [{', '.join([f'*{of}'] * 10)}]\n"
        assert len(value_of(text)["c"][9][9]) == 10
        text += f"d: [{', '.join(['*c'] * 10)}]\n"
        refused(text, 4, "expands to more than 10000 nodes")

    def test_a_bomb_of_aliases_is_refused(self):
        names = [f"a{number}" for number in range(60)]
        text = "a0: &a0 [x, x]\n" + "".join(
            f"{name}: &{name} [*{before}, *{before}]\n" for before, name in pairwise(names)
        )
        assert problem_of(text).detail == "expands to more than 10000 nodes"

    def test_a_bomb_of_mappings_is_refused(self):
        text = "a: &a {x: 1}\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True):
            members = ", ".join(f"k{number}: *{before}" for number in range(9))
            text += f"{name}: &{name} {{{members}}}\n"
        assert problem_of(text).detail == "expands to more than 10000 nodes"

    def test_a_file_without_aliases_may_have_more_nodes(self):
        text = "- {id: x, inputs: {a: 1, b: 2}}\n" * 3_000
        assert len(value_of(text)) == 3_000

    def test_aliases_do_not_nest_deeper_than_the_limit(self):
        deep = "[" * 31 + "]" * 31
        assert value_of(f"a: &x {deep}\nb: {'[' * 32}*x{']' * 32}\n")
        refused(f"a: &x {deep}\nb: {'[' * 33}*x{']' * 33}\n", 2, "is nested deeper than 64")

    def test_a_chain_of_aliases_does_not_nest_deeper_than_the_limit(self):
        text = "- &a0 [x]\n" + "".join(f"- &a{n + 1} [*a{n}]\n" for n in range(62))
        assert len(value_of(text)) == 63
        refused(text + "- [*a62]\n", 64, "is nested deeper than 64")
        mappings = "- &a0 {k: x}\n" + "".join(f"- &a{n + 1} {{k: *a{n}}}\n" for n in range(63))
        refused(mappings, 64, "is nested deeper than 64")

    def test_an_alias_of_a_scalar_adds_no_depth(self):
        assert value_of("- &x 1\n- " + "[" * 63 + "*x" + "]" * 63)


class TestDepth:
    @pytest.mark.parametrize(
        "nest",
        [
            lambda depth: "[" * depth + "]" * depth,
            lambda depth: "{a: " * depth + "}" * depth,
            lambda depth: "- " * depth + "x",
            lambda depth: "".join(" " * n + "a:\n" for n in range(depth)),
            lambda depth: "".join(" " * n + "-\n" for n in range(depth)),
        ],
        ids=["flow lists", "flow mappings", "one-line lists", "block mappings", "block lists"],
    )
    def test_64_is_read_and_65_is_refused(self, nest):
        document(nest(64))
        assert problem_of(nest(65)).detail == "is nested deeper than 64"

    @pytest.mark.parametrize(
        ("piece", "times"),
        [
            ("[", 100_000),
            ("{", 100_000),
            ("- ", 200_000),
            ("[{a: ", 50_000),
            ("{a: [", 50_000),
            ("[\n", 100_000),
        ],
    )
    def test_a_bomb_of_nesting_is_refused(self, piece, times):
        assert problem_of(piece * times).detail == "is nested deeper than 64"

    def test_the_line_is_that_of_the_first_value_too_deep(self):
        refused("[" * 64 + "\n\n[]" + "]" * 64, 3, "is nested deeper than 64")


def repeated(piece, size=MEBIBYTE):
    return piece * (size // len(piece))


@pytest.mark.parametrize(
    "text",
    [
        "{" * 1_000_000,
        repeated("[[],"),
        repeated("? "),
        repeated(": "),
        repeated("&a "),
        repeated("*a "),
        repeated("!a "),
        repeated("%a\n"),
        repeated("---\n"),
        "'" * (MEBIBYTE - 1),
        repeated('"x'),
        repeated("\t"),
        repeated("{a"),
        repeated("[a:"),
        repeated("- - : "),
        "a: |\n" + repeated("\t\n"),
        "".join(f"- &a{n} [*a{n - 1}]\n" for n in range(50_000)),
    ],
    ids=lambda text: repr(text[:8]),
)
def test_a_mebibyte_of_hostile_text_is_refused(text):
    assert problem_of(text).detail


@pytest.mark.parametrize(
    ("text", "length"),
    [
        (repeated("a"), MEBIBYTE),
        (repeated("a "), MEBIBYTE - 1),
        ("- " + repeated("x\n  "), 262_144 * 2 - 1),
        ('"' + repeated("\\n") + '"', MEBIBYTE // 2),
        ("a: |\n" + repeated(" x\n"), 1),
        ("[" + "[]," * 100_000 + "]", 100_000),
        ("".join(f"- &a{n} x\n" for n in range(50_000)), 50_000),
        ("".join(f"k{n}: 1\n" for n in range(50_000)), 50_000),
        ("- |\n" * 50_000, 50_000),
        ("\n" * 500_000 + "abc", 3),
        ("#\n" * 500_000 + "abc", 3),
        ("? " + "k" * 1_000_000 + "\n: 1", 1),
    ],
    ids=[
        "plain", "words", "plain lines", "escapes", "block", "lists", "anchors", "keys", "blocks",
        "empty lines", "comments", "long key",
    ],
)  # fmt: skip
def test_a_mebibyte_of_odd_text_is_read_like_any_other(text, length):
    value = value_of(text)
    if isinstance(value, list) and len(value) == 1:
        (value,) = value
    assert len(value) == length


class TestLines:
    def test_every_part_has_the_line_of_its_key_or_where_it_starts(self):
        text = (
            "# a note\n"  # 1
            "a: 1\n"  # 2
            "b:\n"  # 3
            "  c: x\n"  # 4
            "\n"  # 5
            "  d:\n"  # 6
            "    - 1\n"  # 7
            "    - e: 2\n"  # 8
            "      f:\n"  # 9
            "        3\n"  # 10
            "    -\n"  # 11
            "      - x\n"  # 12
            "g: {h: [1,\n"  # 13
            "    2], i:\n"  # 14
            "    {j: k}}\n"  # 15
            "l: 'one\n"  # 16
            "  two'\n"  # 17
            "m: |\n"  # 18
            "  one\n"  # 19
            "  two\n"  # 20
            "n: >-\n"  # 21
            "  one\n"  # 22
            "\n"  # 23
            "o: plain\n"  # 24
            "  text\n"  # 25
            "p:\n"  # 26
            "q: ~\n"  # 27
            "r: []\n"  # 28
            '"s": "x\\\n'  # 29
            '  y"\n'  # 30
            "t:\n"  # 31
            "- u\n"  # 32
        )
        assert lines_of(text) == {
            (): 2,
            ("a",): 2,
            ("b",): 3,
            ("b", "c"): 4,
            ("b", "d"): 6,
            ("b", "d", 0): 7,
            ("b", "d", 1): 8,
            ("b", "d", 1, "e"): 8,
            ("b", "d", 1, "f"): 9,
            ("b", "d", 2): 12,
            ("b", "d", 2, 0): 12,
            ("g",): 13,
            ("g", "h"): 13,
            ("g", "h", 0): 13,
            ("g", "h", 1): 14,
            ("g", "i"): 14,
            ("g", "i", "j"): 15,
            ("l",): 16,
            ("m",): 18,
            ("n",): 21,
            ("o",): 24,
            ("p",): 26,
            ("q",): 27,
            ("r",): 28,
            ("s",): 29,
            ("t",): 31,
            ("t", 0): 32,
        }

    @pytest.mark.parametrize(
        ("text", "lines"),
        [
            ("x", {(): 1}),
            ("\n\n'x'", {(): 3}),
            ("--- |\n  x\n", {(): 1}),
            ("\n- a\n\n- b\n", {(): 2, (0,): 2, (1,): 4}),
            ("\r\na: 1\r\nb: 2\r\n", {(): 2, ("a",): 2, ("b",): 3}),
            ("- - a\n  - b\n- c", {(): 1, (0,): 1, (0, 0): 1, (0, 1): 2, (1,): 3}),
            ("{\n}", {(): 1}),
            ("'': 1\n'a.b':\n  '': 2", {(): 1, ("",): 1, ("a.b",): 2, ("a.b", ""): 3}),
        ],
    )
    def test_lines_are_counted_in_every_style(self, text, lines):
        assert lines_of(text) == lines

    def test_a_line_of_a_literal_block_is_a_line_of_the_file(self):
        read = document(
            "# note\n"
            "user: |-\n"
            "  first\n"
            "\n"
            "  third {{x}}\n"
            "list:\n"
            "  - |2+\n"
            "     first\n"
            "    second\n"
            "  - &a | # note\n"
            "    first\n"
        )
        assert read.where_in_text(("user",), 0) == "f.yaml:3"
        assert read.where_in_text(("user",), 2) == "f.yaml:5"
        assert read.value["user"].split("\n")[2] == "third {{x}}"
        assert read.where_in_text(("list", 0), 1) == "f.yaml:9"
        assert read.where_in_text(("list", 1), 0) == "f.yaml:11"

    @pytest.mark.parametrize(
        "text", ["user: >-\n  a\n  b\n\n  c\n", "user: 'a\n\n  b'\n", "user: a\n\n  b\n"]
    )
    def test_a_line_of_text_whose_lines_are_joined_is_where_the_text_starts(self, text):
        read = document(text)
        assert "\n" in read.value["user"]
        assert read.where_in_text(("user",), 1) == "f.yaml:1"


def test_mappings_keep_the_order_of_the_file():
    assert list(value_of("z: 1\na: 2\nm: 3\n")) == ["z", "a", "m"]


def test_no_value_is_anything_but_json():
    value = value_of("a: 2024-01-02\nb: 12:30\nc: !!x\n".replace("!!x", "0o17"))
    assert value == {"a": "2024-01-02", "b": "12:30", "c": 15}
    assert math.copysign(1, value_of("-0.0")) == -1
