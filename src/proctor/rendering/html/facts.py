"""What the page says besides the cases, in the words of every other format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proctor.comparing.matching import Place, subject_at
from proctor.records import (
    Cost,
    JsonObject,
    Remark,
    ReportHead,
    SubjectReport,
    SuiteReport,
    Verdict,
)
from proctor.records.comparison import ComparedSubject, Comparison, Label, SubjectComparison
from proctor.rendering.comparison_wording import (
    CLAIM,
    VERDICTS,
    drift_text,
    flipped_cases,
    flips_text,
    gate_text,
    is_same_report,
    label_text,
    limits_text,
    names_text,
    presence_text,
    rates_text,
    single_text,
    subject_text,
    verdict_text,
)
from proctor.rendering.judge_findings import reported_agreement_text
from proctor.rendering.threshold_wording import part_text, threshold_words
from proctor.rendering.wording import (
    cache_text,
    cost_text,
    counts_text,
    headline,
    judges_text,
    money_text,
    repeats_text,
    share_text,
    tokens_text,
    warned_checks,
    who_judges,
)
from proctor.report_protocols import Report
from proctor.statistics import percent


def report_facts(report: Report, remarks: Sequence[Remark]) -> JsonObject:
    """What is said of a report: its verdict, its totals, and its suites one by one."""
    head = report.head
    subjects = [subject for suite in head.suites for subject in suite.subjects]
    is_judged = any(suite.judge is not None for suite in head.suites)
    return {
        "verdict": head.verdict,
        "headline": headline(subject.counts for subject in subjects),
        "notes": list(_notes(head)),
        "totals": [
            cost_text(subject.cost for subject in subjects),
            tokens_text((subject.tokens for subject in subjects), are_judged=is_judged),
            cache_text(suite.cache for suite in head.suites),
        ],
        "remarks": [{"met": one.met, "word": one.word, "text": one.text} for one in remarks],
        "suites": [_suite(report, place, suite) for place, suite in enumerate(head.suites)],
    }


def _notes(head: ReportHead) -> Iterator[str]:
    if head.verdict == Verdict.INTERRUPTED:
        yield "The run was stopped before its end."
    part = part_text(head)
    if part is not None:
        yield part


def _suite(report: Report, place: int, suite: SuiteReport) -> JsonObject:
    agreement = None if suite.judge is None else suite.judge["agreement"]
    return {
        "judges": who_judges(suite),
        "judged": [list(one) for one in judges_text(suite)],
        "agreement": None if agreement is None else reported_agreement_text(agreement),
        "thresholds": [
            {
                **threshold_words(threshold)._asdict(),
                "subject": threshold.subject,
                "met": threshold.met,
            }
            for threshold in suite.thresholds
        ],
        "subjects": [
            _subject(report, place, number, subject)
            for number, subject in enumerate(suite.subjects)
        ],
    }


def _subject(report: Report, place: int, number: int, subject: SubjectReport) -> JsonObject:
    cases = report.cases(place, number)
    rate = subject.pass_rate
    whole = percent(rate.passed, rate.measured)
    low, high = rate.interval
    return {
        "name": subject.id,
        "rate": None if whole is None else f"{whole}%",
        "measured": f"{rate.passed}/{rate.measured}",
        "interval": None if whole is None else f"[{share_text(low)}, {share_text(high)}]",
        "counts": counts_text(subject.counts),
        "cost": _cost(subject.cost),
        "tokens": tokens_text([subject.tokens]),
        "repeats": list(repeats_text(subject, cases, limit=None)),
        "warned": [list(one) for one in warned_checks(subject, cases)],
    }


def _cost(cost: Cost) -> JsonObject:
    """Money in words; None where it is not known."""
    return {
        name: None if usd is None else money_text(usd)
        for name, usd in (("answers", cost.answers), ("judges", cost.judges), ("paid", cost.paid))
    } | {"unknown": cost.unknown}


def comparison_facts(
    comparison: Comparison, baseline: ReportHead, candidate: ReportHead
) -> JsonObject:
    """What is said of a comparison, and where its subjects stand in both reports."""
    before, now = _places(baseline), _places(candidate)
    flips = flips_text(comparison)
    return {
        "verdict": comparison.verdict,
        "word": VERDICTS[comparison.verdict],
        "said": verdict_text(comparison),
        "doubts": comparison.doubts,
        "mode": comparison.mode,
        "gates": [
            {"red": gate.red, "text": gate_text(comparison, gate)} for gate in comparison.gates
        ],
        "subjects": [_compared(one, before, now) for one in comparison.subjects],
        "drift": [drift_text(drift) for drift in comparison.drift if drift.notable],
        "labels": [] if is_same_report(comparison) else list(_labels(comparison)),
        "flips": None
        if flips is None
        else f"{flips} {names_text(flipped_cases(comparison), limit=None)}",
        "limits": list(limits_text(comparison)),
        "claim": CLAIM,
    }


def _places(head: ReportHead) -> dict[ComparedSubject, Place]:
    return {
        subject_at(head, where): where
        for suite, one in enumerate(head.suites)
        for where in (Place(suite, subject) for subject in range(len(one.subjects)))
    }


def _compared(
    one: SubjectComparison,
    before: dict[ComparedSubject, Place],
    now: dict[ComparedSubject, Place],
) -> JsonObject:
    old, new = one.match.baseline, one.match.candidate
    return {
        "name": subject_text(one.match),
        "before": None if old is None else before[old],
        "now": None if new is None else now[new],
        "presence": presence_text(one.match),
        "rates": rates_text(one),
        "single": single_text(one),
    }


def _labels(comparison: Comparison) -> Iterator[JsonObject]:
    """How many units have each label, and how many would by chance; not for single rows."""
    compared = [one for one in comparison.subjects if one.delta is not None]
    if all(one.single is not None for one in compared):
        return
    for label in Label:
        yield {
            "label": label_text(label),
            "found": comparison.labels[label],
            "chance": f"{comparison.by_chance[label]:.2f}",
        }
