"""What a dataset holds, in numbers: tags, lengths, cases that are alike, the balance of labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct, UnsetType

from proctor.canonical import canonical_json, digest
from proctor.datasets.likeness import Likenesses
from proctor.records import Case, Json

MAX_LABELS: Final = 20
"""A part of the expected values with more different ones than this is no label."""

_WHOLE: Final = "expected"


class Lengths(Struct, frozen=True, kw_only=True):
    """The lengths of one input, in characters: of a text, or of a list or object as JSON.

    Args:
        cases: How many cases have the input.
        min: The shortest.
        median: The one in the middle, the shorter of two.
        p95: The one that 95 of 100 do not exceed.
        max: The longest.
    """

    cases: int
    min: int
    median: int
    p95: int
    max: int


class NearGroup(Struct, frozen=True, kw_only=True):
    """A case, and those behind it that are nearly like it."""

    case: str
    like_it: list[str]


class DatasetFigures(Struct, frozen=True, kw_only=True):
    """What a dataset holds.

    Args:
        cases: How many.
        tags: How many cases have each tag, the most frequent first; `untagged` counts the others.
        untagged: How many cases have none.
        lengths: Of each input that is no number, boolean or null.
        duplicates: The ids of cases with the same inputs, per group.
        near_duplicates: Cases whose inputs share nearly all words.
        labels: How often each expected value occurs, by part: `expected` or `expected.<name>`.
        without_expected: How many cases expect nothing.
    """

    cases: int
    tags: dict[str, int]
    untagged: int
    lengths: dict[str, Lengths]
    duplicates: list[list[str]]
    near_duplicates: list[NearGroup]
    labels: dict[str, dict[str, int]]
    without_expected: int


def dataset_figures(cases: Iterable[Case]) -> DatasetFigures:
    """The figures of some cases; of each, only what is counted is kept."""
    tags: Counter[str] = Counter()
    lengths: dict[str, list[int]] = {}
    groups: dict[str, list[str]] = {}
    near = Likenesses()
    labels = _Labels()
    count = untagged = 0
    for case in cases:
        count += 1
        tags.update(set(case.tags))
        untagged += not case.tags
        for name, value in case.inputs.items():
            if isinstance(value, (str, list, dict)):
                lengths.setdefault(name, []).append(len(_spelled(value)))
        group = groups.setdefault(digest(case.inputs), [])
        if not group:
            near.add(case.id, " ".join(_texts(case.inputs)))
        group.append(case.id)
        labels.add(case.expected)
    return DatasetFigures(
        cases=count,
        tags=_by_frequency(tags),
        untagged=untagged,
        lengths={name: _lengths(found) for name, found in lengths.items()},
        duplicates=[group for group in groups.values() if len(group) > 1],
        near_duplicates=[
            NearGroup(case=first, like_it=others) for first, others in near.groups().items()
        ],
        labels=labels.counts(),
        without_expected=labels.without,
    )


def _by_frequency(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def _lengths(found: Sequence[int]) -> Lengths:
    ordered = sorted(found)
    last = len(ordered) - 1
    return Lengths(
        cases=len(ordered),
        min=ordered[0],
        median=ordered[last // 2],
        p95=ordered[-(-len(ordered) * 95 // 100) - 1],
        max=ordered[-1],
    )


class _Labels:
    """Counts expected values that look like labels: texts, booleans, whole numbers and null."""

    def __init__(self) -> None:
        self.without = 0
        self._counts: dict[str, Counter[str] | None] = {}

    def add(self, expected: Json | UnsetType) -> None:
        if isinstance(expected, UnsetType):
            self.without += 1
        elif isinstance(expected, dict):
            for name, value in expected.items():
                self._count(f"{_WHOLE}.{name}", value)
        else:
            self._count(_WHOLE, expected)

    def counts(self) -> dict[str, dict[str, int]]:
        return {
            part: _by_frequency(counts)
            for part, counts in self._counts.items()
            if counts is not None
        }

    def _count(self, part: str, value: Json) -> None:
        counts = self._counts.setdefault(part, Counter())
        if counts is None:
            return
        is_label = isinstance(value, (str, int)) or value is None
        if is_label:
            counts[_spelled(value)] += 1
        if not is_label or len(counts) > MAX_LABELS:
            self._counts[part] = None


def _spelled(value: Json) -> str:
    """A text as it is, every other value as JSON."""
    return value if isinstance(value, str) else canonical_json(value).decode("utf-8")


def _texts(value: Json) -> Iterator[str]:
    """Everything a value says, without the names of members."""
    if isinstance(value, dict):
        for name in sorted(value):
            yield from _texts(value[name])
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    else:
        yield _spelled(value)
