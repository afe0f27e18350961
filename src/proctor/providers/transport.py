"""The one way out: every request of every SDK passes here, and only what is meant to leave does.

An SDK reads variables, follows redirects and adds headers of its own. What is sent is therefore
decided below it: the address, the headers, the key, and how much of a reply is read.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Iterator

import httpx2

from proctor.errors import ProviderError
from proctor.providers.hosts import Endpoint
from proctor.safe_io import MEBIBYTE
from proctor.version import VERSION

MAX_REPLY = 16 * MEBIBYTE

Headers = Iterable[tuple[bytes, bytes]]
"""Names and values of headers, as they are sent."""

_SENT = frozenset(
    ["accept", "anthropic-version", "connection", "content-length", "content-type", "host"]
)
"""Headers of a request that may leave as the SDK made them."""

PLACEHOLDER_KEY = "added-by-the-transport"
"""What an SDK is given as its key. It never leaves: the key itself takes its place, or nothing."""
_KEY_HEADERS = frozenset([b"authorization", b"x-api-key"])


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends requests to one endpoint, and refuses every other address.

    Args:
        endpoint: Where requests may go.
        read_key: Reads the key, anew for each request; None when there is none to send.
        inner: What really sends; a network connection unless a test says otherwise.
        more: Reads headers that are sent beside the others, anew for each request.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        read_key: Callable[[], str | None],
        inner: httpx2.AsyncBaseTransport | None = None,
        *,
        more: Callable[[], Headers] = tuple,
    ) -> None:
        self._endpoint = endpoint
        self._read_key = read_key
        self._more = more
        self._inner = inner or httpx2.AsyncHTTPTransport(
            verify=_certificates(endpoint),
            trust_env=False,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request.

        Raises:
            ProviderError: P6307 for another address than the endpoint's, P6312 for a reply that
                is compressed or too long.
        """
        if not self._endpoint.admits(request.url):
            raise ProviderError(
                f"a request to another address than {self._endpoint.label} was stopped",
                code="P6307",
                free=True,
            )
        headers = [(name, value) for name, value in request.headers.raw if _may_leave(name)]
        headers += self._with_key(request.headers.raw)
        headers += self._more()
        headers += [
            (b"accept-encoding", b"identity"),
            (b"user-agent", f"proctor/{VERSION}".encode("ascii")),
        ]
        # The SDK keeps its own request, whose headers tell it how to read the reply.
        sent = httpx2.Request(
            request.method,
            request.url,
            headers=headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        response = await self._inner.handle_async_request(sent)
        coding = response.headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("", "identity"):
            await response.aclose()
            raise ProviderError(
                f"{self._endpoint.label} compressed its reply, which it was asked not to",
                code="P6312",
            )
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - an async transport
        response.stream = _Limited(response.stream, self._endpoint.label)
        return response

    def _with_key(self, raw: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        """The header in which the SDK sends its key, with the key."""
        key = self._read_key()
        if key is None:
            return
        placeholder = PLACEHOLDER_KEY.encode("ascii")
        for name, value in raw:
            if name.lower() in _KEY_HEADERS and placeholder in value:
                yield name, value.replace(placeholder, key.encode("ascii"))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


class _Limited(httpx2.AsyncByteStream):
    """A reply that ends in an error when it goes on for too long."""

    def __init__(self, stream: httpx2.AsyncByteStream, label: str) -> None:
        self._stream = stream
        self._label = label

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for chunk in self._stream:
            read += len(chunk)
            if read > MAX_REPLY:
                raise ProviderError(f"the reply of {self._label} is over 16 MiB", code="P6312")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def guarded_client(
    endpoint: Endpoint,
    read_key: Callable[[], str | None],
    *,
    more: Callable[[], Headers] = tuple,
) -> httpx2.AsyncClient:
    """The HTTP client that an SDK is given; how long a reply may take is the caller's business.

    Args:
        endpoint: Where requests may go.
        read_key: Reads the key of an SDK, None when there is none to send.
        more: Reads headers that are sent beside the others.
    """
    return httpx2.AsyncClient(
        transport=GuardedTransport(endpoint, read_key, more=more),
        follow_redirects=False,
        trust_env=False,
        timeout=None,
    )


def _certificates(endpoint: Endpoint) -> ssl.SSLContext | bool:
    """Whose certificates are trusted: nobody's where there are none, which spares loading them."""
    return endpoint.url.scheme == "https" or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _may_leave(name: bytes) -> bool:
    return name.lower().decode("latin-1") in _SENT
