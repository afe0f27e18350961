"""What becomes of one pair, from the replies of its judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from proctor.errors import CassetteError, ProctorError
from proctor.judging.pairs import (
    IDENTICAL,
    PairQuestion,
    Place,
    decide_pair,
    preference,
    read_winner,
)
from proctor.pairwise.pairing import PairedCase, PairedRow, Pairs
from proctor.pairwise.panels import Panel
from proctor.protocols import Heard, JudgeCall
from proctor.records import RowError
from proctor.records.pairwise import OrderVote, PairOutcome, PairResult, PairVote
from proctor.running.row import said_of

_NO_REPLY = "no_reply"


class JudgedPair(NamedTuple):
    """A pair with what became of it, and the calls of judges that it needed."""

    result: PairResult
    calls: Sequence[JudgeCall]


class PairSession(Protocol):
    """Asks judges about pairs: from the cassette, or live."""

    mode: str

    def judged(self, panel: Panel, pairs: Pairs) -> Iterator[JudgedPair]:
        """What becomes of each pair, in their order; a stop leaves the last ones out."""
        ...


def judged_pair(
    case: PairedCase,
    row: PairedRow,
    questions: Sequence[PairQuestion],
    replies: Sequence[Heard | ProctorError],
) -> JudgedPair:
    """What becomes of one pair.

    Args:
        case: The case.
        row: Its two answers.
        questions: What was asked of each judge, with the answer of A first and with that of B;
            none when nobody was asked.
        replies: One for each question, or why there is none. Without one the pair is errored,
            whatever the others say: a replay must not decide otherwise than the run that asked.
    """
    calls = [_call(reply) for reply in replies]
    missing = next((one for one in replies if isinstance(one, ProctorError)), None)
    votes = list(_votes(questions, replies))
    error: RowError | None = None
    if not questions:
        outcome, reason, error = _unasked(row)
    elif missing is not None:
        outcome, reason = PairOutcome.ERRORED, f"{_NO_REPLY}: {missing.code}"
        error = said_of(missing)
    else:
        said = [preference(_place(vote.a_first), _place(vote.b_first)) for vote in votes]
        decided = decide_pair(said)
        reason = decided.reason
        outcome = (
            PairOutcome.UNMEASURED
            if decided.preference is None
            else PairOutcome(decided.preference.value)
        )
    result = PairResult(case.id, row.scenario, row.repeat, outcome, reason, votes, error)
    return JudgedPair(result, calls)


def _unasked(row: PairedRow) -> tuple[PairOutcome, str | None, RowError | None]:
    if row.unasked == IDENTICAL:
        return PairOutcome.TIE, IDENTICAL, None
    error = row.a.error or row.b.error
    outcome = PairOutcome.UNMEASURED if error is None else PairOutcome.ERRORED
    return outcome, row.unasked, error


def _votes(
    questions: Sequence[PairQuestion], replies: Sequence[Heard | ProctorError]
) -> Iterator[PairVote]:
    votes = [_order_vote(reply) for reply in replies]
    asked = zip(questions[::2], votes[::2], votes[1::2], strict=True)
    for question, a_first, b_first in asked:
        said = preference(_place(a_first), _place(b_first))
        verdict = None if said is None else said.value
        yield PairVote(question.subject.model.ref, verdict, a_first, b_first)


def _order_vote(reply: Heard | ProctorError) -> OrderVote:
    if isinstance(reply, ProctorError):
        return OrderVote(None, f"{_NO_REPLY}: {reply.code}", None)
    said = read_winner(reply.reply.answer)
    winner = None if said.place is None else said.place.value
    return OrderVote(winner, said.reason, reply.reply.recording)


def _place(vote: OrderVote) -> Place | None:
    return None if vote.winner is None else Place(vote.winner)


def _call(reply: Heard | ProctorError) -> JudgeCall:
    if isinstance(reply, ProctorError):
        return JudgeCall(None, not isinstance(reply, CassetteError), None, replied=False)
    return JudgeCall(reply.reply.cost_usd, reply.asked, reply.reply.recording)
