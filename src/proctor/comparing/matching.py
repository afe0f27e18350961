"""Which subject of one report is which subject of the other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from proctor.errors import UsageError
from proctor.records import ReportHead
from proctor.records.comparison import ComparedSubject
from proctor.registry import did_you_mean

_PARTS = ("suite", "prompt", "model")


class NamePair(NamedTuple):
    """`--match A=B`: what is called A in the baseline is called B in the candidate."""

    baseline: str
    candidate: str


class Place(NamedTuple):
    """A subject of a report, by the place of its suite and its own."""

    suite: int
    subject: int


class Pairing(Struct, frozen=True):
    """The subjects that are compared, in the order of the candidate, and those that are not.

    A subject whose namesake is compared with another one is in neither list.
    """

    pairs: list[tuple[Place, Place]]
    only_baseline: list[Place]
    only_candidate: list[Place]


def subject_at(head: ReportHead, place: Place) -> ComparedSubject:
    """The names of a subject."""
    suite = head.suites[place.suite]
    subject = suite.subjects[place.subject]
    return ComparedSubject(suite.suite, subject.prompt, subject.model)


def pair_subjects(
    baseline: ReportHead, candidate: ReportHead, matches: Sequence[NamePair] = ()
) -> Pairing:
    """Match the subjects of two reports by suite, prompt and model, never by their places.

    Args:
        baseline: The report of before.
        candidate: The report of now.
        matches: Names that changed between the two.

    Raises:
        UsageError: P6002 when a match names nothing, or says two things of one name.
    """
    before, now = _places(baseline), _places(candidate)
    renamed = _renames(before, now, matches)
    pairs: dict[Place, Place] = {}
    # Those that were renamed come first: their new name may be the old one of another.
    for key, place in before.items():
        new = _renamed(key, renamed)
        if new != key and new in now:
            pairs.setdefault(now[new], place)
    compared = set(pairs.values())
    for key, place in before.items():
        if place not in compared and key in now:
            pairs.setdefault(now[key], place)
    compared = set(pairs.values())
    return Pairing(
        pairs=[(pairs[place], place) for place in now.values() if place in pairs],
        only_baseline=[
            place for key, place in before.items() if place not in compared and key not in now
        ],
        only_candidate=[
            place for key, place in now.items() if place not in pairs and key not in before
        ],
    )


def require_matches(
    before: Collection[ComparedSubject],
    now: Collection[ComparedSubject],
    matches: Sequence[NamePair],
) -> None:
    """Refuse matches that would name nothing, before there is a report of now.

    Args:
        before: The subjects of the baseline.
        now: The subjects that are going to be compared with them.
        matches: Names that changed between the two.

    Raises:
        UsageError: P6002 as `pair_subjects`.
    """
    _renames(before, now, matches)


def subjects_of(head: ReportHead) -> list[ComparedSubject]:
    """The subjects of a report, in its order."""
    return list(_places(head))


def _places(head: ReportHead) -> dict[ComparedSubject, Place]:
    places = (
        Place(suite, subject)
        for suite, one in enumerate(head.suites)
        for subject in range(len(one.subjects))
    )
    return {subject_at(head, place): place for place in places}


def _renames(
    before: Collection[ComparedSubject],
    now: Collection[ComparedSubject],
    matches: Sequence[NamePair],
) -> dict[str, dict[str, str]]:
    """For suites, prompts and models: the old name and the new one."""
    renamed: dict[str, dict[str, str]] = {part: {} for part in _PARTS}
    for old, new in matches:
        found = False
        for part in _PARTS:
            olds, news = (_names(subjects, part) for subjects in (before, now))
            if old in olds and new in news:
                found = True
                known = renamed[part]
                if known.get(old, new) != new or (new in known.values() and old not in known):
                    raise _match_problem(old, new, f"the {part} is matched twice", None)
                known[old] = new
        if not found:
            raise _unknown_match(before, now, old, new)
    return renamed


def _names(subjects: Iterable[ComparedSubject], part: str) -> set[str]:
    return {name for one in subjects if (name := getattr(one, part)) is not None}


def _renamed(key: ComparedSubject, renamed: dict[str, dict[str, str]]) -> ComparedSubject:
    names = {part: getattr(key, part) for part in _PARTS}
    return ComparedSubject(**{part: renamed[part].get(name, name) for part, name in names.items()})


def _unknown_match(
    before: Iterable[ComparedSubject], now: Iterable[ComparedSubject], old: str, new: str
) -> UsageError:
    known_before, known_now = (
        {name for part in _PARTS for name in _names(subjects, part)} for subjects in (before, now)
    )
    if old not in known_before:
        what, hint = f"`{old}` is not in the baseline", did_you_mean(old, known_before)
    elif new not in known_now:
        what, hint = f"`{new}` is not in the candidate", did_you_mean(new, known_now)
    else:
        what, hint = "one is no name of what the other is", None
    return _match_problem(old, new, what, hint)


def _match_problem(old: str, new: str, what: str, hint: str | None) -> UsageError:
    return UsageError(
        f"`--match {old}={new}`: {what}",
        code="P6002",
        hint=hint or "name a suite, a prompt or a model of each report, the baseline's first",
    )
