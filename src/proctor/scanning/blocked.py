"""S005: phrases that tell a model to leave its instructions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from proctor.scanning.expressions import Expression
from proctor.scanning.phrases import ANY_GAP, Phrase, compile_phrases, gate_of

if TYPE_CHECKING:
    import regex

ANYWHERE: Final = (
    "ignore _ (all _)? previous _ instructions",
    "pretend _ (you _)? (are | to _ be)",
    "jail(break)",
    "bypass _ (your _)? (rules | restrictions)",
    "disregard _ (all _)? (prior | previous)",
    "forget _ (all _)? (prior | previous | your)",
    "act _ as _ if _ you _ (have _)? no _ restrictions",
    "(you _)? (should | must | can | will) _ disable _ (safety | security)",
    "(you _)? (should | must | can | will) _ turn _ off _ (safety | security)",
    "(you _)? (should | must | can | will) _ circumvent _ (safety | security)",
)
STARTING: Final = (
    "override _ safety",
    "suppress _ (all _)? warnings?",
    "hide _ security",
    "evade _ (detection | monitoring | logging)",
    "delete _ (all _)? (logs? | audit _ trail)",
)
"""Only where a sentence or a line begins; all but `evade` may have a `please` before them."""

GATE: Final = gate_of([*ANYWHERE, *STARTING])

_NO_PLEASE: Final = STARTING[3]
_PLEASE: Final = "please"
_SENTENCE_ENDS: Final = ".!?"
_LINE_ENDS: Final = "\n\r\u2028\u2029"

_NEGATION: Final = Expression(
    r"(?:prevent|avoid|block|detect|flag|report|stop|prohibit|against|don'?t|do\s+not|never"
    r"|must\s+not|should\s+not|cannot|warning.*about|protection\s+(?:from|against))\s|anti[-\s]"
)
_BEFORE: Final = 60
"""How far before a phrase a negation may stand, in characters."""


def find_blocked(text: str) -> Iterator[str]:
    """The phrases a text holds, as they are written here, without those that are negated."""
    low = text.lower()
    anywhere, starting = _compiled()
    for phrase in anywhere:
        starts = (match.start() for match in phrase.pattern.finditer(low))
        if any(not _is_negated(low, start) for start in starts):
            yield f"`{phrase.written}`"
    for phrase in starting:
        may_ask = phrase.written != _NO_PLEASE
        found = (match.start() for match in phrase.pattern.finditer(low))
        places = (_start_of_sentence(low, at, may_ask=may_ask) for at in found)
        if any(at is not None and not _is_negated(low, at) for at in places):
            yield f"`{phrase.written}` at the start of a sentence"


@cache
def _compiled() -> tuple[list[Phrase], list[Phrase]]:
    return compile_phrases(ANYWHERE, ANY_GAP), compile_phrases(STARTING, ANY_GAP)


def _is_negated(text: str, start: int) -> bool:
    return _NEGATION.pattern.search(text[max(0, start - _BEFORE) : start].lower()) is not None


def _start_of_sentence(low: str, at: int, *, may_ask: bool) -> int | None:
    """Where the sentence begins that begins with what stands here, None when none does."""
    before = _without_space(low, at)
    if may_ask and before < at and low.endswith(_PLEASE, 0, before):
        asked = _start(low, before - len(_PLEASE))
        if asked is not None:
            return asked
    return _start(low, at)


def _start(low: str, at: int) -> int | None:
    before = _without_space(low, at)
    if before and low[before - 1] in _SENTENCE_ENDS:
        return before - 1
    return at if at == 0 or low[at - 1] in _LINE_ENDS else None


def _without_space(low: str, at: int) -> int:
    while at and low[at - 1].isspace():
        at -= 1
    return at


class ProjectPatterns:
    """The patterns a project adds. One that has run out of time is not tried again.

    Args:
        patterns: Compiled.
        timeout_s: How long one search may take.
    """

    def __init__(self, patterns: Sequence[regex.Pattern[str]], *, timeout_s: float) -> None:
        self._patterns = dict(enumerate(patterns))
        self._timeout_s = timeout_s

    def find(self, text: str) -> Iterator[str]:
        """Which patterns a text holds, without those that are negated."""
        for number, pattern in list(self._patterns.items()):
            name = f"`scan.patterns[{number}]`"
            try:
                for match in pattern.finditer(text, timeout=self._timeout_s):
                    if not _is_negated(text, match.start()):
                        yield name
                        break
            except TimeoutError:
                del self._patterns[number]
                yield f"{name} took more than {self._timeout_s:g} s, and is not tried again"
