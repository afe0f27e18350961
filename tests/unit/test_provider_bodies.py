"""What the clients of the real SDKs make of bodies that are no answers, and of no reply at all."""

import asyncio
import gzip
import json
import socket

import pytest
from asked_providers import (
    CALL,
    KEY,
    KEY_VARIABLE,
    PATHS,
    STYLES,
    complete,
    config,
    kind,
    open_provider,
    refused,
    request,
    with_key,
)

from fake_provider import (
    FakeProvider,
    Says,
    Sends,
    Streams,
    redirects,
    replays,
    wire_names,
)
from live_support import Unseen
from proctor.asking import AskingLimits, Desk, Means
from proctor.clock import Clock
from proctor.config import Price, ProviderConfig
from proctor.errors import ProviderError, TryAgain
from proctor.providers.pricing import Pricing
from proctor.running.engine import Stop
from proctor.safe_io import MEBIBYTE

MOST = 16 * MEBIBYTE
PATIENCE_S = 60
LOCAL = ProviderConfig(kind="openai", base_url="http://127.0.0.1:8080")
LOGIN = "<html><title>Sign in</title>\n<form action='/login'></form></html>"


BODIES = {
    "login page": Sends(LOGIN, content_type="text/html"),
    "empty": Sends(""),
    "blank": Sends(" \n"),
    "truncated": Sends('{"id": "x", "choices": [{"mess'),
    "null": Sends("null"),
    "number": Sends("12"),
    "text": Sends('"Paris."'),
    "list": Sends("[]"),
    "nothing in it": Sends("{}"),
    "key twice": Sends('{"choices": [], "choices": []}'),
    "not a number": Sends('{"usage": NaN}'),
    "deep": Sends('{"a":' + "[" * 100_000),
    "lone surrogate": Sends('{"\\ud800": 1}'),
    "latin-1": Sends('{"a": "caf\u00e9"}'.encode("latin-1"), content_type="application/json"),
    "said to be latin-1": Sends(
        '{"a": "caf\u00e9"}'.encode("latin-1"), content_type="application/json; charset=latin-1"
    ),
    "utf-16": Sends('{"choices": []}'.encode("utf-16")),
    "byte order mark": Sends(b"\xef\xbb\xbf{}"),
    "events": replays("chat_stream_schema"),
}
WRONG = {
    "chat": [
        {"choices": []},
        {"choices": None},
        {"choices": {}},
        {"choices": ["Paris."]},
        {"choices": [{"message": None}]},
        {"choices": [{"text": "Paris."}]},
        {"choices": [{"message": {"content": 12}}]},
        {"choices": [{"message": {"content": "a", "tool_calls": [{"id": "c1"}]}}]},
        {"choices": [{"message": {"content": "a"}, "finish_reason": 1}]},
        {"choices": [{"message": {"content": "a"}}], "model": 1},
    ],
    "responses": [
        {"output": []},
        {"output": "Paris."},
        {"output": [], "status": "completed"},
        {"output": [{"type": "message", "content": "Paris."}]},
        {"output": [{"type": "message", "content": []}], "status": "failed"},
        {"output": [{"type": "message", "content": []}], "status": "in_progress"},
        {"status": "failed", "error": {"code": "server_error", "message": "oh"}, "output": []},
    ],
    "messages": [
        {"content": "Paris.", "stop_reason": "end_turn"},
        {"content": [{"text": "Paris."}], "stop_reason": "end_turn"},
        {"content": [{"type": "text", "text": 12}], "stop_reason": "end_turn"},
        {"content": [{"type": "text", "text": "Paris."}], "stop_reason": None},
        {"content": [{"type": "text", "text": "Paris."}]},
        {"completion": "Paris.", "stop_reason": "stop_sequence"},
    ],
}


