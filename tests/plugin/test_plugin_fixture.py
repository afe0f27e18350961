"""The fixture `proctor`, and what the plugin costs those who use none of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from plugin_support import run
from support import Project

pytest_plugins = ["pytester"]


@pytest.fixture
def project(pytester):
    project = Project(pytester.path)
    project.exam({"one": "yes", "two": "no"})
    return project


def test_it_finds_the_project_upward_from_the_test(project, pytester):
    project.write(
        "tests/deep/test_quality.py",
        "def test_quality(proctor):\n"
        "    report = proctor.run('quiz', case='one')\n"
        "    assert report.passed\n",
    )
    run(pytester, "tests").assert_outcomes(passed=1)


def test_it_finds_the_project_in_the_rootdir_for_a_test_in_none(pytester, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "test_quality.py").write_text(
        "def test_quality(proctor):\n    assert proctor.run('quiz', case='one').passed\n"
    )
    project = Project(pytester.path)
    project.exam({"one": "yes"})
    pytester.makeini("[pytest]\n")
    run(pytester, "--rootdir", str(pytester.path), str(elsewhere)).assert_outcomes(passed=1)


def test_a_root_that_is_given_counts(project, pytester, tmp_path):
    other = Project(tmp_path)
    other.exam({"one": "no"})
    pytester.makepyfile(
        f"def test_quality(proctor):\n"
        f"    assert proctor.run(root={str(tmp_path)!r}).verdict == 'failed'\n"
    )
    run(pytester, "-m", "not proctor").assert_outcomes(passed=1, deselected=3)


def test_without_a_project_it_says_so(pytester):
    pytester.makepyfile("def test_quality(proctor):\n    proctor.run('quiz')\n")
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*P6003: there is no Proctor project here*"])


def test_the_other_functions_are_there_as_well(project, pytester):
    pytester.makepyfile(
        """
        import asyncio

        from proctor import AbortController, EvaluationItem, PromptCandidate, ScorerResult


        def test_quality(proctor, tmp_path):
            before = proctor.run()
            after = asyncio.run(proctor.run_async())
            after.save(tmp_path / "report.json")
            stored = proctor.load_report(tmp_path / "report.json")
            assert proctor.compare(before, stored).verdict == "clean"


        def test_candidates(proctor):
            (score,) = proctor.evaluate_prompt_candidates(
                candidates=[PromptCandidate("a", "A")],
                items=[EvaluationItem("i", "I")],
                run_candidate=lambda candidate, item: item.input,
                scorer=lambda target: ScorerResult(1, True),
                signal=AbortController().signal,
            )
            assert score.rank == 1
        """
    )
    run(pytester, "-m", "not proctor").assert_outcomes(passed=2, deselected=3)


def test_those_who_use_none_of_it_load_next_to_nothing():
    code = (
        "import sys, pytest; before = set(sys.modules); import proctor.pytest_plugin.hooks; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "proctor",
        "proctor.pytest_plugin",
        "proctor.pytest_plugin.hooks",
        "proctor.version",
    ]
