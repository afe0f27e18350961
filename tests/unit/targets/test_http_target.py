"""Endpoints that answer: what they are sent, by whose leave, and what becomes of their replies."""

import asyncio
import gzip
import json
import os
import socket
from urllib.parse import urlsplit

import httpx2
import pytest

from fake_provider import Sends, Streams, redirects
from proctor.documents import Document, StructReader
from proctor.errors import ManyProblems, ProviderError, SuiteError, TargetError, TargetStatus
from proctor.loading.http_targets import HttpFile, read_http
from proctor.providers import transport
from proctor.providers.access import Access
from proctor.providers.hosts import HostRules, open_target
from proctor.providers.keys import KeyRules
from proctor.records import Case, Scenario, TargetSubject
from proctor.records.targets import LoadedTarget
from proctor.scrubbing import Scrubber
from proctor.targets import replies
from proctor.targets.http import open_http

WHERE = "evals/q.eval.yaml:1"
CASE = Case("a", {"q": "x", "n": 1}, expected="secret", metadata={"by": "Ada"})
SCENARIO = Scenario("s", {"n": 2}, expected="secret")
KEY = "sk-agent-0001"


@pytest.fixture
def notes():
    return []


@pytest.fixture
def opened(fake, notes):
    """A target at the fake server, which is open for two keys unless said otherwise."""

    def open_it(*, url=None, lanes=(), access=None, **keys):
        file = HttpFile(url=url or f"{fake.url}/answer", **keys)
        reader = StructReader(Document("q", {}, {}), error=SuiteError, code="P6201")
        how = read_http(file, reader)
        assert reader.problems == []
        target = LoadedTarget(
            subject=TargetSubject(kind="http", name="agent", bundle_sha256="0" * 64),
            how=how,
            where=WHERE,
            lanes=lanes,
        )
        port = urlsplit(fake.url).port
        every = Access(
            HostRules.of((), allow_local=False, ports=[port]),
            KeyRules.of([f"AGENT_KEY=127.0.0.1:{port}", f"OPENAI_API_KEY=127.0.0.1:{port}"]),
        )
        return open_http(target, how, access=access or every, note=notes.append)

    return open_it


def answers(target, *rows):
    async def run():
        try:
            return [await target.answer(*row) for row in rows]
        finally:
            await target.aclose()

    return asyncio.run(run())


def reply(target, *, scenario=None, repeat=1, lane=None, case=CASE):
    (one,) = answers(target, (case, scenario, None, repeat, lane))
    return one


def text_of(target, **row):
    return reply(target, **row).answer.text


def access(*, hosts=(), ports=(), keys=()):
    return Access(HostRules.of(hosts, allow_local=False, ports=ports), KeyRules.of(keys))


# What it is sent


def test_without_a_body_the_case_is_sent(fake, opened):
    fake.does(Sends("a", content_type="text/plain"))
    assert text_of(opened(), scenario=SCENARIO, repeat=2) == "a"
    assert fake.only.path == "/answer"
    assert fake.only.body == {
        "case": "a",
        "inputs": {"q": "x", "n": 2},
        "scenario": {"name": "s", "inputs": {"n": 2}},
        "repeat": 2,
    }
    assert fake.only.headers["content-type"] == "application/json"


BODY = {
    "question": "Q: {{input.q}}",
    "whole": "{{deep}}",
    "n": "{{n}}",
    "part": ["{{input.deep.a}}", 1, None, True, {"k": ""}],
    "literal": "\\{{q}}",
}


def test_placeholders_are_filled_in_once_and_nothing_else_is_special(fake, opened):
    fake.does(Sends("a"))
    case = Case("a", {"q": "{{n}} ${HOME} {% x %} é\ud83d", "n": 1.5, "deep": {"b": 1, "a": "A"}})
    text_of(opened(body=BODY), case=case)
    assert json.loads(fake.only.raw) == {
        "question": "Q: {{n}} ${HOME} {% x %} é\ud83d",
        "whole": '{"a":"A","b":1}',
        "n": "1.5",
        "part": ["A", 1, None, True, {"k": ""}],
        "literal": "{{q}}",
    }


