"""What a run keeps, what it goes on with, and that there is always a report of it."""

import json
import os

import pytest

from journal_support import ask, head_of, lines_of, newest, recovered, replayed
from judged_support import OF_JUDGES, PASS, Asked, JudgedProject
from live_support import YES, Calls, FakeClock, LiveProject, rows_of
from proctor.errors import ProctorError, UsageError
from proctor.journal import Journal
from proctor.keeping import Keeping
from proctor.providers.scripted import ScriptedAnswer
from proctor.run_folders import JOURNAL, RunFolder
from proctor.running.engine import Stop
from proctor.selecting import Selection

AGAIN = Keeping(resume="")
NAMES = [f"case-{number:02}" for number in range(12)]


@pytest.fixture
def project(tmp_path):
    project = LiveProject(tmp_path)
    project.named_cases(*NAMES)
    return project


class StopsAt:
    """A script that asks the run to stop while a case is being answered."""

    def __init__(self, case, script=None) -> None:
        self.stop = Stop()
        self._case = case
        self._script = script or (lambda request, call: YES)

    def __call__(self, request, call):
        if call.case == self._case:
            self.stop.request()
        return self._script(request, call)


def interrupted(project, case="case-05", **options):
    """Stop a run at a case; the report that it gives then."""
    script = StopsAt(case)
    return json.loads(ask(project, script, stop=script.stop, concurrency=2, **options))


def problem_of(code, function, *arguments, **options):
    with pytest.raises(ProctorError) as caught:
        function(*arguments, **options)
    assert caught.value.code == code
    assert caught.value.hint
    return caught.value.message


class TestWhatIsKept:
    def test_every_row_stands_in_the_journal_as_it_stands_in_the_report(self, project):
        report = json.loads(ask(project, Calls()))
        head, *lines = lines_of(newest(project))
        assert list(head)[:3] == ["schema", "tool", "plan_sha256"]
        assert head["schema"] == "proctor.journal.v1"
        assert head["run"] == newest(project).name
        assert {line["case"]: line["row"] for line in lines} == {
            row.pop("case"): row for row in rows_of(report)
        }
        assert {(line["suite"], line["subject"], line["scenario"]) for line in lines} == {
            ("quiz", "answer@local/tiny", None)
        }
        assert [NAMES[line["index"]] for line in lines] == [line["case"] for line in lines]

    def test_a_row_is_kept_when_it_finishes_and_not_when_its_turn_comes(self, project):
        def late_first(request, call):
            return ScriptedAnswer(text=YES, latency_ms=900 if call.case == NAMES[0] else 10)

        ask(project, late_first, concurrency=12)
        assert lines_of(newest(project))[-1]["case"] == NAMES[0]

    def test_the_report_and_the_comment_stand_beside_it(self, project):
        report = ask(project, Calls())
        folder = newest(project)
        assert (folder / "report.json").read_bytes() == report
        assert (folder / "comment.md").read_text().startswith("### Proctor: tests\n")

    def test_an_output_folder_is_used_instead_of_that_of_the_run(self, project, tmp_path):
        out = tmp_path / "deep" / "out"
        report = ask(project, Calls(), keeping=Keeping(folder=out))
        assert sorted(path.name for path in out.iterdir()) == [
            "comment.md",
            "report.json",
            JOURNAL,
        ]
        assert (out / "report.json").read_bytes() == report
        assert not (newest(project) / JOURNAL).exists()

    def test_a_second_run_does_not_go_into_the_same_folder(self, project, tmp_path):
        out = tmp_path / "out"
        ask(project, Calls(), keeping=Keeping(folder=out))
        before = (out / JOURNAL).read_bytes()
        message = problem_of("P6004", ask, project, Calls(), keeping=Keeping(folder=out))
        assert "the rows of two runs do not go into one journal" in message
        assert (out / JOURNAL).read_bytes() == before

    def test_a_replay_keeps_its_rows_only_where_it_is_told_to(self, project, tmp_path):
        ask(project, Calls())
        runs = len(list(project.root.glob(".proctor/runs/*/")))
        report = replayed(project, folder=tmp_path / "out")
        assert recovered(tmp_path / "out") == report
        assert len(list(project.root.glob(".proctor/runs/*/"))) == runs

    def test_a_report_without_answers_is_recovered_without_answers(self, project):
        report = ask(project, Calls(), answers=False)
        assert b'"text"' not in report
        assert recovered(newest(project)) == report

    def test_two_runs_at_once_do_not_touch_each_other(self, project, tmp_path):
        inner = {}

        def nested(request, call):
            # While one run is in flight, another one of the same project is run to its end.
            if not inner:
                inner["report"] = None
                inner["report"] = ask(
                    project, Calls('{"label": "no"}'), mode="off", clock=FakeClock(iter([7]))
                )
            return YES

        import concurrent.futures

        def in_a_thread(request, call):
            if call.case == NAMES[3] and not inner:
                with concurrent.futures.ThreadPoolExecutor(1) as pool:
                    pool.submit(nested, request, call).result()
            return YES

        outer = json.loads(ask(project, in_a_thread, mode="off"))
        assert {row["outcome"] for row in rows_of(outer)} == {"passed"}
        assert {row["outcome"] for row in rows_of(json.loads(inner["report"]))} == {"failed"}
        folders = sorted(project.root.glob(".proctor/runs/*/"))
        reports = [(folder / "report.json").read_bytes() for folder in folders]
        assert [recovered(folder) for folder in folders] == reports
        assert len(set(reports)) == 2


