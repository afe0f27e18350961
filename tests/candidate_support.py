"""Comparisons of prompt candidates for tests, through every door that leads to one."""

from __future__ import annotations

import asyncio

from proctor import (
    AbortController,
    EvaluationItem,
    PromptCandidate,
    ScorerResult,
    evaluate_prompt_candidates,
    evaluate_prompt_candidates_async,
)


def sync(**arguments):
    return evaluate_prompt_candidates(**arguments)


def awaited(**arguments):
    return asyncio.run(evaluate_prompt_candidates_async(**arguments))


def awaited_callbacks(*, run_candidate, scorer, **arguments):
    """The async twin, with callbacks that let others go first."""

    async def run_later(candidate, item, signal):
        await asyncio.sleep(0)
        return run_candidate(candidate, item, signal)

    async def score_later(target, signal):
        await asyncio.sleep(0)
        return scorer(target, signal)

    return awaited(run_candidate=run_later, scorer=score_later, **arguments)


DOORS = (sync, awaited, awaited_callbacks)


def candidates(*ids):
    return [PromptCandidate(one, f"prompt of {one}") for one in ids]


def items(*ids):
    return [EvaluationItem(one, f"input of {one}") for one in ids]


def compare(door=sync, **changes):
    """Two candidates on two items, each output passing with score 1, but for the changes."""
    arguments = {
        "candidates": candidates("b", "a"),
        "items": items("1", "2"),
        "run_candidate": lambda candidate, item, signal: f"{candidate.id}:{item.id}",
        "scorer": lambda target, signal: ScorerResult(1.0, True),
        "signal": AbortController().signal,
    }
    return door(**arguments | changes)


class Calls:
    """Callbacks that write down what they are called for.

    Args:
        score: What an output, spelled `candidate:item`, is worth.
        passes: The outputs that pass.
        hooks: What is called first for an output, or for `score OUTPUT`.
    """

    def __init__(self, score=None, passes=None, hooks=None):
        self.made = []
        self._score = score or {}
        self._passes = passes
        self._hooks = hooks or {}

    def run(self, candidate, item, signal):
        return self._called(f"{candidate.id}:{item.id}")

    def scorer(self, target, signal):
        self._called(f"score {target.output}")
        passed = self._passes is None or target.output in self._passes
        return ScorerResult(self._score.get(target.output, 1.0), passed)

    @property
    def callbacks(self):
        return {"run_candidate": self.run, "scorer": self.scorer}

    def _called(self, name):
        self.made.append(name)
        if name in self._hooks:
            self._hooks[name]()
        return name


def failing(error):
    """A hook that raises."""

    def fail():
        raise error

    return fail
