"""`.proctor/`: the machine-local folder of a project, private to its user.

A live run keeps what it receives in `.proctor/runs/<id>/`. The folder is used only when it is a
real directory of this user that nobody else may read and git tracks nothing of, so that nothing
another user placed there is ever taken for an answer.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from proctor.clock import Clock
from proctor.errors import CassetteError, FileError, UsageError
from proctor.git_revisions import is_tracked
from proctor.safe_io import open_regular, reason_of, write_whole

FOLDER = ".proctor"
JOURNAL: Final = "rows.jsonl"
"""The journal of a run, in its folder."""
MAX_NOTES: Final = 128 * 1024 * 1024

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")
_is_tracked = cache(is_tracked)
README = """\
This folder belongs to one machine and one user: what live runs received, and locks. It is not
committed. Everything in it can be deleted, except the recordings of a run that was killed before
they reached a cassette; `proctor cassette recover` puts them there.
"""


def private_folder(root: Path) -> Path:
    """The project's `.proctor/`, made when it is not there.

    Raises:
        FileError: P6805 when it is a link, belongs to somebody else, is open to others, or is
            tracked by git.
        UsageError: P6004 when it cannot be made.
    """
    folder = root / FOLDER
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise _not_made(FOLDER, error) from error
    else:
        write_whole(folder / ".gitignore", [b"*\n"])
        write_whole(folder / "README.md", [README.encode()])
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise FileError(
            f"`{FOLDER}/` is not a private folder of yours",
            code="P6805",
            hint=f"look at it, then `chmod 700 {FOLDER}` or move it away",
            where=FOLDER,
        )
    if _is_tracked(root, FOLDER):
        raise FileError(
            f"git tracks files in `{FOLDER}/`, so somebody else may have made them",
            code="P6805",
            hint=f"look at them, then `git rm -r --cached {FOLDER}` and delete them",
            where=FOLDER,
        )
    return folder


def require_private(root: Path, path: Path) -> None:
    """Refuse a file in `.proctor/` when that is not a private folder; others are not looked at.

    Raises:
        FileError: P6805 as `private_folder`.
    """
    if path.resolve().is_relative_to((root / FOLDER).resolve()):
        private_folder(root)


def require_trusted(path: Path) -> None:
    """Refuse a file that stands in a `.proctor/` that must not be used, whichever project's it is.

    Raises:
        FileError: P6805 as `private_folder`.
    """
    for folder in (path.resolve(), *path.resolve().parents):
        if folder.name == FOLDER:
            private_folder(folder.parent)


def _not_made(what: str, error: OSError) -> UsageError:
    return UsageError(
        f"`{what}` cannot be made: {reason_of(error)}",
        code="P6004",
        hint="a live run keeps what it receives there; make the project's folder writable",
    )


class RunFolder:
    """The folder of one live run.

    Args:
        folder: `.proctor/runs/<id>`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.id = folder.name

    def recorded(self, suite: str) -> Path:
        """Where the run keeps the recordings of a suite until they are in its cassette."""
        return self.folder / "recorded" / f"{suite}.jsonl"

    def received(self, suite: str) -> frozenset[str]:
        """What the run has received of a suite and is in its cassette, by the SHA-256 of its lines.

        Raises:
            FileError: P6805 for a link, folder or device.
        """
        try:
            with open_regular(_received(self.recorded(suite))) as file:
                return frozenset(file.read(MAX_NOTES).decode("ascii", "replace").split())
        except OSError:
            return frozenset()


def note_received(log: Path, recordings: Iterable[str]) -> None:
    """Note that lines of a run's log have reached the cassette, by their SHA-256.

    Only a run that goes on later needs to know, to tell what it was asked for from what it found.
    Nothing is lost when it cannot be noted but that.
    """
    path = _received(log)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.writelines(f"{recording}\n".encode() for recording in recordings)


def _received(log: Path) -> Path:
    return log.parents[1] / "received" / f"{log.stem}.txt"


def new_run_folder(root: Path, clock: Clock) -> RunFolder:
    """Make the folder of a run that starts now, and note it as the latest.

    Raises:
        FileError: P6805 when `.proctor/` must not be used.
        UsageError: P6004 when the folder cannot be made.
    """
    runs = private_folder(root) / "runs"
    name = f"{clock.now():%Y%m%dt%H%M%Sz}-{clock.token()}"
    try:
        (runs / name / "recorded").mkdir(parents=True, mode=0o700)
    except OSError as error:
        raise _not_made(f"{FOLDER}/runs/{name}", error) from error
    write_whole(runs / "latest", [f"{name}\n".encode()])
    return RunFolder(runs / name)


def find_run(root: Path, id_: str | None = None) -> RunFolder:
    """A run of the project that has a journal: the one of an id, or the newest.

    Raises:
        UsageError: P6002 when there is none.
        FileError: P6805 when `.proctor/` must not be used.
    """
    runs = root / FOLDER / "runs"
    if (root / FOLDER).exists():
        private_folder(root)
    found = sorted(path.parent.name for path in runs.glob(f"*/{JOURNAL}"))
    if id_ is None and found:
        return RunFolder(runs / found[-1])
    if id_ in found and _NAME.match(id_):
        return RunFolder(runs / id_)
    raise UsageError(
        "there is no run with a journal" if id_ is None else f"there is no run `{id_}`",
        code="P6002",
        hint=f"the newest is `{found[-1]}`"
        if found
        else f"live runs leave one each in `{FOLDER}/runs/`",
    )


def run_of_id(root: Path, id_: str) -> RunFolder | None:
    """The folder of a run of the project, None when it is not there any more.

    Raises:
        FileError: P6805 when `.proctor/` must not be used.
    """
    folder = root / FOLDER / "runs" / id_
    if not _NAME.match(id_) or not (folder / "recorded").is_dir():
        return None
    private_folder(root)
    return RunFolder(folder)


def unfinished(root: Path, suite: str) -> list[Path]:
    """Recordings of earlier runs that have not reached the cassette of a suite, oldest first."""
    runs = root / FOLDER / "runs"
    if not runs.is_dir():
        return []
    private_folder(root)
    return sorted(path for path in runs.glob(f"*/recorded/{suite}.jsonl") if not path.is_symlink())


class SuiteLock:
    """Keeps a second process from recording the same suite; the kernel lets go at any exit.

    Args:
        root: The project's folder.
        suite: The suite's name.

    Raises:
        CassetteError: P6405 when another process holds it.
        FileError: P6805 when `.proctor/` must not be used.
        UsageError: P6004 when the lock cannot be made.
    """

    def __init__(self, root: Path, suite: str) -> None:
        folder = private_folder(root) / "locks"
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            folder.mkdir(exist_ok=True, mode=0o700)
            self._file = os.open(folder / f"{suite}.lock", flags, 0o600)
        except OSError as error:
            raise _not_made(f"{FOLDER}/locks/{suite}.lock", error) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            if not isinstance(error, BlockingIOError):
                raise _not_made(f"{FOLDER}/locks/{suite}.lock", error) from error
            raise CassetteError(
                f"the suite `{suite}` is being recorded by another process",
                code="P6405",
                hint="wait until it has finished",
            ) from None

    def release(self) -> None:
        """Let others record the suite."""
        os.close(self._file)
