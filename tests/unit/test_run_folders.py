import errno
import fcntl
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from live_support import FakeClock
from proctor.clock import Clock
from proctor.errors import CassetteError, FileError, UsageError
from proctor.run_folders import (
    RunFolder,
    SuiteLock,
    find_run,
    new_run_folder,
    note_received,
    private_folder,
    require_trusted,
    unfinished,
)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def error_of(code, function, *arguments):
    kind = {"P6805": FileError, "P6405": CassetteError}.get(code, UsageError)
    with pytest.raises(kind) as caught:
        function(*arguments)
    assert caught.value.code == code
    assert caught.value.hint
    return caught.value.message


class TestPrivateFolder:
    def test_it_is_made_for_its_user_alone_and_kept_out_of_git(self, tmp_path):
        before = os.umask(0)
        try:
            folder = private_folder(tmp_path)
        finally:
            os.umask(before)
        assert (folder, mode(folder)) == (tmp_path / ".proctor", 0o700)
        assert (folder / ".gitignore").read_text() == "*\n"
        assert "proctor cassette recover" in (folder / "README.md").read_text()

    def test_one_that_is_there_is_taken_as_it_is(self, tmp_path):
        (tmp_path / ".proctor").mkdir(mode=0o700)
        private_folder(tmp_path)
        assert list((tmp_path / ".proctor").iterdir()) == []

    @pytest.mark.parametrize("target", ["real", "nowhere"])
    def test_a_link_is_refused(self, tmp_path, target):
        (tmp_path / "real").mkdir(mode=0o700)
        (tmp_path / ".proctor").symlink_to(target)
        message = error_of("P6805", private_folder, tmp_path)
        assert message == "`.proctor/` is not a private folder of yours"
        assert list((tmp_path / "real").iterdir()) == []

    def test_a_file_is_refused(self, tmp_path):
        (tmp_path / ".proctor").touch(mode=0o600)
        error_of("P6805", private_folder, tmp_path)

    @pytest.mark.parametrize("open_to", [0o755, 0o770, 0o701, 0o720, 0o704])
    def test_one_that_is_open_to_others_is_refused(self, tmp_path, open_to):
        (tmp_path / ".proctor").mkdir()
        (tmp_path / ".proctor").chmod(open_to)
        error_of("P6805", private_folder, tmp_path)

    def test_one_of_another_user_is_refused(self, tmp_path, monkeypatch):
        private_folder(tmp_path)
        mine = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: mine + 1)
        error_of("P6805", private_folder, tmp_path)

    def test_a_project_that_cannot_be_written_to_is_one_clear_error(self, tmp_path, monkeypatch):
        def read_only(path, *arguments, **options):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

        monkeypatch.setattr(Path, "mkdir", read_only)
        message = error_of("P6004", private_folder, tmp_path)
        assert message == "`.proctor` cannot be made: read-only file system"

    def test_two_that_make_it_at_once_both_have_it(self, tmp_path, monkeypatch):
        really_mkdir = Path.mkdir

        def overtaken(path, *arguments, **options):
            really_mkdir(path, mode=0o700)
            really_mkdir(path, *arguments, **options)

        monkeypatch.setattr(Path, "mkdir", overtaken)
        assert private_folder(tmp_path).is_dir()


