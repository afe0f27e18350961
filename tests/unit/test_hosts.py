import httpx2
import pytest

from proctor.errors import ProctorError, ProviderError, UsageError
from proctor.providers.hosts import (
    Endpoint,
    HostRules,
    is_loopback,
    open_endpoint,
    parse_address,
    parse_url,
)

NOTHING = HostRules()
LOCAL = HostRules(local=True)


def opens(*hosts, local=False):
    return HostRules.of(hosts, allow_local=local)


def refused(text, *, where="providers.x.base_url"):
    with pytest.raises(ProviderError) as caught:
        parse_url(text, where=where)
    problem = caught.value
    assert (problem.code, problem.where) == ("P6307", where)
    assert problem.hint
    return problem


def connected_to(url):
    """The scheme, host and port that the HTTP client uses for a request."""
    request = httpx2.Request("POST", url)
    port = request.url.port or {"http": 80, "https": 443}[request.url.scheme]
    return request.url.scheme, request.url.raw_host.decode(), port


class TestRefusedUrls:
    @pytest.mark.parametrize(
        "text",
        [
            "https://api.openai.com@evil.example",
            "https://evil.example\\@api.openai.com",
            "https://api.openai.com.",
            "https://api.openai.com:8443",
            "https://api\uff0eopenai.com",
            "https://api.openai.com%2eevil.example",
            "http://localhost.evil.example",
            "http://127.1",
            "http://2130706433",
            "http://[::ffff:127.0.0.1]",
        ],
    )
    def test_what_looks_like_an_open_host_and_is_not_is_refused(self, text):
        with pytest.raises(ProviderError) as caught:
            open_endpoint("x", "openai", text, LOCAL)
        assert caught.value.code == "P6307"

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("https://user@h.example", "an `@`"),
            ("https://user:word@h.example", "an `@`"),
            ("https://:@h.example", "an `@`"),
            ("https://@h.example", "an `@`"),
            ("https://h.example/a@b", "an `@`"),
            ("https://h.example\\v1", "a backslash"),
            ("https:\\\\h.example", "a backslash"),
            ("https://h.example/a b", "a space or a control character"),
            (" https://h.example", "a space or a control character"),
            ("https://h.example\n", "a space or a control character"),
            ("https://h.exa\tmple", "a space or a control character"),
            ("https://h.example\x00", "a space or a control character"),
            ("https://h.example\x7f", "a space or a control character"),
            ("https://h\u00e9.example", "characters that are not ASCII"),
            ("https://h.example\u3002com", "characters that are not ASCII"),
            ("https://h.example\u200b", "characters that are not ASCII"),
            ("https://h.example\x85", "characters that are not ASCII"),
            ("\u212attps://h.example", "characters that are not ASCII"),
        ],
    )
    def test_what_programs_read_in_different_ways_is_refused(self, text, message):
        assert message in refused(text).message

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("https://h.example%2e", "a host that has a `%`"),
            ("https://%68.example", "a host that has a `%`"),
            ("https://h<.example", "a host that has a `%`"),
            ("https://[fe80::1%eth0]", "a host that has a `%`"),
            ("https://[fe80::1%25eth0]/v1", "a host that has a `%`"),
            ("https://h.example.", "a host that ends in a dot"),
            ("http://127.0.0.1.", "a host that ends in a dot"),
            ("http://localhost.", "a host that ends in a dot"),
            ("https://h..example", "not made of ASCII letters"),
            ("https://.example", "not made of ASCII letters"),
            ("https://h_h.example", "not made of ASCII letters"),
            ("https://*.example", "not made of ASCII letters"),
            ("https://-h.example", "not made of ASCII letters"),
            ("https://h-.example", "not made of ASCII letters"),
            ("https://h!.example", "not made of ASCII letters"),
            ("https://h,i.example", "not made of ASCII letters"),
            ("https://" + "h" * 64 + ".example", "not made of ASCII letters"),
            ("https://" + "h." * 127 + "example", "not made of ASCII letters"),
            ("https://", "a host that is empty"),
            ("https:///v1", "a host that is empty"),
            ("https:h.example", "a host that is empty"),
            ("https://:443", "a host that is empty"),
        ],
    )
    def test_a_host_is_letters_digits_hyphens_and_dots(self, text, message):
        assert message in refused(text).message

    @pytest.mark.parametrize(
        "host",
        [
            "127.1",
            "127.0.1",
            "127.0.0.0.1",
            "2130706433",
            "0x7f.1",
            "0x7f.0.0.1",
            "0x7f000001",
            "127.0.0.0x1",
            "0X7F.1",
            "017700000001",
            "h.example.1",
            "h.0x",
            "999.0.0.1.1",
            "1",
        ],
    )
    def test_a_number_is_four_decimal_numbers(self, host):
        for scheme in ("http", "https"):
            assert "a number in another spelling" in refused(f"{scheme}://{host}/v1").message

    @pytest.mark.parametrize(
        "host", ["0177.0.0.1", "127.0.0.01", "256.0.0.1", "[127.0.0.1]", "[::1", "[]", "::1", "[g]"]
    )
    def test_what_the_client_cannot_read_is_refused(self, host):
        assert refused(f"http://{host}/v1").message == "the URL cannot be read"

    @pytest.mark.parametrize(
        ("host", "message"),
        [
            ("[::ffff:127.0.0.1]", "an IPv4 address spelled as IPv6"),
            ("[::ffff:7f00:1]", "an IPv4 address spelled as IPv6"),
            ("[0:0:0:0:0:ffff:8.8.8.8]", "an IPv4 address spelled as IPv6"),
            ("0.0.0.0", "stands for no machine"),  # noqa: S104 - it is refused
            ("0.1.2.3", "stands for no machine"),
            ("[::]", "stands for no machine"),
            ("[0:0::0]", "stands for no machine"),
        ],
    )
    def test_an_address_that_means_another_one_is_refused(self, host, message):
        assert message in refused(f"http://{host}:8080/v1").message

    def test_the_address_to_write_instead_is_named(self):
        assert "`127.0.0.1`" in refused("http://[::ffff:127.0.0.1]").hint

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("http://h.example/v1", "begins with `http://`"),
            ("http://8.8.8.8", "begins with `http://`"),
            ("http://128.0.0.1", "begins with `http://`"),
            ("http://[::2]", "begins with `http://`"),
            ("http://127.example", "begins with `http://`"),
            ("http://localhost.evil.example", "begins with `http://`"),
            ("http://evil-localhost", "begins with `http://`"),
            ("ftp://h.example", "does not begin with `https://`"),
            ("ws://127.0.0.1", "does not begin with `https://`"),
            ("file:///etc/passwd", "does not begin with `https://`"),
            ("h.example/v1", "does not begin with `https://`"),
            ("//h.example/v1", "does not begin with `https://`"),
            ("localhost:8080", "does not begin with `https://`"),
            ("", "does not begin with `https://`"),
        ],
    )
    def test_requests_leave_this_machine_encrypted_only(self, text, message):
        assert message in refused(text).message

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("https://h.example?a=b", "a query"),
            ("https://h.example/v1?", "a query"),
            ("https://h.example/v1#a", "a fragment"),
            ("https://h.example/v1#", "a fragment"),
            ("https://h.example:0", "a port that does not exist"),
            ("https://h.example:65536", "a port that does not exist"),
            ("https://h.example:-1", "a port that does not exist"),
            ("https://h.example:port", "cannot be read"),
            ("https://h.example:0x50", "cannot be read"),
            ("https://h.example:" + "9" * 5_000, "cannot be read"),
            ("https://h.example/" + "a" * 70_000, "cannot be read"),
        ],
    )
    def test_a_base_url_has_a_real_port_and_ends_with_its_path(self, text, message):
        assert message in refused(text).message

    @pytest.mark.parametrize(
        "text",
        [
            "https://user:sk-test-0001@h.example",
            "https://sk-test-0001@h.example",
            "https://h.example/v1?key=sk-test-0001",
            "https://h.example/v1#sk-test-0001",
            "https://sk-test-0001/x@h.example",
            "https://h.example:sk-test-0001/v1",
            "https://sk-test-0001_/v1",
            "sk-test-0001",
        ],
    )
    def test_no_part_of_a_refused_url_is_shown(self, text):
        problem = refused(text)
        assert "0001" not in f"{problem.message} {problem.hint}"
        assert problem.__cause__ is None
        assert problem.__suppress_context__ or problem.__context__ is None


