"""What is kept of a run: its rows as they finish, and always a report of them, whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

from msgspec.structs import replace

from proctor.config import Config
from proctor.errors import ProctorError
from proctor.evaluation import SelectedSuite, Session, evaluate
from proctor.journal import Journal
from proctor.journaling import JournaledSession, NoSession, RowKeeper, RunFacts, run_head
from proctor.keeping import Keeping
from proctor.merging import report_of
from proctor.protocols import RanRow
from proctor.records import RenderOptions
from proctor.records.journal import ShardPlace
from proctor.reporting import RunReport
from proctor.run_folders import RunFolder, find_run, run_of_id
from proctor.run_parts import open_part
from proctor.safe_io import make_named_folder, write_whole
from proctor.subjects import ReadySubject
from proctor.tracker_protocols import Wrap, unwrapped

REPORT = "report.json"
COMMENT = "comment.md"


def replay_kept(
    config: Config,
    selected: Sequence[SelectedSuite],
    session: Session,
    *,
    answers: bool,
    keeping: Keeping,
    note: Callable[[str], None],
) -> RunReport:
    """Replay suites and make the report, which is kept with every row.

    Args:
        config: The project.
        selected: What to run.
        session: Where answers come from.
        answers: Whether the report holds answers, inputs, expected values, evidence and reasons.
        keeping: Where it is kept.
        note: Takes one line for the reader.
    """
    facts = RunFacts(mode=session.mode, answers=answers)
    with closing(RunRecord(config, selected, facts=facts, keeping=keeping, note=note)) as record:
        if record.is_finished:
            return record.finish()
        record.begin()
        return record.evaluate(session, keep=True)


class RunRecord:
    """The journal of a run, and what is made of it; close it at the end.

    Args:
        config: The project.
        selected: What is run. When a suite stands there several times, its rows cannot be told
            apart, and no journal is kept.
        facts: How.
        keeping: Where it goes.
        note: Takes one line for the reader.

    Raises:
        RunError: P6704 when the journal of the run that goes on cannot be used, P6707 when
            something else is to be run now.
        ProctorError: P6002 when there is no such run, P6405 when it still goes on.
    """

    def __init__(
        self,
        config: Config,
        selected: Sequence[SelectedSuite],
        *,
        facts: RunFacts,
        keeping: Keeping,
        note: Callable[[str], None],
    ) -> None:
        self._config = config
        self._selected = selected
        self._place = keeping.place
        shards = None if self._place is None else ShardPlace(**self._place)
        self._facts = replace(facts, shards=shards)
        self._folder = keeping.folder
        self._tracker = keeping.tracker
        self._note = note
        self._keeper = RowKeeper(config, selected)
        self._journal: Journal | None = None
        self.resumed: RunFolder | None = None
        """The folder of the run that goes on, as far as it has one of its own."""
        if keeping.resume is None:
            return
        if self._folder is None:
            self.resumed = find_run(config.root, keeping.resume or None)
            self._folder = self.resumed.folder
        head = run_head(config, selected, self._facts)
        self._journal = Journal.reopen(self._folder, head, note=note)
        if self.resumed is None and self._journal.head.run is not None:
            self.resumed = run_of_id(config.root, self._journal.head.run)

    @property
    def left(self) -> int:
        """How many rows are to be run."""
        rows = sum(one.plan.rows for one in self._selected)
        return rows if self._journal is None else rows - len(self._journal)

    @property
    def is_finished(self) -> bool:
        """Whether the run goes on with one of which every row has been kept."""
        return self._journal is not None and not self.left

    def claimed(self) -> dict[str, frozenset[str]]:
        """Per suite the recordings that the rows of the run that goes on asked for."""
        journal = self._journal
        if journal is None:
            return {}
        return {one.suite: journal.recordings_asked_for(one.suite) for one in journal.head.suites}

    @property
    def wrap(self) -> Wrap:
        """Notes what takes time, for whoever follows the run."""
        return unwrapped if self._tracker is None else self._tracker.wrap

    def begin(self, run: RunFolder | None = None) -> None:
        """Begin the journal, unless the run goes on with one.

        Args:
            run: The folder of the run, None when it has none of its own.

        Raises:
            UsageError: P6004 when it cannot be written, or is there already.
        """
        if self._folder is None:
            assert run is not None  # noqa: S101 - a run without a folder names one
            self._folder = run.folder
        else:
            make_named_folder(self._folder)
        names = {one.name for one in self._selected}
        if self._journal is not None or len(names) < len(self._selected):
            return
        facts = replace(self._facts, run=None if run is None else run.id)
        head = run_head(self._config, self._selected, facts)
        self._journal = Journal.create(self._folder, head, note=self._note)

    def keep(self, suite: str, subject: ReadySubject, ran: RanRow) -> None:
        """Keep a row that has just finished, and tell whoever follows the run."""
        if self._journal is not None:
            self._keeper.keep(self._journal, suite, subject, ran)
        if self._tracker is not None:
            self._tracker.finished(suite, subject.target.subject, ran)

    def evaluate(self, session: Session, *, keep: bool = False) -> RunReport:
        """Run the rows that have not been kept, and write the report of all of them.

        There is a report of what was kept even when something goes wrong.

        Args:
            session: Runs them.
            keep: Whether to keep each of them, because the session does not see to it.
        """
        if self._journal is None:
            return self._evaluate(session)
        kept = JournaledSession(self._journal, session, keep=self.keep if keep else None)
        with self._reported(self._journal):
            return self._evaluate(kept)

    def finish(self) -> RunReport:
        """The report of a run that has nothing left to do."""
        assert self._journal is not None  # noqa: S101 - it has been looked into
        name = self._journal.head.run or self._journal.path.parent.name
        self._note(f"the run `{name}` has finished: there is nothing to do")
        return self._evaluate(JournaledSession(self._journal, NoSession(self._facts.mode)))

    def close(self) -> None:
        """Close the journal, so that others may go on with it."""
        if self._journal is not None:
            self._journal.close()

    def _evaluate(self, session: Session) -> RunReport:
        report = evaluate(
            self._config,
            self._selected,
            session,
            answers=self._facts.answers,
            shards=self._place,
        )
        if self.resumed is not None:
            from proctor.merging import prove

            # What was kept is somebody's claim by now.
            prove(report, self.resumed.id)
        self._write(report)
        return report

    def _write(self, report: RunReport) -> None:
        from proctor.rendering.markdown import render_markdown
        from proctor.rendering.report_json import render_json

        assert self._folder is not None  # noqa: S101 - the journal has begun
        write_whole(self._folder / REPORT, render_json(report, RenderOptions()))
        write_whole(self._folder / COMMENT, render_markdown(report, RenderOptions()))

    @contextmanager
    def _reported(self, journal: Journal) -> Iterator[None]:
        try:
            yield
        except BaseException:
            # What stops the run is what has to be heard of; the rest is only noted.
            try:
                part = open_part(journal.path, journal.path.parent.name)
                with closing(part):
                    self._write(report_of(part))
            except ProctorError as problem:
                self._note(f"warning: there is no report of the run: {problem.message}")
            raise
