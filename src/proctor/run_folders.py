"""`.proctor/`: the machine-local folder of a project, private to its user.

A live run keeps what it receives in `.proctor/runs/<id>/`. The folder is used only when it is a
real directory of this user that nobody else may read, so that nothing another user placed there is
ever taken for an answer.
"""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path

from proctor.clock import Clock
from proctor.errors import CassetteError, FileError, UsageError
from proctor.safe_io import reason_of, write_whole

FOLDER = ".proctor"
README = """\
This folder belongs to one machine and one user: what live runs received, and locks. It is not
committed. Everything in it can be deleted, except the recordings of a run that was killed before
they reached a cassette; `proctor cassette recover` puts them there.
"""


def private_folder(root: Path) -> Path:
    """The project's `.proctor/`, made when it is not there.

    Raises:
        FileError: P6805 when it is a link, belongs to somebody else, or is open to others.
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
    return folder


def require_private(root: Path, path: Path) -> None:
    """Refuse a file in `.proctor/` when that is not a private folder; others are not looked at.

    Raises:
        FileError: P6805 when the folder is a link, belongs to somebody else, or is open to others.
    """
    if path.resolve().is_relative_to((root / FOLDER).resolve()):
        private_folder(root)


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
