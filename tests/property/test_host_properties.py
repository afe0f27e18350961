import string
from contextlib import suppress
from ipaddress import ip_address

import httpcore2
import httpx2
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from proctor.errors import ProviderError, UsageError
from proctor.providers.hosts import HostRules, is_loopback, open_endpoint, parse_address, parse_url

OPEN = {"api.openai.com:443", "gateway.example:443", "gateway.example:8443", "192.0.2.1:443"}
RULES = HostRules.of(
    ["gateway.example", "gateway.example:8443", "192.0.2.1"],
    allow_local=True,
)

hosts = st.sampled_from(
    [
        *("api.openai.com", "gateway.example", "192.0.2.1", "localhost", "127.0.0.1", "[::1]"),
        *("evil.example", "api.openai.com.", "127.1", "0x7f.1", "[::ffff:127.0.0.1]", "0.1.2.3"),
    ]
)
marks = st.sampled_from(
    [*"@:/\\?#.%[]-_ \t\n\x00\uff0e\u3002\uff20\u2100\u212a\u00df\u200d*", "%2e", "%40"]
)
pieces = st.one_of(
    hosts,
    marks,
    st.sampled_from(["http://", "https://", "//", ":443", ":8443", ":80", "xn--", "0x", "user"]),
    st.text(max_size=4),
)
schemes = st.sampled_from(["https://", "http://", "HTTPS://", ""])
tails = st.sampled_from(["", "/", ":8443/v1", "/v1/responses"])
urls = st.one_of(
    st.tuples(schemes, hosts, tails).map("".join),
    st.tuples(schemes, hosts, pieces, tails).map("".join),
    st.lists(pieces, max_size=7).map("".join),
)
names = st.text(string.ascii_letters + string.digits + "-._%*\uff0e", max_size=12)


class Recorder(httpcore2.NetworkBackend):
    """Instead of connecting, keeps what would be connected to."""

    def __init__(self):
        self.target = None

    def connect_tcp(self, host, port, **_):
        self.target = host, port
        raise httpcore2.ConnectError


def connected_to(url):
    """The host and port that the HTTP client opens a connection to."""
    recorder = Recorder()
    transport = httpx2.HTTPTransport(trust_env=False)
    transport._pool = httpcore2.ConnectionPool(network_backend=recorder)
    client = httpx2.Client(transport=transport, trust_env=False, follow_redirects=False)
    with suppress(httpx2.ConnectError):
        client.post(url)
    return recorder.target


@settings(max_examples=400)
@given(urls)
@example("https://api.openai.com@evil.example")
@example("https://evil.example\\@api.openai.com")
@example("https://gateway.example:8443/v1/chat/completions")
@example("https://[::1]8443")
@example("http://localhost:8_0")
@example("https://192.0.2.1:")
def test_what_is_read_is_connected_to_and_is_one_of_the_open_hosts(text):
    try:
        endpoint = open_endpoint("x", "openai", text, RULES)
    except ProviderError:
        return
    host, port = connected_to(endpoint.url)
    assert (host, port) == (endpoint.host, endpoint.port)
    assert endpoint.admits(endpoint.url)
    if f"{host}:{port}" not in OPEN:
        assert ip_address(host).is_loopback
        assert endpoint.is_loopback
    # The host that was written, not one that some reading made of the text.
    written = "localhost" if host == "127.0.0.1" and "localhost" in text.lower() else host
    assert text.lower().partition("://")[2].removeprefix("[").startswith(written)


@given(urls)
def test_a_url_that_was_read_is_read_again_as_itself(text):
    try:
        url = parse_url(text, where=None)
    except ProviderError:
        return
    assert parse_url(str(url), where=None) == url
    assert url.scheme == "https" or is_loopback(url.raw_host.decode())
    assert not url.userinfo
    assert not url.query


@given(names)
@example("127.1")
@example("0x7f.0.0.1")
@example("xn--bcher-kva.example")
@example("\uff11\uff12\uff17.0.0.1")
def test_flags_and_urls_agree_on_what_a_host_is(name):
    assume(name)
    try:
        url = parse_url(f"https://{name}", where=None)
    except ProviderError:
        with pytest.raises(UsageError):
            parse_address(name, flag="--allow-host")
        return
    assert parse_address(name, flag="--allow-host") == (url.raw_host.decode(), 443)


@given(st.ip_addresses())
def test_addresses_are_opened_in_every_spelling(address):
    written = f"[{address.exploded.upper()}]" if address.version == 6 else str(address)
    text = f"https://{written}:8443/v1"
    try:
        parse_url(text, where=None)
    except ProviderError:
        assert address.is_unspecified or str(address).startswith(("0.", "::ffff:"))
        return
    if not address.is_loopback:
        rules = HostRules.of(
            [f"[{address}]:8443" if address.version == 6 else f"{address}:8443"], allow_local=False
        )
        assert ip_address(open_endpoint("x", "openai", text, rules).host) == address
