import pytest

from proctor.errors import ProctorError, ProviderError, UsageError
from proctor.providers import keys
from proctor.providers.hosts import HostRules, open_endpoint
from proctor.providers.keys import KeyRules, key_variable, read_key
from proctor.scrubbing import Scrubber

KEY = "sk-test-000111222333"
HOSTS = HostRules.of(
    [
        "gateway.example",
        "gateway.example:8443",
        "api.anthropic.com",
        "api.openai.com:8443",
        "[2001:db8::1]:8443",
    ],
    allow_local=True,
)


def variable_for(kind, base_url, key_env=None, *, allowed=()):
    endpoint = open_endpoint("mine", kind, base_url, HOSTS)
    return key_variable(kind, key_env, endpoint, KeyRules.of(allowed))


class TestWhichKeyGoesWhere:
    @pytest.mark.parametrize(
        ("kind", "base_url", "key_env", "variable"),
        [
            ("anthropic", None, None, "ANTHROPIC_API_KEY"),
            ("openai", None, None, "OPENAI_API_KEY"),
            ("openai", "https://api.openai.com/v1", None, "OPENAI_API_KEY"),
            ("openai", None, "OPENAI_API_KEY", "OPENAI_API_KEY"),
            # Anthropic's host also speaks the other format; its key is at home there.
            ("openai", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
        ],
    )
    def test_a_key_goes_to_its_own_host(self, kind, base_url, key_env, variable):
        assert variable_for(kind, base_url, key_env) == variable

    @pytest.mark.parametrize(
        ("kind", "base_url", "key_env", "flag"),
        [
            ("openai", None, "AWS_SECRET", "AWS_SECRET=api.openai.com"),
            ("openai", None, "ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY=api.openai.com"),
            ("anthropic", None, "OPENAI_API_KEY", "OPENAI_API_KEY=api.anthropic.com"),
            (
                "openai",
                "https://api.openai.com:8443",
                "OPENAI_API_KEY",
                "OPENAI_API_KEY=api.openai.com:8443",
            ),
            (
                "openai",
                "https://gateway.example/v1",
                "OPENAI_API_KEY",
                "OPENAI_API_KEY=gateway.example",
            ),
            ("openai", "https://gateway.example:8443", "G_KEY", "G_KEY=gateway.example:8443"),
            ("anthropic", "https://[2001:db8::1]:8443", "G_KEY", "G_KEY=[2001:db8::1]:8443"),
        ],
    )
    def test_any_other_pair_needs_the_flag_that_the_hint_names(self, kind, base_url, key_env, flag):
        with pytest.raises(ProviderError) as caught:
            variable_for(kind, base_url, key_env)
        assert caught.value.code == "P6307"
        assert caught.value.where == "providers.mine.key_env"
        assert f"`--allow-key {flag}`" in caught.value.hint
        assert variable_for(kind, base_url, key_env, allowed=[flag]) == key_env

    @pytest.mark.parametrize(
        "allowed",
        [
            "G_KEY=gateway.example",
            "G_KEY=gateway.example:8444",
            "G_KEY=evil.example:8443",
            "OTHER=gateway.example:8443",
            "g_key=gateway.example:8443",
        ],
    )
    def test_a_flag_allows_exactly_the_pair_it_names(self, allowed):
        with pytest.raises(ProviderError):
            variable_for("openai", "https://gateway.example:8443", "G_KEY", allowed=[allowed])

    @pytest.mark.parametrize(
        ("kind", "base_url"),
        [
            ("openai", "https://gateway.example"),
            ("anthropic", "https://gateway.example"),
            ("openai", "https://api.anthropic.com"),
            ("openai", "https://api.openai.com:8443"),
            ("openai", "http://127.0.0.1:8080"),
        ],
    )
    def test_another_host_gets_no_key_when_none_is_named(self, kind, base_url):
        assert variable_for(kind, base_url) is None

    @pytest.mark.parametrize("base_url", ["http://127.0.0.1:8080", "http://[::1]:8080"])
    def test_this_machine_gets_no_key_unless_it_is_allowed(self, base_url):
        assert variable_for("openai", base_url, "LOCAL_KEY") is None
        flag = f"LOCAL_KEY={base_url.removeprefix('http://')}"
        assert variable_for("openai", base_url, "LOCAL_KEY", allowed=[flag]) == "LOCAL_KEY"

    def test_the_word_localhost_allows_the_address_it_means(self):
        flag = "LOCAL_KEY=localhost:8080"
        for base_url in ("http://localhost:8080", "http://127.0.0.1:8080"):
            assert variable_for("openai", base_url, "LOCAL_KEY", allowed=[flag]) == "LOCAL_KEY"

    def test_a_flag_sends_the_usual_key_where_the_project_names_none(self):
        flag = "OPENAI_API_KEY=gateway.example"
        assert variable_for("openai", "https://gateway.example", allowed=[flag]) == "OPENAI_API_KEY"
        assert variable_for("anthropic", "https://gateway.example", allowed=[flag]) is None

    @pytest.mark.parametrize(
        "key_env", ["", KEY, "A B", "1A", "A=evil.example --allow-code", "A\n", "K\u00c9Y"]
    )
    def test_what_is_no_name_of_a_variable_is_refused_unseen(self, key_env):
        for base_url in ("https://gateway.example", "http://127.0.0.1:8080"):
            with pytest.raises(ProviderError) as caught:
                variable_for("openai", base_url, key_env)
            assert caught.value.code == "P6307"
            assert not key_env or key_env not in f"{caught.value.message} {caught.value.hint}"


class TestFlags:
    @pytest.mark.parametrize(
        "value",
        [
            "",
            "=",
            "G_KEY",
            "G_KEY=",
            "=gateway.example",
            "G-KEY=gateway.example",
            "1KEY=gateway.example",
            "G KEY=gateway.example",
            "G_KEY =gateway.example",
            "G_KEY= gateway.example",
            "G_KEY=*",
            "G_KEY=https://gateway.example",
            "G_KEY=gateway.example/v1",
            "G_KEY=gateway.example=x",
            "G_KEY=user@gateway.example",
            f"{KEY}=gateway.example",
            f"G_KEY={KEY}@gateway.example",
        ],
    )
    def test_a_flag_is_the_name_of_a_variable_and_a_host(self, value):
        with pytest.raises(UsageError) as caught:
            KeyRules.of([value])
        assert caught.value.code == "P6002"
        assert "`--allow-key`" in caught.value.message
        assert caught.value.hint
        assert KEY not in f"{caught.value.message} {caught.value.hint}"

    def test_every_wrong_flag_is_reported(self):
        with pytest.raises(ProctorError) as caught:
            KeyRules.of(["A", "B=h.example", "C=*"])
        assert len(list(caught.value.problems())) == 2

    def test_hosts_are_compared_in_their_one_spelling(self):
        one = KeyRules.of(["G_KEY=Gateway.Example:443", "_k2=[0::1]:8080"])
        assert one == KeyRules.of(["G_KEY=gateway.example", "_k2=[::1]:8080"])


@pytest.fixture
def secrets(monkeypatch):
    """The scrubber of the process, for one test."""
    scrubber = Scrubber()
    monkeypatch.setattr(keys, "SECRETS", scrubber)
    return scrubber


class TestReading:
    def test_a_key_that_is_read_is_known_to_the_scrubber(self, secrets):
        assert read_key("G_KEY", {"G_KEY": KEY}) == KEY
        assert secrets.scrub(f"a {KEY} b") == "a [redacted] b"

    @pytest.mark.parametrize("environ", [{}, {"G_KEY": ""}, {"g_key": KEY}])
    def test_a_key_that_is_not_set_is_asked_for_in_no_file(self, secrets, environ):
        with pytest.raises(ProviderError) as caught:
            read_key("G_KEY", environ)
        assert (caught.value.code, caught.value.message) == (
            "P6306",
            "the variable `G_KEY` is not set",
        )
        assert "export" in caught.value.hint
        assert "no file" in caught.value.hint

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (f"{KEY}\n", "begins or ends with white space"),
            (f" {KEY}", "begins or ends with white space"),
            (f"{KEY}\r", "begins or ends with white space"),
            (f"{KEY}\u00a0", "begins or ends with white space"),
            ("   ", "begins or ends with white space"),
            (f"{KEY}\nX: y", "characters that no key has"),
            (f"{KEY}\x00{KEY}", "characters that no key has"),
            (f"{KEY}\x7f", "characters that no key has"),
            (f"\u201c{KEY}\u201d", "characters that no key has"),
            (f"{KEY}\udcff", "characters that no key has"),
            ("1234567", "shorter than 8 characters"),
            ("~", "shorter than 8 characters"),
        ],
    )
    def test_what_cannot_be_a_key_is_not_sent_and_not_shown(self, secrets, value, message):
        with pytest.raises(ProviderError) as caught:
            read_key("G_KEY", {"G_KEY": value})
        assert caught.value.code == "P6306"
        assert message in caught.value.message
        assert value not in f"{caught.value.message} {caught.value.hint}"
        assert secrets.holds(value) is (len(value.strip()) >= 8)
