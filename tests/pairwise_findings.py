"""What judges say of pairs, made by hand."""

from __future__ import annotations

from msgspec.structs import replace

from proctor.evidence.preferences import preference_figures
from proctor.records import CacheReport, RowError, Tool, Warn
from proctor.records.pairwise import (
    PAIRWISE_SCHEMA,
    Inconsistency,
    JudgeCost,
    OrderVote,
    PairAnswers,
    PairCounts,
    PairOutcome,
    PairResult,
    PairVote,
    Pairwise,
    PairwiseVerdict,
    Side,
    SignTest,
    TieCounts,
    Unpaired,
)

JUDGE = "local/judge"
NO_ERROR = PairResult("", None, 1, PairOutcome.TIE, None, [], None)


def vote(verdict, first, second, reason="It is.", model=JUDGE):
    """A judge: its verdict, and what it says with A first and with B first."""
    return PairVote(
        model, verdict, OrderVote(first, reason, "a" * 64), OrderVote(second, reason, "b" * 64)
    )


A = vote("a", "first", "second")
B = vote("b", "second", "first")
TIE = vote("tie", "tie", "tie")
TORN = vote("inconsistent", "first", "first")


def pair(case, outcome, *votes, reason=None, error=None, repeat=1):
    return PairResult(case, None, repeat, PairOutcome(outcome), reason, list(votes), error)


LOST = pair(
    "lost",
    "errored",
    reason="no_answer: b",
    error=RowError("P6402", "no recording: this case is not in x.jsonl"),
)
JUNK = pair("junk", "unmeasured", vote(None, "first", None), reason="P6601: no valid verdict")


def found(*pairs, verdict="undecided", planned=None, judges=1, unpaired=None, warnings=()):
    """A comparison of these pairs; its counts are worked out, its verdict is given."""
    of = [one.outcome for one in pairs]
    wins = {}
    for one in pairs:
        if one.outcome.value in ("a", "b", "tie"):
            won = (int(one.outcome is PairOutcome.A), int(one.outcome is PairOutcome.B))
            wins[won] = wins.get(won, 0) + 1
    figures = preference_figures(wins)
    planned = len(pairs) if planned is None else planned
    counted = {outcome.value: of.count(outcome) for outcome in PairOutcome}
    reasons = [one.reason for one in pairs if one.outcome is PairOutcome.TIE]
    names = ("said_tie", "inconsistent", "no_majority", "identical")
    torn = sum(vote.verdict == "inconsistent" for one in pairs for vote in one.votes)
    verdicts = sum(vote.verdict is not None for one in pairs for vote in one.votes)
    return Pairwise(
        schema=PAIRWISE_SCHEMA,
        tool=Tool("proctor", "0.0.0"),
        project="tests",
        suite="quiz",
        verdict=PairwiseVerdict(verdict),
        exit_code=0,
        a=Side("1" * 64, "brief", "2" * 64, "local/tiny"),
        b=Side("3" * 64, "long", "4" * 64, "local/tiny"),
        rubric="prefer",
        rubric_sha256="5" * 64,
        judges=[JUDGE] * judges,
        counts=PairCounts(pairs=planned, not_run=planned - len(pairs), **counted),
        ties=TieCounts(*(reasons.count(name) for name in names)),
        win_rate=figures.win_rate,
        sign_test=SignTest(figures.a_cases, figures.b_cases, figures.even_cases, figures.p),
        inconsistency=Inconsistency(torn, verdicts, torn / verdicts if verdicts else None),
        cache=CacheReport("replay", live=False, replayed=2, recorded=0, digest="6" * 64),
        cost=JudgeCost(None, 0.25, 0),
        unpaired=unpaired or Unpaired([], [], [], 0),
        warnings=list(warnings),
        pairs=list(pairs),
    )


def answers(*pairs, a="the answer of A", b="the answer of B", inputs=None):
    """What was compared in these pairs."""
    return [
        PairAnswers(one.case, one.scenario, one.repeat, inputs or {"q": 1}, a, b) for one in pairs
    ]


MIXED = (
    pair("one", "a", A),
    pair("two", "b", B),
    pair("three", "tie", TORN, reason="inconsistent"),
    pair("four", "tie", TIE, reason="said_tie"),
    LOST,
    JUNK,
)
EVERYTHING = replace(
    found(
        *MIXED,
        verdict="unmeasured",
        unpaired=Unpaired(["old"], ["new", "newer"], ["other"], 3),
        warnings=[Warn("P6215", "`local/judge` judges its own answers", None)],
    ),
    cost=JudgeCost(0.5, None, 1),
)
