"""Whole agents, from the command line: code of the project that builds, answers and misbehaves."""

from __future__ import annotations

import gc
import json
from itertools import count
from types import SimpleNamespace

import pytest

from agent_support import (
    RIGHT,
    AgentProject,
    as_replayed,
    case,
    cases_of,
    rows_by_name,
    subject_of,
)
from judged_support import PASS
from proctor.cli.main import main

SECRET = "agents-secret-0002"  # noqa: S105 - it has to be told from other words
WELL = """\
from pathlib import Path
from proctor import Build

EVENTS = Path(__file__).with_suffix(".log")


def note(*words):
    with EVENTS.open("a") as log:
        log.write(" ".join(map(str, words)) + "\\n")


class Agent:
    def setup(self, lane):
        note("setup", lane)
        return "session"

    def teardown(self, lane, session):
        note("teardown", lane, session)

    async def build(self, case, repeat):
        note("build", case.id, repeat)
        return Build({"for": case.id}, transcript="built so", turns=3)

    def prepare(self, case, scenario):
        note("prepare", case.id, scenario and scenario.name)

    def answer(self, case, scenario, artifact):
        assert artifact == {"for": case.id}
        return case.id if scenario is None else f"{case.id}/{scenario.name}"

    def cleanup(self, artifact):
        note("cleanup", artifact["for"])
        return True
"""
BADLY = """\
import os
import subprocess
import sys
import time

CHILD = [sys.executable, "-c", "import time; time.sleep(600)"]


class Agent:
    def build(self, case):
        if case.id == "leaks":
            return subprocess.Popen(CHILD).pid
        return case.id

    def answer(self, case, artifact):
        if case.id == "raises":
            raise RuntimeError("it broke with " + os.environ["AGENT_KEY"])
        if case.id == "hangs":
            time.sleep(3)
        if case.id == "rubbish":
            return object()
        if case.id == "prints":
            print("printed", os.environ["AGENT_KEY"])
            return "the key is " + os.environ["AGENT_KEY"]
        return case.id

    def cleanup(self, artifact):
        if isinstance(artifact, int):
            os.kill(artifact, 9)
"""
_MODULES = count()


class CodedProject(AgentProject):
    """A project whose target is code of its own."""

    def __init__(self, root, code: str) -> None:
        super().__init__(root)
        self.module = f"coded_agents_{next(_MODULES)}"
        self.write(f"{self.module}.py", code)
        self.write("script.jsonl", json.dumps({"text": PASS}) + "\n")
        self.coded()

    def coded(self, *assertions: dict, target: dict | None = None, **keys) -> None:
        told = {"python": f"{self.module}:Agent"} | (target or {})
        self.agent_suite(*assertions, target=told, **keys)

    @property
    def events(self) -> list[str]:
        return (self.root / f"{self.module}.log").read_text().splitlines()


def ran(project, capfd, monkeypatch, *arguments: str) -> SimpleNamespace:
    """The command line, in this process."""
    monkeypatch.chdir(project.root)
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    gc.enable()
    said = capfd.readouterr()
    return SimpleNamespace(code=left.value.code, out=said.out, err=said.err)


@pytest.fixture
def project(tmp_path):
    project = CodedProject(tmp_path, WELL)
    project.cases(case("a", "s1", "s2", expectations=["It is red."]), case("b"))
    return project


RECORD = ("run", "--cache", "record", "--allow-code", "--format", "json")


def test_an_agent_is_recorded_and_replayed_without_its_code(project, capfd, monkeypatch):
    live = ran(project, capfd, monkeypatch, *RECORD)
    assert (live.code, json.loads(live.out)["verdict"]) == (0, "passed")
    events = project.events
    assert events[0] == "setup None"
    assert events[-1] == "teardown None session"
    assert sorted(events[1:-1]) == [
        "build a 1",
        "build b 1",
        "cleanup a",
        "cleanup b",
        "prepare a s1",
        "prepare a s2",
        "prepare b None",
    ]
    project.write(f"{project.module}.py", "raise SystemExit('it was imported')\n")
    replayed = ran(project, capfd, monkeypatch, "run", "--format", "json")
    assert replayed.code == 0
    assert as_replayed(replayed.out.encode()) == as_replayed(live.out.encode())
    again = ran(project, capfd, monkeypatch, "run", "--cache", "record", "--format", "json")
    assert again.code == 0
    assert project.events == events


