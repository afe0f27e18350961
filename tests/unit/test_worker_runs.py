"""Whole runs whose calls are made by workers, which are lost on the way: the same report comes out.

The workers are in this process. That of a real cluster are in `tests/cli/test_ray.py`.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
from pathlib import Path

import pytest

from judged_support import FAIL, PASS, JudgedProject
from live_support import LiveProject
from proctor.asking_rules import WorkerRules
from proctor.cassettes import CacheMode
from proctor.errors import ManyProblems, ProviderError, RunError, SuiteError, UsageError
from proctor.executors.batches import decode_body
from proctor.records import Case
from proctor.worker_messages import Job
from worker_support import Following, NearCluster, run

TWO = WorkerRules(count=2)


@pytest.fixture
def cluster(monkeypatch):
    """Have runs use workers that are here; `losses` of it may be set before a run."""
    near = NearCluster()
    monkeypatch.setattr("proctor.worker_opening.RayCluster", near)
    return near


@pytest.fixture
def project(tmp_path):
    project = LiveProject(tmp_path / "project")
    project.named_cases(*(f"case-{number:02}" for number in range(24)))
    project.script(
        {"case": "case-03", "text": '{"label": "no"}'},
        {"case": "case-05", "fault": 400},
        {"case": "case-07", "text": "not JSON \ud83d\ude00"},
        project.says_yes(usage={"input": 3, "output": 2, "cached": 0}),
    )
    return project


def both(make, tmp_path, cluster, *, losses=(), **options):
    """The reports and files of a run in this process, and of one whose workers are lost."""
    found = []
    for name, workers in (("local", None), ("ray", TWO)):
        project = make(tmp_path / name)
        cluster._losses = list(losses)
        report = run(project, workers=workers, **options)
        rows = [
            line
            for path in project.root.glob(".proctor/runs/*/rows.jsonl")
            for line in sorted(path.read_bytes().splitlines()[1:])
        ]
        found.append((report, project.files(), [json.loads(line)["row"] for line in rows]))
    return found


class TestTheSameReport:
    @pytest.fixture
    def make(self):
        def made(root):
            project = LiveProject(root)
            project.named_cases(*(f"case-{number:02}" for number in range(24)))
            project.script(
                {"case": "case-03", "text": '{"label": "no"}'},
                {"case": "case-05", "fault": 400},
                {"case": "case-07", "text": "no JSON \ud83d\ude00"},
                {"case": "case-08", "text": "lone \udc00"},
                project.says_yes(usage={"input": 3, "output": 2, "cached": 0}),
            )
            return project

        return made

    @pytest.mark.parametrize("mode", ["record", "refresh", "off"])
    @pytest.mark.parametrize("losses", [(), (1,), (None, 5), (9, 2), (3, 3, 3), (7, 1, None, 4)])
    def test_of_prompts(self, make, tmp_path, cluster, losses, mode):
        local, remote = both(make, tmp_path, cluster, losses=losses, mode=mode)
        assert remote[0] == local[0]
        assert remote[1] == local[1]
        assert remote[2] == local[2]
        lost = sum(worker.is_ended for worker in cluster.workers) - 2
        assert lost >= (1 if losses else 0)

    @pytest.mark.parametrize("seed", range(12))
    def test_wherever_workers_are_lost(self, make, tmp_path, cluster, seed):
        rng = random.Random(seed)  # noqa: S311 - where a test breaks something
        # A call is made three times at most, so nothing can be lost of two workers.
        losses = [rng.randint(1, 12), rng.randint(1, 12), None, None]
        rng.shuffle(losses)
        local, remote = both(make, tmp_path, cluster, losses=losses, repeats=2)
        assert remote == local

    @pytest.mark.parametrize("losses", [(), (4,), (2, 6)])
    def test_of_judged_answers(self, tmp_path, cluster, losses):
        def made(root):
            project = JudgedProject(root)
            project.named_cases(*(f"case-{number:02}" for number in range(12)))
            project.judged(judge={"model": "local/judge", "runs": 3})
            project.says(PASS, FAIL, PASS)
            return project

        local, remote = both(made, tmp_path, cluster, losses=losses)
        assert remote == local

    @pytest.mark.parametrize("losses", [(), (1,)])
    def test_calls_alike_are_still_made_once(self, tmp_path, cluster, losses):
        def made(root):
            project = LiveProject(root)
            project.cases(
                *({**project.case("same"), "id": f"case-{number}"} for number in range(10))
            )
            project.script(project.says_yes())
            return project

        local, remote = both(made, tmp_path, cluster, losses=losses)
        assert remote == local
        assert sum(worker.given for worker in cluster.workers) == 1 + len(losses)


class TestWhatWorkersAreTold:
    def test_no_key_and_no_answer_is_told(self, project, cluster, monkeypatch):
        monkeypatch.setenv("SOME_KEY", "sk-very-secret-1234")
        run(project, workers=TWO, allow_keys=("SOME_KEY=example.org",))
        (job,) = cluster.jobs
        assert b"sk-very" not in job
        said = decode_body(job, Job)
        assert said.rules.allow_keys == ("SOME_KEY=example.org",)
        assert said.root == str(project.root)
        assert [one.name for one in said.suites] == ["quiz"]
        assert said.suites[0].places == list(range(24))

    def test_the_address_and_the_number_of_workers(self, project, cluster):
        following = Following()
        workers = WorkerRules(address="ray://head:10001", count=3)
        run(project, workers=workers, following=following)
        assert cluster.address == "ray://head:10001"
        assert len(cluster.workers) == 3
        assert "workers: 3" in following.notes
        assert cluster.is_closed

    def test_calls_go_over_in_batches(self, project, cluster):
        run(project, workers=TWO)
        assert sum(worker.given for worker in cluster.workers) == 24
        assert sum(len(worker.batches) for worker in cluster.workers) < 24

    def test_when_nothing_is_to_be_asked_no_worker_begins(self, project, cluster):
        project.script(project.says_yes())
        first = run(project)
        assert json.loads(first)["suites"][0]["cache"]["recorded"] == 24
        run(project, workers=TWO)
        assert not cluster.workers

    def test_settings_of_the_run_hold_on_workers(self, project, cluster, monkeypatch):
        monkeypatch.setenv("PROCTOR_MAX_CASES", "2")
        run(project, workers=TWO)
        assert cluster.is_closed


class TestRefusals:
    def refused(self, project, error=RunError, **options):
        with pytest.raises(error) as caught:
            run(project, workers=TWO, **options)
        assert not (project.root / "evals/cassettes/quiz.jsonl").exists()
        return caught.value

    @pytest.fixture
    def on_workers(self, monkeypatch):
        """Change the files of the project just before workers look at them."""

        def change(what):
            begin = __import__("proctor.call_worker").call_worker.CallWorker._begin

            def changed(self, job):
                what()
                begin(self, job)

            monkeypatch.setattr("proctor.call_worker.CallWorker._begin", changed)

        return change

    @pytest.mark.parametrize(
        ("path", "old", "new", "said"),
        [
            ("evals/cases.jsonl", "case-05", "case-99", "suites, prompts or datasets"),
            ("prompts/answer.prompt.yaml", "user: |-", "user: |-\n  Now:", "suites, prompts"),
            ("evals/quiz.eval.yaml", "id: right", "id: wrong", "suites, prompts"),
            ("proctor.toml", "script.jsonl", "other.jsonl", "configuration"),
        ],
    )
    def test_another_project(self, project, cluster, on_workers, path, old, new, said):
        file = project.root / path
        on_workers(
            lambda: file.write_text(file.read_text("utf-8").replace(old, new, 1), encoding="utf-8")
        )
        problem = self.refused(project)
        assert problem.code == "P6707"
        assert said in problem.message
        assert str(project.root) in problem.hint

    def test_a_subject_that_is_not_there(self, project, cluster, on_workers):
        file = project.root / "evals/quiz.eval.yaml"
        text = file.read_text("utf-8") + "models: [local/other]\n"
        on_workers(lambda: file.write_text(text, encoding="utf-8"))
        assert self.refused(project).code == "P6707"

    def test_no_project(self, project, cluster, on_workers):
        on_workers(lambda: (project.root / "proctor.toml").unlink(missing_ok=True))
        assert self.refused(project, UsageError).code == "P6003"

    def test_another_version(self, project, cluster, monkeypatch):
        monkeypatch.setattr("proctor.call_worker.VERSION", "99.0")
        problem = self.refused(project)
        assert problem.code == "P6707"
        assert "Proctor 99.0" in problem.message

    def test_what_keeps_a_worker_from_asking(self, project, cluster, on_workers):
        on_workers(lambda: (project.root / "script.jsonl").unlink(missing_ok=True))
        assert self.refused(project, UsageError).code == "P6003"

    def test_several_problems_are_listed_together(self, project, cluster, on_workers):
        on_workers(lambda: (project.root / "script.jsonl").write_bytes(b"[]\n{}x\n"))
        problem = self.refused(project, ManyProblems)
        assert [one.code for one in problem.problems()] == ["P6003", "P6003"]

    def test_a_target_without_code_allowed(self, project, cluster):
        project.write(
            "evals/quiz.eval.yaml",
            "target: {python: 'agents:answer', maxCostUsd: {answer: 0}}\ndataset: cases.jsonl\n"
            "assertions:\n  - {id: right, kind: contains, value: a}\n",
        )
        assert self.refused(project, SuiteError).code == "P6220"

    def test_money_is_looked_at_before_any_worker_begins(self, project, cluster):
        project.write(
            "proctor.toml",
            'project = "tests"\n[providers.local]\nkind = "openai"\n'
            'base_url = "http://127.0.0.1:1/v1"\n'
            '[prices]\n"local/tiny" = {input = 1, output = 1}\n',
        )
        assert self.refused(project, UsageError).code == "P6504"
        assert not cluster.jobs


class TestLosses:
    def test_a_call_whose_worker_is_lost_each_time_is_an_error_of_its_row(self, project, cluster):
        # One worker, and each that comes is lost with its first call.
        cluster._losses = [1] * 3
        following = Following()
        report = json.loads(
            run(
                project,
                workers=WorkerRules(count=1),
                following=following,
                mode=CacheMode.RECORD,
            )
        )
        counts = report["suites"][0]["subjects"][0]["counts"]
        # Eight are in flight at once, and all of them are lost three times.
        assert (counts["errored"], counts["passed"], counts["not_run"]) == (8, 16, 0)
        rows = [row for case in report["suites"][0]["subjects"][0]["cases"] for row in case["rows"]]
        assert {row["error"]["code"] for row in rows if row["error"]} == {"P6310"}
        assert following.notes.count("a worker was lost; calls that are made again: 8") == 3

    def test_without_workers_what_is_left_is_an_error_and_what_came_is_kept(self, project, cluster):
        project.script(project.says_yes())
        cluster._losses, cluster._spare = [6, 6], 0
        report = json.loads(run(project, workers=TWO))
        counts = report["suites"][0]["subjects"][0]["counts"]
        assert report["exit_code"] == 3
        assert counts["passed"] + counts["errored"] == 24
        assert 0 < counts["passed"] <= 2 * 6
        assert len(project.stored) == counts["passed"]
        rows = [row for case in report["suites"][0]["subjects"][0]["cases"] for row in case["rows"]]
        assert {row["error"]["code"] for row in rows if row["error"]} == {"P6703"}

    def test_a_stop_ends_it_as_without_workers(self, project, cluster):
        following = Following()
        following._row_done = lambda rows: rows == 5 and following.stop.request()
        report = json.loads(run(project, workers=TWO, following=following))
        counts = report["suites"][0]["subjects"][0]["counts"]
        assert report["verdict"] == "interrupted"
        assert 5 <= counts["rows"] - counts["not_run"] <= 5 + 16
        assert cluster.is_closed


AGENT = """\
import proctor

