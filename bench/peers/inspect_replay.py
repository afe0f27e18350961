"""The common job in Inspect: canned answers through its mock model, one scorer per check.

Usage: inspect_replay.py DATA LOG_FOLDER (with bench on PYTHONPATH)
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import jsonschema_rs
from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import TaskState, generate

from checks import FORBIDDEN, SCHEMA

Check = Callable[[dict[str, Any], TaskState, Target], bool]

data, log_folder = sys.argv[1:]
canned: dict[str, str] = {}
usage = ModelUsage(input_tokens=50, output_tokens=60, total_tokens=110)
fits = jsonschema_rs.validator_for(SCHEMA).is_valid
forbidden = re.compile(FORBIDDEN).search


def to_sample(row: dict[str, Any]) -> Sample:
    """One case; its id goes into the question, so that each question has one answer."""
    question = f"{row['id']} {row['inputs']['question']}"
    canned[question] = row["output"]
    metadata = {"needle": row["needle"]}
    return Sample(id=row["id"], input=question, target=row["expected"], metadata=metadata)


async def answer(messages: list[Any], *_: object) -> ModelOutput:
    """The canned answer of the last message."""
    output = ModelOutput.from_content("mockllm", canned[messages[-1].text])
    output.usage = usage.model_copy()
    return output


def as_scorer(name: str, check: Check) -> Scorer:
    """A scorer of Inspect from one check on the decoded answer."""

    @scorer(metrics=[accuracy()], name=name)
    def make() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            return Score(value=int(check(json.loads(state.output.completion), state, target)))

        return score

    return make()


scorers = [
    as_scorer("shape", lambda answer, _state, _target: fits(answer)),
    as_scorer("decision", lambda answer, _state, target: answer["decision"] == target.text),
    as_scorer("no-number", lambda answer, _state, _target: forbidden(answer["reply"]) is None),
    as_scorer("ticket", lambda answer, state, _target: state.metadata["needle"] in answer["reply"]),
]
samples = json_dataset(data, to_sample)
log = evaluate(
    Task(dataset=samples, solver=generate(), scorer=scorers, name="replay"),
    model=get_model("mockllm/model", custom_outputs=answer),
    log_dir=log_folder,
    display="none",
)[0]
# A case of this job fails at most one check, so that the failures of the scorers add up.
failed = sum(
    round((1 - score.metrics["accuracy"].value) * len(samples)) for score in log.results.scores
)
print(len(samples), len(samples) - failed)