@pytest.mark.parametrize("body", [None, 3, "just {{q}}", [], {}])
def test_a_body_is_any_json(fake, opened, body):
    fake.does(Sends("a"))
    text_of(opened(body=body))
    assert json.loads(fake.only.raw) == ("just x" if body == "just {{q}}" else body)


def test_a_scenario_lays_its_inputs_over_those_of_the_case(fake, opened):
    fake.does(Sends("a"))
    text_of(opened(body=["{{q}}", "{{n}}"]), scenario=SCENARIO)
    assert fake.only.body == ["x", "2"]


@pytest.mark.parametrize("row", [{}, {"scenario": SCENARIO}])
def test_what_is_expected_is_never_sent(fake, opened, row):
    fake.does(Sends("a"))
    text_of(opened(), **row)
    assert "secret" not in fake.only.text
    assert "Ada" not in fake.only.text


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_the_method_is_that_of_the_suite(fake, opened, method):
    fake.does(Sends("a"))
    text_of(opened(method=method))
    assert fake.only.method == method


def test_only_what_is_meant_to_leave_leaves(fake, opened, monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other-0001")
    fake.does(Sends("a", headers={"Set-Cookie": "session=1"}))
    answers(opened(), (CASE, None, None, 1, None), (CASE, None, None, 2, None))
    for seen in fake.seen:
        assert seen.headers.keys() == {
            "accept",
            "accept-encoding",
            "connection",
            "content-length",
            "content-type",
            "host",
            "user-agent",
        }
        assert seen.headers["accept-encoding"] == "identity"
        assert "sk-other" not in seen.text


# Keys


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("AGENT_KEY", KEY)
    return KEY


def test_a_header_has_what_its_variable_holds_when_the_request_is_made(fake, opened, key, notes):
    fake.does(Sends("a"))
    headers = {"X-Key": "AGENT_KEY", "Authorization": {"env": "AGENT_KEY", "prefix": "Bearer "}}
    target = opened(headers=headers)

    async def run():
        await target.answer(CASE, None, None, 1, None)
        os.environ["AGENT_KEY"] = "sk-agent-0002"
        await target.answer(CASE, None, None, 1, None)
        await target.aclose()

    asyncio.run(run())
    assert [(one.headers["x-key"], one.headers["authorization"]) for one in fake.seen] == [
        (KEY, f"Bearer {KEY}"),
        ("sk-agent-0002", "Bearer sk-agent-0002"),
    ]
    assert notes == [f"sending AGENT_KEY to {fake.address}"]


def test_a_target_without_headers_is_sent_no_key(fake, opened, notes):
    opened()
    assert notes == [f"sending no key to {fake.address}"]


@pytest.mark.parametrize("variable", ["AGENT_KEY", "OPENAI_API_KEY"])
def test_a_key_goes_only_where_the_command_line_lets_it(fake, opened, key, monkeypatch, variable):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other-0001")
    port = urlsplit(fake.url).port
    with pytest.raises(ProviderError) as caught:
        opened(headers={"X-Key": variable}, access=access(ports=[port]))
    assert (caught.value.code, caught.value.where) == ("P6307", WHERE)
    assert caught.value.message == f"the key in `{variable}` is not meant for `{fake.address}`"
    assert f"`--allow-key {variable}={fake.address}`" in caught.value.hint
    assert fake.seen == []


def test_a_key_of_a_provider_goes_to_its_own_host_only():
    rules = KeyRules.of([])
    hosts = HostRules.of(["api.openai.com", "gateway.example"], allow_local=False)
    own = open_target("agent", "https://api.openai.com/v1/x", hosts, where=WHERE)
    other = open_target("agent", "https://gateway.example/v1/x", hosts, where=WHERE)
    assert rules.allows("OPENAI_API_KEY", own)
    assert not rules.allows("OPENAI_API_KEY", other)
    assert not rules.allows("ANTHROPIC_API_KEY", own)


@pytest.mark.parametrize("value", [None, "", "short", " sk-agent-0001", "sk-agent\n0001"])
def test_a_key_that_cannot_be_one_stops_the_run(opened, monkeypatch, value):
    monkeypatch.delenv("AGENT_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("AGENT_KEY", value)
    with pytest.raises(ProviderError) as caught:
        opened(headers={"X-Key": "AGENT_KEY"})
    assert caught.value.code == "P6306"


def test_an_answer_that_repeats_a_key_is_not_kept(fake, opened, key, monkeypatch):
    scrubber = Scrubber()
    scrubber.add(KEY)
    monkeypatch.setattr(replies, "SECRETS", scrubber)
    fake.does(Sends(f"you sent {KEY}"))
    with pytest.raises(TargetError) as caught:
        text_of(opened(headers={"X-Key": "AGENT_KEY"}))
    assert caught.value.code == "P6312"
    assert KEY not in f"{caught.value.message}{caught.value.hint}"


# Hosts


@pytest.mark.parametrize(
    ("url", "flag"),
    [
        ("https://agent.example/answer", "--allow-host agent.example"),
        ("https://agent.example:8443/answer", "--allow-host agent.example:8443"),
        ("https://api.openai.com/v1/answer", "--allow-host api.openai.com"),
        ("http://127.0.0.1:9001/answer", "--allow-local 9001"),
        ("http://localhost:9001/answer", "--allow-local 9001"),
        ("http://[::1]:9001/answer", "--allow-local 9001"),
        ("http://127.8.8.8/answer", "--allow-local 80"),
    ],
)
def test_a_host_is_opened_by_the_command_line_only(opened, url, flag):
    for rules in (access(), Access(HostRules.of([], allow_local=True), KeyRules.of([]))):
        with pytest.raises(ProviderError) as caught:
            opened(url=url, access=rules)
        assert (caught.value.code, caught.value.where) == ("P6307", WHERE)
        assert f"`{flag}`" in caught.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "http://agent.example/answer",
        "https://agent.example./answer",
        "http://127.1:9001/",
        "http://2130706433:9001/",
        "http://[::ffff:127.0.0.1]:9001/",
        "http://localhost.evil.example:9001/",
        "https://agent.example%2eevil.example/",
        "https://0.0.0.0/",
    ],
)
def test_a_url_that_is_read_in_different_ways_is_refused(opened, url):
    rules = access(hosts=["agent.example"], ports=[9001, 80, 443])
    with pytest.raises(ProviderError) as caught:
        opened(url=url, access=rules)
    assert caught.value.code == "P6307"
    assert "--allow" not in (caught.value.hint or "")


