"""Which key goes where, and reading it.

A key belongs to a host. A project file may name a host and a variable, and a project file may be
somebody else's: so a key goes to another host than its own only when the command line says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from proctor.config import ProviderConfig, is_key_variable
from proctor.errors import ProctorError, ProviderError, UsageError, raise_all
from proctor.providers.hosts import (
    LANGSMITH_HOST,
    OFFICIAL_HOSTS,
    Endpoint,
    label_of,
    parse_address,
)
from proctor.scrubbing import SECRETS, SHORTEST

KEY_VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
"""The variable that a kind of provider has its key in."""

LANGSMITH_KEY = "LANGSMITH_API_KEY"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OWN_HOSTS = {
    **{KEY_VARIABLES[kind]: host for kind, host in OFFICIAL_HOSTS.items()},
    LANGSMITH_KEY: LANGSMITH_HOST,
}


class KeyRules(Struct, frozen=True):
    """Which keys the command line lets go to which hosts, besides each to its own.

    Args:
        allowed: The variable's name and the host, with the port unless it is 443.
    """

    allowed: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, allow_key: Sequence[str]) -> KeyRules:
        """The rules that `--allow-key` stands for.

        Raises:
            UsageError: P6002 for each value that is no `NAME=HOST` or `NAME=HOST:PORT`.
        """
        allowed: set[tuple[str, str]] = set()
        problems: list[ProctorError] = []
        for text in allow_key:
            name, equals, address = text.partition("=")
            try:
                if not (equals and _NAME.fullmatch(name)):
                    raise UsageError(
                        "`--allow-key` takes NAME=HOST or NAME=HOST:PORT",
                        code="P6002",
                        hint="write the name of a variable, never the key itself, like "
                        "`GATEWAY_KEY=gateway.example`",
                    )
                allowed.add((name, label_of(*parse_address(address, flag="--allow-key"))))
            except UsageError as problem:
                problems.append(problem)
        raise_all(problems)
        return cls(frozenset(allowed))

    def allows(self, variable: str, endpoint: Endpoint) -> bool:
        """Whether the key in a variable may go to an endpoint."""
        return (
            _OWN_HOSTS.get(variable) == endpoint.label or (variable, endpoint.label) in self.allowed
        )


def key_variable(kind: str, key_env: str | None, endpoint: Endpoint, rules: KeyRules) -> str | None:
    """The variable whose key goes with requests to an endpoint, None when none does.

    That is the one the project names with `key_env`, or else the usual one of the provider's kind
    where it may go. A provider on this machine gets none unless the command line says so.

    Raises:
        ProviderError: P6307 when the project names one that may not go there.
    """
    where = f"providers.{endpoint.provider}.key_env"
    if key_env is None:
        usual = KEY_VARIABLES[kind]
        return usual if rules.allows(usual, endpoint) else None
    if not is_key_variable(key_env):
        raise ProviderError(
            "`key_env` is not the name of a variable: capitals, digits and at least one `_`",
            code="P6307",
            hint="write the name, like `GATEWAY_KEY`, never the key itself",
            where=where,
        )
    if rules.allows(key_env, endpoint):
        return key_env
    if endpoint.is_loopback:
        return None
    raise _not_meant(key_env, endpoint, where)


def tracker_key(endpoint: Endpoint, rules: KeyRules) -> str | None:
    """The variable whose key goes with requests to a tracker, None for one on this machine.

    Raises:
        ProviderError: P6307 when it is not meant for this host.
    """
    if rules.allows(LANGSMITH_KEY, endpoint):
        return LANGSMITH_KEY
    if endpoint.is_loopback:
        return None
    raise _not_meant(LANGSMITH_KEY, endpoint, endpoint.provider)


def _not_meant(name: str, endpoint: Endpoint, where: str) -> ProviderError:
    return ProviderError(
        f"the key in `{name}` is not meant for `{endpoint.label}`",
        code="P6307",
        hint=f"if it may be sent there, add `--allow-key {name}={endpoint.label}` to the command",
        where=where,
    )


def hide_keys(providers: Iterable[ProviderConfig], environ: Mapping[str, str]) -> None:
    """Take the keys of providers out of everything that is shown, though nobody reads them.

    Code of the project has the whole environment, and may say what it finds there.
    """
    named = [one.key_env for one in providers if one.key_env is not None]
    for name in (*KEY_VARIABLES.values(), *named):
        SECRETS.add(environ.get(name, ""))


def read_key(name: str, environ: Mapping[str, str]) -> str:
    """The key in a variable, which from now on is taken out of everything that is shown.

    Raises:
        ProviderError: P6306 when it is not set, or cannot be a key.
    """
    key = environ.get(name, "")
    SECRETS.add(key)
    if not key:
        raise _no_key(f"the variable `{name}` is not set")
    if key != key.strip():
        raise _no_key(f"the value of `{name}` begins or ends with white space")
    if not (key.isascii() and key.isprintable()):
        raise _no_key(f"the value of `{name}` has characters that no key has")
    if len(key) < SHORTEST:
        raise _no_key(f"the value of `{name}` is shorter than {SHORTEST} characters")
    return key


def _no_key(message: str) -> ProviderError:
    return ProviderError(
        message,
        code="P6306",
        hint="export the key in your shell; put it into no file of the project",
    )
