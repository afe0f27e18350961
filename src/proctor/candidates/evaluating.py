"""The two doors to a comparison of prompt candidates: for plain code and for an event loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextvars import copy_context
from inspect import iscoroutine
from threading import Thread
from typing import Final, Literal, get_args

from msgspec import Struct

from proctor.candidates.aborting import AbortSignal
from proctor.candidates.callbacks import (
    Callback,
    accepted_arguments,
    must_be_awaited,
    refuse_coroutine_function,
)
from proctor.candidates.engine import Callbacks, Evaluation
from proctor.candidates.values import CandidateScore, EvaluationItem, PromptCandidate
from proctor.errors import EvalInputError

OnError = Literal["raise", "record"]

MAX_CONCURRENCY: Final = 1_024


def evaluate_prompt_candidates(
    *,
    candidates: Iterable[PromptCandidate],
    items: Iterable[EvaluationItem],
    run_candidate: Callback,
    scorer: Callback,
    signal: AbortSignal,
    concurrency: int = 1,
    on_error: OnError = "raise",
    keep_outputs: bool = False,
) -> list[CandidateScore]:
    """Run every candidate on every item, score each output, and return the candidates ranked.

    Candidates are taken in order, and for each of them the items in order. Everything happens in
    this process; no event loop is started, so this also works where one is running.

    Args:
        candidates: At least one, no id twice.
        items: At least one, no id twice.
        run_candidate: `run_candidate(candidate, item, signal)` returns an output. The item has
            neither `expected` nor `context`. It is called with as many of the three as it takes
            by position, parameters with a default among them.
        scorer: `scorer(target, signal)` returns a `ScorerResult`; likewise.
        signal: Ends the evaluation when its controller aborts; looked at before each callback.
        concurrency: How many pairs are worked on at once, each in a thread; 1 uses none.
        on_error: `raise` lets the first exception of a callback propagate, with the ids as a
            note. `record` makes an errored row of it, which counts as 0 and not passed.
        keep_outputs: Keep outputs and the scorer's evidence in the rows.

    Returns:
        By mean score, then pass rate, both descending, then by id. `rank` tells ties.

    Raises:
        EvalInputError: P6005 when an argument cannot be used; nothing was called.
        EvalResultError: P6006 when a scorer returns what is no result.
        TypeError: When a callback is a coroutine function or takes other arguments.
        BaseException: The reason of the signal, or what a callback raises.

    Example:
        >>> from proctor import AbortController, EvaluationItem, PromptCandidate, ScorerResult
        >>> (best,) = evaluate_prompt_candidates(
        ...     candidates=[PromptCandidate("loud", "Answer in capitals.")],
        ...     items=[EvaluationItem("greeting", "hello", expected="HELLO")],
        ...     run_candidate=lambda candidate, item: item.input.upper(),
        ...     scorer=lambda target: ScorerResult(1, target.output == target.expected),
        ...     signal=AbortController().signal,
        ... )
        >>> best.mean_score, best.pass_rate
        (1.0, 1.0)
    """
    evaluation = _Asked(
        candidates, items, run_candidate, scorer, signal, concurrency, on_error, keep_outputs
    ).prepared(may_await=False)
    workers = min(concurrency, evaluation.pairs)
    if workers == 1:
        _work_here(evaluation)
    else:
        _work_in_threads(evaluation, workers)
    return evaluation.scores()


async def evaluate_prompt_candidates_async(
    *,
    candidates: Iterable[PromptCandidate],
    items: Iterable[EvaluationItem],
    run_candidate: Callback,
    scorer: Callback,
    signal: AbortSignal,
    concurrency: int = 1,
    on_error: OnError = "raise",
    keep_outputs: bool = False,
) -> list[CandidateScore]:
    """Do what `evaluate_prompt_candidates` does, and await what the callbacks return.

    With `concurrency`, so many pairs are awaited at once. A plain function is called all the
    same, and nothing else runs until it returns. Cancelling the task that awaits this cancels the
    callbacks in flight.

    Raises:
        CancelledError: When it is cancelled; never recorded, whatever `on_error` says.
    """
    evaluation = _Asked(
        candidates, items, run_candidate, scorer, signal, concurrency, on_error, keep_outputs
    ).prepared(may_await=True)
    workers = min(concurrency, evaluation.pairs)
    if workers == 1:
        await _work_awaiting(evaluation)
    else:
        from asyncio import TaskGroup

        async with TaskGroup() as group:
            for _ in range(workers):
                group.create_task(_work_awaiting(evaluation))
    return evaluation.scores()


class _Asked(Struct, frozen=True):
    """What a door was asked for, not looked at yet."""

    candidates: Iterable[PromptCandidate]
    items: Iterable[EvaluationItem]
    run_candidate: Callback
    scorer: Callback
    signal: AbortSignal
    concurrency: int
    on_error: OnError
    keep_outputs: bool

    def prepared(self, *, may_await: bool) -> Evaluation:
        """The evaluation, once everything about it is known to be usable."""
        candidates, items = tuple(self.candidates), tuple(self.items)
        for given, field in ((candidates, "candidates"), (items, "items")):
            if not given:
                raise EvalInputError(f"`{field}` is empty", field=field)
        _check_ids(candidates, PromptCandidate, "candidates")
        _check_ids(items, EvaluationItem, "items")
        self._check_options()
        callbacks = Callbacks(
            self.run_candidate,
            accepted_arguments(self.run_candidate, "run_candidate", 3),
            self.scorer,
            accepted_arguments(self.scorer, "scorer", 2),
        )
        if not may_await:
            refuse_coroutine_function(self.run_candidate, "run_candidate")
            refuse_coroutine_function(self.scorer, "scorer")
        self.signal.raise_if_aborted()
        return Evaluation(
            candidates,
            items,
            callbacks,
            signal=self.signal,
            records=self.on_error == "record",
            keeps=self.keep_outputs,
        )

    def _check_options(self) -> None:
        concurrency = self.concurrency
        if type(concurrency) is not int or not 1 <= concurrency <= MAX_CONCURRENCY:
            raise EvalInputError(
                f"`concurrency` must be a whole number from 1 to {MAX_CONCURRENCY:,}",
                field="concurrency",
            )
        if self.on_error not in get_args(OnError):
            raise EvalInputError("`on_error` must be `raise` or `record`", field="on_error")
        if not isinstance(self.signal, AbortSignal):
            raise EvalInputError(
                f"`signal` must be an `AbortSignal`, not a `{type(self.signal).__name__}`",
                field="signal",
                hint="`AbortController().signal` is one",
            )


def _check_ids(
    given: Sequence[PromptCandidate] | Sequence[EvaluationItem],
    kind: type[PromptCandidate] | type[EvaluationItem],
    field: str,
) -> None:
    """Refuse what is of another type, or has an id that does not tell it apart."""
    seen: set[str] = set()
    for at, one in enumerate(given):
        if not isinstance(one, kind):
            raise EvalInputError(
                f"`{field}[{at}]` must be of the type `{kind.__name__}`, "
                f"not `{type(one).__name__}`",
                field=field,
            )
        name: object = one.id
        if not isinstance(name, str) or not name:
            raise EvalInputError(f"`{field}[{at}]` needs an id that is not empty", field=field)
        if name in seen:
            raise EvalInputError(f"`{field}` has the id `{name}` twice", field=field)
        seen.add(name)


def _work_here(evaluation: Evaluation) -> None:
    worker = evaluation.worker()
    for awaitable in worker:
        if iscoroutine(awaitable):
            awaitable.close()
        evaluation.stop(TypeError(must_be_awaited("a callback returned an awaitable")))
        worker.close()


def _work_in_threads(evaluation: Evaluation, workers: int) -> None:
    threads = [
        Thread(target=copy_context().run, args=(_work_here, evaluation), daemon=True)
        for _ in range(workers)
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException as stopped:
        # A call in flight cannot be ended, and whoever presses Ctrl-C does not want to wait for
        # it; but no other call is begun.
        evaluation.stop(stopped)
        raise


async def _work_awaiting(evaluation: Evaluation) -> None:
    worker = evaluation.worker()
    try:
        awaitable = next(worker)
        while True:
            try:
                result = await awaitable
            except BaseException as error:
                awaitable = worker.throw(error)
            else:
                awaitable = worker.send(result)
    except StopIteration:
        return
