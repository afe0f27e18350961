"""What a target hands back, and the answer that becomes of it."""

from dataclasses import dataclass

import pytest

from proctor import Build, TargetAnswer
from proctor.canonical import canonical_json
from proctor.errors import TargetError
from proctor.records import Answer, Finish, ToolCall, Usage, encode_json, model_answer
from proctor.scrubbing import SECRETS, Scrubber
from proctor.targets import replies
from proctor.targets.replies import MAX_BESIDE, built_of, reply_of, reply_of_text


class Loose:
    """An object that is no record of ours, with some parts of an answer."""

    def __init__(self, **parts):
        self.__dict__.update(parts)


@dataclass
class Point:
    x: int
    y: list


class Model:
    """What pydantic's models have."""

    def model_dump(self, *, mode):
        return {"mode": mode, "n": 1}


def answer(value):
    reply = reply_of(value)
    assert (reply.latency_ms, reply.response_model, reply.cache_written) == (None, None, 0)
    return reply.answer


# What is an answer


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Paris.", "Paris."),
        ("", ""),
        (" {} \n", " {} \n"),
        ('{"text": "a"}', '{"text": "a"}'),
        ({"label": "yes"}, '{"label":"yes"}'),
        ({"b": 1.0, "a": [None, True]}, '{"a":[null,true],"b":1}'),
        ({"text": "a", "label": "yes"}, '{"label":"yes","text":"a"}'),
        ({}, "{}"),
        ([1, "é"], '[1,"é"]'),
        ((1, 2), "[1,2]"),
        (3, "3"),
        (0.5, "0.5"),
        (True, "true"),
        (Point(1, [2]), '{"x":1,"y":[2]}'),
        (Model(), '{"mode":"json","n":1}'),
        ({"deep": Model()}, '{"deep":{"mode":"json","n":1}}'),
        ("lone \ud800", "lone \ud800"),
    ],
    ids=range(17),
)
def test_a_text_is_itself_and_other_json_is_canonical(value, text):
    assert answer(value) == model_answer(text)


WHOLE = {
    "text": "Done.",
    "tool_calls": [{"name": "look", "args": {"q": 1}}, {"id": "c2", "name": "buy", "args": "{"}],
    "finish": "length",
    "evidence": {"orders": [1]},
    "transcript": ["a"],
    "context": {"k": None},
    "debug": "d",
    "turns": 3,
    "usage": {"input": 10, "output": 4},
    "cost_usd": 0.5,
}


@pytest.mark.parametrize(
    "value",
    [
        WHOLE,
        Loose(**WHOLE),
        TargetAnswer(
            **WHOLE
            | {
                "tool_calls": [ToolCall(None, "look", {"q": 1}), ToolCall("c2", "buy", "{")],
                "finish": Finish.LENGTH,
                "usage": Usage(10, 4, None),
            }
        ),
    ],
    ids=["mapping", "object", "record"],
)
def test_an_answer_may_have_more_to_it(value):
    reply = reply_of(value)
    assert reply.answer == Answer(
        text="Done.",
        tool_calls=[ToolCall(None, "look", {"q": 1}), ToolCall("c2", "buy", "{")],
        finish=Finish.LENGTH,
        evidence={"orders": [1]},
        artifact=None,
        transcript=["a"],
        context={"k": None},
        debug="d",
        turns=3,
    )
    assert (reply.usage, reply.cost_usd) == (Usage(10, 4, None), 0.5)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (TargetAnswer(), None),
        (TargetAnswer(text=""), ""),
        (Loose(evidence=[1]), None),
        ({"tool_calls": [{"name": "look"}]}, None),
        (model_answer("mine"), "mine"),
    ],
    ids=range(5),
)
def test_an_answer_may_have_no_text(value, text):
    assert answer(value).text == text


