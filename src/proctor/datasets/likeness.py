"""Texts that are nearly alike: those that share at least four of five of their words.

Each text is compared with the first of every group that it could belong to. Two texts can only be
alike when one of the rarest words of one is among the rarest of the other, so few are compared.
"""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from math import ceil
from typing import Final

from msgspec import Struct

LEAST: Final = Fraction(4, 5)
"""Of the words of both, the share that both have: Jaccard's index of multisets."""

_WORD: Final = re.compile(r"\w+")


class _Text(Struct, frozen=True):
    """A text by its words: how often each occurs, and how many there are."""

    key: str
    words: Counter[str]
    size: int


class Likenesses:
    """Groups of texts that are nearly like the first of them.

    Example:
        >>> found = Likenesses()
        >>> found.add("a", "where is my order, please")
        >>> found.add("b", "Where is my order please?")
        >>> found.add("c", "I want a refund")
        >>> found.groups()
        {'a': ['b']}
    """

    def __init__(self) -> None:
        self._texts: list[_Text] = []

    def add(self, key: str, text: str) -> None:
        """Add a text. Upper and lower case, order and punctuation do not count."""
        words = Counter(_WORD.findall(text.casefold()))
        if words:
            self._texts.append(_Text(key, words, words.total()))

    def groups(self) -> dict[str, list[str]]:
        """The keys of texts that are nearly like one before them, by the key of that one."""
        frequency: Counter[str] = Counter()
        for text in self._texts:
            frequency.update(text.words.keys())
        holders: dict[str, list[int]] = {}
        groups: dict[str, list[str]] = {}
        for place, text in enumerate(self._texts):
            rarest = _rarest(text, frequency)
            before = sorted({one for word in rarest for one in holders.get(word, ())})
            first = next((one for one in before if _are_alike(self._texts[one], text)), None)
            if first is not None:
                groups.setdefault(self._texts[first].key, []).append(text.key)
                continue
            for word in rarest:
                holders.setdefault(word, []).append(place)
        return groups


def _rarest(text: _Text, frequency: Counter[str]) -> list[str]:
    """The words of which a text that is alike has at least one among its own rarest.

    A text that is alike has `LEAST` of these words, so it can lack only so many. When the words of
    both are in one order, one of the first that are more than that is among its first, too.
    """
    may_lack = text.size - ceil(text.size * LEAST)
    begin: list[str] = []
    for word in sorted(text.words, key=lambda word: (frequency[word], word)):
        begin.append(word)
        may_lack -= text.words[word]
        if may_lack < 0:
            break
    return begin


def _are_alike(one: _Text, other: _Text) -> bool:
    if min(one.size, other.size) < max(one.size, other.size) * LEAST:
        return False
    shared = (one.words & other.words).total()
    return shared >= LEAST * (one.size + other.size - shared)
