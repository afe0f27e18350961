"""A run that is killed anywhere goes on, and its report is that of a run that was not."""

import json
import random

import pytest

from agent_support import Agent, AgentProject
from agent_support import case as agent_case
from journal_support import ask, newest, recovered
from judged_support import FAIL, OF_JUDGES, PASS
from labelled_support import LabelledProject, label
from live_support import PROJECT, YES, Calls, FakeClock, LiveProject, rows_of
from proctor.canonical import sha256_hex
from proctor.errors import ReportError
from proctor.keeping import Keeping
from proctor.providers.scripted import ScriptedAnswer
from proctor.records import Usage
from proctor.run_folders import JOURNAL

AGAIN = Keeping(resume="")


class CopiedProject(LiveProject):
    """A project whose files are there already."""

    def __init__(self, root) -> None:
        self.root = root


class Killed:
    """A run of a project to its end, and copies of the project as a kill of it would leave them.

    Args:
        project: The project, in which nothing has been run.
        script: Who answers.
        options: As for `ask`.
    """

    def __init__(self, project, script, **options) -> None:
        self.concurrency = options.get("concurrency", 4)
        self._before = project.files()
        self.whole = ask(project, script, before_close=self._look, clock=FakeClock(), **options)
        self.cassette = project.files().get("evals/cassettes/quiz.jsonl")

    def _look(self, session) -> None:
        self.run = session.run.id
        self.journal = (session.run.folder / JOURNAL).read_bytes()
        log = session.run.recorded("quiz")
        self.log = log.read_bytes().splitlines(keepends=True) if log.exists() else []

    def copy(self, root, rng: random.Random) -> CopiedProject:
        """The project after a kill at a random byte of its journal.

        What a kept row was made of had been received before; more may have been, and a part of the
        next line. `rows` and `received` then say how many rows and answers there are.
        """
        cut = rng.randint(self.journal.index(b"\n") + 1, len(self.journal))
        kept = self.journal[:cut].splitlines(keepends=True)[1:]
        self.rows = [json.loads(line) for line in kept if line.endswith(b"\n")]
        needed = {row["row"]["recording"] for row in self.rows}
        for row in self.rows:
            build = row.get("build") or {"call": None, "judge_calls": []}
            calls = [*row["judge_calls"], *build["judge_calls"], build["call"] or {}]
            needed |= {call.get("recording") for call in calls}
        digests = [sha256_hex(line[:-1]) for line in self.log]
        first = max((n for n, one in enumerate(digests, 1) if one in needed), default=0)
        self.received = rng.randint(first, min(len(self.log), first + self.concurrency))
        log = b"".join(self.log[: self.received])
        if self.received < len(self.log):
            following = self.log[self.received]
            log += following[: rng.randint(0, len(following) - 2)]
        left = CopiedProject(root)
        for path, data in self._before.items():
            left.write(path, data)
        left.write(f".proctor/runs/{self.run}/{JOURNAL}", self.journal[:cut])
        left.write(f".proctor/runs/{self.run}/recorded/quiz.jsonl", log)
        (root / ".proctor").chmod(0o700)
        return left


def slow(request, call):
    """Answers that take long for some cases, so that rows finish in another order."""
    number = int(call.case.rpartition("-")[2])
    text = YES if number % 7 else '{"label": "no"}'
    return ScriptedAnswer(text=text, latency_ms=50 * (number % 5 + call.take))


def some_judged(request, call):
    """Judges that take longer than answers, some of whose costs are not known."""
    number = int(call.case.rpartition("-")[2])
    usage = None if number % 5 == 0 else Usage(input=10 + number, output=7 * number, cached=None)
    if OF_JUDGES in request.messages[0].content:
        verdict = (PASS, FAIL)[number % 3 == 0]
        usage = None if number % 4 == 0 else Usage(input=100 + number, output=number, cached=3)
        return ScriptedAnswer(text=verdict, latency_ms=90 * (number % 4), usage=usage)
    return ScriptedAnswer(text=YES, latency_ms=30 * (number % 3), usage=usage)


def plain(root, cases):
    project = LiveProject(root)
    project.named_cases(*(f"case-{number:03}" for number in range(cases)))
    return project, slow


