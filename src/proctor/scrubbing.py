r"""Taking keys out of text before anybody sees it.

A key comes back in what a server says, in the message of an exception, in a log. There it is often
spelled another way, so every character is looked for in each of its spellings: as it is, `%2F`,
`\u002f`, `\x2f`, `\/`. Base64 is looked for wherever in the encoded text the key begins, which
finds it behind any user name of Basic auth.
"""

from __future__ import annotations

import re
import traceback
from binascii import b2a_base64
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proctor.records import Json

REDACTED = "[redacted]"

SHORTEST = 8
"""Characters of a secret: a shorter one would be found within other words."""

_WIDEST = 13
r"""The most characters a byte of a secret is spelled with: `u002f` behind eight backslashes."""

_ENCODING = ("utf-8", "surrogateescape")
"""How bytes and variables become text, and back to the same bytes."""


class Scrubber:
    """What must not be seen, and how to take it out.

    Example:
        >>> scrubber = Scrubber()
        >>> scrubber.add("sk-test/0001")
        >>> print(scrubber.scrub("GET /?key=sk-test%2F0001 with sk-test/0001"))
        GET /?key=[redacted] with [redacted]
    """

    def __init__(self) -> None:
        self._values: frozenset[str] = frozenset()
        self._patterns: tuple[re.Pattern[str], ...] = ()
        self._longest = 0

    def add(self, value: str) -> None:
        """Take this value out from now on, without the white space around it.

        A value of less than 8 characters is let through: it would take more away than it hides.
        """
        value = value.strip()
        if len(value) < SHORTEST or value in self._values:
            return
        data = value.encode(*_ENCODING)
        in_base64 = [_in_base64(data, offset) for offset in range(3)]
        patterns = [
            "".join(map(_spelled, value)),
            "".join(map(_either_case, data.hex())),
            *("".join(map(_spelled_in_base64, form)) for form in in_base64),
        ]
        self._values |= {value}
        self._patterns += tuple(map(re.compile, patterns))
        self._longest = max(self._longest, _WIDEST * max(len(data), *map(len, in_base64)))

    def holds(self, text: str) -> bool:
        """Whether there is something to take out."""
        return any(pattern.search(text) for pattern in self._patterns)

    def scrub(self, text: str) -> str:
        """The text with `[redacted]` in place of every secret.

        Scrub before cutting: what is left of a secret that was cut in two is not found.
        """
        spans = self._spans(text)
        return _without(text, spans) if spans else text

    def scrub_bytes(self, data: bytes) -> bytes:
        """The same for bytes, whatever their encoding."""
        if not self._patterns:
            return data
        return self.scrub(data.decode(*_ENCODING)).encode(*_ENCODING)

    def scrub_json(self, value: Json) -> Json:
        """The same for each text and each key of a JSON value."""
        if isinstance(value, str):
            return self.scrub(value)
        if isinstance(value, list):
            return [self.scrub_json(member) for member in value]
        if isinstance(value, dict):
            return {self.scrub(key): self.scrub_json(member) for key, member in value.items()}
        return value

    def chunks(self, parts: Iterable[str]) -> Iterator[str]:
        """The same for a text that arrives in parts, with secrets that were cut apart.

        Together the chunks are what `scrub` makes of the whole. The end of what has arrived is
        held back for as long as it could be the beginning of a secret.
        """
        held = ""
        for part in parts:
            held += part
            ready = max(0, len(held) - self._longest)
            spans = self._spans(held)
            # A secret that reaches into the rest may overlap one that is not there yet.
            ready = next((start for start, end in spans if start < ready <= end), ready)
            if ready:
                yield _without(held[:ready], [span for span in spans if span[1] < ready])
                held = held[ready:]
        if held:
            yield self.scrub(held)

    def format_exception(self, error: BaseException) -> str:
        """The traceback with causes, notes and groups, without locals and without secrets."""
        return self.scrub("".join(traceback.format_exception(error)))

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Where secrets stand, in order; those that overlap or touch are one."""
        found = [match.span() for pattern in self._patterns for match in pattern.finditer(text)]
        spans: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if spans and start <= spans[-1][1]:
                start, before = spans.pop()
                end = max(end, before)
            spans.append((start, end))
        return spans


SECRETS = Scrubber()
"""What this process must not show: every key that was read."""


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    pieces = []
    done = 0
    for start, end in spans:
        pieces += [text[done:start], REDACTED]
        done = end
    return "".join([*pieces, text[done:]])


_SHORT_ESCAPES = {"\b": "b", "\t": "t", "\n": "n", "\f": "f", "\r": "r"}
_WITH_BACKSLASH = frozenset("\"'/")

_PERCENT = "%(?:25){0,2}"  # a percent sign, itself encoded up to twice
_BACKSLASH = r"\\\\{0,7}"  # a backslash, itself escaped up to three times


def _spelled(character: str) -> str:
    """A pattern for every spelling of one character."""
    data = character.encode(*_ENCODING)
    codes = [_either_case(f"{byte:02x}") for byte in data]
    spellings = [
        _BACKSLASH if character == "\\" else re.escape(character),
        "".join(_PERCENT + code for code in codes),
        "".join(f"{_BACKSLASH}x{code}" for code in codes),
        "".join(f"{_BACKSLASH}u{unit}" for unit in _utf_16_units(character)),
    ]
    if not character.isascii():
        spellings.append(f"{_BACKSLASH}(?:x|U0{{0,6}}){_either_case(f'{ord(character):x}')}")
    if character == " ":
        spellings.append(r"\+")
    elif character in _WITH_BACKSLASH:
        spellings.append(_BACKSLASH + character)
    elif character in _SHORT_ESCAPES:
        spellings.append(_BACKSLASH + _SHORT_ESCAPES[character])
    return f"(?:{'|'.join(spellings)})"


def _utf_16_units(character: str) -> Iterator[str]:
    data = character.encode("utf-16-be", "surrogatepass")
    for place in range(0, len(data), 2):
        yield _either_case(data[place : place + 2].hex())


def _in_base64(data: bytes, offset: int) -> str:
    """The characters of base64 that hang on these bytes alone, `offset` bytes behind a third."""
    encoded = b2a_base64(bytes(offset) + data, newline=False).decode("ascii")
    return encoded[-(-8 * offset // 6) : 8 * (offset + len(data)) // 6]


def _spelled_in_base64(character: str) -> str:
    if character == "+":
        return f"(?:-|{_spelled('+')})"
    return f"(?:_|{_spelled('/')})" if character == "/" else character


def _either_case(code: str) -> str:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in code)
