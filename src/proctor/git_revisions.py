"""Files as a git revision has them: objects by their names, read by two commands of git.

The name of a revision stands in a project file, so it is held to a form that git cannot take for
an option, a path or an expression, and is resolved to a commit at once. From there on git is given
nothing but the names of objects; trees are read here, so that no path reaches git either. Nothing
is fetched, and no hook, filter or pager is started.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from proctor.errors import SuiteError
from proctor.safe_io import MAX_PROJECT_FILE, MEBIBYTE

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*\Z")
_OBJECT: Final = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_SETTINGS: Final = ("-c", "core.fsmonitor=false", "-c", "safe.bareRepository=explicit")
_MAX_TREE: Final = 16 * MEBIBYTE
_FOLDER: Final = b"40000"
_FILES: Final = (b"100644", b"100755")
"""The modes of regular files; every other is a link or another repository."""


class _Entry(NamedTuple):
    """What a tree says of one name."""

    mode: bytes
    object: str


class Revision:
    """A commit of the git work tree that a project is in.

    Args:
        root: The project's folder.
        name: A branch, a tag or a hash.

    Raises:
        SuiteError: P6206 when it has another form, git is not there, or there is no such commit.
    """

    def __init__(self, root: Path, name: str) -> None:
        self.name = name
        if not _NAME.match(name):
            raise _unreadable(
                f"`{name}` is not the name of a git revision",
                "write a tag, a branch or a hash: letters, digits and `.`, `_`, `/`, `-`",
            )
        top = _top_of(root)
        self._folders = root.relative_to(top).parts
        self._run = _Git(top)
        self.commit = self._resolved(f"{name}^{{commit}}")

    def list_files(self, folder: str, endings: tuple[str, ...]) -> list[str]:
        """Files in a folder of the project whose name has one of these endings, in path order.

        Links are listed too; folders below are not looked into.

        Returns:
            Paths relative to the project's folder. Empty when there is no such folder.
        """
        entries = self._entries((*self._folders, *PurePosixPath(folder).parts))
        names = (os.fsdecode(name) for name, one in entries.items() if one.mode != _FOLDER)
        return sorted(
            (PurePosixPath(folder) / name).as_posix()
            for name in names
            if name.endswith(endings) and not name.startswith(".")
        )

    def read(self, path: str, *, where: str | None = None) -> bytes:
        """The bytes of a file of the project, at most 1 MiB.

        Raises:
            SuiteError: P6206 when it is not there, is no regular file, or is larger.
        """
        *folders, name = PurePosixPath(path).parts
        entry = self._entries((*self._folders, *folders)).get(os.fsencode(name))
        if entry is None or entry.mode not in _FILES:
            what = "is not there" if entry is None else "is not a regular file"
            raise _unreadable(
                f"`{path}` {what} at `{self.name}`",
                "name a revision that has it as a file",
                where,
            )
        data = self._run("cat-file", "blob", entry.object, limit=MAX_PROJECT_FILE + 1)
        if data is None or len(data) > MAX_PROJECT_FILE:
            what = "cannot be read" if data is None else "is larger than 1024 KiB"
            raise _unreadable(
                f"`{path}` {what} at `{self.name}`", "`git fsck` tells what is missing", where
            )
        return data

    def _entries(self, folders: tuple[str, ...]) -> dict[bytes, _Entry]:
        """What is in a folder, by the folders on the way from the top; nothing if it is not one."""
        tree = self._resolved(f"{self.commit}^{{tree}}")
        for folder in folders:
            entry = self._tree(tree).get(os.fsencode(folder))
            if entry is None or entry.mode != _FOLDER:
                return {}
            tree = entry.object
        return self._tree(tree)

    def _tree(self, tree: str) -> dict[bytes, _Entry]:
        data = self._run("cat-file", "tree", tree, limit=_MAX_TREE + 1)
        if data is None or len(data) > _MAX_TREE:
            raise _unreadable(
                f"a folder at `{self.name}` cannot be read", "`git fsck` tells what is missing"
            )
        return dict(_parse_tree(data, len(tree) // 2))

    def _resolved(self, expression: str) -> str:
        data = self._run("rev-parse", "--verify", "--end-of-options", expression, limit=1024)
        found = (data or b"").decode("ascii", "replace").strip()
        if not _OBJECT.match(found):
            raise _unreadable(
                f"git finds no commit `{self.name}` in this work tree",
                f"`git rev-parse --verify {self.name}` says why; fetch it, or correct the label",
            )
        return found


def _parse_tree(data: bytes, digest_size: int) -> Iterator[tuple[bytes, _Entry]]:
    """The entries of a tree: a mode, a space, a name, NUL, and the name of an object in bytes."""
    at = 0
    while at < len(data):
        space = data.index(b" ", at)
        end = data.index(b"\0", space)
        after = end + 1 + digest_size
        yield data[space + 1 : end], _Entry(data[at:space], data[end + 1 : after].hex())
        at = after


def is_tracked(root: Path, folder: str) -> bool:
    """Whether git tracks a file in a folder of the project, and so somebody else may have made it.

    Not when the project is in no work tree, or git is not there or refuses to say.
    """
    try:
        git = _Git(_top_of(root))
    except SuiteError:
        return False
    return bool(git("-C", str(root), "ls-files", "-z", "--", folder, limit=1))


def _top_of(root: Path) -> Path:
    """The folder of the git work tree that a project is in."""
    for folder in (root, *root.parents):
        if (folder / ".git").exists():
            return folder
    raise _unreadable(
        "the project is in no git work tree", "labels name revisions: clone the project with git"
    )


class _Git:
    """Runs git in a work tree.

    Args:
        top: Its folder.
    """

    def __init__(self, top: Path) -> None:
        self._top = top
        self._program = _program(top)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self._environ = kept | {
            "GIT_CEILING_DIRECTORIES": str(top.parent),
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_TERMINAL_PROMPT": "0",
        }

    def __call__(self, *arguments: str, limit: int) -> bytes | None:
        """The first bytes of what git says, None when it fails before that many."""
        command = [self._program, *_SETTINGS, *arguments]
        with subprocess.Popen(  # noqa: S603 - the arguments are ours, see the top of this file
            command,
            cwd=self._top,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as git:
            assert git.stdout is not None  # noqa: S101 - it was asked for
            data = git.stdout.read(limit)
            if len(data) == limit:
                git.kill()
                return data
        return data if git.returncode == 0 else None


def _program(top: Path) -> str:
    """Git, from the first folder of `PATH` that has it and is no part of the work tree."""
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        file = Path(entry) / "git"
        if not file.is_absolute() or not os.access(file, os.X_OK) or not file.is_file():
            continue
        if not any(path.is_relative_to(top) for path in (file, file.resolve())):
            return str(file)
    raise _unreadable("git is not installed", "install it, or run without `--label`")


def _unreadable(message: str, hint: str, where: str | None = None) -> SuiteError:
    return SuiteError(message, code="P6206", hint=hint, where=where)