class TestUrls:
    @pytest.mark.parametrize(
        ("text", "target"),
        [
            ("https://h.example", ("https", "h.example", 443)),
            ("HTTPS://H.Example/v1", ("https", "h.example", 443)),
            ("https://h.example:443", ("https", "h.example", 443)),
            ("https://h.example:", ("https", "h.example", 443)),
            ("https://h.example:80", ("https", "h.example", 80)),
            ("https://h-1.example:8443/v1", ("https", "h-1.example", 8443)),
            ("https://intranet", ("https", "intranet", 443)),
            ("https://xn--bcher-kva.example", ("https", "xn--bcher-kva.example", 443)),
            ("https://192.0.2.1", ("https", "192.0.2.1", 443)),
            ("https://[2001:DB8:0::1]:8443", ("https", "2001:db8::1", 8443)),
            ("http://127.0.0.1", ("http", "127.0.0.1", 80)),
            ("http://127.255.0.9:8080/v1", ("http", "127.255.0.9", 8080)),
            ("http://[::1]:8080", ("http", "::1", 8080)),
            ("http://[0:0:0:0:0:0:0:1]", ("http", "::1", 80)),
            ("https://127.0.0.1:8443", ("https", "127.0.0.1", 8443)),
        ],
    )
    def test_what_is_read_is_what_is_connected_to(self, text, target):
        assert connected_to(parse_url(text, where=None)) == target

    @pytest.mark.parametrize("text", ["http://localhost:8080/v1", "http://LocalHost:8080/v1"])
    def test_localhost_is_an_address_without_being_looked_up(self, text):
        assert str(parse_url(text, where=None)) == "http://127.0.0.1:8080/v1"

    @pytest.mark.parametrize(
        ("host", "loopback"),
        [
            ("127.0.0.1", True),
            ("127.9.9.9", True),
            ("::1", True),
            ("localhost", True),
            ("128.0.0.1", False),
            ("10.0.0.1", False),
            ("::2", False),
            ("127.example", False),
            ("localhost.example", False),
        ],
    )
    def test_loopback_is_three_things(self, host, loopback):
        assert is_loopback(host) is loopback


