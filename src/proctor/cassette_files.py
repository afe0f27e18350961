"""Changing cassettes: the log of a run, merging it, pruning. Files are replaced whole."""

from __future__ import annotations

import errno
import os
from collections.abc import Container, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from proctor.canonical import sha256_hex
from proctor.cassettes import (
    Cassette,
    DamagedRecording,
    KeyCheck,
    as_answered,
    open_cassette,
    prove_recording,
)
from proctor.config import Config
from proctor.errors import CassetteError, ProctorError, UsageError, raise_all
from proctor.records import Answered, Recording
from proctor.safe_io import make_folder, open_regular, reason_of, write_whole

README = """\
Recordings of model answers, one a line, written by `proctor run --cache record`. They are
committed: suites are replayed from them everywhere. Read a change to them as you read a change to
the suite.
"""


class CassetteFolder(Struct, frozen=True):
    """Where cassettes are.

    Args:
        project: The project's folder.
        root: The folder below which no link is followed.
        prefix: The folder of the cassettes, relative to it; empty for the root itself.
        shown: That folder as messages and reports name it.
        option: What a command needs to find it again, with a leading space, or nothing.
    """

    project: Path
    root: Path
    prefix: str
    shown: str
    option: str = ""

    def path(self, suite: str) -> str:
        """The cassette of a suite, relative to the root."""
        return f"{self.prefix}/{suite}.jsonl" if self.prefix else f"{suite}.jsonl"

    def check_writable(self) -> None:
        """See to it, before anything is asked for, that what comes can be stored.

        Raises:
            UsageError: P6004 when nothing can be written where the cassettes are to be.
        """
        folder = self.root / self.prefix
        while not folder.exists():
            folder = folder.parent
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            raise UsageError(
                f"the folder `{self.shown}` cannot be written to",
                code="P6004",
                hint="recordings are stored there; make it writable, or use `--cache off`",
            )

    def writable(self, suite: str) -> Path:
        """The cassette of a suite as a path to write to; its folder is made when needed.

        Raises:
            FileError: P6805 when a link stands on the way below the root.
            UsageError: P6004 when the folder cannot be made.
        """
        if not self.prefix:
            return self.root / f"{suite}.jsonl"
        is_new = not (self.root / self.prefix).exists()
        folder = make_folder(self.root, self.prefix)
        if is_new:
            write_whole(folder / "README.md", [README.encode()])
        return folder / f"{suite}.jsonl"

    def open(self, suite: str) -> tuple[Cassette, list[ProctorError]]:
        """The recordings of a suite, and every problem with them."""
        return open_cassette(self.root, self.path(suite), f"{self.shown}/{suite}.jsonl")


def chosen_folder(config: Config, given: Path | None, *, start: Path) -> CassetteFolder:
    """Where the cassettes of a run are: the project's own folder, or another one.

    Args:
        config: The project.
        given: The other folder.
        start: Where that starts when it is relative.

    Raises:
        UsageError: P6002 when the other folder is not there.
    """
    if given is None:
        prefix = f"{config.values.evals}/cassettes"
        return CassetteFolder(config.root, config.root, prefix, prefix)
    folder = start / given
    if not folder.is_dir():
        raise UsageError(
            f"`--cassettes {given}` is not a folder",
            code="P6002",
            hint="name a folder that holds `<suite>.jsonl` files",
        )
    shown = _shown_path(config.root, folder)
    return CassetteFolder(config.root, folder, "", shown, f" --cassettes {shown}")


def _shown_path(root: Path, path: Path) -> str:
    """A folder as reports may name it: relative to the project, or only its own name."""
    resolved = path.resolve()
    if resolved.is_relative_to(root):
        return resolved.relative_to(root).as_posix()
    return resolved.name


class RecordingLog:
    """Answers in the order they came, on disk before anything else is asked for.

    Args:
        path: The file, which is not there yet.

    Raises:
        UsageError: P6004 when it cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[bytes, tuple[int, int]] = {}
        self._size = 0
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._file = os.open(path, flags, 0o600)
        except OSError as error:
            raise self._lost(error) from error

    def append(self, key: str, raw: bytes) -> None:
        """Keep one line, in one write to the operating system.

        Args:
            key: The key of the recording.
            raw: Its line, without the end.

        Raises:
            UsageError: P6004 when it cannot be written whole; nothing of it is left then.
        """
        line = raw + b"\n"
        try:
            if os.write(self._file, line) != len(line):
                # What is received next must not stand on the line that was begun.
                os.ftruncate(self._file, self._size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise self._lost(error) from error
        self._places[bytes.fromhex(key)] = (self._size, len(raw))
        self._size += len(line)

    def find(self, key: str) -> Answered | None:
        """The answer to a call that has been kept here, or None."""
        place = self._places.get(bytes.fromhex(key))
        if place is None:
            return None
        start, length = place
        raw = os.pread(self._file, length, start)
        return as_answered(raw, sha256_hex(raw))

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _lost(self, error: OSError) -> UsageError:
        # Not the whole path: this may end up in a report, which names no run and no machine.
        return UsageError(
            f"answers of `{self.path.stem}` cannot be kept in `.proctor/`: {reason_of(error)}",
            code="P6004",
            hint="make room there; what was received before is kept",
        )


class Line(NamedTuple):
    """One line of a cassette, with what decides where it stands."""

    place: tuple[str, str, str, str, int, str]
    raw: bytes


def read_log(path: Path) -> Iterator[tuple[str, Line]]:
    """What a run received, in the order it came: key and line.

    A last line that was cut off by a kill is left out.

    Raises:
        CassetteError: P6403 when another line is not a recording, or the file cannot be read.
        FileError: P6805 for a link, folder or device.
    """
    keys = KeyCheck()
    try:
        with open_regular(path) as file:
            for number, line in enumerate(file, 1):
                raw = line.removesuffix(b"\n")
                try:
                    recording = prove_recording(raw, keys)
                except DamagedRecording as damage:
                    if raw == line:
                        return
                    raise CassetteError(
                        f"this recording {damage}",
                        code="P6403",
                        hint=damage.hint or "mend the line, or move the file away",
                        where=f"{path}:{number}",
                    ) from None
                yield recording.key, _line(recording, raw)
    except OSError as error:
        raise CassetteError(
            f"what a run received cannot be read: {reason_of(error)}",
            code="P6403",
            hint="look at the file",
            where=str(path),
        ) from error


def rewrite_cassette(
    folder: CassetteFolder,
    suite: str,
    *,
    new: Mapping[str, Line],
    drop: Container[str] = (),
) -> None:
    """Replace a cassette by its lines and the new ones, sorted; a new line replaces its key's.

    Args:
        folder: Where cassettes are.
        suite: The suite's name.
        new: Lines by key.
        drop: Keys of recordings to leave out.

    Raises:
        ProctorError: P6403 or P6404 when the cassette is damaged; it is left as it is then.
        UsageError: P6004 when it cannot be written.
        FileError: P6805 when a link stands where the cassette goes.
    """
    cassette, problems = folder.open(suite)
    with closing(cassette):
        raise_all(problems)
        lines = {one.key: _line(one, raw) for one, raw in cassette.recordings()}
    kept = {key: line for key, line in {**lines, **new}.items() if key not in drop}
    if kept == lines and not cassette.is_missing:
        return
    write_whole(folder.writable(suite), (line.raw + b"\n" for line in sorted(kept.values())))


def _line(recording: Recording, raw: bytes) -> Line:
    place = (
        recording.model,
        recording.case or "",
        recording.scenario or "",
        recording.call.value,
        recording.take,
        recording.key,
    )
    return Line(place, raw)
