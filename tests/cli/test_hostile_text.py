"""Text a model or a stranger wrote prints safely and survives in the report."""

from __future__ import annotations

import json

import pytest

HOSTILE = {
    "colour": "\x1b[31mred\x1b[0m",
    "cdata": "]]>",
    "script": "<script>alert(1)</script>",
    "pipe": "a | b",
    "nul": "a\x00b",
    "surrogate": "a\ud800b",
    "bidi": "abc\u202edef\u2066",
    "runner": "::error::forged",
    "azure": "##vso[task.complete result=Failed;]",
    "newline": "one\n::error file=x::two",
    "emoji": "\U0001f44d\U0001f3fd",
    "zero width": "a\u200bb\ufeff",
    "separator": "a\u2028b",
}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    from support import SUITE, Project

    project = Project(tmp_path_factory.mktemp("hostile"))
    dataset = "{path: cases.jsonl, allow: [{rule: S014, reason: that is what is tried}]}"
    project.write("evals/quiz.eval.yaml", SUITE.replace("cases.jsonl", dataset))
    project.cases(
        *({**project.case(name), "tags": [text]} for name, text in HOSTILE.items()),
        {**project.case("by id"), "id": "\u202eid"},
    )
    project.cassette(
        *(project.recording(name, json.dumps({"label": text})) for name, text in HOSTILE.items()),
        project.recording("by id", '{"label": "\\u202e"}'),
    )
    return project


def test_nothing_in_an_answer_reaches_the_terminal_raw(outcome):
    result = outcome.proctor("run", "--all")
    assert result.code == 1
    text = result.out.decode("utf-8")
    for forbidden in "\x1b\x00\u202e\u2066\u200b\ufeff\u2028\x9b":
        assert forbidden not in text
    for line in text.splitlines():
        assert not line.lstrip().startswith(("::", "##[", "##vso["))
    for visible in ("\\x1b[31m", "<script>", "]]>", "a | b", "\\x00", "\\u202e", "\U0001f44d"):
        assert visible in text


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_printing_does_not_depend_on_the_console(outcome, encoding):
    result = outcome.proctor("run", "--all", env={"PYTHONIOENCODING": encoding, "LC_ALL": "C"})
    assert result.code == 1
    assert "Traceback" not in result.err


def test_every_answer_survives_in_the_report(outcome):
    result = outcome.proctor("run", "--format", "json")
    report = json.loads(result.out)
    cases = report["suites"][0]["subjects"][0]["cases"]
    for case in cases[:-1]:
        answer = json.loads(case["rows"][0]["answer"]["text"])
        assert answer["label"] == HOSTILE[case["id"]] == case["tags"][0]


def test_problems_about_hostile_names_print_safely(outcome, tmp_path):
    from support import Project

    project = Project(tmp_path)
    project.write("evals/cases.jsonl", '{"id": "a\\u001b[31m", "inputs": {}}\n')
    project.write("evals/quiz.eval.yaml", '"::error::\\e[31m": 1\n')
    result = project.proctor("run")
    assert result.code == 2
    assert "\x1b" not in result.err
    assert not any(line.lstrip().startswith("::") for line in result.err.splitlines())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"answer"', '"answer","\\ud800":1'),
        ('"finish":"stop"', '"finish":"\\ud800"'),
        ('"model":"local/tiny"', '"model":"\\ud800"'),
    ],
)
def test_a_lone_surrogate_in_a_recording_is_damage(tmp_path, old, new):
    from support import Project

    project = Project(tmp_path)
    project.exam({"one": "yes"})
    cassette = project.root / "evals/cassettes/quiz.jsonl"
    cassette.write_text(cassette.read_text().replace(old, new, 1))
    result = project.proctor("run")
    assert result.code == 2
    assert "evals/cassettes/quiz.jsonl:1: P6403" in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize("line", ['{"\\ud800": 1}', '{"id": "a", "inputs": {}, "\\ud800": 1}'])
def test_a_lone_surrogate_as_a_key_of_a_case_is_refused(tmp_path, line):
    from support import Project

    project = Project(tmp_path)
    project.write("evals/cases.jsonl", line + "\n")
    result = project.proctor("run")
    assert result.code == 2
    assert "evals/cases.jsonl:1: P6101" in result.err
    assert "Traceback" not in result.err
