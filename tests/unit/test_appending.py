"""Adding to the end of a file of a project."""

import os
import stat

import pytest

from proctor.errors import FileError, UsageError
from proctor.safe_io import append_inside


@pytest.mark.parametrize(
    ("before", "after"), [(None, b"two\n"), (b"", b"two\n"), (b"one\n", b"one\ntwo\n")]
)
def test_a_line_is_added(tmp_path, before, after):
    if before is not None:
        (tmp_path / "lines").write_bytes(before)
    append_inside(tmp_path, "lines", b"two\n")
    assert (tmp_path / "lines").read_bytes() == after


def test_a_last_line_without_an_end_gets_one(tmp_path):
    (tmp_path / "lines").write_bytes(b"one")
    append_inside(tmp_path, "lines", b"two\n")
    assert (tmp_path / "lines").read_bytes() == b"one\ntwo\n"


def test_a_new_file_and_its_folders_are_made_and_it_is_no_program(tmp_path):
    append_inside(tmp_path, "a/b/lines", b"one\n")
    mode = (tmp_path / "a/b/lines").stat().st_mode
    assert stat.S_ISREG(mode)
    assert not mode & 0o111


@pytest.mark.parametrize("link", ["a", "a/lines"])
def test_a_link_is_not_followed(tmp_path, link):
    (tmp_path / "outside").mkdir()
    target = tmp_path / "outside" / ("lines" if link == "a/lines" else "")
    (tmp_path / "root" / link).parent.mkdir(parents=True)
    (tmp_path / "root" / link).symlink_to(target)
    with pytest.raises(FileError) as caught:
        append_inside(tmp_path / "root", "a/lines", b"one\n")
    assert caught.value.code == "P6805"
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_pipe_is_left_alone(tmp_path):
    os.mkfifo(tmp_path / "lines")
    with pytest.raises(FileError):
        append_inside(tmp_path, "lines", b"one\n")


def test_a_folder_in_the_way_is_told(tmp_path):
    (tmp_path / "lines").mkdir()
    with pytest.raises(UsageError, match="`lines` cannot be written: is a directory") as caught:
        append_inside(tmp_path, "lines", b"one\n")
    assert caught.value.code == "P6004"


def test_a_full_disk_leaves_nothing_of_a_line(tmp_path, monkeypatch):
    (tmp_path / "lines").write_bytes(b"one\n")
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:2]))
    with pytest.raises(UsageError, match="no space left on device"):
        append_inside(tmp_path, "lines", b"two\n")
    assert (tmp_path / "lines").read_bytes() == b"one\n"