def repeated(root, cases):
    project, script = plain(root, cases // 4)
    project.suite(repeats=4, thresholds={"passAtK": {"k": 2, "min": 0.5}, "passRate": 0.1})
    return project, script


def of_two_models(root, cases):
    project, script = plain(root, cases // 2)
    project.suite(models=["local/tiny", "local/other"])
    return project, script


def of_twins(root, cases):
    """Rows that need the same answer, of which only the first asks for it."""
    project, script = plain(root, cases)
    same = {"inputs": {"question": "same"}}
    project.cases(*(project.case(f"case-{n:03}") | (same if n % 3 else {}) for n in range(cases)))
    return project, script


def judged(root, cases):
    project = LabelledProject(root)
    names = [f"case-{number:03}" for number in range(cases)]
    project.named_cases(*names)
    project.labels(*(label(name, ("pass", "fail")[n % 5 == 0]) for n, name in enumerate(names)))
    project.labelled(thresholds={"judgeAgreement": {"min": 0.2}, "maxCostUsd": 100.0})
    project.write("proctor.toml", PROJECT + PRICES)
    return project, some_judged


PRICES = """
[prices."local/tiny"]
input = 1
output = 2
[prices."local/judge"]
input = 3
output = 4
"""
KINDS = [plain, repeated, of_two_models, of_twins, judged]


def goes_on(tmp_path, kind, mode, seed, cases):
    """Kill a run somewhere, recover and resume it, and compare with the run that was not."""
    project, script = kind(tmp_path / "whole", cases)
    killed = Killed(project, script, mode=mode)
    left = killed.copy(tmp_path / "killed", random.Random(seed))  # noqa: S311 - seeded
    suite = json.loads(recovered(newest(left)))["suites"][0]
    found = sum(one["counts"]["not_run"] for one in suite["subjects"])
    planned = sum(one["counts"]["rows"] for one in suite["subjects"])
    assert planned - found == len(killed.rows)
    assert len(rows_of({"suites": [suite]})) == len(killed.rows)
    calls = Calls(script)
    assert ask(left, calls, keeping=AGAIN, mode=mode, clock=FakeClock()) == killed.whole
    if mode != "off":
        assert len(calls.made) == len(killed.log) - killed.received
    assert left.files().get("evals/cassettes/quiz.jsonl") == killed.cassette
    assert ask(left, never, keeping=AGAIN, mode=mode) == killed.whole


def of_an_agent(root):
    """Builds with scenarios, statements and checks of them, for cases of different shapes."""
    project = AgentProject(root)
    cases = [
        agent_case(f"case-{n:03}", *("abc"[: n % 4]), expectations=["It is."][: n % 2])
        for n in range(9)
    ]
    project.cases(*cases)
    project.agent_suite(repeats=2)
    return project


@pytest.mark.parametrize("mode", ["record", "refresh"])
@pytest.mark.parametrize("seed", range(6))
def test_an_agent_that_was_killed_builds_again_what_it_had_begun(tmp_path, seed, mode):
    project = of_an_agent(tmp_path / "whole")
    killed = Killed(project, lambda request, call: PASS, mode=mode, agent=Agent())
    left = killed.copy(tmp_path / "killed", random.Random(seed))  # noqa: S311 - seeded
    recovered(newest(left))
    options = {"keeping": AGAIN, "mode": mode, "agent": (agent := Agent())}
    assert ask(left, lambda request, call: PASS, **options) == killed.whole
    assert left.files()["evals/cassettes/quiz.jsonl"] == killed.cassette
    assert len(agent.noted("build")) <= 18
    assert ask(left, never, keeping=AGAIN, mode=mode, agent=Agent()) == killed.whole
    assert recovered(newest(left)) == killed.whole


def never(request, call):
    raise AssertionError("nobody is to be asked")


@pytest.mark.parametrize("mode", ["record", "refresh", "off"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_was_killed_goes_on_as_if_it_had_not_been(tmp_path, kind, mode):
    goes_on(tmp_path, kind, mode, f"{kind.__name__} {mode}", 24)


@pytest.mark.parametrize("seed", range(20))
def test_a_run_of_200_rows_killed_at_any_of_them_loses_nothing(tmp_path, seed):
    goes_on(tmp_path, KINDS[seed % len(KINDS)], ("record", "refresh")[seed % 2], seed, 200)


def test_what_was_kept_is_no_verdict_when_its_checks_say_otherwise(tmp_path):
    project, _ = plain(tmp_path / "whole", 4)
    killed = Killed(project, lambda request, call: "wrong", mode="off")
    left = killed.copy(tmp_path / "killed", random.Random(1))  # noqa: S311 - seeded
    path = newest(left) / JOURNAL
    path.write_bytes(
        killed.journal.replace(b'"outcome":"failed","category"', b'"outcome":"passed","category"')
    )
    with pytest.raises(ReportError) as caught:
        ask(left, never, keeping=AGAIN, mode="off")
    assert caught.value.code == "P6901"
