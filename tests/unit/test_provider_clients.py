"""What the clients of the real SDKs send, and what they make of a good reply."""

import json
import logging

import httpx2
import pytest
from asked_providers import (
    KEY,
    KEY_VARIABLE,
    PATHS,
    STYLES,
    ask,
    complete,
    config,
    open_provider,
    request,
    with_key,
)

from fake_provider import Says, captured, replays
from proctor.errors import ProviderError, SuiteError
from proctor.records import Message, ModelChoice, Request, ToolSpec, Usage

SCHEMA = {
    "type": "object",
    "properties": {"label": {"type": "string", "enum": ["yes", "no"]}, "n": {"type": "integer"}},
    "required": ["label", "n"],
    "additionalProperties": False,
}
LOOSE = {"type": "object", "properties": {"label": {"type": "string", "maxLength": 5}}}
LOGGERS = ("anthropic", "httpcore2", "httpx2", "openai")
FIND = ToolSpec(
    name="find_order",
    description="Finds an order.",
    parameters={"type": "object", "properties": {"id": {"type": "integer"}}},
)


def sent(style, fake, asked, **more):
    ask(style, fake, asked, **more)
    return fake.only.body


class TestMessages:
    def test_a_chat_completion_has_the_messages_and_the_limit(self, fake):
        asked = request("Where is it?", "And when?", system="Be brief.", temperature=0.5, seed=7)
        assert sent("chat", fake, asked) == {
            "model": "tiny",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Where is it?"},
                {"role": "user", "content": "And when?"},
            ],
            "max_tokens": 16,
            "temperature": 0.5,
            "seed": 7,
        }

    def test_a_response_has_them_as_its_input_and_is_not_stored(self, fake):
        asked = request(system="Be brief.", reasoning_effort="low", verbosity="low")
        assert sent("responses", fake, asked) == {
            "model": "tiny",
            "input": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Where is it?"},
            ],
            "max_output_tokens": 16,
            "store": False,
            "reasoning": {"effort": "low"},
            "text": {"verbosity": "low"},
        }

    def test_a_message_has_what_the_system_says_apart(self, fake):
        asked = request(system="Be brief.", temperature=0.5, top_k=3, effort="low")
        assert sent("messages", fake, asked) == {
            "model": "tiny",
            "system": [{"type": "text", "text": "Be brief."}],
            "messages": [{"role": "user", "content": "Where is it?"}],
            "max_tokens": 16,
            "temperature": 0.5,
            "top_k": 3,
            "output_config": {"effort": "low"},
        }

    @pytest.mark.parametrize("roles", [("system",), ("user", "system"), ("system", "user") * 2])
    def test_a_system_message_that_cannot_stand_apart_is_refused_unsent(self, fake, roles):
        messages = tuple(Message(role=role, content="Hello.") for role in roles)
        model = ModelChoice(ref="local/tiny", params={"maxTokens": 16})
        asked = Request(model=model, messages=messages, output_schema=None)
        with pytest.raises(SuiteError) as caught:
            ask("messages", fake, asked)
        assert caught.value.code == "P6204"
        assert fake.seen == []

    @pytest.mark.parametrize("style", STYLES)
    def test_the_name_of_a_model_may_have_slashes(self, fake, style):
        model = ModelChoice(ref="local/org/tiny:free", params={"maxTokens": 16})
        asked = Request(model=model, messages=request().messages, output_schema=None)
        assert sent(style, fake, asked)["model"] == "org/tiny:free"

    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize(
        "text", ["na\u00efve \U0001f44d\U0001f3fd", "a\u2028b\0c\x7f", "\u05d0 \u202e", "{{x}}", ""]
    )
    def test_text_arrives_as_it_is(self, fake, style, text):
        body = sent(style, fake, request(text))
        assert (body.get("messages") or body["input"])[-1]["content"] == text

    @pytest.mark.parametrize("style", STYLES)
    def test_numbers_arrive_exactly(self, fake, style):
        body = sent(style, fake, request(temperature=0.1, top_p=1e-7, maxTokens=128_000))
        assert (body["temperature"], body["top_p"]) == (0.1, 1e-7)
        assert 128_000 in body.values()

    @pytest.mark.parametrize("style", STYLES)
    def test_half_of_a_character_is_refused_unsent(self, fake, style):
        with pytest.raises(ProviderError) as caught:
            ask(style, fake, request("a\ud800b"))
        assert (caught.value.code, caught.value.free) == ("P6312", True)
        assert "surrogate" in caught.value.message
        assert fake.seen == []


