"""S012: text that is encoded, above all when it decodes to an instruction."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, NamedTuple

from proctor.scanning.expressions import Expression
from proctor.scanning.gates import open_gate
from proctor.scanning.phrases import SHORT_GAP, SPACE, Phrase, compile_phrases, gate_of, rot13

MALICIOUS: Final = (
    "mandatory _ (policy | update | footer | instruction | directive | override)",
    r"\[ ~ override ~ \]",
    "strict _ mode _ on",
    "system _ (override | update | directive)",
    "admin(istrator)? _ (mode | override | access)",
    "ignore _ (all _)? (previous _)? (instruction | rule | safety)",
    "disregard _ (all _)? (prior | previous | safety)",
    "bypass _ (your _)? (rule | restriction | safety | filter)",
    "jail(break)",
    "pretend _ (you _)? (are | have | can)",
    "act _ as _ (if | though)",
    "(suppress | hide | disable | remove) _ (all _)? (security _)? (warning | alert | check)",
    "(do _ not | never | don't) _ (warn | alert | notify | check)",
    "system % compromised",
)

_PAIR: Final = "[0-9a-f]{2}"


class _Escape(NamedTuple):
    """A way to write characters as numbers.

    Args:
        kind: What messages call it.
        mark: What every text has that is written in this way.
        unit: What stands for one character.
        least: How many in a row are looked at.
    """

    kind: str
    mark: str
    unit: str
    least: int


_ESCAPES: Final = (
    _Escape(r"\x escapes", "\\", r"\\{1,2}x[0-9a-f]{2}", 4),
    _Escape(r"\u escapes", "\\", r"\\{1,2}u[0-9a-f]{4}", 3),
    _Escape("percent escapes", "%", "%[0-9a-f]{2}", 4),
    _Escape("character references", "&#", "&#(?:[0-9]{1,7}|x[0-9a-f]{1,6});", 4),
    _Escape("octal escapes", "\\", r"\\{1,2}[0-7]{3}", 4),
    _Escape("groups of binary digits", "0", "[01]{8}", 4),
)

_MALICIOUS_GATE: Final = gate_of(MALICIOUS)
_ROT13_GATE: Final = gate_of([rot13(one) for one in MALICIOUS])
GATE: Final = "|".join(
    [
        ";base64,",
        "[0-9a-f]{16}",
        f"{_PAIR}(?:(?:-|{SPACE}){_PAIR}){{7}}",
        r"(?:[a-z0-9+/]|\\/){32}",
        *(f"(?:{unit}{SPACE}?){{{least}}}" for _, _, unit, least in _ESCAPES),
        _ROT13_GATE,
    ]
)

_DATA_URI: Final = Expression(
    r"data:(?:text/[^;,\s]{1,64}|application/json)(?:;[^;,\s]{1,64}){0,4};base64,"
    r"([A-Za-z0-9+/]{16,}+={0,2})",
    re.IGNORECASE,
)
_HEX_PAIRS: Final = Expression(rf"{_PAIR}(?:[\s-]{_PAIR}){{7,}}+", re.IGNORECASE)
_HEX_RUN: Final = Expression(r"(?<![0-9A-Za-z])[0-9a-fA-F]{16,}+(?![0-9A-Za-z])")
_BASE64: Final = Expression(r"([A-Za-z0-9+/]{32,}+)(={0,2})")
_HEX_DIGITS: Final = Expression("[0-9a-fA-F]+")
_NOT_HEX: Final = Expression(r"[\s-]")
_CONTROL: Final = Expression(r"[\x00-\x08\x0e-\x1f]")
_OTHER_DATA: Final = ("data:image/", "data:application/json", "data:text/")
_BEFORE: Final = 30
"""How far before a run of base64 a data URI may begin, in characters."""
_VOWELS: Final = frozenset("aeiouAEIOU")
_DIGESTS: Final = (32, 40, 64, 128)
_JOINT: Final = "\0"
"""Stands between texts that were decoded apart; part of no phrase."""
_MAX_CHARACTER: Final = 0x10FFFF


def find_obfuscation(text: str) -> Iterator[str]:
    """How text is encoded that decodes to an instruction; else whether there is much base64."""
    found = False
    for kind, pieces in _decodings(text):
        if _phrases_in(_JOINT.join(pieces)):
            found = True
            yield f"{kind} that decode to an instruction"
    if open_gate((_ROT13_GATE,))(text) and _phrases_in(rot13(text)) - _phrases_in(text):
        found = True
        yield "ROT13 letters that decode to an instruction"
    if not found and any(not _is_digest(run[1]) for run in _base64_runs(text)):
        yield "a long run of base64"


@cache
def _compiled() -> list[Phrase]:
    return compile_phrases(MALICIOUS, SHORT_GAP)


def _phrases_in(text: str) -> set[str]:
    if not open_gate((_MALICIOUS_GATE,))(text):
        return set()
    low = text.lower()
    return {phrase.written for phrase in _compiled() if phrase.pattern.search(low)}


def _decodings(text: str) -> Iterator[tuple[str, Iterator[str]]]:
    """Each way in which parts of a text may be encoded, with those parts decoded."""
    yield "data URIs", (_from_base64(match[1]) for match in _DATA_URI.pattern.finditer(text))
    yield "base64 characters", (_from_base64(run[0]) for run in _base64_runs(text))
    yield "pairs of hexadecimal digits", map(_from_hex, _HEX_PAIRS.pattern.findall(text))
    runs = (run for run in _HEX_RUN.pattern.findall(text) if len(run) not in _DIGESTS)
    yield "hexadecimal digits", map(_from_hex, runs)
    for escape, run, decode in _escapes():
        if escape.mark in text:
            yield escape.kind, map(decode, run.findall(text))


def _from_base64(run: str) -> str:
    whole = run if len(run) % 4 == 0 else run.rstrip("=")
    try:
        data = binascii.a2b_base64(whole[: len(whole) // 4 * 4], strict_mode=True)
    except binascii.Error:
        return ""
    return _without_controls(data.decode("utf-8", "replace"))


def _from_hex(run: str) -> str:
    digits = _NOT_HEX.pattern.sub("", run)
    if len(digits) % 2:
        return ""
    return _without_controls(bytes.fromhex(digits).decode("latin-1"))


def _without_controls(decoded: str) -> str:
    """What was decoded, nothing when it is no text."""
    return "" if _CONTROL.pattern.search(decoded) else decoded


def _from_percents(run: str) -> str:
    try:
        return bytes.fromhex("".join(re.findall(_PAIR, run.lower()))).decode("utf-8")
    except UnicodeDecodeError:
        return ""


def _from_references(run: str) -> str:
    written = re.findall("&#(x?)([0-9a-f]+);", run.lower())
    codes = [int(digits, 16 if sign else 10) for sign, digits in written]
    return "".join(chr(code) for code in codes if code <= _MAX_CHARACTER)


def _from_codes(digits: str, base: int) -> Callable[[str], str]:
    """What reads runs of character codes of so many digits."""
    return lambda run: "".join(chr(int(code, base)) for code in re.findall(digits, run.lower()))


@cache
def _escapes() -> list[tuple[_Escape, re.Pattern[str], Callable[[str], str]]]:
    """Each kind of escape with what finds runs of it and what decodes one."""
    decoders = (
        _from_codes("[0-9a-f]{2}", 16),
        _from_codes("[0-9a-f]{4}", 16),
        _from_percents,
        _from_references,
        _from_codes("[0-7]{3}", 8),
        _from_codes("[01]{8}", 2),
    )
    return [
        (one, re.compile(rf"(?:{one.unit}\s?){{{one.least},}}+", re.IGNORECASE), decode)
        for one, decode in zip(_ESCAPES, decoders, strict=True)
    ]


def _base64_runs(text: str) -> Iterator[re.Match[str]]:
    """Long runs of base64 that are not part of other data, and no path."""
    payloads = {match.start(1) for match in _DATA_URI.pattern.finditer(text)}
    for match in _BASE64.pattern.finditer(text):
        before = text[max(0, match.start() - _BEFORE) : match.start()].lower()
        is_other = match.start() in payloads or any(start in before for start in _OTHER_DATA)
        if not is_other and not _is_path(match[1]):
            yield match


def _is_path(run: str) -> bool:
    if "/" not in run:
        return False
    parts: list[str] = [part for part in re.split("[/+]", run) if part]
    words = sum(
        3 <= len(part) <= 20 and part.isalpha() and not _VOWELS.isdisjoint(part) for part in parts
    )
    return 2 * words > len(parts)


def _is_digest(run: str) -> bool:
    return len(run) in _DIGESTS and _HEX_DIGITS.pattern.fullmatch(run) is not None
