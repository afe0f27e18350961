"""Two subjects compared answer by answer by judges.

Field order is the key order of the stored format; a change here is a change of format.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from proctor.records.report import CacheReport, PassRate, RowError, Tool, Warn
from proctor.records.words import Json

PAIRWISE_SCHEMA = "proctor.pairwise.v1"


class PairwiseVerdict(StrEnum):
    """What all pairs say: whose answers are preferred, where chance does not explain the lead."""

    A = "a"
    B = "b"
    UNDECIDED = "undecided"
    UNMEASURED = "unmeasured"
    INTERRUPTED = "interrupted"


class PairOutcome(StrEnum):
    """What became of a pair: somebody wins, nobody does, or nothing was measured."""

    A = "a"
    B = "b"
    TIE = "tie"
    ERRORED = "errored"
    UNMEASURED = "unmeasured"


class Side(Struct, frozen=True):
    """One of the two that are compared; `prompt` is None for a target."""

    report_sha256: str
    prompt: str | None
    bundle_sha256: str | None
    model: str

    @property
    def id(self) -> str:
        """The subject's name, as reports have it."""
        return self.model if self.prompt is None else f"{self.prompt}@{self.model}"


class OrderVote(Struct, frozen=True, gc=False):
    """What a judge says in one order: `first`, `second` or `tie`; None and why otherwise."""

    winner: str | None
    reason: str
    recording: str | None


class PairVote(Struct, frozen=True, gc=False):
    """One judge on one pair: what it says in both orders, and what that makes.

    `verdict` is `a`, `b`, `tie` or `inconsistent`, None when one of the two replies does not count.
    """

    model: str
    verdict: str | None
    a_first: OrderVote
    b_first: OrderVote


class PairResult(Struct, frozen=True, gc=False):
    """One pair: the answers of both to the same case, in the same repeat.

    `reason` is a short code: why it is a tie, or why nothing was measured.
    """

    case: str
    scenario: str | None
    repeat: int
    outcome: PairOutcome
    reason: str | None
    votes: list[PairVote]
    error: RowError | None


class PairAnswers(Struct, frozen=True, gc=False):
    """What was compared: the case's inputs and both texts, None where there is none.

    It is not stored; the two reports hold it.
    """

    case: str
    scenario: str | None
    repeat: int
    inputs: Json
    a: str | None
    b: str | None


class PairCounts(Struct, frozen=True):
    """Pairs by outcome; `pairs` is their sum, `not_run` included."""

    pairs: int
    a: int
    b: int
    tie: int
    errored: int
    unmeasured: int
    not_run: int


class TieCounts(Struct, frozen=True):
    """Why pairs are ties; together they are all of them."""

    said_tie: int
    inconsistent: int
    no_majority: int
    identical: int


class SignTest(Struct, frozen=True):
    """Cases of which A wins more pairs, those of which B does, the others, and a two-sided p."""

    a: int
    b: int
    even: int
    p: float


class Inconsistency(Struct, frozen=True):
    """How many of so many verdicts of judges changed with the order of the answers."""

    count: int
    verdicts: int
    rate: float | None


class JudgeCost(Struct, frozen=True):
    """USD. A sum over calls none of which has a known cost is None; `unknown` counts calls."""

    paid: float | None
    replayed: float | None
    unknown: int


class Unpaired(Struct, frozen=True):
    """What is in no pair.

    Cases that are in one report only, cases whose inputs or expected value differ, and how many
    rows of the other cases have no counterpart.
    """

    only_a: list[str]
    only_b: list[str]
    changed: list[str]
    rows: int


class Pairwise(Struct, frozen=True):
    """Two subjects compared pair by pair, and what that says.

    `win_rate` counts the pairs that A wins of those that somebody wins; ties are in neither.
    """

    schema: str
    tool: Tool
    project: str
    suite: str
    verdict: PairwiseVerdict
    exit_code: int
    a: Side
    b: Side
    rubric: str
    rubric_sha256: str
    judges: list[str]
    counts: PairCounts
    ties: TieCounts
    win_rate: PassRate
    sign_test: SignTest
    inconsistency: Inconsistency
    cache: CacheReport
    cost: JudgeCost
    unpaired: Unpaired
    warnings: list[Warn]
    pairs: list[PairResult]