class TestBaseUrls:
    @pytest.mark.parametrize(
        "path", ["", "/", "/v1", "/v1/", "/v1//", "/v1/chat/completions", "/v1/responses/"]
    )
    def test_openai_is_asked_below_v1_however_it_is_written(self, path):
        endpoint = open_endpoint("local", "openai", f"http://127.0.0.1:8080{path}", LOCAL)
        assert str(endpoint.url) == "http://127.0.0.1:8080/v1"

    @pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/v1/messages", "/v1/messages/"])
    def test_anthropic_is_asked_at_its_root_however_it_is_written(self, path):
        endpoint = open_endpoint("local", "anthropic", f"http://127.0.0.1:8080{path}", LOCAL)
        assert str(endpoint.url) == "http://127.0.0.1:8080"

    @pytest.mark.parametrize(
        ("kind", "path", "kept"),
        [
            ("openai", "/openai/v1", "/openai/v1"),
            ("openai", "/openai/v1/chat/completions", "/openai/v1"),
            ("openai", "/api/paas/v4", "/api/paas/v4"),
            ("openai", "/api/paas/v4/", "/api/paas/v4"),
            ("openai", "/api/paas/v4/chat/completions", "/api/paas/v4"),
            ("openai", "/chat/completions", ""),
            ("openai", "/a%2Fb/v1", "/a%2Fb/v1"),
            ("openai", "/v1/messages", "/v1/messages"),
            ("openai", "/my-responses", "/my-responses"),
            ("anthropic", "/anthropic", "/anthropic"),
            ("anthropic", "/anthropic/v1/messages", "/anthropic"),
            ("anthropic", "/api/v1", "/api"),
            ("anthropic", "/apiv1", "/apiv1"),
        ],
    )
    def test_another_path_is_kept_without_what_the_sdk_adds(self, kind, path, kept):
        endpoint = open_endpoint("local", kind, f"http://127.0.0.1:8080{path}", LOCAL)
        assert str(endpoint.url) == f"http://127.0.0.1:8080{kept}"

    @pytest.mark.parametrize(
        ("kind", "url", "host"),
        [
            ("anthropic", "https://api.anthropic.com", "api.anthropic.com"),
            ("openai", "https://api.openai.com/v1", "api.openai.com"),
        ],
    )
    def test_without_a_base_url_a_kind_is_asked_at_its_own_host(self, kind, url, host):
        endpoint = open_endpoint("anything", kind, None, NOTHING)
        assert endpoint == Endpoint(
            provider="anything", url=httpx2.URL(url), host=host, port=443, is_loopback=False
        )
        assert endpoint.label == host
        assert open_endpoint("anything", kind, url, NOTHING) == endpoint

    @pytest.mark.parametrize(
        ("text", "label"),
        [
            ("http://127.0.0.1:8080", "127.0.0.1:8080"),
            ("http://localhost", "127.0.0.1:80"),
            ("https://localhost", "127.0.0.1"),
            ("http://[::1]:8080", "[::1]:8080"),
        ],
    )
    def test_the_label_has_the_port_unless_it_is_that_of_https(self, text, label):
        endpoint = open_endpoint("local", "openai", text, LOCAL)
        assert endpoint.label == label
        assert endpoint.is_loopback


