"""Run an exam: select, plan, answer, check, aggregate. Where answers come from is the session's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from proctor.aggregating import JudgeFacts, SubjectTally, SuiteFacts, SuiteTally, report_head
from proctor.config import Config, Price
from proctor.errors import UsageError, raise_all
from proctor.pipeline import Exam, ReadySubject, ReadySuite, prepare_checks
from proctor.planning import Plan, plan_rows, worst_cost_usd
from proctor.protocols import JudgeCall, PlannedRow, RanRow
from proctor.records import CaseResult, DatasetReport, RowResult
from proctor.reporting import CaseSpool, RunReport, SpoolStore, without_content
from proctor.selecting import Selection
from proctor.version import VERSION


class Session(Protocol):
    """Answers and checks rows, from the cassettes or live."""

    mode: str

    def rows(
        self, suite: str, subject: ReadySubject, rows: Iterable[PlannedRow], timed_out: set[str]
    ) -> Iterator[list[RanRow]]:
        """Run the rows of one subject and yield them in order, a few at a time.

        Args:
            suite: The suite's name.
            subject: Who is asked.
            rows: What to run.
            timed_out: Ids of assertions that have run out of time; grows while rows run.
        """
        ...


class SelectedSuite(Struct, frozen=True):
    """A suite with the subjects and rows that were selected."""

    suite: ReadySuite
    subjects: Sequence[ReadySubject]
    plan: Plan

    @property
    def name(self) -> str:
        """The suite's name."""
        return self.suite.definition.name


def select(exam: Exam, selection: Selection) -> list[SelectedSuite]:
    """The suites of an exam with what was selected of them; suites without any are left out.

    Raises:
        UsageError: P6001 when nothing is selected, or something that was asked for fits nothing;
            P6102 when a suite has too many rows.
    """
    _require_fits(exam, selection)
    selected: list[SelectedSuite] = []
    for suite in exam.suites:
        name = suite.definition.name
        subjects = [one for one in suite.subjects if selection.takes_subject(one.target.subject)]
        tiers = suite.definition.tiers
        places = selection.places(name, suite.dataset, tiers) if subjects else ()
        if places:
            plan = plan_rows(
                suite=name,
                subjects=len(subjects),
                places=places,
                repeats=suite.definition.repeats,
            )
            selected.append(SelectedSuite(suite, subjects, plan))
    if not selected:
        cases = sum(len(suite.dataset) for suite in exam.suites)
        raise UsageError(
            f"0 of {cases} cases are selected",
            code="P6001",
            hint="every case there passed, or the report is of other suites"
            if selection.failed is not None
            else "loosen the selection; `proctor lint` counts what there is",
        )
    return selected


def _require_fits(exam: Exam, selection: Selection) -> None:
    """Refuse what fits nothing: beside something that fits, nobody would notice it."""
    datasets = [suite.dataset for suite in exam.suites]
    subjects = [one.target.subject for suite in exam.suites for one in suite.subjects]
    raise_all(
        [
            UsageError(
                f"`--{miss.option} {miss.value}` fits {miss.fits}",
                code="P6001",
                hint=miss.hint or "mend it, or leave it out; `proctor lint` counts what there is",
            )
            for miss in selection.misses(datasets, subjects)
        ]
    )


def evaluate(
    config: Config, suites: Sequence[SelectedSuite], session: Session, *, answers: bool = True
) -> RunReport:
    """Run every row and make the report.

    Args:
        config: The project.
        suites: What to run.
        session: Where answers come from.
        answers: Whether the report holds answers, inputs, expected values, evidence and reasons.

    Returns:
        The report, whatever its verdict.

    Raises:
        SuiteError: P6201 when an assertion cannot get ready; no row has been run.
    """
    raise_all([problem for one in suites for problem in prepare_checks(one.suite, one.subjects)])
    store = SpoolStore()
    tallies: list[SuiteTally] = []
    spools: list[list[CaseSpool]] = []
    for selected in suites:
        tally = SuiteTally(_facts(selected, session))
        tallies.append(tally)
        spools.append(
            [
                _run_subject(
                    _SubjectRun(config, selected, subject, session, answers, tally),
                    tally.subject(subject.target.subject),
                    CaseSpool(store),
                )
                for subject in selected.subjects
            ]
        )
    head = report_head(
        [tally.finish() for tally in tallies],
        project=config.values.project,
        version=VERSION,
    )
    return RunReport(head, spools)


