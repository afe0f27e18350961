"""Floor: read, check, and write one JSON report, with the standard library alone.

Usage: python bench/floors/stdlib.py DATA REPORT (with bench on PYTHONPATH)
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from checks import FORBIDDEN, LABELS

forbidden = re.compile(FORBIDDEN).search


def fits(answer: dict[str, Any]) -> bool:
    """The benchmark's schema, spelled out."""
    return (
        answer.keys() == {"decision", "reply"}
        and answer["decision"] in LABELS
        and isinstance(answer["reply"], str)
        and answer["reply"] != ""
    )


results = []
passed = 0
with Path(sys.argv[1]).open(encoding="utf-8") as data:
    for line in data:
        case = json.loads(line)
        answer = json.loads(case["output"])
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
report = json.dumps({"summary": summary, "results": results})
Path(sys.argv[2]).write_text(report, encoding="utf-8")
print(len(results), passed)
