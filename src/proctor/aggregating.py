"""From rows, in row order, to the head of the report.

A `SuiteTally` hands out one `SubjectTally` per subject. Each row is added to it once and not kept:
only counters are, so memory does not grow with the number of cases.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from msgspec import UNSET, Struct
from msgspec.structs import replace

from proctor.canonical import RecordingsDigest, digest
from proctor.outcomes import TIMED_OUT, ran_out_of_time, row_outcome
from proctor.records import (
    REPORT_SCHEMA,
    CacheReport,
    Case,
    CaseResult,
    Check,
    CheckCounts,
    Cost,
    Counts,
    DatasetReport,
    JsonObject,
    Outcome,
    PassRate,
    RepeatRate,
    ReportHead,
    RowResult,
    Subject,
    SubjectReport,
    SuiteReport,
    ThresholdReport,
    Thresholds,
    Tokens,
    Tool,
    Unit,
    Warn,
)
from proctor.statistics import effective_rows, pass_at_k, pass_hat_k, wilson_interval
from proctor.verdicts import at_k_thresholds, cost_threshold, rate_thresholds, verdict_of

# Looked up once: finding a member of an enum takes longer than counting it.
_PASSED, _FAILED = Outcome.PASSED, Outcome.FAILED

_MOST_TOKENS = 1_000_000_000
_FLOAT_SHIFT = 1074
"""Every finite float is a whole number of 2**-1074."""


def case_outcome(rows: Iterable[RowResult]) -> Outcome:
    """What became of a case: the worst of its rows, of which there is at least one."""
    seen = {row.outcome for row in rows}
    for outcome in (Outcome.FAILED, Outcome.ERRORED, Outcome.UNMEASURED):
        if outcome in seen:
            return outcome
    return Outcome.PASSED


def case_result(case: Case, *, index: int, rows: list[RowResult]) -> CaseResult:
    """The report's entry of one case.

    Args:
        case: The case as it was read.
        index: Its 0-based place in the dataset.
        rows: Its rows in row order, as `SubjectTally.add` returned them.
    """
    passed = failed = 0
    for row in rows:
        passed += row.outcome is _PASSED
        failed += row.outcome is _FAILED
    unset = case.expected is UNSET
    return CaseResult(
        index=index,
        id=case.id,
        tags=case.tags,
        tiers=case.tiers,
        outcome=rows[0].outcome if len(rows) == 1 else case_outcome(rows),
        flaky=passed > 0 and failed > 0,
        inputs=case.inputs,
        expected=None if unset else case.expected,
        expected_sha256=None if unset else digest(case.expected),
        units=[Unit(scenario=None, n=passed + failed, passed=passed)],
        expectations=[],
        rows=rows,
    )


class _CostSum:
    """A sum of USD over calls, rounded once at its end like `math.fsum`, in constant memory."""

    __slots__ = ("_units", "calls", "unknown")

    def __init__(self) -> None:
        self.calls = 0
        self.unknown = 0
        self._units = 0

    def add(self, cost_usd: float | None) -> None:
        self.calls += 1
        if cost_usd is None:
            self.unknown += 1
            return
        numerator, denominator = cost_usd.as_integer_ratio()
        self._units += numerator << (_FLOAT_SHIFT + 1 - denominator.bit_length())

    def merge(self, other: _CostSum) -> None:
        self.calls += other.calls
        self.unknown += other.unknown
        self._units += other._units

    @property
    def known(self) -> float:
        """The sum over the calls whose cost is known."""
        try:
            return self._units / (1 << _FLOAT_SHIFT)
        except OverflowError:
            return sys.float_info.max

    @property
    def total(self) -> float | None:
        """The same, but None when there were calls and none has a known cost."""
        return None if self.calls and self.unknown == self.calls else self.known


class _TokenSum:
    """Sums of tokens over calls. Usage is known when both its input and its output are."""

    __slots__ = ("cached", "cached_known", "calls", "input", "output", "unknown")

    def __init__(self) -> None:
        self.calls = self.unknown = self.cached_known = 0
        self.input = self.output = self.cached = 0

    def add(self, row: RowResult) -> None:
        self.calls += 1
        usage = row.usage
        if (
            usage is None
            or usage.input is None
            or usage.output is None
            or usage.input > _MOST_TOKENS
            or usage.output > _MOST_TOKENS
        ):
            self.unknown += 1
            return
        self.input += usage.input
        self.output += usage.output
        if usage.cached is not None and usage.cached <= _MOST_TOKENS:
            self.cached_known += 1
            self.cached += usage.cached

    def report(self) -> Tokens:
        nothing = self.calls > 0 and self.unknown == self.calls
        return Tokens(
            input=None if nothing else self.input,
            output=None if nothing else self.output,
            cached=None if self.calls and not self.cached_known else self.cached,
            unknown=self.unknown,
        )


class SuiteFacts(Struct, frozen=True, kw_only=True):
    """What is known of a suite before its first row."""

    suite: str
    tiers: list[str]
    repeats: int
    dataset: DatasetReport
    assertion_ids: tuple[str, ...]
    thresholds: Thresholds
    warnings: list[Warn] = []
    mode: str = "replay"


class SubjectTally:
    """Counts the rows of one subject; made by `SuiteTally.subject`.

    Args:
        subject: What sits the exam.
        facts: The suite; every selected case is expected to bring one row per repeat.
        recordings: The digest that the rows' recordings go into.
    """

    def __init__(self, subject: Subject, facts: SuiteFacts, recordings: RecordingsDigest) -> None:
        self.timed_out: set[str] = set()
        """Assertions that ran out of time in some row so far: running them again is pointless.

        The runner may be ahead of the counting, so this set decides nothing about a row.
        """
        self._timed_out_before: set[str] = set()
        self.replayed = self.recorded = self.asked = 0
        self.paid_usd, self.replayed_usd, self.worst_usd = _CostSum(), _CostSum(), _CostSum()
        self._subject = subject
        self._cases = facts.dataset.selected
        self._recordings = recordings
        self._repeats = [dict.fromkeys(Outcome, 0) for _ in range(facts.repeats)]
        self._is_repeated = facts.repeats > 1
        self._units: dict[tuple[int, int], int] = {}
        self._checks = {id_: dict.fromkeys(Outcome, 0) for id_ in facts.assertion_ids}
        self._categories: dict[str, int] = {}
        self._tokens = _TokenSum()

    def add(
        self, row: RowResult, *, worst_cost_usd: float | None = None, asked: bool = False
    ) -> RowResult:
        """Count the next row, in row order.

        Once a check ran out of time, the later rows of the subject fail its assertion whether it
        was run for them or not. So the result is the same at any concurrency and over shards.

        Args:
            row: The row as it was run.
            worst_cost_usd: What its call may have cost at most, for when its cost is not known;
                None when there is no price.
            asked: Whether its answer was asked for now and not replayed.

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
            self.recorded += asked
            self.replayed += not asked
            self._recordings.add(row.recording)
        self.asked += asked
        if row.error is None:
            self._tokens.add(row)
            paid_now = asked or row.recording is None
            (self.paid_usd if paid_now else self.replayed_usd).add(row.cost_usd)
            if row.cost_usd is None:
                self.worst_usd.add(worst_cost_usd)
        return row

    def add_case(self, case: Case, *, index: int, rows: list[RowResult]) -> CaseResult:
        """Count the case whose rows have just been added; `case_result` says what it becomes."""
        result = case_result(case, index=index, rows=rows)
        if self._is_repeated:
            for unit in result.units:
                counted = (unit.passed, unit.n)
                self._units[counted] = self._units.get(counted, 0) + 1
        return result

    def finish(self) -> SubjectReport:
        """The subject's part of the report; rows that never came are counted as not run."""
        counted = {each: sum(repeat[each] for repeat in self._repeats) for each in Outcome}
        passed, measured = counted[_PASSED], _measured(counted)
        repeats = len(self._repeats)
        rows = self._cases * repeats
        units = self._units if self._is_repeated else None
        return SubjectReport(
            prompt=self._subject.prompt.id,
            bundle_sha256=self._subject.prompt.bundle_sha256,
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
            pass_at_k=[] if units is None else pass_at_k(units, repeats),
            pass_hat_k=[] if units is None else pass_hat_k(units, repeats),
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
        answers = _CostSum()
        answers.merge(self.paid_usd)
        answers.merge(self.replayed_usd)
        return Cost(
            answers=answers.total,
            judges=0.0,
            paid=self.paid_usd.total,
            replayed=self.replayed_usd.total,
            unknown=answers.unknown,
        )

    def _without_timed_out(self, row: RowResult) -> RowResult:
        checks = [
            _not_run_again(check) if check.id in self._timed_out_before else check
            for check in row.checks
        ]
        return replace(row, checks=checks, outcome=row_outcome(checks, row.error))


def _measured(counts: dict[Outcome, int]) -> int:
    return counts[_PASSED] + counts[_FAILED]


def _not_run_again(check: Check) -> Check:
    return Check(
        id=check.id,
        kind=check.kind,
        outcome=_FAILED,
        severity=check.severity,
        reason=TIMED_OUT,
        evidence={"skipped": True},
    )


class SuiteTally:
    """Counts the rows of one suite, subject after subject."""

    def __init__(self, facts: SuiteFacts) -> None:
        self._facts = facts
        self._recordings = RecordingsDigest()
        self._subjects: list[SubjectTally] = []

    def subject(self, subject: Subject) -> SubjectTally:
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
        thresholds += at_k_thresholds(facts.thresholds, subjects)
        return SuiteReport(
            suite=facts.suite,
            tiers=facts.tiers,
            repeats=facts.repeats,
            judge=None,
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

    def _cost_threshold(self, limit_usd: float) -> tuple[ThresholdReport, list[Warn]]:
        total, worst = _CostSum(), _CostSum()
        for tally in self._subjects:
            for part in (tally.paid_usd, tally.replayed_usd, tally.worst_usd):
                total.merge(part)
            worst.merge(tally.worst_usd)
        if worst.unknown:
            threshold = cost_threshold(limit_usd, None)
            said = f"{_calls(worst.unknown)} no recorded cost and no price to count instead"
        else:
            threshold = cost_threshold(limit_usd, total.known)
            said = f"{_calls(worst.calls)} no recorded cost and counted as their worst case"
        return threshold, [Warn(code=None, message=said, where=None)] if worst.calls else []


def _calls(count: int) -> str:
    return f"{count} call had" if count == 1 else f"{count} calls had"


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
