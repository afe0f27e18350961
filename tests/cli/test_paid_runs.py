"""Whole runs that ask a provider over HTTP: money, hosts, keys, and what is kept of them."""

from __future__ import annotations

import json
import signal
import socket

import pytest

from fake_provider import Fails, FakeProvider, Says, Sends, Tokens, redirects
from live_support import LiveProject

KEY = "sk-dummy-000111222333444"
CONFIG = """\
project = "tests"
[providers.local]
kind = "{kind}"
base_url = "{url}"
key_env = "LOCAL_KEY"
structured_output = "none"
[prices."local/tiny"]
input = {price}
output = {price}
"""
ASK = ("run", "--cache", "record", "--allow-local", "--max-wait", "0")
FREE = (*ASK, "--max-cost", "0")
RIGHT = Says('{"label": "yes"}', tokens=Tokens(input=20, output=10))


@pytest.fixture
def provider():
    with FakeProvider(RIGHT) as fake:
        yield fake


@pytest.fixture
def project(tmp_path, provider):
    project = LiveProject(tmp_path)
    configure(project, provider)
    project.named_cases("a", "b", "c")
    return project


def configure(project, provider, *, kind="openai", price=0, more=""):
    text = CONFIG.format(kind=kind, url=f"{provider.url}/v1", price=price)
    project.write("proctor.toml", text + more)


def everything(project, result) -> bytes:
    """All that a run left behind: files, and both outputs."""
    files = [path.read_bytes() for path in project.root.rglob("*") if path.is_file()]
    return b"\n".join([*files, result.out, result.err.encode()])


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_answers_are_recorded_and_replay_without_a_provider(project, provider, kind):
    configure(project, provider, kind=kind)
    result = project.proctor(*FREE)
    assert result.code == 0, result.err
    assert len(provider.seen) == 3
    (line, *_) = project.stored
    assert line["answer"]["text"] == '{"label": "yes"}'
    assert line["usage"]["input"], line["usage"]["output"] == (20, 10)
    assert line["recorded"]["provider"] == "local"
    assert line["recorded"]["host"] == provider.address
    assert line["recorded"]["response_model"] == "fake-1-20261130"
    assert project.proctor("run").code == 0
    assert len(provider.seen) == 3


def test_a_live_run_without_a_limit_asks_nobody(project, provider):
    result = project.proctor(*ASK)
    assert result.code == 2
    assert "P6504" in result.err
    assert "--max-cost" in result.err
    assert provider.seen == []


def test_a_model_without_a_price_is_asked_nothing(project, provider):
    configure(project, provider)
    text = (project.root / "proctor.toml").read_text()
    project.write("proctor.toml", text.partition("[prices")[0])
    result = project.proctor(*FREE)
    assert result.code == 2
    assert "P6501" in result.err
    assert provider.seen == []


def test_a_plan_that_may_cost_more_than_the_limit_asks_nobody(project, provider):
    # Each call takes at most 2,000 tokens and the bytes of the request, at a dollar a million.
    configure(project, provider, price=1)
    result = project.proctor(*ASK, "--max-cost", "0.006")
    assert result.code == 2
    assert "P6503" in result.err
    assert "$0.006" in result.err
    assert provider.seen == []
    assert project.proctor(*ASK, "--max-cost", "0.01").code == 0


def test_only_what_is_not_recorded_counts_against_the_limit(project, provider):
    configure(project, provider, price=1)
    assert project.proctor(*ASK, "--max-cost", "0.01").code == 0
    assert project.proctor(*ASK, "--max-cost", "0").code == 0


def test_answers_that_nothing_limits_are_not_asked_for(project, provider):
    prompt = (project.root / "prompts/answer.prompt.yaml").read_text()
    assert "maxTokens: 16" in prompt
    project.write("prompts/answer.prompt.yaml", prompt.replace("maxTokens: 16, ", ""))
    result = project.proctor(*FREE)
    assert result.code == 2
    assert "P6204" in result.err
    assert "maxTokens" in result.err
    assert provider.seen == []


def test_a_dry_run_counts_tokens_and_money_and_asks_nobody(project, provider):
    configure(project, provider, price=1)
    result = project.proctor("run", "--cache", "record", "--dry-run")
    assert result.code == 0
    assert "3 to make" in result.text
    assert "48 out" in result.text
    assert provider.seen == []


def test_what_is_paid_and_what_is_replayed_stand_apart(project, provider):
    configure(project, provider, price=1)
    first = json.loads(project.proctor(*ASK, "--max-cost", "1", "--format", "json").out)
    again = json.loads(project.proctor("run", "--format", "json").out)
    paid, replayed = (one["suites"][0]["subjects"][0]["cost"] for one in (first, again))
    assert (paid["paid"], paid["replayed"]) == (0.00009, 0)
    assert (replayed["paid"], replayed["replayed"]) == (0, 0.00009)


def test_unknown_usage_is_shown_as_unknown_and_never_as_nothing(project, provider):
    configure(project, provider, price=1)
    provider.does(Says('{"label": "yes"}', tokens=Tokens(input=-1, output=10)))
    report = json.loads(project.proctor(*ASK, "--max-cost", "1", "--format", "json").out)
    subject = report["suites"][0]["subjects"][0]
    assert subject["cost"]["unknown"] == 3
    assert subject["cost"]["paid"] is None
    assert subject["tokens"]["unknown"] == 3


