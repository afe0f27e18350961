"""What the clients of the official SDKs share: how they are made, and how one call goes.

The SDK writes the request in its provider's format. The reply is read by us, as it came: what an
SDK makes of a reply that is not in the format is not what a recording may hold.
"""

from __future__ import annotations

import inspect
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, ClassVar, Literal

from msgspec import Struct

from proctor.clock import Clock
from proctor.errors import ProviderError
from proctor.providers.hosts import Endpoint
from proctor.providers.keys import read_key
from proctor.providers.wire import HttpReply, refusal, unreachable
from proctor.records import JsonObject

StructuredOutput = Literal["json_schema", "json_object", "tool", "none"]
"""How a provider is told the output contract; `none` leaves it to the prompt."""

ENVIRONMENT = ("ANTHROPIC_", "OPENAI_", "AZURE_OPENAI_", "LANGSMITH_", "LANGCHAIN_")
"""Beginnings of the names of variables that SDKs read."""

NO_TIMEOUT_S = 86_400.0
"""Longer than any call: how long a reply may take is decided by whoever asks."""


class Connection(Struct, frozen=True, kw_only=True):
    """How a provider is reached.

    Args:
        name: The provider's name in model references.
        endpoint: Where it is.
        key: The variable that holds its key, None when it gets none.
        structured_output: How it is told the output contract.
    """

    name: str
    endpoint: Endpoint
    key: str | None
    structured_output: StructuredOutput


def open_sdk(name: str, provider: str) -> ModuleType:
    """Import the SDK of a provider, which may not be installed.

    Raises:
        ProviderError: P6301 when it is not installed.
    """
    # Without genai_prices nothing would check a price that a project claims.
    return import_unseeing(name, ["genai_prices"], needed_by=f"the provider `{provider}`")


def import_unseeing(
    name: str, more: Sequence[str], *, needed_by: str, extra: str = "live"
) -> ModuleType:
    """Import an SDK that may not be installed, blind to what the environment tells it.

    Args:
        name: Its module.
        more: Modules that have to be there beside it, which are not imported.
        needed_by: Who needs it, for the message.
        extra: What installs it.

    Raises:
        ProviderError: P6301 when it is not installed.
    """
    try:
        with _unseen_environment():
            module = import_module(name)
            import_module("httpx2")
        for other in more:
            if find_spec(other) is None:
                raise ModuleNotFoundError(f"No module named {other!r}", name=other)
    except ImportError as error:
        raise ProviderError(
            f"{needed_by} needs `{error.name or name}`, which is not installed",
            code="P6301",
            hint=f"install it with `pip install 'proctor[{extra}]'`",
        ) from error
    for logger in (name, "httpx2", "httpcore2"):
        logging.getLogger(logger).propagate = False
        logging.getLogger(logger).addHandler(logging.NullHandler())
    return module


def make_client(
    sdk: ModuleType,
    class_name: str,
    connection: Connection,
    **arguments: object,
) -> Any:  # noqa: ANN401 - the class of the SDK, which may not be installed
    """The client of an SDK, with everything said that it would look for elsewhere.

    Args:
        sdk: The SDK.
        class_name: Its asynchronous client.
        connection: How the provider is reached.
        arguments: What only this SDK takes.
    """
    from proctor.providers.transport import PLACEHOLDER_KEY, guarded_client

    def key() -> str | None:
        return None if connection.key is None else read_key(connection.key, os.environ)

    with _unseen_environment():
        return getattr(sdk, class_name)(
            api_key=PLACEHOLDER_KEY,
            base_url=str(connection.endpoint.url),
            http_client=guarded_client(connection.endpoint, key),
            max_retries=0,
            timeout=NO_TIMEOUT_S,
            **arguments,
        )


@contextmanager
def _unseen_environment() -> Iterator[None]:
    """Take the SDKs' variables out of the environment for a moment."""
    hidden = {name: value for name, value in os.environ.items() if name.startswith(ENVIRONMENT)}
    for name in hidden:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(hidden)


class Caller:
    """Makes the calls of one method of an SDK.

    Args:
        sdk: The SDK, for its exceptions.
        create: The method, in its form that returns the raw response.
        typed: The same method as it is declared; what it does not know goes into `extra_body`.
        called: What is asked, for messages.
        clock: Where the time of day comes from.
    """

    def __init__(
        self,
        sdk: ModuleType,
        create: Callable[..., Awaitable[Any]],
        typed: Callable[..., object],
        *,
        called: str,
        clock: Clock,
    ) -> None:
        self._sdk = sdk
        self._create = create
        self._known = frozenset(inspect.signature(typed).parameters)
        self._called = called
        self._clock = clock

    async def __call__(self, body: JsonObject) -> HttpReply:
        """Send one request and return its reply, which has status 200.

        Raises:
            ProviderError: For every other status, and when there was no reply.
        """
        import httpx2

        known = {key: value for key, value in body.items() if key in self._known}
        other = {key: value for key, value in body.items() if key not in self._known}
        try:
            raw = await self._create(**known, extra_body=other or None, timeout=NO_TIMEOUT_S)
            response = raw.http_response
        except UnicodeEncodeError:
            raise ProviderError(
                "a message has half of a character in it (a lone surrogate), and cannot be sent",
                code="P6312",
                hint="mend the inputs of the case",
                free=True,
            ) from None
        except self._sdk.APIStatusError as error:
            response = error.response
        except self._sdk.APIConnectionError as error:
            cause = error.__cause__
            if isinstance(cause, ProviderError):
                raise cause from None
            free = isinstance(cause, httpx2.ConnectError)
            problem = cause if isinstance(cause, Exception) else error
            raise unreachable(self._called, problem, free=free) from None
        reply = HttpReply(
            self._called,
            response.status_code,
            {name.lower(): value for name, value in response.headers.items()},
            response.content,
        )
        if reply.status != 200:
            raise refusal(reply, now=self._clock.now())
        return reply


class SdkProvider(ABC):
    """A provider that is asked through one method of its official SDK.

    Args:
        sdk: The SDK.
        connection: How the provider is reached.
        clock: Where the time of day comes from.
    """

    kind: str
    CLIENT: ClassVar[str]
    """The SDK's asynchronous client."""
    ARGUMENTS: ClassVar[Mapping[str, object]] = {}
    """What only this client takes."""
    PATH: ClassVar[str]
    """What the SDK adds to the base URL."""

    def __init__(self, sdk: ModuleType, connection: Connection, *, clock: Clock) -> None:
        self.host: str | None = connection.endpoint.label
        self._connection = connection
        self._clock = clock
        self._client = make_client(sdk, self.CLIENT, connection, **self.ARGUMENTS)
        resource = self._resource()
        self._call = Caller(
            sdk,
            resource.with_raw_response.create,
            resource.create,
            called=_called(connection, self.PATH),
            clock=clock,
        )

    @abstractmethod
    def _resource(self) -> Any:  # noqa: ANN401 - a class of the SDK, which may not be installed
        """The part of the client whose `create` is called."""

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()


def _called(connection: Connection, path: str) -> str:
    """What is asked, in words: the method and the address, without anything secret in it."""
    url = connection.endpoint.url
    return f"POST {url.scheme}://{connection.endpoint.label}{url.path.rstrip('/')}{path}"
