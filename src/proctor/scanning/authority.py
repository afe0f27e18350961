"""S011: text that pretends to speak with authority over a model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from proctor.scanning.expressions import Expression
from proctor.scanning.markdown import Lines, forbidden_items, without_fences
from proctor.scanning.phrases import (
    LINE_GAP,
    SHORT_GAP,
    Phrase,
    compile_phrases,
    gate_of,
    whole_words,
)

ALWAYS: Final = (
    "mandatory _ (policy | update | footer | instruction | directive)",
    "strict % mode ~ = on",
    "system _ (override | update | directive)",
    "admin(istrator)? _ (mode | override | access)",
    "root _ (access | mode | override)",
    "priority _ (override | one | alpha)",
    "emergency _ (protocol | override | mode)",
    "execute _ (this _)? verbatim",
    "follow _ (these _)? instructions? _ (exactly | precisely | literally)",
    "(must | shall | will) _ (always _)? comply",
    "(absolute | unconditional) _ (compliance | obedience)",
    "no _ (exceptions? | deviations?) _ (allowed | permitted)",
    "this _ (overrides? | supersedes? | replaces?) _ (all _)? (previous | prior | other)",
    "(highest | top | maximum) _ priority _ (instruction | directive | order)",
    "(core | fundamental | base) _ (directive | instruction) _ (update | override)",
    "new _ (system | core | base) _ (instructions? | directives? | rules?)",
)
IN_BRACKETS: Final = r"\[ ~ override ~ \]"
SUPPRESSING: Final = (
    "(do _ not | never | don'?t) _ (provide | show | display | include) _ (security _)? warnings?",
    "(suppress | hide | disable | remove | silence) _ (all _)? warnings?",
    "(suppress | hide | disable | remove | silence) _ (all _)? (security _)? "
    "(alerts? | notifications?)",
    "ignore _ (all _)? (safety _)? warnings?",
    "(skip | bypass) _ (all _ (safety _)? | safety _) (checks? | validation)",
)
"""Not in an item of a list of what is forbidden."""
IMPERATIVE: Final = "(skip | bypass) _ (checks? | validation)"
"""One more of those, only where a sentence, a line or an item of a list begins."""

GATE: Final = f"{gate_of([*ALWAYS, IN_BRACKETS, *SUPPRESSING, IMPERATIVE])}|`{{3}}|~{{3}}"
"""A fence as well: what stands around a dropped block may be a phrase without it."""

_WORD_ENDS: Final = r"(?!\w)"
_SPACES: Final = Expression(r"[ \t]+")
_BEGINNING: Final = Expression(
    r"(?:^|[.!?:;])\s{0,10}(?:[-*]\s{1,10})?(?:please\s{1,10})?\Z", re.MULTILINE
)
_BEFORE: Final = 48
"""More than a beginning can have, so that the start of what is cut out is never taken for one."""


class _Compiled(NamedTuple):
    always: list[Phrase]
    in_brackets: Phrase
    suppressing: list[Phrase]
    within_line: list[Phrase]
    """The same with gaps that do not go beyond the line."""


@cache
def _compiled() -> _Compiled:
    suppressing = (*SUPPRESSING, IMPERATIVE)
    (in_brackets,) = compile_phrases([IN_BRACKETS], SHORT_GAP)
    return _Compiled(
        compile_phrases(ALWAYS, SHORT_GAP, end=_WORD_ENDS),
        in_brackets,
        compile_phrases(suppressing, SHORT_GAP, end=_WORD_ENDS),
        compile_phrases(suppressing, LINE_GAP, end=_WORD_ENDS),
    )


def find_authority(text: str) -> Iterator[str]:
    """The phrases a text holds, as they are written here.

    Fenced code does not count, nor what is only listed as forbidden.
    """
    outside = without_fences(text)
    low = "\n".join(outside.lines).lower()
    plain = _SPACES.pattern.sub(" ", low.replace("\r\n", "\n"))
    views = [low] if plain == low else [low, plain]
    always, in_brackets, suppressing, within_line = _compiled()
    for phrase in always:
        if any(next(whole_words(phrase, view), None) for view in views):
            yield f"`{phrase.written}`"
    if any(in_brackets.pattern.search(view) for view in views):
        yield f"`{in_brackets.written}`"
    items: frozenset[int] | None = None
    for phrase, in_line in zip(suppressing, within_line, strict=True):
        for view in views:
            found = list(_begun(phrase, view))
            if not found:
                continue
            items = forbidden_items(outside) if items is None else items
            if not items or _stands_elsewhere(found, view, items, in_line):
                yield f"`{phrase.written}`"
                break


def _begun(phrase: Phrase, view: str) -> Iterator[re.Match[str]]:
    """Where a phrase stands, if it must begin a sentence only there."""
    for match in whole_words(phrase, view):
        start = match.start()
        before = view[max(0, start - _BEFORE) : start]
        if phrase.written != IMPERATIVE or _BEGINNING.pattern.search(before):
            yield match


def _stands_elsewhere(
    found: list[re.Match[str]], view: str, items: frozenset[int], in_line: Phrase
) -> bool:
    """Whether a phrase was found in a place other than an item that holds all of it."""
    lines = Lines(view)
    holding = {item for item in items if any(_begun(in_line, lines.texts[item]))}
    return any(holding.isdisjoint(lines.overlapping(match.start(), match.end())) for match in found)
