import pytest

from proctor.loading.json_lines import parse_json_document
from proctor.strict_json import JsonFault, JsonProblem


def lines_of(text):
    return dict(parse_json_document(text.encode(), "f.json").lines)


def problem_of(text):
    with pytest.raises(JsonProblem) as caught:
        parse_json_document(text if isinstance(text, bytes) else text.encode(), "f.json")
    return caught.value


def test_every_part_of_a_file_has_its_line():
    text = (
        "\n"
        "{\n"
        '  "a": 1,\n'
        '  "b": {\n'
        '    "c": [\n'
        "      true,\n"
        '      {"d": null, "e":\n'
        '        "x"},\n'
        "      []\n"
        "    ],\n"
        '    "f": {}\n'
        "  }, \n"
        '  "g"\n'
        "  :\n"
        "  [[1,\n"
        "    2]]\n"
        "}\n"
    )
    document = parse_json_document(text.encode(), "f.json")
    assert document.name == "f.json"
    assert document.value == {
        "a": 1,
        "b": {"c": [True, {"d": None, "e": "x"}, []], "f": {}},
        "g": [[1, 2]],
    }
    assert document.lines == {
        (): 2,
        ("a",): 3,
        ("b",): 4,
        ("b", "c"): 5,
        ("b", "c", 0): 6,
        ("b", "c", 1): 7,
        ("b", "c", 1, "d"): 7,
        ("b", "c", 1, "e"): 7,
        ("b", "c", 2): 9,
        ("b", "f"): 11,
        ("g",): 13,
        ("g", 0): 15,
        ("g", 0, 0): 15,
        ("g", 0, 1): 16,
    }
    assert document.where(("b", "c", 1, "missing")) == "f.json:7"


def test_a_file_of_one_line_has_one_line():
    assert set(lines_of('{"a":[{"b":1},[2,{"c":[]}]],"d":{}}').values()) == {1}


@pytest.mark.parametrize("scalar", ["1", '"x"', "null", "true", "-1.5e3"])
def test_a_scalar_has_the_line_where_it_stands(scalar):
    assert lines_of(f"\n\n {scalar}\n") == {(): 3}


def test_lines_end_with_lf_or_crlf_and_with_nothing_else():
    text = '{\r\n"a\u2028\u0085": "\u2029\\n\\r",\r\n"b": 1}'
    assert lines_of(text) == {(): 1, ("a\u2028\u0085",): 2, ("b",): 3}


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("", ""),
        ("\\u0061", "a"),
        ('q\\"', 'q"'),
        ("back\\\\", "back\\"),
        ('\\\\\\"', '\\"'),
        ("{[,:]}", "{[,:]}"),
        ("\\ud83d\\ude00", "\U0001f600"),
        ("\\ud800", "\ud800"),
        ("\\n", "\n"),
        ("a.b[0]", "a.b[0]"),
        ("é", "é"),
    ],
)
def test_a_key_is_found_however_it_is_written(written, key):
    text = f'{{\n"{written}":\n{{"{written}": [0,\n1]}}}}'
    assert lines_of(text) == {(): 1, (key,): 2, (key, key): 3, (key, key, 0): 3, (key, key, 1): 4}


def test_brackets_and_commas_in_strings_are_not_structure():
    text = '["],[{}",\n"\\"],",\n{"a": "}"},\n"\\\\",\n5]'
    assert lines_of(text) == {(): 1, (0,): 1, (1,): 2, (2,): 3, (2, "a"): 3, (3,): 4, (4,): 5}


def test_empty_containers_have_a_line_and_no_parts():
    assert lines_of("[\n[],\n{},\n[ ]\n]") == {(): 1, (0,): 2, (1,): 3, (2,): 4}


def test_a_byte_order_mark_is_passed_over_once():
    document = parse_json_document(b'\xef\xbb\xbf{"a":\n1}', "f.json")
    assert (document.value, document.lines) == ({"a": 1}, {(): 1, ("a",): 1})
    assert problem_of(b"\xef\xbb\xbf\xef\xbb\xbf{}").fault is JsonFault.BOM


@pytest.mark.parametrize(
    ("text", "fault", "line"),
    [
        ('{\n"a": 1,\n"a": 2\n}', JsonFault.DUPLICATE_KEY, 3),
        ('{\n"b": [{\n"a": 1,\n"x": {"a": 2},\n"\\u0061": 3}]\n}', JsonFault.DUPLICATE_KEY, 5),
        ('{"x": {"a": 1},\n"y": {"b": 1,\n"b": 2},\n"x": 1}', JsonFault.DUPLICATE_KEY, 3),
        ('{"": 1,\n"": 2}', JsonFault.DUPLICATE_KEY, 2),
        ('{"x": 1,\n"x": {"b": 1,\n"b": 2}}', JsonFault.DUPLICATE_KEY, 3),
        ('{"NaN": 1,\n"NaN":\nNaN}', JsonFault.NOT_FINITE, 3),
        ('["NaN",\n"1e400",\nNaN]', JsonFault.NOT_FINITE, 3),
        ('{"a":\n\n-Infinity}', JsonFault.NOT_FINITE, 3),
        ("[1,\n2e400]", JsonFault.NOT_FINITE, 2),
        (f'["{"1" * 5000}",\n1,\n{"1" * 5000}]', JsonFault.LONG_INTEGER, 3),
        ("[" * 64 + "\n[]" + "]" * 64, JsonFault.TOO_DEEP, 2),
        ("[" * 64 + '1, {"a": 1},\n[]' + "]" * 64, JsonFault.TOO_DEEP, 1),
        ("[" * 64 + '1, "x",\n[]' + "]" * 64, JsonFault.TOO_DEEP, 2),
        ('{"a":' * 64 + "\n[]" + "}" * 64, JsonFault.TOO_DEEP, 2),
        ("[" * 40 + "\n" + "[" * 30 + "\n" + "[" * 100_000, JsonFault.TOO_DEEP, 2),
        ('{\n"a": 1,\n"b": x\n}', JsonFault.NOT_JSON, 3),
        ("{}\n\nx", JsonFault.TRAILING_TEXT, 3),
    ],
)
def test_what_is_refused_has_its_line(text, fault, line):
    problem = problem_of(text)
    assert (problem.fault, problem.line) == (fault, line)


@pytest.mark.parametrize("data", [b"", b" \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_said_to_be_empty(data):
    assert problem_of(data).detail == "is empty"


@pytest.mark.parametrize("codec", ["utf-16", "utf-32", "latin-1"])
def test_another_encoding_is_refused(codec):
    assert problem_of('{"é": 1}'.encode(codec)).fault is JsonFault.NOT_UTF8


@pytest.mark.parametrize(
    "text",
    [
        "[" + "[]," * 100_000 + "1]",
        "{" + ",".join(f'"k{n}":{n}' for n in range(30_000)) + "}",
        '["' + "\\\\" * 200_000 + '"]',
        "[1" + "\n" * 400_000 + "]",
    ],
    ids=["containers", "keys", "escapes", "lines"],
)
def test_a_large_file_is_read_like_a_small_one(text):
    document = parse_json_document(text.encode(), "f.json")
    assert document.lines[()] == 1
