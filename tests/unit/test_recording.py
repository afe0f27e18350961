"""Live sessions in this process: who is asked, what is kept, and what a report says of it."""

import asyncio
import errno
import gc
import json
import os
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from live_support import YES, Calls, FakeClock, LiveProject, live_session, replay, rows_of, run_live
from proctor.canonical import sha256_hex
from proctor.cassette_files import RecordingLog
from proctor.errors import CassetteError, FileError, ManyProblems, ProctorError, UsageError
from proctor.evaluation import evaluate
from proctor.providers.scripted import ScriptedAnswer
from proctor.records import Finish, ToolCall, Usage
from proctor.running.engine import Stop
from proctor.selecting import Selection

FIFTY = [f"case-{number:02}" for number in range(50)]


@pytest.fixture
def project(tmp_path):
    project = LiveProject(tmp_path)
    project.named_cases("one", "two", "three")
    return project


def cache_of(report):
    return report["suites"][0]["cache"]


def counts_of(report):
    return report["suites"][0]["subjects"][0]["counts"]


def answers_by_take(request, call):
    return json.dumps({"label": f"{call.case} {call.take}"})


class TestWhoIsAsked:
    def test_what_is_recorded_is_not_asked_for_again(self, project):
        calls = Calls()
        run_live(project, calls)
        assert sorted(calls.made) == [("one", 1), ("three", 1), ("two", 1)]
        report = run_live(project, again := Calls("never"))
        assert again.made == []
        assert (cache_of(report)["replayed"], cache_of(report)["recorded"]) == (3, 0)
        assert cache_of(report)["live"] is False

    def test_more_repeats_ask_for_the_takes_that_are_missing(self, project):
        run_live(project, calls := Calls(answers_by_take), repeats=3)
        assert len(calls.made) == 9
        before = {json.dumps(line) for line in project.stored}
        run_live(project, calls := Calls(answers_by_take), repeats=5)
        assert sorted(calls.made) == [(case, n) for case in ("one", "three", "two") for n in (4, 5)]
        assert before < {json.dumps(line) for line in project.stored}
        texts = [row["answer"]["text"] for row in rows_of(json.loads(replay(project, repeats=5)))]
        assert texts == [
            json.dumps({"label": f"{case} {take}"})
            for case in ("one", "two", "three")
            for take in range(1, 6)
        ]

    def test_refresh_asks_for_everything(self, project):
        run_live(project, Calls("old"))
        report = run_live(project, calls := Calls("new"), mode="refresh")
        assert len(calls.made) == 3
        assert {line["answer"]["text"] for line in project.stored} == {"new"}
        assert (cache_of(report)["replayed"], cache_of(report)["recorded"]) == (0, 3)

    def test_off_asks_for_everything_and_stores_nothing(self, project):
        run_live(project, Calls("old"))
        before = project.files()
        report = run_live(project, calls := Calls(), mode="off")
        assert len(calls.made) == 3
        assert project.files() == before
        assert project.logs == []
        assert {row["recording"] for row in rows_of(report)} == {None}
        assert {row["answer"]["text"] for row in rows_of(report)} == {YES}
        assert cache_of(report) == cache_of(report) | {
            "mode": "off",
            "live": True,
            "replayed": 0,
            "recorded": 0,
        }

    def test_two_models_are_both_asked(self, project):
        project.suite(models=["local/tiny", "local/other"])
        run_live(project, lambda request, call: request.model.ref)
        assert {(line["model"], line["answer"]["text"]) for line in project.stored} == {
            ("local/tiny", "local/tiny"),
            ("local/other", "local/other"),
        }

    @pytest.mark.parametrize(
        "change",
        [
            {"maxTokens": 17, "params": {"temperature": 0}},
            {"maxTokens": 16, "params": {"temperature": 0.5}},
            {"maxTokens": 16, "params": {"temperature": 0, "seed": 1}},
            {"maxTokens": 16, "params": {"temperature": 0, "stop": ["x"]}},
        ],
    )
    def test_another_parameter_is_another_call(self, project, change):
        run_live(project, Calls())
        prompt = (project.root / "prompts/answer.prompt.yaml").read_text()
        _, rest = prompt.split("\n", 1)
        project.write(
            "prompts/answer.prompt.yaml",
            f"model: {json.dumps({'ref': 'local/tiny'} | change)}\n{rest}",
        )
        run_live(project, calls := Calls())
        assert len(calls.made) == 3
        assert len(project.stored) == 6

    def test_an_edited_expected_value_asks_nobody(self, project):
        run_live(project, Calls())
        project.cases(*(project.case(name, label="no") for name in ("one", "two", "three")))
        report = run_live(project, calls := Calls())
        assert calls.made == []
        assert counts_of(report)["failed"] == 3


