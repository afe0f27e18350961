"""A floor: two reports read with the standard library, outcomes compared by id.

Usage: python bench/floors/compare.py BEFORE NOW

Proves nothing of what it reads, and holds both reports whole.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def outcomes(path: str) -> dict[str, str]:
    """The outcome of every case."""
    report = json.loads(Path(path).read_bytes())
    subject = report["suites"][0]["subjects"][0]
    return {case["id"]: case["outcome"] for case in subject["cases"]}


def main() -> int:
    """Exit with 1 when a case that passed does not pass any more."""
    before, now = (outcomes(path) for path in sys.argv[1:3])
    worse = [name for name, outcome in before.items() if outcome == "passed" != now.get(name)]
    print(f"{len(worse)} of {len(before)} cases regressed")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
