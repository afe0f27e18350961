"""What `proctor run` prints for pull requests and CI systems."""

from __future__ import annotations

import os

import pytest
from lxml import etree

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


def run(project, *arguments, summary=""):
    return project.proctor("run", *arguments, env={STEP_SUMMARY: str(summary)})


def test_markdown_is_printed_and_can_be_written(project):
    project.exam({"one": "yes", "two": "no"})
    result = run(project, "--format", "markdown", "--out", "comment.md")
    assert result.code == 1
    assert result.text.startswith("### Proctor: tests\n\n> [!CAUTION]\n> **FAILED** 1 of 2 rows")
    assert (project.root / "comment.md").read_bytes() == result.out
    assert result.err == ""


def test_markdown_goes_to_the_summary_of_the_step_behind_what_is_there(project):
    project.exam({"one": "yes"})
    summary = project.root / "summary.md"
    first = run(project, "--format", "markdown", summary=summary)
    assert (first.code, summary.read_bytes()) == (0, first.out)
    second = run(project, "--format", "markdown", summary=summary)
    assert summary.read_bytes() == first.out + b"\n" + second.out


@pytest.mark.parametrize("format_", ["text", "json", "junit"])
def test_only_markdown_goes_there(project, format_):
    project.exam({"one": "yes"})
    summary = project.root / "summary.md"
    assert run(project, "--format", format_, summary=summary).code == 0
    assert not summary.exists()


def test_a_summary_that_cannot_be_written_is_said_and_changes_no_verdict(project):
    project.exam({"one": "no"})
    result = run(project, "--format", "markdown", summary=project.root / "missing" / "summary.md")
    assert result.code == 1
    assert result.text.startswith("### Proctor: tests\n")
    assert "the step summary cannot be written: no such file or directory" in result.err


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (os.mkfifo, "`summary.md` is a socket or device, not a file"),
        (lambda path: path.symlink_to("target.md"), "goes through the link `summary.md`"),
    ],
    ids=["pipe", "link"],
)
def test_a_summary_that_is_no_regular_file_is_left_alone(project, make, said):
    project.exam({"one": "yes"})
    target = project.root / "target.md"
    target.write_text("kept")
    make(project.root / "summary.md")
    result = run(project, "--format", "markdown", summary=project.root / "summary.md")
    assert (result.code, target.read_text()) == (0, "kept")
    assert "warning: the step summary cannot be written: " in result.err
    assert said in result.err


def test_junit_on_stdout_leaves_words_to_stderr(project):
    project.exam({"one": "yes", "two": "no"})
    result = run(project, "--format", "junit", "--out", "junit.xml")
    assert result.code == 1
    suite = etree.fromstring(result.out).find("testsuite")
    assert [suite.get(name) for name in ("tests", "failures")] == ["2", "1"]
    assert (project.root / "junit.xml").read_bytes() == result.out
    assert result.err == "FAILED  1 of 2 rows passed\n"


@pytest.mark.parametrize("format_", ["markdown", "junit"])
def test_the_same_input_gives_the_same_bytes(project, format_):
    project.exam({"one": "yes", "two": "no"})
    outputs = {
        project.proctor("run", "--format", format_, env={"PYTHONHASHSEED": seed, **env}).out
        for seed, env in (("1", {}), ("2", {"TZ": "Pacific/Kiritimati", "LC_ALL": "C"}))
    }
    assert len(outputs) == 1
