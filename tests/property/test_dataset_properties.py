import json
import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from proctor.canonical import digest
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


def both_passes(data):
    """The cases as the rules saw them and as they are read again, and the problems."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "cases.jsonl").write_bytes(data)
        rules = Seeing()
        dataset, problems = load_dataset(
            Path(folder), "cases.jsonl", rules=rules, max_cases=1_000, where="here"
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


@given(st.lists(pieces | st.binary(max_size=3), max_size=25).map(b"".join))
def test_whatever_stands_in_the_file_is_a_dataset_or_a_problem(data):
    _, again, problems = both_passes(data)
    assert bool(again) != bool(problems)
    assert {problem.code for problem in problems} <= {"P6101", "P6103", "P6202"}
    assert all(problem.message and problem.where for problem in problems)
