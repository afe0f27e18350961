"""Every exit code, from the whole program; and a system that does not cooperate."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

READ_ONLY = """\
import errno, os, sys
real = os.open
def refuse(path, flags, *args, **kwargs):
    if flags & os.O_CREAT:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
    return real(path, flags, *args, **kwargs)
os.open = refuse
from proctor.cli.main import main
main(sys.argv[1:])
"""

BROKEN = """\
import sys
import proctor.evaluation
def broken(*args, **kwargs):
    secret = "a local value that must not be printed"
    raise RuntimeError("broken inside")
proctor.evaluation.select = broken
from proctor.cli.main import main
main(sys.argv[1:])
"""


def without_coverage():
    """The environment of a process that writes no file of measurements, which could not fit."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1"}


def start(project, program, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        **options,
    )


@pytest.mark.parametrize(
    ("answers", "code"),
    [({"one": "yes"}, 0), ({"one": "no"}, 1)],
)
def test_a_measured_run_is_0_or_1(project, answers, code):
    project.exam(answers)
    assert project.proctor("run").code == code


def test_what_cannot_be_used_is_2(project):
    project.exam({"one": "yes"})
    project.write("evals/quiz.eval.yaml", "nonsense: 1\n")
    assert project.proctor("run").code == 2


def test_what_could_not_be_measured_is_3(project):
    project.cases(project.case("one"))
    assert project.proctor("run").code == 3


@pytest.mark.parametrize(("answers", "code"), [({"one": "no"}, 1), ({}, 3)])
def test_exit_zero_reports_without_failing(project, answers, code):
    project.exam(answers or {"one": "yes"})
    if not answers:
        project.cassette()
    assert project.proctor("run").code == code
    result = project.proctor("run", "--exit-zero")
    assert result.code == 0
    assert "PASSED" not in result.text


def test_exit_zero_hides_nothing_that_stops_a_run(project):
    project.exam({"one": "yes"})
    project.write("evals/quiz.eval.yaml", "nonsense: 1\n")
    assert project.proctor("run", "--exit-zero").code == 2


def test_a_fault_of_proctor_is_70_with_a_traceback_that_shows_no_values(project):
    project.exam({"one": "yes"})
    done = start(project, BROKEN, "run", "--exit-zero")
    assert done.returncode == 70
    assert "RuntimeError: broken inside" in done.stderr
    assert "report it" in done.stderr


def test_a_full_disk_is_one_clear_error_and_leaves_no_half_file(project):
    project.exam({f"case-{number}": "yes" for number in range(50)})
    done = subprocess.run(
        [sys.executable, "-m", "proctor", "run", "--format", "json", "--out", "report.json"],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
        env=without_coverage(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, 4_096)),
        timeout=120,
    )
    assert done.returncode == 2
    assert "P6004" in done.stderr
    assert "Traceback" not in done.stderr
    assert not [path for path in project.root.iterdir() if "report" in path.name]
    assert not list(project.root.glob(".*partial"))


def test_a_read_only_file_system_is_one_clear_error(project):
    project.exam({"one": "yes"})
    done = start(project, READ_ONLY, "run", "--out", "report.txt")
    assert done.returncode == 2
    assert "P6004" in done.stderr
    assert "read-only file system" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_first_line_alone_can_be_read(project):
    project.exam({f"case-{number}": "no" for number in range(500)})
    program = f"{sys.executable} -m proctor run --all | head -1"
    done = subprocess.run(
        ["sh", "-c", program],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout.startswith("FAILED")
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""
