import errno
import json
import os
import stat
from itertools import count

import pytest

from proctor.canonical import sha256_hex
from proctor.cassette_files import CassetteFolder, RecordingLog, read_log, rewrite_cassette
from proctor.errors import CassetteError, FileError, ProctorError, UsageError
from support import Project


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture
def folder(tmp_path):
    return CassetteFolder(tmp_path, tmp_path, "evals/cassettes", "evals/cassettes")


def raw(line):
    return json.dumps(line, separators=(",", ":")).encode()


def bytes_of(folder, suite="quiz"):
    return (folder.root / folder.path(suite)).read_bytes()


def code_of(function, *arguments, **options):
    with pytest.raises(ProctorError) as caught:
        function(*arguments, **options)
    return caught.value.code


class TestTheFolder:
    def test_it_is_made_with_a_readme_when_something_is_to_be_written(self, folder):
        path = folder.writable("quiz")
        assert path == folder.root / "evals" / "cassettes" / "quiz.jsonl"
        assert not path.exists()
        assert "proctor run --cache record" in (path.parent / "README.md").read_text()

    def test_a_folder_that_is_there_gets_no_readme(self, folder):
        (folder.root / "evals/cassettes").mkdir(parents=True)
        folder.writable("quiz")
        assert list((folder.root / "evals/cassettes").iterdir()) == []

    def test_a_folder_that_was_named_is_used_as_it_is(self, tmp_path):
        folder = CassetteFolder(tmp_path, tmp_path, "", "other")
        assert folder.path("quiz") == "quiz.jsonl"
        assert folder.writable("quiz") == tmp_path / "quiz.jsonl"
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("link", ["evals", "evals/cassettes"])
    def test_nothing_is_written_through_a_link(self, folder, tmp_path_factory, link):
        elsewhere = tmp_path_factory.mktemp("elsewhere")
        (folder.root / link).parent.mkdir(exist_ok=True)
        (folder.root / link).symlink_to(elsewhere)
        with pytest.raises(FileError) as caught:
            folder.writable("quiz")
        assert caught.value.code == "P6805"
        assert list(elsewhere.iterdir()) == []

    def test_a_file_in_its_place_is_one_clear_error(self, folder):
        (folder.root / "evals").mkdir()
        (folder.root / "evals/cassettes").touch()
        assert code_of(folder.writable, "quiz") == "P6004"
        assert code_of(folder.check_writable) == "P6004"

    def test_whether_it_can_be_written_to_is_known_before_it_is_there(self, folder, monkeypatch):
        folder.check_writable()
        assert list(folder.root.iterdir()) == []
        (folder.root / "evals").mkdir()
        looked_at = []

        def access(path, mode):
            looked_at.append(path)
            return False

        monkeypatch.setattr(os, "access", access)
        with pytest.raises(UsageError) as caught:
            folder.check_writable()
        assert looked_at == [folder.root / "evals"]
        assert caught.value.code == "P6004"
        assert "`evals/cassettes` cannot be written to" in caught.value.message


