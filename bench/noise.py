"""Measures how often a comparison is red: when nothing changed, and when something did.

Usage: python bench/noise.py

Each trial is two whole reports, made from random numbers with a fixed seed, and compared like any
other two. It prints a table, and exits with 1 when a bar is missed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from typing import NamedTuple

from proctor.aggregating import SuiteFacts, SuiteTally, report_head
from proctor.comparing.reports import ReportCases, compare_reports
from proctor.gating import GateOptions, decide
from proctor.records import (
    Case,
    CaseResult,
    Check,
    DatasetReport,
    ModelChoice,
    Outcome,
    Prompt,
    RowResult,
    Subject,
    Thresholds,
    model_answer,
)
from proctor.records.comparison import ComparisonVerdict

SEED = 20_241_130

SUBJECT = Subject(
    prompt=Prompt(
        id="stub",
        path="prompts/stub.prompt.yaml",
        messages=(),
        inputs={},
        output=None,
        model=None,
        bundle_sha256="0" * 64,
    ),
    model=ModelChoice(ref="local/stub", params={}),
)

Rates = Mapping[str, float]
"""The chance of each case to pass, by its id."""


class Bar(NamedTuple):
    """How many pairs are made, and how many of them may or must be red."""

    pairs: int
    least: int
    most: int


class Trial(NamedTuple):
    """What becomes of each case, how often its rows are repeated, and what that must show.

    `sample` is the smaller bar that the tests hold.
    """

    name: str
    before: Rates
    now: Rates
    repeats: int
    bar: Bar
    sample: Bar


def _cases(count: int, rate: float, *, fallen: int = 0, to: float = 0.0) -> Rates:
    return {f"case-{n}": to if n < fallen else rate for n in range(count)}


TRIALS = (
    Trial(
        "40 cases pass 8 times in 10, before and now",
        _cases(40, 0.8),
        _cases(40, 0.8),
        repeats=5,
        bar=Bar(pairs=2_000, least=0, most=80),
        sample=Bar(pairs=200, least=0, most=12),
    ),
    Trial(
        "20 of 40 cases fall from 0.8 to 0.5",
        _cases(40, 0.8),
        _cases(40, 0.8, fallen=20, to=0.5),
        repeats=5,
        bar=Bar(pairs=500, least=425, most=500),
        sample=Bar(pairs=100, least=80, most=100),
    ),
    Trial(
        "1 of 40 cases falls from 1 to 0, and 39 always pass",
        _cases(40, 1.0),
        _cases(40, 1.0, fallen=1),
        repeats=5,
        bar=Bar(pairs=50, least=50, most=50),
        sample=Bar(pairs=5, least=5, most=5),
    ),
)


def red_of(trial: Trial, pairs: int) -> int:
    """How many of so many pairs of reports are red."""
    source = random.Random(SEED)
    return sum(_is_red(trial, source) for _ in range(pairs))


def _is_red(trial: Trial, source: random.Random) -> bool:
    before = _report(trial.before, trial.repeats, source)
    now = _report(trial.now, trial.repeats, source)
    comparison = decide(
        compare_reports(before, now), GateOptions(), baseline_sha256="", candidate_sha256=""
    )
    return comparison.verdict is ComparisonVerdict.REGRESSED


def _report(rates: Rates, repeats: int, source: random.Random) -> ReportCases:
    """A report whose rows pass as often as chance has it; no two answers are the same."""
    facts = SuiteFacts(
        suite="noise",
        tiers=[],
        repeats=repeats,
        dataset=DatasetReport(
            path="noise.jsonl",
            sha256="0" * 64,
            cases=len(rates),
            selected=len(rates),
            allow=[],
            allow_pii=None,
            findings=[],
        ),
        assertion_ids=("right",),
        thresholds=Thresholds(),
    )
    tally = SuiteTally(facts)
    counted = tally.subject(SUBJECT)
    cases: list[tuple[int, int, CaseResult]] = []
    for place, (id_, rate) in enumerate(rates.items()):
        rows = [
            counted.add(_row(repeat, source.random() < rate, source))
            for repeat in range(1, repeats + 1)
        ]
        cases.append((0, 0, counted.add_case(Case(id_, {}), index=place, rows=rows)))
    return ReportCases(report_head([tally.finish()], project="noise", version="0"), cases)


def _row(repeat: int, passes: bool, source: random.Random) -> RowResult:
    outcome = Outcome.PASSED if passes else Outcome.FAILED
    return RowResult(
        scenario=None,
        repeat=repeat,
        outcome=outcome,
        category=None,
        attribution=None,
        answer=model_answer(f"{source.random()}"),
        recording=None,
        checks=[Check("right", "equals", outcome)],
        usage=None,
        cost_usd=None,
        latency_ms=None,
        error=None,
    )


def main() -> int:
    """Try everything, and print what came out."""
    missed = False
    print("| what happens | pairs | red | bar |\n|---|---|---|---|")
    for trial in TRIALS:
        red = red_of(trial, trial.bar.pairs)
        missed = missed or not trial.bar.least <= red <= trial.bar.most
        print(
            f"| {trial.name} | {trial.bar.pairs} | {red} | {trial.bar.least} to {trial.bar.most} |"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
