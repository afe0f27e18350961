"""Reads how many cases passed from a report, or from the last line a script printed.

Usage: python bench/verdicts.py proctor|promptfoo|printed FILE

Prints two numbers: all cases and passed cases. It runs as a process of its own because a report
of many cases is large.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def from_proctor(path: Path) -> tuple[int, int]:
    """Rows and passed rows; a row without a verdict makes the report unfit for comparing.

    Raises:
        ValueError: When a row neither passed nor failed.
    """
    report = json.loads(path.read_bytes())
    counts = report["suites"][0]["subjects"][0]["counts"]
    if counts["passed"] + counts["failed"] != counts["rows"]:
        raise ValueError(f"not every row has a verdict: {counts}")
    return counts["rows"], counts["passed"]


def from_promptfoo(path: Path) -> tuple[int, int]:
    """Results and successes of a promptfoo result file."""
    stats = json.loads(path.read_bytes())["results"]["stats"]
    return stats["successes"] + stats["failures"] + stats["errors"], stats["successes"]


def from_printed(path: Path) -> tuple[int, int]:
    """The two numbers on the last line of what a script printed."""
    total, passed = path.read_text(encoding="utf-8").split("\n")[-2].split()
    return int(total), int(passed)


READERS = {"proctor": from_proctor, "promptfoo": from_promptfoo, "printed": from_printed}


if __name__ == "__main__":
    print(*READERS[sys.argv[1]](Path(sys.argv[2])))
