"""Makes the data of the benchmark: the same cases and answers for every contestant.

Usage: python bench/generate.py DIR SIZE|live|http [SIZE|live|http ...]

For each size N it writes `DIR/dN.jsonl`, one case a line with its canned answer, and
`DIR/proctor-N/`, a Proctor project that replays the same answers. For `live` the project,
`DIR/proctor-live/`, has no recordings, and a provider that gives the answers after a while; for
`http` the provider is a server on loopback. The random numbers have a fixed seed, and no case
depends on how many follow it.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from checks import (
    FAILING_FIRST,
    FAILING_STEP,
    FORBIDDEN,
    HTTP_PORT,
    LABELS,
    LIVE_CASES,
    LIVE_LATENCY_MS,
    SCHEMA,
)
from proctor.canonical import CallKeys, digest
from proctor.records import CallKind

SEED = 20240607
QUESTION_CHARS = 200
REPLY_CHARS = 235
VOCABULARY = (  # noqa: SIM905 - forty quoted words read worse
    "the order arrived late and box was damaged customer asks about policy window return label "
    "account billing cycle invoice payment method shipping address tracking number support agent "
    "reply within business days please confirm details product warranty replacement credit store"
).split()

MODEL = "local/canned"
PARAMS = {"maxTokens": 400, "temperature": 0}
INPUTS = {"question": {"type": "string"}}
SYSTEM = "Decide what to do with a support question. Answer with an object: decision, reply."
USER = "{{input.question}}"

PROJECT = """\
project = "bench"
max_cases = {count}
"""

LIVE = "live"
LIVE_PROVIDER = """\
[providers.local]
kind = "scripted"
answers = "answers.jsonl"
"""

HTTP = "http"
HTTP_PROVIDER = f"""\
[providers.local]
kind = "openai"
base_url = "http://127.0.0.1:{HTTP_PORT}/v1"
[prices."{MODEL}"]
input = 0
output = 0
"""

PROMPT = f"""\
description: Decide what to do with a support question
model: {{ref: {MODEL}, maxTokens: {PARAMS["maxTokens"]}, params: {{temperature: 0}}}}
inputs:
  question: {{type: string}}
system: |-
  {SYSTEM}
user: |-
  {USER}
"""

SUITE = f"""\
prompt: bench/triage
dataset: datasets/bench.jsonl
assertions:
  - id: shape
    kind: json-schema
    schema: {json.dumps(SCHEMA)}
  - {{id: decision, kind: equals, field: decision}}
  - {{id: no-number, kind: regex, field: reply, pattern: '{FORBIDDEN}', negate: true}}
  - {{id: ticket, kind: contains, field: reply, expected: needle}}
