"""The example of a whole agent: what its recordings say, and asking it on lanes of this machine."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
import sys
from collections import Counter
from contextlib import closing, contextmanager
from heapq import heappop
from itertools import count

import pytest

import proctor
from live_support import IDLE_PASSES, FakeClock, Unseen
from proctor.asking import AskingLimits, Means
from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode
from proctor.config import load_config
from proctor.evaluation import evaluate, select
from proctor.pipeline import load_exam
from proctor.providers.access import Access
from proctor.providers.hosts import HostRules
from proctor.providers.keys import KeyRules
from proctor.providers.pricing import Pricing
from proctor.providers.scripted import ScriptedProvider, load_script
from proctor.recording import LiveOptions, LiveSession
from proctor.records import RenderOptions
from proctor.rendering.report_json import render_json
from proctor.running.engine import Stop
from proctor.selecting import Selection
from support import EXAMPLES
from support import proctor as run_proctor

NOTES = EXAMPLES / "notes-agent"
CASSETTE = "evals/cassettes/notes-agent.jsonl"
FOLDER = "evals/cassettes"
SHARED = "family-notebook"
"""A scenario of two cases, and the resource that both name."""
_TOKENS = count(0x300000)


@pytest.fixture(scope="module")
def replayed():
    """The one subject of the replay, as the JSON report has it."""
    report = json.loads(proctor.run(root=NOTES).to_json())
    return report, report["suites"][0]["subjects"][0]


def test_the_replay_passes_with_one_row_that_failed(replayed):
    report, subject = replayed
    assert (report["verdict"], report["exit_code"]) == ("passed", 0)
    counts = subject["counts"]
    # Six scenarios and the case that has none, three times each.
    assert (counts["cases"], counts["rows"], counts["passed"], counts["failed"]) == (4, 21, 20, 1)
    assert subject["categories"] == {"builder_issue": 1}
    assert [(one["passed"], one["measured"]) for one in subject["per_repeat"]] == [
        (7, 7),
        (6, 7),
        (7, 7),
    ]


def test_pass_at_k_counts_scenarios_and_expectations(replayed):
    # Of six scenarios and three expectations one passed in two repeats of three.
    _, subject = replayed
    at = [(one["units"], round(one["value"], 6)) for one in subject["pass_at_k"]]
    hat = [(one["units"], round(one["value"], 6)) for one in subject["pass_hat_k"]]
    assert at == [(9, round(26 / 27, 6)), (9, 1), (9, 1)]
    assert hat == [(9, round(26 / 27, 6)), (9, round((8 + 1 / 3) / 9, 6)), (9, round(8 / 9, 6))]


def test_only_the_forgetful_build_fails_and_the_check_of_builds_says_why(replayed):
    _, subject = replayed
    assert {case["id"]: case["outcome"] for case in subject["cases"]} == {
        "groceries": "passed",
        "done": "passed",
        "look-only": "passed",
        "inbox": "failed",
    }
    inbox = subject["cases"][3]
    assert inbox["flaky"]
    failed = {
        (row["repeat"], check["id"], check["severity"])
        for row in inbox["rows"]
        for check in row["checks"]
        if check["outcome"] == "failed"
    }
    assert failed == {(2, "tags-what-it-saves", "warn"), (2, "found-the-right-notes", "fail")}


def test_checks_of_builds_are_counted_per_build_and_a_scenario_may_leave_some_out(replayed):
    _, subject = replayed
    counted = {id_: (one["passed"], one["failed"]) for id_, one in subject["checks"].items()}
    assert counted == {
        "is-a-workflow": (12, 0),  # four cases, three times
        "tags-what-it-saves": (11, 1),
        "found-the-right-notes": (17, 1),  # six scenarios, three times
        "kept-the-others": (15, 0),  # but for `nothing-fits`
        "expectations": (9, 0),  # three statements, three times
    }


def test_a_case_without_scenarios_is_judged_by_what_is_expected_of_its_build(replayed):
    _, subject = replayed
    look_only = subject["cases"][2]
    assert [row["scenario"] for row in look_only["rows"]] == ["__build_only__"] * 3
    assert [(unit["n"], unit["passed"]) for unit in look_only["units"]] == [(3, 3)] * 2
    judged = [one for case in subject["cases"] for one in case["expectations"]]
    assert [one["outcome"] for one in judged] == ["passed"] * 9


class Lane:
    """A server of the example at a port that nobody else gets, also while it does not run."""

    def __init__(self) -> None:
        # It is bound and does not listen, so whoever connects meanwhile is refused.
        self._place = socket.socket()
        self._place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._place.bind(("127.0.0.1", 0))
        self._port = self._place.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, and wait until it can be asked."""
        self._process = subprocess.Popen(
            [sys.executable, NOTES / "server.py", str(self._port)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout.readline() == f"lane at {self.url}\n"

    def kill(self) -> None:
        """End it in the middle of whatever it does."""
        self._process.kill()
        self._process.wait(60)
        self._process.stdout.close()

    def close(self) -> None:
        self.kill()
        self._place.close()


@pytest.fixture(scope="module")
def lanes():
    """Two lanes that run."""
    both = Lane(), Lane()
    for lane in both:
        lane.start()
    yield both
    for lane in both:
        lane.close()


class WaitingClock(FakeClock):
    """A clock that stands still while anybody is asked, so that waits are as long as they seem."""

    def __init__(self) -> None:
        super().__init__(_TOKENS)
        self._asked = 0
        self._is_quiet = asyncio.Event()
        self._is_quiet.set()

    @contextmanager
    def standing(self):
        self._asked += 1
        self._is_quiet.clear()
        try:
            yield
        finally:
            self._asked -= 1
            if not self._asked:
                self._is_quiet.set()

    async def _go(self) -> None:
        while self._sleepers:
            await self._is_quiet.wait()
            for _ in range(IDLE_PASSES):
                await asyncio.sleep(0)
            if self._is_quiet.is_set():
                self.time_s, _, due = heappop(self._sleepers)
                if not due.done():
                    due.set_result(None)


class Watched:
    """The agent, with a note of what is asked of it, and something that happens meanwhile."""

    def __init__(self, agent, clock, on_answer=lambda lane, number: None) -> None:
        self.builds = agent.builds
        self.asked = Counter()
        self.together = self._in_shared = 0
        self._agent, self._clock, self._on_answer = agent, clock, on_answer

    def __getattr__(self, name):
        call = getattr(self._agent, name)

        async def ask(*given):
            self.asked[name, given[-1] if given else None] += 1
            with self._clock.standing():
                return await call(*given)

        return ask

    async def prepare(self, case, scenario, artifact, lane):
        if scenario.name == SHARED:
            self._in_shared += 1
            self.together = max(self.together, self._in_shared)
        with self._clock.standing():
            await self._agent.prepare(case, scenario, artifact, lane)

    async def answer(self, case, scenario, artifact, repeat, lane):
        self.asked["answer", lane] += 1
        self._on_answer(lane, self.asked["answer", lane])
        with self._clock.standing():
            reply = await self._agent.answer(case, scenario, artifact, repeat, lane)
        self._in_shared -= scenario.name == SHARED
        return reply


class Notes(Unseen):
    """What is said of lanes, and something that happens when it is."""

    def __init__(self, on_note=lambda text: None) -> None:
        self.said = []
        self._on_note = on_note

    def note(self, text) -> None:
        self.said.append(text)
        self._on_note(text)


@pytest.fixture
def elsewhere(tmp_path):
    """The example without recordings; the lanes that it names do not run."""
    root = tmp_path / "notes-agent"
    shutil.copytree(NOTES, root, ignore=shutil.ignore_patterns("cassettes", ".proctor"))
    return root


@pytest.fixture
def project(elsewhere, lanes):
    """The example without recordings, on the lanes that run."""
    suite = elsewhere / "evals/notes-agent.eval.yaml"
    written = suite.read_text(encoding="utf-8")
    for port, lane in zip(("9001", "9002"), lanes, strict=True):
        assert written.count(f"http://127.0.0.1:{port}") == 1
        written = written.replace(f"http://127.0.0.1:{port}", lane.url)
    suite.write_text(written, encoding="utf-8")
    return elsewhere


def ask(root, *, on_answer=lambda lane, number: None, on_note=lambda text: None):
    """Run the example live; its report in JSON, who was asked, and what was noted."""
    config = load_config(root, is_root=True, flags={}, environ={})
    clock, notes = WaitingClock(), Notes(on_note)
    access = Access(HostRules.of([], allow_local=False), KeyRules.of([]))
    script = load_script(root, "judge.jsonl")
    with closing(load_exam(config, ())) as exam:
        selected = select(exam, Selection())
        target = selected[0].subjects[0].target
        agent = target.open(root, allow_code=True, access=access, note=notes.said.append)
        watched = Watched(agent, clock, on_answer)
        session = LiveSession(
            CassetteFolder(root, root, FOLDER, FOLDER, ""),
            [(one.suite, one.plan) for one in selected],
            means=Means(
                providers={"judge": ScriptedProvider(script, clock=clock)},
                pricing=Pricing(config.values.prices, config.values.providers),
                budget=None,
                progress=notes,
                clock=clock,
                stop=Stop(),
            ),
            options=LiveOptions(
                mode=CacheMode.RECORD,
                limits=AskingLimits(concurrency=8, timeout_s=600, max_wait_s=0),
                agents={"notes-agent": watched},
            ),
        )
        with closing(session):
            report = b"".join(render_json(evaluate(config, selected, session), RenderOptions()))
    return report, watched, notes.said


@pytest.fixture
def forgotten(monkeypatch):
    """The module of the agent is forgotten afterwards, and where it was found."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    sys.modules.pop("notes_agent", None)


def recordings(path) -> list[dict]:
    """What is recorded, but for when and how fast."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        del line["latency_ms"], line["recorded"]["on"]
    return lines


@pytest.mark.usefixtures("forgotten")
def test_the_committed_recordings_are_what_the_agent_does(project):
    report, watched, said = ask(project)
    assert recordings(project / CASSETTE) == recordings(NOTES / CASSETTE)
    assert json.loads(report)["verdict"] == "passed"
    assert said == []
    builds = {lane: number for (what, lane), number in watched.asked.items() if what == "build"}
    # Four cases three times, on both lanes, each let go of afterwards.
    assert len(builds) == 2
    assert sum(builds.values()) == 12
    assert sum(number for (what, _), number in watched.asked.items() if what == "cleanup") == 12


@pytest.mark.usefixtures("forgotten")
def test_scenarios_with_the_same_resource_never_overlap(project):
    _, watched, _ = ask(project)
    assert watched.together == 1


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("place", [1, 3, 5])
def test_a_lane_that_is_killed_and_comes_back_leaves_no_trace_in_the_report(project, lanes, place):
    # The second lane gets the second repeat of the first two cases: five answers, if no more.
    _, victim = lanes
    undisturbed, _, _ = ask(project)
    shutil.rmtree(project / FOLDER)
    done = []

    def kill(lane, number):
        if lane == victim.url and number == place and not done:
            victim.kill()
            done.append("killed")

    def restart(text):
        if text.startswith(f"the lane `{victim.url}` failed 3 times in a row"):
            victim.start()
            done.append("started")

    disturbed, watched, said = ask(project, on_answer=kill, on_note=restart)
    assert done == ["killed", "started"]
    assert said[-1] == f"the lane `{victim.url}` is well again"
    assert watched.asked["health", victim.url] == 1
    assert disturbed == undisturbed


def test_the_command_line_names_other_lanes_than_the_suite(elsewhere, lanes):
    named = [part for lane in lanes for part in ("--lane", lane.url)]
    result = run_proctor("run", "--cache", "record", "--allow-code", *named, cwd=elsewhere)
    assert (result.code, result.text.splitlines()[0]) == (
        0,
        "PASSED  20 of 21 rows passed, 1 failed",
    )
    assert recordings(elsewhere / CASSETTE) == recordings(NOTES / CASSETTE)
