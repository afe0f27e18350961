"""Looking at cassettes: what they hold, and how two of them differ."""

from __future__ import annotations

from collections.abc import Container, Iterator

from msgspec import Struct

from proctor.canonical import canonical_json
from proctor.cassettes import Cassette
from proctor.records import Answer, Json, Recording
from proctor.strict_json import JsonProblem, parse_json


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
    before = {_label(recording): recording for recording, _ in old.recordings()}
    after = {_label(recording): recording for recording, _ in new.recordings()}
    for label in sorted({*before, *after}):
        if label not in after:
            yield Change("removed", label, [])
        elif label not in before:
            yield Change("added", label, [])
        else:
            details = list(_details(before[label], after[label]))
            if details:
                yield Change("changed", label, details)


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
        yield from _differences("", old, new)
    else:
        yield from _differences("text", before.text, after.text)
    if before.finish is not after.finish:
        yield f"finish: {before.finish.value} -> {after.finish.value}"
    if before.tool_calls != after.tool_calls:
        yield "tool calls changed"


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
                yield f"{inner}: {_spell(before[key])} -> absent"
            elif key not in before:
                yield f"{inner}: absent -> {_spell(after[key])}"
            else:
                yield from _differences(inner, before[key], after[key])
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differences(f"{place}[{index}]", one, other)
    elif canonical_json(before) != canonical_json(after):
        yield f"{place}: {_spell(before)} -> {_spell(after)}"


def _spell(value: Json) -> str:
    text = canonical_json(value).decode("utf-8")
    return text if len(text) <= 200 else f"{text[:197]}..."
