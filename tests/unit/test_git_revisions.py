import subprocess

import pytest

from proctor import git_revisions
from proctor.errors import SuiteError
from proctor.git_revisions import Revision


@pytest.fixture
def tree(tmp_path):
    """A repository with one commit; its folder."""

    def git(*arguments):
        who = ["-c", "user.name=n", "-c", "user.email=n"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True)

    (tmp_path / "prompts" / "more").mkdir(parents=True)
    (tmp_path / "top.txt").write_text("top", encoding="utf-8")
    for name in ("b.txt", "a b.txt", "caf\u00e9.txt", ".hidden.txt", "c.md", "more/d.txt"):
        (tmp_path / "prompts" / name).write_text(name, encoding="utf-8")
    (tmp_path / "prompts" / "big.txt").write_text("x" * (1024 * 1024 + 1), encoding="utf-8")
    (tmp_path / "prompts" / "full.txt").write_text("x" * 1024 * 1024, encoding="utf-8")
    (tmp_path / "prompts" / "link.txt").symlink_to("b.txt")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "x")
    git("branch", "one")
    return tmp_path


def test_the_files_of_a_folder_are_listed_by_their_endings(tree):
    assert Revision(tree, "one").list_files("prompts", (".txt",)) == [
        "prompts/a b.txt",
        "prompts/b.txt",
        "prompts/big.txt",
        "prompts/caf\u00e9.txt",
        "prompts/full.txt",
        "prompts/link.txt",
    ]


@pytest.mark.parametrize("folder", ["nowhere", "top.txt", "prompts/b.txt/x"])
def test_a_folder_that_is_not_there_has_no_files(tree, folder):
    assert Revision(tree, "one").list_files(folder, (".txt",)) == []


def test_a_file_is_read_as_it_was_and_not_as_it_is(tree):
    (tree / "prompts/caf\u00e9.txt").unlink()
    (tree / "top.txt").write_text("changed", encoding="utf-8")
    revision = Revision(tree, "one")
    assert revision.read("prompts/caf\u00e9.txt") == "caf\u00e9.txt".encode()
    assert revision.read("top.txt") == b"top"
    assert len(revision.read("prompts/full.txt")) == 1024 * 1024
    assert Revision(tree / "prompts", "one").read("more/d.txt") == b"more/d.txt"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("prompts/none.txt", "is not there"),
        ("prompts/link.txt", "not a regular file"),
        ("prompts/more", "not a regular file"),
        ("prompts/big.txt", "larger than 1024 KiB"),
    ],
)
def test_what_is_no_small_file_is_refused(tree, path, said):
    with pytest.raises(SuiteError, match=said) as caught:
        Revision(tree, "one").read(path, where="here")
    assert (caught.value.code, caught.value.where) == ("P6206", "here")


def test_an_object_that_is_gone_is_told(tree):
    revision = Revision(tree, "one")
    for file in (tree / ".git/objects").glob("??/*"):
        file.chmod(0o600)
        file.write_bytes(b"")
    with pytest.raises(SuiteError) as caught:
        revision.read("top.txt")
    assert caught.value.code == "P6206"


def test_a_tree_that_git_makes_too_large_is_refused(tree, monkeypatch):
    monkeypatch.setattr(git_revisions, "_MAX_TREE", 10)
    with pytest.raises(SuiteError, match="cannot be read"):
        Revision(tree, "one").list_files("prompts", (".txt",))


def test_a_folder_that_only_looks_like_a_work_tree_is_not_looked_for_further_up(tree):
    inner = tree / "prompts"
    (inner / ".git").mkdir()
    with pytest.raises(SuiteError, match="finds no commit"):
        Revision(inner, "one")
