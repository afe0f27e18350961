"""Targets that are objects of the project, imported where that is allowed."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import TypeVar

from proctor.errors import ProctorError, SuiteError
from proctor.project_code import guarded, import_object
from proctor.records import Case, Reply, Scenario
from proctor.scrubbing import SECRETS
from proctor.target_protocols import Built
from proctor.targets.calling import ProjectCall
from proctor.targets.replies import built_of, reply_of

_OFFERED = {
    "setup": ("lane",),
    "teardown": ("lane", "session"),
    "health": ("lane",),
    "build": ("case", "repeat", "lane"),
    "prepare": ("case", "scenario", "artifact", "lane"),
    "answer": ("case", "scenario", "artifact", "repeat", "lane"),
    "cleanup": ("artifact", "lane"),
}
"""What a target may have, and what each is given."""

_SHOWN = 200

Result = TypeVar("Result")


def open_python(
    root: Path, reference: str, *, allow_code: bool, note: Callable[[str], None]
) -> PythonTarget:
    """Import a target of the project.

    That is an instance with `answer`, a class of such instances that takes no arguments, or a
    function that answers.

    Args:
        root: The project's folder; it joins `sys.path`, last.
        reference: `package.module:attribute`.
        allow_code: Whether the command line allows it.
        note: Told of each kind of exception once, with its message.

    Raises:
        SuiteError: P6220 when it is not allowed; P6203 when there is no such object, or it cannot
            answer.
    """
    part = import_object(root, reference, allow_code=allow_code)
    if isinstance(part, type):
        made: Callable[[], object] = part
        part = guarded(made, f"making a `{reference}`", code="P6203")
    methods = {name: getattr(part, name, None) for name in _OFFERED}
    if methods["answer"] is None and callable(part):
        methods["answer"] = part
    if not callable(methods["answer"]):
        raise SuiteError(
            f"`{reference}` has no `answer`",
            code="P6203",
            hint="name a class, an object with `answer(case, ...)`, or a function",
        )
    calls = {
        name: ProjectCall(method, _OFFERED[name])
        for name, method in methods.items()
        if callable(method)
    }
    return PythonTarget(reference, calls, root=root, note=note)


class PythonTarget:
    """A `LiveTarget` that calls an object of the project.

    It gets copies of cases and scenarios. What it raises passes through.

    Args:
        reference: What is called, for messages.
        calls: Those of its methods that there are, `answer` among them.
        root: The project's folder.
        note: Told of each kind of exception once.
    """

    def __init__(
        self,
        reference: str,
        calls: dict[str, ProjectCall],
        *,
        root: Path,
        note: Callable[[str], None],
    ) -> None:
        self.builds = "build" in calls
        self._reference = reference
        self._calls = calls
        self._root = root
        self._note = note
        self._sessions: dict[str | None, object] = {}
        self._told: set[str] = set()

    async def setup(self, lane: str | None) -> None:
        """Get a lane ready; what that returns is kept for `teardown`."""
        self._sessions[lane] = await self._call("setup", lane)

    async def teardown(self, lane: str | None) -> None:
        """Undo `setup`."""
        await self._call("teardown", lane, self._sessions.pop(lane, None))

    async def health(self, lane: str | None) -> bool:
        """Whether a lane can be used; one that nothing is said of can."""
        return _is_fine(await self._call("health", lane))

    async def build(self, case: Case, repeat: int, lane: str | None) -> Built:
        """Build once for a case and repeat."""
        return built_of(await self._call("build", deepcopy(case), repeat, lane))

    async def prepare(
        self, case: Case, scenario: Scenario | None, artifact: object, lane: str | None
    ) -> None:
        """Get ready for a scenario."""
        await self._call("prepare", deepcopy(case), deepcopy(scenario), artifact, lane)

    async def answer(
        self,
        case: Case,
        scenario: Scenario | None,
        artifact: object,
        repeat: int,
        lane: str | None,
    ) -> Reply:
        """The answer to one row."""
        given = deepcopy(case), deepcopy(scenario), artifact, repeat, lane
        return reply_of(await self._call("answer", *given))

    async def cleanup(self, artifact: object, lane: str | None) -> bool:
        """Let go of what was built; only False says that it has to be tried again."""
        return _is_fine(await self._call("cleanup", artifact, lane))

    async def aclose(self) -> None:
        """There is nothing to close."""

    async def _call(self, name: str, *values: object) -> object:
        call = self._calls.get(name)
        if call is None:
            return None
        try:
            return await call(*values)
        except ProctorError:
            raise
        except Exception as error:
            self._tell(name, error)
            raise

    def _tell(self, name: str, error: Exception) -> None:
        """Say once what the report cannot: the message, which may hold data, and the place."""
        kind = type(error).__name__
        if kind in self._told:
            return
        self._told.add(kind)
        try:
            message = str(error)
        except Exception:
            message = "its message cannot be had"
        message = SECRETS.scrub(" ".join(message.split()))[:_SHOWN]
        said = f"{kind}: {message}" if message else kind
        self._note(f"`{self._reference}`: `{name}` raised {said}{_place(error, self._root)}")


def _is_fine(said: object) -> bool:
    """What a method says of something; one that says nothing found nothing wrong."""
    return said is None or bool(said)


def _place(error: Exception, root: Path) -> str:
    """The last line of the project that was running, in brackets."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(root)]
    if not own:
        return ""
    return f" ({Path(own[-1].filename).relative_to(root)}:{own[-1].lineno})"
