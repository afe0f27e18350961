"""`--driver langsmith` and `proctor publish`, with a LangSmith on this machine."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from fake_provider import Fails, FakeProvider, Sends, redirects
from judged_support import JudgedProject
from live_support import LiveProject
from proctor import tracking
from proctor.drivers import langsmith, langsmith_api
from support import Project
from tracker_support import (
    CANARIES,
    EXPECTED,
    INPUT,
    KEY,
    REASON,
    SAID,
    FakeLangSmith,
    allowed,
    at,
    called,
    refused,
)

JSON_REPORT = ("--format", "json", "--out", "report.json")
VARIABLE = re.compile(r"""["']((?:LANGSMITH|LANGCHAIN)_[A-Z0-9_]+)["']""")
SPY = "spy-0001"
BEHAVIOURS = {
    "never-answers": lambda server: server.hang,
    "drips": lambda server: server.drip,
    "drips-headers": lambda server: server.drip_head,
    "resets": lambda server: server.reset,
    "breaks-off": lambda server: server.break_off,
    "fails": lambda server: Fails(500),
    "is-overloaded": lambda server: Fails(429, headers={"retry-after": "86400"}),
    "refuses-the-key": lambda server: Fails(401, message="{key}"),
    "refuses": lambda server: Fails(422),
    "knows-nothing": lambda server: Fails(404),
    "redirects": lambda server: redirects("http://127.0.0.1:9/"),
    "says-null": lambda server: Sends("null"),
    "says-an-object": lambda server: Sends("{}"),
    "says-numbers": lambda server: Sends("[1]"),
    "says-no-id": lambda server: Sends('[{"id": "1; drop"}]'),
    "says-html": lambda server: Sends("<html>", content_type="text/html"),
    "says-twice": lambda server: Sends('[{"id": 1, "id": 2}]'),
    "says-depth": lambda server: Sends("[" * 100_000),
}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("LANGSMITH_API_KEY", KEY)


@pytest.fixture
def server():
    with FakeProvider() as provider:
        yield provider


@pytest.fixture
def fake(server, project):
    at(project, server)
    return FakeLangSmith(server)


@pytest.fixture
def hurried(monkeypatch):
    """Nobody waits for a tracker, and nothing is sent twice."""
    monkeypatch.setattr(langsmith, "PATIENCE_S", 0.2)
    monkeypatch.setattr(tracking, "MAX_WAITS_S", {True: 0, False: 0})


def run(project, server, *more: str) -> int:
    return called(project, "run", *JSON_REPORT, *allowed(server), *more)


def publish(project, server, *more: str) -> int:
    return called(project, "publish", "report.json", *allowed(server), *more)


def report_of(project) -> bytes:
    return (project.root / "report.json").read_bytes()


def plain(project, *more: str) -> tuple[int, bytes]:
    """The exit code and the report of the same run that nobody else is told of."""
    code = called(project, "run", *JSON_REPORT, *more)
    return code, report_of(project)


class TestWhatIsSent:
    def test_the_run_is_the_one_that_nobody_is_told_of(self, project, server, fake):
        project.exam({"one": "yes", "two": "no"})
        expected = plain(project)
        assert not server.seen
        assert (run(project, server), report_of(project)) == expected
        assert expected[0] == 1

    def test_each_row_is_a_run_with_feedback_and_unknown_is_null(self, project, server, fake):
        project.cases(*map(project.case, ("good", "bad", "gone")))
        project.cassette(
            project.recording("good", '{"label": "yes"}', cost_usd=0.25),
            project.recording("bad", '{"label": "no"}', cost_usd=None),
        )
        run(project, server)
        assert fake.said("good") == {
            "case_pass": 1,
            "failure_category": None,
            "cost_usd": 0.25,
            "turns": None,
            "check.right": 1,
        }
        assert fake.said("bad")["case_pass"] == 0
        assert fake.said("bad")["check.right"] == 0
        assert fake.said("bad")["cost_usd"] is None
        assert fake.said("gone") == {
            "case_pass": None,
            "failure_category": None,
            "cost_usd": None,
            "turns": None,
        }
        (error,) = [one["error"] for one in fake.runs.values() if one["error"] is not None]
        assert error == "P6402"

    def test_after_all_rows_come_pass_at_k_and_pass_hat_k(self, project, server, fake):
        """Two repeats of two cases: one passes twice, one once. pass@1 is 3/4, pass@2 is 1."""
        project.cases(project.case("one"), project.case("two"))
        lines = [
            project.recording(name, json.dumps({"label": label}), take=take)
            for name, take, label in (
                ("one", 1, "yes"),
                ("one", 2, "yes"),
                ("two", 1, "yes"),
                ("two", 2, "no"),
            )
        ]
        project.cassette(*lines)
        run(project, server, "--repeats", "2")
        assert fake.summary() == {
            "pass_at_k": (1.0, {"1": 0.75, "2": 1.0}),
            "pass_hat_k": (0.5, {"1": 0.75, "2": 0.5}),
        }
        assert fake.said("two", repeat=1)["case_pass"] == 1
        assert fake.said("two", repeat=2)["case_pass"] == 0

    def test_an_experiment_per_subject_is_marked_with_the_report_it_is_of(
        self, project, server, fake
    ):
        prompt = (project.root / "prompts/answer.prompt.yaml").read_text()
        project.write("prompts/other.prompt.yaml", prompt)
        suite = (project.root / "evals/quiz.eval.yaml").read_text()
        suite = suite.replace("prompt: answer", "prompts: [answer, other]")
        project.write("evals/quiz.eval.yaml", suite)
        project.exam({"one": "yes"})
        run(project, server)
        digest = hashlib.sha256(report_of(project)).hexdigest()
        marks = [one["extra"]["metadata"] for one in fake.sessions.values()]
        assert {one["proctor_report_sha256"] for one in marks} == {digest}
        assert {one["proctor_subject"] for one in marks} == {
            "answer@local/tiny",
            "other@local/tiny",
        }
        assert list(fake.datasets) == ["tests/quiz"]
        assert len(fake.examples) == 1

    def test_a_part_of_a_run_is_not_marked_as_whole(self, project, server, fake):
        project.exam({"one": "yes", "two": "yes"})
        run(project, server, "--shard", "1/2")
        (session,) = fake.sessions.values()
        assert "proctor_report_sha256" not in session["extra"]["metadata"]
        assert "end_time" not in session

    def test_the_dataset_is_kept_by_the_ids_of_cases(self, project, server, fake):
        project.exam({"one": "yes"})
        run(project, server)
        (first,) = fake.examples
        project.exam({"one": "yes", "two": "yes"})
        run(project, server)
        assert first in fake.examples
        assert sorted(one["metadata"]["case"] for one in fake.examples.values()) == ["one", "two"]
        assert all(
            one["reference_example_id"] in fake.examples
            for one in fake.runs.values()
            if "parent_run_id" not in one
        )

    def test_an_example_changes_with_its_case_but_never_loses_content(self, project, server, fake):
        project.exam({"one": "yes"})
        run(project, server, "--tracker-content")
        (before,) = fake.examples.values()
        assert before["inputs"] == {"question": "one"}
        run(project, server)
        assert list(fake.examples.values()) == [before]
        changed = project.case("one", "no")
        project.cases(changed)
        run(project, server, "--tracker-content")
        (after,) = fake.examples.values()
        assert (after["id"], after["outputs"]) == (before["id"], {"label": "no"})

    def test_more_cases_than_fit_on_a_page_or_in_a_request_are_sent_once(
        self, project, server, fake
    ):
        names = [f"case-{number:03}" for number in range(230)]
        project.exam(dict.fromkeys(names, "yes"))
        run(project, server)
        run(project, server)
        assert len(fake.examples) == 230
        assert len(fake.runs) == 460
        sent = [seen for seen in server.seen if seen.path == "/examples/bulk"]
        assert [seen.method for seen in sent] == ["POST"] * 3


class TestContent:
    @pytest.fixture
    def judged(self, project):
        judged = JudgedProject(project.root)
        judged.cases({"id": "one", "inputs": {"question": INPUT}, "expected": {"label": EXPECTED}})
        verdict = json.dumps({"verdict": "fail", "reason": REASON})
        judged.says(verdict, answer=json.dumps({"label": SAID}))
        judged.judged(
            {"id": "right", "kind": "equals", "field": "label", "severity": "warn"},
            {"id": "tone", "kind": "llm-judge", "rubric": "judge-tone"},
        )
        return judged

    @pytest.mark.parametrize("content", [False, True])
    def test_it_leaves_with_its_flag_only(self, judged, server, content):
        at(judged, server)
        fake = FakeLangSmith(server)
        flag = ("--tracker-content",) if content else ()
        record = ("--cache", "record", "--max-wait", "0")
        assert run(judged, server, *record, *flag) == 1
        logs = [fake.log]
        for again in (run, publish):
            server.seen.clear()
            fake.examples.clear()
            again(judged, server, *flag)
            logs.append(fake.log)
        for log in logs:
            assert [one in log for one in CANARIES] == [content] * 4

    def test_the_key_is_in_one_header_and_nowhere_else(self, judged, server):
        at(judged, server)
        fake = FakeLangSmith(server)
        run(judged, server, "--cache", "record", "--tracker-content")
        assert fake.log.count(KEY) == len(server.seen)
        assert {seen.headers["x-api-key"] for seen in server.seen} == {KEY}

    def test_judges_are_asked_inside_of_the_row(self, judged, server):
        at(judged, server)
        fake = FakeLangSmith(server)
        run(judged, server, "--cache", "record")
        asked = fake.children("judge")
        assert len(asked) == 3
        (row,) = [one for one in fake.runs.values() if one["name"] == "scenario"]
        for one in asked:
            assert one["parent_run_id"] == one["trace_id"] == row["id"]
            assert one["dotted_order"].startswith(f"{row['dotted_order']}.")
            assert one["extra"]["metadata"]["ls_model_name"] == "local/judge"
            assert row["start_time"] <= one["start_time"] <= one["end_time"] <= row["end_time"]
        assert fake.said("one")["check.tone"] == 0


class TestWhatATrackerCannotDo:
    """A dead, slow or lying tracker changes nothing of a run, and nobody waits for it."""

    @pytest.mark.parametrize("behaviour", BEHAVIOURS)
    def test_the_run_is_the_same_and_it_is_said_once(
        self, project, server, hurried, capfd, behaviour
    ):
        at(project, server)
        project.exam({"one": "yes", "two": "no"})
        expected = plain(project)
        server.does(BEHAVIOURS[behaviour](server))
        capfd.readouterr()
        assert (run(project, server), report_of(project)) == expected
        said = capfd.readouterr().err
        assert said.count("warning: langsmith: ") == 1
        assert "`proctor publish` sends a whole report" in said
        assert KEY not in said

    @pytest.mark.parametrize("behaviour", ["never-answers", "fails", "says-null", "resets"])
    def test_a_live_run_is_the_same_too(self, tmp_path, server, hurried, capfd, behaviour):
        live = LiveProject(tmp_path)
        at(live, server)
        live.named_cases("one", "two")
        live.script(live.says_yes())
        ask = ("--cache", "refresh", "--quiet")
        expected = plain(live, *ask)
        server.does(BEHAVIOURS[behaviour](server))
        capfd.readouterr()
        assert (run(live, server, *ask), report_of(live)) == expected
        assert expected[0] == 0
        assert capfd.readouterr().err.count("warning: langsmith: ") == 1

    def test_one_that_is_not_there_is_no_different(self, project, hurried, capfd):
        with FakeProvider() as gone:
            at(project, gone)
            options = allowed(gone)
        project.exam({"one": "yes"})
        assert called(project, "run", *JSON_REPORT, *options) == 0
        assert capfd.readouterr().err.count("warning: langsmith: ") == 1

    @pytest.mark.parametrize("after", range(9))
    def test_it_may_fail_at_any_request(self, project, server, fake, hurried, capfd, after):
        """The requests of this run are 9; all but the failing one and those after it are good."""
        project.exam({"one": "yes", "two": "no"})
        expected = plain(project)
        server.does(*[fake] * after, Fails(400))
        assert (run(project, server), report_of(project)) == expected
        assert capfd.readouterr().err.count("warning: langsmith: ") == 1
        assert len(server.seen) == after + 1
        assert not any(
            "proctor_report_sha256" in one["extra"]["metadata"] for one in fake.sessions.values()
        )

    def test_what_passes_is_tried_again(self, project, server, fake, monkeypatch, capfd):
        monkeypatch.setattr(langsmith_api, "FIRST_WAIT_S", 0.001)
        project.exam({"one": "yes"})
        server.does(Fails(503), fake)
        assert run(project, server) == 0
        assert "warning" not in capfd.readouterr().err
        assert fake.said("one")["case_pass"] == 1

    def test_a_redirect_is_not_followed(self, project, server, hurried):
        at(project, server)
        project.exam({"one": "yes"})
        with FakeProvider() as other:
            server.does(redirects(f"{other.url}/datasets", 307))
            run(project, server)
            assert not other.seen

    def test_what_the_environment_says_changes_nothing(self, project, server, fake, monkeypatch):
        root = Path(find_spec("langsmith").origin).parent
        names = {
            name
            for file in [*root.glob("*.py"), *root.glob("_*/*.py")]
            for name in VARIABLE.findall(file.read_text(encoding="utf-8"))
        } | {"LANGCHAIN_BASE_URL", "LANGCHAIN_CUSTOM_HEADERS", "LANGSMITH_TENANT_ID"}
        assert len(names) > 5
        with FakeProvider() as other:
            for name in sorted(names - {"LANGSMITH_API_KEY"}):
                value = f"{other.url}/{SPY}" if name.endswith(("URL", "ENDPOINT")) else SPY
                headers = f"X-Spy: {SPY}\nHost: {SPY}"
                monkeypatch.setenv(name, headers if name.endswith("HEADERS") else value)
            for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
                monkeypatch.setenv(name, other.url)
            project.exam({"one": "yes"})
            run(project, server)
            assert not other.seen
        assert len(fake.runs) == 1
        assert SPY not in fake.log


class TestHostsAndKeys:
    def test_its_host_has_to_be_opened(self, project):
        project.exam({"one": "yes"})
        with refused("P6307") as problems:
            called(project, "run", "--driver", "langsmith")
        assert problems[0].message == "`api.smith.langchain.com` is not open"
        assert "--allow-host api.smith.langchain.com" in problems[0].hint

    def test_of_this_machine_a_port_has_to_be_opened(self, project, server):
        at(project, server)
        project.exam({"one": "yes"})
        with refused("P6307"):
            called(project, "run", "--driver", "langsmith")
        assert not server.seen

    def test_another_host_gets_the_key_only_when_that_is_allowed(self, project):
        file = project.root / "proctor.toml"
        file.write_text(f'langsmith_url = "https://smith.example/api/v1"\n{file.read_text()}')
        project.exam({"one": "yes"})
        with refused("P6307") as problems:
            called(project, "run", "--driver", "langsmith", "--allow-host", "smith.example")
        assert "--allow-key LANGSMITH_API_KEY=smith.example" in problems[0].hint

    def test_a_server_on_this_machine_gets_no_key_unasked(self, project, server, fake):
        project.exam({"one": "yes"})
        options = allowed(server)[:4]
        assert called(project, "run", *options) == 0
        assert KEY not in fake.log
        assert len(fake.runs) == 1

    def test_without_a_key_nothing_is_run(self, project, monkeypatch):
        monkeypatch.delenv("LANGSMITH_API_KEY")
        project.exam({"one": "yes"})
        host = ("--allow-host", "api.smith.langchain.com")
        with refused("P6306"):
            called(project, "run", "--driver", "langsmith", *host)

    @pytest.mark.parametrize(
        "url",
        [
            "https://api.smith.langchain.com@evil.example",
            "http://smith.example",
            "https://smith.example./",
            "https://2130706433/",
            "https://smith.example/?key=1",
        ],
    )
    def test_a_url_that_could_be_read_otherwise_is_refused(self, project, url):
        file = project.root / "proctor.toml"
        file.write_text(f'langsmith_url = "{url}"\n{file.read_text()}')
        project.exam({"one": "yes"})
        with refused("P6307"):
            called(project, "run", "--driver", "langsmith", "--allow-host", "smith.example")

    def test_a_url_that_may_hold_a_key_is_not_shown(self, project, capfd):
        file = project.root / "proctor.toml"
        file.write_text(f'langsmith_url = "https://me:{KEY}@smith.example"\n{file.read_text()}')
        called(project, "config")
        shown = capfd.readouterr().out
        assert KEY not in shown
        assert "[a URL with a user name, a query or a fragment]" in shown

    def test_it_names_the_extra_that_installs_the_sdk(self, project, monkeypatch, server):
        at(project, server)
        project.exam({"one": "yes"})
        monkeypatch.setitem(sys.modules, "langsmith", None)
        with refused("P6301") as problems:
            run(project, server)
        assert problems[0].hint == "install it with `pip install 'proctor[langsmith]'`"
        assert not server.seen


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tracker-content"], "`--tracker-content` does nothing without"),
        (["--baseline-prefix", "main"], "`--baseline-prefix` does nothing without"),
        (["--otel-content"], "`--otel-content` does nothing without `--otel`"),
        (["--driver", "langsmith", "--dry-run"], "does not go with `--driver`"),
        (["--otel", "--dry-run"], "does not go with `--driver` or `--otel`"),
        (
            ["--driver", "langsmith", "--baseline-prefix", "a", "--baseline", "b"],
            "name two baselines",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused(project, options, said):
    project.exam({"one": "yes"})
    with refused("P6002") as problems:
        called(project, "run", *options)
    assert said in problems[0].message


class TestPublishing:
    def test_the_whole_report_is_sent_and_again_changes_nothing(self, project, server, fake):
        project.exam({"one": "yes", "two": "no"})
        plain(project)
        assert publish(project, server) == 0
        assert fake.said("two")["case_pass"] == 0
        (session,) = fake.sessions.values()
        digest = hashlib.sha256(report_of(project)).hexdigest()
        assert session["extra"]["metadata"]["proctor_report_sha256"] == digest
        held = (set(fake.runs), set(fake.feedback), set(fake.examples), set(fake.sessions))
        assert publish(project, server) == 0
        again = (set(fake.runs), set(fake.feedback), set(fake.examples), set(fake.sessions))
        assert again == held

    def test_a_report_without_answers_takes_no_content_away(self, project, server, fake):
        project.exam({"one": "yes"})
        run(project, server, "--tracker-content")
        before = dict(fake.examples)
        plain(project, "--no-answers")
        assert publish(project, server, "--tracker-content") == 0
        assert fake.examples == before

    def test_a_part_of_a_run_is_refused_until_it_is_merged(self, project, server, fake):
        project.exam({"one": "yes", "two": "yes"})
        for number in (1, 2):
            plain(project, "--shard", f"{number}/2")
            (project.root / "report.json").rename(project.root / f"part-{number}.json")
        for names in (["part-1.json"], ["part-1.json", "--expected-shards", "2"]):
            part = project.root / "report.json"
            if len(names) > 1:
                called(project, "merge", *names, *JSON_REPORT)
            else:
                part.write_bytes((project.root / "part-1.json").read_bytes())
            with refused("P6706"):
                publish(project, server)
            assert not server.seen
        called(project, "merge", "part-1.json", "part-2.json", *JSON_REPORT)
        assert publish(project, server) == 0
        assert len(fake.runs) == 2

    def test_a_report_that_contradicts_itself_is_refused(self, project, server, fake):
        project.exam({"one": "yes", "two": "yes"})
        plain(project)
        text = report_of(project).decode()
        project.write("report.json", text.replace('"verdict": "passed"', '"verdict": "failed"'))
        with refused("P6901"):
            publish(project, server)
        assert not server.seen

    def test_a_run_that_was_cut_off_is_refused(self, tmp_path, server):
        live = LiveProject(tmp_path)
        at(live, server)
        live.named_cases("one", "two")
        live.script(live.says_yes())
        called(live, "run", "--cache", "record", "--quiet")
        (journal,) = live.root.glob(".proctor/runs/*/rows.jsonl")
        journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
        assert called(live, "recover", journal.parent.name, *JSON_REPORT) != 0
        with refused("P6706") as problems:
            publish(live, server)
        assert "interrupted" in problems[0].message
        assert not server.seen

    @pytest.mark.parametrize(
        ("status", "code"), [(401, "P6308"), (404, "P6312"), (422, "P6312"), (429, "P6309")]
    )
    def test_what_goes_wrong_is_an_error(self, project, server, fake, hurried, status, code):
        project.exam({"one": "yes"})
        plain(project)
        server.does(Fails(status))
        with refused(code):
            publish(project, server)


class TestBaselines:
    COMPARING = ("--driver", "langsmith", "--baseline-prefix", "main/")

    @pytest.fixture
    def before(self, project, server, fake):
        """A baseline of the project in which both cases passed, published under `main/`."""
        project.exam({"one": "yes", "two": "yes"})
        plain(project)
        (project.root / "evals/baselines").mkdir()
        called(project, "baseline", "promote", "report.json", "--name", "main")
        options = (*allowed(server), "--baseline-prefix", "main/")
        called(project, "publish", "evals/baselines/main.json", *options)
        project.exam({"one": "yes", "two": "no"})
        return project

    def test_the_newest_whole_experiment_is_compared_with(self, before, server, capfd):
        capfd.readouterr()
        code = run(before, server, "--baseline-prefix", "main/", "--fail-on-regression")
        said = capfd.readouterr().err
        assert (code, "P6902: the candidate regressed" in said) == (1, True)

    def test_one_that_was_not_finished_is_passed_over(self, before, server, fake):
        for session in list(fake.sessions.values()):
            newer = {**session, "id": "x", "start_time": "2999", "extra": {"metadata": {}}}
            fake.sessions["x"] = newer
        assert run(before, server, "--baseline-prefix", "main/", "--fail-on-regression") == 1

    def test_without_one_nothing_is_run(self, before, server, fake):
        sent = len(fake.runs)
        with refused("P6906") as problems:
            run(before, server, "--baseline-prefix", "release/")
        assert "begins with `release/`" in problems[0].message
        assert len(fake.runs) == sent

    def test_a_report_that_is_not_here_is_named_by_its_digest(self, before, server):
        path = before.root / "evals/baselines/main.json"
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        path.unlink()
        with refused("P6906") as problems:
            run(before, server, "--baseline-prefix", "main/")
        assert digest in problems[0].hint

    def test_a_mark_that_is_no_digest_is_none(self, before, server, fake):
        for session in fake.sessions.values():
            session["extra"]["metadata"]["proctor_report_sha256"] = "../../etc/passwd"
        with refused("P6906"):
            run(before, server, "--baseline-prefix", "main/")

    @pytest.mark.parametrize(
        ("gate", "code"), [((), 1), (("--fail-on-regression",), 1), (("--exit-zero",), 0)]
    )
    def test_a_tracker_that_is_away_fails_no_run(self, before, server, hurried, capfd, gate, code):
        expected = plain(before)
        server.does(server.hang)
        capfd.readouterr()
        assert run(before, server, "--baseline-prefix", "main/", *gate) == code
        assert report_of(before) == expected[1]
        said = capfd.readouterr().err
        assert said.count("warning: langsmith: ") == 1
        assert ("P6906" in said) is ("--fail-on-regression" in gate)

    def test_but_what_hangs_on_the_comparison_cannot_be_told(self, before, server, hurried):
        before.exam({"one": "yes", "two": "yes"})
        server.does(Fails(401))
        assert run(before, server, "--baseline-prefix", "main/") == 0
        assert run(before, server, "--baseline-prefix", "main/", "--fail-on-regression") == 3

    def test_nor_can_a_gate_that_needs_a_baseline(self, before, server, hurried):
        file = before.root / "proctor.toml"
        file.write_text(f'{file.read_text()}[gates.pr]\ncriterion = "no-regression"\n')
        suite = before.root / "evals/quiz.eval.yaml"
        suite.write_text(f"tiers: [pr]\n{suite.read_text()}")
        before.exam({"one": "yes", "two": "yes"})
        server.does(Fails(401))
        assert run(before, server, "--baseline-prefix", "main/", "--tier", "pr") == 3


def test_a_run_that_nobody_is_told_of_loads_no_tracker(tmp_path):
    project = Project(tmp_path)
    project.exam({"one": "yes"})
    spy = "import sys\ntry: m(['run', '--quiet'])\nexcept SystemExit: pass\n"
    spy += "print(*(x for x in sys.modules if x.startswith(('langsmith', 'opentelemetry'))"
    spy += " or 'drivers' in x or x == 'proctor.tracking'))"
    done = subprocess.run(
        [sys.executable, "-c", f"from proctor.cli.main import main as m\n{spy}"],
        cwd=project.root,
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode().endswith("called\n\n")
