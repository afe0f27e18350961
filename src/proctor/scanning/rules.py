"""The rules of the scan, and what each finds.

A rule says what it found in words of its own. Nothing of the text, and nothing decoded from it, is
part of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from proctor.scanning import authority, blocked, characters, links, obfuscation
from proctor.scanning.detectors import FINDERS, GATES, Kind

if TYPE_CHECKING:
    import regex

ANYTHING: Final = r"[\s\S]"
"""The gate of what has to look at every text."""

_PERSONAL: Final[dict[Kind, tuple[str, str]]] = {
    "email": ("an e-mail address", "P6112"),
    "card": ("a payment card number", "P6113"),
    "iban": ("an IBAN", "P6114"),
}


class Rule(Struct, frozen=True):
    """One rule.

    Args:
        name: What suites, projects and reports call it.
        label: What messages call it.
        gate: What lets through every text in which it finds something.
        find: What it finds in a text.
        code: The code of what it finds.
        is_personal: Whether that is personal data.
    """

    name: str
    label: str
    gate: str
    find: Callable[[str], Iterator[str]]
    code: str = "P6110"
    is_personal: bool = False


def scan_rules(patterns: Sequence[regex.Pattern[str]] = (), *, timeout_s: float = 1) -> list[Rule]:
    """Every rule, by name; two of one name are halves of one.

    Args:
        patterns: What a project adds to the blocked patterns.
        timeout_s: How long one of them may take for one text.
    """
    rules = [
        Rule("S005", "S005 blocked-patterns", blocked.GATE, blocked.find_blocked),
        Rule("S010", "S010 suspicious-urls", links.GATE, links.find_links),
        Rule("S011", "S011 authority-injection", authority.GATE, authority.find_authority),
        Rule("S012", "S012 obfuscated-content", obfuscation.GATE, obfuscation.find_obfuscation),
        Rule("S014", "S014 unicode-security", characters.GATE, characters.find_characters),
    ]
    if patterns:
        own = blocked.ProjectPatterns(patterns, timeout_s=timeout_s)
        rules.insert(1, Rule("S005", rules[0].label, ANYTHING, own.find))
    for kind, (label, code) in _PERSONAL.items():
        find = partial(_find_personal, kind)
        rules.append(Rule(kind, label, GATES[kind], find, code, is_personal=True))
    return rules


def _find_personal(kind: Kind, text: str) -> Iterator[str]:
    """Once, however often there is some; the label says what."""
    for _ in FINDERS[kind](text):
        yield ""
        return
