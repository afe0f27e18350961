"""Where requests may go.

A URL is read once, by the class of the HTTP client, and what that class holds is what is judged and
what is connected to: there is no second reading that could come to another host. Names are not
looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING

from msgspec import Struct

from proctor.errors import ProctorError, ProviderError, UsageError, raise_all

if TYPE_CHECKING:
    import httpx2  # noqa: TC004 - an endpoint is never read from a file

ANTHROPIC_HOST = "api.anthropic.com"
OPENAI_HOST = "api.openai.com"
LANGSMITH_HOST = "api.smith.langchain.com"
OFFICIAL_HOSTS = {"anthropic": ANTHROPIC_HOST, "openai": OPENAI_HOST}
"""What is open for providers of a kind without a flag."""

_BASE_URLS = {"anthropic": f"https://{ANTHROPIC_HOST}", "openai": f"https://{OPENAI_HOST}/v1"}
_ADDED_BY_THE_SDK = {
    "anthropic": ("/v1/messages", "/v1"),
    "openai": ("/chat/completions", "/responses"),
}
_PORTS = {"http": 80, "https": 443}
_HTTPS = 443
_LONGEST_NAME = 253

_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
"""A name that some resolver would take for a number: its last part is one."""
_FLAG = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{1,5}))?")

Refusal = tuple[str, str]
"""Why something is refused, as the rest of a sentence, and what to do."""

_NOBODY: Refusal = ("stands for no machine", "write 127.0.0.1 or [::1] for this one")
_PORT_HINT = "write a number from 1 to 65535"


class Endpoint(Struct, frozen=True, kw_only=True):
    """An address that requests of a provider may go to.

    Args:
        provider: The provider's name in model references.
        url: The base URL, to which an SDK adds its paths.
        host: The host as it is connected to.
        port: Its port.
        is_loopback: Whether it is on this machine.
    """

    provider: str
    url: httpx2.URL
    host: str
    port: int
    is_loopback: bool

    @property
    def label(self) -> str:
        """The host, with the port unless it is that of https."""
        return label_of(self.host, self.port)

    def admits(self, url: httpx2.URL) -> bool:
        """Whether a request to this URL goes here: the same scheme, host and port, and no user."""
        return (
            url.scheme == self.url.scheme
            and _host_and_port(url) == (self.host, self.port)
            and not url.userinfo
        )


class HostRules(Struct, frozen=True):
    """Which hosts the command line opens, besides those of the providers themselves.

    Args:
        opened: Hosts, with the port unless it is 443.
        local: Whether providers on this machine are open too, each at the port it declares.
        ports: Ports of this machine that are open, also to targets.
    """

    opened: frozenset[str] = frozenset()
    local: bool = False
    ports: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls, allow_host: Sequence[str], *, allow_local: bool, ports: Iterable[int] = ()
    ) -> HostRules:
        """The rules that `--allow-host` and `--allow-local` stand for.

        Raises:
            UsageError: P6002 for each value that is no `HOST` or `HOST:PORT`.
        """
        opened: set[str] = set()
        problems: list[ProctorError] = []
        for text in allow_host:
            try:
                host, port = parse_address(text, flag="--allow-host")
            except UsageError as problem:
                problems.append(problem)
                continue
            if is_loopback(host):
                problems.append(
                    UsageError(
                        f"`--allow-host` does not open this machine (`{label_of(host, port)}`)",
                        code="P6002",
                        hint="give `--allow-local` instead",
                    )
                )
            opened.add(label_of(host, port))
        raise_all(problems)
        return cls(frozenset(opened), allow_local, frozenset(ports))

    def check(
        self, url: httpx2.URL, kind: str, *, where: str | None = None, sent: str = "prompts"
    ) -> None:
        """Make sure that requests of a provider of this kind may go to a URL.

        Args:
            url: The URL.
            kind: The kind. What is none of a provider has no host of its own.
            where: What names the URL.
            sent: What would be sent there, for the message.

        Raises:
            ProviderError: P6307 naming the flag that would open it.
        """
        host, port = _host_and_port(url)
        label = label_of(host, port)
        if is_loopback(host):
            if self.local or port in self.ports:
                return
            what, flag = f"`{label}` is on this machine, which is not open", "--allow-local"
        else:
            if label == OFFICIAL_HOSTS.get(kind) or label in self.opened:
                return
            what, flag = f"`{label}` is not open", f"--allow-host {label}"
        raise _not_open(what, flag, sent, where)

    def check_target(self, url: httpx2.URL, *, where: str) -> None:
        """Make sure that what a suite asks of a target may go to a URL.

        No host is a target's own, and of this machine every port is opened by its number: which
        ones that are is for no suite to say.

        Raises:
            ProviderError: P6307 naming the flag that would open it.
        """
        host, port = _host_and_port(url)
        label = label_of(host, port)
        if is_loopback(host):
            if port in self.ports:
                return
            what = f"port {port} of this machine is not open"
            flag = f"--allow-local {port}"
        else:
            if label in self.opened:
                return
            what, flag = f"`{label}` is not open", f"--allow-host {label}"
        raise _not_open(what, flag, "cases", where)


def open_endpoint(name: str, kind: str, base_url: str | None, rules: HostRules) -> Endpoint:
    """The endpoint of a provider, when the rules open it.

    Args:
        name: The provider's name.
        kind: `anthropic` or `openai`.
        base_url: What the project says, None for the provider's own address. With or without
            `/v1`, a slash at the end or the path of the call, it means the same.
        rules: What the command line opens.

    Raises:
        ProviderError: P6307 for a URL that is refused or not open.
    """
    where = f"providers.{name}.base_url"
    url = parse_url(_BASE_URLS[kind] if base_url is None else base_url, where=where)
    rules.check(url, kind, where=where)
    url = url.copy_with(raw_path=_base_path(kind, url.raw_path))
    host, port = _host_and_port(url)
    return Endpoint(provider=name, url=url, host=host, port=port, is_loopback=is_loopback(host))


def open_target(name: str, text: str, rules: HostRules, *, where: str) -> Endpoint:
    """The endpoint of a target, or of one of its lanes, when the rules open it.

    Args:
        name: The name of the target.
        text: The URL; it may have a query.
        rules: What the command line opens.
        where: What names it.

    Raises:
        ProviderError: P6307 for a URL that is refused or not open.
    """
    url = parse_url(text, where=where, may_have_query=True)
    rules.check_target(url, where=where)
    host, port = _host_and_port(url)
    return Endpoint(provider=name, url=url, host=host, port=port, is_loopback=is_loopback(host))


def open_tracker(text: str, rules: HostRules, *, where: str) -> Endpoint:
    """The endpoint of a tracker, when the rules open it; no host is open to one by itself.

    Args:
        text: Its URL.
        rules: What the command line opens.
        where: What names it.

    Raises:
        ProviderError: P6307 for a URL that is refused or not open.
    """
    url = parse_url(text, where=where)
    rules.check(url, "tracker", where=where, sent="results")
    host, port = _host_and_port(url)
    return Endpoint(provider=where, url=url, host=host, port=port, is_loopback=is_loopback(host))


def _not_open(what: str, flag: str, sent: str, where: str | None) -> ProviderError:
    hint = f"if {sent} may be sent there, add `{flag}` to the command"
    return ProviderError(what, code="P6307", hint=hint, where=where)


def _base_path(kind: str, raw_path: bytes) -> bytes:
    path = raw_path.decode("ascii").rstrip("/")
    if not path and kind == "openai":
        return b"/v1"
    for tail in _ADDED_BY_THE_SDK[kind]:
        if path.endswith(tail):
            path = path.removesuffix(tail).rstrip("/")
            break
    return path.encode("ascii")


def parse_url(text: str, *, where: str | None, may_have_query: bool = False) -> httpx2.URL:
    """A base URL whose host is beyond doubt; `localhost` becomes 127.0.0.1.

    Nothing of the text is in a message: it may hold a key.

    Args:
        text: The URL.
        where: What names it.
        may_have_query: Whether it may go on behind its path.

    Raises:
        ProviderError: P6307 saying what is wrong with it.
    """
    import httpx2

    refusal = _why_not_read(text)
    if refusal is None:
        try:
            url = httpx2.URL(text)
        except httpx2.InvalidURL:
            refusal = "cannot be read", "write it like `https://host.example:8443/v1`"
        else:
            refusal = _why_not(url, may_have_query=may_have_query)
    if refusal is not None:
        raise ProviderError(f"the URL {refusal[0]}", code="P6307", hint=refusal[1], where=where)
    return url.copy_with(host=_canonical(url.raw_host.decode("ascii")))


def _why_not_read(text: str) -> Refusal | None:
    """What would be read in different ways by different programs."""
    if not text.isascii():
        return "has characters that are not ASCII", "write the host in punycode (`xn--...`)"
    if not text.isprintable() or " " in text:
        return "has a space or a control character", "take it out"
    if "\\" in text:
        return "has a backslash", "write `/`"
    if "@" in text:
        return (
            "has an `@`, which ends a user name or a password",
            "take it out; the variable with the key is named by `key_env`",
        )
    return None


def _why_not(url: httpx2.URL, *, may_have_query: bool) -> Refusal | None:
    if url.scheme not in _PORTS:
        return "does not begin with `https://`", "write the whole URL, with `https://` before it"
    host, port = _host_and_port(url)
    refusal = _why_not_host(host)
    if refusal is not None:
        return f"has a host that {refusal[0]}", refusal[1]
    if url.scheme == "http" and not is_loopback(host):
        return (
            "begins with `http://`, so that everybody on the way could read it",
            "write `https://`; `http://` is for 127.0.0.1, [::1] and localhost",
        )
    if not _is_port(port):
        return "has a port that does not exist", _PORT_HINT
    if b"?" in url.raw_path and not may_have_query:
        return "has a query", "take out what begins with `?`"
    if "#" in str(url):
        return "has a fragment", "take out what begins with `#`"
    return None


def parse_address(text: str, *, flag: str) -> tuple[str, int]:
    """The host and the port in the value of a flag, 443 without one.

    Args:
        text: `HOST` or `HOST:PORT`.
        flag: The flag, for messages.

    Raises:
        UsageError: P6002 saying what is wrong with it.
    """
    match = _FLAG.fullmatch(text)
    if match is None:
        raise UsageError(
            f"`{flag}` takes HOST or HOST:PORT, without a scheme, a user or a path",
            code="P6002",
            hint="write it like `host.example` or `[::1]:8443`",
        )
    # A lower-case letter may be ASCII where the letter itself is not.
    host = match["host"].lower() if text.isascii() else match["host"]
    bare = host.removeprefix("[").removesuffix("]")
    port = int(match["port"] or _HTTPS)
    refusal = _why_not_host(bare)
    if refusal is None and bare != host and ":" not in bare:
        refusal = "is no IPv6 address", "write it without brackets"
    if refusal is None and not _is_port(port):
        refusal = "has a port that does not exist", _PORT_HINT
    if refusal is not None:
        raise UsageError(f"the host of `{flag}` {refusal[0]}", code="P6002", hint=refusal[1])
    return _canonical(bare), port


def _why_not_host(host: str) -> Refusal | None:
    """Why a host, in lower case and without brackets, is refused."""
    if not host:
        return "is empty", "write one"
    if "%" in host:
        return "has a `%`", "write it without escapes and without a zone"
    if ":" in host:
        return _why_not_ipv6(host)
    if host.endswith("."):
        return "ends in a dot", "take the dot away"
    if not _NAME.fullmatch(host) or len(host) > _LONGEST_NAME:
        return (
            "is not made of ASCII letters, digits, hyphens and dots",
            "write it out, other letters in punycode (`xn--...`); there are no wildcards",
        )
    if _NUMERIC.fullmatch(host):
        try:
            IPv4Address(host)
        except ValueError:
            return "is a number in another spelling than 192.0.2.1", "write four decimal numbers"
        if host.startswith("0."):
            return _NOBODY
    return None


def _why_not_ipv6(host: str) -> Refusal | None:
    try:
        address = IPv6Address(host)
    except ValueError:
        return "is no IPv6 address", "mend what is between the brackets"
    if address.ipv4_mapped is not None:
        return "is an IPv4 address spelled as IPv6", f"write `{address.ipv4_mapped}`"
    return _NOBODY if address.is_unspecified else None


def _canonical(host: str) -> str:
    """The one spelling of a host. The word `localhost` is not looked up."""
    if host == "localhost":
        return "127.0.0.1"
    return IPv6Address(host).compressed if ":" in host else host


def is_loopback(host: str) -> bool:
    """Whether a host is this machine: 127.0.0.0/8 or ::1, or the word `localhost`."""
    try:
        address = ip_address(_canonical(host))
    except ValueError:
        return False
    # Newer Pythons look through an IPv4 address that is spelled as IPv6.
    return address.is_loopback and getattr(address, "ipv4_mapped", None) is None


def label_of(host: str, port: int) -> str:
    """A host, with the port unless it is that of https."""
    shown = f"[{host}]" if ":" in host else host
    return shown if port == _HTTPS else f"{shown}:{port}"


def _is_port(port: int) -> bool:
    return 0 < port < 65_536


def _host_and_port(url: httpx2.URL) -> tuple[str, int]:
    """What is connected to."""
    return url.raw_host.decode("ascii"), _PORTS[url.scheme] if url.port is None else url.port
