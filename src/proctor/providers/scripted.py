"""The scripted provider: answers, latencies and faults from a file or a function, for nothing.

It makes the whole way of a live run testable: recording, sharing, interruption, errors.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Sequence
from heapq import merge
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from proctor.clock import Clock
from proctor.documents import Document, StructReader
from proctor.errors import ProctorError, ProviderError, TryAgain, UsageError, raise_all
from proctor.providers.wire import status_error
from proctor.records import Call, Finish, Json, Reply, Request, ToolCall, Usage, model_answer
from proctor.safe_io import MEBIBYTE, inside, read_inside, reason_of
from proctor.strict_json import JsonProblem, parse_json

MAX_FILE = 64 * MEBIBYTE


class ScriptedAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a script: which calls it is for, and what happens.

    A call is answered by the first line whose `case`, `take` and `contains` all fit; what is left
    out fits everything. `contains` is looked for in the messages that would be sent.
    """

    case: str | None = None
    contains: str | None = None
    take: Annotated[int, Meta(ge=1)] | None = None
    text: str | None = None
    tool_calls: list[ToolCall] = []
    finish: Finish = Finish.STOP
    usage: Usage | None = None
    latency_ms: Annotated[float, Meta(ge=0, le=3_600_000)] = 0.0
    fault: Annotated[int, Meta(ge=300, le=599)] | Literal["timeout", "reset", "hang"] | None = None


Script = Callable[[Request, Call], ScriptedAnswer | str]
"""A function that answers each call; a plain string is the text of the answer."""

_FAULTS = ("timeout", "reset", "hang")


class ScriptedProvider:
    """Answers calls from a script.

    Args:
        script: The lines, or a function.
        clock: Where waiting comes from.
    """

    kind = "scripted"
    host: str | None = None

    def __init__(
        self, script: Sequence[ScriptedAnswer] | Script, *, clock: Clock | None = None
    ) -> None:
        self._script = script if callable(script) else _first_match(script)
        self._clock = clock or Clock()

    async def complete(self, request: Request, call: Call) -> Reply:
        """Answer one call, after its latency.

        Raises:
            ProviderError: For a fault of the script, or when no line fits the call.
        """
        scripted = self._script(request, call)
        if isinstance(scripted, str):
            scripted = ScriptedAnswer(text=scripted)
        if scripted.latency_ms:
            await self._clock.sleep(scripted.latency_ms / 1_000)
        if scripted.fault is not None:
            await self._fail(scripted.fault)
        return Reply(
            answer=model_answer(
                scripted.text, tool_calls=scripted.tool_calls, finish=scripted.finish
            ),
            usage=scripted.usage,
            cost_usd=0.0,
            latency_ms=scripted.latency_ms,
            response_model=None,
        )

    async def aclose(self) -> None:
        """Nothing is open."""

    async def _fail(self, fault: int | str) -> None:
        if fault == "hang":
            while True:
                await self._clock.sleep(3_600)
        if isinstance(fault, int):
            raise status_error(fault, f"the provider replied with status {fault}")
        if fault == "reset":
            raise TryAgain("the provider closed the connection", code="P6310")
        raise ProviderError("the provider took too long", code="P6310")


def load_script(root: Path, path: str, *, where: str | None = None) -> list[ScriptedAnswer]:
    """Read a script, one JSON object a line.

    Args:
        root: The project's folder.
        path: The file, relative to it.
        where: What names the file, for a path that is not one.

    Raises:
        UsageError: P6003 naming every line that is not part of a script.
        FileError: P6805 for a path that leaves the project, or a file that must not be opened.
    """
    path = inside(path, where=where)
    try:
        data = read_inside(root, path, limit=MAX_FILE)
    except OSError as error:
        raise UsageError(
            f"the script `{path}` cannot be read: {reason_of(error)}", code="P6003", where=path
        ) from error
    script: list[ScriptedAnswer] = []
    problems: list[ProctorError] = []
    for number, line in enumerate(data.removeprefix(BOM_UTF8).splitlines(), 1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            value = parse_json(line)
        except JsonProblem as problem:
            problems.append(UsageError(f"the line {problem.detail}", code="P6003", where=place))
            continue
        reader = StructReader(Document(path, value, {(): number}), error=UsageError, code="P6003")
        read = _read_line(value, reader)
        problems += reader.problems
        script += [] if read is None else [read]
    raise_all(problems)
    return script


def _read_line(value: Json, reader: StructReader) -> ScriptedAnswer | None:
    if isinstance(value, dict) and isinstance(value.get("fault"), str):
        fault = value["fault"]
        if fault not in _FAULTS:
            reader.problem(
                f"`fault` is a number from 300 to 599, or one of {', '.join(_FAULTS)}",
                ("fault",),
                hint="write the number without quotes" if fault.isdecimal() else None,
            )
            return None
    return reader.read(ScriptedAnswer, value)


def _first_match(lines: Sequence[ScriptedAnswer]) -> Script:
    of_case: dict[str | None, list[tuple[int, ScriptedAnswer]]] = {None: []}
    for place, line in enumerate(lines):
        of_case.setdefault(line.case, []).append((place, line))

    def answer(request: Request, call: Call) -> ScriptedAnswer:
        fitting = of_case.get(call.case, ())
        text = "\n".join(message.content for message in request.messages)
        for _, line in merge(fitting, of_case[None]):
            if line.take in (None, call.take) and (line.contains is None or line.contains in text):
                return line
        raise ProviderError("the script has no line for this call", code="P6312")

    return answer