class TestRowsThatShareAKey:
    @pytest.fixture
    def twins(self, project):
        inputs = {"inputs": {"question": "same"}}
        names = [f"twin-{number}" for number in range(9)]
        project.cases(*({**project.case(name), **inputs} for name in names))
        return project

    @pytest.mark.parametrize("concurrency", [1, 2, 16])
    @pytest.mark.parametrize("mode", ["record", "refresh"])
    def test_they_share_one_call_with_the_label_of_the_first(self, twins, concurrency, mode):
        clock = FakeClock()
        calls = Calls(lambda request, call: ScriptedAnswer(text=YES, latency_ms=50))
        report = run_live(twins, calls, mode=mode, concurrency=concurrency, clock=clock, repeats=2)
        assert sorted(calls.made) == [("twin-0", 1), ("twin-0", 2)]
        assert [(line["case"], line["take"]) for line in twins.stored] == calls.made
        assert (cache_of(report)["recorded"], cache_of(report)["replayed"]) == (2, 16)
        assert {row["outcome"] for row in rows_of(report)} == {"passed"}
        assert len({row["recording"] for row in rows_of(report)}) == 2

    def test_they_share_a_fault_too(self, twins):
        report = run_live(twins, calls := Calls(lambda *_: ScriptedAnswer(fault=429)))
        assert calls.made == [("twin-0", 1)]
        assert {row["error"]["code"] for row in rows_of(report)} == {"P6309"}

    def test_without_storing_each_is_asked_for(self, twins):
        report = run_live(twins, calls := Calls(), mode="off")
        assert len(calls.made) == 9
        assert counts_of(report)["passed"] == 9

    def test_prompts_with_the_same_content_share_their_calls(self, project):
        prompt = (project.root / "prompts/answer.prompt.yaml").read_text()
        project.write("prompts/copy.prompt.yaml", prompt)
        project.write(
            "evals/quiz.eval.yaml",
            "prompts: [answer, copy]\ndataset: cases.jsonl\nassertions:\n"
            "  - {id: right, kind: equals, field: label}\n",
        )
        numbers = iter(range(99))
        report = run_live(project, calls := Calls(lambda *_: f"{next(numbers)}"))
        assert len(calls.made) == 3
        assert (cache_of(report)["recorded"], cache_of(report)["replayed"]) == (3, 3)
        assert cache_of(report)["digest"] == cache_of(json.loads(replay(project)))["digest"]

    def test_an_answer_that_was_kept_is_not_held_in_memory(self, twins):
        with live_session(twins, Calls()) as (config, selected, session):
            evaluate(config, selected, session)
            (kept,) = session._kept.values()
            assert kept.calls == {}


class TestOrder:
    def odd_latencies(self, request, call):
        number = FIFTY.index(call.case)
        return ScriptedAnswer(text=f"{number} {call.take}", latency_ms=number * 37 % 89 * 10)

    def test_reports_and_cassettes_do_not_depend_on_concurrency(self, tmp_path):
        seen = set()
        for concurrency in (1, 3, 16, 64):
            (tmp_path / str(concurrency)).mkdir()
            project = LiveProject(tmp_path / str(concurrency))
            project.named_cases(*FIFTY)
            report = run_live(project, self.odd_latencies, concurrency=concurrency, repeats=2)
            cassette = (project.root / "evals/cassettes/quiz.jsonl").read_bytes()
            seen.add((json.dumps(report), cassette, replay(project, repeats=2)))
        assert len(seen) == 1

    def test_a_replay_says_what_the_recording_run_said(self, project):
        project.named_cases(*FIFTY)
        live = run_live(project, self.odd_latencies, concurrency=16)
        replayed = json.loads(replay(project))
        assert cache_of(live)["digest"] == cache_of(replayed)["digest"]
        assert rows_of(live) == rows_of(replayed)
        for report in (live, replayed):
            suite = report["suites"][0]
            del suite["cache"], suite["subjects"][0]["cost"]
        assert live == replayed


