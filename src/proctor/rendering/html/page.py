"""One page that holds everything: its style, its script, its charts, and the data they show.

Data stands in one block of JSON, where nothing of it can end the block, and the script puts it
into the page as text. The policy of the page lets exactly its own style and script run, by their
digests, and nothing be loaded.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

SCRIPTS = ("text", "values", "entries", "keys", "listing", "details", "summary", "page")
"""The parts of the script, in the order in which they stand in the page."""

_UNSAFE_IN_SCRIPTS = (
    (b"&", rb"\u0026"),
    (b"<", rb"\u003c"),
    (b">", rb"\u003e"),
    ("\u2028".encode(), rb"\u2028"),
    ("\u2029".encode(), rb"\u2029"),
)


class Shell(NamedTuple):
    """The page around what differs from report to report."""

    before_charts: bytes
    before_data: bytes
    after_data: bytes


def script_json(json: bytes) -> bytes:
    r"""JSON as it may stand in a script block: the same value, and nothing in it is markup.

    Example:
        >>> print(script_json(b'"</script>"').decode())
        "\u003c/script\u003e"
    """
    for unsafe, escape in _UNSAFE_IN_SCRIPTS:
        json = json.replace(unsafe, escape)
    return json


def page(
    charts: Iterable[str], documents: Iterable[tuple[str, Iterable[bytes]]]
) -> Iterator[bytes]:
    """The page in chunks.

    Args:
        charts: SVG that holds no data but numbers.
        documents: The members of the JSON object that the script reads: the name of each, and its
            JSON in chunks. No character is divided between two chunks.
    """
    shell = _shell()
    yield shell.before_charts + "\n".join(charts).encode("utf-8") + shell.before_data
    separator = b"{"
    for name, chunks in documents:
        yield b'%b"%b":' % (separator, name.encode())
        for chunk in chunks:
            yield script_json(chunk)
        separator = b","
    yield b"}" + shell.after_data


def policy(style: str, script: str) -> str:
    """The content security policy of a page with this style and this script."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode()}"


@cache
def _shell() -> Shell:
    style = asset("style.css")
    script = '"use strict";\n' + "\n".join(asset(f"{name}.js") for name in SCRIPTS)
    text = asset("page.html")
    for name, content in (
        ("policy", policy(style, script)),
        ("style", style),
        ("script", script),
    ):
        text = text.replace(f"[[{name}]]", content)
    before, _, rest = text.partition("[[charts]]")
    between, _, after = rest.partition("[[data]]")
    return Shell(*(part.encode("utf-8") for part in (before, between, after)))


def asset(name: str) -> str:
    """A file that the page is made of."""
    return (files("proctor.rendering.html") / "assets" / name).read_text(encoding="utf-8")
