import asyncio
import json

import pytest

from live_support import FakeClock
from proctor.config import ProviderConfig
from proctor.errors import FileError, ManyProblems, ProviderError, UsageError
from proctor.providers.access import Access, open_providers
from proctor.providers.hosts import HostRules
from proctor.providers.keys import KeyRules
from proctor.providers.scripted import ScriptedAnswer, ScriptedProvider, load_script
from proctor.records import Call, Finish, Message, ModelChoice, Request, ToolCall, Usage


def request(*texts):
    messages = tuple(Message(role="user", content=text) for text in texts or ("Where is it?",))
    return Request(
        model=ModelChoice(ref="local/tiny", params={}), messages=messages, output_schema=None
    )


def complete(script, *texts, case="late-return", take=1, clock=None):
    provider = ScriptedProvider(script, clock=clock or FakeClock())
    return asyncio.run(provider.complete(request(*texts), Call(case, "0" * 64, take)))


def text_of(lines, *texts, **call):
    return complete([ScriptedAnswer(**line) for line in lines], *texts, **call).answer.text


class TestWhichLineAnswers:
    def test_the_first_line_that_fits_answers(self):
        assert text_of([{"text": "one"}, {"text": "two"}]) == "one"

    def test_a_line_for_another_case_is_passed_over(self):
        lines = [{"case": "other", "text": "one"}, {"case": "late-return", "text": "two"}]
        assert text_of(lines) == "two"
        assert text_of(lines, case="other") == "one"

    def test_lines_for_every_case_keep_their_place_among_the_others(self):
        lines = [
            {"case": "late-return", "take": 2, "text": "one"},
            {"take": 1, "text": "two"},
            {"case": "late-return", "text": "three"},
            {"text": "four"},
        ]
        assert [text_of(lines, take=take) for take in (1, 2, 3)] == ["two", "one", "three"]
        assert text_of(lines, case="other", take=2) == "four"

    def test_contains_is_looked_for_in_every_message(self):
        lines = [{"contains": "refund", "text": "one"}, {"text": "two"}]
        assert text_of(lines, "Be kind.", "A refund, please") == "one"
        assert text_of(lines, "Be kind.", "re", "fund") == "two"

    def test_everything_a_line_names_must_fit(self):
        lines = [{"case": "late-return", "contains": "refund", "take": 2, "text": "one"}]
        assert text_of(lines, "refund", take=2) == "one"
        for call in ({"case": "other", "take": 2}, {"take": 1}):
            with pytest.raises(ProviderError):
                text_of(lines, "refund", **call)
        with pytest.raises(ProviderError):
            text_of(lines, "return", take=2)

    def test_no_line_for_a_call_is_an_error_of_that_call(self):
        with pytest.raises(ProviderError) as caught:
            text_of([])
        assert (caught.value.code, caught.value.message) == (
            "P6312",
            "the script has no line for this call",
        )


class TestWhatIsAnswered:
    def test_a_line_is_the_whole_reply(self):
        line = ScriptedAnswer(
            text=None,
            tool_calls=[ToolCall("1", "find", {"order": 4})],
            finish=Finish.TOOL_CALLS,
            usage=Usage(10, 2, None),
            latency_ms=812,
        )
        reply = complete([line])
        assert (reply.answer.text, reply.answer.finish) == (None, Finish.TOOL_CALLS)
        assert reply.answer.tool_calls == line.tool_calls
        assert (reply.usage, reply.latency_ms, reply.cost_usd) == (Usage(10, 2, None), 812, 0.0)
        assert reply.response_model is None

    def test_what_a_line_leaves_out_is_unknown(self):
        reply = complete([ScriptedAnswer(text="Sure.")])
        assert (reply.answer.finish, reply.answer.tool_calls) == (Finish.STOP, [])
        assert (reply.usage, reply.latency_ms) == (None, 0)

    @pytest.mark.parametrize("answer", ["Sure.", ScriptedAnswer(text="Sure.")])
    def test_a_function_answers_each_call(self, answer):
        asked = []

        def script(request, call):
            asked.append((request.messages[0].content, call.case, call.take))
            return answer

        assert complete(script, "Where?", take=3).answer.text == "Sure."
        assert asked == [("Where?", "late-return", 3)]

    def test_latency_passes_before_the_answer_and_before_a_fault(self):
        clock = FakeClock()
        complete([ScriptedAnswer(text="", latency_ms=1_500)], clock=clock)
        assert clock.time_s == 1.5
        with pytest.raises(ProviderError):
            complete([ScriptedAnswer(fault=500, latency_ms=250)], clock=clock)
        assert clock.time_s == 1.75


