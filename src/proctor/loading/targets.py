"""`target` of a suite: what answers instead of a prompt on a model.

Nothing of a target is imported, started or asked here, and its host is not looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

from proctor.canonical import digest
from proctor.documents import StructReader
from proctor.errors import UsageError, raise_all
from proctor.loading.http_targets import Fault, HttpFile, read_http, url_fault
from proctor.project_code import split_reference
from proctor.records import Amount, TargetSubject
from proctor.records.targets import Answering, CommandCall, HttpCall, LoadedTarget, PythonCall

MAX_NAME = 128
MAX_LANES = 1_024

HOW = ("python", "http", "command")
"""Keys of a target that say how it answers, one of which there must be."""

_NOT_HASHED = frozenset(["lanes", "timeout", "buildsPerLane", "maxCostUsd", "name"])
"""Keys that change where, how fast or at what price a target answers, but not what."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class MaxCostFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one call of a target may cost at most, in USD.

    Args:
        build: To build something for a case.
        answer: To answer one row.
    """

    build: Amount | None = None
    answer: Amount | None = None


class TargetFile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`target` as it stands in a suite. Exactly one of `python`, `http` and `command`.

    Args:
        python: An object of the project: `package.module:attribute`.
        http: An endpoint.
        command: A program and its arguments; no shell reads them.
        env: Variables that the program is given beside PATH, HOME, LANG and TMPDIR.
        name: What reports call it. Default: the reference, the URL's host and path, or the first
            argument.
        lanes: The URLs of its backends; rows are spread over them.
        builds_per_lane: How many builds, or rows where nothing is built, a lane takes at once.
        timeout: Seconds one call may take in all.
        max_cost_usd: What one call may cost at most.
    """

    python: str | None = None
    http: HttpFile | None = None
    command: Annotated[list[str], Meta(min_length=1)] | None = None
    env: list[str] = []
    name: str | None = None
    lanes: Annotated[list[str], Meta(max_length=MAX_LANES)] = []
    builds_per_lane: Annotated[int, Meta(ge=1, le=1_024)] = 4
    timeout: Annotated[float, Meta(gt=0, le=86_400)] | None = None
    max_cost_usd: MaxCostFile = MaxCostFile()


def read_target(file: TargetFile, reader: StructReader) -> LoadedTarget | None:
    """The target of a suite, or None; what is wrong is noted in the reader.

    Args:
        file: What stands under `target`.
        reader: Of the suite's document.
    """
    before = len(reader.problems)
    given = [name for name in HOW if getattr(file, name) is not None]
    if len(given) != 1:
        reader.problem(
            "a target needs exactly one of `python`, `http` and `command`",
            ("target", given[1]) if given else ("target",),
            hint="name what answers",
        )
        return None
    if file.env and given != ["command"]:
        reader.problem("`env` goes with `command` only", ("target", "env"))
    if file.max_cost_usd.build is not None and given != ["python"]:
        reader.problem(
            "`build` goes with `python` only: nothing else builds",
            ("target", "maxCostUsd", "build"),
        )
    how = _how(file, reader)
    _check_lanes(file, reader)
    kind = given[0]
    name = _name(file, how)
    if not is_target_name(name):
        place = ("target",) if file.name is None else ("target", "name")
        reader.problem(
            f"the name of a target has 1 to {MAX_NAME} characters that can be printed",
            place,
            hint="write another `name`",
        )
    if len(reader.problems) > before:
        return None
    written = reader.document.value["target"]
    hashed = {key: value for key, value in written.items() if key not in _NOT_HASHED}
    build = file.max_cost_usd.build if kind == "python" else 0.0
    cost = {"build": build, "answer": file.max_cost_usd.answer}
    return LoadedTarget(
        subject=TargetSubject(kind=kind, name=name, bundle_sha256=digest(hashed)),
        how=how,
        where=reader.document.where(("target",)),
        lanes=tuple(file.lanes),
        builds_per_lane=file.builds_per_lane,
        timeout_s=file.timeout,
        max_cost_usd={call: limit for call, limit in cost.items() if limit is not None},
    )


def is_target_name(name: str) -> bool:
    """Whether a target can be called this."""
    return 0 < len(name) <= MAX_NAME and name.isprintable() and name == name.strip()


def parse_lanes(lanes: tuple[str, ...]) -> tuple[str, ...]:
    """The lanes that `--lane` names.

    Raises:
        UsageError: P6002 for each that is no URL of a backend, or stands there twice.
    """
    raise_all(
        [
            UsageError(f"`--lane`: {sentence}", code="P6002", hint=hint)
            for _, (sentence, hint) in _lane_faults(lanes)
        ]
    )
    return lanes


def _how(file: TargetFile, reader: StructReader) -> Answering:
    if file.python is not None:
        if split_reference(file.python) is None:
            reader.problem(
                f"`{file.python}` is not a reference to an object",
                ("target", "python"),
                hint="write `package.module:attribute`",
            )
        return PythonCall(file.python)
    if file.http is not None:
        return read_http(file.http, reader)
    _check_command(file, reader)
    return CommandCall(tuple(file.command or ()), tuple(file.env))


def _name(file: TargetFile, how: Answering) -> str:
    if file.name is not None:
        return file.name
    if isinstance(how, PythonCall):
        return how.reference
    if isinstance(how, CommandCall):
        return how.argv[0]
    assert isinstance(how, HttpCall)  # noqa: S101 - there is no other kind with `target`
    from urllib.parse import urlsplit

    parts = urlsplit(how.url) if url_fault(how.url, may_have_query=True) is None else None
    return "http" if parts is None else f"{parts.hostname}{parts.path.rstrip('/')}"


def _check_command(file: TargetFile, reader: StructReader) -> None:
    for number, argument in enumerate(file.command or ()):
        if "\0" in argument or (number == 0 and not argument.strip()):
            reader.problem(
                "an argument of a command has a NUL in it, or the program no name",
                ("target", "command", number),
            )
    for number, name in enumerate(file.env):
        place = ("target", "env", number)
        if not _VARIABLE.fullmatch(name):
            reader.problem(
                "`env` takes names of variables",
                place,
                hint="write the name, never the value; it is read when the command is started",
            )
        elif name in file.env[:number]:
            reader.problem(f"the variable `{name}` is named twice", place)


def _check_lanes(file: TargetFile, reader: StructReader) -> None:
    for number, (sentence, hint) in _lane_faults(tuple(file.lanes)):
        reader.problem(sentence, ("target", "lanes", number), hint=hint)


def _lane_faults(lanes: tuple[str, ...]) -> Iterator[tuple[int, Fault]]:
    """The place of each lane that cannot be used, and why. No lane is quoted: it may hold a key."""
    seen: set[str] = set()
    for number, lane in enumerate(lanes):
        fault = url_fault(lane, may_have_query=False)
        if fault is not None:
            yield number, (f"a lane {fault[0]}", fault[1])
        elif lane.rstrip("/") in seen:
            yield number, ("a lane is there twice", "name each backend once")
        seen.add(lane.rstrip("/"))
