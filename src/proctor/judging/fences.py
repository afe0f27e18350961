"""Whether a rubric keeps what is judged apart from what it says itself.

A fence is `<tag-{{input.boundary}}> ... </tag-{{input.boundary}}>` in a user message. Nobody who
writes an answer or a case knows the boundary, so no text can end its own fence. The templates are
looked at, and never what becomes of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from msgspec import Struct

from proctor.errors import ProctorError
from proctor.judging.pairwise_rubrics import BOTH
from proctor.judging.rubrics import Rubric, refused
from proctor.records import Part, Placeholder, Warn

JUDGED: Final = (
    "response",
    "case_inputs",
    "expected",
    "context",
    "evidence",
    "artifact",
    "transcript",
)
"""Inputs that hold text of an answer or a case. `dos` and `donts` are what is judged by: a judge
has to follow them, so they may stand among the rubric's own words."""

_BOUNDARY = "boundary"
_BEFORE_BOUNDARY = re.compile(r"<(/?)([^\W\d_][\w-]*)-\Z")
_FENCED = "between `<tag-{{input.boundary}}>` and `</tag-{{input.boundary}}>`"

_SENTENCE_END = re.compile(r"[.!?](?:\s|\Z)|\n\s*\n")
_DATA = re.compile(r"\bdata\b", re.IGNORECASE)
_FENCE_WORD = re.compile(
    r"\b(?:fence[sd]?|tags?|markers?|delimiters?|boundary|between|inside|within)\b", re.IGNORECASE
)


class _Mark(Struct, frozen=True):
    """The start of a fence, or its end."""

    tag: str
    is_end: bool


def rubric_faults(rubric: Rubric, *, allow_unfenced: str | None) -> list[ProctorError]:
    """What is judged and stands in a system message (P6212) or outside of a fence (P6216).

    Args:
        rubric: The rubric.
        allow_unfenced: Why the assertion lets text stand outside of fences, None when it does
            not; a blank reason is none. Nothing lets it stand in a system message.
    """
    problems: list[ProctorError] = []
    in_system: dict[str, None] = {}
    unfenced: dict[str, None] = {}
    broken: list[str] = []
    for message, parts in zip(rubric.prompt.messages, rubric.templates, strict=True):
        pieces = list(_pieces(parts))
        if message.role == "user":
            fault = _pairing_fault(pieces) or _sharing_fault(pieces)
            if fault is None:
                unfenced |= dict.fromkeys(_outside(pieces))
            else:
                broken.append(fault)
        else:
            names = dict.fromkeys(piece for piece in pieces if isinstance(piece, str))
            (in_system if message.role == "system" else unfenced).update(names)
    for name in in_system:
        sentence = f"puts `{name}` into a system message, where it reads like an instruction"
        hint = f"move `{{{{input.{name}}}}}` into the user message, {_FENCED}"
        problems.append(refused(rubric.prompt, "P6212", sentence, hint))
    if allow_unfenced is not None and allow_unfenced.strip():
        return problems
    faults = [(fault, f"each fence stands {_FENCED}, none in another") for fault in broken]
    faults += [
        (f"has `{name}` outside of a fence", f"put `{{{{input.{name}}}}}` {_FENCED}")
        for name in unfenced
    ]
    return problems + [refused(rubric.prompt, "P6216", fault, hint) for fault, hint in faults]


def rubric_warnings(rubric: Rubric) -> list[Warn]:
    """A warning (P6217) when no system message tells the judge that fenced text is data.

    One that does has a sentence with the word `data` and a word for fences: fence, tag, marker,
    delimiter, boundary, between, inside or within.
    """
    for message, parts in zip(rubric.prompt.messages, rubric.templates, strict=True):
        if message.role == "system" and _says_what_fences_mean(parts):
            return []
    prompt = rubric.prompt
    sentence = f"no system message of the rubric `{prompt.id}` says that fenced text is data"
    return [Warn(code="P6217", message=sentence, where=prompt.path)]


def _says_what_fences_mean(parts: Sequence[Part]) -> bool:
    text = "".join(part if isinstance(part, str) else part.path[0] for part in parts)
    return any(
        _DATA.search(sentence) and _FENCE_WORD.search(sentence)
        for sentence in _SENTENCE_END.split(text)
    )


def _pieces(parts: Sequence[Part]) -> Iterator[_Mark | str]:
    """The marks of fences in a template and the names of judged inputs, in their order."""
    whole: list[Part] = []
    for is_text, group in groupby(parts, lambda part: isinstance(part, str)):
        members = list(group)
        whole += ["".join(map(str, members))] if is_text else members
    for before, part, after in zip(["", *whole], whole, [*whole[1:], ""], strict=False):
        if not isinstance(part, Placeholder):
            continue
        if part.path[0] in JUDGED or part.path[0] in BOTH:
            yield part.path[0]
        elif part.path[0] == _BOUNDARY and isinstance(before, str) and isinstance(after, str):
            mark = _BEFORE_BOUNDARY.search(before)
            if mark is not None and after.startswith(">"):
                yield _Mark(mark[2], mark[1] == "/")


def _pairing_fault(pieces: Sequence[_Mark | str]) -> str | None:
    """What is wrong with the fences of one message."""
    opened: str | None = None
    for piece in pieces:
        if isinstance(piece, str):
            continue
        if not piece.is_end:
            if opened is not None:
                return f"opens the fence `{piece.tag}` inside the fence `{opened}`"
            opened = piece.tag
        elif piece.tag != opened:
            return f"closes the fence `{piece.tag}`, which is not open there"
        else:
            opened = None
    return None if opened is None else f"never closes the fence `{opened}`"


def _sharing_fault(pieces: Sequence[_Mark | str]) -> str | None:
    """Two answers in one fence, where one of them could end and write the other."""
    inside: set[str] | None = None
    for piece in pieces:
        if isinstance(piece, _Mark):
            inside = None if piece.is_end else set()
        elif inside is not None:
            inside.add(piece)
            if inside.issuperset(BOTH):
                return "has `first` and `second` in one fence"
    return None


def _outside(pieces: Sequence[_Mark | str]) -> Iterator[str]:
    """The judged inputs outside of fences that are all paired."""
    is_inside = False
    for piece in pieces:
        if isinstance(piece, _Mark):
            is_inside = not piece.is_end
        elif not is_inside:
            yield piece
