"""Compares prompt candidates in this process, with the scorer `contains`.

Usage: python bench/evaluate.py EVALUATIONS (with bench on PYTHONPATH)
"""

from __future__ import annotations

import sys

from checks import FAILING_FIRST, FAILING_STEP
from proctor import (
    AbortController,
    ContainsScorer,
    EvaluationItem,
    PromptCandidate,
    evaluate_prompt_candidates,
)

CANDIDATES = 100

count = int(sys.argv[1])


def run(candidate: PromptCandidate, item: EvaluationItem) -> dict[str, str]:
    """An answer that names its ticket, but for the items that fail on purpose."""
    wrong = item.input % FAILING_STEP == FAILING_FIRST
    return {"reply": candidate.prompt if wrong else f"{candidate.prompt} ticket {item.input}"}


scores = evaluate_prompt_candidates(
    candidates=[PromptCandidate(str(at), "Thank you.") for at in range(CANDIDATES)],
    items=[EvaluationItem(str(at), at) for at in range(count // CANDIDATES)],
    run_candidate=run,
    scorer=ContainsScorer(path="/reply", value="ticket"),
    signal=AbortController().signal,
)
print(
    sum(score.item_count for score in scores),
    sum(row.passed for score in scores for row in score.rows),
)
