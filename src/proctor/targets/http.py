"""Targets that are endpoints: one request per row, to no other host than the command line opens."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2
from msgspec import UNSET, Struct

from proctor.errors import ProctorError, ProviderError, TargetError, TargetStatus, raise_all
from proctor.pointers import MISSING, resolve_pointer
from proctor.providers.hosts import Endpoint, open_target
from proctor.providers.keys import read_key
from proctor.providers.transport import guarded_client
from proctor.records import Case, Json, JsonObject, Part, Reply, Scenario, encode_json
from proctor.records.targets import HeaderSpec, HttpCall, LoadedTarget
from proctor.strict_json import JsonProblem, decode_utf8, parse_json
from proctor.targets.plain import PlainTarget, asked, inputs_of
from proctor.targets.replies import reply_of, reply_of_text
from proctor.templates import parse_open_template, render

if TYPE_CHECKING:
    from proctor.providers.access import Access

_JSON = {"content-type": "application/json", "accept": "application/json, text/plain, */*"}


class _Backend(Struct, frozen=True):
    """Where requests go: the endpoint, what is shown of it, and the client that goes there."""

    endpoint: Endpoint
    called: str
    client: httpx2.AsyncClient


def open_http(
    target: LoadedTarget, how: HttpCall, *, access: Access, note: Callable[[str], None]
) -> HttpTarget:
    """Make sure that a target may be asked, at each of its lanes, with the keys it is sent.

    Args:
        target: The target.
        how: How it is asked.
        access: What the command line allows.
        note: Told which variable goes where.

    Raises:
        ProviderError: P6307 for each host or key that is not allowed, P6306 for a key that is not
            set; all of them together.
    """
    backends: dict[str | None, _Backend] = {}
    problems: list[ProctorError] = []
    for lane in target.lanes or (None,):
        try:
            url = _at(how.url, lane)
            endpoint = open_target(target.subject.name, url, access.hosts, where=target.where)
            for header in how.headers.values():
                _check_key(header.env, endpoint, access, target.where)
        except ProctorError as problem:
            problems.append(problem)
            continue
        backends[lane] = _backend(endpoint, how)
    unique = {(one.code, one.message): one for one in problems}
    raise_all(list(unique.values()))
    for label in dict.fromkeys(one.endpoint.label for one in backends.values()):
        for variable in dict.fromkeys(one.env for one in how.headers.values()):
            note(f"sending {variable} to {label}")
        if not how.headers:
            note(f"sending no key to {label}")
    return HttpTarget(how, backends)


def _at(url: str, lane: str | None) -> str:
    """The URL that is asked at a lane, whose path, if it has one, comes first."""
    if lane is None:
        return url
    parts = urlsplit(url)
    return lane.rstrip("/") + parts.path + (f"?{parts.query}" if parts.query else "")


def _check_key(variable: str, endpoint: Endpoint, access: Access, where: str) -> None:
    if not access.keys.allows(variable, endpoint):
        raise ProviderError(
            f"the key in `{variable}` is not meant for `{endpoint.label}`",
            code="P6307",
            hint="if it may be sent there, add "
            f"`--allow-key {variable}={endpoint.label}` to the command",
            where=where,
        )
    # It is read again for each request; here it is only made sure that there is one.
    read_key(variable, os.environ)


def _backend(endpoint: Endpoint, how: HttpCall) -> _Backend:
    url = endpoint.url
    shown = f"{url.scheme}://{endpoint.label}{url.path}"
    client = guarded_client(endpoint, lambda: None, more=lambda: _headers(how.headers))
    return _Backend(endpoint, f"{how.method} {shown}", client)


def _headers(specs: dict[str, HeaderSpec]) -> Sequence[tuple[bytes, bytes]]:
    return [
        (name.encode("ascii"), (spec.prefix + read_key(spec.env, os.environ)).encode("ascii"))
        for name, spec in specs.items()
    ]


class HttpTarget(PlainTarget):
    """A `LiveTarget` that is asked over HTTP. Failures of the network pass through as they are.

    Args:
        how: How it is asked.
        backends: Per lane, or for None, where.
    """

    def __init__(self, how: HttpCall, backends: dict[str | None, _Backend]) -> None:
        self._how = how
        self._backends = backends
        self._body = UNSET if how.body is UNSET else _template(how.body)

    async def health(self, lane: str | None) -> bool:
        """Whether somebody listens there."""
        endpoint = self._backends[lane].endpoint
        try:
            _, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
        except OSError:
            return False
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        return True

    async def answer(
        self,
        case: Case,
        scenario: Scenario | None,
        artifact: object,
        repeat: int,
        lane: str | None,
    ) -> Reply:
        """Ask once.

        Raises:
            TargetStatus: For a status that is no success.
            TargetError: For a reply without an answer in it.
        """
        backend = self._backends[lane]
        if self._body is UNSET:
            body: Json = asked(case, scenario, repeat)
        else:
            body = _filled(self._body, inputs_of(case, scenario))
        response = await backend.client.request(
            self._how.method, backend.endpoint.url, content=encode_json(body), headers=_JSON
        )
        if not response.is_success:
            raise _refused(backend.called, response.status_code)
        try:
            text = decode_utf8(response.content)
        except JsonProblem:
            raise TargetError(f"{backend.called} replied with no text in UTF-8") from None
        if self._how.answer is None:
            return reply_of_text(text)
        return self._pointed(text, self._how.answer, backend.called)

    def _pointed(self, text: str, pointer: str, called: str) -> Reply:
        try:
            document = parse_json(text)
        except JsonProblem:
            raise TargetError(
                f"{called} replied with a body that is no JSON",
                hint="leave `answer` of the target out where a reply is plain text",
            ) from None
        answer = resolve_pointer(document, pointer)
        if answer is MISSING or answer is None:
            raise TargetError(
                f"{called} replied with nothing at `{pointer}`",
                hint="check `answer` of the target",
            )
        return reply_of(answer)

    async def aclose(self) -> None:
        """Close the connections."""
        for backend in self._backends.values():
            await backend.client.aclose()


class _Text(Struct, frozen=True):
    """A string of a body, parsed."""

    parts: list[Part]


def _template(body: Json) -> Json:
    """A body whose strings are parsed."""
    if isinstance(body, str):
        return _Text(parse_open_template(body)[0])
    if isinstance(body, list):
        return [_template(member) for member in body]
    if isinstance(body, dict):
        return {key: _template(member) for key, member in body.items()}
    return body


def _filled(template: Json, inputs: JsonObject) -> Json:
    """A body for some inputs."""
    if isinstance(template, _Text):
        return render(template.parts, inputs)
    if isinstance(template, list):
        return [_filled(member, inputs) for member in template]
    if isinstance(template, dict):
        return {key: _filled(member, inputs) for key, member in template.items()}
    return template


def _refused(called: str, status: int) -> TargetStatus:
    hint = None
    if 300 <= status < 400:
        hint = "redirects are not followed; write the address it should be as `url`"
    elif status in (401, 403):
        hint = "check `headers` of the target, and the variables they name"
    elif status in (404, 405):
        hint = "check `url` and `method` of the target"
    return TargetStatus(f"{called} replied {status}", status=status, hint=hint)