class TestBodies:
    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("body", BODIES)
    def test_a_200_that_is_not_the_json_of_the_format_is_no_answer(self, fake, style, body):
        fake.does(BODIES[body])
        error = refused(style, fake)
        assert (error.code, kind(error), error.free) == ("P6312", "never", False)
        assert f"POST {fake.url}{PATHS[style]} replied 200 with " in error.message
        assert "base_url" in error.hint

    @pytest.mark.parametrize(
        ("style", "body"), [(style, body) for style, bodies in WRONG.items() for body in bodies]
    )
    def test_a_200_with_other_fields_than_the_format_has_is_no_answer(self, fake, style, body):
        fake.does(Sends(json.dumps(body)))
        error = refused(style, fake)
        assert (error.code, kind(error), error.free) == ("P6312", "never", False)

    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize(
        ("inner", "code", "then"),
        [
            (429, "P6309", "slower"),
            (500, "P6312", "again"),
            (401, "P6308", "never"),
            (200, "P6312", "never"),
            ("server_error", "P6312", "never"),
            (None, "P6312", "never"),
        ],
    )
    def test_a_200_with_an_error_in_it_is_that_error(self, fake, style, inner, code, then):
        body = {"error": {"message": "try later", "code": inner}}
        fake.does(Sends(json.dumps(body)))
        error = refused(style, fake)
        assert (error.code, kind(error)) == (code, then)
        assert "try later" in error.message
        assert " replied 200 with an error" in error.message

    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("error", ["try later", [1], True])
    def test_an_error_of_any_form_beside_an_answer_is_no_answer(self, fake, style, error):
        good = Says().any_body()
        fake.does(Sends(json.dumps(good)), Sends(json.dumps(good | {"error": error})))
        complete(open_provider(config(style, fake.url)))
        assert refused(style, fake).code == "P6312"

    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("status", [200, 500])
    def test_a_body_of_20_mib_is_not_read_to_its_end(self, fake, style, status):
        fake.does(Sends(b" " * 20 * MEBIBYTE, status))
        error = refused(style, fake)
        assert (error.code, kind(error)) == ("P6312", "never")
        assert "16 MiB" in error.message

    def test_a_body_without_a_length_is_not_read_for_ever(self, fake):
        def for_ever():
            while True:
                yield b" " * MEBIBYTE

        fake.does(Streams(for_ever))
        error = refused("chat", fake)
        assert error.code == "P6312"
        assert "16 MiB" in error.message

    def test_the_largest_body_that_is_read_is_read(self, fake):
        body = Says("Paris.").chat_body()
        spaces = MOST - len(json.dumps(body))
        fake.does(
            Sends(json.dumps(body) + " " * spaces), Sends(json.dumps(body) + " " * (spaces + 1))
        )
        provider = open_provider(config("chat", fake.url))
        assert complete(provider).answer.text == "Paris."
        assert "16 MiB" in refused("chat", fake).message

    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("status", [200, 500])
    def test_a_compressed_reply_is_not_unpacked(self, fake, style, status):
        bomb = gzip.compress(b" " * 20 * MEBIBYTE)
        fake.does(Sends(bomb, status, headers={"Content-Encoding": "gzip"}))
        error = refused(style, fake)
        assert error.code == "P6312"
        assert "compressed" in error.message


def ask_at_a_desk(provider, *, timeout_s=PATIENCE_S):
    """Ask once as a run does, with its limits and its look at what comes back."""
    means = Means(
        providers={"local": provider},
        pricing=Pricing({"local/tiny": Price(input=0, output=0)}, {"local": LOCAL}),
        budget=None,
        progress=Unseen(),
        clock=Clock(),
        stop=Stop(),
    )
    limits = AskingLimits(concurrency=1, timeout_s=timeout_s, max_wait_s=0)

    async def once():
        try:
            return await Desk("local", means, limits).ask(request(), CALL)
        finally:
            await provider.aclose()

    return asyncio.run(once())


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "says",
    [
        Says(f"your key is {KEY}"),
        Says(calls=(("c1", "find", {"with": {"key": KEY}}),)),
        Says(calls=(("c1", "find", f"{{{KEY}"),)),
        Says(calls=((KEY, "find", {}),)),
        Says(model=f"tiny?key={KEY}"),
    ],
)
def test_a_reply_with_the_key_anywhere_is_not_kept(fake, monkeypatch, style, says):
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    fake.does(Says(), says)
    assert ask_at_a_desk(with_key(style, fake)).answer.text == "Paris."
    with pytest.raises(ProviderError) as caught:
        ask_at_a_desk(with_key(style, fake))
    assert caught.value.code == "P6312"
    assert KEY not in f"{caught.value.message} {caught.value.hint}"