class TestWhatIsRecorded:
    def test_a_line_says_everything_about_the_call(self, project):
        answer = ScriptedAnswer(
            text=None,
            tool_calls=[ToolCall("1", "find", {"order": 4}), ToolCall(None, "stop", "{")],
            finish=Finish.TOOL_CALLS,
            usage=Usage(10, 2, None),
            latency_ms=812.5,
        )
        run_live(project, lambda *_: answer)
        (line,) = (line for line in project.stored if line["case"] == "two")
        wanted = project.recording("two", None)
        wanted["answer"] |= {
            "tool_calls": [
                {"id": "1", "name": "find", "args": {"order": 4}},
                {"id": None, "name": "stop", "args": "{"},
            ],
            "finish": "tool_calls",
        }
        assert line == wanted | {
            "usage": {"input": 10, "output": 2, "cached": None},
            "cost_usd": 0.0,
            "latency_ms": 812.5,
            "recorded": {
                "provider": "local",
                "host": None,
                "response_model": None,
                "on": "2026-11-30",
            },
        }

    def test_rows_name_the_line_they_were_recorded_on(self, project):
        report = run_live(project, Calls())
        path = project.root / "evals/cassettes/quiz.jsonl"
        lines = {sha256_hex(line): json.loads(line) for line in path.read_bytes().splitlines()}
        for row in rows_of(report):
            assert lines[row["recording"]]["case"] == row["case"]

    @pytest.mark.parametrize("text", ["", " ", "\x00\u2028\ud800é", "x" * 1_000_000])
    def test_every_text_survives(self, project, text):
        run_live(project, lambda *_: text)
        assert {line["answer"]["text"] for line in project.stored} == {text}
        rows = rows_of(json.loads(replay(project)))
        assert {row["answer"]["text"] for row in rows} == {text}

    @pytest.mark.parametrize(
        "answer",
        [
            ScriptedAnswer(text=""),
            ScriptedAnswer(text=None),
            ScriptedAnswer(text='{"label": "y', finish=Finish.LENGTH),
            ScriptedAnswer(text="", finish=Finish.CONTENT_FILTER),
            ScriptedAnswer(text="I cannot.", finish=Finish.REFUSAL),
        ],
    )
    def test_an_answer_that_is_no_good_is_stored_and_fails_its_check(self, project, answer):
        report = run_live(project, lambda *_: answer)
        assert {line["answer"]["finish"] for line in project.stored} == {answer.finish.value}
        assert len(project.stored) == 3
        for row in rows_of(report):
            assert (row["outcome"], row["checks"][0]["outcome"]) == ("failed", "failed")
        run_live(project, calls := Calls())
        assert calls.made == []


