"""Streams that are closed or full, and what the system refuses."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow
"""Each test starts a program, and there are many of them."""


def shell(project, command):
    """Run a command line in which `proctor` stands for the program."""
    return subprocess.run(
        ["bash", "-c", f'proctor() {{ "{sys.executable}" -m proctor "$@"; }}; {command}'],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("command", ["run", "lint", "--version", "run --help"])
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&-"])
def test_a_closed_stream_changes_nothing(project, command, closed):
    project.exam({"one": "yes"})
    done = shell(project, f"proctor {command} {closed}")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr + done.stdout


def test_a_closed_stream_is_not_taken_for_a_file(project):
    project.exam({"one": "yes"})
    done = shell(project, "proctor run --format json --out report.json >&- 2>&-")
    assert done.returncode == 0
    assert (project.root / "report.json").read_bytes().startswith(b"{\n")


@pytest.mark.parametrize("command", ["run", "lint", "--version", "explain", "schema report"])
def test_a_full_output_is_one_clear_error(project, command):
    project.exam({"one": "yes"})
    done = shell(project, f"proctor {command} >/dev/full")
    assert done.returncode == 2
    assert "P6004: " in done.stderr
    assert "no space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_full_standard_error_does_not_change_the_exit_code(project):
    project.exam({"one": "yes"})
    assert shell(project, "proctor run nope 2>/dev/full").returncode == 2
    assert shell(project, "proctor run --format json 2>/dev/full").returncode == 0


@pytest.mark.parametrize("command", ["lint", "--help", "explain", "cassette list"])
def test_a_reader_that_goes_away_is_no_failure(project, command):
    project.exam({"one": "yes"})
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "proctor", *command.split()],
            cwd=project.root,
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
            timeout=120,
        )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["run", "--cassettes"], ["cassette", "verify", "--cassettes"], ["cassette", "diff", "x"]],
)
def test_a_name_that_is_too_long_is_one_clear_error(project, arguments):
    project.exam({"one": "yes"})
    result = project.proctor(*arguments, "x" * 300)
    assert result.code == 2
    assert "Traceback" not in result.err


def test_a_folder_that_was_deleted_is_one_clear_error(project):
    done = shell(project, "mkdir gone; cd gone; rmdir ../gone; proctor run")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_nothing_to_do_shows_the_help_in_lines_and_is_no_success(project):
    result = project.proctor()
    assert result.code == 2
    assert result.err.startswith("Usage: proctor")
    assert result.err.count("\n") > 10
    assert "\\n" not in result.err


@pytest.mark.parametrize(
    "path", ["evals/cassettes/quiz.jsonl", "evals/cases.jsonl", "proctor.toml"]
)
def test_the_output_is_not_written_over_what_the_run_reads(project, path):
    project.exam({"one": "yes"})
    before = (project.root / path).read_bytes()
    result = project.proctor("run", "--out", path)
    assert result.code == 2
    assert "P6004" in result.err
    assert (project.root / path).read_bytes() == before


def test_cassettes_that_cannot_be_listed_are_not_fine(project):
    project.exam({"one": "yes"})
    folder = project.root / "evals/cassettes"
    folder.rename(project.root / "elsewhere")
    folder.write_text("a file")
    result = project.proctor("cassette", "verify")
    assert result.code == 2
    assert "P6403" in result.err


@pytest.mark.parametrize("option", ["--filter=", "--filter=,", "--exclude=,", "--timeout=nan"])
def test_a_value_that_says_nothing_is_refused(project, option):
    project.exam({"one": "yes"})
    result = project.proctor("run", option)
    assert (result.code, result.out) == (2, b"")
    assert "P6002" in result.err