class TestTheLog:
    @pytest.fixture
    def log(self, tmp_path):
        log = RecordingLog(tmp_path / "quiz.jsonl")
        yield log
        log.close()

    def test_a_line_is_in_the_file_as_soon_as_it_was_appended(self, log):
        log.append("aa", b"one")
        assert log.path.read_bytes() == b"one\n"
        log.append("bb", b"two")
        assert log.path.read_bytes() == b"one\ntwo\n"

    def test_each_line_is_one_write(self, log, monkeypatch):
        writes, really_write = [], os.write

        def write(file, data):
            writes.append(data)
            return really_write(file, data)

        monkeypatch.setattr(os, "write", write)
        log.append("aa", b"x" * 1_000_000)
        assert writes == [b"x" * 1_000_000 + b"\n"]

    def test_it_is_for_its_user_alone(self, log):
        assert stat.S_IMODE(log.path.stat().st_mode) == 0o600

    def test_what_was_kept_can_be_asked_for(self, log, project):
        lines = {
            line["key"]: raw(line)
            for line in (project.recording(f"case-{n}", f"é{n}\ud800") for n in range(3))
        }
        for key, line in lines.items():
            log.append(key, line)
        for n, (key, line) in enumerate(lines.items()):
            found = log.find(key)
            assert (found.answer.text, found.recording) == (f"é{n}\ud800", sha256_hex(line))
        assert log.find("ff" * 32) is None

    def test_a_log_is_never_shared(self, tmp_path, log):
        with pytest.raises(UsageError) as caught:
            RecordingLog(log.path)
        assert caught.value.code == "P6004"

    def test_a_log_is_not_made_through_a_link(self, tmp_path):
        (tmp_path / "link.jsonl").symlink_to("elsewhere")
        assert code_of(RecordingLog, tmp_path / "link.jsonl") == "P6004"
        assert not (tmp_path / "elsewhere").exists()

    def test_a_full_disk_says_so_and_leaves_what_was_there(self, log, monkeypatch):
        log.append("aa", b"one")

        def full(file, data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(UsageError) as caught:
            log.append("bb", b"two")
        monkeypatch.undo()
        assert caught.value.code == "P6004"
        assert caught.value.message == (
            "answers of `quiz` cannot be kept in `.proctor/`: no space left on device"
        )
        log.append("cc", b"three")
        assert log.path.read_bytes() == b"one\nthree\n"

    @pytest.mark.parametrize("written", [0, 1, 3])
    def test_of_a_line_that_does_not_fit_nothing_is_left(self, log, monkeypatch, written):
        log.append("aa", b"one")
        really_write = os.write
        monkeypatch.setattr(os, "write", lambda file, data: really_write(file, data[:written]))
        assert code_of(log.append, "bb", b"two") == "P6004"
        monkeypatch.undo()
        assert log.path.read_bytes() == b"one\n"
        assert log.find("bb") is None
        log.append("cc", b"three")
        assert log.path.read_bytes() == b"one\nthree\n"


class TestReadingALog:
    def read(self, tmp_path, data):
        (tmp_path / "quiz.jsonl").write_bytes(data)
        return list(read_log(tmp_path / "quiz.jsonl"))

    def lines(self, project, *names):
        return [project.recording(name, "Sure.") for name in names]

    def test_lines_come_in_the_order_they_were_received(self, tmp_path, project):
        lines = self.lines(project, "b", "a", "c")
        read = self.read(tmp_path, b"".join(raw(line) + b"\n" for line in lines))
        assert [key for key, _ in read] == [line["key"] for line in lines]
        assert [line.raw for _, line in read] == [raw(line) for line in lines]

    @pytest.mark.parametrize("cut", [1, 2, 100, -1])
    def test_a_last_line_that_was_cut_off_is_left_out(self, tmp_path, project, cut):
        one, two = (raw(line) for line in self.lines(project, "a", "b"))
        assert len(self.read(tmp_path, one + b"\n" + two[:cut])) == 1

    def test_a_last_line_of_which_only_the_end_is_missing_counts(self, tmp_path, project):
        one, two = (raw(line) for line in self.lines(project, "a", "b"))
        assert len(self.read(tmp_path, one + b"\n" + two)) == 2

    def test_nothing_received_is_nothing(self, tmp_path):
        assert self.read(tmp_path, b"") == []

    @pytest.mark.parametrize("damage", [b"{", b"", b"nonsense", b"\xff", b"{}"])
    def test_a_damaged_line_before_the_last_is_named(self, tmp_path, project, damage):
        one, two = (raw(line) for line in self.lines(project, "a", "b"))
        for last in (two + b"\n", two[:50]):
            with pytest.raises(CassetteError) as caught:
                self.read(tmp_path, b"\n".join([one, damage, last]))
            assert caught.value.code == "P6403"
            assert caught.value.where == f"{tmp_path}/quiz.jsonl:2"

    def test_a_whole_last_line_that_is_damaged_was_not_cut_off(self, tmp_path, project):
        (one,) = (raw(line) for line in self.lines(project, "a"))
        with pytest.raises(CassetteError) as caught:
            self.read(tmp_path, one + b"\n{}\n")
        assert caught.value.where.endswith("quiz.jsonl:2")

    def test_a_log_that_cannot_be_read_is_one_clear_error(self, tmp_path):
        with pytest.raises(CassetteError) as caught:
            list(read_log(tmp_path / "gone.jsonl"))
        assert caught.value.code == "P6403"
        assert "no such file" in caught.value.message

    def test_a_log_behind_a_link_is_not_read(self, tmp_path, project):
        self.read(tmp_path, b"")
        (tmp_path / "link.jsonl").symlink_to("quiz.jsonl")
        assert code_of(list, read_log(tmp_path / "link.jsonl")) == "P6805"


class TestRewriting:
    def lines(self, tmp_path, *lines):
        path = tmp_path / "received.jsonl"
        path.write_bytes(b"".join(raw(line) + b"\n" for line in lines))
        return dict(read_log(path))

    def test_lines_stand_by_model_case_scenario_call_take_and_key(self, tmp_path, project, folder):
        inputs = count()

        def one(case, *, prompt=None, **changes):
            parts = {"inputs": f"{next(inputs):064x}"} if prompt is None else {"prompt": prompt}
            return project.recording("x", "", case=case, parts=parts, **changes)

        twins = [one("a", scenario="s", take=2, prompt=f"{n:064x}") for n in range(5)]
        wanted = [
            one("b", model="anthropic/x"),
            one(None),
            one("B"),
            one("a"),
            one("a", take=2),
            one("a", take=10),
            one("a", call="build"),
            one("a", call="judge"),
            one("a", scenario="s"),
            *sorted(twins, key=lambda line: line["key"]),
            one("\u00e9"),
            one("\ud800"),
            one("a", model="local/tiny-2"),
        ]
        shuffled = wanted[1::2][::-1] + wanted[::2]
        project.cassette(*shuffled[:5])
        rewrite_cassette(folder, "quiz", new=self.lines(tmp_path, *shuffled[5:]))
        assert bytes_of(folder).splitlines() == [raw(line) for line in wanted]

    def test_lines_that_are_not_touched_keep_their_bytes(self, tmp_path, project, folder):
        spaced = json.dumps(project.recording("b", "Sure, é"), ensure_ascii=False, sort_keys=True)
        windows = json.dumps(project.recording("c", "Sure.")) + "\r"
        project.cassette(spaced, windows)
        new = project.recording("a", "new")
        rewrite_cassette(folder, "quiz", new=self.lines(tmp_path, new))
        assert bytes_of(folder).split(b"\n") == [raw(new), spaced.encode(), windows.encode(), b""]

    def test_a_last_line_without_an_end_gets_one(self, tmp_path, project, folder):
        old, new = project.recording("a", "old"), project.recording("b", "new")
        project.write("evals/cassettes/quiz.jsonl", raw(old))
        rewrite_cassette(folder, "quiz", new=self.lines(tmp_path, new))
        assert bytes_of(folder) == raw(old) + b"\n" + raw(new) + b"\n"

    def test_a_new_answer_replaces_the_recording_of_its_key(self, tmp_path, project, folder):
        project.cassette(project.recording("a", "old"), project.recording("b", "old"))
        new = project.recording("b", "new", case="renamed")
        rewrite_cassette(folder, "quiz", new=self.lines(tmp_path, new))
        assert bytes_of(folder).splitlines() == [raw(project.recording("a", "old")), raw(new)]

    def test_recordings_are_dropped_by_their_keys(self, project, folder):
        lines = [project.recording(name, "old") for name in "abc"]
        project.cassette(*lines)
        rewrite_cassette(folder, "quiz", new={}, drop={lines[1]["key"], "0" * 64})
        assert bytes_of(folder).splitlines() == [raw(lines[0]), raw(lines[2])]

    def test_a_cassette_that_would_not_change_is_not_written(self, tmp_path, project, folder):
        line = project.recording("a", "old")
        project.cassette(line)
        path = folder.root / folder.path("quiz")
        before = path.stat()
        rewrite_cassette(folder, "quiz", new={})
        rewrite_cassette(folder, "quiz", new=self.lines(tmp_path, line), drop={"0" * 64})
        after = path.stat()
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)

    def test_a_first_answer_makes_the_cassette(self, tmp_path, project, folder):
        new = project.recording("a", "new")
        rewrite_cassette(folder, "quiz", new=self.lines(tmp_path, new))
        assert bytes_of(folder) == raw(new) + b"\n"
        assert (folder.root / "evals/cassettes/README.md").exists()

    @pytest.mark.parametrize(("damage", "code"), [("{", "P6403"), (None, "P6404")])
    def test_a_damaged_cassette_is_never_overwritten(self, tmp_path, project, folder, damage, code):
        line = project.recording("a", "old")
        project.cassette(line, damage or line)
        before = bytes_of(folder)
        new = self.lines(tmp_path, project.recording("b", "new"))
        assert code_of(rewrite_cassette, folder, "quiz", new=new) == code
        assert bytes_of(folder) == before

    def test_what_cannot_be_written_leaves_the_cassette_as_it_was(
        self, tmp_path, project, folder, monkeypatch
    ):
        project.cassette(project.recording("a", "old"))
        before = bytes_of(folder)

        def read_only(*arguments, **options):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

        new = self.lines(tmp_path, project.recording("b", "new"))
        monkeypatch.setattr("pathlib.Path.replace", read_only)
        assert code_of(rewrite_cassette, folder, "quiz", new=new) == "P6004"
        assert bytes_of(folder) == before
        assert [path.name for path in (folder.root / "evals/cassettes").iterdir()] == ["quiz.jsonl"]