def not_open(kind, text, rules):
    with pytest.raises(ProviderError) as caught:
        open_endpoint("mine", kind, text, rules)
    assert caught.value.code == "P6307"
    assert caught.value.where == "providers.mine.base_url"
    return caught.value


class TestRules:
    @pytest.mark.parametrize(
        ("kind", "text", "flag"),
        [
            ("openai", "https://api.anthropic.com/v1", "--allow-host api.anthropic.com"),
            ("anthropic", "https://api.openai.com", "--allow-host api.openai.com"),
            ("openai", "https://api.openai.com:8443", "--allow-host api.openai.com:8443"),
            ("openai", "https://eu.api.openai.com", "--allow-host eu.api.openai.com"),
            ("openai", "https://api.openai.com.evil.example", "--allow-host api.openai.com.evil."),
            ("openai", "https://gateway.example:8443", "--allow-host gateway.example:8443"),
            ("openai", "https://[2001:db8::1]", "--allow-host [2001:db8::1]"),
            ("openai", "https://10.0.0.1", "--allow-host 10.0.0.1"),
            ("openai", "http://127.0.0.1:8080", "--allow-local"),
            ("openai", "https://localhost", "--allow-local"),
            ("anthropic", "http://[::1]:8080", "--allow-local"),
        ],
    )
    def test_a_host_that_is_not_open_names_the_flag_that_opens_it(self, kind, text, flag):
        assert f"`{flag}" in not_open(kind, text, NOTHING).hint

    @pytest.mark.parametrize(
        ("flag", "text"),
        [
            ("gateway.example", "https://gateway.example/v1"),
            ("gateway.example", "https://gateway.example:443/v1"),
            ("gateway.example:443", "https://gateway.example/v1"),
            ("Gateway.Example", "https://GATEWAY.example/v1"),
            ("gateway.example:8443", "https://gateway.example:8443"),
            ("10.0.0.1", "https://10.0.0.1"),
            ("[2001:db8:0::1]:8443", "https://[2001:DB8::1]:8443"),
            ("api.anthropic.com", "https://api.anthropic.com/v1"),
        ],
    )
    def test_a_host_is_opened_by_name_and_port(self, flag, text):
        open_endpoint("mine", "openai", text, opens("other.example", flag))

    @pytest.mark.parametrize(
        ("flag", "text"),
        [
            ("gateway.example", "https://gateway.example:8443"),
            ("gateway.example:8443", "https://gateway.example"),
            ("gateway.example", "https://sub.gateway.example"),
            ("sub.gateway.example", "https://gateway.example"),
            ("gateway.example", "https://gateway.example.evil.example"),
            ("gateway.example", "https://mygateway.example"),
        ],
    )
    def test_a_flag_opens_exactly_what_it_says(self, flag, text):
        not_open("openai", text, opens(flag, local=True))

    def test_allow_local_opens_no_other_machine(self):
        not_open("openai", "https://gateway.example", LOCAL)

    def test_a_host_is_opened_for_requests_and_not_for_a_kind(self):
        rules = opens("gateway.example")
        for kind in ("openai", "anthropic"):
            assert open_endpoint("x", kind, "https://gateway.example", rules).port == 443

    def test_the_host_of_a_kind_is_open_for_no_other_kind(self):
        url = parse_url("https://api.openai.com", where=None)
        NOTHING.check(url, "openai")
        for kind in ("anthropic", "scripted"):
            with pytest.raises(ProviderError):
                NOTHING.check(url, kind)


def refused_flags(*values):
    with pytest.raises(ProctorError) as caught:
        HostRules.of(values, allow_local=False)
    problems = list(caught.value.problems())
    for problem in problems:
        assert isinstance(problem, UsageError)
        assert problem.code == "P6002"
        assert "`--allow-host`" in problem.message
        assert problem.hint
    return problems