class TestFaults:
    @pytest.mark.parametrize(
        ("fault", "code", "message"),
        [
            (401, "P6308", "the provider replied with status 401"),
            (403, "P6308", "the provider replied with status 403"),
            (408, "P6310", "the provider replied with status 408"),
            (429, "P6309", "the provider replied with status 429"),
            (500, "P6312", "the provider replied with status 500"),
            (504, "P6310", "the provider replied with status 504"),
            (302, "P6312", "the provider replied with status 302"),
            ("timeout", "P6310", "the provider took too long"),
            ("reset", "P6310", "the provider closed the connection"),
        ],
    )
    def test_a_fault_has_the_code_of_what_it_stands_for(self, fault, code, message):
        with pytest.raises(ProviderError) as caught:
            complete([ScriptedAnswer(text="never seen", fault=fault)])
        assert (caught.value.code, caught.value.message) == (code, message)

    def test_a_call_that_hangs_never_ends_by_itself(self):
        clock = FakeClock()

        async def wait():
            provider = ScriptedProvider([ScriptedAnswer(fault="hang")], clock=clock)
            call = asyncio.ensure_future(provider.complete(request(), Call("a", "0" * 64, 1)))
            while clock.time_s < 24 * 3_600:
                await asyncio.sleep(0)
            assert not call.done()
            call.cancel()

        asyncio.run(wait())


