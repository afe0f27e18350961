"""Changing cassettes: the log of a run, merging it, pruning. Files are replaced whole."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from pathlib import Path

from msgspec import Struct

from proctor.cassettes import (
    Cassette,
    DamagedRecording,
    KeyCheck,
    open_cassette,
    prove_recording,
)
from proctor.errors import CassetteError, FileError, ProctorError, UsageError
from proctor.records import Recording
from proctor.safe_io import open_regular, reason_of, write_whole

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

    def writable(self, suite: str) -> Path:
        """The cassette of a suite as a path to write to; its folder is made when needed.

        Raises:
            FileError: P6805 when a link stands on the way below the root.
            UsageError: P6004 when the folder cannot be made.
        """
        folder = self.root
        for part in self.prefix.split("/") if self.prefix else ():
            folder = folder / part
            if folder.is_symlink():
                raise FileError(
                    f"`{self.shown}` goes through the link `{part}`",
                    code="P6805",
                    hint="use a folder below the project's own",
                )
        try:
            if not folder.is_dir():
                folder.mkdir(parents=True)
                write_whole(folder / "README.md", [README.encode()])
        except OSError as error:
            raise UsageError(
                f"the folder `{self.shown}` cannot be made: {reason_of(error)}",
                code="P6004",
                hint="make the project's folder writable",
            ) from error
        return folder / f"{suite}.jsonl"

    def open(self, suite: str) -> tuple[Cassette, list[ProctorError]]:
        """The recordings of a suite, and every problem with them."""
        return open_cassette(self.root, self.path(suite), f"{self.shown}/{suite}.jsonl")


class RecordingLog:
    """Answers in the order they came, on disk before anything else is asked for.

    Args:
        path: The file; lines are appended.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)

    def append(self, raw: bytes) -> None:
        """Keep one line, in one write to the operating system.

        Raises:
            UsageError: P6004 when it was not written whole.
        """
        line = raw + b"\n"
        try:
            written = os.write(self._file, line)
        except OSError as error:
            raise self._lost(reason_of(error)) from error
        if written != len(line):
            raise self._lost("no room")

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _lost(self, reason: str) -> UsageError:
        return UsageError(
            f"an answer could not be kept in `{self.path}`: {reason}",
            code="P6004",
            hint="make room; what was received before is kept",
        )


def read_log(path: Path) -> list[tuple[Recording, bytes]]:
    """What a run received, in the order it came, each with its raw line.

    A last line that was cut off by a kill is left out.

    Raises:
        CassetteError: P6403 when another line is not a recording.
        FileError: P6805 for a link, folder or device.
    """
    with open_regular(path) as file:
        *lines, last = file.read().split(b"\n")
    keys = KeyCheck()
    received: list[tuple[Recording, bytes]] = []
    for number, raw in enumerate([*lines, last], 1):
        try:
            received.append((prove_recording(raw, keys), raw))
        except DamagedRecording as damage:
            if number <= len(lines):
                raise CassetteError(
                    f"this recording {damage}",
                    code="P6403",
                    hint="mend the line, or move the file away",
                    where=f"{path}:{number}",
                ) from None
    return received


def rewrite_cassette(
    folder: CassetteFolder,
    suite: str,
    *,
    new: Mapping[str, tuple[Recording, bytes]],
    drop: Container[str] = (),
) -> None:
    """Replace a cassette by its lines and the new ones, sorted; a new line replaces its key's.

    Args:
        folder: Where cassettes are.
        suite: The suite's name.
        new: Recordings by key, each with its raw line.
        drop: Keys of recordings to leave out.

    Raises:
        ProctorError: P6403 or P6404 when the cassette is damaged; it is left as it is then.
        UsageError: P6004 when it cannot be written.
        FileError: P6805 when a link stands where the cassette goes.
    """
    cassette, problems = folder.open(suite)
    try:
        for problem in problems:
            raise problem
        lines = {recording.key: (recording, raw) for recording, raw in cassette.recordings()}
    finally:
        cassette.close()
    kept = {key: line for key, line in {**lines, **new}.items() if key not in drop}
    if kept == lines and list(kept) == list(lines) and not cassette.is_missing:
        return
    ordered = sorted(kept.values(), key=lambda line: _place(line[0]))
    path = folder.writable(suite)
    write_whole(path, (raw + b"\n" for _, raw in ordered))


def _place(recording: Recording) -> tuple[str, str, str, str, int, str]:
    return (
        recording.model,
        recording.case or "",
        recording.scenario or "",
        recording.call.value,
        recording.take,
        recording.key,
    )