"""


class Case(NamedTuple):
    """One case with the answer that is replayed for it."""

    id: str
    question: str
    label: str
    needle: str
    answer: str


def cases(count: int) -> Iterator[Case]:
    """The first `count` cases; one in twenty fails, in turn by each of the four checks."""
    source = random.Random(SEED)
    spoiled = 0
    for index in range(count):
        label = source.choice(LABELS)
        needle = f"ticket-{index:06d}"
        answer: dict[str, Any] = {
            "decision": label,
            "reply": f"Regarding {needle}: {_words(source, REPLY_CHARS)}",
        }
        if index % FAILING_STEP == FAILING_FIRST:
            answer = _spoil(answer, needle=needle, way=spoiled % 4)
            spoiled += 1
        yield Case(
            id=f"case-{index:06d}",
            question=_words(source, QUESTION_CHARS),
            label=label,
            needle=needle,
            answer=json.dumps(answer),
        )


def _words(source: random.Random, chars: int) -> str:
    text = ""
    while len(text) < chars:
        text += source.choice(VOCABULARY) + " "
    return text[:chars].rstrip()


def _spoil(answer: dict[str, Any], *, needle: str, way: int) -> dict[str, Any]:
    decision, reply = answer["decision"], answer["reply"]
    match way:
        case 0:
            return answer | {"extra": 1}
        case 1:
            following = LABELS[(LABELS.index(decision) + 1) % len(LABELS)]
            return answer | {"decision": following}
        case 2:
            return answer | {"reply": reply[:220] + " SSN 123-45-6789"}
        case _:
            return answer | {"reply": reply.replace(needle, "ticket-none")}


def write_plain(path: Path, count: int) -> None:
    """Write the cases as floors and peers read them."""
    with path.open("w", encoding="utf-8") as file:
        for case in cases(count):
            row = {
                "id": case.id,
                "inputs": {"question": case.question},
                "expected": case.label,
                "needle": case.needle,
                "output": case.answer,
            }
            file.write(json.dumps(row) + "\n")


def write_project(root: Path, count: int) -> None:
    """Write the cases as a Proctor project that replays the answers."""
    _write_exam(root, count)
    bundle = bundle_sha256()
    keys = CallKeys(call=CallKind.ANSWER, prompt=bundle, model=MODEL, params=PARAMS)
    cassettes = root / "evals" / "cassettes"
    cassettes.mkdir(exist_ok=True)
    with (cassettes / "bench.jsonl").open("w", encoding="utf-8") as cassette:
        for case in cases(count):
            inputs = digest({"question": case.question})
            cassette.write(_line(_recording(case, keys, bundle=bundle, inputs=inputs)))


def write_live_project(root: Path, count: int) -> None:
    """Write the cases as a Proctor project whose provider answers from a script."""
    _write_exam(root, count, more=LIVE_PROVIDER)
    with (root / "answers.jsonl").open("w", encoding="utf-8") as script:
        for case in cases(count):
            line = {"case": case.id, "text": case.answer, "latency_ms": LIVE_LATENCY_MS}
            script.write(_line(line))


def write_http_project(root: Path, count: int) -> None:
    """Write the cases as a Proctor project that asks a server on loopback."""
    _write_exam(root, count, more=HTTP_PROVIDER)


def _write_exam(root: Path, count: int, *, more: str = "") -> None:
    """Config, prompt, suite and dataset."""
    evals = root / "evals"
    for folder in (root / "prompts", evals / "datasets"):
        folder.mkdir(parents=True, exist_ok=True)
    (root / "proctor.toml").write_text(PROJECT.format(count=count) + more, encoding="utf-8")
    (root / "prompts" / "triage.prompt.yaml").write_text(PROMPT, encoding="utf-8")
    (evals / "bench.eval.yaml").write_text(SUITE, encoding="utf-8")
    with (evals / "datasets" / "bench.jsonl").open("w", encoding="utf-8") as dataset:
        for case in cases(count):
            expected = {"decision": case.label, "needle": case.needle}
            row = {"id": case.id, "inputs": {"question": case.question}, "expected": expected}
            dataset.write(_line(row))


def bundle_sha256() -> str:
    """The hash of the prompt under test: raw template texts and the input contract."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}]
    return digest({"messages": messages, "tools": [], "inputs": INPUTS, "output": None})


def _recording(case: Case, keys: CallKeys, *, bundle: str, inputs: str) -> dict[str, Any]:
    return {
        "v": 1,
        "key": keys.key(inputs, 1),
        "model": MODEL,
        "case": case.id,
        "scenario": None,
        "assertion": None,
        "call": "answer",
        "take": 1,
        "parts": {"prompt": bundle, "inputs": inputs, "params": PARAMS},
        "answer": {
            "text": case.answer,
            "tool_calls": [],
            "finish": "stop",
            "evidence": None,
            "artifact": None,
            "transcript": None,
            "context": None,
            "debug": None,
            "turns": None,
        },
        "usage": {"input": 50, "output": 60, "cached": 0},
        "cost_usd": 0.00021,
        "latency_ms": 50,
        "recorded": {
            "provider": "local",
            "host": "127.0.0.1",
            "response_model": "canned",
            "on": "2026-11-30",
        },
    }


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def main(arguments: list[str]) -> None:
    """Write every size that was asked for."""
    folder, *sizes = arguments
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for size in sizes:
        count = LIVE_CASES if size in (LIVE, HTTP) else int(size)
        write_plain(target / f"d{count}.jsonl", count)
        write = {LIVE: write_live_project, HTTP: write_http_project}.get(size, write_project)
        write(target / f"proctor-{size}", count)


if __name__ == "__main__":
    main(sys.argv[1:])