class TestAlwaysAReport:
    @pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
    def test_what_ends_the_program_leaves_a_report_of_what_was_kept(self, project, error):
        def ends(request, call):
            if call.case == NAMES[6]:
                raise error
            return YES

        with pytest.raises(error):
            ask(project, ends, concurrency=1)
        report = json.loads((newest(project) / "report.json").read_bytes())
        assert report["verdict"] == "interrupted"
        assert [row["case"] for row in rows_of(report)] == NAMES[:6]
        comment = (newest(project) / "comment.md").read_text()
        assert "INTERRUPTED" in comment
        assert len(project.stored) == 6

    def test_the_error_is_the_one_that_ended_the_run(self, project, monkeypatch):
        from proctor import run_keeping

        def broken(*arguments, **options):
            raise UsageError("the temporary folder is full", code="P6004", hint="make room")

        monkeypatch.setattr(run_keeping, "evaluate", broken)
        assert problem_of("P6004", ask, project, Calls()) == "the temporary folder is full"
        counts = json.loads((newest(project) / "report.json").read_bytes())["suites"][0]
        assert counts["subjects"][0]["counts"]["not_run"] == len(NAMES)

    def test_a_report_that_cannot_be_made_is_noted_and_hides_nothing(self, project, monkeypatch):
        from proctor import run_keeping

        def broken(*arguments, **options):
            (newest(project) / JOURNAL).write_bytes(b"")
            raise UsageError("the temporary folder is full", code="P6004", hint="make room")

        monkeypatch.setattr(run_keeping, "evaluate", broken)
        notes = []
        assert problem_of("P6004", ask, project, Calls(), notes=notes).startswith("the temporary")
        assert [note for note in notes if "there is no report of the run" in note]

    @pytest.mark.parametrize("after", [1, 5])
    def test_a_journal_that_cannot_be_written_spoils_no_row(self, project, monkeypatch, after):
        really_write, written = os.write, []

        def full(file, data):
            if data.startswith(b'{"suite":'):
                written.append(data)
                if len(written) > after:
                    raise OSError(28, "No space left on device")
            return really_write(file, data)

        monkeypatch.setattr(os, "write", full)
        notes = []
        report = json.loads(ask(project, Calls(), notes=notes))
        assert {row["outcome"] for row in rows_of(report)} == {"passed"}
        assert len(rows_of(report)) == len(NAMES)
        assert notes == [
            "warning: a row cannot be kept in `rows.jsonl`: no space left on device; the run goes "
            "on, and resuming it would run that row again"
        ]
        assert len(lines_of(newest(project))) == 1 + after

    def test_a_row_that_was_begun_leaves_no_half_a_line(self, project, monkeypatch):
        really_write, written = os.write, []

        def short(file, data):
            if data.startswith(b'{"suite":'):
                written.append(data)
                if len(written) == 3:
                    return really_write(file, data[:40])
            return really_write(file, data)

        monkeypatch.setattr(os, "write", short)
        ask(project, Calls(), concurrency=1)
        assert [line["case"] for line in lines_of(newest(project))[1:]] == NAMES[:2] + NAMES[3:]


