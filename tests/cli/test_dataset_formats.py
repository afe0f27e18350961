"""Datasets in every format, as people have them: what the formats do to text must not matter."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support import PROMPT, SUITE

pytestmark = pytest.mark.slow
"""Each test starts a program, and there are many of them."""

PAGE = Path(__file__).parents[2] / "docs/datasets.md"

BOM = b"\xef\xbb\xbf"
NAMES = ["one", "caf\u00e9 \u2713", "a, b; c"]
LABELS = ["yes", "no", 'x\n"y"']


def write_dataset(project, path, cases):
    """Write cases, each a name and a label, in the format of the path, and let the suite use it."""
    project.write("evals/quiz.eval.yaml", SUITE.replace("cases.jsonl", path))
    if path.endswith(".jsonl"):
        text = "".join(json.dumps(project.case(*one)) + "\n" for one in cases)
    elif path.endswith(".csv"):
        cells = ["id,question,expected.label"]
        cells += [",".join(quoted(cell) for cell in (name, name, label)) for name, label in cases]
        text = "\r\n".join([*cells, "", ""])
    else:
        text = "".join(f"- {json.dumps(project.case(*one))}\n" for one in cases)
    return project.write(f"evals/{path}", text)


def quoted(cell):
    return '"' + cell.replace('"', '""') + '"'


@pytest.fixture
def recorded(project):
    """A project with a recorded answer to every case."""
    answers = [json.dumps({"label": label}) for label in LABELS]
    project.cassette(*map(project.recording, NAMES, answers))
    return project


@pytest.mark.parametrize("path", ["same.jsonl", "same.csv", "same.yaml", "same.yml"])
def test_the_same_cases_give_the_same_report_in_every_format(recorded, path):
    cases = list(zip(NAMES, LABELS, strict=True))
    reports = []
    for name in (path, "first.jsonl"):
        write_dataset(recorded, name, cases)
        result = recorded.proctor("run", "--format", "json")
        assert (result.code, result.err.count("warning")) == (0, 0), result.err
        (suite,) = result.report["suites"]
        dataset = suite.pop("dataset")
        assert dataset["path"] == f"evals/{name}"
        assert (dataset["cases"], dataset["findings"]) == (3, [])
        reports.append(suite)
    assert reports[0] == reports[1]


@pytest.mark.parametrize("path", ["marked.jsonl", "marked.csv", "marked.yaml"])
def test_a_byte_order_mark_is_ignored_through_every_entry_point(recorded, path):
    file = write_dataset(recorded, path, [("one", "yes")])
    for marked in (
        file,
        recorded.root / "proctor.toml",
        recorded.root / "prompts/answer.prompt.yaml",
        recorded.root / "evals/quiz.eval.yaml",
    ):
        marked.write_bytes(BOM + marked.read_bytes())
    result = recorded.proctor("run")
    assert result.code == 0, result.err + result.text


def test_a_byte_order_mark_before_a_suite_in_json_is_ignored_too(recorded):
    write_dataset(recorded, "cases.csv", [("one", "yes")])
    (recorded.root / "evals/quiz.eval.yaml").unlink()
    suite = {
        "prompt": "answer",
        "dataset": "cases.csv",
        "assertions": [{"id": "right", "kind": "equals", "field": "label"}],
    }
    recorded.write("evals/quiz.eval.json", BOM + json.dumps(suite).encode())
    assert recorded.proctor("run").code == 0


@pytest.mark.parametrize(
    "word",
    ["no", "NO", "on", "012", "1e3", "1_000", "2024-01-02", "12:30", "9007199254740993", "~",
     "null", " yes"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["words.csv", "words.jsonl", "words.yaml"])
def test_a_string_that_looks_like_something_else_stays_a_string(project, path, word):
    write_dataset(project, path, [("one", word)])
    project.cassette(project.recording("one", json.dumps({"label": word})))
    result = project.proctor("run")
    assert result.code == 0, result.text


@pytest.mark.parametrize("word", ["no", "NO", "on", "1_000", "2024-01-02", "12:30"])
def test_a_plain_word_of_yaml_is_the_string_it_looks_like(project, word):
    project.write("evals/quiz.eval.yaml", SUITE.replace("cases.jsonl", "words.yaml"))
    project.write(
        "evals/words.yaml",
        f"- id: one\n  inputs: {{question: one}}\n  expected: {{label: {word}}}\n",
    )
    project.cassette(project.recording("one", json.dumps({"label": word})))
    assert project.proctor("run").code == 0


def test_a_number_where_the_prompt_wants_text_is_refused_with_its_place(project):
    project.write("evals/quiz.eval.yaml", SUITE.replace("cases.jsonl", "words.yaml"))
    project.write("evals/words.yaml", "- id: one\n  inputs: {question: 012}\n  expected: x\n")
    result = project.proctor("run")
    assert result.code == 2
    assert (
        "evals/words.yaml:1: P6104: case `one`: `inputs.question` must be a string, not a number"
        in result.err
    )


def test_json_in_a_cell_is_read_or_told_with_its_row_and_how_to_quote_it(project):
    prompt = PROMPT.replace("question: {type: string}", "question: {type: object}")
    project.write("prompts/answer.prompt.yaml", prompt)
    project.write("evals/quiz.eval.yaml", SUITE.replace("cases.jsonl", "cases.csv"))
    table = 'id,question,expected\nwhen,{"d":"03/09"},\ntwo,{"d":"x",\nthree,{"d":1,"e":2},x\n'
    project.write("evals/cases.csv", table.replace(",\nthree", ",{}\nthree"))
    result = project.proctor("lint")
    assert result.code == 2
    lines = result.err.splitlines()
    assert [line.partition(": ")[0] for line in lines if ": P6" in line] == [
        "evals/cases.csv:2",
        "evals/cases.csv:3",
        "evals/cases.csv:4",
    ]
    assert "case `when`: the assertion `right` cannot be asked" in lines[0]
    assert "row 2: the cell of `question` is not JSON" in result.err
    assert "the row has text after the closing quote in column 3" in result.err
    assert "quote a cell that holds quotes or the delimiter, and double each quote" in result.err


def test_rows_are_told_with_the_lines_an_editor_shows(project):
    project.write("evals/quiz.eval.yaml", SUITE.replace("cases.jsonl", "cases.csv"))
    project.write(
        "evals/cases.csv",
        ' id ; question ;expected.label\r\na;"x\r\ny";c\r\n\r\n'
        'b;"say ""hi""";c;d\r\ne\r\n;;\r\n\r\n',
    )
    result = project.proctor("run")
    assert result.code == 2
    assert "evals/cases.csv:5: P6101: row 2 has 4 cells, but the header has 3" in result.err
    assert "evals/cases.csv:6: P6101: row 3 has 1 cell, but the header has 3" in result.err


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("cases.csv", "id,question,expected.label\n"),
        ("cases.csv", "id,question,expected.label\r\n,,\r\n"),
        ("cases.csv", ""),
        ("cases.yaml", "[]\n"),
        ("cases.jsonl", "\n"),
    ],
)
@pytest.mark.parametrize("command", ["run", "lint"])
def test_a_dataset_without_cases_is_not_a_pass(project, path, data, command):
    project.write("evals/quiz.eval.yaml", SUITE.replace("cases.jsonl", path))
    project.write(f"evals/{path}", data)
    result = project.proctor(command)
    assert result.code == 2
    assert "P6202" in result.err


