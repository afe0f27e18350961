"""What cannot be used is refused: exit code 2, every problem with its place, no traceback."""

from __future__ import annotations

import json
import os

import pytest

GOOD = "prompt: answer\ndataset: cases.jsonl\n"
RIGHT = "  - {id: right, kind: equals, field: label}\n"


def refused(project, *wanted: str, command: str = "run") -> str:
    """Run, expect a refusal that says all of `wanted`, and return what was said."""
    result = project.proctor(command)
    assert result.code == 2, result.err
    assert result.out == b""
    assert "Traceback" not in result.err
    for words in wanted:
        assert words in result.err
    return result.err


@pytest.fixture
def ready(project):
    project.exam({"one": "yes"})
    return project


@pytest.mark.parametrize("command", ["run", "lint"])
def test_a_misspelt_key_is_named_with_what_was_meant(ready, command):
    ready.write("evals/quiz.eval.yaml", f"{GOOD}asertions:\n{RIGHT}")
    refused(
        ready,
        "evals/quiz.eval.yaml:3: P6201: unknown key `asertions`",
        "did you mean `assertions`?",
        "the key `assertions` is missing",
        command=command,
    )


def test_assertions_under_another_key_are_told_where_they_belong(ready):
    ready.write(
        "evals/quiz.eval.yaml", f"{GOOD}thresholds:\n  passRate: 1\n  assertions:\n  {RIGHT}"
    )
    refused(
        ready,
        "evals/quiz.eval.yaml:5: P6201: unknown key `assertions` in `thresholds`",
        "`assertions` belongs at the top of the file",
    )


def test_a_placeholder_without_an_input_is_placed_in_its_line(ready):
    prompt = (ready.root / "prompts/answer.prompt.yaml").read_text()
    ready.write("prompts/answer.prompt.yaml", prompt + "  second line {{input.qestion}}\n")
    refused(
        ready,
        "prompts/answer.prompt.yaml:8: P6205:",
        "did you mean `question`?",
    )


def test_duplicate_case_ids_name_both_lines(ready):
    ready.cases(ready.case("one"), ready.case("two"), ready.case("one"))
    refused(ready, "evals/cases.jsonl:3: P6103: the case id `one` is taken by line 1")


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        ('{"id": "a", "id": "b", "inputs": {}}', "the key `id` twice"),
        ('{"id": "a", "inputs": {"question": NaN}}', "`NaN`, which is not JSON"),
        ('{"id": "a", "inputs": {"question": 1e999}}', "beyond the range"),
        ('{"id": "a", "inputs": {"question": "x"}} {}', "has text after the JSON value"),
        ('{"id": "a", "inputs": ', "is not JSON"),
        ("[" * 100_000, "nested deeper than 64"),
    ],
)
def test_a_line_that_is_not_strict_json_is_refused(ready, line, detail):
    ready.write("evals/cases.jsonl", f"{json.dumps(ready.case('one'))}\n{line}\n")
    refused(ready, "evals/cases.jsonl:2: P6101", detail)


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_an_empty_dataset_is_not_a_pass(ready, data):
    ready.write("evals/cases.jsonl", data)
    refused(ready, "P6202", "holds no cases")


@pytest.mark.parametrize(
    "assertions",
    [
        " []\n",
        "\n  - {id: a, kind: contains, field: label, values: []}\n",
        "\n  - {id: a, kind: contains, field: label, value: ''}\n",
        "\n  - {id: a, kind: regex, pattern: ''}\n",
        "\n  - {id: a, kind: equals, field: label, severity: warn}\n",
    ],
)
def test_a_suite_that_can_never_fail_is_refused(ready, assertions):
    ready.write("evals/quiz.eval.yaml", f"{GOOD}assertions:{assertions}")
    refused(ready, "P6202", "evals/quiz.eval.yaml:")


def test_an_alias_bomb_is_refused(ready):
    layers = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for name, below in zip("bcdefgh", "abcdefg", strict=True):
        layers.append(f"{name}: &{name} [{', '.join([f'*{below}'] * 10)}]")
    ready.write("evals/quiz.eval.yaml", "\n".join(layers))
    refused(ready, "evals/quiz.eval.yaml:4: P6201", "more than 10000 nodes")


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system ['true']", "!!str x", "!x y"])
def test_a_yaml_tag_is_refused(ready, tag):
    ready.write("evals/quiz.eval.yaml", f"{GOOD}description: {tag}\n")
    refused(ready, "evals/quiz.eval.yaml:3: P6201", "tags are not read")


@pytest.mark.parametrize(
    "path", ["evals/quiz.eval.yaml", "prompts/answer.prompt.yaml", "evals/cases.jsonl"]
)
def test_an_empty_file_is_refused(ready, path):
    ready.write(path, b"")
    refused(ready, path)


@pytest.mark.parametrize(
    "path", ["evals/quiz.eval.yaml", "prompts/answer.prompt.yaml", "evals/cases.jsonl"]
)
def test_a_folder_in_place_of_a_file_is_refused(ready, path):
    (ready.root / path).unlink()
    (ready.root / path).mkdir()
    refused(ready, path, "P6805", "folder")


@pytest.mark.parametrize(
    "path", ["evals/quiz.eval.yaml", "prompts/answer.prompt.yaml", "evals/cases.jsonl"]
)
def test_a_link_or_a_pipe_in_place_of_a_file_is_refused(ready, path):
    file = ready.root / path
    real = file.rename(file.with_name("real"))
    file.symlink_to(real)
    refused(ready, "P6805", "link")
    file.unlink()
    os.mkfifo(file)
    refused(ready, "P6805", "pipe")


