"""`proctor judge label`: asking a person, through a pipe and in a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from judged_support import PASS, RIGHT, TONE
from labelled_support import LABELS, NAMES, LabelledProject, label
from live_support import YES
from support import Result

pytestmark = pytest.mark.slow
"""Each test starts a program, and there are many of them."""

QUESTION = "pass, fail, skip, quit? [p/f/s/q] "


@pytest.fixture
def project(tmp_path):
    project = LabelledProject(tmp_path)
    project.cassette(*(project.recording(name, YES) for name in NAMES))
    (tmp_path / "evals" / LABELS).unlink()
    return project


def command(*arguments):
    return [sys.executable, "-m", "proctor", "judge", "label", "quiz", *arguments]


def typed(project, text, *arguments):
    """Label with this on stdin."""
    done = subprocess.run(
        command(*arguments),
        cwd=project.root,
        input=text.encode(),
        capture_output=True,
        check=False,
        timeout=120,
    )
    return Result(done.returncode, done.stdout, done.stderr.decode())


def written(project):
    path = project.root / "evals" / LABELS
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def asked_about(result):
    """The case of each question."""
    return [line.split()[3] for line in result.text.splitlines() if " of " in line[:8]]


class TestAsking:
    def test_each_key_does_what_it_says(self, project):
        result = typed(project, "p\ns\nF\n", "--by", "ada")
        assert result.code == 0, result.err
        assert asked_about(result) == ["one", "two", "three"]
        assert written(project) == [
            label("one", "pass", by="ada"),
            label("three", "fail", by="ada"),
        ]
        assert result.text.endswith(f"2 labels written to evals/{LABELS}\n")

    def test_q_and_the_end_of_input_keep_what_was_said(self, project):
        for text in ("p\nq\n", "p\n"):
            result = typed(project, text)
            assert (result.code, result.err) == (0, "")
            assert result.text.endswith(f"1 label written to evals/{LABELS}\n")
        assert written(project) == [label("one", "pass"), label("two", "pass")]

    def test_what_is_no_key_is_asked_again(self, project):
        result = typed(project, "pass\n\nyes\np\n")
        assert result.text.count(QUESTION) == 5
        assert [one["verdict"] for one in written(project)] == ["pass"]

    def test_the_case_and_the_answer_are_shown_and_nothing_of_the_judges(self, project):
        project.says(PASS)
        project.record()
        result = typed(project, "q\n")
        assert result.text.splitlines()[:8] == [
            "",
            "1 of 3  one  (tone)",
            "  question:",
            "    one",
            "  expected:",
            '    {"label":"yes"}',
            "  response:",
            f"    {YES}",
        ]
        assert "kind" not in result.text
        assert "verdict" not in result.text

    def test_what_else_a_judge_is_told_of_the_case_is_shown(self, project):
        project.cases(project.case("one") | {"context": {"a": 1}, "dos": ["Greet."], "donts": []})
        assert '  context:\n    {"a":1}\n  dos:\n    ["Greet."]\n  response:\n' in (
            typed(project, "q\n").text
        )

    def test_data_neither_acts_on_the_terminal_nor_leaves_its_block(self, project):
        text = json.dumps({"label": "yes\x1b[2J\n::error::forged\r\u202e"}, ensure_ascii=False)
        project.labelled(RIGHT, TONE | {"field": "label"})
        project.cassette(project.recording("one", text))
        shown = typed(project, "q\n").text
        assert "    yes\\x1b[2J\n" in shown
        assert "     \\x3a:error::forged\\r\\u202e\n" in shown


class TestWhatIsLeft:
    def test_answers_that_somebody_has_labelled_are_not_shown_to_them_again(self, project):
        typed(project, "p\nf\n", "--by", "ada")
        assert asked_about(typed(project, "p\n", "--by", "ada")) == ["three"]
        assert asked_about(typed(project, "q\n", "--by", "bob")) == ["one"]
        assert "no recorded answer is left to label" in typed(project, "", "--by", "ada").text

    def test_an_answer_that_changed_is_shown_again(self, project):
        typed(project, "p\np\np\n")
        project.cassette(
            *(project.recording(name, YES) for name in ("one", "two")),
            project.recording("three", '{"label": "no"}'),
        )
        assert asked_about(typed(project, "f\n")) == ["three"]
        assert written(project)[-1] == label("three", "fail", text='{"label": "no"}')

    def test_every_subject_repeat_and_judged_assertion_is_asked_about(self, project):
        project.labelled(TONE, TONE | {"id": "manners"}, models=["local/a", "local/b"], repeats=2)
        project.cassette(
            *(
                project.recording("one", YES, model=model, take=take)
                for model in ("local/a", "local/b")
                for take in (1, 2)
            )
        )
        result = typed(project, "p\n" * 8)
        assert "5 of 8  one  (tone, answer@local/b, repeat 1)\n" in result.text
        assert "8 answers not recorded" in result.err
        labels = written(project)
        assert len(labels) == 8
        assert labels[7] == label(
            "one", "pass", subject="answer@local/b", repeat=2, assertion="manners"
        )
        checked = project.proctor("judge", "check", "--format", "json")
        assert checked.code == 3
        assert checked.report["suites"][0]["assertions"][0]["agreement"]["unmeasured"] == 4

    def test_an_answer_that_lacks_what_is_judged_is_not_asked_about(self, project):
        project.labelled(RIGHT, TONE | {"field": "reply"})
        assert "no recorded answer is left to label" in typed(project, "p\n").text


class TestTheFile:
    def test_a_line_that_was_not_ended_stays_a_line_of_its_own(self, project):
        first = json.dumps(label("one", "fail", by="bob"))
        project.write(f"evals/{LABELS}", first)
        typed(project, "p\n", "--by", "ada")
        assert written(project) == [label("one", "fail", by="bob"), label("one", "pass", by="ada")]

    def test_a_link_is_not_followed(self, project, tmp_path_factory):
        outside = tmp_path_factory.mktemp("outside") / "labels.jsonl"
        project.write(f"evals/{LABELS}", "")
        (project.root / "evals" / LABELS).unlink()
        (project.root / "evals" / LABELS).symlink_to(outside)
        result = typed(project, "p\n")
        assert (result.code, "P6805" in result.err) == (2, True)
        assert not outside.exists()

    def test_a_file_that_cannot_be_written_ends_it_with_what_was_saved(self, project):
        (project.root / "evals/labels").rmdir()
        project.write("evals/labels", "in the way")
        result = typed(project, "p\n")
        assert (result.code, "P6004" in result.err) == (2, True)

    @pytest.mark.parametrize(
        ("assertions", "keys", "said"),
        [
            ([RIGHT], {}, "the suite `quiz` asks no judge"),
            ([RIGHT, TONE], {"labels": None}, "the suite `quiz` names no file for labels"),
        ],
    )
    def test_a_suite_without_what_it_takes_is_refused(self, project, assertions, keys, said):
        project.labelled(*assertions, **keys)
        result = typed(project, "p\n")
        assert (result.code, f"P6002: {said}" in result.err) == (2, True)

    def test_bad_labels_are_told_before_anything_is_asked(self, project):
        project.labels("no label")
        result = typed(project, "p\n")
        assert (result.code, result.text) == (2, "")
        assert f"evals/{LABELS}:1: P6218: " in result.err


@pytest.mark.parametrize(("key", "code"), [(b"\x03", 130), (b"\x04", 0)])
def test_in_a_terminal_each_label_is_written_at_once_and_ctrl_c_or_d_ends_it(project, key, code):
    ours, theirs = pty.openpty()
    started = subprocess.Popen(
        command("--by", "ada"),
        cwd=project.root,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: os.close(os.open(os.ttyname(theirs), os.O_RDWR)),
    )
    os.close(theirs)
    try:
        _read_until(ours, QUESTION)
        os.write(ours, b"p\n")
        _read_until(ours, QUESTION)
        assert written(project) == [label("one", "pass", by="ada")]
        os.write(ours, key)
        shown = _read_until(ours, f"1 label written to evals/{LABELS}")
        assert started.wait(120) == code
        assert "Traceback" not in shown
    finally:
        started.kill()
        started.wait(120)
        os.close(ours)


def _read_until(terminal, text):
    shown = ""
    while text not in shown:
        shown += os.read(terminal, 1_000).decode()
    return shown