class TestWhatIsNotRecorded:
    def faulty(self, project, answer, **options):
        """A run of which case `two` goes wrong; its error, after the others were looked at."""

        def script(request, call):
            return answer if call.case == "two" else YES

        report = run_live(project, script, **options)
        rows = {row["case"]: row for row in rows_of(report)}
        assert {rows[name]["outcome"] for name in ("one", "three")} == {"passed"}
        assert rows["two"]["outcome"] == "errored"
        assert (rows["two"]["answer"], rows["two"]["checks"]) == (None, [])
        assert (report["verdict"], report["exit_code"]) == ("unmeasured", 3)
        assert project.stored_cases == ["one", "three"]
        run_live(project, calls := Calls())
        assert calls.made == [("two", 1)]
        assert project.stored_cases == ["one", "three", "two"]
        return rows["two"]["error"]

    @pytest.mark.parametrize(
        ("fault", "code"),
        [
            (429, "P6309"),
            (500, "P6312"),
            (401, "P6308"),
            ("timeout", "P6310"),
            ("reset", "P6310"),
        ],
    )
    def test_a_fault_is_an_error_of_its_row_and_asked_for_again(self, project, fault, code):
        assert self.faulty(project, ScriptedAnswer(fault=fault))["code"] == code

    def test_a_call_that_hangs_ends_at_the_timeout(self, project):
        error = self.faulty(project, ScriptedAnswer(fault="hang"), timeout_s=0.05)
        assert error == {"code": "P6310", "message": "no reply within 0.05 s"}

    def test_an_answer_over_a_mebibyte_is_no_answer(self, project):
        error = self.faulty(project, "x" * (1024 * 1024))
        assert error == {"code": "P6312", "message": "the answer is larger than 1 MiB"}

    def test_a_script_without_a_line_is_an_error_of_the_row(self, project):
        report = run_live(project, [ScriptedAnswer(case="one", text=YES)])
        assert [row["error"] and row["error"]["code"] for row in rows_of(report)] == [
            None,
            "P6312",
            "P6312",
        ]

    def test_a_fault_of_the_script_is_named_without_data(self, project):
        def script(request, call):
            raise KeyError("secret")

        report = run_live(project, script)
        assert {row["error"]["message"] for row in rows_of(report)} == {
            "the row could not be run: KeyError"
        }
        assert not (project.root / "evals/cassettes").exists()

    @pytest.mark.parametrize(
        ("answer", "said"),
        [
            (ScriptedAnswer(text=YES, usage=Usage(-1, 2, None)), "`$.usage.input`"),
            (
                ScriptedAnswer(
                    text=YES,
                    tool_calls=[ToolCall(None, "f", json.loads('{"a":' * 62 + "1" + "}" * 62))],
                ),
                "nested deeper than 64",
            ),
        ],
    )
    def test_a_reply_that_could_not_be_read_again_is_not_stored(self, project, answer, said):
        error = self.faulty(project, answer)
        assert error["code"] == "P6312"
        assert error["message"].startswith("the reply cannot be kept: it ")
        assert said in error["message"]

    def test_calls_that_failed_were_made_all_the_same(self, project):
        report = run_live(project, lambda *_: ScriptedAnswer(fault=500))
        assert cache_of(report)["live"] is True
        assert (cache_of(report)["recorded"], cache_of(report)["replayed"]) == (0, 0)

    def test_more_errors_than_a_quota_leaves_are_no_wrong_answers(self, project):
        project.named_cases(*FIFTY)

        def script(request, call):
            return ScriptedAnswer(fault=429) if FIFTY.index(call.case) >= 30 else YES

        report = run_live(project, script)
        assert counts_of(report) == counts_of(report) | {"passed": 30, "errored": 20, "failed": 0}
        assert report["exit_code"] == 3


class TestStopping:
    @pytest.fixture(autouse=True)
    def _nothing_left(self):
        yield
        gc.collect()  # a task or loop that was left would complain now

    def stop_in(self, stop, case):
        def script(request, call):
            if call.case == case:
                stop.request()
            return YES

        return Calls(script)

    @pytest.mark.parametrize("concurrency", [1, 4])
    def test_what_was_received_is_stored_and_the_rest_is_not_run(self, project, concurrency):
        project.named_cases(*FIFTY)
        stop = Stop()
        calls = self.stop_in(stop, "case-20")
        report = run_live(project, calls, stop=stop, concurrency=concurrency, grace_s=600)
        assert 21 <= len(calls.made) <= 20 + concurrency
        assert project.stored_cases == FIFTY[: len(calls.made)]
        assert [row["case"] for row in rows_of(report)] == project.stored_cases
        assert counts_of(report)["not_run"] == 50 - len(calls.made)
        assert (report["verdict"], report["exit_code"]) == ("interrupted", 130)
        run_live(project, calls := Calls())
        assert len(calls.made) == counts_of(report)["not_run"]

    def test_a_call_that_is_in_flight_too_long_is_left_out(self, project):
        project.named_cases(*FIFTY)
        stop = Stop()

        def script(request, call):
            if call.case == "case-07":
                stop.request()
            return ScriptedAnswer(fault="hang") if call.case == "case-05" else YES

        report = run_live(project, script, stop=stop, concurrency=4)
        stored = project.stored_cases
        assert "case-05" not in stored
        assert [row["case"] for row in rows_of(report)] == stored
        assert report["verdict"] == "interrupted"

    def test_a_stop_ends_later_suites_and_subjects(self, project):
        project.suite(models=["local/tiny", "local/other"])
        project.write("evals/second.eval.yaml", (project.root / "evals/quiz.eval.yaml").read_text())
        stop = Stop()
        calls = self.stop_in(stop, "one")
        report = run_live(project, calls, stop=stop, concurrency=1)
        assert calls.made == [("one", 1)]
        assert [
            subject["counts"]["not_run"]
            for suite in report["suites"]
            for subject in suite["subjects"]
        ] == [2, 3, 3, 3]

    def test_what_ends_the_program_leaves_everything_received_stored(self, project):
        def script(request, call):
            if call.case == "three":
                raise KeyboardInterrupt
            return YES

        with pytest.raises(KeyboardInterrupt):
            run_live(project, script, concurrency=1)
        assert project.stored_cases == ["one", "two"]
        assert project.logs == []
        run_live(project, Calls())

    def test_who_gives_up_reading_rows_leaves_everything_received_stored(self, project):
        with live_session(project, Calls(), concurrency=1) as (_, selected, session):
            (one,) = selected
            planned = iter([(0, 1), (1, 1), (2, 1)])
            rows = session.rows("quiz", one.subjects[0], _planned(one, planned), set())
            next(rows)
        assert project.stored_cases[0] == "one"
        assert list(rows) == []


