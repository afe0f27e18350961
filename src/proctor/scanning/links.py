"""S010: addresses that hide where they lead, or that carry a secret."""

from __future__ import annotations

from collections.abc import Iterator
from operator import eq
from typing import Final

from proctor.scanning.expressions import Expression
from proctor.scanning.gates import open_gate

_SHORTENERS: Final = (
    r"(?:bit\.ly|bitly\.com|tinyurl\.com|t\.co|goo\.gl|ow\.ly|is\.gd|buff\.ly|adf\.ly|tiny\.cc"
    r"|cutt\.ly)"
)
_SHORTENER_GATE: Final = rf"{_SHORTENERS}\\?/"

GATE: Final = rf"https?:(?:\\?/){{2}}|{_SHORTENER_GATE}"

# All of these read lower-case text.
_CHARACTER: Final = r"[^\s\"'<>]"
_PLAIN: Final = Expression(rf"http://(?<!\whttp://){_CHARACTER}")
_SHORTENED: Final = Expression(rf"\b{_SHORTENERS}/{_CHARACTER}")
_URL: Final = Expression(rf"https?://(?:{_CHARACTER}+)")
_HOST: Final = Expression(r"https?://([^\s\"'<>/?#\\]+)")
_SECRET: Final = Expression(r"(?:session|token|auth|key|secret|password|credential)=[^&]")
_PUNYCODE: Final = Expression(r"(?:\A|[.@])xn--")
_PORT: Final = Expression(r":[0-9]*\Z")
_SCRIPTS: Final = (
    Expression("[a-z\u00df-\u00f6\u00f8-\u024f]"),
    Expression("[\u0400-\u052f]"),
    Expression("[\u0370-\u03ff\u1f00-\u1fff]"),
)

_CYRILLIC: Final = "\u0430\u0435\u0456\u043e\u0440\u0441\u0443\u0445\u0455\u04cf\u0501\u051b\u051d"
_GREEK: Final = "\u03b1\u03b5\u03b9\u03bf\u03c1\u03c5\u03c7"
_CAPITALS: Final = "\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
_HOMOGLYPHS: Final = f"{_CYRILLIC}{_GREEK}{_CAPITALS}"
_HOMOGLYPH: Final = Expression(f"[{_HOMOGLYPHS}]")
_LATIN: Final = str.maketrans(_HOMOGLYPHS, "aeiopcyxsldqwaeiopuxabehikmnoptyx")

_BRANDS: Final = (  # noqa: SIM905 - thirty quoted words read worse
    "google github microsoft apple amazon facebook netflix paypal twitter linkedin instagram "
    "dropbox slack zoom adobe oracle salesforce stripe shopify cloudflare openai anthropic meta "
    "yahoo outlook office azure aws icloud gmail"
).split()
_MAX_LABEL: Final = 63
"""Of a host; what is longer is not decoded."""
_MAX_LOOKED_AT: Final = 1_000
"""Suspicious hosts of one text that are compared with well-known names."""
_OTHER_SCRIPT: Final = "a host in another script"
"""Suspicious only when it looks like such a name."""
_MAX_MORE: Final = 2
"""Characters that a name may have more or less than the one it resembles."""
_MAX_OTHER: Final = 2
"""Characters that may be other ones."""
_MIN_SHORTER: Final = 4


def find_links(text: str) -> Iterator[str]:
    """What kinds of such addresses a text holds."""
    # The one letter that is longer in lower case; with it, places in both texts would differ.
    text = text.replace("\u0130", "I")
    low = text.lower()
    if _PLAIN.pattern.search(low):
        yield "an `http://` address"
    if open_gate((_SHORTENER_GATE,))(low) and _SHORTENED.pattern.search(low):
        yield "a shortened address"
    if "=" in low and any(_carries_secret(url) for url in _URL.pattern.findall(low)):
        yield "an address with a secret in its query"
    if not low.isascii() or "xn--" in low:
        yield from _find_hosts(text, low)


def _carries_secret(url: str) -> bool:
    return _SECRET.pattern.search(url.partition("?")[2]) is not None


def _find_hosts(text: str, low: str) -> Iterator[str]:
    """What kinds of hosts a text holds that are not what they look like."""
    found: dict[str, bool] = {}
    looked_at = 0
    for match in _HOST.pattern.finditer(low):
        if _PUNYCODE.pattern.search(match[1]):
            kind = "a punycode host"
        elif match[1].isascii():
            continue
        elif sum(script.pattern.search(match[1]) is not None for script in _SCRIPTS) > 1:
            kind = "a host in mixed scripts"
        elif _HOMOGLYPH.pattern.search(text, *match.span(1)):
            kind = _OTHER_SCRIPT
        else:
            continue
        is_known = found.setdefault(kind, False)
        looked_at += 1
        if not is_known and (kind == _OTHER_SCRIPT or looked_at <= _MAX_LOOKED_AT):
            # Capital letters of other scripts look like other ones than small letters do.
            found[kind] = _resembles_brand(text[slice(*match.span(1))])
    for kind, is_like_brand in found.items():
        if is_like_brand:
            yield f"{kind} that looks like a well-known name"
        elif kind != _OTHER_SCRIPT:
            yield kind


def _resembles_brand(host: str) -> bool:
    """Whether the name before the last dot is nearly that of a brand."""
    labels = _PORT.pattern.sub("", host.rpartition("@")[2]).rstrip(".").rsplit(".", 2)
    label = labels[-2] if len(labels) > 1 else labels[0]
    name = _decoded(label).translate(_LATIN).lower()
    return name in _BRANDS or any(_is_close(name, brand) for brand in _BRANDS)


def _decoded(label: str) -> str:
    """A label of a host as people see it."""
    if not label.lower().startswith("xn--") or len(label) > _MAX_LABEL:
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label


def _is_close(name: str, brand: str) -> bool:
    shorter, longer = sorted((name, brand), key=len)
    more = len(longer) - len(shorter)
    if more > _MAX_MORE:
        return False
    same: int = sum(map(eq, shorter, longer))
    if more == 0:
        return same >= len(shorter) - _MAX_OTHER
    is_like = len(shorter) >= _MIN_SHORTER and same >= len(shorter) - _MAX_OTHER
    return is_like or shorter in longer