LOG = []

class Agent:
    def setup(self, lane):
        LOG.append(("setup", id(self), lane))

    def teardown(self, lane, session):
        LOG.append(("teardown", id(self), lane))

    def build(self, case, repeat, lane):
        LOG.append(("build", id(self), case.id))
        return proctor.Build(Artifact(self, case.id, repeat), transcript=[case.id])

    def prepare(self, case, scenario, artifact, lane):
        artifact.prepared.append(scenario.name)

    def answer(self, case, scenario, artifact, repeat, lane):
        if artifact.maker is not self or scenario.name not in artifact.prepared:
            raise RuntimeError("not mine")
        if case.id == "case-2" and scenario.name == "s2":
            raise ValueError("it broke")
        return f"{artifact.case} {scenario.name} {artifact.repeat}"

    def cleanup(self, artifact, lane):
        LOG.append(("cleanup", id(self), artifact.case))

class Artifact:
    def __init__(self, maker, case, repeat):
        self.maker, self.case, self.repeat, self.prepared = maker, case, repeat, []

def plain(case, repeat):
    if case.id == "case-1":
        raise ConnectionResetError("gone")
    return f"{case.id} {repeat}"
"""


class TestTargets:
    @pytest.fixture(autouse=True)
    def _own_modules(self, monkeypatch):
        monkeypatch.setattr(sys, "path", list(sys.path))
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        yield
        sys.modules.pop("agents", None)

    @pytest.fixture
    def make(self):
        def made(root, attribute="Agent", scenarios=True):
            sys.modules.pop("agents", None)
            project = LiveProject(root)
            project.write("agents.py", AGENT)
            project.write(
                "evals/quiz.eval.yaml",
                f"target: {{python: 'agents:{attribute}', name: agent, "
                "maxCostUsd: {build: 0, answer: 0}}\ndataset: cases.jsonl\n"
                "assertions:\n  - {id: has, kind: contains, value: case}\n",
            )
            extra = {"scenarios": [{"name": "s1"}, {"name": "s2"}]} if scenarios else {}
            project.cases(
                *({"id": f"case-{number}", "inputs": {"n": number}} | extra for number in range(6))
            )
            return project

        return made

    def without_times(self, found):
        """A report and rows without how long calls took."""
        text = re.sub(r'"latency_ms":[0-9.]+', '"latency_ms":0', found[0].decode())
        # Recordings have them as well, and so do their digests.
        return re.sub(r'("(?:digest|recording)": ?)"[0-9a-f]{64}"', r"\1null", text)

    @pytest.mark.parametrize("losses", [(), (5,), (None, 9), (12, 20), (7, 7, 7)])
    def test_what_is_built_stays_where_it_was_built(self, make, tmp_path, cluster, losses):
        local, remote = both(make, tmp_path, cluster, losses=losses, repeats=2, allow_code=True)
        assert self.without_times(remote) == self.without_times(local)
        import agents

        makers = {who for what, who, _ in agents.LOG if what == "build"}
        ready = {who for what, who, _ in agents.LOG if what == "setup"}
        assert makers <= ready
        builds = [case for what, _, case in agents.LOG if what == "build"]
        assert len(builds) >= 12
        if not losses:
            cleaned = [case for what, _, case in agents.LOG if what == "cleanup"]
            assert sorted(cleaned) == sorted(builds)
            assert len(builds) == 12
            assert len(makers) == 2

    @pytest.mark.parametrize("losses", [(), (3,)])
    def test_of_functions(self, tmp_path, cluster, losses, make, monkeypatch):
        async def at_once(self, seconds):
            return None

        monkeypatch.setattr("proctor.clock.Clock.sleep", at_once)
        local, remote = both(
            lambda root: make(root, "plain", scenarios=False),
            tmp_path,
            cluster,
            losses=losses,
            allow_code=True,
        )
        assert self.without_times(remote) == self.without_times(local)


def test_a_case_with_everything_reaches_the_target_as_it_is(tmp_path):
    case = Case(
        "a",
        {"x": [1, None, {"y": "\ud800"}]},
        expected={"z": 1.5},
        tags=["t"],
        tiers=["full"],
        metadata={"m": 1},
        dos=["d"],
        expectations=["e"],
    )
    from proctor.records import encode_json

    assert decode_body(encode_json(case), Case) == case
    assert Path(os.fspath(tmp_path)).is_dir()


def test_problem_of_a_provider_is_told(project, cluster):
    project.write("proctor.toml", 'project = "tests"\n[providers.local]\nkind = "scripted"\n')
    with pytest.raises(ProviderError) as caught:
        run(project, workers=TWO)
    assert caught.value.code == "P6301"
