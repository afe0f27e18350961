"""From rows, in row order, to the head of the report.

A `SuiteTally` hands out one `SubjectTally` per subject. Each row is added to it once and not kept:
only counters are, so memory does not grow with the number of cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from proctor.canonical import RecordingsDigest
from proctor.case_results import (
    case_result,
    judged_expectations,
    unseen_failures,
    unseen_warning,
)
from proctor.outcomes import not_run_again, ran_out_of_time, row_outcome, worst_outcome
from proctor.protocols import BuildCall, JudgeCall
from proctor.records import (
    BUILD_ONLY,
    EXPECTATIONS,
    REPORT_SCHEMA,
    AnySubject,
    CacheReport,
    Case,
    CaseResult,
    Check,
    CheckCounts,
    Cost,
    Counts,
    DatasetReport,
    ExpectationResult,
    JsonObject,
    Label,
    Outcome,
    PassRate,
    RepeatRate,
    ReportHead,
    RowResult,
    SubjectReport,
    SuiteReport,
    ThresholdReport,
    Thresholds,
    Tool,
    Vote,
    Warn,
)
from proctor.repeated_units import RepeatedUnits
from proctor.statistics import effective_rows, pass_at_k, pass_hat_k, wilson_interval
from proctor.sums import CostSum, JudgingSum, SplitCost, TokenSum, merged
from proctor.verdicts import (
    agreement_thresholds,
    at_k_thresholds,
    cost_threshold,
    of_a_part,
    rate_thresholds,
    verdict_of,
)

if TYPE_CHECKING:
    from proctor.judging.labels import AgreementFigures
    from proctor.labelled_answers import LabelledAnswers

# Looked up once: finding a member of an enum takes longer than counting it.
_PASSED, _FAILED = Outcome.PASSED, Outcome.FAILED


class JudgeFacts(Struct, frozen=True, kw_only=True):
    """Who judges in a suite: how often each answer is judged, by which models, for what."""

    runs: int
    models: list[str]
    assertions: list[str]


class SuiteFacts(Struct, frozen=True, kw_only=True):
    """What is known of a suite before its first row."""

    suite: str
    tiers: list[str]
    repeats: int
    dataset: DatasetReport
    assertion_ids: tuple[str, ...]
    thresholds: Thresholds
    judge: JudgeFacts | None = None
    labels: list[Label] | None = None
    warnings: list[Warn] = []
    mode: str = "replay"
    rows: int | None = None
    """How many rows each subject has; None for one a case and repeat."""


class SubjectTally:
    """Counts the rows of one subject; made by `SuiteTally.subject`.

    Args:
        subject: What sits the exam.
        facts: The suite.
        recordings: The digest that the rows' recordings go into.
    """

    def __init__(
        self, subject: AnySubject, facts: SuiteFacts, recordings: RecordingsDigest
    ) -> None:
        self.timed_out: set[str] = set()
        """Assertions that ran out of time in some row so far: running them again is pointless.

        The runner may be ahead of the counting, so this set decides nothing about a row.
        """
        self._timed_out_before: set[str] = set()
        self.replayed = self.recorded = self.asked = 0
        self.unseen = 0
        """How many expectations failed of builds whose rows all passed."""
        self.answers_usd, self.judges_usd, self.worst_usd = SplitCost(), SplitCost(), CostSum()
        judged = () if facts.judge is None else facts.judge.assertions
        self.judgings = {id_: JudgingSum() for id_ in judged}
        self._subject = subject
        self._cases = facts.dataset.selected
        one_a_case = facts.dataset.selected * facts.repeats
        self._rows = one_a_case if facts.rows is None else facts.rows
        self._recordings = recordings
        self._repeats = [dict.fromkeys(Outcome, 0) for _ in range(facts.repeats)]
        self._units = RepeatedUnits() if facts.repeats > 1 else None
        self._checks = {id_: dict.fromkeys(Outcome, 0) for id_ in facts.assertion_ids}
        self._categories: dict[str, int] = {}
        self._tokens = TokenSum()

    def add(
        self,
        row: RowResult,
        *,
        worst_cost_usd: float | None = None,
        asked: bool = False,
        judge_calls: Sequence[JudgeCall] = (),
    ) -> RowResult:
        """Count the next row, in row order.

        Once a check ran out of time, the later rows of the subject fail its assertion whether it
        was run for them or not. So the result is the same at any concurrency and over shards.

        Args:
            row: The row as it was run.
            worst_cost_usd: What its call may have cost at most, for when its cost is not known;
                None when there is no price.
            asked: Whether its answer was asked for now and not replayed.
            judge_calls: The calls of judges that it needed, in the order of their votes.

        Returns:
            The row as it belongs into the report.
        """
        if self._timed_out_before:
            row = self._without_timed_out(row)
        self._repeats[row.repeat - 1][row.outcome] += 1
        for check in row.checks:
            outcome = check.outcome
            self._checks[check.id][outcome] += 1
            if outcome is _FAILED and ran_out_of_time(check):
                self._timed_out_before.add(check.id)
                self.timed_out.add(check.id)
        if row.category is not None:
            self._categories[row.category] = self._categories.get(row.category, 0) + 1
        if row.recording is not None:
            self._add_recording(row.recording, asked=asked)
        self.asked += asked
        if row.answer is not None or (row.error is None and row.scenario != BUILD_ONLY):
            self._tokens.add(row)
            paid_now = asked or row.recording is None
            split = self.answers_usd
            (split.paid if paid_now else split.replayed).add(row.cost_usd)
            if row.cost_usd is None:
                self.worst_usd.add(worst_cost_usd)
        if self.judgings:
            self._add_judging(row.checks, judge_calls)
        return row

    def _add_judging(self, checks: Iterable[Check], calls: Sequence[JudgeCall]) -> None:
        # A report that is read again has the votes, and not the calls that brought them.
        are_asked = iter([call.asked for call in calls if call.recording is not None])
        for check in checks:
            if check.id in self.judgings:
                self.judgings[check.id].add(check)
            self._add_votes(check.votes, are_asked)
        self._add_calls(calls)

    def _add_votes(self, votes: Iterable[Vote], are_asked: Iterator[bool]) -> None:
        for vote in votes:
            if vote.recording is not None:
                self._add_recording(vote.recording, asked=next(are_asked, False))

    def _add_calls(self, calls: Iterable[JudgeCall]) -> None:
        for call in calls:
            self.asked += call.asked
            if not call.replied:
                continue
            self._add_call(self.judges_usd, call)
            if call.cost_usd is None:
                self.worst_usd.add(call.worst_cost_usd)

    def _add_recording(self, recording: str, *, asked: bool) -> None:
        self.recorded += asked
        self.replayed += not asked
        self._recordings.add(recording)

    @staticmethod
    def _add_call(split: SplitCost, call: BuildCall | JudgeCall) -> None:
        paid_now = call.asked or call.recording is None
        (split.paid if paid_now else split.replayed).add(call.cost_usd)

    def add_build(self, call: BuildCall) -> None:
        """Count what was built, before the row that it came with."""
        self._tokens.add(call)
        self._add_call(self.answers_usd, call)
        if call.cost_usd is None:
            self.worst_usd.add(call.worst_cost_usd)
        self.asked += call.asked
        if call.recording is not None:
            self._add_recording(call.recording, asked=call.asked)

    def add_expectations(
        self, found: Iterable[ExpectationResult], calls: Sequence[JudgeCall] = ()
    ) -> None:
        """Count the votes on what is expected of a build, after the row that it came with."""
        are_asked = iter([call.asked for call in calls if call.recording is not None])
        for one in found:
            self._add_votes(one.votes, are_asked)
        self._add_calls(calls)

    def add_case(
        self,
        case: Case,
        *,
        index: int,
        rows: list[RowResult],
        expectations: Sequence[ExpectationResult] = (),
    ) -> CaseResult:
        """Count the case whose rows have just been added; `case_result` says what it becomes."""
        result = case_result(case, index=index, rows=rows, expectations=expectations)
        self.add_units(result)
        return result

    def add_units(self, case: CaseResult) -> None:
        """Count the units of a case whose rows have just been added."""
        for one in judged_expectations(case):
            self._checks[EXPECTATIONS][one.outcome] += 1
        self.unseen += len(unseen_failures(case))
        if self._units is not None:
            self._units.add(case.rows, case.expectations)

    def finish(self) -> SubjectReport:
        """The subject's part of the report; rows that never came are counted as not run."""
        counted = {each: sum(repeat[each] for repeat in self._repeats) for each in Outcome}
        passed, measured = counted[_PASSED], _measured(counted)
        repeats, rows = len(self._repeats), self._rows
        units = None if self._units is None else self._units.counts()
        whole = units
        if self._units is not None and sum(counted.values()) < rows:
            each = [sum(repeat.values()) for repeat in self._repeats]
            complete = [n for n, run in enumerate(each, 1) if run * repeats == rows]
            whole = self._units.counts(complete)
        return SubjectReport(
            prompt=self._subject.prompt_id,
            bundle_sha256=self._subject.bundle_sha256,
            model=self._subject.model.ref,
            params=self._subject.model.params,
            counts=Counts(
                cases=self._cases, rows=rows, not_run=rows - sum(counted.values()), **counted
            ),
            pass_rate=PassRate(
                passed=passed,
                measured=measured,
                rate=passed / measured if measured else None,
                interval=wilson_interval(
                    passed, measured, rows=None if units is None else effective_rows(units)
                ),
            ),
            pass_at_k=[] if whole is None else pass_at_k(whole, repeats),
            pass_hat_k=[] if whole is None else pass_hat_k(whole, repeats),
            per_repeat=[
                RepeatRate(repeat=n, passed=each[_PASSED], measured=_measured(each))
                for n, each in enumerate(self._repeats, 1)
            ],
            checks={id_: CheckCounts(**counts) for id_, counts in self._checks.items()},
            categories=dict(sorted(self._categories.items())),
            tokens=self._tokens.report(),
            cost=self._cost(),
        )

    def _cost(self) -> Cost:
        answers, judges = self.answers_usd, self.judges_usd
        return Cost(
            answers=answers.whole.total,
            judges=judges.whole.total,
            paid=merged(answers.paid, judges.paid).total,
            replayed=merged(answers.replayed, judges.replayed).total,
            unknown=answers.whole.unknown + judges.whole.unknown,
        )

    def _without_timed_out(self, row: RowResult) -> RowResult:
        checks = [
            not_run_again(check) if check.id in self._timed_out_before else check
            for check in row.checks
        ]
        made = row_outcome(checks, row.error, row.category)
        # What stands for a build is worth what is expected of it, too.
        is_build = row.scenario == BUILD_ONLY
        return replace(
            row, checks=checks, outcome=worst_outcome({row.outcome, made}) if is_build else made
        )