def _planned(selected, places):
    from proctor.protocols import PlannedRow

    for place, repeat in places:
        yield PlannedRow(place, selected.suite.dataset.case(place), repeat)


class TestFullDisk:
    def run_on_full_disk(self, project, monkeypatch, write):
        really_write = os.write
        writes = Counter()

        def failing(file, data):
            if b'"case":"case-' not in data:
                return really_write(file, data)
            writes["lines"] += 1
            return really_write(file, data) if writes["lines"] <= 20 else write(file, data)

        project.named_cases(*FIFTY)
        monkeypatch.setattr(os, "write", failing)
        report = run_live(project, calls := Calls(), concurrency=4, grace_s=600)
        monkeypatch.undo()
        return report, calls

    def no_room(self, file, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    @pytest.mark.parametrize("how", ["refused", "cut short"])
    def test_the_run_stops_and_nothing_is_lost_or_half_written(self, project, monkeypatch, how):
        really_write = os.write

        def cut_short(file, data):
            return really_write(file, data[:100])

        write = self.no_room if how == "refused" else cut_short
        report, calls = self.run_on_full_disk(project, monkeypatch, write)
        rows = rows_of(report)
        spoiled = [row["error"] for row in rows if row["outcome"] == "errored"]
        assert 21 <= len(calls.made) <= 24
        assert len(spoiled) == len(calls.made) - 20
        assert {error["code"] for error in spoiled} == {"P6004"}
        assert {error["message"] for error in spoiled} == {
            "answers of `quiz` cannot be kept in `.proctor/`: no space left on device; "
            "make room there; what was received before is kept"
        }
        assert counts_of(report)["not_run"] == 50 - len(calls.made)
        assert report["verdict"] == "interrupted"
        assert project.stored_cases == FIFTY[:20]
        assert project.logs == []
        run_live(project, calls := Calls())
        assert len(calls.made) == 30


class TestRecovering:
    def log(self, project, run, *lines):
        path = project.root / ".proctor/runs" / run / "recorded/quiz.jsonl"
        path.parent.mkdir(parents=True)
        (project.root / ".proctor").chmod(0o700)
        path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
        return path

    def received(self, project, *names, text=YES, **changes):
        return [project.recording(name, text, **changes) for name in names]

    def test_a_live_run_takes_what_a_killed_one_received(self, project):
        log = self.log(project, "20261129t000000z-000000", *self.received(project, "one", "three"))
        run_live(project, calls := Calls())
        assert calls.made == [("two", 1)]
        assert project.stored_cases == ["one", "three", "two"]
        assert not log.exists()

    def test_of_two_killed_runs_the_later_counts(self, project):
        self.log(project, "20261129t000000z-ffffff", *self.received(project, "one", text="old"))
        self.log(project, "20261130t000000z-000000", *self.received(project, "one", text="new"))
        run_live(project, Calls())
        assert project.stored[0]["answer"]["text"] == "new"
        assert project.logs == []

    def test_what_the_plan_does_not_ask_for_stays_where_it_is(self, project):
        other = self.received(project, "one", parts={"prompt": "0" * 64})
        log = self.log(
            project,
            "20261129t000000z-000000",
            *self.received(project, "one"),
            *other,
            *self.received(project, "two", take=2),
        )
        run_live(project, calls := Calls(), selection=Selection(cases=("one", "three")))
        assert calls.made == [("three", 1)]
        assert [json.loads(line)["take"] for line in log.read_text().splitlines()] == [1, 2]
        run_live(project, Calls(), repeats=2)
        assert [json.loads(line) for line in log.read_text().splitlines()] == other

    def test_what_was_taken_once_never_comes_back(self, project):
        self.log(project, "20261129t000000z-000000", *self.received(project, "one", "two"))
        only_one = {"selection": Selection(cases=("one",))}
        run_live(project, Calls(), **only_one)
        run_live(project, Calls("newer"), mode="refresh", **only_one)
        run_live(project, Calls())
        texts = {line["case"]: line["answer"]["text"] for line in project.stored}
        assert texts == {"one": "newer", "two": YES, "three": YES}

    def test_off_takes_nothing(self, project):
        log = self.log(project, "20261129t000000z-000000", *self.received(project, "one"))
        run_live(project, calls := Calls(), mode="off")
        assert len(calls.made) == 3
        assert log.exists()

    def test_a_damaged_log_stops_before_any_call_and_nothing_is_lost(self, project):
        lines = self.received(project, "one", "two")
        log = self.log(project, "20261129t000000z-000000", lines[0], {}, lines[1])
        before = log.read_bytes()
        with pytest.raises(CassetteError) as caught:
            run_live(project, calls := Calls())
        assert caught.value.code == "P6403"
        assert caught.value.where.endswith("recorded/quiz.jsonl:2")
        assert calls.made == []
        assert log.read_bytes() == before
        log.write_bytes(b"".join(before.splitlines(keepends=True)[::2]))
        run_live(project, calls)
        assert calls.made == [("three", 1)]

    def test_a_log_is_given_up_only_when_its_lines_are_in_the_cassette(self, project, monkeypatch):
        log = self.log(project, "20261129t000000z-000000", *self.received(project, "one"))

        def full(*_):
            raise UsageError("no room", code="P6004")

        monkeypatch.setattr("proctor.cassette_files.write_whole", full)
        with pytest.raises(UsageError):
            run_live(project, Calls())
        monkeypatch.undo()
        assert log.exists()
        run_live(project, calls := Calls())
        assert len(calls.made) == 2


class TestBeforeAnyCall:
    def refused(self, project, **options):
        with pytest.raises(ProctorError) as caught:
            run_live(project, calls := Calls(), **options)
        assert calls.made == []
        assert not list(project.root.glob(".proctor/runs/*"))
        return caught.value

    @pytest.mark.parametrize("mode", ["record", "refresh", "off"])
    @pytest.mark.parametrize("how", ["link", "open", "other user"])
    def test_a_folder_that_is_not_private_is_refused(self, project, monkeypatch, how, mode):
        folder = project.root / ".proctor"
        if how == "link":
            (project.root / "elsewhere").mkdir(mode=0o700)
            folder.symlink_to("elsewhere")
        else:
            folder.mkdir()
            folder.chmod(0o755 if how == "open" else 0o700)
        if how == "other user":
            monkeypatch.setattr(os, "getuid", lambda: -1)
        error = self.refused(project, mode=mode)
        assert isinstance(error, FileError)
        assert error.code == "P6805"

    @pytest.mark.parametrize("mode", ["record", "refresh"])
    def test_a_folder_of_cassettes_that_cannot_be_written_to_is_refused(
        self, project, monkeypatch, mode
    ):
        monkeypatch.setattr(os, "access", lambda *_: False)
        assert self.refused(project, mode=mode).code == "P6004"

    def test_nothing_is_written_so_off_needs_no_folder_of_cassettes(self, project, monkeypatch):
        monkeypatch.setattr(os, "access", lambda *_: False)
        run_live(project, calls := Calls(), mode="off")
        assert len(calls.made) == 3

    @pytest.mark.parametrize("mode", ["record", "refresh"])
    def test_a_damaged_cassette_is_refused_and_kept(self, project, mode):
        project.cassette(project.recording("one", YES), "{")
        before = project.files()
        error = self.refused(project, mode=mode)
        assert (error.code, error.where) == ("P6403", "evals/cassettes/quiz.jsonl:2")
        assert project.files() == before

    def test_a_suite_that_is_being_recorded_is_refused(self, project):
        with live_session(project, Calls()), pytest.raises(CassetteError) as caught:
            run_live(project, calls := Calls())
        assert caught.value.code == "P6405"
        assert calls.made == []

    def test_a_recorder_that_failed_to_start_holds_no_lock(self, project):
        project.cassette("{")
        for _ in range(2):
            assert self.refused(project).code == "P6403"

    def test_a_folder_that_is_not_private_is_told_once_for_all_suites(self, project):
        suite = (project.root / "evals/quiz.eval.yaml").read_text()
        project.write("evals/second.eval.yaml", suite)
        (project.root / ".proctor").mkdir()
        (project.root / ".proctor").chmod(0o755)
        assert [problem.code for problem in self.refused(project).problems()] == ["P6805"]

    def test_problems_of_all_suites_are_told_together(self, project):
        suite = (project.root / "evals/quiz.eval.yaml").read_text()
        project.write("evals/second.eval.yaml", suite)
        project.write("evals/third.eval.yaml", suite)
        project.cassette("{")
        with (
            live_session(project, Calls(), suites=["second"]),
            pytest.raises(ManyProblems) as found,
        ):
            run_live(project, calls := Calls())
        assert [problem.code for problem in found.value.problems()] == ["P6403", "P6405"]
        assert calls.made == []


class TestClosing:
    def test_a_cassette_damaged_meanwhile_is_kept_and_so_is_what_was_received(self, project):
        def script(request, call):
            project.write("evals/cassettes/quiz.jsonl", "{\n")
            return YES

        with pytest.raises(CassetteError) as caught:
            run_live(project, script)
        assert caught.value.code == "P6403"
        assert caught.value.where == "evals/cassettes/quiz.jsonl:1"
        assert caught.value.message.endswith("/recorded/`: 3")
        assert caught.value.hint.endswith(", then `proctor cassette recover quiz` stores them")
        assert (project.root / "evals/cassettes/quiz.jsonl").read_text() == "{\n"
        assert len(project.received()) == 3
        (project.root / "evals/cassettes/quiz.jsonl").unlink()
        run_live(project, calls := Calls())
        assert calls.made == []
        assert len(project.stored) == 3

    @pytest.mark.parametrize(
        ("option", "command"),
        [
            ("", "proctor cassette recover quiz"),
            (" --cassettes other", "proctor run quiz --cache record --cassettes other"),
        ],
    )
    def test_a_full_disk_leaves_word_of_what_is_kept_and_how_it_is_stored(
        self, project, monkeypatch, option, command
    ):
        project.cassette(project.recording("other", YES))
        before = project.stored

        def full(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def script(request, call):
            monkeypatch.setattr(Path, "replace", full)
            return YES

        with pytest.raises(UsageError) as caught:
            run_live(project, script, option=option)
        (log,) = project.logs
        folder = log.parent.relative_to(project.root)
        assert caught.value.code == "P6004"
        assert "no space left on device" in caught.value.message
        assert caught.value.message.endswith(f"; answers kept in `{folder}/`: 3")
        assert caught.value.hint == f"make room, then `{command}` stores them"
        assert project.stored == before

    def test_one_suite_that_cannot_be_stored_keeps_no_other_from_it(self, project):
        suite = (project.root / "evals/quiz.eval.yaml").read_text()
        project.write("evals/second.eval.yaml", suite)

        def script(request, call):
            project.write("evals/cassettes/quiz.jsonl", "{\n")
            return YES

        with pytest.raises(CassetteError):
            run_live(project, script)
        second = project.root / "evals/cassettes/second.jsonl"
        assert len(second.read_bytes().splitlines()) == 3
        assert [log.name for log in project.logs] == ["quiz.jsonl"]

    def test_lines_added_to_the_cassette_meanwhile_stay(self, project):
        other = project.recording("other", YES)

        def script(request, call):
            project.cassette(other)
            return YES

        run_live(project, script)
        assert project.stored_cases == ["one", "other", "three", "two"]

    def test_a_run_that_received_nothing_touches_no_cassette(self, project):
        run_live(project, lambda *_: ScriptedAnswer(fault=500))
        assert not (project.root / "evals/cassettes").exists()
        assert project.logs == []

    def test_a_log_that_went_away_is_said_to_have(self, project):
        def script(request, call):
            for log in project.logs:
                log.unlink()
            return YES

        with pytest.raises(CassetteError) as caught:
            run_live(project, script)
        assert caught.value.code == "P6403"


def test_a_log_is_closed_however_a_session_fails(project, monkeypatch):
    closed = []
    really_close = RecordingLog.close

    def close(log):
        closed.append(log.path.stem)
        really_close(log)

    monkeypatch.setattr(RecordingLog, "close", close)
    with pytest.raises(ZeroDivisionError), closing(_failing(project)):
        pass
    assert closed == ["quiz"]


def _failing(project):
    with live_session(project, Calls()):
        raise ZeroDivisionError


def test_a_session_can_be_used_where_an_event_loop_was(project):
    asyncio.run(asyncio.sleep(0))
    run_live(project, Calls())
    asyncio.run(asyncio.sleep(0))
