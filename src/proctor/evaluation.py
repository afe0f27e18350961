"""Run an exam: select, plan, answer, check, aggregate. Where answers come from is the session's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from proctor.aggregating import JudgeFacts, SubjectTally, SuiteFacts, SuiteTally, report_head
from proctor.config import Config, Price
from proctor.errors import UsageError, raise_all
from proctor.held_rows import HeldRows
from proctor.loading.suites import SuiteDefinition
from proctor.pipeline import Exam, ReadySuite, prepare_checks
from proctor.planning import Plan, plan_rows, planned_rows, worst_cost_usd
from proctor.protocols import JudgeCall, PlannedRow, RanRow
from proctor.records import (
    EXPECTATIONS,
    CaseResult,
    DatasetReport,
    ExpectationResult,
    JsonObject,
    RowResult,
)
from proctor.reporting import CaseSpool, RunReport, SpoolStore, without_content
from proctor.selecting import Selection, of_shard
from proctor.subjects import ReadySubject
from proctor.targets.agent import AgentTarget
from proctor.targets.prompt import PromptTarget
from proctor.version import VERSION


class Session(Protocol):
    """Answers and checks rows, from the cassettes or live."""

    mode: str

    def rows(
        self,
        suite: str,
        subject: ReadySubject,
        rows: Iterable[PlannedRow],
        timed_out: set[str] | None,
    ) -> Iterator[list[RanRow]]:
        """Run the rows of one subject and yield them in order, a few at a time.

        Args:
            suite: The suite's name.
            subject: Who is asked.
            rows: What to run.
            timed_out: Ids of assertions that have run out of time; grows while rows run. None
                when rows come in another order than that in which they are counted, so that none
                may be spared what an earlier one could not do.
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
    selected = _selected(exam, selection)
    if not selected:
        cases = sum(len(suite.dataset) for suite in exam.suites)
        raise UsageError(
            f"0 of {cases} cases are selected",
            code="P6001",
            hint="every case there passed, or the report is of other suites"
            if selection.failed is not None
            else "loosen the selection; `proctor lint` counts what there is",
        )
    if selection.shard is None:
        return selected
    # A shard may have no case of a suite, or none at all; it still says which suites there are.
    parts = of_shard(selection.shard, [(one.suite.dataset, one.plan.places) for one in selected])
    return [
        replace(one, plan=replace(one.plan, places=places))
        for one, places in zip(selected, parts, strict=True)
    ]