def test_every_lane_is_held_against_the_rules(fake, opened, key):
    lanes = ("https://one.example", fake.url, "http://127.0.0.1:9999")
    with pytest.raises(ManyProblems) as caught:
        opened(url="https://never.example/answer", lanes=lanes, headers={"X-Key": "AGENT_KEY"})
    assert [one.hint.partition("`")[2].partition("`")[0] for one in caught.value.problems()] == [
        "--allow-host one.example",
        "--allow-local 9999",
    ]


# Lanes


@pytest.mark.parametrize(
    ("url", "lane_path", "path"),
    [
        ("https://agent.example/v1/answer", "", "/v1/answer"),
        ("https://agent.example/v1/answer", "/", "/v1/answer"),
        ("https://agent.example/v1/answer?mode=a%20b", "/blue/", "/blue/v1/answer?mode=a%20b"),
        ("https://agent.example", "", "/"),
        ("https://agent.example?v=2", "/x", "/x?v=2"),
    ],
)
def test_a_lane_stands_in_for_the_address(fake, opened, url, lane_path, path):
    fake.does(Sends("a"))
    lane = fake.url + lane_path
    assert text_of(opened(url=url, lanes=(lane,)), lane=lane) == "a"
    assert fake.only.path == path
    assert fake.only.headers["host"] == fake.address


def test_a_lane_is_healthy_when_somebody_listens(fake, opened):
    target = opened()
    assert asyncio.run(target.health(None)) is True


def test_a_lane_where_nobody_listens_is_not(opened):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        target = opened(url=f"http://127.0.0.1:{port}/", access=access(ports=[port]))
        assert asyncio.run(target.health(None)) is False


# What it replies


