"""A session that answers every row from the cassettes, and calls nobody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Final, NamedTuple

from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode, Cassette
from proctor.errors import ProctorError, raise_all
from proctor.executors.local import LocalExecutor
from proctor.protocols import PlannedRow, RanRow
from proctor.recorded import Replay
from proctor.running.row import ReplayedRows, RowChecks
from proctor.subjects import ReadySubject
from proctor.targets.prompt import PromptTarget


class Recorder(NamedTuple):
    """The command that records what a replay misses: its words, and options of its own."""

    words: str
    options: str = ""

    def spell(self, suite: str, folder: CassetteFolder) -> str:
        """The command for one suite."""
        return f"proctor {self.words} {suite} --cache record{folder.option}{self.options}"


RUN: Final = Recorder("run")


class ReplaySession:
    """Replays suites from a folder of cassettes, which are open until it is closed.

    Args:
        folder: Where the cassettes are.
        suites: The names of the suites.
        recorder: The command that would record what is missing.

    Raises:
        ProctorError: P6403 or P6404 for cassettes that cannot be used, all problems together.
    """

    mode: str = CacheMode.REPLAY.value

    def __init__(
        self, folder: CassetteFolder, suites: Sequence[str], *, recorder: Recorder = RUN
    ) -> None:
        self._folder = folder
        self._recorder = recorder
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
        self,
        suite: str,
        subject: ReadySubject,
        rows: Iterable[PlannedRow],
        timed_out: set[str] | None,
    ) -> Iterator[list[RanRow]]:
        """Answer the rows from the recordings and check them, a batch at a time."""
        command = self._recorder.spell(suite, self._folder)
        target = subject.target
        if not isinstance(target, PromptTarget) and target.needs_code:
            command += " --allow-code"
        source = Replay(self._cassettes[suite], target.subject, command)
        checks = RowChecks(subject.checks, timed_out, source)
        if not isinstance(subject.target, PromptTarget):
            from proctor.replayed_agents import replayed_agent

            yield from replayed_agent(subject, source, checks).run(rows)
            return
        run_rows = ReplayedRows(subject.target, source, checks)
        for batch in LocalExecutor().run(rows, run_rows):
            if not subject.checks.judged:
                yield [RanRow(planned, result, asked=False) for planned, result in batch]
                continue
            yield [
                RanRow(
                    planned,
                    result,
                    asked=False,
                    judge_calls=checks.judge_calls(planned),
                )
                for planned, result in batch
            ]
