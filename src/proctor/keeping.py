"""Where a run keeps its rows and its report, and whether it goes on with an earlier one."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from proctor.records import JsonObject
from proctor.sharding import Shard
from proctor.tracker_protocols import Tracker


class Keeping(Struct, frozen=True, kw_only=True):
    """What a run keeps besides its recordings.

    Args:
        folder: Where rows and the report go; None for the run's own folder, which only live runs
            have.
        resume: The id of the run that goes on, empty for the newest; None for a new run.
        shard: Which part of a run this is; None for a whole one.
        tracker: Who else is told of its rows; None for nobody.
    """

    folder: Path | None = None
    resume: str | None = None
    shard: Shard | None = None
    tracker: Tracker | None = None

    @property
    def is_asked_for(self) -> bool:
        """Whether a run that keeps nothing by itself is to keep its rows."""
        return self.folder is not None or self.resume is not None

    @property
    def place(self) -> JsonObject | None:
        """Which part it is as a report says it."""
        shard = self.shard
        if shard is None:
            return None
        return {"expected": shard.count, "present": [shard.index], "index": shard.index}


NOTHING_KEPT = Keeping()
"""A whole run, of which only what it does by itself is kept."""
