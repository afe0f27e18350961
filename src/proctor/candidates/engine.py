"""The one body of every comparison: pairs of a candidate and an item, taken in order.

A worker is a generator. It calls the callbacks itself and yields only what has to be awaited, so
it runs in a plain loop, in a thread and in an event loop alike; `evaluating.py` has the doors.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Generator, Iterable, Sequence
from fractions import Fraction
from numbers import Real
from threading import Lock
from typing import cast

from msgspec import UNSET, Struct
from msgspec.structs import replace

from proctor.candidates.aborting import AbortSignal
from proctor.candidates.callbacks import Callback, is_awaitable
from proctor.candidates.values import (
    CandidateRow,
    CandidateScore,
    EvaluationItem,
    PromptCandidate,
    ScorerResult,
    ScorerTarget,
)
from proctor.errors import EvalResultError
from proctor.records import Json

Worker = Generator[Awaitable[Json], Json, None]

_BEFORE_ALL = -1


class Callbacks(Struct, frozen=True):
    """The caller's functions, and with how many arguments each of them is called."""

    run_candidate: Callback
    run_arguments: int
    scorer: Callback
    scorer_arguments: int


class Evaluation:
    """What has been taken, what has come of it, and what has ended it early.

    Nothing later than a failure is begun, and what was begun before it is finished; so the
    failure that is raised is the one that a single worker would have met.

    Args:
        candidates: The candidates; their ids are known to differ.
        items: The items; likewise.
        callbacks: What is called for each pair.
        signal: Ends the evaluation when somebody aborts.
        records: Whether an exception of a callback is recorded instead of raised.
        keeps: Whether rows keep outputs and evidence.
    """

    def __init__(
        self,
        candidates: Sequence[PromptCandidate],
        items: Sequence[EvaluationItem],
        callbacks: Callbacks,
        *,
        signal: AbortSignal,
        records: bool,
        keeps: bool,
    ) -> None:
        self._candidates = candidates
        self._items = items
        # A candidate must not see the answer key.
        self._questions = [EvaluationItem(item.id, item.input) for item in items]
        self._callbacks = callbacks
        self._signal = signal
        self._records = records
        self._keeps = keeps
        self.pairs = len(candidates) * len(items)
        self._rows: list[CandidateRow | None] = [None] * self.pairs
        self._lock = Lock()
        self._next = 0
        self._end = self.pairs
        self._failure: BaseException | None = None

    def worker(self) -> Worker:
        """Work on pairs until there are none left, yielding whatever has to be awaited."""
        while (place := self._take()) is not None:
            yield from self._work(place)

    def stop(self, failure: BaseException) -> None:
        """End everything, for a reason that lies in no pair."""
        self._stop_at(_BEFORE_ALL, failure)

    def scores(self) -> list[CandidateScore]:
        """The candidates, the best first.

        Raises:
            BaseException: What ended the evaluation, if something did.
        """
        if self._failure is not None:
            raise self._failure
        rows = cast("list[CandidateRow]", self._rows)
        count = len(self._items)
        return _ranked(
            _score(candidate, rows[at * count : (at + 1) * count])
            for at, candidate in enumerate(self._candidates)
        )

    def _take(self) -> int | None:
        with self._lock:
            place = self._next
            if place >= self._end:
                return None
            self._next = place + 1
            return place

    def _stop_at(self, place: int, failure: BaseException) -> None:
        with self._lock:
            if place < self._end:
                self._end, self._failure = place, failure

    def _work(self, place: int) -> Worker:
        """One pair; nothing that is raised leaves it."""
        candidate_at, item_at = divmod(place, len(self._items))
        candidate, item = self._candidates[candidate_at], self._items[item_at]
        callbacks, signal = self._callbacks, self._signal
        output: Json = UNSET
        try:
            signal.raise_if_aborted()
            given = (candidate, self._questions[item_at], signal)
            output = callbacks.run_candidate(*given[: callbacks.run_arguments])
            if is_awaitable(output):
                output = yield output
            signal.raise_if_aborted()
            if place > self._end:
                return
            target = ScorerTarget(item.input, output, item.expected, item.context)
            result = callbacks.scorer(*(target, signal)[: callbacks.scorer_arguments])
            if is_awaitable(result):
                result = yield result
            fault = _fault_of(result)
            if fault is not None:
                raise EvalResultError(
                    f"candidate `{candidate.id}`, item `{item.id}`: {fault}",
                    candidate_id=candidate.id,
                    item_id=item.id,
                )
        except Exception as error:
            self._rows[place] = self._failed(place, candidate.id, item.id, error, output)
        except BaseException as stopped:
            self._stop_at(place, stopped)
        else:
            kept = (output, result.evidence) if self._keeps else ()
            self._rows[place] = CandidateRow(
                item.id, float(result.score), result.passed, None, *kept
            )

    def _failed(
        self, place: int, candidate_id: str, item_id: str, error: Exception, output: Json
    ) -> CandidateRow | None:
        """The row of a pair that failed; None when that ends the evaluation."""
        reason = self._signal.reason
        if error is reason:
            self._stop_at(place, error)
        elif not self._records:
            if not isinstance(error, EvalResultError):
                error.add_note(f"candidate `{candidate_id}`, item `{item_id}`")
            self._stop_at(place, error)
        elif reason is not None:
            # What fails because it was stopped says nothing about the candidate.
            self._stop_at(place, reason)
        else:
            kept = output if self._keeps else UNSET
            return CandidateRow(item_id, 0.0, False, type(error).__name__, kept)
        return None


def _fault_of(result: object) -> str | None:
    """What is wrong with what a scorer returned, as a sentence, or None."""
    if not isinstance(result, ScorerResult):
        return f"the scorer returned a `{type(result).__name__}`, not a `ScorerResult`"
    if not _is_finite(result.score):
        return "the scorer's `score` is not a finite number"
    passed: object = result.passed
    if not isinstance(passed, bool):
        return "the scorer's `passed` is not a bool"
    return None


def _is_finite(score: object) -> bool:
    if isinstance(score, bool) or not isinstance(score, (float, int, Real)):
        return False
    try:
        return math.isfinite(score)
    except OverflowError:
        return False


def _score(candidate: PromptCandidate, rows: Sequence[CandidateRow]) -> CandidateScore:
    errored = sum(row.error_kind is not None for row in rows)
    return CandidateScore(
        candidate_id=candidate.id,
        mean_score=_mean([row.score for row in rows]),
        pass_rate=sum(row.passed for row in rows) / len(rows),
        item_count=len(rows),
        scorer_count=len(rows) - errored,
        errored_count=errored,
        rows=tuple(rows),
        rank=0,
    )


def _mean(scores: Sequence[float]) -> float:
    try:
        return math.fsum(scores) / len(scores)
    except OverflowError:
        # The sum is too large for a float, their mean never is.
        return float(sum(map(Fraction, scores)) / len(scores))


def _ranked(scores: Iterable[CandidateScore]) -> list[CandidateScore]:
    """In order, each with its rank."""
    ranked: list[CandidateScore] = []
    ordered = sorted(scores, key=lambda one: (-one.mean_score, -one.pass_rate, one.candidate_id))
    for place, score in enumerate(ordered, start=1):
        above = ranked[-1] if ranked else None
        tied = above is not None and (above.mean_score, above.pass_rate) == (
            score.mean_score,
            score.pass_rate,
        )
        ranked.append(replace(score, rank=above.rank if above is not None and tied else place))
    return ranked