class TestFlags:
    @pytest.mark.parametrize(
        "value",
        [
            "https://h.example",
            "h.example/v1",
            "h.example:",
            "h.example:port",
            "h.example:+80",
            "h.example:123456",
            "h.example:0",
            "h.example:65536",
            "user@h.example",
            "h.example.",
            "*",
            "*.example",
            "?.example",
            ".example",
            "h.example%2e",
            " h.example",
            "h.example\n",
            "h\u00e9.example",
            "\u212aelvin.example",
            "h\uff0eexample",
            "",
            ":443",
            "::1",
            "2001:db8::1",
            "[h.example]",
            "[192.0.2.1]",
            "[2001:db8::1",
            "[2001:db8::g]",
            "[]",
            "[fe80::1%eth0]",
            "[::ffff:8.8.8.8]",
            "[::]",
            "0.0.0.0",  # noqa: S104 - it is refused
            "127.1",
            "0x7f.1",
            "2130706433",
        ],
    )
    def test_a_flag_that_names_no_single_host_is_refused(self, value):
        assert len(refused_flags(value)) == 1

    def test_there_are_no_wildcards_and_the_hint_says_so(self):
        assert "wildcards" in refused_flags("*.example")[0].hint

    @pytest.mark.parametrize("value", ["127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:80"])
    def test_this_machine_is_opened_by_another_flag(self, value):
        assert "`--allow-local`" in refused_flags(value)[0].hint

    def test_every_wrong_flag_is_reported(self):
        assert len(refused_flags("*", "h.example", "127.0.0.1", "a/b")) == 3

    def test_no_part_of_a_wrong_flag_is_shown(self):
        for value in ("user:sk-0001@h.example", "sk-0001_", "h.example/sk-0001"):
            problem = refused_flags(value)[0]
            assert "0001" not in f"{problem.message} {problem.hint}"

    @pytest.mark.parametrize(
        ("value", "address"),
        [
            ("h.example", ("h.example", 443)),
            ("H.example:8443", ("h.example", 8443)),
            ("localhost:8080", ("127.0.0.1", 8080)),
            ("[0::1]:8080", ("::1", 8080)),
            ("192.0.2.1:1", ("192.0.2.1", 1)),
        ],
    )
    def test_an_address_is_read_in_its_one_spelling(self, value, address):
        assert parse_address(value, flag="--allow-key") == address


class TestAdmitting:
    @pytest.fixture
    def endpoint(self):
        return open_endpoint(
            "x", "openai", "https://gateway.example:8443/v1", opens("gateway.example:8443")
        )

    @pytest.mark.parametrize("path", ["", "/v1/chat/completions", "/other?a=b"])
    def test_a_request_to_the_endpoint_is_admitted_whatever_its_path(self, endpoint, path):
        assert endpoint.admits(httpx2.URL(f"https://gateway.example:8443{path}"))
        assert endpoint.admits(httpx2.URL(f"https://GATEWAY.example:8443{path}"))

    @pytest.mark.parametrize(
        "text",
        [
            "http://gateway.example:8443/v1",
            "https://gateway.example/v1",
            "https://gateway.example:443/v1",
            "https://gateway.example.:8443/v1",
            "https://evil.example:8443/v1",
            "https://user@gateway.example:8443/v1",
            "https://gateway.example@evil.example:8443/v1",
            "ftp://gateway.example:8443/v1",
            "/v1/chat/completions",
        ],
    )
    def test_a_request_to_anything_else_is_not(self, endpoint, text):
        assert not endpoint.admits(httpx2.URL(text))

    def test_the_port_that_is_not_written_counts(self):
        endpoint = open_endpoint("openai", "openai", None, NOTHING)
        assert endpoint.admits(httpx2.URL("https://api.openai.com:443/v1/responses"))
        assert not endpoint.admits(httpx2.URL("http://api.openai.com:443/v1/responses"))
        assert not endpoint.admits(httpx2.URL("https://api.openai.com:0/v1/responses"))

    def test_another_port_of_this_machine_is_not_open(self):
        endpoint = open_endpoint("x", "openai", "http://localhost:8080", LOCAL)
        assert endpoint.admits(httpx2.URL("http://127.0.0.1:8080/v1/responses"))
        assert not endpoint.admits(httpx2.URL("http://127.0.0.1:8081/v1/responses"))
        assert not endpoint.admits(httpx2.URL("http://localhost:8080/v1/responses"))
