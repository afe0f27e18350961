"""What a comparison of candidates is given, what its callbacks exchange, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import UNSET, Struct, UnsetType

from proctor.records import Json


class PromptCandidate(Struct, frozen=True, repr_omit_defaults=True):
    """One of the prompts that are compared.

    Args:
        id: Names it in the results and breaks ties; not empty, and not used twice.
        prompt: The prompt, in whatever way `run_candidate` reads it.
        metadata: Anything else `run_candidate` wants to know about it.
    """

    id: str
    prompt: str
    metadata: Mapping[str, Json] | None = None


class EvaluationItem(Struct, frozen=True, repr_omit_defaults=True):
    """One input that every candidate is run on.

    Args:
        id: Names it in the results; not empty, and not used twice.
        input: What the candidate is given. All candidates are given the same object.
        expected: What only the scorer sees. None is a value; without one it stays `UNSET`.
        context: More that only the scorer sees, such as the documents an answer must rest on.
    """

    id: str
    input: Json
    expected: Json = UNSET
    context: Sequence[Json] | UnsetType = UNSET


class ScorerTarget(Struct, frozen=True, repr_omit_defaults=True, gc=False):
    """What a scorer is asked about.

    Args:
        input: The item's input.
        output: What `run_candidate` returned.
        expected: The item's `expected`, `UNSET` when it has none.
        context: The item's `context`, `UNSET` when it has none.
    """

    input: Json
    output: Json
    expected: Json = UNSET
    context: Sequence[Json] | UnsetType = UNSET


class ScorerResult(Struct, frozen=True, repr_omit_defaults=True, gc=False):
    """What a scorer says.

    Args:
        score: A finite number, of any size and sign; it is never clamped.
        passed: Whether the output is good enough, whatever the score.
        evidence: Why, as JSON. It may quote the output, so results keep it only when asked to.
    """

    score: float
    passed: bool
    evidence: Json = None


class CandidateRow(Struct, frozen=True, repr_omit_defaults=True, gc=False):
    """What became of one item under one candidate.

    Args:
        item_id: The item.
        score: What the scorer gave; 0 when the row is errored.
        passed: What the scorer said; false when the row is errored.
        error_kind: The type of the exception that spoiled the row, None when there was none.
        output: What the candidate returned; `UNSET` unless outputs are kept.
        evidence: What the scorer gave as evidence; `UNSET` unless outputs are kept.
    """

    item_id: str
    score: float
    passed: bool
    error_kind: str | None = None
    output: Json = UNSET
    evidence: Json = UNSET


class CandidateScore(Struct, frozen=True):
    """How one candidate did.

    Args:
        candidate_id: The candidate.
        mean_score: The mean over all items; an errored row counts as 0.
        pass_rate: Passed rows over all items; an errored row did not pass.
        item_count: How many items there were.
        scorer_count: How many of them the scorer gave a result for.
        errored_count: How many of them have no result, because a callback failed.
        rows: One row per item, in the order of the items.
        rank: 1 for the best. Candidates with the same mean score and pass rate share a rank.
    """

    candidate_id: str
    mean_score: float
    pass_rate: float
    item_count: int
    scorer_count: int
    errored_count: int
    rows: tuple[CandidateRow, ...]
    rank: int
