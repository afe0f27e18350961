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
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Literal, NamedTuple

from proctor.errors import FileError, UsageError

MEBIBYTE = 1024 * 1024
MAX_PROJECT_FILE = MEBIBYTE
"""Suites, prompts, configs."""

# Without O_NONBLOCK, opening a FIFO would wait for a writer.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# Going through a folder needs no permission to list it, where the platform can say so.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
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
    directory = _open_folder(root, folders, relative, where)
    try:
        file = _open_component(name, _READ, directory, relative, where)
    finally:
        os.close(directory)
    return _regular(file, relative, where)


def _open_folder(start: str | Path, folders: Iterable[str], shown: str, where: str | None) -> int:
    """The descriptor of a folder, reached one component at a time and through no link.

    It is for the caller to close. The path of `start` itself may go through links.
    """
    directory = os.open(start, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            below = _open_component(folder, _FOLDER, directory, shown, where)
            os.close(directory)
            directory = below
    except BaseException:
        os.close(directory)
        raise
    return directory


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
        return os.open(name, flags, 0o666, dir_fd=directory)
    except OSError as error:
        is_link = error.errno == errno.ELOOP or (
            error.errno == errno.ENOTDIR and _is_link(name, directory)
        )
        if is_link:
            link = PurePosixPath(name).name
            message = f"`{shown}` goes through the link `{link}`"
            raise _LinkError(message, code="P6805", hint=_HINTS["file"], where=where) from None
        if error.errno == errno.ENXIO:
            raise _unsafe(f"`{shown}` is a socket or device, not a file", where) from None
        raise


def _regular(
    file: int, shown: str, where: str | None, mode: Literal["rb", "ab"] = "rb"
) -> BinaryIO:
    kind = os.fstat(file).st_mode
    if not stat.S_ISREG(kind):
        os.close(file)
        what = "a folder" if stat.S_ISDIR(kind) else "a pipe or device"
        raise _unsafe(f"`{shown}` is {what}, not a file", where)
    return os.fdopen(file, mode)


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
        return _at_most(limit, file.read(limit + 1), relative, where)


def _at_most(limit: int, data: bytes, shown: str, where: str | None) -> bytes:
    if len(data) > limit:
        raise FileError(
            f"`{shown}` is larger than {limit // 1024} KiB",
            code="P6805",
            hint="split the file",
            where=where or shown,
        )
    return data


def read_unchanged_inside(
    root: Path, relative: str, *, limit: int, where: str | None = None
) -> bytes:
    """The same as `read_inside`, of a file that must stay what it is while it is read.

    Raises:
        FileError: P6805 as `read_inside`, or when the file has changed or been replaced meanwhile.
        OSError: When a component is missing or cannot be read.
    """
    *folders, name = relative.split("/")
    return _read_unchanged(_Named(root, folders, name, relative, where), limit)


def read_supplied(path: Path, *, limit: int) -> bytes:
    """The bytes of a file that the command line names, no component of its path being a link.

    The folders above it count too, as far as they are written: a temporary folder that is a link
    itself is refused. So is a file that changes or is replaced while it is read.

    Args:
        path: The file, absolute or from the current folder.
        limit: How many bytes it may have.

    Raises:
        FileError: P6805 for a link, which the message names beside the path to use instead, for a
            folder, FIFO or device, for a larger file, and for one that changed meanwhile.
        OSError: When a component is missing or cannot be read.
    """
    *folders, name = path.parts[1 if path.is_absolute() else 0 :] or (".",)
    start = path.anchor or "."
    try:
        return _read_unchanged(_Named(start, folders, name, str(path), None), limit)
    except _LinkError as error:
        error.hint = f"use `{os.path.realpath(path)}`, which it leads to now"
        raise


class _LinkError(FileError):
    """A link stands on the way to a file (P6805)."""


class _Named(NamedTuple):
    """A file by the way to it: where that starts, the folders, its name, and what is shown."""

    start: str | Path
    folders: Sequence[str]
    name: str
    shown: str
    where: str | None


def _read_unchanged(named: _Named, limit: int) -> bytes:
    is_same = False
    directory = _open_folder(named.start, named.folders, named.shown, named.where)
    try:
        opened = _open_component(named.name, _READ, directory, named.shown, named.where)
        with _regular(opened, named.shown, named.where) as file:
            before = _identity(os.fstat(file.fileno()))
            data = file.read(limit + 1)
            after = _identity(os.fstat(file.fileno()))
        with suppress(FileNotFoundError):
            found = os.stat(named.name, dir_fd=directory, follow_symlinks=False)
            is_same = before == after == _identity(found)
    finally:
        os.close(directory)
    if not is_same:
        message = f"`{named.shown}` changed while it was read"
        raise FileError(
            message, code="P6805", hint="try again when nobody writes it", where=named.where
        )
    return _at_most(limit, data, named.shown, named.where)


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def append_inside(root: Path, relative: str, data: bytes) -> None:
    """Add to the end of a file below `root`, in one write; it is made when it is not there.

    What was there gets the end of its last line first, if that has none.

    Args:
        root: The folder everything must stay below; links in its own path are the caller's.
        relative: A path as `inside` returns it.
        data: What to add.

    Raises:
        FileError: P6805 when a link, pipe or device stands in the way.
        UsageError: P6004 when it cannot be written; nothing is added then.
    """
    folder, _, name = relative.rpartition("/")
    path = (make_folder(root, folder) if folder else root) / name
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = _open_component(path, flags, None, relative, None)
        with _regular(descriptor, relative, None) as file:
            size = file.seek(0, os.SEEK_END)
            if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
                data = b"\n" + data
            if os.write(file.fileno(), data) != len(data):
                os.ftruncate(file.fileno(), size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError as error:
        raise UsageError(
            f"`{relative}` cannot be written: {reason_of(error)}",
            code="P6004",
            hint="make room for it, and the file writable",
        ) from error


def append_named(path: Path, data: bytes) -> None:
    """Add to the end of a file that is no link itself, after an empty line if it holds something.

    It is made when it is not there. The folders above it are the caller's.

    Raises:
        FileError: P6805 for a link, pipe or device.
        OSError: When it cannot be written.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = _open_component(path, flags, None, path.name, None)
    with _regular(descriptor, path.name, None, "ab") as file:
        file.write(b"\n" + data if file.tell() else data)


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
        mode = mode_to_write(path)
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
        raise unwritten(path, error) from error


def write_new(path: Path, chunks: Iterable[bytes]) -> None:
    """The same for a file that must not be there yet; nothing is asked for when it is.

    Raises:
        UsageError: P6004 when it is there, or cannot be written.
    """
    try:
        path.open("xb").close()
    except FileExistsError:
        raise UsageError(
            f"`{path}` exists already", code="P6004", hint="name a new file; nothing was written"
        ) from None
    except OSError as error:
        raise unwritten(path, error) from error
    try:
        write_whole(path, chunks)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def unwritten(path: Path, error: OSError) -> UsageError:
    """The problem of a file that the system did not let be written."""
    return UsageError(
        f"`{path}` cannot be written: {reason_of(error)}",
        code="P6004",
        hint="name a file in a folder that exists and has room",
    )


def mode_to_write(path: Path) -> int:
    """The mode of a file that is about to be written whole.

    Raises:
        OSError: When nothing can be there.
        UsageError: P6004 for a link, folder or device, which is left alone.
    """
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
