import gc
import json
import os
from hashlib import sha256

import pytest
from dataset_rules import WHERE, WHOLE_CASE, AnyCase, NoCase
from msgspec import UNSET

from proctor.errors import DatasetError
from proctor.loading.datasets import load_dataset
from proctor.records import Case

MEBIBYTE = 1024 * 1024
PATH = "evals/cases.jsonl"


def line(case_id="a", **members):
    return json.dumps({"id": case_id, "inputs": {}} | members)


# What is read


def test_a_case_with_everything_it_may_have(read):
    text = (
        '{"id":"late-return","inputs":{"total":74.5,"message":"Can I?"},"expected":{"d":"deny"},'
        '"tags":["policy"],"tiers":["smoke"],"metadata":{"by":"Ada"},'
        '"context":["a note"],"dos":["be kind"],"donts":["guess"]}\n'
    )
    assert read(text) == [WHOLE_CASE]


def test_a_case_needs_only_an_id_and_inputs(read):
    (case,) = read('{"inputs":{},"id":"a"}\n')
    assert case == Case("a", {}, UNSET, [], [], None)


@pytest.mark.parametrize("expected", [None, False, 0, "", [], {}, "no", " yes", 1.5])
def test_whatever_is_expected_is_kept_and_null_is_not_an_absence(read, expected):
    (case,) = read(line(expected=expected))
    assert case.expected == expected
    assert type(case.expected) is type(expected)


@pytest.mark.parametrize(
    "data",
    [
        b'{"id":"a","inputs":{}}\n{"id":"b","inputs":{}}\n',
        b'{"id":"a","inputs":{}}\n{"id":"b","inputs":{}}',
        b'{"id":"a","inputs":{}}\r\n{"id":"b","inputs":{}}\r\n',
        b'\xef\xbb\xbf{"id":"a","inputs":{}}\r\n{"id":"b","inputs":{}}',
        b'\n \t\n{"id":"a","inputs":{}}\n\r\n\n{"id":"b","inputs":{}}\n\n  ',
        b'\xef\xbb\xbf\n  {"id":"a","inputs":{}}  \n\t{"id":"b","inputs":{}}\t\r\n',
    ],
)
def test_marks_line_ends_and_blank_lines_change_no_case(load, data):
    dataset, problems = load(data)
    assert problems == []
    assert [dataset.case(index).id for index in range(len(dataset))] == ["a", "b"]
    assert dataset.sha256 == sha256(data).hexdigest()
    assert dataset.path == PATH


def test_cases_are_read_again_in_whatever_order(load):
    data = "".join(line(f"case-{number}", inputs={"n": "é" * number}) + "\n" for number in range(9))
    dataset, _ = load(data)
    for index in (8, 0, 4, 4, 8):
        assert dataset.case(index) == Case(f"case-{index}", {"n": "é" * index})


@pytest.mark.parametrize(
    "value",
    [
        "{{x}} {% %} {# ${HOME} ---",
        "line\r\nbreak\ttab",
        "nul \x00 del \x7f c1 \x9b",
        "\u2028\u2029\u202e\ufeff",
        "e\u0301 \u00e9 👍🏽",
        "\ud800",
        "\udfff\ud800 backwards",
        {"\ud800": ["\udc00"]},
        9007199254740993,
        2**64,
        -(2**63) - 1,
        int("9" * 400),
        0.1,
        -0.0,
        1e-320,
        1.7976931348623157e308,
        [None, True, False, 0, 1.0],
    ],
)
def test_a_value_is_read_again_as_it_was_written(read, value):
    (case,) = read(line(inputs={"v": value}, expected=value, metadata={"m": value}))
    for again in (case.inputs["v"], case.expected, case.metadata["m"]):
        assert json.dumps(again) == json.dumps(value)


@pytest.mark.parametrize(
    ("spelled", "value"),
    [
        ("1e2", 100.0),
        ("1E+2", 100.0),
        ("100.0", 100.0),
        ("-0", 0),
        ("-0.0", -0.0),
        ("1e-400", 0.0),
        ("0.1000000000000000055511151231257827", 0.1),
        ("123456789012345678901234567890.5", 1.2345678901234568e29),
        ("18446744073709551616", 18446744073709551616),
    ],
)
def test_a_number_is_the_same_in_both_passes(load, spelled, value):
    seen = []

    class Seeing(AnyCase):
        def faults(self, case):
            seen.append(case)
            return iter(())

    dataset, problems = load(f'{{"id":"a","inputs":{{"n":{spelled}}}}}\n', rules=Seeing())
    assert problems == []
    for case in (*seen, dataset.case(0)):
        assert repr(case.inputs["n"]) == repr(value)