def _measured(counts: dict[Outcome, int]) -> int:
    return counts[_PASSED] + counts[_FAILED]


class SuiteTally:
    """Counts the rows of one suite, subject after subject."""

    def __init__(self, facts: SuiteFacts) -> None:
        self._facts = facts
        self._recordings = RecordingsDigest()
        self._subjects: list[SubjectTally] = []
        self.labelled: LabelledAnswers | None = None
        """Where rows are added to as well, when people have labelled answers of the suite."""
        if facts.labels is not None:
            from proctor.labelled_answers import LabelledAnswers

            self.labelled = LabelledAnswers(facts.labels)

    def subject(self, subject: AnySubject) -> SubjectTally:
        """Start the next subject; all rows of the one before it have been added."""
        tally = SubjectTally(subject, self._facts, self._recordings)
        self._subjects.append(tally)
        return tally

    def finish(self) -> SuiteReport:
        """The suite's part of the report."""
        facts = self._facts
        subjects = [tally.finish() for tally in self._subjects]
        thresholds = rate_thresholds(facts.thresholds, subjects)
        warnings = list(facts.warnings)
        if facts.thresholds.max_cost_usd is not None:
            threshold, said = self._cost_threshold(facts.thresholds.max_cost_usd)
            thresholds.append(threshold)
            warnings += said
        unseen = sum(tally.unseen for tally in self._subjects)
        warnings += [Warn(None, unseen_warning(unseen), None)] if unseen else []
        thresholds += at_k_thresholds(facts.thresholds, subjects)
        agreement = None if self.labelled is None else self.labelled.agreement().figures
        thresholds += agreement_thresholds(facts.thresholds, agreement)
        return SuiteReport(
            suite=facts.suite,
            tiers=facts.tiers,
            repeats=facts.repeats,
            judge=self._judge(agreement),
            dataset=facts.dataset,
            cache=CacheReport(
                mode=facts.mode,
                live=any(tally.asked for tally in self._subjects),
                replayed=sum(tally.replayed for tally in self._subjects),
                recorded=sum(tally.recorded for tally in self._subjects),
                digest=self._recordings.hex(),
            ),
            thresholds=thresholds,
            warnings=warnings,
            subjects=subjects,
        )

    def _judge(self, agreement: AgreementFigures | None) -> JsonObject | None:
        facts = self._facts.judge
        if facts is None:
            return None
        by_assertion = [
            [tally.judgings[id_] for tally in self._subjects] for id_ in facts.assertions
        ]
        return {
            "runs": facts.runs,
            "models": facts.models,
            "assertions": [
                {
                    "id": id_,
                    "measured": sum(one.measured for one in judgings),
                    "total": sum(one.total for one in judgings),
                    "unanimous": sum(one.unanimous for one in judgings),
                }
                for id_, judgings in zip(facts.assertions, by_assertion, strict=True)
            ],
            "agreement": None if agreement is None else msgspec.to_builtins(agreement),
        }

    def _cost_threshold(self, limit_usd: float) -> tuple[ThresholdReport, list[Warn]]:
        total, worst = CostSum(), CostSum()
        for tally in self._subjects:
            for part in (tally.answers_usd.whole, tally.judges_usd.whole, tally.worst_usd):
                total.merge(part)
            worst.merge(tally.worst_usd)
        if worst.unknown:
            threshold = cost_threshold(limit_usd, None)
            said = cost_warning(worst.unknown, NO_PRICE)
        else:
            threshold = cost_threshold(limit_usd, total.known)
            said = cost_warning(worst.calls, AT_WORST)
        return threshold, [Warn(code=None, message=said, where=None)] if worst.calls else []


NO_PRICE = "no recorded cost and no price to count instead"
AT_WORST = "no recorded cost and counted as their worst case"


def cost_warning(calls: int, what: str) -> str:
    """What a suite says of calls whose cost is not known."""
    return f"{calls} call had {what}" if calls == 1 else f"{calls} calls had {what}"


def report_head(
    suites: Sequence[SuiteReport],
    *,
    project: str,
    version: str,
    partial: bool = False,
    shards: JsonObject | None = None,
) -> ReportHead:
    """The report of a run without its cases.

    Args:
        suites: The suites in the order they were run.
        project: The project's id.
        version: The version of Proctor.
        partial: Whether a shard is missing.
        shards: Which shards are present, None for a whole run.
    """
    if partial:
        suites = [of_a_part(suite) for suite in suites]
    verdict, code = verdict_of(suites, partial=partial)
    return ReportHead(
        schema=REPORT_SCHEMA,
        tool=Tool(name="proctor", version=version),
        project=project,
        verdict=verdict,
        exit_code=int(code),
        partial=partial,
        shards=shards,
        suites=list(suites),
    )