class TestRunFolders:
    def test_a_run_has_a_folder_named_by_time_and_chance(self, tmp_path):
        run = new_run_folder(tmp_path, FakeClock())
        assert run.id == "20261130t101112z-000000"
        assert run.folder == tmp_path / ".proctor" / "runs" / run.id
        assert run.recorded("quiz") == run.folder / "recorded" / "quiz.jsonl"
        assert run.recorded("quiz").parent.is_dir()

    def test_the_latest_run_is_noted(self, tmp_path):
        clock = FakeClock()
        runs = [new_run_folder(tmp_path, clock) for _ in range(2)]
        latest = tmp_path / ".proctor" / "runs" / "latest"
        assert latest.read_text() == f"{runs[1].id}\n"
        assert runs[0].id != runs[1].id

    def test_the_real_clock_makes_ids_that_are_names_of_runs(self, tmp_path):
        run = new_run_folder(tmp_path, Clock())
        assert re.fullmatch(r"\d{8}t\d{6}z-[0-9a-f]{6}", run.id)
        assert re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", run.id)

    def test_an_id_that_is_taken_is_not_used_again(self, tmp_path):
        new_run_folder(tmp_path, FakeClock())
        message = error_of("P6004", new_run_folder, tmp_path, FakeClock())
        assert "20261130t101112z-000000` cannot be made: file exists" in message

    def test_no_run_starts_in_a_folder_that_is_open_to_others(self, tmp_path):
        (tmp_path / ".proctor").mkdir()
        (tmp_path / ".proctor").chmod(0o755)
        error_of("P6805", new_run_folder, tmp_path, FakeClock())
        assert list((tmp_path / ".proctor").iterdir()) == []


class TestUnfinishedRuns:
    def log(self, root, run, suite="quiz"):
        path = root / ".proctor" / "runs" / run / "recorded" / f"{suite}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return path

    @pytest.fixture
    def root(self, tmp_path):
        private_folder(tmp_path)
        return tmp_path

    def test_logs_of_a_suite_come_oldest_first(self, root):
        late, early = self.log(root, "20261201t000000z-0"), self.log(root, "20261130t235959z-f")
        self.log(root, "20261130t235959z-f", suite="quiz-2")
        assert unfinished(root, "quiz") == [early, late]

    def test_a_link_among_them_is_not_followed(self, root):
        log = self.log(root, "20261130t000000z-0")
        log.unlink()
        log.symlink_to(self.log(root, "20261130t000000z-0", suite="other"))
        assert unfinished(root, "quiz") == []

    def test_nothing_is_made_to_look_for_them(self, tmp_path):
        assert unfinished(tmp_path, "quiz") == []
        assert list(tmp_path.iterdir()) == []

    def test_those_of_a_folder_open_to_others_are_not_taken(self, root):
        self.log(root, "20261130t000000z-0")
        (root / ".proctor").chmod(0o755)
        error_of("P6805", unfinished, root, "quiz")


class TestLocks:
    def test_a_suite_is_locked_once(self, tmp_path):
        lock = SuiteLock(tmp_path, "quiz")
        message = error_of("P6405", SuiteLock, tmp_path, "quiz")
        assert message == "the suite `quiz` is being recorded by another process"
        lock.release()
        SuiteLock(tmp_path, "quiz").release()

    def test_other_suites_are_free(self, tmp_path):
        locks = [SuiteLock(tmp_path, "quiz"), SuiteLock(tmp_path, "quiz-2")]
        for lock in locks:
            lock.release()

    def test_a_process_that_was_killed_holds_no_lock(self, tmp_path):
        code = (
            "import sys, pathlib, signal\n"
            "from proctor.run_folders import SuiteLock\n"
            "lock = SuiteLock(pathlib.Path(sys.argv[1]), 'quiz')\n"
            "print('held', flush=True)\n"
            "signal.pause()\n"
        )
        holder = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE
        )
        with holder:
            assert holder.stdout.readline() == b"held\n"
            error_of("P6405", SuiteLock, tmp_path, "quiz")
            holder.kill()
            holder.wait(60)
            SuiteLock(tmp_path, "quiz").release()

    def test_a_lock_that_cannot_be_made_is_not_somebody_elses(self, tmp_path, monkeypatch):
        def no_locks(*_):
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

        monkeypatch.setattr(fcntl, "flock", no_locks)
        message = error_of("P6004", SuiteLock, tmp_path, "quiz")
        assert message == "`.proctor/locks/quiz.lock` cannot be made: no locks available"

    @pytest.mark.parametrize("in_the_way", ["locks", "locks/quiz.lock"])
    def test_what_is_in_the_way_of_a_lock_is_one_clear_error(self, tmp_path, in_the_way):
        path = private_folder(tmp_path) / in_the_way
        path.parent.mkdir(exist_ok=True)
        if path.suffix:
            path.symlink_to("/etc/passwd")
        else:
            path.touch()
        message = error_of("P6004", SuiteLock, tmp_path, "quiz")
        assert "`.proctor/locks/quiz.lock` cannot be made" in message

    def test_a_folder_open_to_others_is_no_place_for_a_lock(self, tmp_path):
        private_folder(tmp_path).chmod(0o755)
        error_of("P6805", SuiteLock, tmp_path, "quiz")