def test_rules_see_the_id_the_inputs_and_what_is_expected(load):
    class Asking(AnyCase):
        def faults(self, case):
            yield "P6104", f"{case.id} {case.inputs} {case.expected}"

    _, problems = load(line("a", inputs={"x": 1}, expected="yes") + "\n", rules=Asking())
    assert [one.message for one in problems] == ["case `a`: a {'x': 1} yes"]


# What is refused


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"id":"a","inputs":{}', "1: P6101: the line is not JSON"),
        (b"{'id':'a'}", "1: P6101: the line is not JSON"),
        (b"id,inputs", "1: P6101: the line is not JSON"),
        (b'{"id":"a","inputs":{},}', "1: P6101: the line is not JSON"),
        (b'{"id":"a","inputs":{"x":"a\tb"}}', "1: P6101: the line is not JSON"),
        (b'{"id":"a","inputs":{"x":01}}', "1: P6101: the line is not JSON"),
        (b'{"id":"a","inputs":{}} {}', "1: P6101: the line has text after the JSON value"),
        (b'{"id":"a","inputs":{}},', "1: P6101: the line has text after the JSON value"),
        (b'{"id":"a","inputs":{}} // note', "1: P6101: the line has text after the JSON value"),
        (b'{"id":"a","inputs":{}}\r{"id":"b","inputs":{}}', "1: P6101: the line has text after"),
        (b'{"id":"a","id":"b","inputs":{}}', "1: P6101: the line has the key `id` twice"),
        (b'{"id":"a","inputs":{"x":1,"x":1}}', "1: P6101: the line has the key `x` twice"),
        (b'{"id":"a","inputs":{"x":NaN}}', "1: P6101: the line has `NaN`, which is not JSON"),
        (b'{"id":"a","inputs":{"x":-Infinity}}', "1: P6101: the line has `-Infinity`"),
        (b'{"id":"a","inputs":{"x":1e999}}', "1: P6101: the line has a number beyond the range"),
        (
            b'{"id":"a","inputs":{"x":' + b"9" * 5_000 + b"}}",
            "1: P6101: the line has an integer of",
        ),
        (
            b'{"id":"a","inputs":{"x":' + b"[" * 70 + b"]" * 70 + b"}}",
            "1: P6101: the line is nested deeper than 64",
        ),
        (b"[" * 200_000, "1: P6101: the line is "),
        (b'{"id":"caf\xe9","inputs":{}}', "1: P6101: the line is not UTF-8, but perhaps Latin-1"),
        (b'{"id":"a","inputs":{"x":"\xed\xa0\x80"}}', "1: P6101: the line is not UTF-8"),
        (b"\x1f\x8b\x08\x00", "1: P6101: the line is not UTF-8"),
        ('{"id":"a","inputs":{}}'.encode("utf-16"), "1: P6101: the file is UTF-16, not UTF-8"),
        (
            b"\xfe\xff" + '{"id":"a","inputs":{}}'.encode("utf-16-be"),
            "1: P6101: the file is UTF-16, not UTF-8",
        ),
        ('{"id":"a","inputs":{}}'.encode("utf-32"), "1: P6101: the file is UTF-32, not UTF-8"),
        (
            b"\x00\x00\xfe\xff" + '{"id":"a","inputs":{}}'.encode("utf-32-be"),
            "1: P6101: the file is UTF-32, not UTF-8",
        ),
        (
            '{"id":"a","inputs":{}}'.encode("utf-16-le"),
            "1: P6101: the file is UTF-16, not UTF-8",
        ),
        (
            ('{"id":"a","inputs":{}}\n' * 30).encode("utf-16-be"),
            "1: P6101: the file is UTF-16, not UTF-8",
        ),
        (b'{"inputs":{}}', "1: P6101: the key `id` is missing"),
        (b'{"id":"a"}', "1: P6101: the key `inputs` is missing"),
        (b"[]", "1: P6101: a case must be an object, not a list"),
        (b'"a"', "1: P6101: a case must be an object, not a string"),
        (b"null", "1: P6101: a case must be an object, not null"),
        (b"7", "1: P6101: a case must be an object, not a number"),
    ],
)
def test_a_line_that_is_no_case_says_why(refused, data, problem):
    (told,) = refused(data)
    assert told.startswith(problem)


def test_a_wrong_encoding_says_what_to_do(load):
    for data in ("é".encode("utf-16"), b'{"id":"\xe9"}'):
        assert load(data)[1][0].hint == "save the file as UTF-8"


def test_lines_are_counted_as_an_editor_counts_them(refused):
    data = b'\xef\xbb\xbf{"id":"a","inputs":{}}\r\n\r\n \r\n{"id"\n\n{"id":"a","inputs":{}}\n\xff\n'
    assert [problem.partition(":")[0] for problem in refused(data)] == ["4", "6", "7"]


