"""Live runs of the whole program on a scripted provider."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from live_support import LiveProject, rows_of

FIFTY = [f"case-{number:02}" for number in range(50)]


@pytest.fixture
def project(tmp_path):
    project = LiveProject(tmp_path)
    project.named_cases("one", "two", "three")
    project.script(project.says_yes())
    return project


@pytest.fixture
def fifty(project):
    project.named_cases(*FIFTY)
    return project


def cache_of(result):
    return result.report["suites"][0]["cache"]


def counts_of(result):
    return result.report["suites"][0]["subjects"][0]["counts"]


def no_more_calls(project):
    """From now on a call would be an error of its row."""
    project.script({"fault": 500})


class TestRecording:
    def test_answers_are_recorded_replayed_and_not_asked_for_again(self, project):
        first = project.record("--format", "json")
        assert first.code == 0
        assert cache_of(first) == cache_of(first) | {
            "mode": "record",
            "live": True,
            "replayed": 0,
            "recorded": 3,
        }
        no_more_calls(project)
        before = project.files()
        for env in ({"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "2"}):
            again = project.record("--format", "json", env=env)
            assert again.code == 0
            assert cache_of(again) == cache_of(again) | {
                "live": False,
                "replayed": 3,
                "recorded": 0,
            }
        replayed = project.proctor("run", "--format", "json")
        assert replayed.code == 0
        assert cache_of(replayed)["digest"] == cache_of(first)["digest"]
        assert rows_of(replayed.report) == rows_of(first.report)
        assert project.files() == before

    def test_a_replayed_answer_is_not_paid_for_again(self, project):
        line = project.recording("one", '{"label": "yes"}')
        project.cassette(line)
        cost = project.record("--format", "json").report["suites"][0]["subjects"][0]["cost"]
        assert (cost["paid"], cost["replayed"]) == (0, line["cost_usd"])
        again = project.record("--format", "json").report["suites"][0]["subjects"][0]["cost"]
        assert (again["paid"], again["replayed"]) == (0, line["cost_usd"])

    def test_raising_repeats_records_the_takes_that_are_missing(self, project):
        project.script(
            *({"take": take, "text": json.dumps({"label": f"r{take}"})} for take in (1, 2, 3))
        )
        assert cache_of(project.record("--repeats", "3", "--format", "json"))["recorded"] == 9
        project.script(
            *({"take": take, "text": json.dumps({"label": f"r{take}"})} for take in (4, 5))
        )
        result = project.record("--repeats", "5", "--format", "json")
        assert (cache_of(result)["recorded"], cache_of(result)["replayed"]) == (6, 9)
        replayed = project.proctor("run", "--repeats", "5", "--format", "json")
        answers = [json.loads(row["answer"]["text"])["label"] for row in rows_of(replayed.report)]
        assert answers == ["r1", "r2", "r3", "r4", "r5"] * 3

    def test_the_folder_of_cassettes_explains_itself(self, project):
        project.record()
        names = sorted(path.name for path in (project.root / "evals/cassettes").iterdir())
        assert names == ["README.md", "quiz.jsonl"]

    def test_refresh_replaces_and_off_stores_nothing(self, project):
        project.record()
        project.script({"text": '{"label": "no"}'})
        before = project.files()
        off = project.proctor("run", "--cache", "off", "--format", "json")
        assert (off.code, cache_of(off)["mode"]) == (1, "off")
        assert project.files() == before
        assert project.logs == []
        refresh = project.proctor("run", "--cache", "refresh", "--format", "json")
        assert (refresh.code, cache_of(refresh)["recorded"]) == (1, 3)
        assert project.proctor("run").code == 1

    def test_the_report_is_also_in_the_folder_of_the_run(self, project):
        result = project.record("--format", "json")
        runs = project.root / ".proctor/runs"
        (latest,) = (runs / "latest").read_text().split()
        assert (runs / latest / "report.json").read_bytes() == result.out
        assert latest.encode() not in result.out
        assert str(project.root).encode() not in result.out

    def test_another_folder_of_cassettes_is_recorded_into(self, project):
        (project.root / "other").mkdir()
        assert project.record("--cassettes", "other").code == 0
        assert [path.name for path in (project.root / "other").iterdir()] == ["quiz.jsonl"]
        assert not (project.root / "evals/cassettes").exists()
        assert project.proctor("run", "--cassettes", "other").code == 0

    @pytest.mark.parametrize("concurrency", ["1", "16"])
    def test_reports_do_not_depend_on_concurrency(self, fifty, concurrency):
        fifty.script(
            *(
                fifty.says_yes(case=name, latency_ms=number * 37 % 20)
                for number, name in enumerate(FIFTY)
            )
        )
        live = fifty.record("--concurrency", concurrency, "--format", "json")
        assert [row["case"] for row in rows_of(live.report)] == FIFTY
        replayed = fifty.proctor("run", "--format", "json")
        assert rows_of(replayed.report) == rows_of(live.report)
        assert fifty.stored_cases == FIFTY


class TestFaults:
    @pytest.mark.parametrize("fault", [429, 401, "reset", "hang"])
    def test_one_fault_spoils_one_row_and_only_that_is_asked_for_again(self, project, fault):
        project.script({"case": "two", "fault": fault}, project.says_yes())
        timeout = ["--timeout", "0.2"] if fault == "hang" else []
        result = project.record("--format", "json", *timeout)
        assert result.code == 3
        outcomes = {row["case"]: row["outcome"] for row in rows_of(result.report)}
        assert outcomes == {"one": "passed", "two": "errored", "three": "passed"}
        assert project.stored_cases == ["one", "three"]
        project.script(project.says_yes(case="two"), {"fault": 500})
        again = project.record("--format", "json")
        assert (again.code, cache_of(again)["recorded"]) == (0, 1)

    def test_a_quota_that_ends_is_no_wrong_answer(self, fifty):
        fifty.script(*(fifty.says_yes(case=name) for name in FIFTY[:30]), {"fault": 429})
        result = fifty.record()
        assert result.code == 3
        assert "P6309" in result.text
        assert "UNMEASURED" in result.text
        assert len(fifty.stored) == 30

    def test_a_provider_that_is_not_declared_is_refused_before_any_call(self, project):
        project.write("proctor.toml", 'project = "tests"\n')
        result = project.record()
        assert result.code == 2
        assert "P6301: there is no provider `local`" in result.err
        assert not (project.root / ".proctor").exists()

    def test_a_script_that_is_no_script_is_refused(self, project):
        project.script({"nonsense": 1})
        result = project.record()
        assert result.code == 2
        assert "script.jsonl:1: P6003" in result.err

    def test_damaged_cassettes_of_all_suites_are_named_before_any_call(self, project):
        project.write("evals/other.eval.yaml", (project.root / "evals/quiz.eval.yaml").read_text())
        for name in ("quiz", "other"):
            project.write(f"evals/cassettes/{name}.jsonl", "{\n")
        for mode in ("record", "refresh"):
            result = project.proctor("run", "--cache", mode)
            assert result.code == 2
            assert "evals/cassettes/quiz.jsonl:1: P6403" in result.err
            assert "evals/cassettes/other.jsonl:1: P6403" in result.err
        assert not list(project.root.glob(".proctor/runs/*"))

    def test_the_mode_is_taken_from_the_command_line_only(self, project):
        assert project.proctor("run", env={"PROCTOR_CACHE": "record"}).code in (2, 3)
        assert not (project.root / ".proctor").exists()


class TestKilled:
    """The program hangs at call 37 of 50 and is killed there."""

    @pytest.fixture
    def killed(self, fifty):
        fifty.script({"case": FIFTY[36], "fault": "hang"}, fifty.says_yes())
        with fifty.started("run", "--cache", "record", "--concurrency", "1") as running:
            running.until_received(36)
            running.send(signal.SIGKILL)
            assert running.wait().code == -signal.SIGKILL
        assert len(fifty.received()) == 36
        assert not (fifty.root / "evals/cassettes").exists()
        return fifty

    def tear(self, project):
        """What a kill in the middle of a write leaves."""
        (log,) = project.logs
        log.write_bytes(log.read_bytes() + project.received()[0][:200])

    @pytest.mark.parametrize("torn", [False, True])
    def test_recover_brings_everything_received_into_the_cassette(self, killed, torn):
        if torn:
            self.tear(killed)
        received = sorted(killed.received())
        result = killed.proctor("cassette", "recover")
        assert (result.code, result.text) == (0, "quiz  36 recordings recovered\n")
        assert killed.stored_cases == FIFTY[:36]
        cassette = (killed.root / "evals/cassettes/quiz.jsonl").read_bytes()
        assert sorted(cassette.splitlines(keepends=True)) == received
        assert killed.logs == []
        again = killed.proctor("cassette", "recover")
        assert (again.code, again.text) == (0, "quiz  0 recordings recovered\n")

    def test_so_does_the_next_live_run_which_asks_for_the_rest(self, killed):
        self.tear(killed)
        killed.script(*(killed.says_yes(case=name) for name in FIFTY[36:]), {"fault": 500})
        result = killed.record("--format", "json")
        assert result.code == 0
        assert (cache_of(result)["replayed"], cache_of(result)["recorded"]) == (36, 14)
        assert killed.stored_cases == FIFTY
        assert killed.logs == []

    def test_only_what_the_plan_asks_for_is_taken(self, killed):
        killed.named_cases(*FIFTY[10:])
        (log,) = killed.logs
        assert killed.proctor("cassette", "recover").text == (
            "quiz  26 recordings recovered\n"
            f"    10 held back in {log.relative_to(killed.root)}: "
            "the present plan does not ask for them\n"
        )
        assert killed.stored_cases == FIFTY[10:36]
        killed.named_cases(*FIFTY)
        assert killed.proctor("cassette", "recover").text == "quiz  10 recordings recovered\n"
        assert killed.stored_cases == FIFTY[:36]
        assert killed.logs == []

    @pytest.mark.parametrize("command", ["cassette recover", "run --cache record"])
    def test_a_damaged_line_is_named_and_nothing_is_lost(self, killed, command):
        (log,) = killed.logs
        lines = log.read_bytes().splitlines(keepends=True)
        log.write_bytes(b"".join([*lines[:7], b"damaged\n", *lines[8:]]))
        before = log.read_bytes()
        result = killed.proctor(*command.split())
        assert result.code == 2
        assert f"{log}:8: P6403" in result.err
        assert log.read_bytes() == before
        assert not (killed.root / "evals/cassettes").exists()
        log.write_bytes(b"".join([*lines[:7], *lines[8:]]))
        assert killed.proctor("cassette", "recover").text == "quiz  35 recordings recovered\n"

    def test_a_refresh_that_was_killed_keeps_the_old_recordings_of_the_others(self, fifty):
        old = '{"label": "old"}'
        fifty.cassette(*(fifty.recording(name, old) for name in FIFTY))
        fifty.script({"case": FIFTY[36], "fault": "hang"}, fifty.says_yes())
        with fifty.started("run", "--cache", "refresh", "--concurrency", "8") as running:
            running.until_received(49)
            assert {line["answer"]["text"] for line in fifty.stored} == {old}
            running.send(signal.SIGKILL)
            running.wait()
        assert fifty.proctor("cassette", "recover").text == "quiz  49 recordings recovered\n"
        answers = {line["case"]: line["answer"]["text"] for line in fifty.stored}
        assert [name for name in FIFTY if answers[name] == old] == [FIFTY[36]]


class TestCtrlC:
    @pytest.mark.parametrize(
        ("concurrency", "told"),
        [
            (1, [signal.SIGINT]),
            (4, [signal.SIGINT]),
            (4, [signal.SIGTERM]),
            (4, [signal.SIGHUP]),
            (4, [signal.SIGTERM, signal.SIGTERM, signal.SIGHUP]),
        ],
    )
    def test_once_lets_calls_in_flight_finish_and_stores_what_came(self, fifty, concurrency, told):
        fifty.script(
            *(fifty.says_yes(case=name) for name in FIFTY[:10]),
            *(fifty.says_yes(case=name, latency_ms=500) for name in FIFTY[10:20]),
            {"fault": "hang"},
        )
        arguments = ["--cache", "record", "--concurrency", str(concurrency), "--format", "json"]
        with fifty.started("run", *arguments, "--exit-zero") as running:
            running.until_received(10)
            for number in told:
                running.send(number)
            result = running.wait()
        assert result.code == 130
        assert result.err.count("stopping: calls in flight have 10 s; Ctrl-C again stops now") == 1
        assert "`--cache record` continues" in result.err
        done = len(fifty.stored)
        assert 10 <= done < 50
        assert fifty.stored_cases == FIFTY[:done] == [row["case"] for row in rows_of(result.report)]
        assert counts_of(result) == counts_of(result) | {"rows": 50, "not_run": 50 - done}
        assert (result.report["verdict"], result.report["exit_code"]) == ("interrupted", 130)
        (report,) = fifty.root.glob(".proctor/runs/*/report.json")
        assert report.read_bytes() == result.out
        assert fifty.logs == []

    def test_twice_stops_now_and_loses_nothing(self, fifty):
        fifty.script({"case": FIFTY[10], "fault": "hang"}, fifty.says_yes())
        arguments = ["--cache", "record", "--concurrency", "1", "--exit-zero"]
        with fifty.started("run", *arguments) as running:
            running.until_received(10)
            running.send(signal.SIGINT)
            running.until(lambda running: "stopping" in running.err)
            running.send(signal.SIGINT)
            result = running.wait()
        assert result.code == 130
        assert result.out == b""
        assert "Traceback" not in result.err
        assert "never retrieved" not in result.err
        assert fifty.proctor("cassette", "recover").code == 0
        assert fifty.proctor("cassette", "verify").code == 0
        assert fifty.stored_cases == FIFTY[:10]

    def test_a_hangup_that_is_ignored_stays_ignored(self, project):
        project.script(project.says_yes(latency_ms=300))
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            starting = project.started("run", "--cache", "record", "--concurrency", "1")
            with starting as running:
                running.until_received(1)
                running.send(signal.SIGHUP)
                result = running.wait()
        finally:
            signal.signal(signal.SIGHUP, before)
        assert result.code == 0
        assert project.stored_cases == ["one", "three", "two"]

    def test_a_run_that_is_not_recorded_says_so(self, fifty):
        fifty.script(fifty.says_yes(latency_ms=300))
        with fifty.started("run", "--cache", "off", "--concurrency", "1") as running:
            running.until(lambda _: list(fifty.root.glob(".proctor/runs/latest")))
            running.send(signal.SIGINT)
            result = running.wait()
        assert result.code == 130
        assert "not stored" in result.err
        assert not (fifty.root / "evals/cassettes").exists()


class TestTwoAtOnce:
    def test_a_second_recorder_is_refused_at_once_and_does_no_harm(self, project):
        suite = (project.root / "evals/quiz.eval.yaml").read_text()
        project.write("evals/other.eval.yaml", suite)
        project.script({"case": "two", "fault": "hang"}, project.says_yes())
        with project.started("run", "quiz", "--cache", "record") as running:
            running.until_received(2)
            for arguments in (["run", "--cache", "refresh"], ["cassette", "recover", "quiz"]):
                second = project.proctor(*arguments)
                assert second.code == 2
                assert "P6405: the suite `quiz` is being recorded" in second.err
            assert project.proctor("run", "quiz").code == 3
            others = project.record("other", "--timeout", "0.2")
            assert others.code == 3
            assert len(project.received()) == 2
        assert project.proctor("cassette", "recover", "quiz").code == 0
        assert project.stored_cases == ["one", "three"]


class TestPlacesThatMustNotBeUsed:
    @pytest.mark.parametrize("mode", ["replay", "record", "refresh", "off"])
    @pytest.mark.parametrize(
        "output",
        [
            ("--out", "missing/report.txt"),
            ("--out", "proctor.toml/report.txt"),
            ("--out", "evals"),
            ("--out", "/dev/null"),
            ("--out", "link"),
            ("--report-dir", "proctor.toml"),
            ("--report-dir", "proctor.toml/reports"),
            ("--report-dir", "dangling"),
            ("--report-dir", "reports"),
        ],
    )
    def test_an_output_that_cannot_be_written_is_refused_before_any_row(
        self, project, mode, output
    ):
        project.write("reports/quiz.json/in-the-way", "")
        (project.root / "link").symlink_to("proctor.toml")
        (project.root / "dangling").symlink_to("nowhere")
        before = project.files()
        result = project.proctor("run", "--cache", mode, *output)
        assert (result.code, result.out) == (2, b"")
        assert result.err.count("P6004: ") == 1
        assert not (project.root / ".proctor").exists()
        assert project.files() == before

    def test_a_file_may_go_into_the_folder_that_is_made_for_reports(self, project):
        result = project.record("--report-dir", "new/reports", "--out", "new/all.txt")
        assert result.code == 0
        assert (project.root / "new/all.txt").read_bytes() == result.out
        assert (project.root / "new/reports/quiz.json").exists()

    @pytest.mark.parametrize("how", ["link", "open"])
    def test_a_folder_that_is_not_private_is_refused_before_any_call(self, project, how):
        folder = project.root / ".proctor"
        (project.root / "elsewhere").mkdir(mode=0o700)
        if how == "link":
            folder.symlink_to("elsewhere")
        else:
            folder.mkdir()
            folder.chmod(0o755)
        for arguments in (["run", "--cache", "record"], ["run", "--cache", "off"]):
            result = project.proctor(*arguments)
            assert result.code == 2
            assert "P6805: `.proctor/` is not a private folder of yours" in result.err
        assert not (project.root / "evals/cassettes").exists()
        assert list((project.root / "elsewhere").iterdir()) == []
        assert project.proctor("run").code == 3

    @pytest.mark.parametrize("read_only", [".", "evals"])
    def test_a_read_only_project_is_one_clear_error_before_any_call(self, project, read_only):
        ordinary = _without_privileges()
        folder = project.root / read_only
        folder.chmod(0o555)
        try:
            done = subprocess.run(
                [*ordinary, sys.executable, "-m", "proctor", "run", "--cache", "record"],
                cwd=project.root,
                capture_output=True,
                check=False,
                timeout=120,
            )
        finally:
            folder.chmod(0o755)
        said = done.stderr.decode()
        assert done.returncode == 2
        assert said.count("P6004: ") == 1
        assert "Traceback" not in said
        assert project.received() == []
        assert not list(project.root.glob(".proctor/runs/*"))

    def test_a_file_where_cassettes_belong_is_one_clear_error(self, project):
        project.write("evals/cassettes", "in the way")
        result = project.record()
        assert result.code == 2
        assert "Traceback" not in result.err
        assert not list(project.root.glob(".proctor/runs/*"))


def _without_privileges():
    """What makes a command obey file modes, also for root."""
    if os.getuid():
        return []
    setpriv = shutil.which("setpriv")
    command = [setpriv, "--bounding-set=-all", "--inh-caps=-all"]
    if setpriv is None or subprocess.run([*command, "true"], check=False).returncode:
        pytest.skip("this system cannot give up the rights of root")
    return command


class TestDryRun:
    @pytest.mark.parametrize(
        ("mode", "wanted"),
        [
            ("replay", "quiz  local/tiny: 6 rows, 2 calls recorded, 2 not, 0 to make\n"),
            ("record", "quiz  local/tiny: 6 rows, 2 calls recorded, 2 not, 2 to make\n"),
            ("refresh", "quiz  local/tiny: 6 rows, 2 calls recorded, 2 not, 4 to make\n"),
            ("off", "quiz  local/tiny: 6 rows, 2 calls recorded, 2 not, 6 to make\n"),
        ],
    )
    def test_it_says_how_many_calls_there_are_and_makes_none(self, project, mode, wanted):
        project.cases(
            project.case("one"),
            {**project.case("one"), "id": "again"},
            project.case("two"),
        )
        project.cassette(
            project.recording("one", "Sure."),
            project.recording("one", "Sure.", take=2),
            project.recording("other", "Sure."),
        )
        before = project.files()
        arguments = ["run", "--cache", mode, "--repeats", "2"]
        result = project.proctor(*arguments, "--dry-run")
        assert (result.code, result.text, result.err) == (0, wanted, "")
        assert project.files() == before
        assert not (project.root / ".proctor").exists()
        live = project.proctor(*arguments, "--format", "json")
        made = 6 if mode == "off" else cache_of(live)["recorded"]
        assert f"{made} to make" in wanted

    def test_it_needs_no_provider(self, project):
        project.write("proctor.toml", 'project = "tests"\n')
        result = project.record("--dry-run")
        assert result.code == 0
        assert "3 to make" in result.text

    def test_it_counts_per_model_and_selection(self, project):
        project.suite(models=["local/tiny", "local/other"])
        result = project.record("--dry-run", "--first", "1")
        assert result.text.splitlines() == [
            "quiz  local/tiny: 1 row, 0 calls recorded, 1 not, 1 to make",
            "quiz  local/other: 1 row, 0 calls recorded, 1 not, 1 to make",
        ]

    def test_a_damaged_cassette_is_refused(self, project):
        project.cassette("{")
        assert project.record("--dry-run").code == 2

    @pytest.mark.parametrize("other", ["--out", "--report-dir", "--verify"])
    def test_it_goes_with_nothing_that_needs_a_report(self, project, other):
        result = project.record("--dry-run", other, "x")
        assert result.code == 2
        assert "P6002: `--dry-run` makes no report" in result.err


class TestVerify:
    @pytest.fixture
    def ready(self, project):
        project.exam({"one": "yes", "two": "no"})
        assert project.proctor("run", "--format", "json", "--out", "was.json").code == 1
        return project

    def test_the_file_is_read_before_anything_is_written_over_it(self, ready):
        (ready.root / "was.json").write_text("{}")
        arguments = ["--format", "json", "--out", "was.json", "--verify", "was.json"]
        result = ready.proctor("run", *arguments)
        assert result.code == 1
        assert "P6905" in result.err

    def test_a_file_that_is_not_there_is_noticed_before_the_run(self, ready):
        result = ready.proctor("run", "--verify", "nowhere.json")
        assert (result.code, result.out) == (2, b"")
        assert "P6901" in result.err

    def test_the_same_bytes_are_said_to_be_the_same(self, ready):
        result = ready.proctor("run", "--verify", "was.json")
        assert result.code == 1
        assert "the report has the same bytes as was.json" in result.err
        ready.exam({"one": "yes"})
        ready.proctor("run", "--format", "json", "--out", "was.json")
        assert ready.proctor("run", "--verify", "was.json").code == 0

    def test_other_bytes_are_named_by_their_line(self, ready):
        ready.exam({"one": "yes", "two": "yes"})
        result = ready.proctor("run", "--verify", "was.json")
        assert result.code == 1
        assert "was.json:" in result.err
        assert "P6905" in result.err

    def test_a_report_that_is_not_there_is_refused(self, ready):
        result = ready.proctor("run", "--verify", "gone.json")
        assert result.code == 2
        assert "P6901" in result.err

    def test_it_does_not_go_with_a_live_run(self, ready):
        result = ready.record("--verify", "was.json")
        assert result.code == 2
        assert "P6002" in result.err
        assert not (ready.root / ".proctor").exists()


class TestExitZero:
    def test_wrong_answers_and_missing_ones_exit_with_0(self, project):
        assert project.proctor("run", "--exit-zero").code == 0
        project.exam({"one": "no"})
        result = project.proctor("run", "--exit-zero", "--format", "json")
        assert (result.code, result.report["exit_code"]) == (0, 1)
        assert project.proctor("run", "--verify", "proctor.toml", "--exit-zero").code == 0

    def test_what_cannot_be_carried_out_stays_2(self, project):
        assert project.proctor("run", "--exit-zero", "--case", "zzz").code == 2


class TestNoAnswers:
    SECRET = "canary"  # noqa: S105 - a word to look for

    @pytest.fixture
    def secretive(self, project):
        project.write(
            "evals/quiz.eval.yaml",
            "prompt: answer\ndataset: cases.jsonl\nassertions:\n"
            "  - {id: right, kind: equals, field: label}\n"
            "  - {id: has, kind: contains, field: label, expected: part}\n"
            "  - {id: free-of, kind: regex, field: label, pattern: 'can[a]ry', negate: true}\n"
            "  - {id: shape, kind: json-schema, schema: {properties: {label: {maxLength: 3}}}}\n"
            "  - {id: known, kind: one-of, field: label, values: [yes, no]}\n",
        )
        texts = {
            "one": '{"label": "canary got"}',
            "two": "canary, no JSON",
            "three": '{"canary": 1}',
        }
        project.cases(
            *(
                {
                    "id": name,
                    "inputs": {"question": f"canary {name}"},
                    "expected": {"label": "canary expected", "part": "canary part"},
                }
                for name in texts
            )
        )
        project.script(*({"case": name, "text": text} for name, text in texts.items()))
        return project

    @pytest.mark.parametrize("format_", ["json", "text", "markdown", "junit"])
    def test_nothing_a_person_or_a_model_wrote_is_shown(self, secretive, format_):
        shown = secretive.record("--format", format_, "--all", "--exit-zero")
        assert self.SECRET in shown.text
        result = secretive.record(
            *("--no-answers", "--format", format_, "--all"),
            *("--out", "out", "--report-dir", "reports"),
        )
        assert result.code == 1
        assert self.SECRET not in result.text + result.err
        for written in ("out", "reports/quiz.json"):
            assert self.SECRET not in (secretive.root / written).read_text()
        (latest,) = (secretive.root / ".proctor/runs/latest").read_text().split()
        report = secretive.root / ".proctor/runs" / latest / "report.json"
        assert self.SECRET not in report.read_text()

    def test_what_is_left_still_says_what_failed(self, secretive):
        result = secretive.record("--no-answers", "--format", "json")
        (subject,) = result.report["suites"][0]["subjects"]
        assert subject["counts"]["failed"] == 3
        assert subject["checks"]["right"]["failed"] == 3
        for case in subject["cases"]:
            assert (case["inputs"], case["expected"]) == (None, None)
            for row in case["rows"]:
                assert row["answer"] is None
                assert {(one["reason"], one["evidence"]) for one in row["checks"]} == {(None, None)}
