"""A session that answers every row from the cassettes, and calls nobody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing

from msgspec import Struct

from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode, Cassette, answer_keys
from proctor.errors import ProctorError, raise_all
from proctor.evaluation import SelectedSuite
from proctor.executors.local import LocalExecutor
from proctor.loading.datasets import Dataset
from proctor.pipeline import ReadySubject
from proctor.planning import Plan
from proctor.protocols import PlannedRow, RanRow
from proctor.recorded import Replay
from proctor.running.row import ReplayedRows, RowChecks


class ReplaySession:
    """Replays suites from a folder of cassettes, which are open until it is closed.

    Args:
        folder: Where the cassettes are.
        suites: The names of the suites.
        repeats: What `--repeats` said, for the command that would record what is missing.

    Raises:
        ProctorError: P6403 or P6404 for cassettes that cannot be used, all problems together.
    """

    mode: str = CacheMode.REPLAY.value

    def __init__(
        self, folder: CassetteFolder, suites: Sequence[str], *, repeats: int | None = None
    ) -> None:
        self._options = folder.option if repeats is None else f"{folder.option} --repeats {repeats}"
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
    ) -> Iterator[list[RanRow]]:
        """Answer the rows from the recordings and check them, a batch at a time."""
        command = f"proctor run {suite} --cache record{self._options}"
        source = Replay(self._cassettes[suite], subject.target.subject, command)
        run_rows = ReplayedRows(subject.target, source, RowChecks(subject.checks, timed_out))
        for batch in LocalExecutor().run(rows, run_rows):
            yield [RanRow(planned, result, asked=False) for planned, result in batch]


class PlannedCalls(Struct, frozen=True):
    """What the rows of one model come to: rows that share a recording share a call."""

    model: str
    rows: int
    calls: int
    recorded: int
    to_make: int


def planned_calls(
    folder: CassetteFolder, selected: SelectedSuite, mode: CacheMode
) -> Iterator[PlannedCalls]:
    """Count the calls of a suite per model, without making any.

    Args:
        folder: Where cassettes are.
        selected: What is to be run.
        mode: What would be asked for.

    Raises:
        ProctorError: P6403 or P6404 when the cassette cannot be used.
    """
    cassette, problems = folder.open(selected.name)
    with closing(cassette):
        raise_all(problems)
        per_model: dict[str, tuple[int, set[str]]] = {}
        for subject in selected.subjects:
            model = subject.target.subject.model.ref
            rows, keys = per_model.get(model, (0, set()))
            keys |= subject_keys(subject, selected.suite.dataset, selected.plan)
            per_model[model] = rows + len(selected.plan.places) * selected.plan.repeats, keys
        for model, (rows, keys) in per_model.items():
            recorded = sum(1 for key in keys if key in cassette)
            to_make = {
                CacheMode.REPLAY: 0,
                CacheMode.RECORD: len(keys) - recorded,
                CacheMode.REFRESH: len(keys),
                CacheMode.OFF: rows,
            }
            yield PlannedCalls(model, rows, len(keys), recorded, to_make[mode])


def subjects_to_ask(
    folder: CassetteFolder, selected: SelectedSuite, mode: CacheMode
) -> list[ReadySubject]:
    """The subjects of a suite for which a live run would make a call.

    Raises:
        ProctorError: P6403 or P6404 when the cassette cannot be used.
    """
    if mode is not CacheMode.RECORD:
        return list(selected.subjects)
    cassette, problems = folder.open(selected.name)
    with closing(cassette):
        raise_all(problems)
        return [
            subject
            for subject in selected.subjects
            if any(
                key not in cassette
                for key in subject_keys(subject, selected.suite.dataset, selected.plan)
            )
        ]


def subject_keys(subject: ReadySubject, dataset: Dataset, plan: Plan) -> set[str]:
    """The key of every call that the rows of one subject make."""
    maker = answer_keys(subject.target.subject)
    keys: set[str] = set()
    for place in plan.places:
        inputs = subject.target.inputs_sha256(dataset.case(place))
        keys.update(maker.key(inputs, take) for take in range(1, plan.repeats + 1))
    return keys
