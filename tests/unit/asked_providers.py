"""The clients of the real SDKs, opened as a run opens them and pointed at a fake provider."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fake_provider import FakeProvider
from proctor.clock import Clock
from proctor.config import ProviderConfig
from proctor.errors import ProviderError, TryAgain
from proctor.protocols import Provider
from proctor.providers.access import Access, open_providers
from proctor.providers.hosts import HostRules
from proctor.providers.keys import KeyRules
from proctor.records import Call, JsonObject, Message, ModelChoice, Reply, Request, ToolSpec

STYLES = ("chat", "responses", "messages")
"""The wire formats; the first two are those of OpenAI."""

PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
}

KEY = "sk_dummy_000111222333444"
"""Spelled so that it could be the name of a field as well."""

KEY_VARIABLE = "FAKE_PROVIDER_KEY"
CALL = Call("late-return", "0" * 64, 1)


class NoonClock(Clock):
    """A clock whose time of day does not change."""

    def now(self) -> datetime:
        return datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def config(style: str, base_url: str | None, **more: str) -> ProviderConfig:
    """What a project says of a provider that speaks this format."""
    if style == "messages":
        return ProviderConfig(kind="anthropic", base_url=base_url, **more)
    return ProviderConfig(kind="openai", base_url=base_url, api=style, **more)


def open_provider(configured: ProviderConfig, *allowed_keys: str) -> Provider:
    """The client, allowed to talk to this machine.

    Args:
        configured: What the project says of it.
        allowed_keys: Values of `--allow-key`.
    """
    access = Access(HostRules(local=True), KeyRules.of(allowed_keys))
    opened = open_providers(
        ["local"], {"local": configured}, root=Path(), clock=NoonClock(), access=access
    )
    return opened["local"].provider


def with_key(style: str, fake: FakeProvider) -> Provider:
    """A client that sends the key in `KEY_VARIABLE`."""
    configured = config(style, fake.url, key_env=KEY_VARIABLE)
    return open_provider(configured, f"{KEY_VARIABLE}={fake.address}")


def request(
    *texts: str,
    system: str | None = None,
    schema: JsonObject | None = None,
    tools: tuple[ToolSpec, ...] = (),
    **params: object,
) -> Request:
    """A request with messages of a user, after that of the system where there is one."""
    messages = [Message(role="user", content=text) for text in texts or ("Where is it?",)]
    if system is not None:
        messages.insert(0, Message(role="system", content=system))
    return Request(
        model=ModelChoice(ref="local/tiny", params={"maxTokens": 16} | params),
        messages=tuple(messages),
        output_schema=schema,
        tools=tools,
    )


def complete(provider: Provider, asked: Request | None = None) -> Reply:
    """Ask once, and close the client."""

    async def once() -> Reply:
        try:
            return await provider.complete(asked or request(), CALL)
        finally:
            await provider.aclose()

    return asyncio.run(once())


def ask(style: str, fake: FakeProvider, asked: Request | None = None, **more: str) -> Reply:
    """Ask a fake provider once, without a key."""
    return complete(open_provider(config(style, fake.url, **more)), asked)


def refused(style: str, fake: FakeProvider, asked: Request | None = None) -> ProviderError:
    """The error that asking a fake provider once ends in."""
    with pytest.raises(ProviderError) as caught:
        ask(style, fake, asked)
    return caught.value


def kind(error: ProviderError) -> str:
    """Whether it makes sense to ask again, and if so whether less should be asked at once."""
    if isinstance(error, TryAgain):
        return "slower" if error.slow_down else "again"
    return "never"
