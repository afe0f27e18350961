import csv
import io
import json
import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from proctor.canonical import digest
from proctor.loading.cases import CellTypes
from proctor.loading.datasets import load_dataset
from proctor.records import Case

characters = st.integers(0, 0x10FFFF).map(chr)
texts = st.text(characters, max_size=8)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda members: st.lists(members, max_size=3) | st.dictionaries(texts, members, max_size=3),
    max_leaves=8,
)
# Text that does not come back from its escapes: a high surrogate that meets a low one.
inputs = st.dictionaries(texts, values, max_size=3)
ends = st.sampled_from(["\n", "\r\n", "\n\n", "\r\n \t\r\n"])


class Seeing:
    """Rules that keep what the first pass saw."""

    def __init__(self):
        self.seen = []

    def faults(self, case):
        self.seen.append(case)
        return iter(())

    def cell_types(self):
        return CellTypes(inputs=None, expected={}, answers_are_objects=False)


def both_passes(data, name="cases.jsonl", delimiter=None):
    """The cases as the rules saw them and as they are read again, and the problems."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(data)
        rules = Seeing()
        dataset, problems = load_dataset(
            Path(folder), name, rules=rules, max_cases=1_000, where="here", delimiter=delimiter
        )
        if dataset is None:
            return rules.seen, [], problems
        again = [dataset.case(index) for index in range(len(dataset))]
        dataset.close()
        return rules.seen, again, problems


@given(inputs, values, st.booleans())
@example({"a": 2**64, "b": -0.0, "c": "\ud800"}, 9007199254740993, False)
def test_both_passes_see_the_values_that_were_written(written, expected, escaped):
    text = json.dumps({"id": "a", "inputs": written, "expected": expected}, ensure_ascii=escaped)
    data = text.encode("utf-8", "backslashreplace")
    meant = json.loads(data)
    (first,), (second,), problems = both_passes(data + b"\n")
    assert problems == []
    for case in (first, second):
        assert json.dumps(case.inputs) == json.dumps(meant["inputs"])
        assert json.dumps(case.expected) == json.dumps(meant["expected"])
    assert digest(first.inputs) == digest(second.inputs)


@given(
    st.lists(
        st.tuples(st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=20), ends),
        max_size=12,
        unique_by=lambda pair: pair[0],
    ),
    st.booleans(),
    st.booleans(),
)
def test_cases_come_in_the_order_of_the_file(pairs, marked, finished):
    text = "".join(json.dumps({"id": name, "inputs": {}}) + end for name, end in pairs)
    if not finished:
        text = text.rstrip()
    data = (b"\xef\xbb\xbf" if marked else b"") + text.encode()
    seen, again, problems = both_passes(data)
    assert [case.id for case in seen] == [name for name, _ in pairs]
    assert again == ([Case(name, {}) for name, _ in pairs])
    assert [problem.code for problem in problems] == ([] if pairs else ["P6202"])


pieces = st.sampled_from(
    [
        b'{"id":"a","inputs":{}}',
        b'"id"',
        b"{",
        b"}",
        b"[",
        b'"',
        b":",
        b",",
        b"\n",
        b"\r",
        b"\\ud800",
        b"NaN",
        b"1e999",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\x00",
        b"\xe9",
        b" ",
    ]
)


more_pieces = st.sampled_from(
    [
        b"id,inputs.q\n",
        b'"a\n',
        b'""',
        b";",
        b"\t",
        b"- id: a\n  inputs: {}\n",
        b"- ",
        b"&a ",
        b"*a",
    ]
)


@given(
    st.lists(pieces | more_pieces | st.binary(max_size=3), max_size=25).map(b"".join),
    st.sampled_from(["cases.jsonl", "cases.csv", "cases.yaml"]),
    st.sampled_from([b"", b"id,inputs.q\n"]),
)
def test_whatever_stands_in_the_file_is_a_dataset_or_a_problem(data, name, head):
    _, again, problems = both_passes(head + data, name)
    assert bool(again) != bool(problems)
    assert {problem.code for problem in problems} <= {"P6101", "P6103", "P6104", "P6202"}
    assert all(problem.message and problem.where for problem in problems)


# Text in UTF-8 without a byte order mark at the start of a line, which is refused.
cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff"), max_size=8)
signs = st.text(st.sampled_from('",;\t\n\r ab'), max_size=8)


@given(
    st.lists(st.lists(cells | signs, min_size=2, max_size=2), max_size=6),
    st.sampled_from([",", ";", "\t", "|"]),
    # Where lines end in LF the library leaves a carriage return unquoted, if it may.
    st.sampled_from([("\n", csv.QUOTE_ALL), ("\r\n", csv.QUOTE_ALL), ("\r\n", csv.QUOTE_MINIMAL)]),
)
def test_a_table_holds_what_the_standard_library_wrote(rows, delimiter, style):
    file = io.StringIO()
    end, quoting = style
    table = csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=quoting)
    table.writerow(["id", "inputs.a", "inputs.b"])
    table.writerows([[f"c{number}", *row] for number, row in enumerate(rows)])
    seen, again, problems = both_passes(file.getvalue().encode(), "cases.csv", delimiter)
    meant = [
        Case(f"c{number}", {name: cell for name, cell in zip("ab", row, strict=True) if cell})
        for number, row in enumerate(rows)
    ]
    assert seen == again == meant
    assert [problem.code for problem in problems] == ([] if rows else ["P6202"])
