"""What the environment tells an SDK, or an HTTP client, changes nothing that is sent or shown."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from asked_providers import STYLES, complete, config, open_provider

from fake_provider import FakeProvider

TESTS = Path(__file__).parents[1]
NAME = re.compile(r"""["']((?:OPENAI|ANTHROPIC|AZURE_OPENAI)_[A-Z_]+)["']""")
DATA_ONLY = {"resources", "types"}
NAMED = {
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_LOG",
    "OPENAI_BASE_URL",
    "OPENAI_CUSTOM_HEADERS",
    "OPENAI_LOG",
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT_ID",
}
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
SPY = "spy-0001"
PROGRAM = """
import sys
from asked_providers import complete, config, open_provider
print(complete(open_provider(config(sys.argv[1], sys.argv[2]))).answer.text)
"""


def sdk_variables():
    """Every variable of their own that the source of the two SDKs names."""
    roots = [Path(find_spec(sdk).origin).parent for sdk in ("anthropic", "openai")]
    return {
        name
        for root in roots
        for file in root.rglob("*.py")
        if not DATA_ONLY & set(file.relative_to(root).parts)
        for name in NAME.findall(file.read_text(encoding="utf-8"))
    }


def spying(names, other):
    """Values that would show on the wire, or send the request elsewhere."""
    values = {}
    for name in names:
        values[name] = SPY
        if name.endswith(("_URL", "_ENDPOINT", "_PROXY", "_proxy")):
            values[name] = f"{other.url}/{SPY}"
        elif name.endswith("_CUSTOM_HEADERS"):
            values[name] = f"X-Spy: {SPY}\nAuthorization: {SPY}\nHost: {SPY}"
        elif name.endswith("_LOG"):
            values[name] = "debug"
    return values


@pytest.fixture
def other():
    with FakeProvider() as provider:
        yield provider


def test_the_source_of_the_sdks_is_read_for_their_variables():
    assert sdk_variables() >= NAMED


@pytest.mark.parametrize("style", STYLES)
def test_each_variable_of_the_sdks_changes_nothing(fake, other, monkeypatch, style):
    complete(open_provider(config(style, fake.url)))
    plain = fake.only.text
    for name, value in sorted(spying(sdk_variables() | set(PROXIES), other).items()):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            complete(open_provider(config(style, fake.url)))
        assert fake.seen[-1].text == plain, name
    assert other.seen == []


@pytest.mark.parametrize("style", STYLES)
def test_all_variables_together_change_nothing_in_a_new_process(fake, other, tmp_path, style):
    profiles = tmp_path / ".config/anthropic"
    profiles.mkdir(parents=True)
    (profiles / "active_config").write_text(SPY)
    (tmp_path / ".netrc").write_text(f"machine 127.0.0.1 login {SPY} password {SPY}\n")
    paths = [str(TESTS), str(TESTS / "unit")]
    environ = (
        dict(os.environ)
        | spying(sdk_variables() | set(PROXIES), other)
        | {
            "HOME": str(tmp_path),
            "NETRC": str(tmp_path / ".netrc"),
            "OTEL_PROPAGATORS": SPY,
            "PYTHONPATH": os.pathsep.join(paths),
            "SSL_CERT_DIR": str(tmp_path / SPY),
            "SSL_CERT_FILE": str(tmp_path / SPY),
        }
    )
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, style, fake.url],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"Paris.\n", b"")
    assert SPY not in fake.only.text
    assert not {"authorization", "x-api-key"} & set(fake.only.headers)
    assert other.seen == []
