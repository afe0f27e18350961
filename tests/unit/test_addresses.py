import pytest

from proctor.config import ProviderConfig
from proctor.providers.addresses import address_of, is_local, is_official


def at(base_url):
    return ProviderConfig(kind="openai", base_url=base_url)


@pytest.mark.parametrize(
    "base_url",
    [
        "http://127.0.0.1:8080/v1",
        "http://127.0.0.1",
        "http://127.255.255.254/",
        "http://[::1]:8080",
        "http://[0:0:0:0:0:0:0:1]",
        "http://localhost:11434/v1",
        "HTTP://LOCALHOST",
        "https://localhost",
    ],
)
def test_a_provider_on_this_machine(base_url):
    assert is_local(at(base_url))


@pytest.mark.parametrize(
    "base_url",
    [
        None,
        "",
        "localhost",
        "//localhost",
        "ftp://localhost",
        "http://",
        "http://localhost.",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example",
        "http://127.0.0.1@evil.example",
        "http://user@127.0.0.1",
        "http://evil.example/127.0.0.1",
        "http://evil.example\\@127.0.0.1",
        "http://evil.example#@127.0.0.1",
        "http://evil.example?@127.0.0.1",
        "http://127.1",
        "http://127.0.0.01",
        "http://0177.0.0.1",
        "http://0x7f.0.0.1",
        "http://2130706433",
        "http://128.0.0.1",
        "http://0.0.0.0",
        "http://[::]",
        "http://[::ffff:127.0.0.1]",
        "http://[::1%25lo]",
        "http://127.0.0.1:port",
        "http://127.0.0.1:99999",
        "http://[::1",
        "http://127.0.0.1%2eevil.example",
        "http://12\t7.0.0.1",
        " http://127.0.0.1",
        "http://127\uff0e0.0.1",
        "http://\u0661\u0662\u0667.0.0.1",
        "https://api.openai.com",
    ],
)
def test_a_provider_that_is_not_on_this_machine(base_url):
    assert not is_local(at(base_url))


@pytest.mark.parametrize(
    ("base_url", "label"),
    [
        ("https://llm.acme.example/v1", "llm.acme.example"),
        ("https://llm.acme.example:443", "llm.acme.example"),
        ("https://llm.acme.example:8443", "llm.acme.example:8443"),
        ("http://127.0.0.1:8080/v1", "127.0.0.1:8080"),
        ("http://localhost", "localhost:80"),
        ("http://[::1]:8080", "[::1]:8080"),
    ],
)
def test_an_address_is_named_by_its_host_and_an_unusual_port(base_url, label):
    assert address_of(at(base_url)).label == label


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_a_provider_is_at_the_host_of_its_kind_unless_it_says_otherwise(kind):
    provider = ProviderConfig(kind=kind)
    assert is_official(provider)
    assert not is_local(provider)
    assert address_of(provider).label == f"api.{kind}.com"


@pytest.mark.parametrize(
    ("base_url", "official"),
    [
        ("https://api.openai.com", True),
        ("https://api.openai.com:443/v1/chat/completions", True),
        ("HTTPS://API.OPENAI.COM/v1", True),
        ("http://api.openai.com", False),
        ("https://api.openai.com:8443", False),
        ("https://api.openai.com.", False),
        ("https://api.openai.com@evil.example", False),
        ("https://evil.example\\@api.openai.com", False),
        ("https://api.openai.com%2eevil.example", False),
        ("https://api.anthropic.com", False),
        ("http://127.0.0.1", False),
    ],
)
def test_the_host_of_a_kind_is_known_by_its_name_and_port(base_url, official):
    assert is_official(at(base_url)) == official


@pytest.mark.parametrize("provider", [None, ProviderConfig(kind="scripted", answers="a.jsonl")])
def test_who_is_not_asked_over_a_network_is_nowhere(provider):
    assert address_of(provider) is None
    assert not is_local(provider)
    assert not is_official(provider)
