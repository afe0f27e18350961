"""Floor: read typed rows, check, and write each result at once, so that memory stays flat.

Usage: python bench/floors/stream.py DATA RESULTS (with bench on PYTHONPATH)
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import jsonschema_rs
import msgspec

from checks import FORBIDDEN, SCHEMA


class Case(msgspec.Struct):
    """One line of the data."""

    id: str
    inputs: dict[str, str]
    expected: str
    needle: str
    output: str


class Result(msgspec.Struct):
    """One line of the results."""

    id: str
    inputs: dict[str, str]
    expected: str
    output: str
    passed: bool
    checks: tuple[bool, bool, bool, bool]


decode_case = msgspec.json.Decoder(Case).decode
decode = msgspec.json.Decoder().decode
encode = msgspec.json.Encoder().encode
fits = jsonschema_rs.validator_for(SCHEMA).is_valid
forbidden = re.compile(FORBIDDEN).search

total = 0
passed = 0
with (
    Path(sys.argv[1]).open("rb") as data,
    Path(sys.argv[2]).open("wb", buffering=1 << 20) as results,
):
    for line in data:
        case = decode_case(line)
        answer = decode(case.output)
        reply = answer["reply"]
        checks = (
            fits(answer),
            answer["decision"] == case.expected,
            forbidden(reply) is None,
            case.needle in reply,
        )
        ok = all(checks)
        total += 1
        passed += ok
        results.write(encode(Result(case.id, case.inputs, case.expected, case.output, ok, checks)))
        results.write(b"\n")
print(total, passed)
