"""Personal data and secrets replaced by placeholders: the same value, the same placeholder."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from typing import Final, NamedTuple

from proctor.importers.secrets import find_secrets
from proctor.records import Json
from proctor.scanning.detectors import find_cards, personal_data

_WORDS: Final[dict[str, str]] = {
    "email": "EMAIL",
    "card": "CARD",
    "iban": "IBAN",
    "secret": "SECRET",
}
_PLACEHOLDER: Final = re.compile(rf"\[({'|'.join(_WORDS.values())})-([0-9]{{1,9}})\]")
_NO_PART: Final = re.compile(r"[\W_]")
"""What cards and IBANs are grouped with."""


class NamesClash(ValueError):
    """Two names of one object would become the same placeholder."""


class _Find(NamedTuple):
    start: int
    end: int
    kind: str


class Placeholders:
    """Puts placeholders in the place of what is found, and counts by field.

    Example:
        >>> placeholders = Placeholders()
        >>> placeholders.in_text("jane@example.com or JANE@example.com, not joe@example.com", "id")
        '[EMAIL-1] or [EMAIL-1], not [EMAIL-2]'
        >>> placeholders.counts
        Counter({('id', 'email'): 3})
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self._last = dict.fromkeys(_WORDS.values(), 0)
        self._given: dict[tuple[str, str], str] = {}

    def keep_free(self, text: str) -> None:
        """Give out no placeholder that stands in this text already."""
        for word, number in _PLACEHOLDER.findall(text):
            self._last[word] = max(self._last[word], int(number))

    def in_text(self, text: str, field: str) -> str:
        """A text with placeholders, and otherwise unchanged."""
        # What is left around a find may be one itself: two addresses can share a host.
        while finds := _finds(text):
            pieces = []
            done = 0
            for start, end, kind in finds:
                pieces += [text[done:start], self._placeholder(kind, text[start:end])]
                done = end
                self.counts[field, kind] += 1
            text = "".join([*pieces, text[done:]])
        return text

    def in_value(self, value: Json, field: str) -> Json:
        """A JSON value with placeholders in its strings and names, and for numbers of cards.

        Raises:
            NamesClash: When two names of an object would become the same.
        """
        if isinstance(value, str):
            return self.in_text(value, field)
        if isinstance(value, list):
            return [self.in_value(one, field) for one in value]
        if isinstance(value, dict):
            renamed = {
                self.in_text(name, field): self.in_value(one, field) for name, one in value.items()
            }
            if len(renamed) < len(value):
                raise NamesClash
            return renamed
        if isinstance(value, int) and not isinstance(value, bool) and _is_card(value):
            return self.in_text(str(value), field)
        return value

    def _placeholder(self, kind: str, found: str) -> str:
        key = (kind, _identity(kind, found))
        if key not in self._given:
            word = _WORDS[kind]
            self._last[word] += 1
            self._given[key] = f"[{word}-{self._last[word]}]"
        return self._given[key]


def _identity(kind: str, found: str) -> str:
    """What two spellings of one value have in common."""
    if kind == "email":
        return found.casefold()
    return found if kind == "secret" else _NO_PART.sub("", found).upper()


def _is_card(value: int) -> bool:
    return 10**12 <= value < 10**19 and any(find_cards(str(value)))


def _finds(text: str) -> list[_Find]:
    """What is replaced in one look; what overlaps a secret waits for the next."""
    secrets = [_Find(start, end, "secret") for start, end in find_secrets(text)]
    ends = [one.end for one in secrets]
    finds = list(secrets)
    for span in personal_data(text):
        behind = bisect_right(ends, span.start)
        if behind == len(secrets) or span.end <= secrets[behind].start:
            finds.append(_Find(*span))
    return sorted(finds)
