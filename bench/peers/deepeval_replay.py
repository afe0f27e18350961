"""The common job in DeepEval: ready test cases, one metric per check.

Usage: deepeval_replay.py DATA (with bench on PYTHONPATH, and DEEPEVAL_RESULTS_FOLDER set)
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
from deepeval import evaluate
from deepeval.evaluate import CacheConfig, DisplayConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

from checks import FORBIDDEN, SCHEMA

Check = Callable[[dict[str, Any], LLMTestCase], bool]

fits = jsonschema_rs.validator_for(SCHEMA).is_valid
forbidden = re.compile(FORBIDDEN).search


class Metric(BaseMetric):
    """A metric that is 1 when a check on the decoded answer holds."""

    def __init__(self, name: str, check: Check) -> None:
        # DeepEval copies a metric by calling this with the attributes named like its parameters.
        self.name = name
        self.check = check
        self.threshold = 0.5
        self.async_mode = True
        self.include_reason = False
        self.strict_mode = False
        self.verbose_mode = False
        self.evaluation_model = None
        self.error = None
        self.reason = None

    def measure(self, test_case: LLMTestCase, *_: object, **__: object) -> float:
        """Score one answer."""
        self.score = float(self.check(json.loads(test_case.actual_output), test_case))
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *_: object, **__: object) -> float:
        """Score one answer."""
        return self.measure(test_case)

    def is_successful(self) -> bool:
        """Whether the last answer passed."""
        return self.success

    @property
    def __name__(self) -> str:
        return self.name


def to_test_case(row: dict[str, Any]) -> LLMTestCase:
    """One case with its answer."""
    return LLMTestCase(
        name=row["id"],
        input=row["inputs"]["question"],
        actual_output=row["output"],
        expected_output=row["expected"],
        context=[row["needle"]],
    )


metrics = [
    Metric("shape", lambda answer, _case: fits(answer)),
    Metric("decision", lambda answer, case: answer["decision"] == case.expected_output),
    Metric("no-number", lambda answer, _case: forbidden(answer["reply"]) is None),
    Metric("ticket", lambda answer, case: case.context[0] in answer["reply"]),
]
with Path(sys.argv[1]).open(encoding="utf-8") as lines:
    test_cases = [to_test_case(json.loads(line)) for line in lines]
result = evaluate(
    test_cases,
    metrics,
    display_config=DisplayConfig(show_indicator=False, print_results=False),
    cache_config=CacheConfig(write_cache=False),
)
print(len(result.test_results), sum(test.success for test in result.test_results))