@pytest.mark.parametrize("path", ["cases.csv", "cases.jsonl", "cases.yaml"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1"])
def test_another_encoding_is_refused_by_name(project, path, encoding):
    file = write_dataset(project, path, [("caf\u00e9", "yes")])
    text = file.read_text(encoding="utf-8").replace("\\u00e9", "\u00e9")
    file.write_bytes(text.encode(encoding))
    result = project.proctor("lint")
    assert result.code == 2
    assert ("UTF-16" if encoding != "latin-1" else "Latin-1") in result.err
    assert "save the file as UTF-8" in result.err


@pytest.mark.parametrize("path", ["cases.csv", "cases.yaml"])
def test_no_console_and_no_locale_keeps_a_name_from_being_read_and_printed(recorded, path):
    file = write_dataset(recorded, path, [("caf\u00e9 \u2713", "other")])
    file.write_text(file.read_text("utf-8").replace("\\u00e9 \\u2713", "\u00e9 \u2713"), "utf-8")
    env = {"PYTHONIOENCODING": "cp1252", "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}
    result = recorded.proctor("run", env=env)
    assert (result.code, "Traceback" in result.err) == (1, False)
    assert "caf\u00e9 \u2713" in result.text


def test_a_table_without_ids_is_run_with_a_warning(project):
    project.write("evals/quiz.eval.yaml", SUITE.replace("cases.jsonl", "cases.csv"))
    project.write("evals/cases.csv", "question,expected.label\none,yes\n")
    project.cassette(project.recording("one", '{"label": "yes"}'))
    result = project.proctor("run")
    assert result.code == 0
    assert "1 case without an `id` is called by its row, like `row-1`" in result.text
    linted = project.proctor("lint")
    assert "evals/cases.csv:1: warning: 1 case without an `id`" in linted.err


def test_a_delimiter_may_be_told(project):
    dataset = '{path: cases.csv, delimiter: "|"}'
    project.write("evals/quiz.eval.yaml", SUITE.replace("cases.jsonl", dataset))
    project.write("evals/cases.csv", "id|question|expected.label\none|one|yes\n")
    project.cassette(project.recording("one", '{"label": "yes"}'))
    assert project.proctor("run").code == 0


@pytest.mark.parametrize(("block", "ending"), [("json", "jsonl"), ("yaml", "yaml"), ("csv", "csv")])
def test_the_examples_of_the_page_are_datasets(project, block, ending):
    inputs = "inputs: {order_total: {type: number}, message: {type: string}}"
    project.write(
        "prompts/answer.prompt.yaml",
        f"model: {{ref: local/tiny}}\n{inputs}\nuser: '{{{{order_total}}}} {{{{message}}}}'\n",
    )
    project.write(
        "evals/quiz.eval.yaml",
        SUITE.replace("cases.jsonl", f"cases.{ending}").replace("label", "decision"),
    )
    blocks = re.findall(rf"^```{block}\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    (example,) = [one for one in blocks if "late-return" in one]
    project.write(f"evals/cases.{ending}", example)
    result = project.proctor("lint")
    assert result.code == 0, result.err
    assert "1 case, 0 warnings" in result.text
