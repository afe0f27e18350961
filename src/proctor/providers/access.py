"""From the name of a provider to somebody who can be asked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from proctor.clock import Clock
from proctor.config import ProviderConfig, provider_config
from proctor.errors import ProctorError, ProviderError, raise_all
from proctor.protocols import Provider
from proctor.providers.hosts import HostRules, open_endpoint
from proctor.providers.keys import KeyRules, key_variable, read_key
from proctor.providers.scripted import ScriptedProvider, load_script


class Access(Struct, frozen=True):
    """What the command line allows: to whom requests may go, and which keys with them."""

    hosts: HostRules
    keys: KeyRules


class OpenProvider(Struct, frozen=True):
    """A provider that can be asked, and the variable whose key it is given, None without one."""

    provider: Provider
    key: str | None


def open_providers(
    names: Iterable[str],
    configured: Mapping[str, ProviderConfig],
    *,
    root: Path,
    clock: Clock,
    access: Access,
) -> dict[str, OpenProvider]:
    """The providers that a run asks, by name.

    Args:
        names: The first parts of the model references.
        configured: The project's `providers`.
        root: The project's folder.
        clock: Where waiting comes from.
        access: What the command line allows.

    Raises:
        ProctorError: P6301 for each provider that cannot be asked, P6307 for one at an address or
            with a key that is not allowed, or what is wrong with a script.
    """
    providers: dict[str, OpenProvider] = {}
    problems: list[ProctorError] = []
    for name in sorted(set(names)):
        try:
            config = provider_config(name, configured)
            if config is None:
                raise ProviderError(
                    f"there is no provider `{name}` in the project's configuration",
                    code="P6301",
                    hint=f"declare it under `providers.{name}`, or replay what is recorded",
                )
            if config.kind == "scripted":
                providers[name] = OpenProvider(_scripted(name, config, root, clock), None)
            else:
                providers[name] = _over_http(name, config, clock, access)
        except ProctorError as problem:
            problems.append(problem)
    raise_all(problems)
    return providers


def _scripted(name: str, config: ProviderConfig, root: Path, clock: Clock) -> Provider:
    if config.answers is None:
        raise ProviderError(
            f"the scripted provider `{name}` has no script",
            code="P6301",
            hint=f"name a JSONL file with `providers.{name}.answers`",
        )
    script = load_script(root, config.answers, where=f"providers.{name}.answers")
    return ScriptedProvider(script, clock=clock)


def _over_http(name: str, config: ProviderConfig, clock: Clock, access: Access) -> OpenProvider:
    from proctor.providers.sdk import Connection, open_sdk

    sdk = open_sdk(config.kind, name)
    endpoint = open_endpoint(name, config.kind, config.base_url, access.hosts)
    key = key_variable(config.kind, config.key_env, endpoint, access.keys)
    if key is not None:
        # It is read again for each request; here it is only made sure that there is one.
        read_key(key, os.environ)
    connection = Connection(
        name=name,
        endpoint=endpoint,
        key=key,
        structured_output=config.structured_output or "json_schema",
    )
    provider: Provider
    if config.kind == "anthropic":
        from proctor.providers.anthropic import Anthropic

        provider = Anthropic(sdk, connection, clock=clock)
    elif config.api == "responses":
        from proctor.providers.openai_responses import OpenAIResponses

        provider = OpenAIResponses(sdk, connection, clock=clock)
    else:
        from proctor.providers.openai_chat import OpenAIChat

        provider = OpenAIChat(sdk, connection, clock=clock)
    return OpenProvider(provider, key)
