"""What every contestant of the benchmark checks, and how many cases fail.

Each answer must be an object that fits `SCHEMA`, hold the expected decision, say nothing that
matches `FORBIDDEN`, and name the ticket of its case.
"""

from __future__ import annotations

from typing import Any

LABELS = ("refund", "escalate", "deny", "answer")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["decision", "reply"],
    "additionalProperties": False,
    "properties": {
        "decision": {"type": "string", "enum": list(LABELS)},
        "reply": {"type": "string", "minLength": 1},
    },
}

FORBIDDEN = r"\b\d{3}-\d{2}-\d{4}\b"

LIVE_CASES = 1_000
LIVE_LATENCY_MS = 50
LIVE_CONCURRENCY = 50
"""A live run asks for as many answers, each of which takes so long, so many at a time."""

HTTP_PORT = 18_431
"""Where the server of a run over HTTP listens."""

FAILING_FIRST = 7
FAILING_STEP = 20


def failing(count: int) -> int:
    """How many of the first `count` cases fail on purpose."""
    return len(range(FAILING_FIRST, count, FAILING_STEP))
