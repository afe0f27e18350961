import errno
import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from proctor.errors import FileError, UsageError
from proctor.safe_io import (
    MAX_PROJECT_FILE,
    inside,
    make_folder,
    open_inside,
    open_regular,
    read_inside,
    read_supplied,
    read_unchanged_inside,
    reason_of,
    write_whole,
)


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "top.txt").write_bytes(b"top")
    (root / "a" / "b" / "deep.txt").write_bytes(b"deep")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_bytes(b"secret")
    return root


def refused(root, relative, **options):
    with pytest.raises(FileError) as caught:
        read_inside(root, relative, **options)
    assert caught.value.code == "P6805"
    assert caught.value.hint
    assert "secret" not in str(caught.value).replace("secret.txt", "")
    return caught.value


def names_in(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def open_descriptors():
    return names_in("/proc/self/fd") if Path("/proc/self/fd").exists() else []


class TestInside:
    @pytest.mark.parametrize(
        ("path", "base", "normal"),
        [
            ("a.txt", "", "a.txt"),
            ("a/b.txt", "", "a/b.txt"),
            ("./a//b/./c.txt", "", "a/b/c.txt"),
            ("a/", "", "a"),
            ("a/../b.txt", "", "b.txt"),
            ("a/b/../../c", "", "c"),
            ("data.jsonl", "evals", "evals/data.jsonl"),
            ("../data.jsonl", "evals", "data.jsonl"),
            ("../../x", "evals/deep", "x"),
            ("x", ".", "x"),
            ("datasets\\cases.jsonl", "evals", "evals/datasets/cases.jsonl"),
            ("..\\x", "evals", "x"),
            ("~/x", "", "~/x"),
            ("...", "", "..."),
            ("..x/y..", "", "..x/y.."),
            ("%2e%2e/x", "", "%2e%2e/x"),
            ("a b\n\u2028é\U0001f600", "", "a b\n\u2028é\U0001f600"),
            ("a/b:c", "", "a/b:c"),
            ("1:2", "", "1:2"),
            ("\udcff", "", "\udcff"),
        ],
    )
    def test_a_path_below_the_root_has_one_normal_form(self, path, base, normal):
        assert inside(path, base=base) == normal

    @pytest.mark.parametrize(
        "path",
        [
            "..", "../x", "a/../../x", "a/b/../../../x", "./../x", "a/./../..//../x",
            "..\\x", "a\\..\\..\\x", "a/..\\../x",
        ],
    )  # fmt: skip
    def test_a_path_that_leaves_the_root_is_refused(self, path):
        with pytest.raises(FileError, match="leaves the project") as caught:
            inside(path, where="f.yaml:3")
        assert (caught.value.code, caught.value.where) == ("P6805", "f.yaml:3")

    @pytest.mark.parametrize("path", ["../../x", "../../evals/x", "a/../../../x"])
    def test_leaving_and_coming_back_is_leaving(self, path):
        with pytest.raises(FileError, match="leaves the project"):
            inside(path, base="evals")

    @pytest.mark.parametrize(
        "path",
        [
            "/etc/passwd", "//server/share/x", "\\x", "\\\\server\\share\\x", "\\\\?\\C:\\x",
            "C:\\x", "C:/x", "c:x", "file:///etc/passwd", "file:x", "FILE:x", "http://a/b",
            "https:a", "git+ssh://h/x", "data:,x", "python:a.b",
        ],
    )  # fmt: skip
    def test_an_absolute_path_a_drive_and_a_scheme_are_refused(self, path):
        for base in ("", "evals"):
            with pytest.raises(FileError, match="is not a path relative to the project") as caught:
                inside(path, base=base)
            assert caught.value.code == "P6805"

    @pytest.mark.parametrize("path", ["", "\0", "a\0b", "a/\0", "../\0"])
    def test_an_empty_path_and_one_with_nul_are_refused(self, path):
        with pytest.raises(FileError) as caught:
            inside(path)
        assert caught.value.code == "P6805"
        assert caught.value.message == "an empty path, or one with NUL, is not a file"

    @pytest.mark.parametrize("path", ["\ud800.jsonl", "a/\udbff/b"])
    def test_a_character_that_no_file_name_can_hold_is_refused(self, path):
        with pytest.raises(FileError, match="no file name can hold"):
            inside(path)

    @pytest.mark.parametrize(
        ("path", "base"), [(".", ""), ("./", ""), ("a/..", ""), ("..", "evals")]
    )
    def test_the_root_itself_is_no_file_of_it(self, path, base):
        with pytest.raises(FileError, match="the project's own folder"):
            inside(path, base=base)


class TestReading:
    def test_a_file_is_read_at_any_depth(self, root):
        assert read_inside(root, "top.txt") == b"top"
        assert read_inside(root, "a/b/deep.txt") == b"deep"

    def test_a_root_reached_through_a_link_is_the_callers_own_business(self, root, tmp_path):
        (tmp_path / "link").symlink_to(root)
        assert read_inside(tmp_path / "link", "a/b/deep.txt") == b"deep"

    @pytest.mark.parametrize("target", ["../outside/secret.txt", "top.txt", "nowhere", "link"])
    def test_a_link_as_the_file_is_refused_wherever_it_points(self, root, target):
        (root / "link").symlink_to(target)
        error = refused(root, "link", where="f.yaml:7")
        assert error.message == "`link` goes through the link `link`"
        assert error.where == "f.yaml:7"

    @pytest.mark.parametrize("target", ["../outside", "a", "/", ".", "nowhere", "folder"])
    @pytest.mark.parametrize("rest", ["secret.txt", "b/deep.txt", "etc/passwd", "top.txt"])
    def test_a_link_as_a_folder_is_refused_wherever_it_points(self, root, target, rest):
        (root / "folder").symlink_to(target)
        error = refused(root, f"folder/{rest}")
        assert error.message == f"`folder/{rest}` goes through the link `folder`"

    def test_a_link_in_the_middle_is_refused(self, root):
        (root / "a" / "c").symlink_to("b")
        assert read_inside(root, "a/b/deep.txt") == b"deep"
        error = refused(root, "a/c/deep.txt")
        assert error.message == "`a/c/deep.txt` goes through the link `c`"

    def test_a_folder_that_becomes_a_link_between_two_looks_is_refused(self, root, monkeypatch):
        really_open = os.open

        def swapping(path, *arguments, **options):
            opened = really_open(path, *arguments, **options)
            if path == "a":
                (root / "a" / "b").rename(root / "a" / "moved")
                (root / "a" / "b").symlink_to(root.parent / "outside")
            return opened

        monkeypatch.setattr(os, "open", swapping)
        error = refused(root, "a/b/secret.txt")
        assert error.message == "`a/b/secret.txt` goes through the link `b`"

    def test_a_folder_that_is_swapped_after_it_was_opened_is_not_looked_up_again(
        self, root, monkeypatch
    ):
        really_open = os.open

        def swapping(path, *arguments, **options):
            opened = really_open(path, *arguments, **options)
            if path == "b":
                (root / "a").rename(root / "moved")
                (root / "a").symlink_to(root.parent / "outside")
            return opened

        monkeypatch.setattr(os, "open", swapping)
        assert read_inside(root, "a/b/deep.txt") == b"deep"

    def test_a_file_swapped_for_a_link_is_refused(self, root):
        (root / "top.txt").unlink()
        (root / "top.txt").symlink_to("../outside/secret.txt")
        refused(root, "top.txt")

    def test_a_folder_is_refused(self, root):
        assert refused(root, "a/b").message == "`a/b` is a folder, not a file"

    def test_a_pipe_is_refused_without_waiting_for_a_writer(self, root):
        os.mkfifo(root / "pipe")
        assert refused(root, "pipe").message == "`pipe` is a pipe or device, not a file"

    def test_a_pipe_with_a_writer_is_refused_and_not_read(self, root):
        os.mkfifo(root / "pipe")
        reader = os.open(root / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        writer = os.open(root / "pipe", os.O_WRONLY)
        try:
            os.write(writer, b"secret")
            refused(root, "pipe")
            assert os.read(reader, 100) == b"secret"
        finally:
            os.close(writer)
            os.close(reader)

    def test_a_socket_is_refused(self, root, monkeypatch):
        monkeypatch.chdir(root)  # the path of a socket is short by nature
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("sock")
            error = refused(root, "sock")
        assert error.message == "`sock` is a socket or device, not a file"

    @pytest.mark.parametrize(
        ("path", "number"),
        [
            ("missing.txt", errno.ENOENT),
            ("missing/deep.txt", errno.ENOENT),
            ("top.txt/x", errno.ENOTDIR),
            ("n" * 300, errno.ENAMETOOLONG),
        ],
    )
    def test_what_is_not_there_is_an_error_of_the_system(self, root, path, number):
        with pytest.raises(OSError) as caught:  # noqa: PT011 - the number says which
            read_inside(root, path)
        assert caught.value.errno == number

    def test_a_file_may_be_as_large_as_the_limit_and_no_larger(self, root):
        (root / "big").write_bytes(b"x" * 4096)
        assert len(read_inside(root, "big", limit=4096)) == 4096
        error = refused(root, "big", limit=4095, where="f.yaml:2")
        assert error.message == "`big` is larger than 3 KiB"
        assert error.where == "f.yaml:2"

    def test_the_limit_of_a_project_file_is_one_mebibyte(self, root):
        (root / "big").write_bytes(b"x" * MAX_PROJECT_FILE)
        assert len(read_inside(root, "big")) == 1024 * 1024
        (root / "big").write_bytes(b"x" * (MAX_PROJECT_FILE + 1))
        error = refused(root, "big")
        assert error.message == "`big` is larger than 1024 KiB"
        assert error.where == "big"

    def test_a_file_without_an_end_is_not_read_to_its_end(self, root):
        with (root / "sparse").open("wb") as file:
            file.truncate(1 << 40)
        refused(root, "sparse")

    def test_nothing_stays_open(self, root):
        (root / "link").symlink_to("a")
        os.mkfifo(root / "pipe")
        before = open_descriptors()
        read_inside(root, "a/b/deep.txt")
        for path in ("link/b/deep.txt", "pipe", "a/b", "a"):
            refused(root, path)
        with pytest.raises(FileNotFoundError):
            read_inside(root, "a/missing")
        with pytest.raises(NotADirectoryError):
            read_inside(root, "top.txt/x")
        assert open_descriptors() == before

    def test_an_open_file_reads_on_and_seeks(self, root):
        with open_inside(root, "a/b/deep.txt") as file:
            assert file.read(2) == b"de"
            file.seek(0)
            assert file.read() == b"deep"


def supplied(path, limit=100):
    return read_supplied(path, limit=limit)


def from_the_root(root, relative, limit=100):
    return read_unchanged_inside(root, relative, limit=limit)


class TestReadingWhatTheCommandLineNames:
    def refusal(self, path, limit=100):
        with pytest.raises(FileError) as caught:
            supplied(path, limit)
        assert caught.value.code == "P6805"
        return caught.value

    @pytest.fixture(autouse=True)
    def here(self, root, monkeypatch):
        monkeypatch.chdir(root)

    @pytest.mark.parametrize(
        "path", ["a/b/deep.txt", "./a/../a/b/deep.txt", "../root/a/b/deep.txt"]
    )
    def test_a_path_may_be_relative_or_absolute(self, root, path):
        assert supplied(Path(path)) == supplied(root / path) == b"deep"

    @pytest.mark.parametrize(
        ("path", "link"),
        [("link", "link"), ("folder/deep.txt", "folder"), ("a/../folder/deep.txt", "folder")],
    )
    def test_a_link_in_any_component_is_refused_with_the_path_to_use(self, root, path, link):
        (root / "link").symlink_to("a/b/deep.txt")
        (root / "folder").symlink_to("a/b")
        for given in (Path(path), root / path):
            error = self.refusal(given)
            assert error.message == f"`{given}` goes through the link `{link}`"
            assert error.hint == f"use `{root / 'a/b/deep.txt'}`, which it leads to now"

    def test_a_folder_far_above_that_is_a_link_is_refused(self, root, tmp_path):
        (tmp_path / "tmp").symlink_to(tmp_path)
        error = self.refusal(tmp_path / "tmp/root/top.txt")
        assert "goes through the link `tmp`" in error.message
        assert f"use `{root / 'top.txt'}`" in error.hint

    def test_a_link_that_leads_to_itself_is_refused(self, root):
        (root / "loop").symlink_to("loop")
        assert "the link `loop`" in self.refusal(Path("loop/top.txt")).message

    def test_the_folder_one_is_in_may_be_reached_through_a_link(self, root, tmp_path, monkeypatch):
        (tmp_path / "link").symlink_to(root)
        monkeypatch.chdir(tmp_path / "link")
        assert supplied(Path("top.txt")) == b"top"

    @pytest.mark.parametrize(
        ("path", "what"),
        [
            ("pipe", "a pipe or device"),
            ("/dev/zero", "a pipe or device"),
            ("a", "a folder"),
            (".", "a folder"),
            ("/", "a folder"),
            ("a/..", "a folder"),
        ],
    )
    def test_what_is_no_file_is_refused_without_waiting(self, root, path, what):
        os.mkfifo(root / "pipe")
        assert self.refusal(Path(path)).message == f"`{Path(path)}` is {what}, not a file"

    def test_a_file_is_read_up_to_its_limit(self, root):
        (root / "big").write_bytes(b"x" * 2048)
        assert len(supplied(Path("big"), 2048)) == 2048
        assert self.refusal(Path("big"), 2047).message == "`big` is larger than 1 KiB"

    @pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="this system needs to list folders")
    def test_a_folder_above_need_not_be_one_that_may_be_listed(self, root, monkeypatch):
        really_open = os.open

        def unlisted(path, flags, *arguments, **options):
            if path == "a" and not flags & os.O_PATH:
                raise PermissionError(errno.EACCES, "Permission denied")
            return really_open(path, flags, *arguments, **options)

        monkeypatch.setattr(os, "open", unlisted)
        assert supplied(Path("a/b/deep.txt")) == b"deep"

    def test_a_missing_file_is_an_error_of_the_system(self, root):
        with pytest.raises(FileNotFoundError):
            supplied(Path("missing"))
        with pytest.raises(NotADirectoryError):
            supplied(Path("top.txt/x"))

    def test_nothing_stays_open(self, root):
        (root / "link").symlink_to("a")
        before = open_descriptors()
        supplied(Path("a/b/deep.txt"))
        for path in ("link/b/deep.txt", "a/b"):
            self.refusal(Path(path))
        with pytest.raises(FileNotFoundError):
            supplied(Path("a/b/missing"))
        assert open_descriptors() == before


def overwrite(file):
    file.write_bytes(b"other")


def append(file):
    with file.open("ab") as opened:
        opened.write(b"more")


def replace(file):
    (file.parent / "new").write_bytes(file.read_bytes())
    (file.parent / "new").replace(file)


def link(file):
    file.rename(file.parent / "moved")
    file.symlink_to("moved")


class TestAFileThatChangesWhileItIsRead:
    @pytest.mark.parametrize("change", [overwrite, append, replace, link, Path.unlink])
    @pytest.mark.parametrize("read", ["supplied", "inside"])
    def test_it_is_refused(self, root, monkeypatch, change, read):
        file = root / "a/b/deep.txt"
        really_read = os.fdopen

        class Changing:
            def __init__(self, opened):
                self._opened = opened

            def __enter__(self):
                return self

            def __exit__(self, *_):
                self._opened.close()

            def fileno(self):
                return self._opened.fileno()

            def read(self, size):
                data = self._opened.read(size)
                change(file)
                return data

        monkeypatch.setattr(os, "fdopen", lambda *given: Changing(really_read(*given)))
        before = open_descriptors()
        with pytest.raises(FileError, match="changed while it was read") as caught:
            supplied(file) if read == "supplied" else from_the_root(root, "a/b/deep.txt")
        assert caught.value.code == "P6805"
        assert open_descriptors() == before

    def test_one_that_stays_as_it_is_is_read(self, root):
        assert from_the_root(root, "a/b/deep.txt") == b"deep"
        assert from_the_root(root, "top.txt", 3) == b"top"
        with pytest.raises(FileError, match="larger than"):
            from_the_root(root, "top.txt", 2)
        (root / "link").symlink_to("a")
        with pytest.raises(FileError, match="goes through the link `link`"):
            from_the_root(root, "link/b/deep.txt")


class TestOpeningOneFile:
    def test_a_file_is_opened_by_its_path(self, root):
        with open_regular(root / "a" / "b" / "deep.txt") as file:
            assert file.read() == b"deep"

    def test_folders_above_it_may_be_links(self, root, tmp_path):
        (tmp_path / "link").symlink_to(root)
        with open_regular(tmp_path / "link" / "top.txt") as file:
            assert file.read() == b"top"

    def test_what_is_no_regular_file_is_refused_by_its_name(self, root):
        (root / "link").symlink_to("top.txt")
        os.mkfifo(root / "pipe")
        for name, what in [
            ("link", "goes through the link `link`"),
            ("pipe", "is a pipe or device, not a file"),
            ("a", "is a folder, not a file"),
        ]:
            with pytest.raises(FileError) as caught:
                open_regular(root / name, where="here")
            assert caught.value.message == f"`{name}` {what}"
            assert (caught.value.code, caught.value.where) == ("P6805", "here")

    def test_a_missing_file_is_an_error_of_the_system(self, root):
        with pytest.raises(FileNotFoundError):
            open_regular(root / "missing")


def test_the_reason_of_an_error_is_the_systems_without_the_path():
    error = OSError(errno.ENOENT, os.strerror(errno.ENOENT), "/some/where/secret")
    assert reason_of(error) == "no such file or directory"
    assert reason_of(TimeoutError()) == "timeouterror"


def full_disk():
    yield b"some of it"
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def umask():
    before = os.umask(0)
    yield os.umask
    os.umask(before)


class TestMakingFolders:
    def test_a_folder_is_made_with_those_on_the_way(self, root):
        assert make_folder(root, "new/deep/er") == root / "new" / "deep" / "er"
        assert (root / "new" / "deep" / "er").is_dir()

    def test_a_folder_that_is_there_keeps_what_it_holds(self, root):
        assert make_folder(root, "a/b") == root / "a" / "b"
        assert names_in(root / "a" / "b") == ["deep.txt"]

    @pytest.mark.parametrize("target", ["../outside", "a", "nowhere"])
    @pytest.mark.parametrize("rest", ["", "/new", "/b"])
    def test_a_link_is_not_followed(self, root, target, rest):
        (root / "link").symlink_to(target)
        with pytest.raises(FileError) as caught:
            make_folder(root, f"link{rest}")
        assert caught.value.code == "P6805"
        assert caught.value.message == f"`link{rest}` goes through the link `link`"
        assert names_in(root.parent / "outside") == ["secret.txt"]
        assert names_in(root / "a") == ["b"]

    def test_a_file_in_the_way_is_left_alone(self, root):
        for path in ("top.txt", "top.txt/new"):
            with pytest.raises(UsageError) as caught:
                make_folder(root, path)
            assert caught.value.code == "P6004"
            assert caught.value.message == f"the folder `{path}` cannot be made: file exists"
        assert (root / "top.txt").read_bytes() == b"top"


class TestWriting:
    def unwritten(self, path, chunks=(b"x",)):
        with pytest.raises(UsageError) as caught:
            write_whole(path, chunks)
        assert caught.value.code == "P6004"
        assert caught.value.hint
        return caught.value.message

    def test_a_file_holds_every_chunk_in_order(self, tmp_path):
        write_whole(tmp_path / "out", (b"%d\n" % number for number in range(3)))
        assert (tmp_path / "out").read_bytes() == b"0\n1\n2\n"
        assert names_in(tmp_path) == ["out"]

    def test_nothing_to_write_is_an_empty_file(self, tmp_path):
        write_whole(tmp_path / "out", [])
        assert (tmp_path / "out").read_bytes() == b""

    def test_a_file_that_exists_is_replaced_whole(self, tmp_path):
        path = tmp_path / "out"
        path.write_bytes(b"old and much longer")
        with path.open("rb") as reader:
            write_whole(path, [b"new"])
            assert reader.read() == b"old and much longer"
        assert path.read_bytes() == b"new"
        assert names_in(tmp_path) == ["out"]

    def test_the_old_file_is_there_until_the_new_one_is_complete(self, tmp_path):
        path = tmp_path / "out"
        path.write_bytes(b"old")

        def chunks():
            yield b"x" * 3_000_000
            assert path.read_bytes() == b"old"
            yield b"y"

        write_whole(path, chunks())
        assert path.stat().st_size == 3_000_001

    @pytest.mark.parametrize("old", [None, b"old"])
    @pytest.mark.parametrize("size", [0, 3_000_000])
    def test_a_full_disk_leaves_everything_as_it_was(self, tmp_path, old, size):
        path = tmp_path / "out"
        if old is not None:
            path.write_bytes(old)

        def chunks():
            yield b"x" * size
            yield from full_disk()

        message = self.unwritten(path, chunks())
        assert message == f"`{path}` cannot be written: no space left on device"
        assert names_in(tmp_path) == ([] if old is None else ["out"])
        assert old is None or path.read_bytes() == old

    @pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError, GeneratorExit])
    def test_whatever_stops_the_writing_leaves_nothing_behind(self, tmp_path, error):
        def chunks():
            yield b"some of it"
            raise error

        with pytest.raises(error):
            write_whole(tmp_path / "out", chunks())
        assert names_in(tmp_path) == []

    def test_a_disk_that_is_full_only_when_the_file_is_closed_counts_too(
        self, tmp_path, monkeypatch
    ):
        class Full:
            def __init__(self, descriptor):
                self.descriptor = descriptor

            def __enter__(self):
                return self

            def write(self, chunk):
                return len(chunk)

            def __exit__(self, *_):
                os.close(self.descriptor)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fdopen", lambda descriptor, *_, **__: Full(descriptor))
        assert "no space left" in self.unwritten(tmp_path / "out")
        assert names_in(tmp_path) == []

    @pytest.mark.parametrize("target", ["other", "nowhere", "folder", "out"])
    def test_a_link_is_left_alone(self, tmp_path, target):
        (tmp_path / "other").write_bytes(b"other")
        (tmp_path / "folder").mkdir()
        (tmp_path / "out").symlink_to(target)
        before = names_in(tmp_path)
        message = self.unwritten(tmp_path / "out")
        assert message == f"`{tmp_path / 'out'}` exists and is not a regular file"
        assert (tmp_path / "out").readlink() == Path(target)
        assert (tmp_path / "other").read_bytes() == b"other"
        assert names_in(tmp_path) == before

    def test_a_link_that_appears_while_writing_is_replaced_and_not_followed(self, tmp_path):
        (tmp_path / "other").write_bytes(b"other")

        def chunks():
            yield b"new"
            (tmp_path / "out").symlink_to("other")

        write_whole(tmp_path / "out", chunks())
        assert not (tmp_path / "out").is_symlink()
        assert (tmp_path / "out").read_bytes() == b"new"
        assert (tmp_path / "other").read_bytes() == b"other"

    def test_a_folder_a_pipe_and_a_device_are_left_alone(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "folder").mkdir()
        for path in (tmp_path / "pipe", tmp_path / "folder", tmp_path, Path(os.devnull)):
            assert "is not a regular file" in self.unwritten(path)
        assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
        assert names_in(tmp_path) == ["folder", "pipe"]

    def test_a_folder_that_appears_while_writing_is_left_alone(self, tmp_path):
        def chunks():
            yield b"new"
            (tmp_path / "out").mkdir()

        assert "cannot be written" in self.unwritten(tmp_path / "out", chunks())
        assert (tmp_path / "out").is_dir()
        assert names_in(tmp_path) == ["out"]

    @pytest.mark.parametrize(
        ("path", "reason"),
        [
            ("missing/out", "no such file or directory"),
            ("file/out", "not a directory"),
            ("n" * 256, "file name too long"),
        ],
    )
    def test_a_place_where_no_file_can_be_is_named(self, tmp_path, path, reason):
        (tmp_path / "file").write_bytes(b"x")
        message = self.unwritten(tmp_path / path)
        assert message == f"`{tmp_path / path}` cannot be written: {reason}"

    def test_a_name_may_be_as_long_as_names_can_be(self, tmp_path):
        for name in ("n" * 255, "é" * 127):
            write_whole(tmp_path / name, [b"x"])
            assert (tmp_path / name).read_bytes() == b"x"
        assert len(names_in(tmp_path)) == 2

    def test_a_partial_file_left_by_a_killed_process_is_not_in_the_way(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "getpid", lambda: 7)
        monkeypatch.setattr(Path, "replace", lambda *_: None)
        write_whole(tmp_path / "out", [b"killed before the end"])
        (left,) = names_in(tmp_path)
        monkeypatch.undo()
        monkeypatch.setattr(os, "getpid", lambda: 7)
        write_whole(tmp_path / "out", [b"x"])
        assert names_in(tmp_path) == sorted([left, "out"])

    def test_two_writers_of_one_file_do_not_disturb_each_other(self, tmp_path):
        path = tmp_path / "out"
        meeting = threading.Barrier(2)

        def chunks(letter):
            yield letter * 1000
            meeting.wait(timeout=30)
            yield letter * 1000

        writers = [
            threading.Thread(target=write_whole, args=(path, chunks(letter)))
            for letter in (b"a", b"b")
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert path.read_bytes() in (b"a" * 2000, b"b" * 2000)
        assert names_in(tmp_path) == ["out"]

    @pytest.mark.parametrize(("mask", "mode"), [(0, 0o666), (0o027, 0o640), (0o077, 0o600)])
    def test_a_new_file_has_the_mode_the_user_wants_of_new_files(self, tmp_path, umask, mask, mode):
        umask(mask)
        write_whole(tmp_path / "out", [b"x"])
        assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == mode

    @pytest.mark.parametrize(
        ("mask", "old", "new"),
        [
            (0, 0o600, 0o600),
            (0, 0o640, 0o640),
            (0, 0o777, 0o666),
            (0o027, 0o600, 0o600),
            (0o027, 0o666, 0o640),
        ],
    )
    def test_a_file_that_others_may_not_read_stays_so(self, tmp_path, umask, mask, old, new):
        path = tmp_path / "out"
        path.write_bytes(b"old")
        path.chmod(old)
        umask(mask)
        write_whole(path, [b"new"])
        assert stat.S_IMODE(path.stat().st_mode) == new

    def test_nothing_stays_open(self, tmp_path):
        before = open_descriptors()
        write_whole(tmp_path / "out", [b"x"])
        self.unwritten(tmp_path / "out", full_disk())
        self.unwritten(tmp_path)
        assert open_descriptors() == before


def test_a_folder_has_the_hint_of_one():
    with pytest.raises(FileError) as caught:
        inside("../prompts", folder=True)
    assert caught.value.hint == "use a folder below the project's own"