class TestGoingOn:
    def test_only_the_missing_rows_are_run(self, project):
        first = interrupted(project)
        assert first["verdict"] == "interrupted"
        done = {row["case"] for row in rows_of(first)}
        calls = Calls()
        report = json.loads(ask(project, calls, keeping=AGAIN))
        assert {case for case, _ in calls.made} == set(NAMES) - done
        assert (report["verdict"], report["suites"][0]["cache"]["recorded"]) == ("passed", 12)

    @pytest.mark.parametrize("mode", ["record", "refresh", "off"])
    def test_a_stop_and_a_run_that_goes_on_report_what_one_run_does(self, tmp_path, mode):
        def project(name):
            made = JudgedProject(tmp_path / name)
            made.named_cases(*NAMES)
            return made

        def slow_judge(request, call):
            latency_ms = 5_000 if OF_JUDGES in request.messages[0].content else 10
            text = PASS if latency_ms > 10 else YES
            return ScriptedAnswer(text=text, latency_ms=latency_ms)

        whole = ask(project("whole"), slow_judge, mode=mode, clock=FakeClock(), concurrency=3)
        stopped = project("stopped")
        script = StopsAt(NAMES[7], slow_judge)
        ask(stopped, script, mode=mode, clock=FakeClock(), stop=script.stop, concurrency=3)
        kept = len(lines_of(newest(stopped))) - 1
        assert 0 < kept < len(NAMES)
        calls = Asked(judge=slow_judge, answer=slow_judge)
        assert ask(stopped, calls, keeping=AGAIN, mode=mode, clock=FakeClock()) == whole
        if mode != "off":
            # Answers whose judges were still busy had been paid for, and are not asked for again.
            assert len(calls.answers) < len(NAMES) - kept

    def test_what_was_recovered_in_between_counts_as_asked_by_the_run(self, tmp_path):
        import random

        from test_resume import Killed, plain

        made, script = plain(tmp_path / "whole", 24)
        killed = Killed(made, script, mode="record")
        left = killed.copy(tmp_path / "killed", random.Random(5))  # noqa: S311 - seeded
        for log in left.logs:
            log.write_bytes(b"".join(killed.log))
        result = ask(left, Calls("never"), keeping=Keeping(folder=tmp_path / "other"))
        assert json.loads(result)["suites"][0]["cache"]["live"] is False
        assert left.logs == []
        again = Keeping(resume=killed.run)
        assert ask(left, Calls("never"), keeping=again, clock=FakeClock()) == killed.whole

    def test_a_finished_run_has_nothing_to_do_and_says_so(self, project):
        report = ask(project, Calls())
        notes, calls = [], Calls("never")
        assert ask(project, calls, keeping=AGAIN, notes=notes) == report
        assert calls.made == []
        assert notes == [f"the run `{newest(project).name}` has finished: there is nothing to do"]

    def test_a_run_is_named_by_its_id_or_the_newest_is_meant(self, project):
        interrupted(project, clock=FakeClock(iter([1])))
        first = newest(project).name
        interrupted(project, "case-08", mode="refresh", clock=FakeClock(iter([2])))
        assert newest(project).name != first
        problem_of("P6707", ask, project, Calls(), keeping=AGAIN)
        ask(project, Calls(), keeping=Keeping(resume=first))
        assert len(lines_of(project.root / ".proctor/runs" / first)) == 1 + len(NAMES)

    @pytest.mark.parametrize("id_", ["nothing", "../../evals", "20261130t101112z-0000ff"])
    def test_a_run_that_is_not_there_is_refused_with_the_newest(self, project, id_):
        interrupted(project)
        message = problem_of("P6002", ask, project, Calls(), keeping=Keeping(resume=id_))
        assert message == f"there is no run `{id_}`"

    def test_without_any_run_there_is_none_to_go_on_with(self, project):
        message = problem_of("P6002", ask, project, Calls(), keeping=AGAIN)
        assert message == "there is no run with a journal"

    def test_a_run_that_still_goes_on_is_left_alone(self, project):
        seen = []

        def look(session):
            folder = session.run.folder
            head = head_of(project, mode="record")
            seen.append(problem_of("P6405", Journal.reopen, folder, head))

        ask(project, Calls(), before_close=look)
        assert "still goes on" in seen[0]

    def test_another_way_of_running_it_is_no_change(self, project):
        interrupted(project)
        project.write("proctor.toml", (project.root / "proctor.toml").read_text() + "\n# more\n")
        report = json.loads(ask(project, Calls(), keeping=AGAIN, concurrency=9))
        assert report["verdict"] == "passed"

    def test_a_run_goes_on_in_its_output_folder(self, project, tmp_path):
        out = Keeping(folder=tmp_path / "out")
        interrupted(project, keeping=out)
        calls = Calls()
        again = Keeping(folder=tmp_path / "out", resume="")
        report = json.loads(ask(project, calls, keeping=again))
        assert (report["verdict"], report["suites"][0]["cache"]["recorded"]) == ("passed", 12)
        assert 0 < len(calls.made) < len(NAMES)


