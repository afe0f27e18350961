"""The parts a run was split into, or broke into: journals and reports, read the same way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec
from msgspec import Struct

from proctor.aggregating import JudgeFacts, SuiteFacts
from proctor.errors import FileError, ReportError, RunError
from proctor.journal_reading import StoredJournal, open_journal
from proctor.journal_rows import JournaledRow, journaled_row
from proctor.protocols import RowKey
from proctor.records import (
    BUILD_ONLY,
    CaseResult,
    Outcome,
    SuiteReport,
)
from proctor.records.journal import JournalRow, JournalSubject, JournalSuite, ShardPlace
from proctor.report_claims import base_warnings, judge_facts_of, limits_of
from proctor.report_files import load_report
from proctor.reporting import RunReport
from proctor.run_folders import JOURNAL
from proctor.safe_io import open_regular, reason_of
from proctor.strict_json import typed


class PartCase(NamedTuple):
    """A case of a part: as its report has it, but for its rows and what follows from them."""

    case: CaseResult
    rows: list[JournaledRow]


class PartSuite(Struct, frozen=True):
    """A suite of a part.

    Args:
        facts: What is known of it before its first row.
        subjects: What sits the exam.
        claimed: What its report says of it; None for a journal, whose rows say everything.
    """

    facts: SuiteFacts
    subjects: Sequence[JournalSubject]
    claimed: SuiteReport | None = None


class RunPart(Protocol):
    """A journal or a report, as one part of a run."""

    name: str
    """What messages call it."""
    project: str
    version: str
    shards: ShardPlace | None
    answers: bool
    """Whether answers go into the report."""
    lacks_something: bool
    """Whether it has been merged before, of less than there was."""
    suites: Sequence[PartSuite]

    def cases(self, suite: int, subject: int) -> Iterator[PartCase]:
        """The cases of a subject that have rows, in the order of the dataset."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...


def open_part(path: Path, name: str) -> RunPart:
    """A part of a run, proven.

    Args:
        path: A journal, the folder of its run, or a report.
        name: What messages call it.

    Raises:
        RunError: P6704 when it is a journal that cannot be used.
        ReportError: P6901 when it is no report, or contradicts itself.
        FileError: P6805 for a link or device.
    """
    if path.is_dir():
        path /= JOURNAL
    return JournalPart(open_journal(path), name) if _is_journal(path) else _report_part(path, name)


def _is_journal(path: Path) -> bool:
    """Whether a file is a journal rather than a report, by its name or its first line."""
    if path.name == JOURNAL:
        return True
    try:
        with open_regular(path) as file:
            start = file.read(64)
    except FileError:
        raise
    except OSError as error:
        raise RunError(
            f"`{path.name}` cannot be read: {reason_of(error)}",
            code="P6704",
            hint="name the journal of a run, the folder of one, or its JSON report",
            where=str(path),
        ) from error
    return start.startswith(b'{"schema":"proctor.journal.')


