"""Whether the figures of a report are those of its rows.

A report from a file is somebody's claim. Its rows are taken as they are; everything that follows
from them (units, outcomes, counts, rates, thresholds, the verdict) is worked out anew, by the same
code that made it, and has to be what the report says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from proctor.aggregating import (
    SubjectTally,
    SuiteFacts,
    SuiteTally,
)
from proctor.case_results import case_outcome, case_units, is_flaky_case
from proctor.errors import ReportError
from proctor.outcomes import BUILD_FAILURES, row_outcome, worst_outcome
from proctor.records import (
    BUILD_ONLY,
    EXPECTATIONS,
    MAX_REPEATS,
    CacheReport,
    CaseResult,
    ExpectationResult,
    Json,
    ModelChoice,
    Prompt,
    ReportHead,
    RowResult,
    Subject,
    SubjectReport,
    SuiteReport,
    ThresholdReport,
    Thresholds,
    encode_json,
)
from proctor.report_claims import (
    agreement_of,
    as_counted,
    judge_facts_of,
    limits_of,
    without_unseen,
)
from proctor.verdicts import (
    agreement_thresholds,
    at_k_thresholds,
    cost_threshold,
    of_a_part,
    rate_thresholds,
    verdict_of,
)

_CLOSE = 1e-9
_SHOWN = 80


class ReportProof:
    """Counts the rows of a report again, case by case in the order of the report.

    Args:
        head: What the report says.
        name: The name of its file, for messages.
        where: The file, for messages.

    Raises:
        ReportError: P6901 when the head cannot be that of a report.
    """

    def __init__(self, head: ReportHead, *, name: str, where: str) -> None:
        self._head = head
        self._name = name
        self._where = where
        self._require_something()
        self._require_distinct_subjects()
        self._suites = [self._suite(place, suite) for place, suite in enumerate(head.suites)]

    def subject(self, suite: int, subject: int) -> Callable[[CaseResult], None]:
        """What counts the next case of a subject, by the places of both in the head.

        It raises P6901 when the case contradicts itself or the head.
        """
        name = self._head.suites[suite].suite
        add = self._suites[suite].subjects[subject].add

        def counted(case: CaseResult) -> None:
            problem = add(case)
            if problem is not None:
                raise self._contradiction(f"case `{case.id}` of `{name}` {problem}")

        return counted

    def finish(self) -> None:
        """Compare what the rows give with what the head says.

        Raises:
            ReportError: P6901 naming the first figure that differs.
        """
        suites = []
        for place, (claimed, proof) in enumerate(zip(self._head.suites, self._suites, strict=True)):
            try:
                suites.append(proof.finish())
            except ValueError as problem:
                raise self._contradiction(f"`suites[{place}].thresholds` {problem}") from None
            if self._head.partial:
                suites[-1] = of_a_part(suites[-1])
            self._require_same(claimed, suites[-1], f"suites[{place}]")
        verdict, code = verdict_of(suites, partial=self._head.partial)
        made = replace(self._head, suites=[], verdict=verdict, exit_code=int(code))
        self._require_same(replace(self._head, suites=[]), made, "")

    def _suite(self, place: int, suite: SuiteReport) -> _SuiteProof:
        try:
            return _SuiteProof(suite)
        except ValueError as problem:
            raise self._contradiction(f"`suites[{place}].judge` {problem}") from None

    def _require_something(self) -> None:
        """A run of nothing makes no report, so nothing is what passed."""
        if not self._head.suites:
            raise self._contradiction("it has no suite")
        for suite in self._head.suites:
            if not suite.subjects:
                raise self._contradiction(f"`{suite.suite}` has no subject")

    def _require_distinct_subjects(self) -> None:
        seen = set()
        for suite in self._head.suites:
            if not 1 <= suite.repeats <= MAX_REPEATS:
                raise self._contradiction(f"`{suite.suite}` has {suite.repeats} repeats")
            for subject in suite.subjects:
                key = (suite.suite, subject.prompt, subject.model)
                if key in seen:
                    raise self._contradiction(f"`{suite.suite}` has `{subject.id}` twice")
                seen.add(key)

    def _require_same(self, claimed: object, made: object, path: str) -> None:
        for place, said, found in _differences(_plain(claimed), _plain(made), path):
            raise self._contradiction(f"`{place}` is {_shown(said)}, its rows give {_shown(found)}")

    def _contradiction(self, what: str) -> ReportError:
        return ReportError(
            f"`{self._name}` contradicts itself: {what}",
            code="P6901",
            hint="make the report again; what it says must follow from its rows",
            where=self._where,
        )


class _SuiteProof:
    def __init__(self, claimed: SuiteReport) -> None:
        self._claimed = claimed
        ids = next((tuple(subject.checks) for subject in claimed.subjects), ())
        facts = SuiteFacts(
            suite=claimed.suite,
            tiers=claimed.tiers,
            repeats=claimed.repeats,
            rows=_rows_of_subject(claimed),
            dataset=claimed.dataset,
            assertion_ids=ids,
            thresholds=Thresholds(),
            judge=judge_facts_of(claimed.judge),
            warnings=without_unseen(claimed.warnings),
            mode=claimed.cache.mode,
        )
        self._tally = SuiteTally(facts)
        self._agreement = agreement_of(claimed.judge)
        self.subjects = [
            _SubjectProof(claimed, set(ids), self._tally.subject(_subject(subject)))
            for subject in claimed.subjects
        ]

    def finish(self) -> SuiteReport:
        """The suite as its rows give it.

        Raises:
            ValueError: When its thresholds are none.
        """
        claimed, made = self._claimed, self._tally.finish()
        limits = limits_of(claimed)
        subjects = [
            self._with_claims(said, found)
            for said, found in zip(claimed.subjects, made.subjects, strict=True)
        ]
        return replace(
            made,
            judge=made.judge and {**made.judge, "agreement": _plain(self._agreement)},
            cache=self._cache(made.cache),
            thresholds=[
                *_thresholds(claimed, limits, subjects),
                *agreement_thresholds(limits, self._agreement),
            ],
            subjects=subjects,
        )

    def _cache(self, made: CacheReport) -> CacheReport:
        """The counts of recordings as the rows give them, with what the rows do not say."""
        claimed = self._claimed.cache
        if any(subject.prompt is None for subject in self._claimed.subjects):
            # What a target built has been counted, and stands in no row.
            return claimed
        # Which answers were asked for now is not said row by row, only how many.
        recorded = min(claimed.recorded, made.replayed) if claimed.live else 0
        return replace(
            made, live=claimed.live, replayed=made.replayed - recorded, recorded=recorded
        )

    def _with_claims(self, said: SubjectReport, found: SubjectReport) -> SubjectReport:
        """A subject as its rows give it, with what the report says where they say nothing.

        They say nothing of what judges cost, nor which answers were paid for now.
        """
        is_judged, is_live = self._claimed.judge is not None, self._claimed.cache.live
        if said.prompt is None:
            found = replace(found, tokens=said.tokens, cost=said.cost)
        cost = found.cost
        if is_judged:
            unknown = max(said.cost.unknown, cost.unknown)
            cost = replace(cost, judges=said.cost.judges, unknown=unknown)
        if is_judged or is_live:
            cost = replace(cost, paid=said.cost.paid, replayed=said.cost.replayed)
        return replace(found, prompt=said.prompt, bundle_sha256=said.bundle_sha256, cost=cost)


def _rows_of_subject(claimed: SuiteReport) -> int:
    """How many rows a subject has, at least one for each case and repeat.

    How many scenarios a case has that was never run is not said row by row.
    """
    said = max(subject.counts.rows for subject in claimed.subjects) if claimed.subjects else 0
    return max(said, claimed.dataset.selected * claimed.repeats)


class _SubjectProof:
    def __init__(self, suite: SuiteReport, checks: set[str], tally: SubjectTally) -> None:
        self._repeats = suite.repeats
        self._selected = suite.dataset.selected
        self._checks = checks
        self._tally = tally
        self._ids: set[str] = set()
        self._last = -1

    def add(self, case: CaseResult) -> str | None:
        """Count a case, and say what is wrong with it, if anything is."""
        rows = case.rows
        problem = self._misplaced(case) or self._count_rows(rows, case.expectations)
        if problem is not None:
            return problem
        outcome = rows[0].outcome if len(rows) == 1 else case_outcome(rows)
        if case.outcome is not outcome:
            return f"is {case.outcome.value}, its rows give {outcome.value}"
        if case.expectations and EXPECTATIONS not in self._checks:
            return "has expectations that `checks` does not count"
        units = case_units(rows, case.expectations)
        self._tally.add_units(case)
        if case.units != units:
            return "does not count its rows right in `units`"
        if case.flaky is not is_flaky_case(units):
            return f"says `flaky` is {str(case.flaky).lower()}, its rows say otherwise"
        return None

    def _misplaced(self, case: CaseResult) -> str | None:
        if case.id in self._ids:
            return "stands twice"
        self._ids.add(case.id)
        if len(self._ids) > self._selected:
            return f"is one more than the {self._selected} that were selected"
        if case.index <= self._last:
            return "is out of order"
        self._last = case.index
        return None

    def _count_rows(
        self, rows: list[RowResult], expectations: list[ExpectationResult]
    ) -> str | None:
        if len(rows) != 1 and len({(row.scenario, row.repeat) for row in rows}) < len(rows):
            return "has a row twice"
        if not rows:
            return "has no row"
        for row in rows:
            if not 1 <= row.repeat <= self._repeats:
                return f"has a repeat {row.repeat} of {self._repeats}"
            negative = _negative(row)
            if negative is not None:
                return f"has a row with a negative `{negative}`"
            for check in row.checks:
                if check.id not in self._checks:
                    return "has a check that `checks` does not count"
            counted = self._tally.add(as_counted(row))
            outcome = row_outcome(counted.checks, row.error, row.category)
            if row.scenario == BUILD_ONLY and row.category not in BUILD_FAILURES:
                of_build = {one.outcome for one in expectations if one.repeat == row.repeat}
                outcome = worst_outcome({outcome, *of_build})
            if row.outcome is not outcome:
                return f"has a row that is {row.outcome.value}, its checks give {outcome.value}"
        return None


def _subject(claimed: SubjectReport) -> Subject:
    prompt = Prompt(
        id=claimed.prompt or "",
        path="",
        messages=(),
        inputs={},
        output=None,
        model=None,
        bundle_sha256=claimed.bundle_sha256 or "",
    )
    return Subject(prompt=prompt, model=ModelChoice(ref=claimed.model, params=claimed.params))


def _thresholds(
    claimed: SuiteReport, limits: Thresholds, subjects: list[SubjectReport]
) -> list[ThresholdReport]:
    """The thresholds of a suite on its rows."""
    made = rate_thresholds(limits, subjects)
    if limits.max_cost_usd is not None:
        made.append(cost_threshold(limits.max_cost_usd, _cost_usd(claimed, subjects)))
    return made + at_k_thresholds(limits, subjects)


def _cost_usd(claimed: SuiteReport, subjects: list[SubjectReport]) -> float | None:
    """What a suite cost. Calls of unknown cost count at most what the report says they may."""
    costs = [subject.cost for subject in subjects]
    known = math.fsum((cost.answers or 0.0) + (cost.judges or 0.0) for cost in costs)
    if not any(cost.unknown for cost in costs):
        return known
    (said,) = (each.actual for each in claimed.thresholds if each.name == "maxCostUsd")
    return said if said is None else max(said, known)


def _plain(value: object) -> Json:
    return msgspec.to_builtins(value)


def _shown(value: Json) -> str:
    text = encode_json(value).decode("utf-8")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _differences(said: Json, found: Json, path: str) -> Iterator[tuple[str, Json, Json]]:
    """Where two values differ; floats may differ by what rounding does elsewhere."""
    if isinstance(said, dict) and isinstance(found, dict) and said.keys() == found.keys():
        for key in said:
            yield from _differences(said[key], found[key], f"{path}.{key}" if path else key)
    elif isinstance(said, (list, tuple)) and isinstance(found, (list, tuple)):
        if len(said) != len(found):
            yield f"{path}.length", len(said), len(found)
        for place, (one, other) in enumerate(zip(said, found, strict=False)):
            yield from _differences(one, other, f"{path}[{place}]")
    elif not _same(said, found):
        yield path, said, found


def _same(said: Json, found: Json) -> bool:
    if _is_number(said) and _is_number(found):
        return math.isclose(said, found, rel_tol=_CLOSE, abs_tol=1e-15)
    return type(said) is type(found) and said == found


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _negative(row: RowResult) -> str | None:
    """The figure of a row that is below 0, None when none is."""
    if row.cost_usd is not None and row.cost_usd < 0:
        return "cost_usd"
    return "latency_ms" if row.latency_ms is not None and row.latency_ms < 0 else None
