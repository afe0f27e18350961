"""Where a provider says it is, read without an HTTP client.

What is shown and priced has to work where no client is installed. What is asked is decided in
`hosts.py`, which refuses everything that is not beyond doubt; here such an address is none.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from proctor.config import ProviderConfig
from proctor.providers.hosts import OFFICIAL_HOSTS, is_loopback, label_of

_PORTS = {"http": 80, "https": 443}


class Address(NamedTuple):
    """Where requests go."""

    scheme: str
    host: str
    port: int

    @property
    def label(self) -> str:
        """The host, with the port unless it is that of https."""
        return label_of(self.host, self.port)


def address_of(provider: ProviderConfig | None) -> Address | None:
    """The address of a provider; None when it has none, or one that cannot be relied on."""
    if provider is None or provider.kind not in OFFICIAL_HOSTS:
        return None
    if provider.base_url is None:
        return _official(provider.kind)
    if not all(
        "!" <= character <= "~" and character not in "\\%@" for character in provider.base_url
    ):
        return None
    try:
        parts = urlsplit(provider.base_url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname:
        return None
    return Address(parts.scheme, parts.hostname, _PORTS[parts.scheme] if port is None else port)


def is_local(provider: ProviderConfig | None) -> bool:
    """Whether a provider is on this machine: 127.0.0.0/8, `[::1]` or the word `localhost`.

    Nothing is looked up, and no other spelling of such an address counts.
    """
    address = address_of(provider)
    return address is not None and is_loopback(address.host)


def is_official(provider: ProviderConfig | None) -> bool:
    """Whether a provider is asked at the host of its kind."""
    address = address_of(provider)
    return provider is not None and address is not None and address == _official(provider.kind)


def _official(kind: str) -> Address:
    return Address("https", OFFICIAL_HOSTS[kind], _PORTS["https"])