def test_a_provider_on_this_machine_is_asked_only_when_that_is_allowed(project, provider):
    result = project.proctor("run", "--cache", "record", "--max-cost", "0")
    assert result.code == 2
    assert "P6307" in result.err
    assert "--allow-local" in result.err
    assert provider.seen == []


def test_a_provider_on_this_machine_gets_no_key_unless_that_is_allowed(project, provider):
    env = {"LOCAL_KEY": KEY}
    result = project.proctor(*FREE, env=env)
    assert f"sending no key to {provider.address}" in result.err
    assert KEY not in provider.seen[0].text
    port = provider.address.partition(":")[2]
    allowed = ("--allow-key", f"LOCAL_KEY=127.0.0.1:{port}", "--cache", "refresh")
    result = project.proctor(*FREE, *allowed, env=env)
    assert result.code == 0, result.err
    assert f"sending LOCAL_KEY to {provider.address}" in result.err
    assert provider.seen[-1].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_key_that_is_echoed_in_every_place_is_in_no_file_and_no_output(project, provider, kind):
    port = provider.address.partition(":")[2]
    configure(project, provider, kind=kind)

    def echo(seen):
        body = json.dumps({"error": {"message": f"wrong key {KEY} in {seen.text}"}})
        return Sends(body, 401, "application/json")(seen)

    provider.does(echo)
    allowed = ("--allow-key", f"LOCAL_KEY=127.0.0.1:{port}")
    result = project.proctor(*FREE, *allowed, env={"LOCAL_KEY": KEY})
    assert result.code == 3
    assert KEY in provider.seen[0].text
    assert KEY.encode() not in everything(project, result)
    assert b"[redacted]" in everything(project, result)


def test_an_answer_that_holds_the_key_is_not_stored(project, provider):
    port = provider.address.partition(":")[2]
    provider.does(Says(f"your key is {KEY}"))
    allowed = ("--allow-key", f"LOCAL_KEY=127.0.0.1:{port}")
    result = project.proctor(*FREE, *allowed, env={"LOCAL_KEY": KEY})
    assert result.code == 3
    assert "P6312" in result.text
    assert KEY.encode() not in everything(project, result)
    assert not list(project.root.glob("evals/cassettes/*.jsonl"))


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_nothing_reaches_the_target_of_a_redirect(project, provider, status):
    with FakeProvider() as other:
        provider.does(redirects(f"{other.url}/v1/chat/completions", status))
        result = project.proctor(*FREE)
        assert result.code == 3
        assert "redirects are not followed" in result.text
        assert other.seen == []


def test_no_proxy_of_the_environment_is_used(project, provider):
    with FakeProvider() as proxy:
        names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy")
        result = project.proctor(*FREE, env=dict.fromkeys(names, proxy.url))
        assert result.code == 0, result.err
        assert proxy.seen == []


def test_a_host_that_is_not_allowed_is_not_even_looked_up(project):
    config = (project.root / "proctor.toml").read_text()
    start = config.index("http://")
    address = config[start : config.index('"', start)]
    project.write("proctor.toml", config.replace(address, "https://evil.example/v1"))
    result = project.proctor(*FREE)
    assert result.code == 2
    assert "P6307" in result.err
    assert "--allow-host evil.example" in result.err


def test_an_unset_key_is_named_before_anything_is_asked(tmp_path):
    project = LiveProject(tmp_path)
    project.named_cases("a")
    project.write("proctor.toml", 'project = "tests"\n')
    prompt = (project.root / "prompts/answer.prompt.yaml").read_text()
    project.write(
        "prompts/answer.prompt.yaml", prompt.replace("local/tiny", "anthropic/claude-haiku-4-5")
    )
    result = project.proctor("run", "--cache", "record", "--max-cost", "1")
    assert result.code == 2
    assert "P6306" in result.err
    assert "ANTHROPIC_API_KEY" in result.err


def test_a_rate_limit_that_passes_is_waited_for(project, provider):
    provider.does(Fails(429, headers={"Retry-After": "0"}), RIGHT)
    result = project.proctor(*ASK, "--max-cost", "0", "--max-wait", "5", "--concurrency", "1")
    assert result.code == 0, result.err
    assert len(provider.seen) == 4


def test_a_server_that_is_gone_errs_its_rows_and_nothing_else(project):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        config = (project.root / "proctor.toml").read_text()
        start = config.index("http://")
        address = config[start : config.index('"', start)]
        project.write("proctor.toml", config.replace(address, f"http://127.0.0.1:{port}/v1"))
        result = project.proctor(*FREE)
    assert result.code == 3
    assert "P6310" in result.text
    assert "Traceback" not in result.err


def test_ctrl_c_keeps_what_came_and_says_how_to_go_on(project, provider):
    provider.does(RIGHT, provider.hang)
    with project.started(*FREE, "--concurrency", "1") as running:
        running.until_received(1)
        running.send(signal.SIGINT)
        running.until(lambda one: "Ctrl-C again" in one.err)
        running.send(signal.SIGINT)
        result = running.wait()
    assert result.code == 130
    assert "--cache record" in result.err
    assert len(project.stored) == 1