class JournalPart:
    """The journal of a run or a shard as a part of one.

    Args:
        journal: The journal; this object closes it.
        name: What messages call it.
    """

    def __init__(self, journal: StoredJournal, name: str) -> None:
        head = journal.head
        self.name = name
        self.project = head.project
        self.version = head.tool.version
        self.shards: ShardPlace | None = head.shards
        self.answers = head.answers
        self.lacks_something = False
        self.suites: Sequence[PartSuite] = [
            PartSuite(_facts(one, head.mode), one.subjects) for one in head.suites
        ]
        self._journal = journal

    def cases(self, suite: int, subject: int) -> Iterator[PartCase]:
        """The cases of a subject that have rows, in the order of the dataset.

        Raises:
            RunError: P6704 when rows of a case do not go together.
        """
        name, id_ = self.suites[suite].facts.suite, self.suites[suite].subjects[subject].id
        rows = self._journal.rows(name, id_)
        for index, keys in groupby(sorted(rows, key=_place), key=_place):
            yield self._case(name, index, list(keys), rows)

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def _case(
        self, suite: str, index: int, keys: list[RowKey], rows: Mapping[RowKey, JournalRow]
    ) -> PartCase:
        facts = self._journal.facts(suite, index)
        scenarios: list[str | None] = [*facts.scenarios] or [None, BUILD_ONLY]
        place = {text: number for number, text in enumerate(facts.expectations)}
        try:
            keys.sort(key=lambda key: (scenarios.index(key[1]), key[2]))
            found = [rows[key] for key in keys]
            expectations = sorted(
                (one for row in found if row.build is not None for one in row.build.expectations),
                key=lambda one: (place[one.text], one.repeat),
            )
        except (KeyError, ValueError):
            raise self._senseless(suite, index) from None
        if len({row.case for row in found}) > 1:
            raise self._senseless(suite, index)
        case = CaseResult(
            index=index,
            id=found[0].case,
            tags=facts.tags,
            tiers=facts.tiers,
            outcome=Outcome.PASSED,
            flaky=False,
            inputs=facts.inputs,
            expected=facts.expected,
            expected_sha256=facts.expected_sha256,
            units=[],
            expectations=expectations,
            rows=[],
        )
        return PartCase(case, [journaled_row(row) for row in found])

    def _senseless(self, suite: str, index: int) -> RunError:
        return RunError(
            f"the journal `{self.name}` cannot be used: the rows of case {index} of `{suite}` are "
            "not of one case",
            code="P6704",
            hint="a journal is written by Proctor alone; leave the file out, or run again",
        )


def _place(key: RowKey) -> int:
    return key[0]


def _facts(suite: JournalSuite, mode: str) -> SuiteFacts:
    judge = suite.judge
    return SuiteFacts(
        suite=suite.suite,
        tiers=suite.tiers,
        repeats=suite.repeats,
        rows=suite.rows,
        dataset=suite.dataset,
        assertion_ids=tuple(suite.assertions),
        thresholds=suite.thresholds,
        judge=None
        if judge is None
        else JudgeFacts(runs=judge.runs, models=judge.models, assertions=judge.assertions),
        labels=suite.labels,
        warnings=suite.warnings,
        mode=mode,
    )


class ReportPart:
    """The report of a run or a shard as a part of one.

    Args:
        report: The report, proven.
        shards: Which shard it is.
        name: What messages call it.
    """

    def __init__(self, report: RunReport, shards: ShardPlace | None, name: str) -> None:
        head = report.head
        self.name = name
        self.project = head.project
        self.version = head.tool.version
        self.shards = shards
        self.answers = True
        self.lacks_something = head.partial and shards is None
        self.suites: Sequence[PartSuite] = [_claimed_suite(suite) for suite in head.suites]
        self._report = report

    def cases(self, suite: int, subject: int) -> Iterator[PartCase]:
        """The cases of a subject that have rows, in the order of the dataset."""
        for case in self._report.cases(suite, subject):
            rows = [JournaledRow(row, False, [], None, None, []) for row in case.rows]
            yield PartCase(case, rows)

    def close(self) -> None:
        """Nothing is open."""


def _report_part(path: Path, name: str) -> ReportPart:
    report = load_report(path)
    head = report.head
    try:
        shards = None if head.shards is None else typed(head.shards, ShardPlace)
    except msgspec.ValidationError:
        raise ReportError(
            f"the report `{path.name}` does not say in `shards` which shard it is",
            code="P6901",
            hint="name a report that `proctor run --shard I/N --format json --out JOURNAL` wrote",
            where=str(path),
        ) from None
    return ReportPart(report, shards, name)


def _claimed_suite(claimed: SuiteReport) -> PartSuite:
    facts = SuiteFacts(
        suite=claimed.suite,
        tiers=claimed.tiers,
        repeats=claimed.repeats,
        rows=max(subject.counts.rows for subject in claimed.subjects),
        dataset=claimed.dataset,
        assertion_ids=tuple(claimed.subjects[0].checks),
        thresholds=limits_of(claimed),
        judge=judge_facts_of(claimed.judge),
        warnings=base_warnings(claimed.warnings),
        mode=claimed.cache.mode,
    )
    subjects = [
        JournalSubject(one.prompt, one.bundle_sha256, one.model, one.params)
        for one in claimed.subjects
    ]
    return PartSuite(facts, subjects, claimed)