@pytest.mark.parametrize(
    ("body", "pointer", "text"),
    [
        ("Paris.", None, "Paris."),
        ("", None, ""),
        ('{"label": "yes"}', None, '{"label": "yes"}'),
        ('{"text": "a", "evidence": [1]}', None, "a"),
        ('{"label": "yes"}', "/label", "yes"),
        ('{"choices": [{"text": "a"}]}', "/choices/0/text", "a"),
        ('{"out": {"label": "yes", "n": 1.0}}', "/out", '{"label":"yes","n":1}'),
        ('{"out": {"text": "a", "turns": 2}}', "/out", "a"),
        ('{"a/b": {"~": "x"}}', "/a~1b/~0", "x"),
        ('{"n": 3}', "/n", "3"),
        ('{"b": false}', "/b", "false"),
        ('{"label": "yes"}', "", '{"label":"yes"}'),
        ('"é"', "", "é"),
    ],
)
def test_the_answer_is_the_reply_or_a_part_of_it(fake, opened, body, pointer, text):
    fake.does(Sends(body))
    assert text_of(opened(answer=pointer)) == text


@pytest.mark.parametrize("status", [200, 201, 202, 299])
def test_every_success_is_a_reply(fake, opened, status):
    fake.does(Sends("a", status))
    assert text_of(opened()) == "a"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 418, 429, 500, 502, 503, 529])
def test_another_status_is_an_error_that_has_it(fake, opened, status):
    fake.does(Sends("secret: 4111", status))
    with pytest.raises(TargetStatus) as caught:
        text_of(opened(url=f"{fake.url}/answer?token=hidden"))
    assert (caught.value.status, caught.value.code) == (status, "P6701")
    assert caught.value.message == f"POST {fake.url}/answer replied {status}"


def test_a_redirect_is_not_followed(fake, opened):
    fake.does(redirects("https://evil.example/"))
    with pytest.raises(TargetStatus) as caught:
        text_of(opened())
    assert caught.value.status == 302
    assert "redirects are not followed" in caught.value.hint
    assert len(fake.seen) == 1


@pytest.mark.parametrize(
    ("body", "pointer", "words"),
    [
        (b"caf\xe9", None, "replied with no text in UTF-8"),
        ("<html>secret</html>", "/a", "replied with a body that is no JSON"),
        ('{"secret": 1, "secret": 2}', "/a", "replied with a body that is no JSON"),
        ('{"a": NaN}', "/a", "replied with a body that is no JSON"),
        ("{}", "/a", "replied with nothing at `/a`"),
        ('{"a": null}', "/a", "replied with nothing at `/a`"),
        ('{"a": [1]}', "/a/1", "replied with nothing at `/a/1`"),
    ],
)
def test_a_reply_without_an_answer_is_a_failure_of_the_target(fake, opened, body, pointer, words):
    fake.does(Sends(body))
    with pytest.raises(TargetError) as caught:
        text_of(opened(answer=pointer))
    assert caught.value.message == f"POST {fake.url}/answer {words}"
    assert "secret" not in f"{caught.value.message}{caught.value.hint}"


def test_a_reply_is_read_to_a_limit(fake, opened, monkeypatch):
    monkeypatch.setattr(transport, "MAX_REPLY", 1_000)

    def without_end():
        while True:
            yield b"x" * 600

    fake.does(Streams(without_end))
    with pytest.raises(ProviderError) as caught:
        text_of(opened())
    assert caught.value.code == "P6312"


def test_a_compressed_reply_is_refused(fake, opened):
    fake.does(Sends(gzip.compress(b"a"), headers={"Content-Encoding": "gzip"}))
    with pytest.raises(ProviderError) as caught:
        text_of(opened())
    assert caught.value.code == "P6312"


@pytest.mark.parametrize("behaviour", ["reset", "break_off"])
def test_a_broken_connection_passes_through(fake, opened, behaviour):
    fake.does(getattr(fake, behaviour))
    with pytest.raises(httpx2.TransportError):
        text_of(opened())


@pytest.mark.parametrize("behaviour", ["hang", "drip", "drip_head"])
def test_one_that_does_not_come_to_an_end_is_left_when_its_time_is_over(fake, opened, behaviour):
    fake.does(getattr(fake, behaviour))
    target = opened()

    async def run():
        try:
            task = asyncio.create_task(target.answer(CASE, None, None, 1, None))
            while not fake.seen:
                await asyncio.sleep(0)
            task.cancel()
            await task
        finally:
            await target.aclose()

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())
