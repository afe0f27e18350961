"""What the clients of the real SDKs make of a good reply."""

import asyncio
import json
import threading

import pytest
from asked_providers import CALL, STYLES, ask, config, open_provider, request

from fake_provider import Says, Sends, Tokens, replays
from proctor.records import Finish, ToolCall, Usage


class TestAnswers:
    @pytest.mark.parametrize("style", STYLES)
    def test_a_good_reply_is_its_text_its_tokens_and_its_model(self, fake, style):
        reply = ask(style, fake)
        assert (reply.answer.text, reply.answer.tool_calls) == ("Paris.", [])
        assert reply.answer.finish is Finish.STOP
        assert (reply.usage.input, reply.usage.output) == (412, 58)
        assert reply.response_model == "fake-1-20261130"
        assert (reply.cost_usd, reply.latency_ms) == (None, None)

    @pytest.mark.parametrize(
        ("style", "finish"),
        [(style, word) for style in STYLES for word in ("length", "refusal", "other")]
        + [("chat", "content_filter"), ("responses", "content_filter")],
    )
    def test_why_a_model_stopped_is_kept_with_what_it_said(self, fake, style, finish):
        fake.does(Says("So far", finish=finish))
        answer = ask(style, fake).answer
        assert (answer.text, answer.finish) == ("So far", Finish(finish))

    @pytest.mark.parametrize(
        ("style", "word", "finish"),
        [
            ("messages", "stop_sequence", "stop"),
            ("messages", "model_context_window_exceeded", "length"),
            ("messages", "pause_turn", "other"),
            ("chat", "function_call", "tool_calls"),
        ],
    )
    def test_other_words_of_a_provider_are_known(self, fake, style, word, finish):
        fake.does(Says("So far", finish=word))
        assert ask(style, fake).answer.finish == finish

    @pytest.mark.parametrize("style", STYLES)
    def test_an_empty_text_is_an_answer(self, fake, style):
        fake.does(Says(""))
        assert ask(style, fake).answer.text == ""

    @pytest.mark.parametrize("style", STYLES)
    def test_calls_of_tools_without_a_text_leave_it_absent(self, fake, style):
        fake.does(Says(None, calls=(("c1", "find", {"id": 4}),), finish="tool_calls"))
        answer = ask(style, fake).answer
        assert (answer.text, answer.finish) == (None, Finish.TOOL_CALLS)
        assert answer.tool_calls == [ToolCall("c1", "find", {"id": 4})]

    @pytest.mark.parametrize("style", STYLES)
    def test_a_text_and_several_calls_are_all_kept_in_order(self, fake, style):
        calls = (("c1", "find", {"id": 4}), ("c2", "find", {"id": 5, "deep": {"a": [1.5, None]}}))
        fake.does(Says("Let me look.", calls=calls, finish="tool_calls"))
        answer = ask(style, fake).answer
        assert answer.text == "Let me look."
        assert answer.tool_calls == [ToolCall(*call) for call in calls]

    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("raw", ["{", "", "[1]", "null", '{"a": 1, "a": 2}', '{"a": NaN}'])
    def test_arguments_that_are_no_json_object_stay_as_they_came(self, fake, style, raw):
        fake.does(Says("Let me look.", calls=(("c1", "find", raw),), finish="tool_calls"))
        assert ask(style, fake).answer.tool_calls == [ToolCall("c1", "find", raw)]

    @pytest.mark.parametrize(
        ("sent", "kept"),
        [("[1180591620717411303424]", "[1180591620717411303424]"), ('["\\ud800"]', '["\\ud800"]')],
    )
    def test_arguments_of_another_type_become_their_text(self, fake, sent, kept):
        body = (
            '{"content": [{"type": "tool_use", "id": "c1", "name": "find", "input": %s}],'
            ' "stop_reason": "tool_use"}'
        )
        fake.does(Sends(body % sent))
        assert ask("messages", fake).answer.tool_calls == [ToolCall("c1", "find", kept)]

    def test_texts_in_several_blocks_are_one_text(self, fake):
        blocks = [
            {"type": "thinking", "thinking": "Hm.", "signature": "x"},
            {"type": "text", "text": "Par"},
            {"type": "something_new", "text": "no"},
            {"type": "server_tool_use", "id": "s1", "name": "search", "input": {}},
            {"type": "text", "text": "is."},
        ]
        fake.does(Sends(json.dumps({"content": blocks, "stop_reason": "end_turn"})))
        answer = ask("messages", fake).answer
        assert (answer.text, answer.tool_calls) == ("Paris.", [])

    def test_a_chat_message_in_parts_is_one_text(self, fake):
        parts = [{"type": "text", "text": "Par"}, {"type": "text", "text": "is."}]
        fake.does(Sends(json.dumps({"choices": [{"message": {"content": parts}}]})))
        assert ask("chat", fake).answer.text == "Paris."

    def test_a_response_that_only_thought_until_its_limit_is_cut_off(self, fake):
        body = {
            "output": [{"type": "reasoning", "summary": []}],
            "status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"},
        }
        fake.does(Sends(json.dumps(body)))
        answer = ask("responses", fake).answer
        assert (answer.text, answer.finish) == (None, Finish.LENGTH)

    @pytest.mark.parametrize("style", STYLES)
    def test_text_survives_in_every_spelling(self, fake, style):
        text = "na\u00efve \U0001f44d\U0001f3fd \u2028 \0 \ud800"
        fake.does(Says(text))
        assert ask(style, fake).answer.text == text

    def test_fifty_calls_are_in_flight_at_once(self, fake):
        together = threading.Barrier(50)

        def wait_for_all(seen):
            together.wait(60)
            return Says()(seen)

        fake.does(wait_for_all)
        provider = open_provider(config("chat", fake.url))

        async def all_at_once():
            try:
                return await asyncio.gather(
                    *(provider.complete(request(), CALL) for _ in range(50))
                )
            finally:
                await provider.aclose()

        assert [reply.answer.text for reply in asyncio.run(all_at_once())] == ["Paris."] * 50

    def test_captured_replies_of_a_real_server_are_read(self, fake):
        fake.does(replays("chat_schema_length"), replays("chat_empty"))
        cut, empty = ask("chat", fake), ask("chat", fake)
        assert (cut.answer.text, cut.answer.finish) == ('{ "summary": "', Finish.LENGTH)
        assert cut.usage == Usage(52, 8, None)
        assert (empty.answer.text, empty.answer.finish) == ("", Finish.STOP)
        assert empty.usage == Usage(22, 0, None)