CHANGES = [
    (lambda p: p.named_cases(*NAMES, "more"), {}, "`quiz`: the dataset was edited"),
    (lambda p: p.suite(tiers=["other"]), {}, "`quiz`: the suite or a rubric was edited"),
    (lambda p: p.suite(repeats=2), {}, "`quiz`: repeats 1 -> 2"),
    (lambda p: None, {"repeats": 3}, "`quiz`: repeats 1 -> 3"),
    (lambda p: p.suite(models=["local/x"]), {}, "`quiz`: `answer@local/tiny` is not run"),
    (lambda p: None, {"selection": Selection(first=3)}, "`quiz`: other cases are selected"),
    (lambda p: None, {"mode": "refresh"}, "`--cache` record -> refresh"),
    (
        lambda p: p.write("prompts/answer.prompt.yaml", _prompt(p) + "  \n  Answer at once.\n"),
        {},
        "`quiz`: `answer` was edited",
    ),
    (
        lambda p: p.write(
            "prompts/answer.prompt.yaml", _prompt(p).replace("maxTokens: 16", "maxTokens: 17")
        ),
        {},
        "`quiz`: the parameters of `local/tiny`",
    ),
    (
        lambda p: p.write("proctor.toml", _text(p, "proctor.toml").replace("tests", "others")),
        {},
        "the project tests -> others",
    ),
]


def _text(project, path):
    return (project.root / path).read_text()


def _prompt(project):
    return _text(project, "prompts/answer.prompt.yaml").rstrip("\n") + "\n"


@pytest.mark.parametrize(("change", "options", "said"), CHANGES)
def test_what_has_changed_is_refused_and_named(project, change, options, said):
    interrupted(project)
    before = (newest(project) / JOURNAL).read_bytes()
    change(project)
    calls = Calls()
    message = problem_of("P6707", ask, project, calls, keeping=AGAIN, **options)
    assert said in message
    assert calls.made == []
    assert (newest(project) / JOURNAL).read_bytes() == before


def test_a_run_folder_that_is_gone_does_not_keep_an_output_folder_from_going_on(project, tmp_path):
    import shutil

    interrupted(project, keeping=Keeping(folder=tmp_path / "out"))
    shutil.rmtree(project.root / ".proctor")
    again = Keeping(folder=tmp_path / "out", resume="")
    assert json.loads(ask(project, Calls(), keeping=again))["verdict"] == "passed"


def test_the_notes_of_what_a_run_received_are_no_link(project):
    run = RunFolder(project.root / ".proctor/runs/x")
    (run.folder / "received").mkdir(parents=True)
    (run.folder / "received/quiz.txt").symlink_to("/etc/passwd")
    with pytest.raises(ProctorError):
        run.received("quiz")