@pytest.mark.parametrize(
    ("parts", "usage", "cost"),
    [
        ({}, None, None),
        ({"usage": {"input": -1, "output": 1.5, "cached": 2}}, Usage(None, None, 2), None),
        ({"usage": {"input": 4.0, "output": 10**10}}, Usage(4, None, None), None),
        ({"usage": {"prompt_tokens": 3}}, None, None),
        ({"usage": 7, "cost_usd": "0.5"}, None, None),
        ({"cost_usd": 0}, None, 0.0),
        ({"cost_usd": -0.1}, None, None),
        ({"cost_usd": True}, None, None),
    ],
    ids=range(8),
)
def test_figures_that_cannot_be_are_unknown_and_never_nothing(parts, usage, cost):
    reply = reply_of({"text": "a", **parts})
    assert (reply.usage, reply.cost_usd) == (usage, cost)


@pytest.mark.parametrize(("turns", "read"), [(0, 0), (-1, None), (1.5, None), (True, None)])
def test_turns_are_counted_in_whole_numbers(turns, read):
    assert answer({"text": "a", "turns": turns}).turns == read


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "returned nothing"),
        (object(), "a value of type object that is no JSON"),
        (b"secret", "a value of type bytes that is no JSON"),
        ({"secret"}, "a value of type set that is no JSON"),
        (float("nan"), "a value of type float that is no JSON"),
        ({"a": float("inf")}, "a value of type dict that is no JSON"),
        ({("a",): 1}, "a value of type dict that is no JSON"),
        (lambda: 1, "a value of type function that is no JSON"),
        ({"text": 3}, "an answer whose `text` cannot be used"),
        ({"text": "secret", "finish": "secret"}, "an answer whose `finish` cannot be used"),
        ({"text": "a", "tool_calls": "secret"}, "an answer whose `tool_calls` cannot be used"),
        ({"text": "a", "tool_calls": [{"args": {}}]}, "an answer whose `tool_calls[0]` cannot be"),
        (Loose(text=object()), "a value of type dict that is no JSON"),
        (Loose(text=["secret"]), "an answer whose `text` cannot be used"),
    ],
    ids=range(14),
)
def test_what_is_no_answer_is_a_failure_of_the_target_that_quotes_nothing(value, words):
    with pytest.raises(TargetError) as caught:
        reply_of(value)
    assert caught.value.code == "P6701"
    assert words in caught.value.message
    assert "secret" not in caught.value.message


def nested(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_an_answer_is_no_deeper_than_a_recording_can_be():
    assert answer({"text": "a", "evidence": nested(50)}).evidence == nested(50)
    for levels in (60, 5_000):
        with pytest.raises(TargetError):
            reply_of({"text": "a", "evidence": nested(levels)})


def test_an_answer_that_holds_itself_is_none():
    ring = []
    ring.append(ring)
    with pytest.raises(TargetError):
        reply_of({"text": "a", "evidence": ring})


def test_an_answer_is_at_most_a_mebibyte():
    assert len(answer("x" * 1_000_000).text) == 1_000_000
    for value in ("x" * 1024 * 1024, {"text": "a", "evidence": "x" * 1024 * 1024}):
        with pytest.raises(TargetError, match="larger than 1 MiB"):
            reply_of(value)


# What comes as text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Paris.", "Paris."),
        ("", ""),
        ('{"label": "yes"}', '{"label": "yes"}'),
        ('{"text": "Done.", "turns": 2}', "Done."),
        (' \n{"text": "Done."}', "Done."),
        ('{"text": "Done.", "label": 1}', '{"text": "Done.", "label": 1}'),
        ('{"text": "a", "text": "b"}', '{"text": "a", "text": "b"}'),
        ('{"text": "cut', '{"text": "cut'),
        ('{"text": null, "tool_calls": [{"name": "look"}]}', None),
        ('["text"]', '["text"]'),
        ('{"text": NaN}', '{"text": NaN}'),
        ('{"text": ' + "[" * 70, '{"text": ' + "[" * 70),
    ],
)
def test_a_text_from_outside_is_itself_unless_it_is_an_answer_with_more_to_it(text, read):
    assert reply_of_text(text).answer.text == read


def test_an_answer_from_outside_that_cannot_be_used_is_told():
    with pytest.raises(TargetError, match="`text` cannot be used"):
        reply_of_text('{"text": 3}')


