"""`target.http` of a suite, and which URLs a suite may name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from proctor.config import is_key_variable
from proctor.documents import Path, StructReader
from proctor.pointers import parse_pointer
from proctor.records import Json, Placeholder
from proctor.records.targets import HeaderSpec, HttpCall
from proctor.templates import parse_open_template

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OWN_HEADERS = frozenset(
    [
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
    ]
)

Fault = tuple[str, str]
"""What is wrong with a value, as the rest of a sentence, and what to do."""


class HttpFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`target.http` as it stands in a suite.

    Args:
        url: Where the endpoint is, `https://`, or `http://` on this machine.
        method: How it is asked.
        headers: Per header the variable that its value is in: its name, or `env` with a `prefix`
            like `Bearer ` before it. Values themselves stand in no file.
        body: What is sent: any JSON, with placeholders like `{{input.name}}` in its strings.
            Without it, an object with `case`, `inputs`, `scenario` and `repeat`.
        answer: A JSON Pointer to the answer in the reply. Without it, all of the reply.
    """

    url: str
    method: Literal["POST", "PUT", "PATCH"] = "POST"
    headers: dict[str, Json] = {}
    body: Json | UnsetType = UNSET
    answer: str | None = None


def read_http(file: HttpFile, reader: StructReader) -> HttpCall:
    """The endpoint of a target; what is wrong with it is noted in the reader."""
    place: Path = ("target", "http")
    fault = url_fault(file.url, may_have_query=True)
    if fault is not None:
        reader.problem(f"`url` {fault[0]}", (*place, "url"), hint=fault[1])
    if file.answer is not None and parse_pointer(file.answer) is None:
        reader.problem(
            f"`answer`: `{file.answer}` is not a JSON Pointer",
            (*place, "answer"),
            hint="write it like `/choices/0/text`, with `~0` for `~` and `~1` for `/` in a name",
        )
    placeholders: list[Placeholder] = []
    if file.body is not UNSET:
        placeholders += _placeholders(file.body, (*place, "body"), reader)
    return HttpCall(
        url=file.url,
        method=file.method,
        headers=_headers(file, reader),
        body=file.body,
        placeholders=tuple(placeholders),
        answer=file.answer,
    )


def _headers(file: HttpFile, reader: StructReader) -> dict[str, HeaderSpec]:
    headers: dict[str, HeaderSpec] = {}
    seen: set[str] = set()
    for name, written in file.headers.items():
        place = ("target", "http", "headers", name)
        mapping = {"env": written} if isinstance(written, str) else written
        header = reader.read(HeaderSpec, mapping, place)
        if not _HEADER.fullmatch(name):
            hint = "placeholders belong into strings of `body`" if "{{" in name else None
            reader.problem("this is not the name of a header", place, hint=hint)
        elif name.lower() in _OWN_HEADERS:
            reader.problem(f"the header `{name}` is not for a suite to set", place)
        elif name.lower() in seen:
            reader.problem(f"the header `{name}` is there twice", place)
        seen.add(name.lower())
        if header is None:
            continue
        if not is_key_variable(header.env):
            # It may be the key itself, so it is not shown.
            reader.problem(
                "a header names the variable that its value is in: capitals, digits and at least "
                "one `_`",
                place,
                hint="write its name, like `AGENT_KEY`, never the value itself",
            )
        if not (header.prefix.isascii() and (header.prefix.isprintable())):
            reader.problem("`prefix` has characters that no header has", place)
        headers[name] = header
    return headers


def _placeholders(body: Json, place: Path, reader: StructReader) -> Iterator[Placeholder]:
    """The placeholders in the strings of a body; those that cannot be used are noted."""
    if isinstance(body, str):
        parts, problems = parse_open_template(body)
        for problem in problems:
            reader.problem(problem.detail, place, hint=problem.hint)
        yield from (part for part in parts if isinstance(part, Placeholder))
    elif isinstance(body, list):
        for number, member in enumerate(body):
            yield from _placeholders(member, (*place, number), reader)
    elif isinstance(body, dict):
        for key, member in body.items():
            if "{{" in key:
                reader.problem(
                    "a key of `body` has a placeholder",
                    (*place, key),
                    hint="they are filled in in string values only",
                )
            yield from _placeholders(member, (*place, key), reader)


def url_fault(text: str, *, may_have_query: bool) -> Fault | None:
    """What is wrong with a URL, as far as that is seen without an HTTP client.

    Everything else that is refused is refused before the first request, in `providers/hosts.py`.
    """
    from urllib.parse import urlsplit

    if "{{" in text:
        return "has a placeholder", "they are filled in in strings of `body` only"
    if not (text.isascii() and text.isprintable()) or " " in text:
        return "has a space, a control character or a letter other than those of ASCII", "mend it"
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if host is None or parts.scheme not in ("http", "https"):
        return "is not a URL", "write it whole, like `https://agent.example/answer`"
    if "@" in parts.netloc:
        return "has a user name or a password", "take it out; a header names the variable with it"
    if "#" in text:
        return "has a fragment", "take out what begins with `#`"
    if "?" in text and not may_have_query:
        return "has a query", "take out what begins with `?`"
    return None
