"""The common job in pydantic-evals: a task that looks the answer up, one evaluator per check.

Usage: pydantic_evals_replay.py DATA REPORT (with bench on PYTHONPATH)
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema_rs
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, EvaluatorContext
from pydantic_evals.reporting import EvaluationReportAdapter

from checks import FORBIDDEN, SCHEMA

fits = jsonschema_rs.validator_for(SCHEMA).is_valid
forbidden = re.compile(FORBIDDEN).search
canned: dict[str, str] = {}


@dataclass
class Shape(Evaluator):
    """The answer fits the schema."""

    def evaluate(self, ctx: EvaluatorContext) -> bool:
        """Check one answer."""
        return fits(json.loads(ctx.output))


@dataclass
class Decision(Evaluator):
    """The decision is the expected one."""

    def evaluate(self, ctx: EvaluatorContext) -> bool:
        """Check one answer."""
        return json.loads(ctx.output)["decision"] == ctx.expected_output


@dataclass
class NoNumber(Evaluator):
    """The reply holds no forbidden number."""

    def evaluate(self, ctx: EvaluatorContext) -> bool:
        """Check one answer."""
        return forbidden(json.loads(ctx.output)["reply"]) is None


@dataclass
class Ticket(Evaluator):
    """The reply names the ticket."""

    def evaluate(self, ctx: EvaluatorContext) -> bool:
        """Check one answer."""
        return ctx.metadata["needle"] in json.loads(ctx.output)["reply"]


def to_case(row: dict[str, Any]) -> Case:
    """One case, its answer set aside."""
    canned[row["id"]] = row["output"]
    return Case(
        name=row["id"],
        inputs={"id": row["id"], **row["inputs"]},
        expected_output=row["expected"],
        metadata={"needle": row["needle"]},
    )


async def answer(inputs: dict[str, str]) -> str:
    """The canned answer of a case."""
    return canned[inputs["id"]]


with Path(sys.argv[1]).open(encoding="utf-8") as data:
    cases = [to_case(json.loads(line)) for line in data]
evaluators = [Shape(), Decision(), NoNumber(), Ticket()]
report = Dataset(name="replay", cases=cases, evaluators=evaluators).evaluate_sync(
    answer, progress=False
)
Path(sys.argv[2]).write_bytes(EvaluationReportAdapter.dump_json(report))
passed = sum(all(check.value for check in case.assertions.values()) for case in report.cases)
print(len(report.cases), passed)
