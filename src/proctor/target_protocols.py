"""The seams of targets: what answers now, what it builds, and what can go wrong with it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Protocol

from proctor.records import AnySubject, Case, JsonObject, Reply, Scenario


class Built(NamedTuple):
    """What a target built for a case.

    Args:
        artifact: What scenarios are run on; any object, which is handed back as it is.
        reply: What is recorded and judged of it: `answer.artifact` is the artifact as JSON, or
            None when it cannot be written so, beside transcript, context, debug and turns.
    """

    artifact: object
    reply: Reply


class LiveTarget(Protocol):
    """A target that answers now.

    Every method may raise anything; what it raises is classified by `running/faults.py`. A lane is
    the URL of one backend, None when the target has none.
    """

    builds: bool
    """Whether it has something to build."""

    async def setup(self, lane: str | None) -> None:
        """Get a lane ready, before its first row."""
        ...

    async def teardown(self, lane: str | None) -> None:
        """Undo `setup`, at the end and after an interruption."""
        ...

    async def health(self, lane: str | None) -> bool:
        """Whether a lane can be used."""
        ...

    async def build(self, case: Case, repeat: int, lane: str | None) -> Built:
        """Build once for a case and repeat; only called when `builds`."""
        ...

    async def prepare(
        self, case: Case, scenario: Scenario | None, artifact: object, lane: str | None
    ) -> None:
        """Get ready for a scenario, while the resources of its row are held."""
        ...

    async def answer(
        self,
        case: Case,
        scenario: Scenario | None,
        artifact: object,
        repeat: int,
        lane: str | None,
    ) -> Reply:
        """The answer to one row. `artifact` is None when nothing is built.

        `case` is the case as it stands in the dataset, not as the scenario has it.
        """
        ...

    async def cleanup(self, artifact: object, lane: str | None) -> bool:
        """Let go of what was built, after its last row; False when that has to be tried again."""
        ...

    async def aclose(self) -> None:
        """Close what is open."""
        ...


class ReadyTarget(Protocol):
    """A target of a suite as far as it is known without running anything of it."""

    subject: AnySubject
    kind: str
    lanes: tuple[str, ...]
    builds_per_lane: int
    timeout_s: float | None
    """None when nobody said: then `--timeout` holds."""
    max_cost_usd: dict[str, float]
    """What a call of the kind `build` or `answer` may cost at most; empty when nobody said."""

    def key_inputs(self, case: Case, scenario: Scenario | None) -> JsonObject:
        """What is hashed as the inputs of a recording: `{inputs, scenario}`.

        `scenario` is null, or its name and inputs.
        """
        ...


class FaultKind(Enum):
    """What went wrong with a call of a target, which decides how often it is tried again."""

    TRANSPORT = "transport"
    """Connection refused or reset, DNS, aborted, the lane quarantined meanwhile."""
    OUTAGE = "outage"
    """429, 500, 502, 503, 529, overloaded."""
    TIMEOUT = "timeout"
    """The client gave up waiting."""
    TARGET = "target"
    """The target itself failed: that is its verdict."""
    FRAMEWORK = "framework"
    """Anything else, which is nobody's verdict."""
