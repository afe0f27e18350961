"""What a comparison of answers by judges says, in words; data in them is escaped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from proctor.evidence.preferences import FEWEST_DECIDED
from proctor.judging.pairs import SAID_TIE
from proctor.records import PassRate
from proctor.records.pairwise import (
    OrderVote,
    PairOutcome,
    PairResult,
    Pairwise,
    PairwiseVerdict,
    Side,
    Unpaired,
)
from proctor.rendering.escaping import terminal_text
from proctor.rendering.wording import (
    MESSAGE_LENGTH,
    REASON_LENGTH,
    money_text,
    number_text,
    share_text,
    shortened,
)

VERDICTS = {
    PairwiseVerdict.A: "A WINS",
    PairwiseVerdict.B: "B WINS",
    PairwiseVerdict.UNDECIDED: "UNDECIDED",
    PairwiseVerdict.UNMEASURED: "UNMEASURED",
    PairwiseVerdict.INTERRUPTED: "INTERRUPTED",
}

OUTCOMES = {
    PairOutcome.A: "A wins",
    PairOutcome.B: "B wins",
    PairOutcome.TIE: "tie",
    PairOutcome.ERRORED: "errored",
    PairOutcome.UNMEASURED: "unmeasured",
}

_CHOSEN = {
    ("A", "first"): "A",
    ("A", "second"): "B",
    ("B", "first"): "B",
    ("B", "second"): "A",
}
"""Who is meant, by who stands first and what the judge says."""

_SAID = {"a": "A", "b": "B", "tie": "tie", "inconsistent": "inconsistent", None: "no verdict"}
_TIES = {
    "said_tie": "called a tie",
    "inconsistent": "by inconsistency",
    "no_majority": "without a majority",
    "identical": "of identical answers",
}


def won_text(found: Pairwise) -> str:
    """Who wins how many of the measured pairs."""
    counts = found.counts
    measured = counts.a + counts.b + counts.tie
    pairs = "1 measured pair" if measured == 1 else f"{measured} measured pairs"
    counted = {name: getattr(found.ties, name) for name in _TIES}
    parts = [f"{count} {_TIES[name]}" for name, count in counted.items() if count]
    why = f" ({', '.join(parts)})" if parts else ""
    return f"{pairs}: A {counts.a}, B {counts.b}, ties {counts.tie}{why}"


def missing_text(found: Pairwise) -> str | None:
    """The pairs that are in no rate, None when there are none."""
    names = ("errored", "unmeasured", "not_run")
    parts = [
        f"{count} {name.replace('_', ' ')}"
        for name in names
        if (count := getattr(found.counts, name))
    ]
    return f"in no rate: {', '.join(parts)}" if parts else None


def side_text(side: Side) -> str:
    """The subject, as reports name it, and which report."""
    return f"{shortened(side.id, MESSAGE_LENGTH)}, report {side.report_sha256[:12]}"


def judges_text(found: Pairwise) -> str:
    """Who judges by what."""
    asked = Counter(found.judges)
    names = ", ".join(
        f"{terminal_text(model)}{f' ({count} times)' if count > 1 else ''}"
        for model, count in asked.items()
    )
    return f"judged by {names}, with the rubric {terminal_text(found.rubric)}"


def rate_text(rate: PassRate) -> str:
    """The win rate of A with its interval, of the pairs that somebody wins."""
    low, high = (share_text(bound) for bound in rate.interval)
    counted = f"{rate.passed}/{rate.measured}"
    return f"win rate of A: {counted} decided pairs, {share_text(rate.rate)} [{low}, {high}]"


def sign_text(found: Pairwise) -> str:
    """What the sign test says, and what nothing could be said of."""
    test = found.sign_test
    counted = f"A ahead in {test.a}, B in {test.b}, neither in {test.even}"
    said = f"sign test over cases: {counted}; p {number_text(test.p, digits=4)}"
    decided = test.a + test.b
    if decided < FEWEST_DECIDED:
        return f"{said}; nothing can be told from fewer than {FEWEST_DECIDED} decided cases"
    return said


def inconsistency_text(found: Pairwise) -> str:
    """How many verdicts changed with the order."""
    one = found.inconsistency
    share = "" if one.rate is None else f", {share_text(one.rate)}"
    verdicts = "1 verdict" if one.verdicts == 1 else f"{one.verdicts} verdicts"
    return f"{one.count} of {verdicts} changed with the order of the answers{share}"


def cost_text(found: Pairwise) -> str:
    """What the verdicts cost."""
    cost = found.cost
    parts = [
        f"{money_text(usd)} {name}"
        for name, usd in (("paid now", cost.paid), ("replayed", cost.replayed))
        if usd
    ]
    if cost.unknown:
        parts.append(
            "1 call at a cost that is not known"
            if cost.unknown == 1
            else f"{cost.unknown} calls at a cost that is not known"
        )
    return f"cost: {', '.join(parts) or money_text(0)}"


def unpaired_texts(unpaired: Unpaired) -> Iterator[tuple[str, Sequence[str]]]:
    """What is in no pair, each with the names of its cases."""
    for what, names in (
        ("only in the report of A", unpaired.only_a),
        ("only in the report of B", unpaired.only_b),
        ("with other inputs or another expected value", unpaired.changed),
    ):
        if names:
            counted = "1 case" if len(names) == 1 else f"{len(names)} cases"
            yield f"not compared: {counted} {what}", names
    if unpaired.rows:
        counted = "1 answer" if unpaired.rows == 1 else f"{unpaired.rows} answers"
        yield f"not compared: {counted} without a counterpart in the other report", ()


def pair_name(pair: PairResult, *, is_repeated: bool) -> str:
    """The pair as people name it."""
    name = shortened(" / ".join(filter(None, (pair.case, pair.scenario))), MESSAGE_LENGTH)
    return f"{name}, repeat {pair.repeat}" if is_repeated else name


def pair_text(pair: PairResult) -> str:
    """What became of a pair."""
    said = OUTCOMES[pair.outcome]
    if pair.outcome is PairOutcome.TIE:
        why = _TIES.get(pair.reason or "")
        return said if why is None or pair.reason == SAID_TIE else f"{said} {why}"
    if pair.error is not None:
        message = shortened(pair.error.message, MESSAGE_LENGTH)
        return f"{said}: {terminal_text(pair.error.code)}: {message}"
    if pair.reason is not None:
        return f"{said}: {terminal_text(pair.reason.replace('_', ' '))}"
    return said


def vote_lines(pair: PairResult) -> Iterator[str]:
    """What each judge says in either order."""
    is_panel = len({vote.model for vote in pair.votes}) > 1
    for number, vote in enumerate(pair.votes, 1):
        who = f"judge {number}" if len(pair.votes) > 1 else "judge"
        by = f" ({terminal_text(vote.model)})" if is_panel else ""
        yield f"{who}{by}: {_SAID.get(vote.verdict, 'no verdict')}"
        for first, one in (("A", vote.a_first), ("B", vote.b_first)):
            yield f"  {first} first: {order_text(one, first=first)}"


def order_text(vote: OrderVote, *, first: str) -> str:
    """Whom a judge prefers in one order, and why.

    Args:
        vote: What it says.
        first: Whose answer it was shown first, `A` or `B`.
    """
    said = "no verdict" if vote.winner is None else "tie"
    said = _CHOSEN.get((first, vote.winner or ""), said)
    return f"{said}: {shortened(vote.reason, REASON_LENGTH)}" if vote.reason else said


def is_repeated(found: Pairwise) -> bool:
    """Whether some pair is of a later repeat, so that the repeat has to be said."""
    return any(pair.repeat > 1 for pair in found.pairs)
