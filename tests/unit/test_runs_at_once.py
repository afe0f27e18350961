"""Live runs at the same time: each has its own folder, lock, money and recordings."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from live_support import YES, LiveProject, live_session, rows_of
from proctor.errors import CassetteError
from proctor.evaluation import evaluate
from proctor.records import RenderOptions
from proctor.rendering.report_json import render_json
from proctor.store import RunStore
from proctor.stored_runs import store_figures

PATIENCE_S = 60
CASES = ("one", "two", "three")
AGENT = """
import proctor

class Agent:
    def answer(self, case):
        return proctor.TargetAnswer(text=case.id, cost_usd=0.01)
"""
TARGET = """
target: {python: "agents:Agent", name: agent, maxCostUsd: {answer: 0.01}}
dataset: cases.jsonl
assertions:
  - {id: said, kind: length, min: 1}
"""


def project_at(root) -> LiveProject:
    root.mkdir()
    project = LiveProject(root)
    project.named_cases(*CASES)
    return project


class Ran:
    """A run in a thread of its own, which meets others at its first call.

    Args:
        project: The project.
        suite: The suite that is run.
        meets: Called with each call that is made.
        answer: What is answered.
    """

    def __init__(self, project, suite, meets, answer=YES) -> None:
        self._given = project, suite, meets, answer

    def __call__(self) -> Ran:
        project, suite, meets, answer = self._given

        def says(request, call):
            meets()
            return answer

        with live_session(project, says, suites=[suite], concurrency=1) as (
            config,
            selected,
            session,
        ):
            report = evaluate(config, selected, session)
            store_figures(config.root, session.run, report, pytest.fail)
            self.folder = session.run.folder
        self.report = json.loads(b"".join(render_json(report, RenderOptions())))
        return self


def together(*runs: Ran) -> list[Ran]:
    with ThreadPoolExecutor(len(runs)) as pool:
        return [one.result(PATIENCE_S) for one in [pool.submit(run) for run in runs]]


def answers(ran: Ran) -> set[str]:
    return {row["answer"]["text"] for row in rows_of(ran.report)}


def recorded(project, suite: str) -> list[str]:
    path = project.root / f"evals/cassettes/{suite}.jsonl"
    return [json.loads(line)["answer"]["text"] for line in path.read_bytes().splitlines()]


NO = '{"label": "no"}'


def test_in_two_checkouts_both_finish(tmp_path):
    projects = [project_at(tmp_path / name) for name in ("a", "b")]
    barrier = Barrier(2, timeout=PATIENCE_S)
    first, second = together(
        Ran(projects[0], "quiz", barrier.wait), Ran(projects[1], "quiz", barrier.wait, NO)
    )
    assert (first.report["verdict"], second.report["verdict"]) == ("passed", "failed")
    assert (answers(first), answers(second)) == ({YES}, {NO})
    assert [recorded(project, "quiz") for project in projects] == [[YES] * 3, [NO] * 3]
    for project, ran in zip(projects, (first, second), strict=True):
        assert ran.folder.is_relative_to(project.root)


def test_on_two_suites_of_one_checkout_both_finish(tmp_path):
    project = project_at(tmp_path / "a")
    suite = (project.root / "evals/quiz.eval.yaml").read_text()
    project.write("evals/other.eval.yaml", suite)
    barrier = Barrier(2, timeout=PATIENCE_S)
    first, second = together(
        Ran(project, "quiz", barrier.wait), Ran(project, "other", barrier.wait, NO)
    )
    assert [len(rows_of(one.report)) for one in (first, second)] == [3, 3]
    assert (answers(first), answers(second)) == ({YES}, {NO})
    assert recorded(project, "quiz") == [YES] * 3
    assert recorded(project, "other") == [NO] * 3
    assert first.folder != second.folder
    latest = (project.root / ".proctor/runs/latest").read_text().strip()
    assert latest in {first.folder.name, second.folder.name}
    stored = RunStore(project.root).runs()
    assert sorted((one.suite, one.passed, one.measured) for one in stored) == [
        ("other", 0, 3),
        ("quiz", 3, 3),
    ]


def test_on_one_suite_the_second_is_refused_and_the_first_does_not_notice(tmp_path):
    project = project_at(tmp_path / "a")
    called, refused = Event(), Event()

    def until_refused() -> None:
        called.set()
        assert refused.wait(PATIENCE_S)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(Ran(project, "quiz", until_refused))
        assert called.wait(PATIENCE_S)
        never = Ran(project, "quiz", pytest.fail)
        with pytest.raises(CassetteError) as caught:
            never()
        refused.set()
        first = running.result(PATIENCE_S)
    assert caught.value.code == "P6405"
    assert first.report["verdict"] == "passed"
    assert recorded(project, "quiz") == [YES] * 3
    assert Ran(project, "quiz", pytest.fail)().report["suites"][0]["cache"]["replayed"] == 3


def test_two_programs_each_have_the_whole_of_their_own_limit(tmp_path):
    """Three answers at 0.01 USD each, and a limit of 0.03 USD that only three fit into."""
    project = project_at(tmp_path / "a")
    project.write("agents.py", AGENT)
    for suite in ("quiz", "other"):
        project.write(f"evals/{suite}.eval.yaml", TARGET)
    limited = ("--cache", "record", "--allow-code", "--max-cost", "0.03")
    record = ("run", *limited, "--format", "json", "--quiet")
    with (
        project.started(*record, "quiz") as quiz,
        project.started(*record, "other") as other,
    ):
        results = [one.wait() for one in (quiz, other)]
    assert [(one.code, one.report["verdict"]) for one in results] == [(0, "passed")] * 2
    assert [one.cost_usd for one in RunStore(project.root).runs()] == [0.03, 0.03]
    for suite in ("quiz", "other"):
        assert sorted(recorded(project, suite)) == sorted(CASES)
