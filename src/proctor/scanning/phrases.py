r"""Phrases that should not stand in a dataset, in the notation of the documentation.

Letters match in any case. `_` is white space, `~` white space that may be missing, `%` the same
with underscores, `=` at least one colon or white space; a space is there for the reader. Everything
else is a regular expression. From a phrase two expressions are made: the exact one, and a *gate*
for `proctor.scanning.gates`, which lets through whatever the exact one finds and more.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

SPACE: Final = r"(?:[^a-z0-9]|\\[nrtf])"
"""White space in a gate, as it is or as the escape it has in JSON; and much that is none.

What is exact takes several times as long to compile.
"""

Gaps = dict[str, str]
"""What stands for each symbol of a phrase."""

_NONE: Final = {" ": ""}
_IN_GATE: Final = _NONE | {
    "_": f"{SPACE}+",
    "~": f"{SPACE}*",
    "%": f"(?:_|{SPACE})*",
    "=": f"(?::|{SPACE})+",
}
ANY_GAP: Final[Gaps] = _NONE | {"_": r"\s+"}
SHORT_GAP: Final[Gaps] = _NONE | {
    "_": r"\s{1,10}",
    "~": r"\s{0,10}",
    "%": r"[_\s]{0,10}",
    "=": r"[:\s]{1,10}",
}
"""At most ten characters."""
LINE_GAP: Final[Gaps] = _NONE | {"_": r"[ \t]{1,10}"}
"""The same, within a line."""

_SYMBOL: Final = re.compile(r"[ _~%=]")
_GROUP: Final = re.compile(r"(?<!\\)\((?!\?)")


class Phrase(NamedTuple):
    """A phrase as it is written, and what finds it in lower-case text."""

    written: str
    pattern: re.Pattern[str]


def compile_phrases(written: Sequence[str], gaps: Gaps, *, end: str = "") -> list[Phrase]:
    """The exact expressions of some phrases.

    Args:
        written: The phrases.
        gaps: What stands for their symbols.
        end: What must follow each of them, as a regular expression.
    """
    return [Phrase(one, re.compile(_replaced(one, gaps) + end)) for one in written]


def gate_of(written: Sequence[str]) -> str:
    """What lets through every text that holds one of these phrases."""
    return "|".join(_replaced(one, _IN_GATE) for one in written)


def rot13(text: str) -> str:
    """A text or a phrase with its letters turned round by half the alphabet.

    Example:
        >>> rot13("jail(break)")
        'wnvy(oernx)'
    """
    return codecs.encode(text, "rot13")


def whole_words(phrase: Phrase, text: str) -> Iterator[re.Match[str]]:
    """Where a phrase stands in lower-case text with no letter, digit or underscore before it."""
    for match in phrase.pattern.finditer(text):
        before = text[match.start() - 1 : match.start()]
        if not (before.isalnum() or before == "_"):
            yield match


def _replaced(written: str, gaps: Gaps) -> str:
    expression = _SYMBOL.sub(lambda match: gaps[match[0]], written)
    return _GROUP.sub("(?:", expression)