class TestConnections:
    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("how", ["reset", "break_off"])
    def test_a_connection_that_breaks_may_be_tried_again(self, fake, style, how):
        fake.does(getattr(fake, how))
        error = refused(style, fake)
        assert (error.code, kind(error), error.free) == ("P6310", "again", False)
        assert f"POST {fake.url}{PATHS[style]} got no reply" in error.message

    @pytest.mark.parametrize("style", STYLES)
    def test_a_connection_that_does_not_come_about_was_free(self, style):
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{bound.getsockname()[1]}"
            with pytest.raises(TryAgain) as caught:
                complete(open_provider(config(style, url)))
        assert (caught.value.code, caught.value.free) == ("P6310", True)
        assert url in caught.value.message

    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("how", ["hang", "drip", "drip_head"])
    def test_a_reply_that_never_ends_can_be_given_up(self, fake, style, how):
        fake.does(getattr(fake, how))

        async def give_up():
            provider = open_provider(config(style, fake.url))
            call = asyncio.ensure_future(provider.complete(request(), CALL))
            while not fake.seen:
                await asyncio.sleep(0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            fake.does(Says())
            reply = await provider.complete(request(), CALL)
            await provider.aclose()
            return reply

        assert asyncio.run(give_up()).answer.text == "Paris."

    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("how", ["hang", "drip", "drip_head"])
    def test_a_reply_has_so_much_time_in_all_however_busy_it_is(self, fake, style, how):
        fake.does(getattr(fake, how))
        with pytest.raises(ProviderError) as caught:
            ask_at_a_desk(open_provider(config(style, fake.url)), timeout_s=0.3)
        assert (caught.value.code, caught.value.message) == ("P6310", "no reply within 0.3 s")

    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_a_redirect_is_not_followed(self, fake, style, status):
        with FakeProvider() as other:
            fake.does(redirects(other.url + PATHS[style], status))
            error = refused(style, fake)
            assert (error.code, kind(error)) == ("P6312", "never")
            assert f" replied {status}" in error.message
            assert "redirects are not followed" in error.hint
            assert (len(fake.seen), other.seen) == (1, [])


CAPTURED = {
    "chat_bad_role": "replied 500: 7 validation errors: {'type': 'literal_error', 'loc': ",
    "chat_bad_temperature": "replied 500: 1 validation error: {'type': 'float_parsing', 'loc': ",
    "chat_too_long": "replied 400: This model's maximum context length is 2048 tokens. However",
    "not_found": 'replied 404: {"detail":"Not Found"}',
    "chat_stream_schema": "replied 200 with a body that is not JSON",
    "completion_ok": "replied 200 with a body that is not in the format",
    "completion_length": "replied 200 with a body that is not in the format",
}
ANSWERS = {"chat_schema", "chat_schema_length", "chat_empty"}
"""Read as answers by the tests of replies."""


@pytest.mark.parametrize("name", CAPTURED)
def test_a_captured_reply_that_is_no_chat_completion_says_what_it_is(fake, name):
    fake.does(replays(name))
    error = refused("chat", fake)
    assert (error.code, kind(error)) == ("P6312", "never")
    assert CAPTURED[name] in error.message


def test_no_captured_reply_is_left_out():
    assert set(wire_names()) == CAPTURED.keys() | ANSWERS