@pytest.mark.parametrize(
    ("text", "debug"),
    [
        ("a", {"stderr": "log"}),
        ('{"text": "a", "debug": {"n": 1}}', {"n": 1, "stderr": "log"}),
        ('{"text": "a", "debug": [1]}', {"debug": [1], "stderr": "log"}),
    ],
)
def test_what_was_written_beside_it_is_kept_for_people(text, debug):
    assert reply_of_text(text, stderr="log").answer.debug == debug


# Secrets, and what is long


@pytest.fixture
def secret(monkeypatch):
    scrubber = Scrubber()
    scrubber.add("sk-test-0001/2")
    monkeypatch.setattr(replies, "SECRETS", scrubber)
    assert SECRETS is not scrubber
    return "sk-test-0001/2"


@pytest.mark.parametrize(
    "parts", [{"text": "{}"}, {"evidence": ["{}"]}, {"tool_calls": [{"name": "a", "args": "{}"}]}]
)
def test_an_answer_with_a_key_in_it_is_not_kept(secret, parts):
    filled = {"text": "a"} | parts
    said = canonical_json(filled).decode().replace("{}", secret)
    with pytest.raises(TargetError) as caught:
        reply_of_text(said)
    assert caught.value.code == "P6312"
    assert secret not in f"{caught.value.message}{caught.value.hint}"


def test_a_key_is_taken_out_of_what_only_people_look_at(secret):
    said = {"text": "a", "debug": {"log": f"k={secret}"}, "transcript": [secret], "context": secret}
    found = answer(said)
    assert (found.debug, found.transcript, found.context) == (
        {"log": "k=[redacted]"},
        ["[redacted]"],
        "[redacted]",
    )


@pytest.mark.parametrize(
    "value", ["x" * MAX_BESIDE + "y", ["é" * MAX_BESIDE], {"k": "\n" * MAX_BESIDE}]
)
def test_what_only_people_look_at_is_cut_and_says_so(value):
    found = answer({"text": "a", "debug": value, "transcript": value, "context": value})
    assert found.debug.endswith("... (cut here)")
    assert len(encode_json(found)) < 1024 * 1024
    assert answer({"text": "a", "debug": "x" * MAX_BESIDE}).debug == "x" * MAX_BESIDE


# What is built


def test_what_is_built_is_handed_on_and_recorded_where_it_is_json():
    artifact = {"files": ["a"]}
    built = built_of(Build(artifact, transcript=["t"], context="c", debug=1, turns=2))
    assert built.artifact is artifact
    assert built.reply.answer == Answer(
        text=None,
        tool_calls=[],
        finish=Finish.STOP,
        evidence=None,
        artifact={"files": ["a"]},
        transcript=["t"],
        context="c",
        debug=1,
        turns=2,
    )


@pytest.mark.parametrize(
    ("value", "recorded"),
    [
        ({"a": 1}, {"a": 1}),
        ("path/to/it", "path/to/it"),
        (Point(1, []), {"x": 1, "y": []}),
        (Loose(artifact=[1]), [1]),
        (None, None),
    ],
    ids=range(5),
)
def test_anything_else_is_the_artifact_itself(value, recorded):
    built = built_of(value)
    assert built.reply.answer.artifact == recorded
    assert built.artifact == (value.artifact if isinstance(value, Loose) else value)


@pytest.mark.parametrize(
    "artifact", [object(), lambda: 1, {"open": object()}, nested(80)], ids=range(4)
)
def test_an_artifact_that_is_no_json_is_only_handed_on(artifact):
    built = built_of(Build(artifact, usage=Usage(1, 2, None), cost_usd=0.25))
    assert built.artifact is artifact
    assert built.reply.answer.artifact is None
    assert (built.reply.usage, built.reply.cost_usd) == (Usage(1, 2, None), 0.25)


def test_an_artifact_is_at_most_a_mebibyte():
    with pytest.raises(TargetError, match="larger than 1 MiB"):
        built_of("x" * 1024 * 1024)