class TestToolsAndFormats:
    def test_a_chat_completion_names_its_tools_as_functions(self, fake):
        body = sent("chat", fake, request(tools=(FIND,), tool_choice="auto"))
        function = {
            "name": "find_order",
            "description": "Finds an order.",
            "parameters": FIND.parameters,
        }
        assert body["tools"] == [{"type": "function", "function": function}]
        assert body["tool_choice"] == "auto"

    def test_a_response_says_that_its_tools_are_not_strict(self, fake):
        tool = ToolSpec(name="find", parameters={"type": "object"})
        assert sent("responses", fake, request(tools=(tool,)))["tools"] == [
            {"type": "function", "name": "find", "parameters": {"type": "object"}, "strict": False}
        ]

    def test_a_message_names_what_its_tools_take(self, fake):
        assert sent("messages", fake, request(tools=(FIND,)))["tools"] == [
            {
                "name": "find_order",
                "description": "Finds an order.",
                "input_schema": FIND.parameters,
            }
        ]

    @pytest.mark.parametrize(("schema", "strict"), [(SCHEMA, True), (LOOSE, False)])
    def test_a_contract_is_strict_where_every_field_is_required(self, fake, schema, strict):
        named = {"name": "answer", "schema": schema, "strict": strict}
        body = sent("chat", fake, request(schema=schema))
        assert body["response_format"] == {"type": "json_schema", "json_schema": named}
        ask("responses", fake, request(schema=schema))
        assert fake.seen[-1].body["text"] == {"format": {"type": "json_schema", **named}}

    def test_a_strict_contract_is_sent_without_what_strict_mode_refuses(self, fake):
        text = {"type": "string", "minLength": 1, "maxLength": 5}
        names = {"maxLength": text, "default": {"type": "string", "enum": ["maxLength"]}}
        schema = {
            "type": "object",
            "properties": names,
            "required": list(names),
            "additionalProperties": False,
        }
        body = sent("chat", fake, request(schema=schema))
        assert body["response_format"]["json_schema"]["schema"]["properties"] == {
            "maxLength": {"type": "string"},
            "default": {"type": "string", "enum": ["maxLength"]},
        }

    def test_a_message_gets_the_contract_without_limits_it_does_not_know(self, fake):
        assert sent("messages", fake, request(schema=LOOSE))["output_config"] == {
            "format": {
                "type": "json_schema",
                "schema": {"type": "object", "properties": {"label": {"type": "string"}}},
            }
        }

    @pytest.mark.parametrize("style", STYLES)
    def test_without_structured_output_the_contract_is_not_sent(self, fake, style):
        asked = request(schema=SCHEMA)
        body = sent(style, fake, asked, structured_output="none")
        assert not {"response_format", "text", "output_config"} & set(body)

    def test_an_answer_by_a_tool_is_the_text_of_the_answer(self, fake):
        fake.does(Says(None, calls=(("c1", "answer", {"n": 1, "label": "yes"}),)))
        reply = ask("messages", fake, request(schema=SCHEMA), structured_output="tool")
        assert fake.only.body["tools"] == [{"name": "answer", "input_schema": SCHEMA}]
        assert fake.only.body["tool_choice"] == {"type": "tool", "name": "answer"}
        assert json.loads(reply.answer.text) == {"label": "yes", "n": 1}
        assert reply.answer.tool_calls == []

    def test_an_answer_by_a_tool_does_not_go_with_tools(self, fake):
        asked = request(schema=SCHEMA, tools=(FIND,))
        with pytest.raises(SuiteError) as caught:
            ask("messages", fake, asked, structured_output="tool")
        assert caught.value.code == "P6204"
        assert fake.seen == []

    def test_a_contract_as_a_json_object_is_what_a_real_server_was_sent(self, fake):
        body = captured("chat_schema")["request"]["body"]
        (message,) = body["messages"]
        fake.does(replays("chat_schema"))
        asked = request(
            message["content"],
            schema=body["response_format"]["schema"],
            temperature=body["temperature"],
            maxTokens=body["max_tokens"],
        )
        model = ModelChoice(ref=f"local/{body['model']}", params=asked.model.params)
        asked = Request(model=model, messages=asked.messages, output_schema=asked.output_schema)
        reply = ask("chat", fake, asked, structured_output="json_object")
        assert fake.only.body == body
        assert reply.answer.text == '{ "label": "positive"}'
        assert (reply.usage, reply.response_model) == (Usage(52, 11, None), body["model"])