@pytest.mark.parametrize("key", ["scenario", "checked", "input"])
def test_a_key_that_means_nothing_is_refused(load, key):
    _, (problem,) = load(line() + "\n" + line("b", **{key: []}) + "\n")
    assert (problem.code, problem.where) == ("P6101", f"{PATH}:2")
    assert problem.message == f"unknown key `{key}`"
    assert problem.hint


def test_a_misspelled_key_is_told_with_the_likely_one(load):
    _, (problem,) = load(line(expcted="a"))
    assert problem.hint == "did you mean `expected`?"


@pytest.mark.parametrize(
    ("members", "path"),
    [
        ({"id": 7}, "id"),
        ({"id": None}, "id"),
        ({"inputs": []}, "inputs"),
        ({"inputs": "text"}, "inputs"),
        ({"inputs": None}, "inputs"),
        ({"tags": "a"}, "tags"),
        ({"tags": ["a", 7]}, "tags[1]"),
        ({"tags": None}, "tags"),
        ({"tiers": {"a": 1}}, "tiers"),
        ({"metadata": "a"}, "metadata"),
    ],
)
def test_a_member_of_the_wrong_kind_is_told_with_its_path_and_without_its_value(
    refused, members, path
):
    secret = "sk-test-000111222333"  # noqa: S105 - a value that must not be shown
    (problem,) = refused(line(**({"expected": secret} | members)))
    assert problem.startswith(f"1: P6101: `{path}`: ")
    assert secret not in problem


def test_everything_wrong_with_one_case_is_told(refused):
    problems = refused('{"tags":"a","inputs":[],"other":1}')
    assert len(problems) == 4
    assert all(problem.startswith("1: P6101: ") for problem in problems)


@pytest.mark.parametrize(
    "case_id", ["", "a\nb", "\t", "a\x00", "\x1b[31m", "\x7f", "a\x85b", "\x9b", "x" * 129]
)
def test_a_case_id_is_short_and_without_control_characters(refused, case_id):
    assert refused(line(case_id)) == [
        "1: P6101: the case id must have 1 to 128 characters, none of them a control character"
    ]


@pytest.mark.parametrize(
    "case_id", ["x" * 128, "👍" * 128, "late return / café ✓", "::error::", "7"]
)
def test_a_case_id_may_be_any_other_text(read, case_id):
    assert read(line(case_id))[0].id == case_id


def test_a_case_id_is_used_once(refused):
    data = "\n".join([line("a"), line("b"), "", line("a"), line("A"), line("b"), line("a")])
    assert refused(data) == [
        "4: P6103: the case id `a` is taken by line 1",
        "6: P6103: the case id `b` is taken by line 2",
        "7: P6103: the case id `a` is taken by line 1",
    ]


def test_a_case_off_the_rules_is_told_with_its_id_and_line(refused):
    assert refused(line("a") + "\n\n" + line("b"), rules=NoCase(2)) == [
        "1: P6104: case `a`: fault 0",
        "1: P6104: case `a`: fault 1",
        "3: P6104: case `b`: fault 0",
        "3: P6104: case `b`: fault 1",
    ]


# Limits


@pytest.mark.parametrize("data", [b"", b"\n", b" \t\r\n\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"])
def test_a_dataset_without_cases_can_never_fail(load, data):
    dataset, (problem,) = load(data)
    assert dataset is None
    assert (problem.code, problem.where) == ("P6202", WHERE)
    assert problem.message == f"the dataset `{PATH}` holds no cases, so the suite can never fail"


def test_more_cases_than_allowed_are_refused_and_never_cut(load):
    data = "".join(line(f"case-{number}") + "\n" for number in range(4))
    assert len(load(data, max_cases=4)[0]) == 4
    dataset, (problem,) = load(data, max_cases=3)
    assert dataset is None
    assert (problem.code, problem.where) == ("P6102", PATH)
    assert problem.message == f"`{PATH}` holds 4 cases, more than 3"
    assert problem.hint == (
        "raise `max_cases` to 4 in the project's configuration, or `--max-cases`"
    )


def test_too_many_cases_are_told_beside_the_first_problems(load):
    data = "{}\n" * 100
    _, problems = load(data, max_cases=10)
    assert problems[0].code == "P6102"
    assert len(problems) == 22


@pytest.mark.parametrize(
    ("bad_lines", "last"),
    [
        (20, None),
        (21, "and 1 more problem"),
        (45, "and 25 more problems"),
    ],
)
def test_twenty_problems_are_shown_and_the_others_counted(load, bad_lines, last):
    _, problems = load("nonsense\n" * bad_lines)
    assert [one.where for one in problems[:20]] == [f"{PATH}:{n}" for n in range(1, 21)]
    assert [one.message for one in problems[20:]] == ([] if last is None else [last])
    assert all(one.where == PATH and one.code == "P6101" for one in problems[20:])


