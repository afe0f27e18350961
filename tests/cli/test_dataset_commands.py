"""`proctor dataset`: the figures of a dataset, and its parts as files."""

from __future__ import annotations

import json

import pytest

from support import proctor

pytestmark = pytest.mark.slow
"""Each test starts a program, and there are many of them."""

CASES = [
    {"id": "a", "inputs": {"q": "where is it"}, "expected": {"label": "yes"}, "tags": ["x"]},
    {"id": "b", "inputs": {"q": "where is it"}, "expected": {"label": "no"}, "tags": ["y", "x"]},
    {"id": "c", "inputs": {"q": "why \ud800"}, "expected": {"label": "yes"}, "metadata": {"m": 1}},
    {"id": "d", "inputs": {"q": "Why", "n": 1.0}, "context": [1], "dos": ["be kind"]},
]


def dataset(folder):
    text = "".join(json.dumps(case) + "\n" for case in CASES)
    (folder / "cases.jsonl").write_text(text, encoding="utf-8")
    return "cases.jsonl"


def parts(folder):
    return {
        path.name: [json.loads(line) for line in path.read_bytes().splitlines()]
        for path in sorted(folder.glob("cases.*.jsonl"))
    }


def test_the_figures_are_printed(tmp_path):
    result = proctor("dataset", "stats", dataset(tmp_path), cwd=tmp_path)
    assert result.code == 0, result.err
    assert result.text.splitlines() == [
        "4 cases",
        "tags: x 2 (50%), y 1 (25%), (none) 2 (50%)",
        "length of inputs.q: median 5, 95% up to 11, 3 to 11 characters in 4 cases",
        "expected.label: yes 2 (67%), no 1 (33%)",
        "without expected: 1 case",
        "duplicates: 1 case in 1 group",
        "  a, b",
        "near duplicates: 0 cases",
    ]


def test_the_figures_are_had_as_json(tmp_path):
    result = proctor("dataset", "stats", dataset(tmp_path), "--format", "json", cwd=tmp_path)
    assert result.report == {
        "cases": 4,
        "tags": {"x": 2, "y": 1},
        "untagged": 2,
        "lengths": {"q": {"cases": 4, "min": 3, "median": 5, "p95": 11, "max": 11}},
        "duplicates": [["a", "b"]],
        "near_duplicates": [],
        "labels": {"expected.label": {"yes": 2, "no": 1}},
        "without_expected": 1,
    }


def test_a_dataset_in_yaml_has_figures_and_parts(tmp_path):
    text = "\n".join(f"- {json.dumps(case)}" for case in CASES).replace("\\ud800", "")
    (tmp_path / "cases.yaml").write_text(text, encoding="utf-8")
    result = proctor("dataset", "stats", "cases.yaml", cwd=tmp_path)
    assert "4 cases\ntags: x 2 (50%), y 1 (25%), (none) 2 (50%)\n" in result.text
    assert proctor("dataset", "split", "cases.yaml", "--by-tag", cwd=tmp_path).code == 0
    assert {part: len(cases) for part, cases in parts(tmp_path).items()} == {
        "cases.untagged.jsonl": 2,
        "cases.x.jsonl": 1,
        "cases.y.jsonl": 1,
    }


def test_the_rows_of_a_table_stay_as_they_are(tmp_path):
    rows = ["id;n;expected.label;tags", 'a;012;"=1+1";x', 'b;-1;"two\nlines";y', ";;;", "c;3;;x"]
    text = "\ufeff" + "".join(f"{row}\r\n" for row in rows)
    (tmp_path / "cases.csv").write_bytes(text.encode())
    result = proctor("dataset", "stats", "cases.csv", cwd=tmp_path)
    assert "length of inputs.n: median 2, 95% up to 3, 1 to 3 characters in 3 cases" in result.text
    assert proctor("dataset", "split", "cases.csv", "--by-tag", cwd=tmp_path).code == 0
    for part, places in (("x", (0, 1, 4)), ("y", (0, 2))):
        written = (tmp_path / f"cases.{part}.csv").read_bytes().decode()
        assert written == "".join(f"{rows[place]}\n" for place in places)


def test_a_split_by_tag_keeps_every_case_as_it_is(tmp_path):
    result = proctor("dataset", "split", dataset(tmp_path), "--by-tag", cwd=tmp_path)
    assert (result.code, result.text.splitlines()) == (
        0,
        [
            "wrote cases.x.jsonl: 1 case",
            "wrote cases.y.jsonl: 1 case",
            "wrote cases.untagged.jsonl: 2 cases",
        ],
    )
    assert parts(tmp_path) == {
        "cases.x.jsonl": CASES[:1],
        "cases.y.jsonl": CASES[1:2],
        "cases.untagged.jsonl": CASES[2:],
    }


def test_a_split_by_a_share_gives_two_parts(tmp_path):
    options = ["--fraction", "0.5", "--seed", "1"]
    result = proctor("dataset", "split", dataset(tmp_path), *options, cwd=tmp_path)
    assert result.code == 0, result.err
    found = parts(tmp_path)
    assert list(found) == ["cases.rest.jsonl", "cases.share.jsonl"]
    assert sorted(len(cases) for cases in found.values()) == [2, 2]
    together = [case for cases in found.values() for case in cases]
    assert sorted(together, key=lambda case: case["id"]) == CASES
    assert [case["id"] for case in together[:2]] in (["a", "b"], ["c", "d"])


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--by-tag", "--fraction", "0.2"],
        ["--by-tag", "--seed", "1"],
        ["--fraction", "0"],
        ["--fraction", "1"],
        ["--fraction", "1.5"],
        ["--fraction", "0.1"],
    ],
)
def test_a_split_that_makes_no_sense_is_refused(tmp_path, options):
    result = proctor("dataset", "split", dataset(tmp_path), *options, cwd=tmp_path)
    assert (result.code, parts(tmp_path)) == (2, {})
    assert "P6002" in result.err


def test_a_part_that_is_there_already_is_left_alone_and_no_other_is_written(tmp_path):
    dataset(tmp_path)
    (tmp_path / "cases.untagged.jsonl").write_text("{}\n", encoding="utf-8")
    result = proctor("dataset", "split", "cases.jsonl", "--by-tag", cwd=tmp_path)
    assert result.code == 2
    assert "P6004: `cases.untagged.jsonl` exists already" in result.err
    assert parts(tmp_path) == {"cases.untagged.jsonl": [{}]}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("cases.jsonl", "", "P6101: `cases.jsonl` holds no cases"),
        ("cases.csv", "id,q\n", "P6101: `cases.csv` holds no cases"),
        ("cases.jsonl", '{"id": "a"}\n', "cases.jsonl:1: P6101: the key `inputs` is missing"),
        ("cases.txt", "x", "P6101: `cases.txt` is not a dataset that can be read"),
    ],
)
def test_what_is_no_dataset_has_no_figures(tmp_path, name, content, said):
    (tmp_path / name).write_text(content, encoding="utf-8")
    result = proctor("dataset", "stats", name, cwd=tmp_path)
    assert (result.code, result.out) == (2, b"")
    assert said in result.err
