"""Personal data: where e-mail addresses, payment card numbers and IBANs stand in a text.

Names and postal addresses are not detected.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from functools import cache
from itertools import accumulate
from typing import Final, Literal, NamedTuple

from proctor.scanning.expressions import Expression

Kind = Literal["email", "card", "iban"]


class Span(NamedTuple):
    """Where personal data stands in a text, and what kind it is."""

    start: int
    end: int
    kind: Kind


_LENGTHS: Final = {
    "AT": 20, "BE": 16, "BG": 22, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "EE": 20,
    "ES": 24, "FI": 18, "FR": 27, "GB": 22, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IT": 27,
    "LT": 20, "LU": 20, "LV": 21, "MT": 31, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "RO": 24,
    "SE": 24, "SI": 19, "SK": 24,
}  # fmt: skip
"""Characters of an IBAN without spaces, by country."""

_MIN_DIGITS: Final = 13
_MAX_DIGITS: Final = 19
"""Of the number of a payment card."""
_MAX_LOCAL: Final = 64
"""Characters before the `@` of an address."""

GATES: Final[dict[Kind, str]] = {
    "email": r"[^\s@]@[^\s@]+\.[^\s@.]{2}",
    "card": f"[0-9](?:[ \u00a0-]?[0-9]){{{_MIN_DIGITS - 1}}}",
    "iban": (
        f"(?:{'|'.join(_LENGTHS).lower()})[0-9]{{2}}"
        f"(?:[ \u00a0]?[0-9a-z]){{{min(_LENGTHS.values()) - 4}}}"
    ),
}

_HOST: Final = Expression(
    r"@(?<=[\w.+%-]@)(?:[^\W_][\w-]{0,62}\.){1,10}"
    r"(?:xn--[a-z0-9-]{1,59}|[^\W\d_]{2,63})(?![^\W_])",
    re.IGNORECASE,
)
_LOCAL_BACKWARDS: Final = Expression(r"[\w.+%-]+")
_GROUPS: Final = Expression(
    f"(?<![0-9])[0-9]{{2,{_MAX_DIGITS}}}+(?![0-9])"
    f"(?:[ \u00a0-][0-9]{{2,{_MAX_DIGITS}}}+(?![0-9]))*+"
)
_SEPARATOR: Final = Expression("[ \u00a0-]")
_ISSUER: Final = Expression(
    "4|5[1-5]|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720"  # Visa, Mastercard
    "|3[47]|6011|64[4-9]|65|30[0-5]|3095|3[689]"  # American Express, Discover, Diners
    "|35(?:2[89]|[3-8][0-9])|62|220[0-4]|60|81|82|508"  # JCB, UnionPay, Mir, RuPay
    "|5018|5020|5038|5[6-8]|6304|6759|676[1-3]"  # Maestro
)
_VALUES: Final = bytes.maketrans(b"0123456789", bytes(range(10)))
_DOUBLED: Final = bytes.maketrans(b"0123456789", bytes([0, 2, 4, 6, 8, 1, 3, 5, 7, 9]))
"""Of each digit twice its value, or the sum of the digits of that."""
_IBAN_START: Final = Expression(r"(?<![^\W_])([A-Za-z]{2})[0-9]{2}")
_IBAN_SPACE: Final = str.maketrans("", "", " \u00a0")
_TO_NUMBER: Final = {ord(sign): str(int(sign, 36)) for sign in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def personal_data(text: str) -> list[Span]:
    """Where personal data of any kind stands, from left to right; no two spans overlap."""
    found = [span for find in FINDERS.values() for span in find(text)]
    spans: list[Span] = []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if not spans or span.start >= spans[-1].end:
            spans.append(span)
    return spans


def find_emails(text: str) -> Iterator[Span]:
    """Where e-mail addresses stand: a name, `@`, and a host with a dot in it."""
    for match in _HOST.pattern.finditer(text):
        at = match.start()
        local = _LOCAL_BACKWARDS.pattern.match(text[max(0, at - _MAX_LOCAL) : at][::-1])
        if local is not None:
            yield Span(at - local.end(), match.end(), "email")


def find_cards(text: str) -> Iterator[Span]:
    """Where payment card numbers stand: 13 to 19 digits of a known issuer with the right sum."""
    for chain in _GROUPS.pattern.finditer(text):
        if chain.end() - chain.start() < _MIN_DIGITS:
            continue
        groups = _SEPARATOR.pattern.split(chain[0])
        ends = list(accumulate(map(len, groups), initial=0))
        before = text[max(0, chain.start() - 2) : chain.start()][::-1]
        behind = text[chain.end() : chain.end() + 2]
        first = 1 if _is_joined(before) else 0
        last = len(groups) - 1 if _is_joined(behind) else len(groups)
        for start, after in _cards_of("".join(groups), ends, first, last):
            # Before each group but the first stands one character that is no digit.
            at = chain.start() + ends[start] + start
            yield Span(at, chain.start() + ends[after] + after - 1, "card")


def find_ibans(text: str) -> Iterator[Span]:
    """Where IBANs of the countries above stand: as long as they are there, with the right sum."""
    after = 0
    for match in _IBAN_START.pattern.finditer(text):
        length = _LENGTHS.get(match[1].upper())
        if length is None or match.start() < after:
            continue
        rest = _rest_of_iban(length).match(text, match.end())
        if rest is None:
            continue
        written = f"{rest[0]}{match[0]}".translate(_IBAN_SPACE).upper()
        if int(written.translate(_TO_NUMBER)) % 97 == 1 and _confirms_iban(written):
            after = rest.end()
            yield Span(match.start(), after, "iban")


@cache
def _rest_of_iban(length: int) -> re.Pattern[str]:
    return re.compile(f"(?:[ \u00a0]?[0-9A-Za-z]){{{length - 4}}}(?![^\\W_])")


FINDERS: Final[dict[Kind, Callable[[str], Iterator[Span]]]] = {
    "email": find_emails,
    "card": find_cards,
    "iban": find_ibans,
}


def _cards_of(digits: str, ends: list[int], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Which groups of digits are a card number together: the first, and the one after the last.

    Args:
        digits: The digits of all groups.
        ends: Where each group begins in them, and where the last one ends.
        first: The first group that may belong to a number.
        last: The one after the last of these.
    """
    sums = _running_sums(digits)
    free = first
    shortest = longest = first
    for group in range(first, last):
        start = ends[group]
        while shortest < last and ends[shortest] < start + _MIN_DIGITS:
            shortest += 1
        while longest < last and ends[longest + 1] <= start + _MAX_DIGITS:
            longest += 1
        if group < free:
            continue
        for after in range(longest, shortest - 1, -1):
            end = ends[after]
            sum_ = sums[(end - 1) % 2]
            if (
                (sum_[end] - sum_[start]) % 10 == 0
                and end - start >= _MIN_DIGITS
                and _ISSUER.pattern.match(digits, start)
                and _confirms_card(digits[start:end])
            ):
                yield group, after
                free = after
                break


def _running_sums(digits: str) -> list[array[int]]:
    """Luhn's sums from the left, for numbers that end at an even place and at an odd one.

    The last digit of a number is not doubled, and neither is every second one before it.
    """
    plain = digits.encode().translate(_VALUES)
    doubled = digits.encode().translate(_DOUBLED)
    sums = []
    for odd in (1, 0):
        mixed = bytearray(plain)
        mixed[odd::2] = doubled[odd::2]
        sums.append(array("I", accumulate(mixed, initial=0)))
    return sums


def _is_joined(beside: str) -> bool:
    """Whether a number is part of a word or of a decimal, by the characters next to it."""
    return beside[:1].isalnum() or (beside[:1] == "." and beside[1:].isdigit())


# The library takes 40 ms to load and some microseconds a call, so it has the last word only on
# what nearly is personal data already.
def _confirms_card(digits: str) -> bool:
    from stdnum import luhn

    return luhn.is_valid(digits)


def _confirms_iban(rearranged: str) -> bool:
    from stdnum.iso7064 import mod_97_10

    return mod_97_10.is_valid(rearranged)
