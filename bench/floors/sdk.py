"""Floor: ask for each answer through OpenAI's SDK, keep it, check it, write one JSON report.

Usage: python bench/floors/sdk.py DATA REPORT BASE_URL CONCURRENCY (with bench on PYTHONPATH)

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
from openai import AsyncOpenAI

from checks import FORBIDDEN, SCHEMA
from generate import SYSTEM

decode = msgspec.json.Decoder().decode
fits = jsonschema_rs.validator_for(SCHEMA).is_valid
forbidden = re.compile(FORBIDDEN).search

data, report = Path(sys.argv[1]), Path(sys.argv[2])
base_url, concurrency = sys.argv[3], int(sys.argv[4])
results: dict[int, dict[str, Any]] = {}


async def work(client: AsyncOpenAI, lines: Iterator[tuple[int, bytes]], log: int) -> None:
    """Take lines until there are no more."""
    for place, line in lines:
        case = decode(line)
        completion = await client.chat.completions.create(
            model="canned",
            messages=[
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": case["inputs"]["question"]},
            ],
            max_tokens=400,
            temperature=0,
        )
        text = completion.choices[0].message.content or ""
        os.write(log, msgspec.json.encode(text) + b"\n")
        answer = decode(text)
        reply = answer["reply"]
        checks = {
            "shape": fits(answer),
            "decision": answer["decision"] == case["expected"],
            "no-number": forbidden(reply) is None,
            "ticket": case["needle"] in reply,
        }
        results[place] = {**case, "passed": all(checks.values()), "checks": checks}


async def main() -> None:
    """Read, ask, check, write."""
    log = os.open(f"{report}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    async with AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:
        with data.open("rb") as file:
            lines = iter(enumerate(file))
            await asyncio.gather(*(work(client, lines, log) for _ in range(concurrency)))
    os.close(log)


asyncio.run(main())
ordered = [results[place] for place in sorted(results)]
passed = sum(result["passed"] for result in ordered)
summary = {"total": len(ordered), "passed": passed}
report.write_bytes(msgspec.json.encode({"summary": summary, "results": ordered}))
print(len(ordered), passed)
