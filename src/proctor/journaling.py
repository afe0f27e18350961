"""Journals of the runs of an exam: what stands in their head, keeping rows, going on with a run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import fields

from proctor.canonical import digest
from proctor.config import Config
from proctor.evaluation import SelectedSuite, Session, suite_facts, with_worst_costs
from proctor.journal import Journal
from proctor.journal_rows import JournaledRow
from proctor.protocols import PlannedRow, RanRow, RowKey
from proctor.records import Json, LoadedAssertion, Tool
from proctor.records.journal import (
    JOURNAL_SCHEMA,
    JournalHead,
    JournalJudge,
    JournalSubject,
    JournalSuite,
    LabelledVerdict,
    ShardPlace,
)
from proctor.subjects import ReadySubject
from proctor.version import VERSION

if TYPE_CHECKING:
    from proctor.labelled_answers import LabelledAnswers

_BATCH = 64
"""How many rows that have been kept are given at once."""


class RunFacts(Struct, frozen=True, kw_only=True):
    """What a journal says of its run beside what is run.

    Args:
        mode: Where answers come from.
        answers: Whether the report holds answers, inputs, expected values, evidence and reasons.
        shards: Which shard this is, None for a whole run.
        run: The id of the run, None when it has no folder of its own.
    """

    mode: str
    answers: bool = True
    shards: ShardPlace | None = None
    run: str | None = None


def run_head(config: Config, selected: Sequence[SelectedSuite], facts: RunFacts) -> JournalHead:
    """The head of the journal of a run.

    Args:
        config: The project.
        selected: What is run.
        facts: How.
    """
    suites = [_journal_suite(one, facts.mode) for one in selected]
    return JournalHead(
        schema=JOURNAL_SCHEMA,
        tool=Tool(name="proctor", version=VERSION),
        plan_sha256=_plan_sha256(suites),
        run=facts.run,
        project=config.values.project,
        mode=facts.mode,
        answers=facts.answers,
        shards=facts.shards,
        suites=suites,
    )


def plan_sha256(selected: Sequence[SelectedSuite]) -> str:
    """What a run can only go on with: suites, prompts, rubrics, datasets, cases and repeats.

    How it is run is no part of it: how many rows at once, how long, where, for how much money.
    """
    return _plan_sha256([_journal_suite(one, "") for one in selected])


def _plan_sha256(suites: Iterable[JournalSuite]) -> str:
    return digest(
        [
            {
                "suite": suite.suite,
                "suite_sha256": suite.suite_sha256,
                "subjects": [msgspec.to_builtins(subject) for subject in suite.subjects],
                "dataset": suite.dataset.sha256,
                "cases": suite.cases_sha256,
                "repeats": suite.repeats,
            }
            for suite in suites
        ]
    )


def _journal_suite(selected: SelectedSuite, mode: str) -> JournalSuite:
    facts, judge = suite_facts(selected, mode), None
    if facts.judge is not None:
        judge = JournalJudge(facts.judge.runs, facts.judge.models, facts.judge.assertions)
    subjects = [subject.target.subject for subject in selected.subjects]
    return JournalSuite(
        suite=facts.suite,
        tiers=facts.tiers,
        repeats=facts.repeats,
        rows=selected.plan.rows_of_one,
        dataset=facts.dataset,
        assertions=list(facts.assertion_ids),
        thresholds=facts.thresholds,
        judge=judge,
        labels=facts.labels,
        warnings=facts.warnings,
        suite_sha256=_suite_sha256(selected),
        cases_sha256=digest(list(selected.plan.places)),
        subjects=[
            JournalSubject(one.prompt_id, one.bundle_sha256, one.model.ref, one.model.params)
            for one in subjects
        ],
    )


def _suite_sha256(selected: SelectedSuite) -> str:
    """Over a suite as it is written, without where it is, and the rubrics that it judges with."""
    definition = selected.suite.definition
    judges = [
        [judge.prompt.bundle_sha256, judge.model.ref, judge.model.params]
        for assertion in selected.subjects[0].judged
        for judge in assertion.judges
    ]
    stated = definition.expectations
    return digest(
        {
            "tiers": definition.tiers,
            "dataset": _plain(definition.dataset),
            "assertions": _plain(definition.assertions),
            "build_assertions": _plain(definition.build_assertions),
            "expectations": stated and [stated.rubric, stated.runs],
            "judge": _plain(definition.judge),
            "thresholds": _plain(definition.thresholds),
            "judges": judges,
        }
    )


def _plain(value: Any) -> Json:  # noqa: ANN401 - parts of a suite, whatever they are
    """A part of a suite as JSON, without the lines on which assertions stand."""
    if isinstance(value, LoadedAssertion):
        return _plain(value.spec)
    if isinstance(value, Struct):
        named = ((one.encode_name, getattr(value, one.name)) for one in fields(type(value)))
        return {name: _plain(member) for name, member in named if member is not UNSET}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return msgspec.to_builtins(value)


class RowKeeper:
    """Writes rows into a journal, with what a report needs to know of them and they do not say.

    Args:
        config: The project.
        selected: What is run.
    """

    def __init__(self, config: Config, selected: Sequence[SelectedSuite]) -> None:
        self._prices = config.values.prices
        self._suites = {one.name: one for one in selected}
        self._labelled: dict[str, LabelledAnswers] = {}

    def keep(self, journal: Journal, suite: str, subject: ReadySubject, ran: RanRow) -> None:
        """Keep a row that has just finished."""
        selected = self._suites[suite]
        ran = with_worst_costs(selected, subject, self._prices, ran)
        verdicts = self._verdicts(selected, subject, ran)
        journal.add(suite, subject.target.subject.id, ran, verdicts)

    def _verdicts(
        self, selected: SelectedSuite, subject: ReadySubject, ran: RanRow
    ) -> list[LabelledVerdict]:
        """What judges decided of a row that people have labelled."""
        labels = selected.suite.labels
        if labels is None or ran.result.scenario is not None:
            return []
        if selected.name not in self._labelled:
            from proctor.labelled_answers import LabelledAnswers

            self._labelled[selected.name] = LabelledAnswers(labels)
        return self._labelled[selected.name].verdicts(
            subject.checks,
            subject=subject.target.subject.id,
            case=ran.planned.case.id,
            row=ran.result,
        )


class JournaledSession:
    """A session that gives the rows that a journal has and has only the others run.

    Args:
        journal: What has been kept.
        session: Runs the others.
        keep: Keeps each of those; None when the session sees to that itself.
    """

    def __init__(
        self,
        journal: Journal,
        session: Session,
        *,
        keep: Callable[[str, ReadySubject, RanRow], None] | None = None,
    ) -> None:
        self.mode = session.mode
        self._journal = journal
        self._session = session
        self._keep = keep

    def rows(
        self,
        suite: str,
        subject: ReadySubject,
        rows: Iterable[PlannedRow],
        timed_out: set[str] | None,
    ) -> Iterator[list[RanRow]]:
        """The rows of one subject in order: those of the journal, and the others as they come."""
        merged = _Merged(rows, self._journal.done(suite, subject.target.subject.id))
        # Most of what has been kept of a run that was killed stands before everything else; it is
        # given first, so that those who run the others know what has run out of time.
        yield from merged.leading()
        for batch in self._session.rows(suite, subject, merged.missing(), timed_out):
            if self._keep is not None:
                for ran in batch:
                    self._keep(suite, subject, ran)
            yield [row for ran in batch for row in merged.up_to(ran)]
        yield from merged.rest()


class NoSession:
    """A session that runs nothing: what is left of a run that has nothing left to do.

    Args:
        mode: Where its answers came from.
    """

    def __init__(self, mode: str) -> None:
        self.mode = mode

    def rows(
        self,
        suite: str,
        subject: ReadySubject,
        rows: Iterable[PlannedRow],
        timed_out: set[str] | None,
    ) -> Iterator[list[RanRow]]:
        """No rows."""
        return iter(())


class _Merged:
    """The rows of a subject in the order of the plan, kept ones and others.

    Args:
        rows: The plan.
        done: The rows that have been kept.
    """

    def __init__(self, rows: Iterable[PlannedRow], done: Mapping[RowKey, JournaledRow]) -> None:
        self._rows = iter(rows)
        self._done = done
        self._ahead: deque[PlannedRow] = deque()
        """Rows of the plan that have been looked at and not been given."""

    def leading(self) -> Iterator[list[RanRow]]:
        """The kept rows before the first that has to be run, a few at a time."""
        batch: list[RanRow] = []
        for row in self._rows if self._done else ():
            if row.key not in self._done:
                self._ahead.append(row)
                break
            batch.append(self._kept(row))
            if len(batch) == _BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def missing(self) -> Iterator[PlannedRow]:
        """The rows that have to be run."""
        yield from list(self._ahead)
        for row in self._rows:
            self._ahead.append(row)
            if row.key not in self._done:
                yield row

    def up_to(self, ran: RanRow) -> Iterator[RanRow]:
        """A row that was run, after the kept ones that stand before it."""
        while self._ahead:
            row = self._ahead.popleft()
            if row.key == ran.planned.key:
                break
            if row.key in self._done:
                yield self._kept(row)
        yield ran

    def rest(self) -> Iterator[list[RanRow]]:
        """The kept rows after the last that was run; an early stop leaves such rows."""
        for row in (*self._ahead, *self._rows) if self._done else ():
            if row.key in self._done:
                yield [self._kept(row)]

    def _kept(self, row: PlannedRow) -> RanRow:
        kept = self._done[row.key]
        return RanRow(
            row, kept.result, kept.asked, kept.judge_calls, kept.build, kept.worst_cost_usd
        )