def _selected(exam: Exam, selection: Selection) -> list[SelectedSuite]:
    selected: list[SelectedSuite] = []
    for suite in exam.suites:
        name = suite.definition.name
        subjects = [one for one in suite.subjects if selection.takes_subject(one.target.subject)]
        tiers = suite.definition.tiers
        places = selection.places(name, suite.dataset, tiers) if subjects else ()
        if suite.places is not None:
            answered = frozenset(suite.places)
            places = [place for place in places if place in answered]
        if places:
            plan = plan_rows(
                suite=name,
                subjects=len(subjects),
                places=places,
                repeats=suite.definition.repeats,
                shapes=suite.dataset.shapes,
            )
            selected.append(SelectedSuite(suite, subjects, plan))
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
    config: Config,
    suites: Sequence[SelectedSuite],
    session: Session,
    *,
    answers: bool = True,
    shards: JsonObject | None = None,
) -> RunReport:
    """Run every row and make the report.

    Args:
        config: The project.
        suites: What to run.
        session: Where answers come from.
        answers: Whether the report holds answers, inputs, expected values, evidence and reasons.
        shards: Which shard this is, None for a whole run.

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
        tally = SuiteTally(suite_facts(selected, session.mode))
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
        shards=shards,
    )
    return RunReport(head, spools)


def suite_facts(selected: SelectedSuite, mode: str) -> SuiteFacts:
    """What is known of a suite before its first row.

    Args:
        selected: The suite.
        mode: Where answers come from.
    """
    definition, dataset = selected.suite.definition, selected.suite.dataset
    return SuiteFacts(
        suite=definition.name,
        tiers=list(definition.tiers),
        repeats=selected.plan.repeats,
        rows=selected.plan.rows_of_one,
        dataset=DatasetReport(
            path=dataset.path,
            sha256=dataset.sha256,
            cases=len(dataset),
            selected=len(selected.plan.places),
            allow=definition.dataset.allow,
            allow_pii=definition.dataset.allow_pii,
            findings=selected.suite.findings,
        ),
        assertion_ids=_counted_ids(definition),
        thresholds=definition.thresholds,
        judge=_judge_facts(selected),
        labels=selected.suite.labels,
        warnings=selected.suite.warnings,
        mode=mode,
    )


def _counted_ids(definition: SuiteDefinition) -> tuple[str, ...]:
    """The ids under which checks are counted, and what cases expect of builds."""
    ids = tuple(one.spec.id for one in definition.all_assertions)
    return ids if definition.expectations is None else (*ids, EXPECTATIONS)


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
    case: _OpenCase | None = None
    for batch in _batches(run, tally):
        rows = [_counted(run, tally, ran) for ran in batch]
        finished: list[_OpenCase] = []
        for ran, row in zip(batch, rows, strict=True):
            if case is None or ran.planned.place != case.planned.place:
                finished += [] if case is None else [case]
                case = _OpenCase(ran.planned, [], [])
            case.rows.append(row)
            if ran.build is not None:
                case.expectations.extend(ran.build.expectations)
        entries = [_entry(tally, one, answers=run.answers) for one in finished]
        for entry in entries:
            spool.add(entry)
    if case is not None:
        spool.add(_entry(tally, case, answers=run.answers))
    return spool


def _batches(run: _SubjectRun, tally: SubjectTally) -> Iterator[list[RanRow]]:
    """The rows of a subject, case by case."""
    selected = run.selected
    planned = planned_rows(selected.suite.dataset, selected.plan)
    if not selected.plan.shapes:
        return run.session.rows(selected.name, run.subject, planned, tally.timed_out)
    held = HeldRows()
    for batch in run.session.rows(selected.name, run.subject, planned, None):
        for ran in batch:
            held.add(ran)
    return held.by_case()


class _OpenCase(NamedTuple):
    """A case whose rows are still coming."""

    planned: PlannedRow
    rows: list[RowResult]
    expectations: list[ExpectationResult]


def _counted(run: _SubjectRun, tally: SubjectTally, ran: RanRow) -> RowResult:
    ran = with_worst_costs(run.selected, run.subject, run.config.values.prices, ran)
    build = ran.build
    if build is not None and build.call is not None:
        tally.add_build(build.call)
    row = tally.add(
        ran.result,
        worst_cost_usd=ran.worst_cost_usd,
        asked=ran.asked,
        judge_calls=ran.judge_calls,
    )
    if build is not None:
        tally.add_expectations(build.expectations, build.judge_calls)
    labelled = run.suite.labelled
    # A label names a case, and not one of its scenarios.
    if labelled is not None and row.scenario is None:
        subject = run.subject.target.subject.id
        labelled.add(run.subject.checks, subject=subject, case=ran.planned.case.id, row=row)
    return row


def with_worst_costs(
    selected: SelectedSuite, subject: ReadySubject, prices: Mapping[str, Price], ran: RanRow
) -> RanRow:
    """A row with what its calls may have cost at most, where that is not known and counts."""
    if selected.suite.definition.thresholds.max_cost_usd is None:
        return ran
    target = subject.target
    worst = ran.worst_cost_usd
    if ran.result.cost_usd is None and worst is None:
        worst = _worst_usd(target, ran.planned, prices.get(target.subject.model.ref))
    calls = [_at_worst(call, prices) for call in ran.judge_calls]
    build = ran.build
    if build is not None:
        of_build = [_at_worst(call, prices) for call in build.judge_calls]
        build = build._replace(judge_calls=of_build)
        if build.call is not None and not isinstance(target, PromptTarget):
            worst_usd = target.max_cost_usd.get("build")
            build = build._replace(call=build.call._replace(worst_cost_usd=worst_usd))
    return ran._replace(worst_cost_usd=worst, judge_calls=calls, build=build)


def _worst_usd(
    target: PromptTarget | AgentTarget, row: PlannedRow, price: Price | None
) -> float | None:
    """What asking a target may have cost at most, when it is not known what it did."""
    if not isinstance(target, PromptTarget):
        return target.max_cost_usd.get("answer")
    return worst_cost_usd(target.request(row.case), price) if target.is_prepared else None


def _at_worst(call: JudgeCall, prices: Mapping[str, Price]) -> JudgeCall:
    """The call with what it may have cost, when that is not known."""
    if call.cost_usd is not None or call.question is None:
        return call
    price = prices.get(call.question.subject.model.ref)
    return call._replace(worst_cost_usd=worst_cost_usd(call.question.request(), price))


def _entry(tally: SubjectTally, case: _OpenCase, *, answers: bool) -> CaseResult:
    planned = case.planned
    entry = tally.add_case(
        planned.whole or planned.case,
        index=planned.place,
        rows=case.rows,
        expectations=_in_order(planned, case.expectations),
    )
    return entry if answers else without_content(entry)


def _in_order(
    planned: PlannedRow, expectations: Sequence[ExpectationResult]
) -> Sequence[ExpectationResult]:
    """What was found, expectation by expectation in the order of the case, and by repeat."""
    if not expectations:
        return ()
    case = planned.whole or planned.case
    place = {text: number for number, text in enumerate(case.expectations)}
    return sorted(expectations, key=lambda one: (place[one.text], one.repeat))
