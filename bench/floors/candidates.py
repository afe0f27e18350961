"""Floor: compare candidates with two loops and nothing else.

Usage: python bench/floors/candidates.py EVALUATIONS (with bench on PYTHONPATH)
"""

from __future__ import annotations

import sys

from checks import FAILING_FIRST, FAILING_STEP

CANDIDATES = 100

items = int(sys.argv[1]) // CANDIDATES
rows = []
for candidate in range(CANDIDATES):
    for item in range(items):
        wrong = item % FAILING_STEP == FAILING_FIRST
        output = {"reply": "Thank you." if wrong else f"Thank you. ticket {item}"}
        rows.append((candidate, item, "ticket" in output["reply"]))

print(len(rows), sum(passed for _, _, passed in rows))
