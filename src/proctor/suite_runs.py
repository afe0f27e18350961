"""Running what was selected, with answers from the recordings or asked for, and the report of it.

The command line, the functions of the package and the pytest plugin all come through here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from shlex import quote

from proctor.asking_rules import AskingRules, Watch
from proctor.cassette_files import CassetteFolder
from proctor.config import Config
from proctor.evaluation import SelectedSuite, Session, evaluate
from proctor.keeping import NOTHING_KEPT, Keeping
from proctor.protocols import PlannedRow, RanRow
from proctor.replaying import RUN, Recorder, ReplaySession
from proctor.reporting import RunReport
from proctor.subjects import ReadySubject


def run_selected(
    rules: AskingRules,
    selected: Sequence[SelectedSuite],
    *,
    folder: CassetteFolder,
    config: Config,
    watch: Watch,
    answers: bool = True,
    recorder: Recorder = RUN,
    keeping: Keeping = NOTHING_KEPT,
) -> RunReport:
    """Run suites and make the report.

    Args:
        rules: Where answers come from, and what asking for them may do.
        selected: What to run. A suite may stand there several times, with other rows each time.
        folder: Where cassettes are.
        config: The project.
        watch: Who follows it. Rows that a stop leaves out are reported as not run.
        answers: Whether the report holds answers, inputs, expected values, evidence and reasons.
        recorder: The command that would record what a replay misses.
        keeping: Where rows and the report are kept, for runs that may go on later.

    Raises:
        ProctorError: What stands in the way, all of it together; nobody was asked then, unless it
            is that what was received cannot be stored.
    """
    if rules.is_live:
        from proctor.live_runs import run_live

        return run_live(
            rules,
            selected,
            folder=folder,
            config=config,
            watch=watch,
            answers=answers,
            keeping=keeping,
        )
    names = list(dict.fromkeys(one.name for one in selected))
    with closing(ReplaySession(folder, names, recorder=recorder)) as session:
        replayed: Session = session if watch.stop is None else _Stoppable(session, watch)
        if not keeping.is_asked_for:
            return evaluate(config, selected, replayed, answers=answers, shards=keeping.place)
        from proctor.run_keeping import replay_kept

        return replay_kept(
            config, selected, replayed, answers=answers, keeping=keeping, note=watch.note
        )


def recorder_of(repeats: int | None, label: str | None) -> Recorder:
    """The command that records what a replay misses, with what makes it be of the same rows."""
    options = "" if repeats is None else f" --repeats {repeats}"
    return Recorder("run", options if label is None else f"{options} --label {quote(label)}")


class _Stoppable:
    """A replay that ends between two batches of rows when somebody says so."""

    def __init__(self, session: ReplaySession, watch: Watch) -> None:
        self.mode = session.mode
        self._session = session
        self._watch = watch

    def rows(
        self,
        suite: str,
        subject: ReadySubject,
        rows: Iterable[PlannedRow],
        timed_out: set[str] | None,
    ) -> Iterator[list[RanRow]]:
        """The rows of the replay, until it is stopped."""
        for batch in self._session.rows(suite, subject, rows, timed_out):
            if self._watch.stop is not None and self._watch.stop.requested:
                return
            yield batch