@pytest.mark.parametrize(
    "dataset", ["../../x.jsonl", "/etc/passwd", "file:///etc/passwd", "C:/x.jsonl", "''"]
)
def test_a_dataset_outside_the_project_is_refused(ready, dataset):
    ready.write("evals/quiz.eval.yaml", f"prompt: answer\ndataset: {dataset}\nassertions:\n{RIGHT}")
    refused(ready, "evals/quiz.eval.yaml:2: P6805")


def test_a_damaged_recording_is_refused_with_its_line_and_kept(ready):
    good = ready.recording("one", '{"label": "yes"}')
    bad = {**ready.recording("two", '{"label": "yes"}'), "take": 2}
    ready.cassette(good, bad, "{")
    before = (ready.root / "evals/cassettes/quiz.jsonl").read_bytes()
    refused(
        ready,
        "evals/cassettes/quiz.jsonl:2: P6403",
        "does not follow from its parts",
        "evals/cassettes/quiz.jsonl:3: P6403",
        "2 problems; nothing was run",
    )
    assert (ready.root / "evals/cassettes/quiz.jsonl").read_bytes() == before


def test_a_recording_that_stands_twice_is_refused(ready):
    line = ready.recording("one", '{"label": "yes"}')
    ready.cassette(line, line)
    refused(ready, "evals/cassettes/quiz.jsonl:2: P6404", "line 1")


def test_every_problem_of_every_file_is_listed_at_once(ready):
    ready.write("evals/quiz.eval.yaml", f"{GOOD}assertions:\n{RIGHT}x: 1\n")
    ready.write("evals/other.eval.yaml", f"{GOOD}assertions:\n  - {{id: a, kind: nope}}\n")
    ready.write("evals/third.eval.yaml", f"prompt: nobody\ndataset: no.jsonl\nassertions:\n{RIGHT}")
    ready.write("prompts/answer.prompt.yaml", "user: hello {{input.x}}\nz: 1\n")
    refused(
        ready,
        "evals/quiz.eval.yaml:5: P6201: unknown key `x`",
        "evals/other.eval.yaml:4: P6201: there is no assertion kind `nope`",
        "evals/third.eval.yaml:1: P6203: there is no prompt `nobody`",
        "evals/third.eval.yaml:2: P6101: the dataset `evals/no.jsonl` cannot be read",
        "prompts/answer.prompt.yaml:2: P6204: unknown key `z`",
    )


def test_nested_groups_beyond_the_limit_are_refused(ready):
    pattern = "(" * 500 + "a" + ")" * 500
    ready.write(
        "evals/quiz.eval.yaml",
        f"{GOOD}assertions:\n  - {{id: deep, kind: regex, pattern: '{pattern}'}}\n",
    )
    refused(ready, "evals/quiz.eval.yaml:4: P6201", "100")


@pytest.mark.parametrize(
    "reference",
    ["https://example.org/schema.json", "http://127.0.0.1:9/x", "file:///etc/passwd", "other.json"],
)
def test_a_reference_out_of_a_schema_is_refused(ready, reference):
    ready.write(
        "evals/quiz.eval.yaml",
        f"{GOOD}assertions:\n  - {{id: s, kind: json-schema, schema: {{$ref: '{reference}'}}}}\n",
    )
    refused(ready, "evals/quiz.eval.yaml:4: P6201", "$ref")


def test_a_case_off_the_contract_is_named_without_its_values(ready):
    canary = "value-that-must-not-be-printed"
    ready.cases(
        {"id": "one", "inputs": {"question": [canary]}, "expected": {"label": canary}},
        {"id": "two", "inputs": {"question": "x", "extra": canary}, "expected": {"label": canary}},
        {"id": "three", "inputs": {"question": "x"}},
    )
    said = refused(
        ready,
        "evals/cases.jsonl:1: P6104: case `one`: `inputs.question` must be a string",
        "evals/cases.jsonl:2: P6104: case `two`: `inputs.extra` is not declared",
        "evals/cases.jsonl:3: P6104: case `three`:",
    )
    assert canary not in said


def test_the_first_twenty_problems_of_a_dataset_are_shown_and_the_rest_counted(ready):
    ready.cases(*({"id": f"c{n}", "inputs": {}, "expected": {"label": "x"}} for n in range(50)))
    said = refused(ready, "30 more problems")
    assert said.count("P6104: case") == 20


@pytest.mark.parametrize("arguments", [["--nope"], ["--format", "pdf"], ["--concurrency", "0"]])
def test_a_wrong_option_is_refused_with_the_way_to_the_help(project, arguments):
    result = project.proctor("run", *arguments)
    assert result.code == 2
    assert "P6002" in result.err
    assert "proctor run --help" in result.err


def test_a_folder_without_a_project_says_how_to_make_one(project, tmp_path):
    (tmp_path / "proctor.toml").unlink()
    (tmp_path / ".git").mkdir()
    refused(project, "P6003", "there is no Proctor project here", "proctor.toml")


@pytest.mark.parametrize("key", ["cache", "max_cost", "allow_code", "allow_host", "driver"])
def test_what_sends_or_spends_is_never_read_from_a_project_file(ready, key):
    ready.write("proctor.toml", f'project = "tests"\n{key} = "record"\n')
    refused(ready, "proctor.toml:2: P6003", "command line")
