"""What the clients of the real SDKs make of refusals: whether to ask again, and what is shown."""

import json
import traceback

import pytest
from asked_providers import (
    KEY,
    KEY_VARIABLE,
    PATHS,
    STYLES,
    NoonClock,
    complete,
    kind,
    refused,
    with_key,
)
from hypothesis import example, given
from hypothesis import strategies as st

from fake_provider import (
    Fails,
    Says,
    Sends,
    replays,
)
from proctor.errors import ProviderError
from proctor.providers.wire import asked_wait_s

DAY_S = 86_400.0
LOGIN = "<html><title>Sign in</title>\n<form action='/login'></form></html>"


class TestStatuses:
    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize(
        ("status", "code", "then", "free"),
        [
            (400, "P6312", "never", True),
            (401, "P6308", "never", True),
            (403, "P6308", "never", True),
            (404, "P6312", "never", True),
            (408, "P6310", "again", False),
            (422, "P6312", "never", True),
            (429, "P6309", "slower", True),
            (500, "P6312", "again", False),
            (502, "P6312", "again", False),
            (503, "P6312", "again", False),
            (504, "P6310", "again", False),
            (529, "P6309", "slower", True),
        ],
    )
    def test_a_status_has_its_code_and_says_whether_to_ask_again(
        self, fake, style, status, code, then, free
    ):
        fake.does(Fails(status))
        error = refused(style, fake)
        assert (error.code, kind(error), error.free) == (code, then, free)
        called = f"POST {fake.url}{PATHS[style]}"
        assert error.message == f"{called} replied {status}: it went wrong"
        assert getattr(error, "status", status) == status
        assert len(fake.seen) == 1

    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("said", ["2 validation errors", "Validation Error"])
    def test_a_500_that_says_validation_error_is_not_asked_again(self, fake, style, said):
        fake.does(Fails(500, f"{said}: {{'loc': ('body', 'temperature')}}"))
        error = refused(style, fake)
        assert (error.code, kind(error)) == ("P6312", "never")
        assert said in error.message

    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("status", [201, 202, 204, 206, 418, 451])
    def test_any_other_status_is_no_answer_whatever_comes_with_it(self, fake, style, status):
        good = Says().any_body()
        fake.does(Sends(json.dumps(good), status))
        error = refused(style, fake)
        assert (error.code, kind(error)) == ("P6312", "never")
        assert f" replied {status}" in error.message

    def test_a_quota_that_is_used_up_is_not_waited_for(self, fake):
        fake.does(Fails(429, "You exceeded your quota.", code="insufficient_quota"))
        error = refused("chat", fake)
        assert (error.code, kind(error), error.free) == ("P6309", "never", True)
        assert "waiting will not help" in error.hint

    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("status", [400, 403])
    @pytest.mark.parametrize(
        "fails",
        [
            {"message": "The response was filtered.", "code": "content_filter"},
            {"message": "Triggered the content management policy."},
        ],
    )
    def test_a_content_filter_has_its_own_code(self, fake, style, status, fails):
        fake.does(Sends(json.dumps({"error": fails}), status))
        error = refused(style, fake)
        assert (error.code, kind(error)) == ("P6311", "never")

    @pytest.mark.parametrize(
        ("style", "body"),
        [
            ("chat", {"error": {"message": "no such thing", "param": "seed"}}),
            ("chat", {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs"}]}),
            ("messages", {"type": "error", "error": {"message": "seed: Extra inputs"}}),
        ],
    )
    @pytest.mark.parametrize("status", [400, 422])
    def test_the_hint_names_the_field_that_a_server_rejects(self, fake, style, body, status):
        fake.does(Sends(json.dumps(body), status))
        error = refused(style, fake)
        assert (error.code, kind(error)) == ("P6312", "never")
        assert "`seed`" in error.hint
        assert "params" in error.hint

    def test_what_is_no_name_of_a_field_is_not_in_the_hint(self, fake):
        fake.does(Fails(400, param="`rm -rf`\n"))
        assert "rm" not in refused("chat", fake).hint

    def test_a_format_that_is_not_taken_points_to_the_setting(self, fake):
        fake.does(Fails(400, "response_format is not supported", param="response_format"))
        assert "structured_output" in refused("chat", fake).hint

    def test_a_missing_path_points_to_the_address_and_the_model(self, fake):
        fake.does(replays("not_found"))
        error = refused("chat", fake)
        assert '{"detail":"Not Found"}' in error.message
        assert "base_url" in error.hint


class TestWhatIsShown:
    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("status", [200, 400, 500])
    def test_the_first_200_characters_of_a_body_are_shown_on_one_line(self, fake, style, status):
        fake.does(Sends(LOGIN + "x" * 300, status, "text/html"))
        message = refused(style, fake).message
        shown = message[message.index("<html>") :]
        assert shown == (LOGIN.replace("\n", " ") + "x" * 300)[:200] + "..."
        assert f" replied {status}" in message

    @pytest.mark.parametrize("status", [400, 500])
    def test_an_error_is_shown_by_its_message_up_to_200_characters(self, fake, status):
        fake.does(Fails(status, "y" * 201))
        assert refused("messages", fake).message.endswith(f"replied {status}: {'y' * 200}...")
        fake.does(Fails(status, "y" * 200))
        assert refused("messages", fake).message.endswith(f"replied {status}: {'y' * 200}")

    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize(
        "echo",
        [
            Fails(401, "Incorrect API key provided: {key}."),
            Fails(401, "z" * 180 + "{key}"),
            Sends("z" * 180 + KEY),
            Fails(400, "no", param=KEY),
            Fails(200, "Incorrect API key provided: {key}."),
            Sends(f"<html>{KEY}", 500),
            Sends(f'{{"{KEY}": 1, "{KEY}": 2}}'),
            Sends("", 302, headers={"Location": f"https://evil.example/?key={KEY}"}),
            Sends("", 200, headers={"Content-Encoding": KEY}),
        ],
    )
    def test_a_key_that_comes_back_is_shown_nowhere(self, fake, monkeypatch, style, echo):
        monkeypatch.setenv(KEY_VARIABLE, KEY)
        fake.does(echo)
        with pytest.raises(ProviderError) as caught:
            complete(with_key(style, fake))
        error = caught.value
        assert KEY in fake.only.text
        seen = "".join([*traceback.format_exception(error), repr(error.__dict__), repr(error)])
        assert KEY[:12] not in seen


class TestWaits:
    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("status", [429, 503, 529])
    def test_the_time_a_provider_asks_for_is_kept(self, fake, style, status):
        fake.does(Fails(status, headers={"Retry-After": "7"}))
        assert refused(style, fake).wait_s == 7.0

    @pytest.mark.parametrize(
        ("said", "wait_s"),
        [
            ("0", 0.0),
            ("1.5", 1.5),
            (" 30 ", 30.0),
            ("Mon, 30 Nov 2026 12:00:30 GMT", 30.0),
            ("Mon, 30 Nov 2026 13:01:00 +0100", 60.0),
            ("Mon, 30 Nov 2026 12:00:30 -0000", 30.0),
            ("Monday, 30-Nov-26 12:02:00 GMT", 120.0),
            ("Mon Nov 30 12:00:10 2026", 10.0),
            ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0),
            ("-5", 0.0),
            ("99999999", DAY_S),
            ("Fri, 30 Nov 2096 12:00:00 GMT", DAY_S),
            ("soon", None),
            ("", None),
            ("nan", None),
            ("inf", None),
            ("1e999", None),
            ("Mon, 30 Nov 99999999999999999999 12:00:00 GMT", None),
            ("Mon, 30 Nov 2026 99:00:00 GMT", None),
        ],
    )
    def test_retry_after_is_seconds_or_a_date(self, fake, said, wait_s):
        fake.does(Fails(429, headers={"Retry-After": said}))
        assert refused("chat", fake).wait_s == wait_s

    def test_a_provider_that_does_not_say_how_long_is_not_guessed_for(self, fake):
        fake.does(Fails(429))
        assert refused("chat", fake).wait_s is None

    @given(st.text() | st.from_regex(r"[A-Z][a-z]{2}, \d+ [A-Z][a-z]{2} \d+ [\d:]+ [-+\w]*"))
    @example("Mon, 30 Nov 2026 12:00:30 +99999999999999")
    def test_no_header_makes_a_wait_of_more_than_a_day_or_an_error(self, said):
        wait_s = asked_wait_s({"retry-after": said}, now=NoonClock().now())
        assert wait_s is None or 0 <= wait_s <= DAY_S