class TestFoldersThatGitTracks:
    @pytest.fixture
    def work_tree(self, tmp_path, monkeypatch):
        """A project in a work tree of git, whose `.proctor/` somebody has committed."""
        for name in [name for name in os.environ if name.startswith("GIT_")]:
            monkeypatch.delenv(name)
        root = tmp_path / "tree" / "project"
        (root / ".proctor").mkdir(parents=True, mode=0o700)
        (root / ".proctor" / "planted").touch()
        self.git(root, "init", "-q", "..")
        return root

    def git(self, root, *arguments):
        subprocess.run(["git", "-C", str(root), *arguments], check=True)

    def test_one_that_is_tracked_is_refused(self, work_tree):
        self.git(work_tree, "add", "-f", ".proctor/planted")
        message = error_of("P6805", private_folder, work_tree)
        assert message == "git tracks files in `.proctor/`, so somebody else may have made them"

    def test_one_that_is_there_and_not_tracked_is_taken(self, work_tree):
        assert private_folder(work_tree) == work_tree / ".proctor"

    def test_one_of_another_project_in_the_same_tree_does_not_matter(self, work_tree):
        self.git(work_tree, "add", "-f", ".proctor/planted")
        other = work_tree.parent / "other"
        other.mkdir()
        assert private_folder(other) == other / ".proctor"

    def test_a_work_tree_that_git_cannot_read_keeps_nobody_from_working(self, tmp_path):
        (tmp_path / ".git").write_text("gitdir: nowhere\n")
        assert private_folder(tmp_path).is_dir()

    def test_without_git_nothing_is_tracked(self, work_tree, monkeypatch):
        monkeypatch.setenv("PATH", str(work_tree / "nothing"))
        assert private_folder(work_tree).is_dir()


class TestFindingRuns:
    def journal(self, root, run):
        folder = root / ".proctor" / "runs" / run
        folder.mkdir(parents=True)
        (folder / "rows.jsonl").touch()

    @pytest.fixture
    def root(self, tmp_path):
        private_folder(tmp_path)
        for run in ("20261201t000000z-0", "20261130t235959z-f"):
            self.journal(tmp_path, run)
        (tmp_path / ".proctor/runs/20271201t000000z-0").mkdir()
        return tmp_path

    def test_the_newest_with_a_journal_is_the_one_that_is_meant(self, root):
        assert find_run(root).id == "20261201t000000z-0"
        assert find_run(root, "20261130t235959z-f").id == "20261130t235959z-f"

    @pytest.mark.parametrize("id_", ["20271201t000000z-0", "x", "../runs/x", ""])
    def test_one_without_a_journal_is_none(self, root, id_):
        message = error_of("P6002", find_run, root, id_)
        assert message == f"there is no run `{id_}`"

    def test_what_a_run_received_is_known_later(self, root):
        run = RunFolder(root / ".proctor/runs/20261201t000000z-0")
        assert run.received("quiz") == frozenset()
        note_received(run.recorded("quiz"), ["a" * 64, "b" * 64])
        note_received(run.recorded("quiz"), ["c" * 64])
        assert run.received("quiz") == {"a" * 64, "b" * 64, "c" * 64}
        assert run.received("other") == frozenset()
        assert mode(run.folder / "received/quiz.txt") == 0o600

    def test_a_file_in_a_folder_of_another_project_is_trusted_no_more_than_its_folder(self, root):
        file = root / ".proctor/runs/20261201t000000z-0/rows.jsonl"
        require_trusted(file)
        (root / ".proctor").chmod(0o755)
        error_of("P6805", require_trusted, file)
        require_trusted(root / "evals")
