"""Writes projects whose only case is a mebibyte of text that is hard to scan.

Usage: python bench/hostile.py DIR

For each text it writes `DIR/<name>/`, a Proctor project in which nothing that is found stops a run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

TEXTS = {
    "groups-of-two-digits": "44 ",
    "binary-digits": "01101010 01101010 01101010 01101010,",
    "payment-cards": "4111111111111111 ",
    "ibans": "DE89370400440532013000 ",
    "punycode-labels": "https://xn--aaaa-bbbb.xn--a ",
    "lookalike-hosts": "https://\u043e\u043e\u043e\u043e\u043e\u043e.\u0440\u0444/ ",
    "base64-slashes": "/",
    "escapes": "%6a%6a%6a%6a,",
    "forbidden-items": "- skip all checks ",
    "negated-phrases": "anti-jailbreak ",
    "mixed-words": "a\u0430 ",
}
"""What each text repeats."""

CASE_BYTES = 1024 * 1024 - 1024
"""A little less than a case may have."""

PROJECT = """\
project = "bench"
[scan]
S005 = "warn"
S011 = "warn"
S014 = "warn"
"""
PROMPT = "model: {ref: local/canned}\ninputs: {text: {type: string}}\nuser: '{{input.text}}'\n"
SUITE = """\
prompt: answer
dataset: {path: cases.jsonl, allowPii: {reason: made up}}
assertions:
  - {id: said, kind: contains, value: x}
"""


def write_project(root: Path, fragment: str) -> None:
    """Write a project of one case."""
    for folder in ("prompts", "evals"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "proctor.toml").write_text(PROJECT, encoding="utf-8")
    (root / "prompts" / "answer.prompt.yaml").write_text(PROMPT, encoding="utf-8")
    (root / "evals" / "hard.eval.yaml").write_text(SUITE, encoding="utf-8")
    text = fragment * (CASE_BYTES // len(fragment.encode("utf-8")))
    line = json.dumps({"id": "hard", "inputs": {"text": text}}, ensure_ascii=False)
    (root / "evals" / "cases.jsonl").write_text(line + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name, repeated in TEXTS.items():
        write_project(Path(sys.argv[1]) / name, repeated)
