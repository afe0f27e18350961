"""Looking at cassettes: what they hold, and how two of them differ."""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import zip_longest
from operator import attrgetter

from msgspec import Struct

from proctor.canonical import canonical_json
from proctor.cassettes import Cassette
from proctor.records import Answer, Json, Recording
from proctor.strict_json import JsonProblem, parse_json

MAX_SHOWN = 200
SHOWN_BEFORE = 40

_OF_TARGETS = ("evidence", "artifact", "transcript", "context", "debug", "turns")


class CassetteSummary(Struct, frozen=True):
    """What one cassette holds. `unused` counts recordings that no row of the suite asks for."""

    recordings: int
    models: list[str]
    hosts: list[str]
    first: str | None
    last: str | None
    unused: int


class Label(Struct, frozen=True, order=True):
    """Which call a recording is of, as people tell them apart."""

    model: str
    case: str
    scenario: str
    call: str
    take: int
    assertion: str


class Change(Struct, frozen=True):
    """How one recording differs: `what` is changed, added or removed."""

    what: str
    label: Label
    details: list[str]


def summarise(cassette: Cassette, wanted: Container[str]) -> CassetteSummary:
    """What a cassette holds.

    Args:
        cassette: The recordings.
        wanted: The keys that the rows of the suite's whole plan ask for.
    """
    models: set[str] = set()
    hosts: set[str] = set()
    dates: set[str] = set()
    unused = 0
    for recording, _ in cassette.recordings():
        models.add(recording.model)
        hosts.add(recording.recorded.host or recording.recorded.provider)
        dates.add(recording.recorded.on)
        unused += recording.key not in wanted
    return CassetteSummary(
        recordings=len(cassette),
        models=sorted(models),
        hosts=sorted(hosts),
        first=min(dates, default=None),
        last=max(dates, default=None),
        unused=unused,
    )


def changes(old: Cassette, new: Cassette) -> Iterator[Change]:
    """How two cassettes differ, answer by answer, in the order of the labels.

    Recordings are matched by what they are of, not by their keys, so that a changed prompt shows as
    changed answers.
    """
    before, after = _by_label(old), _by_label(new)
    for label in sorted({*before, *after}):
        for was, now in _matched(before.get(label, []), after.get(label, [])):
            if now is None:
                yield Change("removed", label, [])
            elif was is None:
                yield Change("added", label, [])
            else:
                details = list(_details(was, now))
                if details:
                    yield Change("changed", label, details)


def _by_label(cassette: Cassette) -> dict[Label, list[Recording]]:
    found: dict[Label, list[Recording]] = {}
    for recording, _ in cassette.recordings():
        found.setdefault(_label(recording), []).append(recording)
    return found


def _matched(
    before: list[Recording], after: list[Recording]
) -> Iterator[tuple[Recording | None, Recording | None]]:
    """Pairs of recordings of one label; several prompts on one model have the same."""
    gone, come = list(before), list(after)
    for part in (attrgetter("key"), attrgetter("parts.prompt")):
        there = {part(recording): recording for recording in come}
        for was in before:
            now = there.pop(part(was), None) if was in gone else None
            if now is not None:
                gone.remove(was)
                come.remove(now)
                yield was, now
    yield from zip_longest(gone, come)


def _label(recording: Recording) -> Label:
    return Label(
        recording.model,
        recording.case or "",
        recording.scenario or "",
        recording.call.value,
        recording.take,
        recording.assertion or "",
    )


def _details(before: Recording, after: Recording) -> Iterator[str]:
    if before.parts.prompt != after.parts.prompt:
        yield "prompt changed"
    if before.parts.inputs != after.parts.inputs:
        yield "inputs changed"
    yield from _differences("params", before.parts.params, after.parts.params)
    yield from _answer_details(before.answer, after.answer)


def _answer_details(before: Answer, after: Answer) -> Iterator[str]:
    old, new = _as_json(before.text), _as_json(after.text)
    if before.text != after.text and isinstance(old, (dict, list)) and type(old) is type(new):
        differences = list(_differences("", old, new))
        yield from differences or ["text: the same JSON, written differently"]
    else:
        yield from _differences("text", before.text, after.text)
    if before.finish is not after.finish:
        yield f"finish: {before.finish.value} -> {after.finish.value}"
    if before.tool_calls != after.tool_calls:
        yield "tool calls changed"
    for name in _OF_TARGETS:
        if getattr(before, name) != getattr(after, name):
            yield f"{name} changed"


def _as_json(text: str | None) -> Json:
    try:
        return None if text is None else parse_json(text)
    except JsonProblem:
        return None


def _differences(place: str, before: Json, after: Json) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            inner = f"{place}.{key}" if place else key
            if key not in after:
                yield f"{inner}: {_part(_spell(before[key]), 0)} -> absent"
            elif key not in before:
                yield f"{inner}: absent -> {_part(_spell(after[key]), 0)}"
            else:
                yield from _differences(inner, before[key], after[key])
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differences(f"{place}[{index}]", one, other)
    else:
        was, now = _spell(before), _spell(after)
        if was != now:
            yield f"{place}: {' -> '.join(_cut(was, now))}"


def _spell(value: Json) -> str:
    return canonical_json(value).decode("utf-8")


def _cut(was: str, now: str) -> tuple[str, str]:
    """Both texts, long ones around the place where they begin to differ."""
    if max(len(was), len(now)) <= MAX_SHOWN:
        return was, now
    same = next(
        (place for place, (one, other) in enumerate(zip(was, now, strict=False)) if one != other),
        min(len(was), len(now)),
    )
    start = max(0, same - SHOWN_BEFORE)
    return _part(was, start), _part(now, start)


def _part(text: str, start: int) -> str:
    end = start + MAX_SHOWN
    before, after = "..." if start else "", "..." if len(text) > end else ""
    return f"{before}{text[start:end]}{after}"
