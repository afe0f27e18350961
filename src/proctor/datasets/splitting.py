"""Splitting a dataset: by tag, or a share of its cases. Each case goes to one part."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from proctor.canonical import digest
from proctor.datasets.choosing import rank
from proctor.errors import UsageError
from proctor.records import Case

if TYPE_CHECKING:
    from fractions import Fraction

SHARE: Final = "share"
REST: Final = "rest"
"""The parts of a split by a share."""
UNTAGGED: Final = "untagged"

_NOT_IN_NAMES: Final = re.compile(r"[^\w.-]+")
_MAX_NAME: Final = 64


def parts_by_tag(cases: Iterable[Case]) -> dict[str, list[str]]:
    """The ids of cases by the name of their part: by their first tag, in the order these come.

    Raises:
        UsageError: P6002 when two tags make the same name, or one makes none.
    """
    parts: dict[str, list[str]] = {}
    tag_of: dict[str, str | None] = {}
    for case in cases:
        tag = case.tags[0] if case.tags else None
        name = UNTAGGED if tag is None else _name(tag)
        if tag_of.setdefault(name, tag) != tag:
            raise UsageError(
                f"two tags, or a tag and `{UNTAGGED}`, would both make the part `{name}`",
                code="P6002",
                hint="rename one of the tags",
            )
        parts.setdefault(name, []).append(case.id)
    return parts


def _name(tag: str) -> str:
    name = _NOT_IN_NAMES.sub("-", tag).strip(".-")[:_MAX_NAME]
    if not name:
        raise UsageError(
            "a tag has no letter and no digit, so no file can be named by it",
            code="P6002",
            hint="rename the tag",
        )
    return name


def parts_by_share(cases: Iterable[Case], *, share: Fraction, seed: int) -> dict[str, list[str]]:
    """The ids of cases in two parts: a share of all, rounded down, and the rest.

    Cases with the same inputs stay together: otherwise what was learnt from one part would be
    asked in the other. So the share may be a little smaller.

    Args:
        cases: All cases.
        share: How much of them, above 0 and below 1.
        seed: Which; the same seed gives the same parts.

    Raises:
        UsageError: P6002 when a part would be empty.
    """
    alike: dict[str, list[str]] = {}
    order: list[str] = []
    for case in cases:
        order.append(case.id)
        alike.setdefault(digest(case.inputs), []).append(case.id)
    wanted = int(len(order) * share)
    taken: set[str] = set()
    for inputs in sorted(alike, key=lambda inputs: rank(seed, inputs)):
        if len(taken) + len(alike[inputs]) <= wanted:
            taken.update(alike[inputs])
    parts = {
        SHARE: [one for one in order if one in taken],
        REST: [one for one in order if one not in taken],
    }
    if not all(parts.values()):
        raise UsageError(
            f"{float(share):g} of {len(order)} cases leaves a part without any",
            code="P6002",
            hint="choose another share; cases with the same inputs stay together",
        )
    return parts
