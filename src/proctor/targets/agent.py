"""Targets other than prompts: what is known of one, and opening it so that it answers now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from proctor.canonical import digest
from proctor.errors import ProviderError
from proctor.protocols import PlannedRow
from proctor.records import BUILD_ONLY, Case, JsonObject, Scenario, TargetSubject
from proctor.records.targets import (
    CommandCall,
    HttpCall,
    LoadedTarget,
    PythonCall,
)
from proctor.target_protocols import LiveTarget

if TYPE_CHECKING:
    from proctor.providers.access import Access


class AgentTarget:
    """A `ReadyTarget`: what is known of a target without running anything of it.

    Args:
        loaded: What the suite says of it.
    """

    def __init__(self, loaded: LoadedTarget) -> None:
        self.loaded = loaded
        self.subject: TargetSubject = loaded.subject
        self.kind: str = loaded.subject.kind
        self.lanes: tuple[str, ...] = loaded.lanes
        self.builds_per_lane: int = loaded.builds_per_lane
        self.timeout_s: float | None = loaded.timeout_s
        self.max_cost_usd: dict[str, float] = loaded.max_cost_usd

    @property
    def needs_code(self) -> bool:
        """Whether it runs code, which the command line has to allow."""
        return isinstance(self.loaded.how, (PythonCall, CommandCall))

    @property
    def may_build(self) -> bool:
        """Whether it is of a kind that may have something to build."""
        return isinstance(self.loaded.how, PythonCall)

    def with_lanes(self, lanes: Sequence[str]) -> AgentTarget:
        """The same target on other lanes; with none, on those it has."""
        return AgentTarget(replace(self.loaded, lanes=tuple(lanes))) if lanes else self

    def key_inputs(self, case: Case, scenario: Scenario | None) -> JsonObject:
        """What is hashed as the inputs of a recording: `{inputs, scenario}`.

        A case that has a `conversation` has that in it, too: it is handed to the target.

        Args:
            case: The case as it stands in the dataset.
            scenario: Its scenario; None when it has none, and for a build.
        """
        if scenario is None or scenario.name == BUILD_ONLY:
            told = None
        else:
            told = {"name": scenario.name, "inputs": scenario.inputs}
        inputs: JsonObject = {"inputs": case.inputs, "scenario": told}
        if case.conversation:
            inputs["conversation"] = case.conversation
        return inputs

    def inputs_sha256(self, row: PlannedRow) -> str:
        """What identifies the inputs of a row in a recording's key."""
        return digest(self.key_inputs(row.whole or row.case, row.scenario))

    def open(
        self, root: Path, *, allow_code: bool, access: Access, note: Callable[[str], None]
    ) -> LiveTarget:
        """Make it ready to answer. Close it on the event loop that asked it.

        Args:
            root: The project's folder.
            allow_code: Whether the command line allows code to run.
            access: To whom requests may go, and which keys with them.
            note: Told what it is given, and of the first failures what no report holds.

        Raises:
            ProctorError: What stands in the way: P6220 when code would run and may not, P6203 when
                it is not there, P6301 without an HTTP client, P6306 and P6307 for keys and hosts.
        """
        how = self.loaded.how
        if isinstance(how, PythonCall):
            from proctor.targets.python import open_python

            return open_python(root, how.reference, allow_code=allow_code, note=note)
        if isinstance(how, CommandCall):
            from proctor.targets.command import open_command

            return open_command(root, self.loaded, how, allow_code=allow_code, note=note)
        assert isinstance(how, HttpCall)  # noqa: S101 - outputs are read, and nobody is asked
        return self._open_http(how, access, note)

    def _open_http(self, how: HttpCall, access: Access, note: Callable[[str], None]) -> LiveTarget:
        try:
            from proctor.targets.http import open_http
        except ImportError as error:
            raise ProviderError(
                f"the target `{self.subject.name}` needs `{error.name}`, which is not installed",
                code="P6301",
                hint="install it with `pip install 'proctor[live]'`",
            ) from error
        return open_http(self.loaded, how, access=access, note=note)