class TestReading:
    def load(self, tmp_path, *lines):
        (tmp_path / "script.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return load_script(tmp_path, "script.jsonl")

    def test_every_field_is_read(self, tmp_path):
        line = {
            "case": "a",
            "contains": "x",
            "take": 2,
            "text": "t",
            "tool_calls": [{"id": None, "name": "find", "args": "{"}],
            "finish": "length",
            "usage": {"input": 1, "output": 2, "cached": None},
            "latency_ms": 1.5,
            "fault": "hang",
        }
        assert self.load(tmp_path, json.dumps(line)) == [
            ScriptedAnswer(
                case="a",
                contains="x",
                take=2,
                text="t",
                tool_calls=[ToolCall(None, "find", "{")],
                finish=Finish.LENGTH,
                usage=Usage(1, 2, None),
                latency_ms=1.5,
                fault="hang",
            )
        ]

    def test_blank_lines_and_a_byte_order_mark_are_nothing(self, tmp_path):
        script = self.load(tmp_path, '\ufeff{"text": "one"}', "", "  ", '{"text": "two"}')
        assert [line.text for line in script] == ["one", "two"]

    def test_line_breaks_that_only_look_like_some_stay_in_a_text(self, tmp_path):
        (line,) = self.load(tmp_path, '{"text": "a\u2028b\u0085c\\nd"}')
        assert line.text == "a\u2028b\u0085c\nd"

    def test_every_line_that_is_not_part_of_a_script_is_named(self, tmp_path):
        with pytest.raises(ManyProblems) as caught:
            self.load(
                tmp_path,
                '{"text": "fine"}',
                "nonsense",
                '{"txet": "x"}',
                "",
                '{"text": "x", "text": "y"}',
                '{"take": 0}',
                '{"fault": 200}',
                '{"fault": "explode"}',
                '{"latency_ms": -1}',
                '{"usage": {"input": -1, "output": 1, "cached": 1}}',
                "[]",
            )
        problems = list(caught.value.problems())
        lines = [2, 3, 5, 6, 7, 8, 9, 10, 11]
        assert sorted({int(problem.where.split(":")[1]) for problem in problems}) == lines
        assert {problem.code for problem in problems} == {"P6003"}
        assert any("did you mean `text`?" in str(problem.hint) for problem in problems)

    def test_a_script_that_is_not_there_says_so(self, tmp_path):
        with pytest.raises(UsageError) as caught:
            load_script(tmp_path, "script.jsonl")
        assert caught.value.code == "P6003"
        assert "`script.jsonl` cannot be read: no such file" in caught.value.message

    @pytest.mark.parametrize(
        ("fault", "hint"), [("429", "write the number without quotes"), ("slow", None)]
    )
    def test_a_fault_that_is_no_word_says_what_is_one(self, tmp_path, fault, hint):
        with pytest.raises(UsageError) as caught:
            self.load(tmp_path, '{"text": "a"}', json.dumps({"fault": fault}))
        assert caught.value.code == "P6003"
        assert caught.value.where.endswith(":2")
        assert caught.value.message == (
            "`fault` is a number from 300 to 599, or one of timeout, reset, hang"
        )
        assert caught.value.hint == hint

    @pytest.mark.parametrize("outside", ["../out.jsonl", "a/../../out.jsonl", "/etc/hostname"])
    def test_a_script_outside_the_project_is_not_read(self, tmp_path, outside):
        (tmp_path / "out.jsonl").write_text('{"text": "a"}')
        root = tmp_path / "project"
        root.mkdir()
        with pytest.raises(FileError) as caught:
            load_script(root, outside, where="providers.local.answers")
        assert (caught.value.code, caught.value.where) == ("P6805", "providers.local.answers")

    def test_a_script_behind_a_link_is_not_read(self, tmp_path):
        (tmp_path / "script.jsonl").symlink_to("/etc/passwd")
        with pytest.raises(FileError) as caught:
            load_script(tmp_path, "script.jsonl")
        assert caught.value.code == "P6805"


class TestOpening:
    def open(self, tmp_path, names, **configured):
        configs = {name: ProviderConfig(**config) for name, config in configured.items()}
        access = Access(HostRules(), KeyRules())
        return open_providers(names, configs, root=tmp_path, clock=FakeClock(), access=access)

    def test_a_provider_answers_from_its_script(self, tmp_path):
        (tmp_path / "script.jsonl").write_text('{"text": "Sure."}\n', "utf-8")
        opened = self.open(
            tmp_path, ["local", "local"], local={"kind": "scripted", "answers": "script.jsonl"}
        )
        reply = asyncio.run(opened["local"].provider.complete(request(), Call("a", "0" * 64, 1)))
        assert reply.answer.text == "Sure."
        assert (opened["local"].provider.kind, opened["local"].provider.host) == ("scripted", None)
        assert opened["local"].key is None

    def test_every_provider_that_cannot_be_asked_is_named(self, tmp_path, monkeypatch):
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        with pytest.raises(ManyProblems) as caught:
            self.open(
                tmp_path,
                ["nobody", "cloud", "bare", "gone"],
                cloud={"kind": "openai"},
                bare={"kind": "scripted"},
                gone={"kind": "scripted", "answers": "gone.jsonl"},
                unused={"kind": "openai"},
            )
        problems = [(problem.code, problem.message) for problem in caught.value.problems()]
        assert problems == [
            ("P6301", "the scripted provider `bare` has no script"),
            ("P6306", "the variable `OPENAI_API_KEY` is not set"),
            ("P6003", "the script `gone.jsonl` cannot be read: no such file or directory"),
            ("P6301", "there is no provider `nobody` in the project's configuration"),
        ]
        assert all(problem.hint for problem in caught.value.problems() if problem.code == "P6301")
