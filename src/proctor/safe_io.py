"""Files of a project that must not be trusted: opened without following links, written whole.

A path in a project file is relative to the root and stays below it. It is opened component by
component from the root's directory descriptor, so a link placed anywhere below the root is refused
and not followed, also when it appears between two looks.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from proctor.errors import FileError, UsageError

MEBIBYTE = 1024 * 1024
MAX_PROJECT_FILE = MEBIBYTE
"""Suites, prompts, configs."""

# Without O_NONBLOCK, opening a FIFO would wait for a writer.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DRIVE_OR_SCHEME = re.compile(r"\A[A-Za-z][A-Za-z0-9+.-]*:")


def inside(path: str, *, base: str = "", where: str | None = None, folder: bool = False) -> str:
    """A path of a project file as its normal form, relative to the root.

    Args:
        path: As written. `..` is fine as long as it stays below the root.
        base: The folder it is relative to, itself relative to the root.
        where: The place of the path in a file, for the message.
        folder: Whether it is one of a folder, for the hint.

    Returns:
        A POSIX path without `.` or `..`.

    Raises:
        FileError: P6805 when the path is absolute, has a drive, a scheme, NUL or a character no
            file name can hold, or leaves the root.
    """
    kind = "folder" if folder else "file"
    if "\0" in path or not path:
        raise _unsafe(f"an empty path, or one with NUL, is not a {kind}", where, kind)
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        message = f"`{path}` has a character that no file name can hold"
        raise _unsafe(message, where, kind) from None
    if path.startswith(("/", "\\")) or _DRIVE_OR_SCHEME.match(path):
        raise _unsafe(f"`{path}` is not a path relative to the project", where, kind)
    parts: list[str] = []
    for part in (*PurePosixPath(base).parts, *path.replace("\\", "/").split("/")):
        if part == "..":
            if not parts:
                raise _unsafe(f"`{path}` leaves the project", where, kind)
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    if not parts:
        raise _unsafe(f"`{path}` is the project's own folder", where, kind)
    return "/".join(parts)


def open_inside(root: Path, relative: str, *, where: str | None = None) -> BinaryIO:
    """Open a regular file below `root` for reading, following no link on the way.

    Args:
        root: The folder everything must stay below; links in its own path are the caller's.
        relative: A path as `inside` returns it.
        where: What refers to the file, for the message.

    Raises:
        FileError: P6805 for a link, folder, FIFO, socket or device.
        OSError: When a component is missing or cannot be read.
    """
    *folders, name = relative.split("/")
    directory = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            below = _open_component(folder, flags, directory, relative, where)
            os.close(directory)
            directory = below
        file = _open_component(name, _READ, directory, relative, where)
    finally:
        os.close(directory)
    return _regular(file, relative, where)


def open_regular(path: Path, *, where: str | None = None) -> BinaryIO:
    """Open a regular file that is no link itself; the folders above it are the caller's.

    Args:
        path: The file. Messages give its name only.
        where: What refers to the file, for the message.

    Raises:
        FileError: P6805 for a link, folder, FIFO, socket or device.
        OSError: When it is missing or cannot be read.
    """
    return _regular(_open_component(path, _READ, None, path.name, where), path.name, where)


def _open_component(
    name: str | Path, flags: int, directory: int | None, shown: str, where: str | None
) -> int:
    try:
        return os.open(name, flags, dir_fd=directory)
    except OSError as error:
        is_link = error.errno == errno.ELOOP or (
            error.errno == errno.ENOTDIR and _is_link(name, directory)
        )
        if is_link:
            link = PurePosixPath(name).name
            raise _unsafe(f"`{shown}` goes through the link `{link}`", where) from None
        if error.errno == errno.ENXIO:
            raise _unsafe(f"`{shown}` is a socket or device, not a file", where) from None
        raise


def _regular(file: int, shown: str, where: str | None) -> BinaryIO:
    kind = os.fstat(file).st_mode
    if not stat.S_ISREG(kind):
        os.close(file)
        what = "a folder" if stat.S_ISDIR(kind) else "a pipe or device"
        raise _unsafe(f"`{shown}` is {what}, not a file", where)
    return os.fdopen(file, "rb")


def _is_link(name: str | Path, directory: int | None) -> bool:
    mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    return stat.S_ISLNK(mode)


def read_inside(
    root: Path, relative: str, *, limit: int = MAX_PROJECT_FILE, where: str | None = None
) -> bytes:
    """The bytes of a regular file below `root`, at most `limit` of them.

    Raises:
        FileError: P6805 as `open_inside`, or when the file is larger than `limit`.
        OSError: When a component is missing or cannot be read.
    """
    with open_inside(root, relative, where=where) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise FileError(
            f"`{relative}` is larger than {limit // 1024} KiB",
            code="P6805",
            hint="split the file",
            where=where or relative,
        )
    return data


def reason_of(error: OSError) -> str:
    """Why the system refused, in its own words, without the path."""
    return (error.strerror or type(error).__name__).lower()


def make_folder(root: Path, relative: str) -> Path:
    """A folder below `root`, made with those on the way when it is not there.

    Args:
        root: The folder everything must stay below.
        relative: A path as `inside` returns it.

    Raises:
        FileError: P6805 when a link stands on the way.
        UsageError: P6004 when it cannot be made.
    """
    folder = root
    try:
        for part in relative.split("/"):
            folder /= part
            if folder.is_symlink():
                raise _unsafe(f"`{relative}` goes through the link `{part}`", None, "folder")
            folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the folder `{relative}` cannot be made: {reason_of(error)}",
            code="P6004",
            hint="make room for it, and its parent writable",
        ) from error
    return folder


def make_named_folder(folder: Path) -> None:
    """A folder that the command line names, made with those above it when it is not there.

    Raises:
        UsageError: P6004 when it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the folder `{folder}` cannot be made: {reason_of(error)}",
            code="P6004",
            hint="name a folder that can be written to",
        ) from error


def write_whole(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file so that it is there whole or not at all.

    A file that exists is replaced when everything has been written; one that others may not read
    stays so. A link, folder or device of that name is left alone.

    Raises:
        UsageError: P6004 when it cannot be written.
    """
    try:
        mode = _mode_to_write(path)
        # Not made of the file's own name, which may be as long as a name can be.
        partial = path.with_name(f".proctor-{os.urandom(8).hex()}.partial")
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            with os.fdopen(descriptor, "wb", buffering=MEBIBYTE) as file:
                for chunk in chunks:
                    file.write(chunk)
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(
            f"`{path}` cannot be written: {reason_of(error)}",
            code="P6004",
            hint="name a file in a folder that exists and has room",
        ) from error


def _mode_to_write(path: Path) -> int:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return 0o666
    if stat.S_ISREG(mode):
        return mode & 0o666
    raise UsageError(
        f"`{path}` exists and is not a regular file",
        code="P6004",
        hint="name a file that may be replaced, or one that is not there",
    )


_HINTS = {
    "file": "use the relative path of a regular file below the project's folder",
    "folder": "use a folder below the project's own",
}


def _unsafe(message: str, where: str | None, kind: str = "file") -> FileError:
    return FileError(
        message,
        code="P6805",
        hint=_HINTS[kind],
        where=where,
    )