class TestTokens:
    @pytest.mark.parametrize(
        ("style", "tokens", "usage", "written"),
        [
            ("chat", Tokens(10, 2, cached=5), Usage(10, 2, 5), 0),
            ("responses", Tokens(10, 2, cached=5), Usage(10, 2, 5), 0),
            ("messages", Tokens(10, 2, cached=5), Usage(15, 2, 5), 0),
            ("chat", Tokens(10, 2, cached=5, written=3), Usage(10, 2, 5), 3),
            ("responses", Tokens(10, 2, cached=5, written=3), Usage(10, 2, 5), 3),
            ("messages", Tokens(10, 2, cached=5, written=3), Usage(18, 2, 5), 3),
            ("chat", Tokens(10, 2), Usage(10, 2, None), 0),
            ("messages", Tokens(10, 2), Usage(10, 2, 0), 0),
        ],
    )
    def test_cached_tokens_count_once_inside_or_beside(self, fake, style, tokens, usage, written):
        fake.does(Says(tokens=tokens))
        reply = ask(style, fake)
        assert (reply.usage, reply.cache_written) == (usage, written)

    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("wrong", [-1, 1.5, 1_000_000_001, 1e300, "12", True, [12], None])
    def test_a_count_that_is_none_is_unknown_and_the_others_stay(self, fake, style, wrong):
        fake.does(Says(tokens=Tokens(wrong, 2)), Says(tokens=Tokens(10, wrong)))
        first, second = ask(style, fake).usage, ask(style, fake).usage
        assert (first.input, first.output) == (None, 2)
        assert (second.input, second.output) == (10, None)

    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("right", [0, 12, 12.0, 1_000_000_000])
    def test_a_whole_number_up_to_a_billion_is_a_count(self, fake, style, right):
        fake.does(Says(tokens=Tokens(right, 2)))
        usage = ask(style, fake).usage
        assert (usage.input, type(usage.input)) == (right, int)

    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("wrong", [-1, 1.5, "many"])
    def test_a_wrong_count_of_written_tokens_makes_the_input_unknown(self, fake, style, wrong):
        fake.does(Says(tokens=Tokens(10, 2, written=wrong)))
        reply = ask(style, fake)
        assert (reply.usage.input, reply.cache_written) == (None, 0)

    @pytest.mark.parametrize("style", ["chat", "responses"])
    @pytest.mark.parametrize("wrong", [-1, 1.5, 11])
    def test_a_wrong_count_of_cached_tokens_among_the_others_is_unknown(self, fake, style, wrong):
        fake.does(Says(tokens=Tokens(10, 2, cached=wrong)))
        assert ask(style, fake).usage == Usage(10, 2, None)

    @pytest.mark.parametrize("wrong", [-1, 1.5])
    def test_a_wrong_count_of_cached_tokens_beside_the_others_leaves_no_sum(self, fake, wrong):
        fake.does(Says(tokens=Tokens(10, 2, cached=wrong)))
        assert ask("messages", fake).usage == Usage(None, 2, None)

    @pytest.mark.parametrize("style", STYLES)
    def test_no_usage_at_all_is_unknown(self, fake, style):
        fake.does(Says(tokens=None))
        assert ask(style, fake).usage is None
