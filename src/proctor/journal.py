"""`rows.jsonl`: the rows of a run, each on disk as soon as it has finished.

A journal is appended to and never written anew, in one write to the operating system for each row,
so a run that is killed loses at most the row that was being written.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Self

from proctor.errors import CassetteError, FileError, RunError, UsageError
from proctor.journal_reading import MAX_LINE, StoredJournal, unreadable
from proctor.journal_rows import (
    JournaledRow,
    case_facts,
    journal_row,
    journaled_row,
    recordings_asked_for,
)
from proctor.protocols import RanRow, RowKey
from proctor.records import encode_json
from proctor.records.journal import JournalHead, JournalRow, JournalSuite, LabelledVerdict
from proctor.run_folders import JOURNAL
from proctor.safe_io import reason_of

_BUILDS = "target:python:"
"""What the ids of targets begin with that may build something."""

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Journal:
    """The journal of a run that goes on; made by `create` or `reopen`, and closed at the end.

    No other process can have it open for writing meanwhile.
    """

    def __init__(
        self, file: int, stored: StoredJournal, note: Callable[[str], None] | None
    ) -> None:
        self.head = stored.head
        self._file = file
        self._stored = stored
        self._size = stored.size
        self._note = note
        self._is_faulty = False

    @classmethod
    def create(
        cls, folder: Path, head: JournalHead, *, note: Callable[[str], None] | None = None
    ) -> Self:
        """Begin the journal of a run.

        Args:
            folder: Where it goes; there is no other one there.
            head: What is run.
            note: Is told once when a row could not be kept.

        Raises:
            UsageError: P6004 when there is a journal already, or it cannot be written.
        """
        path = folder / JOURNAL
        try:
            file = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise UsageError(
                f"`{path}` exists already: the rows of two runs do not go into one journal",
                code="P6004",
                hint="name another folder, or go on with that run with `--resume`",
            ) from None
        except OSError as error:
            raise _unwritten(path, error) from error
        try:
            _lock(file, path)
            line = encode_json(head) + b"\n"
            if os.write(file, line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return cls(file, _stored(file, path), note)
        except OSError as error:
            os.close(file)
            path.unlink(missing_ok=True)
            raise _unwritten(path, error) from error
        except BaseException:
            os.close(file)
            raise

    @classmethod
    def reopen(
        cls, folder: Path, head: JournalHead, *, note: Callable[[str], None] | None = None
    ) -> Self:
        """Go on with the journal of a run that has been interrupted.

        Args:
            folder: Where it is.
            head: What is to be run now.
            note: As for `create`.

        Raises:
            RunError: P6704 when it cannot be used, P6707 when something else is to be run now.
            CassetteError: P6405 when its run still goes on.
            FileError: P6805 for a link, folder or device.
        """
        path = folder / JOURNAL
        try:
            file = os.open(path, _FLAGS)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
                raise FileError(
                    f"`{path}` is not a file of its own",
                    code="P6805",
                    hint="a link, folder or device is not followed",
                    where=str(path),
                ) from None
            raise unreadable(path, f"it cannot be read: {reason_of(error)}") from error
        try:
            _lock(file, path)
            stored = _stored(file, path)
            changes = list(changed_since(stored.head, head))
            if changes:
                raise RunError(
                    f"what is run has changed since the run began: {'; '.join(changes)}",
                    code="P6707",
                    hint="give the options and files it was started with, or start a new run",
                    where=str(path),
                )
            # What was being written when the run was killed.
            os.ftruncate(file, stored.size)
            for suite in head.suites:
                for subject in suite.subjects:
                    if subject.model.startswith(_BUILDS) and subject.prompt is None:
                        # What it had built is gone with the process, and is built again: rows of
                        # two builds would not be of one.
                        stored.forget_begun_builds(suite.suite, subject.id)
        except OSError as error:
            os.close(file)
            raise _unwritten(path, error) from error
        except BaseException:
            os.close(file)
            raise
        return cls(file, stored, note)

    def __len__(self) -> int:
        return len(self._stored)

    @property
    def path(self) -> Path:
        """The file."""
        return self._stored.path

    def add(
        self, suite: str, subject: str, ran: RanRow, labelled: Iterable[LabelledVerdict] = ()
    ) -> None:
        """Keep a row that has finished. What goes wrong with that is noted once, and no more.

        Args:
            suite: The suite's name.
            subject: The subject's id.
            ran: The row.
            labelled: What judges decided of it where people have labelled it.
        """
        planned = ran.planned
        facts = None
        if not self._stored.has_facts(suite, planned.place):
            facts = case_facts(planned.whole or planned.case)
        row = journal_row(suite, subject, ran, labelled=list(labelled), facts=facts)
        line = encode_json(row) + b"\n"
        try:
            if len(line) > MAX_LINE:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            if os.write(self._file, line) != len(line):
                # What comes next must not stand on the line that was begun.
                os.ftruncate(self._file, self._size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self._say_once(error)
            return
        self._stored.note(row, self._size, len(line) - 1)
        self._size += len(line)

    def done(self, suite: str, subject: str) -> Mapping[RowKey, JournaledRow]:
        """The rows of a subject that have finished, each read when it is asked for."""
        return _Done(self._stored.rows(suite, subject))

    def recordings_asked_for(self, suite: str) -> frozenset[str]:
        """The recordings of a suite that its rows were asked for, by their SHA-256."""
        subjects = next(one.subjects for one in self.head.suites if one.suite == suite)
        return frozenset(
            recording
            for subject in subjects
            for row in self._stored.rows(suite, subject.id).values()
            for recording in recordings_asked_for(row)
        )

    def close(self) -> None:
        """Close the file, so that others may go on with it."""
        self._stored.close()
        os.close(self._file)

    def _say_once(self, error: OSError) -> None:
        if not self._is_faulty and self._note is not None:
            self._note(
                f"warning: a row cannot be kept in `{JOURNAL}`: {reason_of(error)}; the run goes "
                "on, and resuming it would run that row again"
            )
        self._is_faulty = True


def changed_since(before: JournalHead, now: JournalHead) -> Iterator[str]:
    """What of a run is not what it was, each as a few words."""
    for what, was, is_ in (
        ("Proctor", before.tool.version, now.tool.version),
        ("the project", before.project, now.project),
        ("`--cache`", before.mode, now.mode),
        ("`--shard`", _spell_shard(before), _spell_shard(now)),
    ):
        if was != is_:
            yield f"{what} {was} -> {is_}"
    if before.plan_sha256 == now.plan_sha256:
        return
    found = {suite.suite: suite for suite in now.suites}
    for suite in before.suites:
        if suite.suite not in found:
            yield f"the suite `{suite.suite}` is not run"
        else:
            yield from _suite_changes(suite, found[suite.suite])
    known = {suite.suite for suite in before.suites}
    for name in found.keys() - known:
        yield f"the suite `{name}` was not run"


def _suite_changes(before: JournalSuite, now: JournalSuite) -> Iterator[str]:
    name = before.suite
    subjects = {subject.id: subject for subject in now.subjects}
    for subject in before.subjects:
        other = subjects.pop(subject.id, None)
        if other is None:
            yield f"`{name}`: `{subject.id}` is not run"
        elif other.bundle_sha256 != subject.bundle_sha256:
            yield f"`{name}`: `{subject.prompt or subject.model}` was edited"
        elif other.params != subject.params:
            yield f"`{name}`: the parameters of `{subject.model}`"
    for id_ in subjects:
        yield f"`{name}`: `{id_}` was not run"
    if before.repeats != now.repeats:
        yield f"`{name}`: repeats {before.repeats} -> {now.repeats}"
    if before.dataset.sha256 != now.dataset.sha256:
        yield f"`{name}`: the dataset was edited"
    elif before.cases_sha256 != now.cases_sha256:
        yield f"`{name}`: other cases are selected"
    if before.suite_sha256 != now.suite_sha256:
        yield f"`{name}`: the suite or a rubric was edited"


def _spell_shard(head: JournalHead) -> str:
    shards = head.shards
    return "none" if shards is None else f"{shards.index}/{shards.expected}"


def _lock(file: int, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise CassetteError(
            f"the run of `{path.parent.name}/{path.name}` still goes on",
            code="P6405",
            hint="wait until it has finished",
        ) from None


def _stored(file: int, path: Path) -> StoredJournal:
    os.lseek(file, 0, os.SEEK_SET)
    return StoredJournal(path, os.fdopen(file, "rb", closefd=False))


def _unwritten(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"the journal `{path.parent.name}/{path.name}` cannot be written: {reason_of(error)}",
        code="P6004",
        hint="make room for it, and its folder writable",
    )


class _Done(Mapping[RowKey, JournaledRow]):
    """Rows of a journal as a session gives them."""

    def __init__(self, rows: Mapping[RowKey, JournalRow]) -> None:
        self._rows = rows

    def __getitem__(self, key: RowKey) -> JournaledRow:
        return journaled_row(self._rows[key])

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def __iter__(self) -> Iterator[RowKey]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