def _facts(selected: SelectedSuite, session: Session) -> SuiteFacts:
    definition, dataset = selected.suite.definition, selected.suite.dataset
    return SuiteFacts(
        suite=definition.name,
        tiers=list(definition.tiers),
        repeats=selected.plan.repeats,
        dataset=DatasetReport(
            path=dataset.path,
            sha256=dataset.sha256,
            cases=len(dataset),
            selected=len(selected.plan.places),
            allow=definition.dataset.allow,
            allow_pii=definition.dataset.allow_pii,
            findings=selected.suite.findings,
        ),
        assertion_ids=tuple(one.spec.id for one in definition.assertions),
        thresholds=definition.thresholds,
        judge=_judge_facts(selected),
        labels=selected.suite.labels,
        warnings=selected.suite.warnings,
        mode=session.mode,
    )


def _judge_facts(selected: SelectedSuite) -> JudgeFacts | None:
    judged = selected.subjects[0].checks.judged
    if not judged:
        return None
    models = [judge.model.ref for one in judged for judge in one.judges]
    return JudgeFacts(
        runs=len(judged[0].judges),
        models=list(dict.fromkeys(models)),
        assertions=[one.spec.id for one in judged],
    )


class _SubjectRun(Struct, frozen=True):
    config: Config
    selected: SelectedSuite
    subject: ReadySubject
    session: Session
    answers: bool
    suite: SuiteTally


def _run_subject(run: _SubjectRun, tally: SubjectTally, spool: CaseSpool) -> CaseSpool:
    definition = run.selected.suite.definition
    planned = _planned_rows(run.selected)
    case: _OpenCase | None = None
    for batch in run.session.rows(definition.name, run.subject, planned, tally.timed_out):
        rows = [_counted(run, tally, ran) for ran in batch]
        finished: list[_OpenCase] = []
        for ran, row in zip(batch, rows, strict=True):
            if case is None or ran.planned.place != case.planned.place:
                finished += [] if case is None else [case]
                case = _OpenCase(ran.planned, [])
            case.rows.append(row)
        entries = [_entry(tally, one, answers=run.answers) for one in finished]
        for entry in entries:
            spool.add(entry)
    if case is not None:
        spool.add(_entry(tally, case, answers=run.answers))
    return spool


class _OpenCase(Struct, frozen=True, gc=False):
    """A case whose rows are still coming."""

    planned: PlannedRow
    rows: list[RowResult]


def _counted(run: _SubjectRun, tally: SubjectTally, ran: RanRow) -> RowResult:
    worst, calls = None, ran.judge_calls
    if run.selected.suite.definition.thresholds.max_cost_usd is not None:
        target, prices = run.subject.target, run.config.values.prices
        if ran.result.cost_usd is None and target.is_prepared:
            price = prices.get(target.subject.model.ref)
            worst = worst_cost_usd(target.request(ran.planned.case), price)
        calls = [_at_worst(call, prices) for call in calls]
    row = tally.add(ran.result, worst_cost_usd=worst, asked=ran.asked, judge_calls=calls)
    labelled = run.suite.labelled
    if labelled is not None:
        subject = run.subject.target.subject.id
        labelled.add(run.subject.checks, subject=subject, case=ran.planned.case.id, row=row)
    return row


def _at_worst(call: JudgeCall, prices: Mapping[str, Price]) -> JudgeCall:
    """The call with what it may have cost, when that is not known."""
    if call.cost_usd is not None or call.question is None:
        return call
    price = prices.get(call.question.subject.model.ref)
    return call._replace(worst_cost_usd=worst_cost_usd(call.question.request(), price))


def _planned_rows(selected: SelectedSuite) -> Iterator[PlannedRow]:
    place, case = -1, None
    for next_place, repeat in selected.plan.rows_of_subject():
        if case is None or next_place != place:
            place, case = next_place, selected.suite.dataset.case(next_place)
        yield PlannedRow(place, case, repeat)


def _entry(tally: SubjectTally, case: _OpenCase, *, answers: bool) -> CaseResult:
    entry = tally.add_case(case.planned.case, index=case.planned.place, rows=case.rows)
    return entry if answers else without_content(entry)