class TestAddresses:
    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "whole path", "whole path and slash"])
    def test_every_spelling_of_a_base_url_comes_to_the_same_path(self, fake, style, tail):
        tails = {"whole path": PATHS[style], "whole path and slash": f"{PATHS[style]}/"}
        complete(open_provider(config(style, fake.url + tails.get(tail, tail))))
        assert fake.only.path == PATHS[style]

    def test_the_path_of_a_gateway_is_kept(self, fake):
        for base in ("/openai/v2", "/openai/v2/chat/completions"):
            complete(open_provider(config("chat", fake.url + base)))
        complete(open_provider(config("messages", f"{fake.url}/anthropic/v1/messages")))
        assert [seen.path for seen in fake.seen] == [
            "/openai/v2/chat/completions",
            "/openai/v2/chat/completions",
            "/anthropic/v1/messages",
        ]

    def test_localhost_is_asked_without_looking_it_up(self, fake):
        port = fake.address.partition(":")[2]
        provider = open_provider(config("chat", f"http://localhost:{port}"))
        complete(provider)
        assert fake.only.headers["host"] == fake.address == provider.host

    @pytest.mark.parametrize(
        ("style", "url", "limit"),
        [
            ("chat", "https://api.openai.com/v1/chat/completions", "max_completion_tokens"),
            ("responses", "https://api.openai.com/v1/responses", "max_output_tokens"),
            ("messages", "https://api.anthropic.com/v1/messages", "max_tokens"),
        ],
    )
    def test_the_providers_themselves_get_their_own_key(self, monkeypatch, style, url, limit):
        seen = []

        def answer(asked):
            seen.append(asked)
            return httpx2.Response(500, json={"error": {"message": "not today"}})

        monkeypatch.setattr(httpx2, "AsyncHTTPTransport", lambda **_: httpx2.MockTransport(answer))
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        with pytest.raises(ProviderError):
            complete(open_provider(config(style, None)))
        (asked,) = seen
        assert str(asked.url) == url
        assert json.loads(asked.content)[limit] == 16
        assert_only_key_is(KEY, asked.headers)


class TestHeaders:
    @pytest.mark.parametrize("style", STYLES)
    def test_only_what_the_format_needs_is_sent(self, fake, style):
        ask(style, fake)
        version = {"anthropic-version"} if style == "messages" else set()
        assert set(fake.only.headers) == version | {
            "accept",
            "accept-encoding",
            "connection",
            "content-length",
            "content-type",
            "host",
            "user-agent",
        }
        assert fake.only.headers["accept-encoding"] == "identity"
        assert fake.only.headers["user-agent"].startswith("proctor/")

    @pytest.mark.parametrize("style", STYLES)
    def test_a_key_travels_once_and_in_its_header(self, fake, monkeypatch, style):
        monkeypatch.setenv(KEY_VARIABLE, KEY)
        complete(with_key(style, fake))
        assert_only_key_is(KEY, fake.only.headers)
        assert fake.only.text.count(KEY) == 1

    @pytest.mark.parametrize("style", STYLES)
    def test_the_key_is_read_again_for_each_request(self, fake, monkeypatch, style):
        monkeypatch.setenv(KEY_VARIABLE, KEY)
        provider = with_key(style, fake)
        monkeypatch.setenv(KEY_VARIABLE, "sk-dummy-another-one")
        complete(provider)
        assert_only_key_is("sk-dummy-another-one", fake.only.headers)

    def test_a_key_that_is_gone_by_then_is_named_and_nothing_is_sent(self, fake, monkeypatch):
        monkeypatch.setenv(KEY_VARIABLE, KEY)
        provider = with_key("chat", fake)
        monkeypatch.delenv(KEY_VARIABLE)
        with pytest.raises(ProviderError) as caught:
            complete(provider)
        assert caught.value.code == "P6306"
        assert fake.seen == []


def assert_only_key_is(key, headers):
    keys = {name: headers[name] for name in ("authorization", "x-api-key") if name in headers}
    assert keys == {"authorization": f"Bearer {key}"}


class Listener(logging.Handler):
    """Hears what reaches the root logger."""

    def __init__(self):
        super().__init__()
        self.heard = []

    def emit(self, record):
        self.heard.append(record.name)


@pytest.mark.parametrize("style", STYLES)
def test_what_an_sdk_logs_is_heard_by_nobody(fake, monkeypatch, style):
    listener, loggers = Listener(), [logging.getLogger(name) for name in LOGGERS]
    monkeypatch.setattr(logging.root, "handlers", [*logging.root.handlers, listener])
    before = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.DEBUG)
        logging.getLogger("test").warning("heard")
        ask(style, fake)
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
    assert "test" in listener.heard
    assert not [name for name in listener.heard if name.partition(".")[0] in LOGGERS]