def test_builds_are_kept_on_request(project, capfd, monkeypatch):
    assert ran(project, capfd, monkeypatch, *RECORD, "--keep").code == 0
    assert not any(event.startswith("cleanup") for event in project.events)


def test_code_that_may_not_run_is_not_imported(project, capfd, monkeypatch):
    project.write(f"{project.module}.py", "raise SystemExit('it was imported')\n")
    found = ran(project, capfd, monkeypatch, "run", "--cache", "record")
    assert found.code == 2
    assert "P6220" in found.err


@pytest.mark.parametrize(
    ("target", "options", "code"),
    [
        ({"maxCostUsd": {"build": 0.5, "answer": 0.05}}, (), "P6504"),
        ({"maxCostUsd": {"build": 0.5, "answer": 0.05}}, ("--max-cost", "1"), "P6503"),
        ({"maxCostUsd": {"answer": 0.05}}, ("--max-cost", "10"), "P6501"),
        ({"maxCostUsd": {}}, (), "P6501"),
    ],
)
def test_nothing_is_asked_without_money_for_it(project, capfd, monkeypatch, target, options, code):
    project.coded(target=target)
    found = ran(project, capfd, monkeypatch, *RECORD, *options)
    # Two builds and three answers may cost 1.15.
    assert found.code == 2
    assert code in found.err
    assert not (project.root / f"{project.module}.log").exists()


def test_an_agent_within_its_budget_is_asked(project, capfd, monkeypatch):
    project.coded(target={"maxCostUsd": {"build": 0.5, "answer": 0.05}})
    found = ran(project, capfd, monkeypatch, *RECORD, "--max-cost", "1.15")
    assert found.code == 0
    assert subject_of(json.loads(found.out))["cost"]["unknown"] == 5


def test_the_plan_names_builds_and_runs_nothing(project, capfd, monkeypatch):
    project.coded(target={"maxCostUsd": {"build": 0.5, "answer": 0.05}})
    project.write(f"{project.module}.py", "raise SystemExit('it was imported')\n")
    found = ran(project, capfd, monkeypatch, "run", "--cache", "record", "--dry-run")
    assert found.code == 0
    assert "target:python:agent: 2 builds, 0 calls recorded, 2 not, 2 to make" in found.out
    assert "$1.15" in found.out


def test_what_a_case_expects_of_a_build_needs_a_target_that_builds(tmp_path, capfd, monkeypatch):
    code = WELL.replace("async def build", "async def no_build")
    project = CodedProject(tmp_path, code)
    project.cases(case("a", expectations=["It is red."]))
    found = ran(project, capfd, monkeypatch, *RECORD)
    assert found.code == 2
    assert "P6203" in found.err
    assert "has no `build`" in found.err


def test_a_target_that_misbehaves_spoils_its_own_rows_only(tmp_path):
    project = CodedProject(tmp_path, BADLY)
    names = ("fine", "raises", "hangs", "rubbish", "prints", "leaks")
    project.cases(*(case(name, "s1") | {"expected": name} for name in names))
    told = [json.loads(line) for line in (tmp_path / "evals/cases.jsonl").read_text().splitlines()]
    project.cases(*({**one, "scenarios": [{"name": "s1"}]} for one in told))
    project.coded(RIGHT, target={"timeout": 1})
    project.write(
        "proctor.toml",
        (tmp_path / "proctor.toml").read_text()
        + '[providers.paid]\nkind = "openai"\nbase_url = "http://127.0.0.1:1/v1"\n'
        'key_env = "AGENT_KEY"\n',
    )
    result = project.proctor(*RECORD, env={"AGENT_KEY": SECRET})
    assert result.code == 3, result.err
    rows = {name: row for (name, *_), row in rows_by_name(result.report).items()}
    found = {name: (row["outcome"], row["category"]) for name, row in rows.items()}
    assert found == {
        "fine": ("passed", None),
        "raises": ("errored", "framework_issue"),
        "hangs": ("errored", "timeout"),
        "rubbish": ("errored", "framework_issue"),
        "prints": ("errored", "framework_issue"),
        "leaks": ("passed", None),
    }
    assert set(cases_of(result.report)) == set(names)
    assert "RuntimeError" in result.err
    assert "it broke with" in result.err
    # What it prints goes to stderr, and stdout is the report alone.
    assert b"printed" not in result.out
    assert rows["prints"]["error"]["code"] == "P6312"
    left = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in data for data in [result.out, *left])
    assert f"it broke with {SECRET}" not in result.err
