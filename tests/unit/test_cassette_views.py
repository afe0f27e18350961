import json
from contextlib import closing

import pytest

from proctor.cassette_views import MAX_SHOWN, CassetteSummary, changes, summarise
from proctor.cassettes import open_cassette
from support import Project


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def opened(project, *lines, name="one"):
    project.cassette(*lines, folder=name)
    cassette, problems = open_cassette(project.root, f"{name}/quiz.jsonl", name)
    assert problems == []
    return closing(cassette)


def differences(project, before, after):
    with opened(project, *before, name="one") as old, opened(project, *after, name="two") as new:
        return [(change.what, change.label.case, change.details) for change in changes(old, new)]


def details(project, before, after):
    """How the answers to one case differ, given as texts or as changes to the answer."""
    lines = []
    for answer in (before, after):
        line = project.recording("one", answer if isinstance(answer, str) else "Sure.")
        if isinstance(answer, dict):
            line["answer"] |= answer
        lines.append(line)
    found = differences(project, lines[:1], lines[1:])
    return found[0][2] if found else []


class TestSummary:
    def test_it_counts_recordings_and_those_nobody_asks_for(self, project):
        lines = [project.recording(name, "Sure.") for name in "abc"]
        lines[2]["recorded"] |= {"on": "2026-12-02", "host": "127.0.0.1", "provider": "local"}
        lines[1]["recorded"]["on"] = "2025-01-31"
        with opened(project, *lines) as cassette:
            summary = summarise(cassette, {lines[0]["key"], "0" * 64})
        assert summary == CassetteSummary(
            recordings=3,
            models=["local/tiny"],
            hosts=["127.0.0.1", "handwritten"],
            first="2025-01-31",
            last="2026-12-02",
            unused=2,
        )

    def test_an_empty_cassette_has_no_dates(self, project):
        with opened(project) as cassette:
            summary = summarise(cassette, set())
        assert (summary.recordings, summary.first, summary.last) == (0, None, None)


class TestMatching:
    def test_a_cassette_and_itself_do_not_differ(self, project):
        lines = [project.recording(name, "Sure.") for name in "abc"]
        assert differences(project, lines, lines[::-1]) == []

    def test_recordings_are_matched_by_what_they_are_of(self, project):
        before = [project.recording(name, "Sure.") for name in ("gone", "same", "told")]
        after = [
            project.recording("come", "Sure."),
            project.recording("same", "Sure."),
            project.recording("told", "No.", parts={"prompt": "0" * 64}),
        ]
        assert differences(project, before, after) == [
            ("added", "come", []),
            ("removed", "gone", []),
            ("changed", "told", ["prompt changed", 'text: "Sure." -> "No."']),
        ]

    def test_takes_calls_and_models_are_apart(self, project):
        before = [project.recording("one", "Sure.", take=take) for take in (1, 2)]
        after = [
            project.recording("one", "Sure."),
            project.recording("one", "Sure.", take=2, model="local/other"),
        ]
        whats = [what for what, _, _ in differences(project, before, after)]
        assert sorted(whats) == ["added", "removed"]

    def test_several_prompts_on_one_model_are_all_compared(self, project):
        prompts = [f"{number:064x}" for number in range(3)]
        before = [project.recording("one", f"{p}", parts={"prompt": p}) for p in prompts]
        after = [dict(line) for line in before]
        after[1] = project.recording("one", "new", parts={"prompt": prompts[1]})
        assert differences(project, before, after) == [
            ("changed", "one", [f'text: "{prompts[1]}" -> "new"'])
        ]
        assert differences(project, before, after[:2])[-1] == ("removed", "one", [])

    def test_of_several_prompts_those_of_the_same_bundle_are_compared_first(self, project):
        prompts = [f"{number:064x}" for number in range(2)]
        lines = [
            [project.recording("one", p, parts={"prompt": p, "inputs": inputs}) for p in prompts]
            for inputs in ("a" * 64, "b" * 64)
        ]
        for after in (lines[1], lines[1][::-1]):
            assert (
                differences(project, lines[0], after)
                == [("changed", "one", ["inputs changed"])] * 2
            )

    def test_labels_alone_do_not_change_an_answer(self, project):
        line = project.recording("one", "Sure.")
        again = line | {"usage": None, "cost_usd": None, "latency_ms": 1}
        again["recorded"] = line["recorded"] | {"on": "2027-01-01"}
        assert differences(project, [line], [again]) == []


class TestDetails:
    @pytest.mark.parametrize(
        ("before", "after", "wanted"),
        [
            ("Sure.", "No.", ['text: "Sure." -> "No."']),
            ('{"a": 1}', '{"a": 2}', ["a: 1 -> 2"]),
            ('{"a": {"b": [1, 2]}}', '{"a": {"b": [1, 3]}}', ["a.b[1]: 2 -> 3"]),
            ('{"a": [1]}', '{"a": [1, 2]}', ["a: [1] -> [1,2]"]),
            ('{"a": 1}', "{}", ["a: 1 -> absent"]),
            ("{}", '{"a": null}', ["a: absent -> null"]),
            ("[1]", "[2]", ["[0]: 1 -> 2"]),
            ('{"a": 1}', "[1]", [r'text: "{\"a\": 1}" -> "[1]"']),
            ('{"a": 1}', "No.", [r'text: "{\"a\": 1}" -> "No."']),
            ('{"a": 1, "b": 1}', '{"b": true, "a": "1"}', ['a: 1 -> "1"', "b: 1 -> true"]),
            ('{"a": 1}', '{"a":1}', ["text: the same JSON, written differently"]),
            ('{"a": 1.0}', '{"a": 1}', ["text: the same JSON, written differently"]),
            ("1", "2", ['text: "1" -> "2"']),
            ({"text": None}, {"text": ""}, ['text: null -> ""']),
            ({"finish": "length"}, {}, ["finish: length -> stop"]),
            ({}, {"tool_calls": [{"id": None, "name": "f", "args": {}}]}, ["tool calls changed"]),
            ({"evidence": {"a": 1}, "turns": 3}, {}, ["evidence changed", "turns changed"]),
        ],
    )
    def test_a_change_is_told_by_its_place(self, project, before, after, wanted):
        assert details(project, before, after) == wanted

    def test_a_changed_request_is_told_too(self, project):
        before = project.recording("one", "Sure.")
        after = project.recording(
            "one",
            "Sure.",
            parts={"inputs": "0" * 64, "params": {"maxTokens": 20, "temperature": 0}},
        )
        ((_, _, told),) = differences(project, [before], [after])
        assert told == ["inputs changed", "params.maxTokens: 16 -> 20"]

    @pytest.mark.parametrize("start", [0, 10, 5_000])
    def test_long_texts_are_shown_where_they_begin_to_differ(self, project, start):
        before, after = "x" * start + "before" * 99, "x" * start + "after" * 99
        (told,) = details(project, before, after)
        assert "before" in told
        assert "-> " in told
        assert "after" in told
        assert len(told) <= 2 * MAX_SHOWN + 30

    def test_a_long_value_that_is_gone_is_shown_from_its_start(self, project):
        (told,) = details(project, json.dumps({"a": "x" * 5_000}), "{}")
        assert told.startswith('a: "xxx')
        assert told.endswith("... -> absent")
        assert len(told) < 2 * MAX_SHOWN

    def test_one_text_that_begins_like_the_other_differs_at_its_end(self, project):
        (told,) = details(project, "x" * 5_000, "x" * 5_000 + "more")
        assert told.endswith('more"')
