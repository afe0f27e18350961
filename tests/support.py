"""A project in a temporary folder, and the real program run on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from proctor.canonical import CallKeys, digest
from proctor.records import CallKind

EXAMPLES = Path(__file__).parents[1] / "examples"

SUITE = """\
prompt: answer
dataset: cases.jsonl
assertions:
  - {id: right, kind: equals, field: label}
"""

PROMPT = """\
model: {ref: local/tiny, maxTokens: 16, params: {temperature: 0}}
inputs:
  question: {type: string}
output:
  label: {type: string}
user: |-
  {{input.question}}
"""

BUNDLE = digest(
    {
        "messages": [{"role": "user", "content": "{{input.question}}"}],
        "tools": [],
        "inputs": {"question": {"type": "string"}},
        "output": {"label": {"type": "string"}},
    }
)
PARAMS = {"maxTokens": 16, "temperature": 0}


@dataclass(frozen=True)
class Result:
    """What one run of the program did."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode("utf-8")

    @property
    def report(self):
        return json.loads(self.out)


class Project:
    """A project folder with one prompt, `answer`, and one suite, `quiz`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("proctor.toml", 'project = "tests"\n')
        self.write("prompts/answer.prompt.yaml", PROMPT)
        self.write("evals/quiz.eval.yaml", SUITE)

    def write(self, path: str, content: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return file

    def cases(self, *cases: dict) -> None:
        """Write the dataset; `question` and `label` stand for inputs and expected."""
        self.write("evals/cases.jsonl", "".join(json.dumps(case) + "\n" for case in cases))

    def case(self, name: str, label: str = "yes") -> dict:
        return {"id": name, "inputs": {"question": name}, "expected": {"label": label}}

    def recording(self, name: str, text: str | None, **changes) -> dict:
        """A recorded answer to the case `name`, with a right key unless `key` is given."""
        parts = {"prompt": BUNDLE, "inputs": digest({"question": name}), "params": PARAMS}
        parts |= changes.pop("parts", {})
        line = {
            "v": 1,
            "key": None,
            "model": "local/tiny",
            "case": name,
            "scenario": None,
            "assertion": None,
            "call": "answer",
            "take": 1,
            "parts": parts,
            "answer": {
                "text": text,
                "tool_calls": [],
                "finish": "stop",
                "evidence": None,
                "artifact": None,
                "transcript": None,
                "context": None,
                "debug": None,
                "turns": None,
            },
            "usage": {"input": 10, "output": 4, "cached": 0},
            "cost_usd": 0.001,
            "latency_ms": 20,
            "recorded": {
                "provider": "handwritten",
                "host": None,
                "response_model": None,
                "on": "2026-11-30",
            },
        }
        line |= changes
        keys = CallKeys(
            call=CallKind(line["call"]),
            prompt=parts["prompt"],
            model=line["model"],
            params=parts["params"],
        )
        line["key"] = line["key"] or keys.key(parts["inputs"], line["take"])
        return line

    def cassette(self, *lines: dict | str, folder: str = "evals/cassettes") -> None:
        text = "".join(
            (line if isinstance(line, str) else json.dumps(line, separators=(",", ":"))) + "\n"
            for line in lines
        )
        self.write(f"{folder}/quiz.jsonl", text)

    def exam(self, answers: dict[str, str]) -> None:
        """A dataset and cassette: the case's name to the recorded label; `yes` is right."""
        self.cases(*(self.case(name) for name in answers))
        self.cassette(
            *(self.recording(name, json.dumps({"label": label})) for name, label in answers.items())
        )

    def proctor(self, *arguments: str, env: dict[str, str] | None = None, cwd=None) -> Result:
        return proctor(*arguments, cwd=cwd or self.root, env=env)


def proctor(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> Result:
    """Run the program; the environment is the caller's with `env` on top."""
    done = subprocess.run(
        [sys.executable, "-m", "proctor", *arguments],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        check=False,
        timeout=120,
    )
    return Result(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))
