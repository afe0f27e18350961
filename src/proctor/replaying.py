"""A session that answers every row from the cassettes, and calls nobody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from proctor.cassettes import MODE, Cassette, Replay, open_cassette
from proctor.errors import ProctorError, raise_all
from proctor.executors.local import LocalExecutor
from proctor.pipeline import ReadySubject
from proctor.protocols import PlannedRow, RanRow
from proctor.running.row import SubjectRunner


class CassetteFolder(Struct, frozen=True):
    """Where cassettes are.

    Args:
        root: The folder below which no link is followed.
        prefix: The folder of the cassettes, relative to it; empty for the root itself.
        shown: That folder as messages and reports name it.
        option: What a command needs to find it again, with a leading space, or nothing.
    """

    root: Path
    prefix: str
    shown: str
    option: str = ""

    def path(self, suite: str) -> str:
        """The cassette of a suite, relative to the root."""
        return f"{self.prefix}/{suite}.jsonl" if self.prefix else f"{suite}.jsonl"

    def open(self, suite: str) -> tuple[Cassette, list[ProctorError]]:
        """The recordings of a suite, and every problem with them."""
        return open_cassette(self.root, self.path(suite), f"{self.shown}/{suite}.jsonl")


class ReplaySession:
    """Replays suites from a folder of cassettes, which are open until it is closed.

    Args:
        folder: Where the cassettes are.
        suites: The names of the suites.

    Raises:
        ProctorError: P6403 or P6404 for cassettes that cannot be used, all problems together.
    """

    mode = MODE

    def __init__(self, folder: CassetteFolder, suites: Sequence[str]) -> None:
        self._folder = folder
        self._cassettes: dict[str, Cassette] = {}
        problems: list[ProctorError] = []
        with ExitStack() as files:
            for suite in suites:
                cassette, found = folder.open(suite)
                files.callback(cassette.close)
                self._cassettes[suite] = cassette
                problems += found
            raise_all(problems)
            self._files = files.pop_all()

    def close(self) -> None:
        """Close the cassettes."""
        self._files.close()

    def rows(
        self, suite: str, subject: ReadySubject, rows: Iterable[PlannedRow], timed_out: set[str]
    ) -> Iterator[RanRow]:
        """Answer each row from the recordings and check it."""
        command = f"proctor run {suite} --cache record --max-cost USD{self._folder.option}"
        run_row = SubjectRunner(
            target=subject.target,
            source=Replay(self._cassettes[suite], subject.target.subject, command),
            checks=subject.checks,
            timed_out=timed_out,
        )
        for planned, result in LocalExecutor().run(rows, run_row):
            yield RanRow(planned, result, asked=False)
