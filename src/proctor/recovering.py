"""Bringing what killed runs received into the cassettes."""

from __future__ import annotations

from collections.abc import (
    Container,
    Mapping,
)
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from proctor.call_plans import subject_keys
from proctor.canonical import sha256_hex
from proctor.cassette_files import CassetteFolder, Line, read_log, rewrite_cassette
from proctor.cassettes import (
    as_answered,
)
from proctor.errors import raise_all
from proctor.pipeline import ReadySuite
from proctor.planning import Plan
from proctor.records import (
    Answered,
)
from proctor.run_folders import (
    SuiteLock,
    note_received,
    unfinished,
)
from proctor.safe_io import write_whole


class Recovered(NamedTuple):
    """What came of recovering a suite.

    Args:
        taken: How many recordings are in the cassette now.
        held_back: How many are not, by the file that they stay in.
    """

    taken: int
    held_back: dict[Path, int]


def recover(
    folder: CassetteFolder, suite: ReadySuite, plan: Plan, more: Container[str] = ()
) -> Recovered:
    """Bring what killed runs received of a suite into its cassette.

    Only recordings of calls that the plan makes are taken; the rest stays where it is.

    Args:
        folder: Where cassettes are.
        suite: The suite.
        plan: Its plan.
        more: Keys of other calls that are taken as well.

    Raises:
        ProctorError: P6403 or P6404 when a log or the cassette is damaged; nothing changed then.
    """
    name = suite.definition.name
    logs = unfinished(folder.project, name)
    if not logs:
        return Recovered(0, {})
    lines = [(log, key, line) for log in logs for key, line in read_log(log)]
    keys = _keys_of_plan(folder, suite, plan, {key: line for _, key, line in lines})
    received: dict[str, Line] = {}
    left: dict[Path, list[bytes]] = {log: [] for log in logs}
    taken: dict[Path, list[str]] = {log: [] for log in logs}
    for log, key, line in lines:
        if key in keys or key in more:
            received[key] = line
            taken[log].append(sha256_hex(line.raw))
        else:
            left[log].append(line.raw)
    if received:
        rewrite_cassette(folder, name, new=received)
    for log, recordings in taken.items():
        note_received(log, recordings)
    for log, rest in left.items():
        if rest:
            # Without what was taken, which may be out of date when the rest is.
            write_whole(log, [raw + b"\n" for raw in rest])
        else:
            log.unlink()
    held_back = {log: len(rest) for log, rest in left.items() if rest}
    return Recovered(len(received), held_back)


def recover_alone(
    folder: CassetteFolder, suite: ReadySuite, plan: Plan, more: Container[str] = ()
) -> Recovered:
    """The same for a suite that is not being recorded; it is locked meanwhile.

    Raises:
        ProctorError: As `recover`; P6405 when the suite is being recorded elsewhere.
    """
    name = suite.definition.name
    if not unfinished(folder.project, name):
        return Recovered(0, {})
    lock = SuiteLock(folder.project, name)
    try:
        return recover(folder, suite, plan, more)
    finally:
        lock.release()


def _keys_of_plan(
    folder: CassetteFolder, suite: ReadySuite, plan: Plan, received: Mapping[str, Line]
) -> set[str]:
    """The keys that a plan asks for, where answers that were received count as recorded."""
    cassette, problems = folder.open(suite.definition.name)
    with closing(cassette):
        raise_all(problems)

        def find(key: str) -> Answered | None:
            line = received.get(key)
            return cassette.find(key) if line is None else as_answered(line.raw, "")

        keys: set[str] = set()
        for subject in suite.subjects:
            keys |= subject_keys(subject, suite.dataset, plan, find)
        return keys
