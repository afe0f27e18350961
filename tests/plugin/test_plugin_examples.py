"""Every example project: pytest with two workers says what `proctor run` says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter

import pytest

import proctor
from proctor.verdicts import verdict_of
from support import EXAMPLES, SUITE, Project

PROJECTS = sorted(path.parent for path in EXAMPLES.glob("*/proctor.toml"))
WITH_SUITES = [path for path in PROJECTS if list(path.glob("evals/*.eval.*"))]


def pytest_on(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments, "evals"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.slow
@pytest.mark.parametrize("example", WITH_SUITES, ids=lambda path: path.name)
def test_two_workers_have_the_verdict_of_a_run(example, tmp_path):
    folder = tmp_path / example.name
    shutil.copytree(example, folder)
    report = proctor.run(root=folder)
    done = pytest_on(folder, "-n", "2", "-q")
    assert done.returncode == (0 if report.passed else 1), done.stdout
    assert counted(done.stdout) == wanted_counts(report), done.stdout


def counted(output: str) -> Counter:
    """How many items there were of each outcome, by the last line of a run."""
    found = re.findall(r"(\d+) (passed|failed|xfailed|error)", output.splitlines()[-1])
    return Counter({word: int(number) for number, word in found})


def wanted_counts(report) -> Counter:
    """The same by the report: cases that did not pass are red where their suite is."""
    counts = Counter()
    for suite in report.suites:
        is_met = verdict_of([suite], partial=False)[0] == "passed"
        counts["passed" if is_met else "failed"] += 1
        for _, _, case in report.cases(suite=suite.suite):
            is_passed = case.outcome == "passed"
            counts["passed" if is_passed else "xfailed" if is_met else "failed"] += 1
    return counts


@pytest.mark.slow
def test_workers_may_what_the_command_line_allows(tmp_path):
    project = Project(tmp_path)
    project.exam({"one": "yes", "two": "yes"})
    project.write("checks.py", "def good(answer, case): return True\n")
    project.write(
        "evals/quiz.eval.yaml", SUITE + "  - {id: mine, kind: python, function: 'checks:good'}\n"
    )
    done = pytest_on(tmp_path, "-n", "2", "-q", "--proctor-allow-code")
    assert "3 passed in " in done.stdout, done.stdout