def test_a_case_with_very_many_faults_is_left_after_the_first(load):
    _, problems = load(line("a") + "\n" + line("b") + "\n", rules=NoCase(10_000_000))
    assert len(problems) == 21
    assert problems[19].message == "case `a`: fault 19"
    # What is left out: one line for the rest of `a`, and 21 for `b`.
    assert problems[20].message == "and 22 more problems"


def test_a_case_is_at_most_a_mebibyte(read, refused):
    frame = len(line(inputs={"x": ""}))
    assert len(read(line(inputs={"x": "y" * (MEBIBYTE - frame)}))) == 1
    assert refused(line(inputs={"x": "y" * (MEBIBYTE - frame + 1)}) + "\n" + line("b")) == [
        "1: P6101: the case is larger than 1 MiB"
    ]


def test_a_line_is_at_most_sixteen_mebibytes(refused):
    blank = b" " * 16 * MEBIBYTE
    assert refused(line().encode() + b"\n" + blank + b"\nnot read any more") == [
        "2: P6101: the line is longer than 16 MiB"
    ]


# The file


@pytest.mark.parametrize(
    "path", ["evals/cases.json", "evals/cases.tsv", "evals/cases", "a.JSONL", "jsonl", ".csv"]
)
def test_only_some_endings_are_read(load, path):
    dataset, (problem,) = load(line(), path=path)
    assert dataset is None
    assert (problem.code, problem.where) == ("P6101", WHERE)
    assert problem.hint == "datasets end in .jsonl, .csv, .yaml or .yml"


def refusal(tmp_path, path=PATH):
    dataset, (problem,) = load_dataset(tmp_path, path, rules=AnyCase(), max_cases=10, where=WHERE)
    assert dataset is None
    assert problem.where == WHERE
    return problem


def test_a_dataset_that_is_not_there_is_told_where_the_suite_names_it(tmp_path):
    (tmp_path / "evals").mkdir()
    problem = refusal(tmp_path)
    assert problem.code == "P6101"
    assert problem.message == f"the dataset `{PATH}` cannot be read: no such file or directory"


def test_a_folder_pipe_or_link_in_place_of_a_dataset_is_refused(tmp_path):
    (tmp_path / "evals").mkdir()
    (tmp_path / "outside.jsonl").write_text(line() + "\n", encoding="utf-8")
    (tmp_path / "evals/folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "evals/pipe.jsonl")
    (tmp_path / "evals/link.jsonl").symlink_to(tmp_path / "outside.jsonl")
    (tmp_path / "evals/gone.jsonl").symlink_to(tmp_path / "nowhere.jsonl")
    (tmp_path / "linked").symlink_to(tmp_path / "evals")
    for path in ("evals/folder", "evals/pipe", "evals/link", "evals/gone", "linked/folder"):
        assert refusal(tmp_path, f"{path}.jsonl").code == "P6805"


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b'"yes"', b'"nay"'),
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: b" " + data,
        lambda data: data.replace(b'"yes"', b'"\\ud800"'),
    ],
)
def test_a_file_that_changes_between_the_two_passes_is_noticed(load, tmp_path, change):
    data = (line("a", expected="yes") + "\n" + line("b", expected="yes") + "\n").encode()
    dataset, _ = load(data)
    with (tmp_path / PATH).open("r+b") as file:
        file.truncate()
        file.write(change(data))
    with pytest.raises(DatasetError) as caught:
        dataset.case(1)
    assert caught.value.code == "P6101"
    assert caught.value.message == f"`{PATH}` changed while it was being used"


def test_a_file_that_is_replaced_goes_on_being_read_as_it_was(load, tmp_path):
    dataset, _ = load(line("a", expected="yes"))
    other = tmp_path / "other"
    other.write_text(line("a", expected="no"), encoding="utf-8")
    other.replace(tmp_path / PATH)
    assert dataset.case(0).expected == "yes"


def test_no_case_is_kept_in_memory(load):
    word = "a value that stands in one case only"
    dataset, _ = load("".join(line(f"c{n}", inputs={"x": f"{word} {n}"}) + "\n" for n in range(50)))
    dataset.case(7)
    gc.collect()
    held = [dataset]
    seen = set()
    while held:
        one = held.pop()
        if id(one) in seen or isinstance(one, type) or callable(one):
            continue
        seen.add(id(one))
        assert not isinstance(one, Case)
        assert not (isinstance(one, (str, bytes, bytearray)) and word in str(one))
        held += gc.get_referents(one)
    assert len(seen) > 5
