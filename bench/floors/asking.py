"""Floor: wait for each answer, keep it, check it, and write one JSON report, with bare asyncio.

Usage: python bench/floors/asking.py DATA REPORT LATENCY_MS CONCURRENCY (with bench on PYTHONPATH)

The answers that came are appended to a file beside the report, one line and one write each.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec

from checks import FORBIDDEN, SCHEMA

decode = msgspec.json.Decoder().decode
fits = jsonschema_rs.validator_for(SCHEMA).is_valid
forbidden = re.compile(FORBIDDEN).search

data, report = Path(sys.argv[1]), Path(sys.argv[2])
latency_s, concurrency = float(sys.argv[3]) / 1_000, int(sys.argv[4])
results: dict[int, dict[str, Any]] = {}


async def work(lines: Iterator[tuple[int, bytes]], log: int) -> None:
    """Take lines until there are no more."""
    for place, line in lines:
        case = decode(line)
        await asyncio.sleep(latency_s)
        os.write(log, msgspec.json.encode(case["output"]) + b"\n")
        answer = decode(case["output"])
        reply = answer["reply"]
        checks = {
            "shape": fits(answer),
            "decision": answer["decision"] == case["expected"],
            "no-number": forbidden(reply) is None,
            "ticket": case["needle"] in reply,
        }
        results[place] = {**case, "passed": all(checks.values()), "checks": checks}


async def main() -> None:
    """As many workers as calls may be in flight."""
    log = os.open(f"{report}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with data.open("rb") as file:
        lines = iter(enumerate(file))
        await asyncio.gather(*(work(lines, log) for _ in range(concurrency)))
    os.close(log)


asyncio.run(main())
ordered = [results[place] for place in sorted(results)]
passed = sum(result["passed"] for result in ordered)
summary = {"total": len(ordered), "passed": passed}
report.write_bytes(msgspec.json.encode({"summary": summary, "results": ordered}))
print(len(ordered), passed)
