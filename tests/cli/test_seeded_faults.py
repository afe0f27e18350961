"""`lint` finds each of many faults, in the right file and line, and finds them together."""

from __future__ import annotations

import pytest

SUITE = """\
description: A quiz
prompt: answer
dataset: cases.jsonl
assertions:
  - {id: right, kind: equals, field: label}
  - {id: shape, kind: json-schema}
thresholds:
  passRate: 0.9
"""

PROMPT = """\
model: {ref: local/tiny, maxTokens: 16, params: {temperature: 0}}
inputs:
  question: {type: string, maxLength: 40}
  level: {type: enum, options: [easy, hard], optional: true}
output:
  label: {type: string}
system: |-
  You answer questions.
user: |-
  Question:
  {{input.question}}
"""

CASES = """\
{"id": "one", "inputs": {"question": "a"}, "expected": {"label": "yes"}}
{"id": "two", "inputs": {"question": "b", "level": "easy"}, "expected": {"label": "no"}}
"""

CONFIG = """\
project = "tests"
max_cases = 10
"""

FILES = {
    "evals/quiz.eval.yaml": SUITE,
    "prompts/answer.prompt.yaml": PROMPT,
    "evals/cases.jsonl": CASES,
    "proctor.toml": CONFIG,
}

Q, P, C, T = FILES

# file, what is replaced, by what, the code and the line it is found in
FAULTS = [
    (Q, "description:", "descripton:", "P6201", 1),
    (Q, "prompt: answer", "prompt: anwser", "P6203", 2),
    (Q, "prompt: answer", "prompts: [answer, answer]", "P6201", 2),
    (Q, "prompt: answer", "prompt: [answer]", "P6201", 2),
    (Q, "dataset: cases.jsonl", "dataset: case.jsonl", "P6101", 3),
    (Q, "dataset: cases.jsonl", "dataset: ../../cases.jsonl", "P6805", 3),
    (Q, "dataset: cases.jsonl", "dataset: cases.parquet", "P6101", 3),
    (Q, "kind: equals", "kind: equal", "P6201", 5),
    (Q, "field: label}", "feild: label}", "P6201", 5),
    (Q, "id: shape", "id: right", "P6201", 6),
    (Q, "kind: json-schema", "kind: regex, pattern: '('", "P6201", 6),
    (Q, "kind: json-schema", "kind: regex, pattern: ''", "P6202", 6),
    (Q, "kind: json-schema", "kind: contains, values: []", "P6202", 6),
    (Q, "kind: json-schema", "kind: json-schema, schema: {$ref: 'x.json'}", "P6201", 6),
    (Q, "kind: json-schema", "kind: json-schema, severity: hard", "P6201", 6),
    (Q, "  passRate: 0.9", "  passRate: 90", "P6202", 8),
    (Q, "  passRate: 0.9", "  passrate: 0.9", "P6201", 8),
    (Q, "  passRate: 0.9", "  passRate: 0.9\n  passRate: 1", "P6201", 9),
    (P, "maxTokens: 16", "maxTokens: many", "P6204", 1),
    (P, "ref: local/tiny", "ref: tiny", "P6204", 1),
    (P, "{type: string, maxLength: 40}", "{type: text}", "P6204", 3),
    (P, "options: [easy, hard], ", "", "P6204", 4),
    (P, "{{input.question}}", "{{input.qestion}}", "P6205", 11),
    (P, "  You answer questions.", "  You {{#if x}} answer.", "P6205", 8),
    (P, "user: |-", "use: |-", "P6204", 9),
    (C, '"one", "inputs"', '"two", "inputs"', "P6103", 2),
    (C, '"question": "b"', '"question": 7', "P6104", 2),
    (C, '"level": "easy"', '"level": "medium"', "P6104", 2),
    (C, ', "expected": {"label": "no"}', "", "P6104", 2),
    (C, '{"id": "two"', '{"id": "two", "id": "two"', "P6101", 2),
    (C, '"label": "no"}}', '"label": "no"}', "P6101", 2),
    (T, 'project = "tests"', 'project = "Tests!"', "P6003", 1),
    (T, "max_cases = 10", "max_case = 10", "P6003", 2),
    (T, "max_cases = 10", 'cache = "record"', "P6003", 2),
]


def plant(project, *faults):
    files = dict(FILES)
    for path, old, new, _, _ in faults:
        assert files[path].count(old) == 1, f"{old!r} stands {files[path].count(old)} times"
        files[path] = files[path].replace(old, new)
    for path, content in files.items():
        project.write(path, content)


def test_the_project_without_a_fault_is_clean(project):
    plant(project)
    result = project.proctor("lint")
    assert result.code == 0
    # The only warning is about the input that this prompt indeed never uses.
    assert result.err.count("\n") == 1
    assert "`level`" in result.err


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault[0]}: {fault[2][:40]}")
def test_a_fault_is_found_in_its_line(project, fault):
    plant(project, fault)
    path, _, _, code, line = fault
    result = project.proctor("lint")
    assert result.code == 2
    assert f"{path}:{line}: {code}: " in result.err
    assert "Traceback" not in result.err


def test_faults_of_several_files_are_found_together(project):
    faults = [
        fault
        for fault in FAULTS
        if (fault[0], fault[4]) in {(Q, 1), (Q, 5), (P, 8), (P, 11), (C, 2)}
    ]
    chosen = {(fault[0], fault[4]): fault for fault in faults}
    plant(project, *chosen.values())
    result = project.proctor("lint")
    assert result.code == 2
    for path, _, _, code, line in chosen.values():
        assert f"{path}:{line}: {code}: " in result.err
