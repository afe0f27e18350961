"""Floor: read, check, and write one JSON report, with fast libraries and nothing else.

Usage: python bench/floors/replay.py DATA REPORT (with bench on PYTHONPATH)
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import jsonschema_rs
import msgspec

from checks import FORBIDDEN, SCHEMA

decode = msgspec.json.Decoder().decode
fits = jsonschema_rs.validator_for(SCHEMA).is_valid
forbidden = re.compile(FORBIDDEN).search

results = []
passed = 0
with Path(sys.argv[1]).open("rb") as data:
    for line in data:
        case = decode(line)
        answer = decode(case["output"])
        reply = answer["reply"]
        checks = {
            "shape": fits(answer),
            "decision": answer["decision"] == case["expected"],
            "no-number": forbidden(reply) is None,
            "ticket": case["needle"] in reply,
        }
        ok = all(checks.values())
        passed += ok
        results.append({**case, "passed": ok, "checks": checks})

summary = {"total": len(results), "passed": passed}
report = msgspec.json.encode({"summary": summary, "results": results})
Path(sys.argv[2]).write_bytes(report)
print(len(results), passed)
