"""The file of a journal: what it takes, what it refuses, and what a kill may leave of it."""

import json
import os
from contextlib import closing

import pytest

from journal_support import ask, head_of, newest, recovered
from live_support import YES, LiveProject
from proctor.errors import CassetteError, FileError, ProctorError, RunError
from proctor.journal import Journal
from proctor.journal_reading import open_journal
from proctor.protocols import BuildCall, BuildPart, JudgeCall, PlannedRow, RanRow
from proctor.records import Case, Outcome, RowError, RowResult
from proctor.run_folders import JOURNAL

NAMES = ["one", "two", "three"]
SUBJECT = "answer@local/tiny"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project that has been run, and the bytes of its journal."""
    project = LiveProject(tmp_path_factory.mktemp("made"))
    project.named_cases(*NAMES)
    project.report = ask(project, lambda request, call: YES, concurrency=1)
    project.journal = (newest(project) / JOURNAL).read_bytes()
    return project


def journal_in(folder, data) -> None:
    folder.mkdir(exist_ok=True, parents=True)
    (folder / JOURNAL).write_bytes(data)


def edited(journal: bytes, line: int, **changes) -> bytes:
    """The journal with other values in one of its lines, counted from 0."""
    lines = journal.splitlines()
    lines[line] = json.dumps({**json.loads(lines[line]), **changes}).encode()
    return b"\n".join(lines) + b"\n"


def row(place=0, repeat=1, **changes):
    """A row that ran, with everything that a journal keeps of one."""
    case = Case(f"case-{place}", {"question": "?"}, tags=["t"])
    result = RowResult(
        scenario=None,
        repeat=repeat,
        outcome=Outcome.ERRORED,
        category=None,
        attribution=None,
        answer=None,
        recording="a" * 64,
        checks=[],
        usage=None,
        cost_usd=0.1,
        latency_ms=7,
        error=RowError("P6309", "slow down"),
    )
    return RanRow(PlannedRow(place, case, repeat), result, **({"asked": True} | changes))


class TestRowsThatAreKept:
    @pytest.fixture
    def head(self, made):
        return head_of(made, mode="record", repeats=3)

    def test_they_are_given_again_with_what_they_cost(self, tmp_path, head):
        calls = [JudgeCall(0.25, True, "b" * 64), JudgeCall(None, False, None, replied=False)]
        calls.append(JudgeCall(None, True, "c" * 64, worst_cost_usd=3.5))
        given = row(judge_calls=calls, worst_cost_usd=0.75)
        with closing(Journal.create(tmp_path, head)) as journal:
            assert journal.done("quiz", SUBJECT) == {}
            journal.add("quiz", SUBJECT, given)
        with closing(Journal.reopen(tmp_path, head)) as journal:
            done = journal.done("quiz", SUBJECT)
            assert list(done) == [(0, None, 1)]
            kept = done[0, None, 1]
            asked = journal.recordings_asked_for("quiz")
        assert (kept.result, kept.asked, kept.worst_cost_usd) == (given.result, True, 0.75)
        assert kept.judge_calls == calls
        assert asked == {"a" * 64, "b" * 64, "c" * 64}

    def test_so_are_builds_with_what_they_may_have_cost(self, tmp_path, head):
        call = BuildCall(None, None, True, "d" * 64, worst_cost_usd=1.5)
        given = row(build=BuildPart(call))
        with closing(Journal.create(tmp_path, head)) as journal:
            journal.add("quiz", SUBJECT, given)
        with closing(Journal.reopen(tmp_path, head)) as journal:
            assert journal.done("quiz", SUBJECT)[0, None, 1].build == BuildPart(call, [], [])

    def test_each_is_one_write_to_the_system(self, tmp_path, head, monkeypatch):
        really_write, writes = os.write, []

        def counted(file, data):
            writes.append(data)
            return really_write(file, data)

        with closing(Journal.create(tmp_path, head)) as journal:
            monkeypatch.setattr(os, "write", counted)
            journal.add("quiz", SUBJECT, row())
            journal.add("quiz", SUBJECT, row(1))
        assert len(writes) == 2
        assert all(data.endswith(b"}\n") and data.count(b"\n") == 1 for data in writes)

    def test_a_case_is_described_once(self, tmp_path, head):
        with closing(Journal.create(tmp_path, head)) as journal:
            for repeat in (1, 2, 3):
                journal.add("quiz", SUBJECT, row(repeat=repeat))
        lines = (tmp_path / JOURNAL).read_text().splitlines()[1:]
        assert ["facts" in line for line in lines] == [True, False, False]
        assert json.loads(lines[0])["facts"]["tags"] == ["t"]

    def test_of_a_row_that_is_there_twice_the_last_counts(self, tmp_path, head):
        with closing(Journal.create(tmp_path, head)) as journal:
            journal.add("quiz", SUBJECT, row(asked=False))
            journal.add("quiz", SUBJECT, row(asked=True))
            assert len(journal) == 1
            assert journal.done("quiz", SUBJECT)[0, None, 1].asked is True

    def test_a_lone_surrogate_is_kept(self, tmp_path, head):
        planned = PlannedRow(0, Case("case-0", {"question": "\ud800"}), 1)
        with closing(Journal.create(tmp_path, head)) as journal:
            journal.add("quiz", SUBJECT, row()._replace(planned=planned))
        with closing(open_journal(tmp_path / JOURNAL)) as stored:
            assert stored.facts("quiz", 0).inputs == {"question": "\ud800"}

    def test_it_is_for_its_user_alone(self, tmp_path, head):
        Journal.create(tmp_path, head).close()
        assert (tmp_path / JOURNAL).stat().st_mode & 0o077 == 0

    def test_nobody_else_writes_it_meanwhile(self, tmp_path, head):
        with closing(Journal.create(tmp_path, head)):
            with pytest.raises(CassetteError) as caught:
                Journal.reopen(tmp_path, head)
            assert caught.value.code == "P6405"
        Journal.reopen(tmp_path, head).close()

    @pytest.mark.parametrize("what", ["link", "folder", "nothing"])
    def test_what_is_no_file_is_refused(self, tmp_path, head, what):
        path = tmp_path / JOURNAL
        if what == "link":
            path.symlink_to("/etc/passwd")
        elif what == "folder":
            path.mkdir()
        with pytest.raises(ProctorError) as caught:
            Journal.reopen(tmp_path, head)
        assert caught.value.code == ("P6704" if what == "nothing" else "P6805")
        with pytest.raises(ProctorError) as caught:
            open_journal(path)
        assert caught.value.code == ("P6704" if what == "nothing" else "P6805")


class TestTornLines:
    def test_a_last_line_is_torn_at_any_byte(self, made, tmp_path):
        """Whatever of the last line is there, the rows before it are, and the run goes on."""
        journal = made.journal
        start = journal[:-1].rindex(b"\n") + 1
        head = head_of(made, mode="record")
        for cut in range(start, len(journal)):
            journal_in(tmp_path, journal[:cut])
            with closing(open_journal(tmp_path / JOURNAL)) as stored:
                assert (len(stored), stored.size) == (2, start)
            if cut % 97 == 0:
                counts = json.loads(recovered(tmp_path))["suites"][0]["subjects"][0]["counts"]
                assert (counts["passed"], counts["not_run"]) == (2, 1)
            with closing(Journal.reopen(tmp_path, head)) as reopened:
                assert len(reopened) == 2
                assert (tmp_path / JOURNAL).read_bytes() == journal[:start]

    def test_a_journal_of_no_row_is_one(self, made, tmp_path):
        journal_in(tmp_path, made.journal[: made.journal.index(b"\n") + 1])
        report = json.loads(recovered(tmp_path))
        assert (report["verdict"], report["exit_code"]) == ("interrupted", 130)
        counts = report["suites"][0]["subjects"][0]["counts"]
        assert (counts["rows"], counts["not_run"], counts["failed"]) == (3, 3, 0)

    def test_a_head_that_is_torn_is_no_journal(self, made, tmp_path):
        head = made.journal[: made.journal.index(b"\n") + 1]
        for cut in range(len(head)):
            journal_in(tmp_path, head[:cut])
            with pytest.raises(RunError) as caught:
                open_journal(tmp_path / JOURNAL)
            assert caught.value.code == "P6704"
            assert "killed before the first row" in caught.value.message

    def test_a_torn_line_is_not_gone_on_from(self, made, tmp_path):
        journal_in(tmp_path, made.journal[:-5])
        with closing(Journal.reopen(tmp_path, head_of(made, mode="record"))) as journal:
            journal.add("quiz", SUBJECT, row(2))
        assert len((tmp_path / JOURNAL).read_bytes().splitlines()) == 4
        open_journal(tmp_path / JOURNAL).close()


REFUSED = [
    (1, {"suite": "other"}, "of a suite or subject that the head does not name"),
    (1, {"subject": "x@y/z"}, "of a suite or subject that the head does not name"),
    (1, {"index": 3}, "of a case or a repeat that there is not"),
    (1, {"index": -1}, "not one of a journal"),
    (1, {"repeat": 2}, "of a case or a repeat that there is not"),
    (1, {"scenario": "s"}, "names another scenario or repeat than its `row`"),
    (2, {"asked": "yes"}, "not one of a journal: expected `bool`"),
    (2, {"more": 1}, "not one of a journal: object contains unknown field `more`"),
    (2, {"row": None}, "not one of a journal"),
    (2, {"judge_calls": [{"cost_usd": -1}]}, "not one of a journal"),
    (0, {"schema": "proctor.journal.v2"}, "newer than this Proctor"),
    (0, {"schema": "proctor.report.v1"}, "is not of the format `proctor.journal.v1`"),
    (0, {"suites": []}, "not those of a run"),
    (0, {"plan_sha256": "x"}, "not one of a journal"),
    (0, {"more": 1}, "not one of a journal"),
]


class TestWhatIsRefused:
    @pytest.mark.parametrize(("line", "changes", "said"), REFUSED)
    def test_a_line_that_is_none_is_named(self, made, tmp_path, line, changes, said):
        journal_in(tmp_path, edited(made.journal, line, **changes))
        with pytest.raises(RunError) as caught:
            open_journal(tmp_path / JOURNAL)
        assert caught.value.code == "P6704"
        assert caught.value.hint
        assert said in caught.value.message
        if "schema" not in changes:
            assert caught.value.where == f"{tmp_path / JOURNAL}:{line + 1}"

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            (b"", "is empty"),
            (b"nonsense", "is not JSON"),
            (b"\0" * 20, "is not JSON"),
            (b'{"suite":"quiz","suite":"quiz"}', "has the key `suite` twice"),
            (b'{"suite":"\xff"}', "is not UTF-8"),
            (b"[" * 400 + b"]" * 400, "is nested deeper than 256"),
            (b"[NaN]", "has `NaN`, which is not JSON"),
        ],
    )
    def test_a_damaged_line_that_others_follow(self, made, tmp_path, line, said):
        head, one, *rest = made.journal.splitlines()
        journal_in(tmp_path, b"\n".join([head, one, line, *rest]) + b"\n")
        with pytest.raises(RunError) as caught:
            open_journal(tmp_path / JOURNAL)
        assert said in caught.value.message
        assert caught.value.where.endswith(":3")

    def test_a_key_that_stands_twice_is_not_taken_once(self, made, tmp_path):
        twice = made.journal.replace(b'"asked":true', b'"asked":false,"asked":true', 1)
        journal_in(tmp_path, twice)
        with pytest.raises(RunError) as caught:
            open_journal(tmp_path / JOURNAL)
        assert "has the key `asked` twice" in caught.value.message

    def test_a_row_that_its_checks_contradict_makes_no_report(self, made, tmp_path):
        journal_in(tmp_path, made.journal.replace(b'"outcome":"passed"', b'"outcome":"failed"', 1))
        with pytest.raises(ProctorError) as caught:
            recovered(tmp_path)
        assert caught.value.code == "P6901"
        assert "its checks give passed" in caught.value.message

    def test_a_case_that_no_row_describes_makes_no_report(self, made, tmp_path):
        lines = made.journal.splitlines(keepends=True)
        bare = json.loads(lines[1])
        del bare["facts"]
        journal_in(tmp_path, lines[0] + json.dumps(bare).encode() + b"\n")
        with pytest.raises(RunError) as caught:
            recovered(tmp_path)
        assert "no row describes case 0 of `quiz`" in caught.value.message

    def test_rows_of_two_cases_in_one_place_make_no_report(self, tmp_path, made):
        head = head_of(made, mode="record", repeats=2)
        with closing(Journal.create(tmp_path, head)) as journal:
            journal.add("quiz", SUBJECT, row(repeat=1))
            other = PlannedRow(0, Case("other", {}), 2)
            journal.add("quiz", SUBJECT, row(repeat=2)._replace(planned=other))
        with pytest.raises(RunError) as caught:
            recovered(tmp_path)
        assert "the rows of case 0 of `quiz` are not of one case" in caught.value.message

    def test_a_file_that_changes_while_it_is_used_is_noticed(self, made, tmp_path):
        journal_in(tmp_path, made.journal)
        with closing(open_journal(tmp_path / JOURNAL)) as stored:
            lines = made.journal.splitlines(keepends=True)
            with (tmp_path / JOURNAL).open("r+b") as file:
                file.write(b"".join([lines[0], lines[2], lines[1], lines[3]]))
            rows = stored.rows("quiz", SUBJECT)
            with pytest.raises(RunError) as caught:
                [rows[key] for key in rows]
        assert "changed while it was read" in caught.value.message

    def test_a_line_too_long_is_one_clear_error(self, made, tmp_path, monkeypatch):
        from proctor import journal_reading

        monkeypatch.setattr(journal_reading, "MAX_LINE", 500)
        journal_in(tmp_path, made.journal)
        with pytest.raises(RunError) as caught:
            open_journal(tmp_path / JOURNAL)
        assert "the line is longer than" in caught.value.message

    def test_a_row_too_long_to_be_read_again_is_not_written(self, made, tmp_path, monkeypatch):
        from proctor import journal

        monkeypatch.setattr(journal, "MAX_LINE", 300)
        notes = []
        head = head_of(made, mode="record")
        with closing(Journal.create(tmp_path, head, note=notes.append)) as kept:
            kept.add("quiz", SUBJECT, row())
            assert len(kept) == 0
        assert "file too large" in notes[0]

    def test_a_folder_without_room_is_one_clear_error(self, tmp_path, made):
        with pytest.raises(ProctorError) as caught:
            Journal.create(tmp_path / "nowhere", head_of(made))
        assert caught.value.code == "P6004"
        assert isinstance(caught.value, FileError) is False
