"""The program itself: version, help, exit codes of last resort, `lint`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from proctor.cli import main as entry
from proctor.version import VERSION


def test_version_and_help(project):
    assert project.proctor("--version").text == f"proctor {VERSION}\n"
    for arguments in (["--help"], ["run", "--help"], ["lint", "-h"]):
        result = project.proctor(*arguments)
        assert result.code == 0
        assert result.text.startswith("Usage: proctor")


def test_no_command_shows_what_there_is(project):
    result = project.proctor()
    assert "run" in result.text + result.err
    assert "lint" in result.text + result.err


def test_lint_passes_a_good_project_and_runs_nothing(project):
    project.exam({"one": "no"})
    (project.root / "evals/cassettes/quiz.jsonl").write_text("damaged\n")
    result = project.proctor("lint")
    assert result.code == 0
    assert "1 suite" in result.text


def test_lint_warns_of_an_unused_input(project):
    project.exam({"one": "yes"})
    prompt = (project.root / "prompts/answer.prompt.yaml").read_text()
    project.write(
        "prompts/answer.prompt.yaml",
        prompt.replace("inputs:\n", "inputs:\n  spare: {type: string, optional: true}\n"),
    )
    result = project.proctor("lint")
    assert result.code == 0
    assert "prompts/answer.prompt.yaml:3: warning" in result.err
    assert "`spare`" in result.err


def test_lint_checks_prompts_that_no_suite_uses(project):
    project.exam({"one": "yes"})
    project.write("prompts/spare.prompt.yaml", "user: '{{input.x}}'\n")
    assert project.proctor("run").code == 0
    result = project.proctor("lint")
    assert result.code == 2
    assert "prompts/spare.prompt.yaml:1: P6205" in result.err
    assert project.proctor("lint", "quiz").code == 0


def test_a_fault_of_proctor_is_70_with_a_traceback(monkeypatch, capsys):
    def broken(**_):
        raise RuntimeError("broken inside")

    monkeypatch.setattr(entry.cli, "main", broken)
    with pytest.raises(SystemExit) as stopped:
        entry.main(["run"])
    assert stopped.value.code == 70
    said = capsys.readouterr().err
    assert "RuntimeError: broken inside" in said
    assert "report it" in said


def test_an_interrupt_is_130(monkeypatch, capsys):
    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(entry.cli, "main", interrupted)
    with pytest.raises(SystemExit) as stopped:
        entry.main(["run"])
    assert stopped.value.code == 130
    assert "Traceback" not in capsys.readouterr().err


def test_a_reader_that_goes_away_ends_the_output_quietly(project):
    project.exam({f"case-{number}": "no" for number in range(2_000)})
    project.write("proctor.toml", 'project = "tests"\nmax_cases = 5000\n')
    process = subprocess.Popen(
        [sys.executable, "-m", "proctor", "run", "--format", "json"],
        cwd=project.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"{\n"
    process.stdout.close()
    said = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(timeout=60) == 1
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


def test_a_closed_reader_does_not_stop_the_file_from_being_written(project):
    project.exam({f"case-{number}": "no" for number in range(2_000)})
    project.write("proctor.toml", 'project = "tests"\nmax_cases = 5000\n')
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.Popen(
        [sys.executable, "-m", "proctor", "run", "--format", "json", "--out", "report.json"],
        cwd=project.root,
        stdout=writing,
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    assert process.wait(timeout=60) == 1
    assert (project.root / "report.json").read_bytes().endswith(b"}\n")


def test_ctrl_c_leaves_no_half_written_file(project):
    project.exam({"one": "yes"})
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, proctor.cli.main as m, proctor.pipeline as p\n"
            "p.load_exam = lambda *a, **k: (print('ready', flush=True), sys.stdin.read())\n"
            "import proctor.cli.run as r\n"
            "r.load_exam = p.load_exam\n"
            "m.main(['run', '--out', 'report.txt'])",
        ],
        cwd=project.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in said
    assert not list(project.root.glob("*report*"))
