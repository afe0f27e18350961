"""Writes the common job as a promptfoo configuration with its tests.

Usage: promptfoo_project.py DATA FOLDER (with bench on PYTHONPATH)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from checks import FORBIDDEN, SCHEMA

PROVIDER = Path(__file__).resolve().with_name("promptfoo_provider.cjs")

folder = Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
with (
    Path(sys.argv[1]).open(encoding="utf-8") as data,
    (folder / "tests.jsonl").open("w", encoding="utf-8") as tests,
):
    for line in data:
        row = json.loads(line)
        variables = {
            "question": row["inputs"]["question"],
            "expected": row["expected"],
            "needle": row["needle"],
            "canned": row["output"],
        }
        tests.write(json.dumps({"description": row["id"], "vars": variables}) + "\n")

config = {
    "description": "replay",
    "prompts": ["{{question}}"],
    "providers": [f"file://{PROVIDER}"],
    "tests": "file://tests.jsonl",
    "defaultTest": {
        "assert": [
            {"type": "is-json", "value": SCHEMA},
            {
                "type": "javascript",
                "value": "JSON.parse(output).decision === context.vars.expected",
            },
            {"type": "not-regex", "value": FORBIDDEN},
            {"type": "contains", "value": "{{needle}}"},
        ]
    },
}
(folder / "promptfooconfig.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
