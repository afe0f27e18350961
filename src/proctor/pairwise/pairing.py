"""Two reports, or two subjects of one, into pairs of answers to the same case.

A report is somebody's claim: both are proven to their ends before a pair is looked at. The answers
are spooled, so memory does not grow with their size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from proctor.canonical import canonical_json
from proctor.errors import ProctorError, ReportError, UsageError, raise_all
from proctor.judging.pairs import IDENTICAL, Pair
from proctor.records import BUILD_ONLY, Json, ReportHead, RowError, RowResult, encode_json
from proctor.records.pairwise import PairAnswers, Side, Unpaired
from proctor.registry import did_you_mean
from proctor.report_files import StoredReport, open_report
from proctor.reporting import SpoolStore
from proctor.strict_json import parse_json, typed

T = TypeVar("T", bound=Struct)

_MAX_DEPTH = 256


class Choice(NamedTuple):
    """What was given for one of the two.

    Args:
        option: `a` or `b`.
        path: The report.
        subject: Its id, or the prompt or model only it has; None when there is just one.
    """

    option: str
    path: Path
    subject: str | None


class Half(Struct, frozen=True, gc=False):
    """One answer: its text, or why there is none."""

    text: str | None
    error: RowError | None


class PairedRow(Struct, frozen=True, gc=False):
    """The answers of both to one row."""

    scenario: str | None
    repeat: int
    a: Half
    b: Half

    @property
    def unasked(self) -> str | None:
        """Why no judge is asked: a short code. None when judges are."""
        missing = [name for name, half in (("a", self.a), ("b", self.b)) if half.text is None]
        if missing:
            return f"no_answer: {' and '.join(missing)}"
        return IDENTICAL if self.a.text == self.b.text else None


class PairedCase(Struct, frozen=True, gc=False):
    """One case with the rows that both have answered; `expected` is unset when there is none."""

    id: str
    inputs: Json
    rows: list[PairedRow]
    expected: Json | UnsetType = UNSET

    def pair(self, row: PairedRow) -> Pair:
        """What judges are asked about a row that has two texts."""
        assert row.a.text is not None  # noqa: S101 - `unasked` is None
        assert row.b.text is not None  # noqa: S101 - likewise
        return Pair(a=row.a.text, b=row.b.text, inputs=self.inputs, expected=self.expected)


class _KeptRow(Struct, frozen=True, gc=False):
    scenario: str | None
    repeat: int
    half: Half


class _KeptCase(Struct, frozen=True, gc=False):
    """A case as one side has it."""

    id: str
    inputs: Json
    expected: Json
    expected_sha256: str | None
    rows: list[_KeptRow]


class Pairs:
    """All pairs, which can be read again and again, in the order of B; made by `pair_reports`."""

    def __init__(self) -> None:
        self.rows = 0
        """How many pairs there are."""
        self._store = _Store()
        self._places: list[tuple[int, int]] = []

    def __iter__(self) -> Iterator[PairedCase]:
        return (self._store.read(place, PairedCase) for place in self._places)

    def answers(self) -> Iterator[PairAnswers]:
        """What is compared, pair by pair."""
        for case in self:
            for row in case.rows:
                yield PairAnswers(
                    case.id, row.scenario, row.repeat, case.inputs, row.a.text, row.b.text
                )

    def add(self, case: PairedCase) -> None:
        """Keep the next case."""
        self._places.append(self._store.append(case))
        self.rows += len(case.rows)


class PairedReports(NamedTuple):
    """Both sides, their pairs, and what is in none."""

    a: Side
    b: Side
    pairs: Pairs
    unpaired: Unpaired


class _Store:
    """Structs, spooled."""

    def __init__(self) -> None:
        self._bytes = SpoolStore()

    def append(self, struct: Struct) -> tuple[int, int]:
        data = encode_json(struct)
        return self._bytes.append(data), len(data)

    def read(self, place: tuple[int, int], kind: type[T]) -> T:
        data = self._bytes.read(*place)
        try:
            return msgspec.json.decode(data, type=kind)
        except msgspec.DecodeError:
            # A lone surrogate, which only the strict parser takes.
            return typed(parse_json(data, max_depth=_MAX_DEPTH), kind)


def pair_reports(suite: str, a: Choice, b: Choice) -> PairedReports:
    """Read both sides and set their answers side by side.

    Cases are matched by their ids, rows by scenario and repeat.

    Args:
        suite: The suite whose answers are compared.
        a: The one side.
        b: The other.

    Raises:
        UsageError: P6002 when it is not clear which subjects are meant, or both are the same;
            P6001 when they have no case in common.
        ReportError: P6901 when a report cannot be read, contradicts itself or holds no answers.
    """
    with open_report(a.path) as of_a, open_report(b.path) as of_b:
        places: list[tuple[int, int]] = []
        problems: list[ProctorError] = []
        for choice, stored in ((a, of_a), (b, of_b)):
            try:
                places.append(_place(stored.head, suite, choice))
            except UsageError as problem:
                problems.append(problem)
        raise_all(problems)
        if places[0] == places[1] and a.path.resolve() == b.path.resolve():
            raise UsageError(
                "A and B are the same subject of the same report",
                code="P6002",
                hint="name two reports, or two subjects with `--subject-a` and `--subject-b`",
            )
        pairs, unpaired = _paired(
            _kept_cases(of_a, places[0], a.path), _kept_cases(of_b, places[1], b.path)
        )
        # The digest of a file is known once it has been read to its end.
        sides = _side(of_a, places[0]), _side(of_b, places[1])
    if not pairs.rows:
        raise UsageError(
            f"0 answers of `{suite}` are in both reports",
            code="P6001",
            hint="cases are matched by id, inputs and expected value; run the suite for both again",
        )
    return PairedReports(*sides, pairs, unpaired)


def _paired(a: Iterator[_KeptCase], b: Iterator[_KeptCase]) -> tuple[Pairs, Unpaired]:
    store = _Store()
    index = {case.id: store.append(case) for case in a}
    only_b: list[str] = []
    changed: list[str] = []
    pairs, alone = Pairs(), 0
    for case in b:
        if case.id not in index:
            only_b.append(case.id)
            continue
        other = store.read(index.pop(case.id), _KeptCase)
        if other.expected_sha256 != case.expected_sha256 or canonical_json(
            other.inputs
        ) != canonical_json(case.inputs):
            changed.append(case.id)
            continue
        rows = _paired_rows(other.rows, case.rows)
        alone += len(other.rows) + len(case.rows) - 2 * len(rows)
        if rows:
            expected = UNSET if case.expected_sha256 is None else case.expected
            pairs.add(PairedCase(case.id, case.inputs, rows, expected))
    return pairs, Unpaired(list(index), only_b, changed, alone)


def _paired_rows(a: Sequence[_KeptRow], b: Sequence[_KeptRow]) -> list[PairedRow]:
    of_a = {(row.scenario, row.repeat): row.half for row in a}
    return [
        PairedRow(row.scenario, row.repeat, of_a[row.scenario, row.repeat], row.half)
        for row in b
        if (row.scenario, row.repeat) in of_a
    ]


def _kept_cases(stored: StoredReport, place: tuple[int, int], path: Path) -> Iterator[_KeptCase]:
    """The cases of one subject; the report is read, and so proven, to its end."""
    for suite, subject, case in stored.cases():
        if (suite, subject) == place:
            rows = [_kept_row(row, path) for row in case.rows if row.scenario != BUILD_ONLY]
            yield _KeptCase(case.id, case.inputs, case.expected, case.expected_sha256, rows)


def _kept_row(row: RowResult, path: Path) -> _KeptRow:
    if row.answer is None and row.error is None:
        raise ReportError(
            f"the report `{path.name}` holds no answers",
            code="P6901",
            hint="make it again without `--no-answers`",
            where=str(path),
        )
    half = Half(None, row.error) if row.answer is None else Half(row.answer.text, None)
    return _KeptRow(row.scenario, row.repeat, half)


def _side(stored: StoredReport, place: tuple[int, int]) -> Side:
    subject = stored.head.suites[place[0]].subjects[place[1]]
    return Side(stored.sha256, subject.prompt, subject.bundle_sha256, subject.model)


def _place(head: ReportHead, suite: str, choice: Choice) -> tuple[int, int]:
    """The places of the suite and the subject that are meant."""
    name = choice.path.name
    suites = [one.suite for one in head.suites]
    if suite not in suites:
        raise UsageError(
            f"the report `{name}` has no suite `{suite}`",
            code="P6002",
            hint=did_you_mean(suite, suites) or "name a report of this suite",
        )
    number = suites.index(suite)
    subjects = head.suites[number].subjects
    wanted, option = choice.subject, f"--subject-{choice.option}"
    fitting = [
        place
        for place, one in enumerate(subjects)
        if wanted is None or wanted in (one.id, one.prompt, one.model)
    ]
    if not fitting:
        names = [one.id for one in subjects]
        meant = None if wanted is None else did_you_mean(wanted, names)
        raise UsageError(
            f"the report `{name}` has no subject{'' if wanted is None else f' `{wanted}`'}",
            code="P6002",
            hint=meant or f"subjects of `{suite}` there: {', '.join(names) or 'none'}",
        )
    if len(fitting) > 1:
        asked = "" if wanted is None else f" that `{wanted}` fits"
        names = [subjects[place].id for place in fitting]
        raise UsageError(
            f"the report `{name}` has {len(fitting)} subjects of `{suite}`{asked}",
            code="P6002",
            hint=f"name one with `{option}`: {', '.join(names)}",
        )
    return number, fitting[0]
