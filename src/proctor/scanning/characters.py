"""S014: characters that are not seen, or look like others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from proctor.scanning.expressions import Expression

_BIDI: Final = "\u202a-\u202e\u2066-\u2069"
_ZERO_WIDTH: Final = "\u00ad\u200b-\u200d\u2060\ufeff"
_MARKS: Final = "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u064b-\u065f"
_OTHER_SCRIPTS: Final = "\u0370-\u04ff"
_LOOKALIKES: Final = (
    "\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0456"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425"
    "\u03b1\u03b5\u03b9\u03bf\u03c5\u03c9\u03bd"
    "\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7\u03a5\u0396"
)
_MANY: Final = 4
"""Marks on one letter that no language needs."""

GATE: Final = (
    f"[{_BIDI}{_ZERO_WIDTH}]|[{_MARKS}]{{{_MANY}}}|[a-z][{_OTHER_SCRIPTS}]|[{_OTHER_SCRIPTS}][a-z]"
)

_SHOWN: Final = 3
_SIMPLE: Final = {
    "bidi controls": Expression(f"[{_BIDI}]"),
    "characters of no width": Expression(f"[{_ZERO_WIDTH}]"),
}
_PILES: Final = Expression(f"[{_MARKS}]{{{_MANY},}}")
# Both begin where a word does, so that each word is read once.
_MIXED: Final = Expression(
    f"(?<![A-Za-z{_OTHER_SCRIPTS}])(?:[A-Za-z]++[{_OTHER_SCRIPTS}]|[{_OTHER_SCRIPTS}]++[A-Za-z])"
    f"[A-Za-z{_OTHER_SCRIPTS}]*+"
)
_LOOKALIKE: Final = Expression(f"[{_LOOKALIKES}]")


def find_characters(text: str) -> Iterator[str]:
    """Which such characters a text has, the first three of each kind by name."""
    for kind, one in _SIMPLE.items():
        yield from _named(kind, one.pattern.findall(text))
    words = "".join(_MIXED.pattern.findall(text))
    yield from _named("lookalikes within words", _LOOKALIKE.pattern.findall(words))
    yield from _named("piles of marks", "".join(_PILES.pattern.findall(text)))


def _named(kind: str, characters: Iterable[str]) -> Iterator[str]:
    names = [_name(one) for one in dict.fromkeys(characters)]
    if names:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        yield f"{kind} ({', '.join(names[:_SHOWN])}{more})"


def _name(character: str) -> str:
    import unicodedata

    return f"U+{ord(character):04X} {unicodedata.name(character, 'unnamed')}"
