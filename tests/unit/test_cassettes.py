import gc
import json
import os
from hashlib import sha256
from pathlib import Path

import pytest

from proctor.cassettes import open_cassette
from proctor.errors import CassetteError
from proctor.recorded import Replay, explain_miss
from proctor.records import (
    Answer,
    Call,
    CallKind,
    Finish,
    ModelChoice,
    Prompt,
    Recording,
    Subject,
    ToolCall,
    Usage,
)

EXAMPLES = Path(__file__).parents[2] / "examples"
SHOWN = "evals/cassettes/quiz.jsonl"
BUNDLE = "b" * 64
INPUTS = "1" * 64
PARAMS = {"maxTokens": 400, "temperature": 0}
MODEL = "anthropic/claude-haiku-4-5"


def key_of(line):
    """The key as the format describes it, made without Proctor."""
    parts = {
        "v": 1,
        "call": line["call"],
        "prompt": line["parts"]["prompt"],
        "inputs": line["parts"]["inputs"],
        "model": line["model"],
        "params": line["parts"]["params"],
        "take": line["take"],
    }
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(canonical.encode("utf-8", "backslashreplace")).hexdigest()


def recording(text="Sure.", *, parts=None, answer=None, **changes):
    """One line of a cassette as an object, with the key that follows from its parts."""
    line = {
        "v": 1,
        "key": None,
        "model": MODEL,
        "case": "late-return",
        "scenario": None,
        "assertion": None,
        "call": "answer",
        "take": 1,
        "parts": {"prompt": BUNDLE, "inputs": INPUTS, "params": dict(PARAMS)} | (parts or {}),
        "answer": {
            "text": text,
            "tool_calls": [],
            "finish": "stop",
            "evidence": None,
            "artifact": None,
            "transcript": None,
            "context": None,
            "debug": None,
            "turns": None,
        }
        | (answer or {}),
        "usage": {"input": 412, "output": 58, "cached": 0},
        "cost_usd": 0.00021,
        "latency_ms": 812,
        "recorded": {
            "provider": "anthropic",
            "host": "api.anthropic.com",
            "response_model": None,
            "on": "2026-11-30",
        },
    }
    line |= changes
    line["key"] = line["key"] or key_of(line)
    return line


def spelled(line):
    return line if isinstance(line, bytes) else json.dumps(line, separators=(",", ":")).encode()


def subject(*, bundle=BUNDLE, model=MODEL, params=None):
    prompt = Prompt(
        id="reply",
        path="prompts/reply.prompt.yaml",
        messages=(),
        inputs={},
        output=None,
        model=None,
        bundle_sha256=bundle,
    )
    return Subject(prompt=prompt, model=ModelChoice(ref=model, params=params or PARAMS))


def call(take=1, case="late-return", inputs=INPUTS):
    return Call(case, inputs, take)


@pytest.fixture
def load(tmp_path):
    """Write the lines of a cassette and open it; cassettes are closed at the end."""
    opened = []

    def load_lines(*lines):
        data = b"".join(spelled(line) + b"\n" for line in lines)
        return load_bytes(data)

    def load_bytes(data):
        (tmp_path / "quiz.jsonl").write_bytes(data)
        cassette, problems = open_cassette(tmp_path, "quiz.jsonl", SHOWN)
        opened.append(cassette)
        return cassette, problems

    load_lines.bytes = load_bytes
    yield load_lines
    for cassette in opened:
        cassette.close()


@pytest.fixture
def good(load):
    """A cassette that must have no problems."""

    def load_good(*lines):
        cassette, problems = load(*lines)
        assert [problem.message for problem in problems] == []
        return cassette

    return load_good


def replay(cassette, **changes):
    return Replay(cassette, subject(**changes), "proctor run quiz --cache record --max-cost USD")


def told(problems):
    return [
        f"{one.where.removeprefix(SHOWN).removeprefix(':')}: {one.code}: {one.message}"
        for one in problems
    ]


# Replay


def test_a_recorded_answer_is_given_with_all_that_is_known_about_it(good):
    line = recording("Sure.")
    answered = replay(good(line)).answer(call())
    assert answered.answer == Answer(
        text="Sure.",
        tool_calls=[],
        finish=Finish.STOP,
        evidence=None,
        artifact=None,
        transcript=None,
        context=None,
        debug=None,
        turns=None,
    )
    assert answered.usage == Usage(input=412, output=58, cached=0)
    assert (answered.cost_usd, answered.latency_ms) == (0.00021, 812)
    assert answered.recording == sha256(spelled(line)).hexdigest()


def test_what_is_unknown_stays_unknown(good):
    line = recording(None, usage=None, cost_usd=None, latency_ms=None, answer={"finish": "refusal"})
    answered = replay(good(line)).answer(call())
    assert (answered.usage, answered.cost_usd, answered.latency_ms) == (None, None, None)
    assert (answered.answer.text, answered.answer.finish) == (None, Finish.REFUSAL)


def test_the_key_is_the_one_the_format_describes(good):
    line = recording(
        key="fdc0ca6fb423b144ce4db82920132af5828915e0c17b6fa1c81fa3dffd2ae898",
        model="local/gemma-3-270m-q4_k_m",
        parts={
            "prompt": "0" * 64,
            "inputs": sha256(b'{"review":"Meh."}').hexdigest(),
            "params": {"maxTokens": 24, "temperature": 0.7},
        },
    )
    source = replay(
        good(line),
        bundle="0" * 64,
        model="local/gemma-3-270m-q4_k_m",
        params={"temperature": 0.7, "maxTokens": 24},
    )
    assert source.answer(call(inputs=line["parts"]["inputs"])).answer.text == "Sure."


@pytest.mark.parametrize(
    "example",
    sorted(path for path in EXAMPLES.rglob("*.jsonl") if path.parent.name.startswith("cassettes")),
    ids=lambda path: path.parent.name + "/" + path.name,
)
def test_the_cassettes_of_the_examples_have_no_problem(example):
    cassette, problems = open_cassette(example.parent, example.name, SHOWN)
    cassette.close()
    assert problems == []
    assert len(cassette) == len(example.read_bytes().splitlines())


def test_each_repeat_has_its_own_answer(good):
    source = replay(good(*(recording(f"r{take}", take=take) for take in (3, 1, 2))))
    assert [source.answer(call(take)).answer.text for take in (1, 2, 3)] == ["r1", "r2", "r3"]


def test_each_model_has_its_own_answers(good):
    cassette = good(recording("A", model="local/m1"), recording("B", model="local/m2"))
    assert replay(cassette, model="local/m1").answer(call()).answer.text == "A"
    assert replay(cassette, model="local/m2").answer(call()).answer.text == "B"


def test_cases_with_equal_inputs_share_one_recording(good):
    source = replay(good(recording()))
    one, other = source.answer(call(case="late-return")), source.answer(call(case="its twin"))
    assert one == other


@pytest.mark.parametrize("label", ["case", "assertion", "scenario"])
def test_a_label_may_be_renamed(good, label):
    cassette = good(recording("Sure.", **{label: "renamed"}))
    assert replay(cassette).answer(call()).answer.text == "Sure."


def test_params_are_equal_whatever_their_order_and_spelling(good):
    cassette = good(recording(parts={"params": {"temperature": 1, "maxTokens": 400}}))
    source = replay(cassette, params={"maxTokens": 400.0, "temperature": 1.0})
    assert source.answer(call()).answer.text == "Sure."


def test_an_answer_of_another_kind_of_call_is_no_answer(good):
    with pytest.raises(CassetteError):
        replay(good(recording(call="judge"))).answer(call())


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"amount": 9007199254740993, "big": 2**70},
        {"text": "\ud800", "\udfff": ["👍", "\x00"]},
        {"nested": {"n": [1.5, 1e-320, None, True]}},
        "{not json",
        "",
    ],
)
def test_tool_calls_come_back_as_they_were_recorded(good, args):
    tool_calls = [{"id": None, "name": "refund", "args": args}]
    cassette = good(recording(None, answer={"tool_calls": tool_calls, "finish": "tool_calls"}))
    answer = replay(cassette).answer(call()).answer
    assert answer.tool_calls == [ToolCall(None, "refund", args)]
    assert json.dumps(answer.tool_calls[0].args) == json.dumps(args)


@pytest.mark.parametrize(
    "text", ["", "a\x00\u2028\r\n", "\ud800", "e\u0301 \u00e9 👍🏽", "x" * 100_000]
)
def test_text_comes_back_as_it_was_recorded(good, text):
    assert replay(good(recording(text))).answer(call()).answer.text == text


def test_text_need_not_be_escaped(load):
    data = json.dumps(recording("café ✓ \u2028"), ensure_ascii=False).encode()
    cassette, problems = load.bytes(data + b"\n")
    assert problems == []
    answered = replay(cassette).answer(call())
    assert (answered.answer.text, answered.recording) == (
        "café ✓ \u2028",
        sha256(data).hexdigest(),
    )


@pytest.mark.parametrize(
    "spelling",
    [
        {"separators": (", ", ": ")},
        {"separators": (",", ":"), "sort_keys": True},
        {"separators": (",", ":"), "ensure_ascii": False},
    ],
)
def test_a_recording_means_the_same_however_its_line_is_spelled(load, spelling):
    line = recording(
        "naïve ✓ \x7f/",
        parts={"params": {"stop": ["é"], "temperature": 1e-7, "seed": 2**60}},
        answer={"debug": {"b": [1, 2.5, -0.0, 1e22], "a": None}},
        latency_ms=812.25,
        cost_usd=0,
    )
    params = {"seed": 2**60, "stop": ["é"], "temperature": 1e-7}
    written, problems = load(line)
    assert problems == []
    one = replay(written, params=params).answer(call())
    data = json.dumps(line, **spelling).encode()
    respelled, problems = load.bytes(data + b"\n")
    assert problems == []
    other = replay(respelled, params=params).answer(call())
    for answered in (one, other):
        assert answered.answer.text == line["answer"]["text"]
        # Spelled out, since 1.0 would be equal to 1.
        debug = json.dumps(answered.answer.debug, sort_keys=True)
        assert debug == '{"a": null, "b": [1, 2.5, -0.0, 1e+22]}'
        assert (answered.cost_usd, answered.latency_ms) == (0.0, 812.25)
    assert other.recording == sha256(data).hexdigest()


def test_an_edited_answer_is_an_answer_but_has_another_digest(good):
    before = replay(good(recording("Sure."))).answer(call())
    after = replay(good(recording("Never."))).answer(call())
    assert after.answer.text == "Never."
    assert after.recording != before.recording


# What is checked when a cassette is opened


def change(path, value):
    """A good line with one member changed and its key left as it was."""
    line = recording()
    holder = line
    *above, last = path
    for name in above:
        holder = holder[name]
    holder[last] = value
    return json.loads(json.dumps(line))


@pytest.mark.parametrize(
    "line",
    [
        change(["key"], "0" * 64),
        change(["parts", "prompt"], "0" * 64),
        change(["parts", "inputs"], "0" * 64),
        change(["parts", "params", "temperature"], 0.7),
        change(["parts", "params"], {}),
        change(["model"], "anthropic/claude-sonnet-4-5"),
        change(["take"], 2),
        change(["call"], "judge"),
    ],
)
def test_a_line_whose_key_does_not_follow_from_its_parts_is_damaged(load, line):
    cassette, problems = load(recording(take=7), line)
    assert told(problems) == [
        "2: P6403: this recording has a key that does not follow from its parts"
    ]
    assert problems[0].hint
    assert len(cassette) == 1


@pytest.mark.parametrize(
    "name",
    [
        *recording(),
        *(f"parts.{n}" for n in recording()["parts"]),
        *(f"answer.{n}" for n in recording()["answer"]),
        *(f"usage.{n}" for n in recording()["usage"]),
        *(f"recorded.{n}" for n in recording()["recorded"]),
    ],
)
def test_a_line_has_every_field(load, name):
    line = recording()
    holder, _, last = name.rpartition(".")
    del (line[holder] if holder else line)[last]
    (problem,) = told(load(line)[1])
    assert problem.startswith("1: P6403: this recording ")
    assert f"`{last}`" in problem or last == "v"


@pytest.mark.parametrize("holder", [None, "parts", "answer", "usage", "recorded"])
def test_a_line_has_no_other_field(load, holder):
    line = recording()
    (line if holder is None else line[holder])["extra"] = None
    (problem,) = told(load(line)[1])
    assert problem.startswith("1: P6403: this recording is not a recording: ")
    assert "`extra`" in problem


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["usage", "input"], -1),
        (["usage", "output"], 1.5),
        (["usage", "cached"], True),
        (["usage", "input"], 2**53 + 1),
        (["usage", "input"], int("9" * 400)),
        (["usage"], []),
        (["cost_usd"], -0.01),
        (["cost_usd"], "0.01"),
        (["cost_usd"], True),
        (["cost_usd"], 1e300),
        (["cost_usd"], int("9" * 400)),
        (["latency_ms"], -1),
        (["latency_ms"], -0.5),
        (["latency_ms"], False),
        (["latency_ms"], int("9" * 400)),
        (["take"], 0),
        (["take"], -1),
        (["take"], True),
        (["take"], 1.5),
        (["take"], "1"),
        (["take"], int("9" * 400)),
        (["answer", "turns"], -1),
        (["answer", "text"], 7),
        (["answer", "finish"], "done"),
        (["answer", "finish"], None),
        (["answer", "tool_calls"], None),
        (["answer", "tool_calls"], [{"id": None, "name": "n", "args": [1]}]),
        (["answer", "tool_calls"], [{"id": None, "name": "n"}]),
        (["answer", "tool_calls"], [{"id": 7, "name": "n", "args": {}}]),
        (["key"], "0" * 63),
        (["key"], "0" * 64 + "\n"),
        (["key"], "A" * 64),
        (["parts", "prompt"], "x" * 64),
        (["parts", "inputs"], None),
        (["parts", "params"], [1]),
        (["model"], None),
        (["case"], 7),
        (["scenario"], {}),
        (["call"], "question"),
        (["recorded", "on"], "yesterday"),
        (["recorded", "on"], "2026-11-30T12:00:00"),
        (["recorded", "provider"], None),
        (["v"], True),
        (["v"], "1"),
        (["v"], None),
        (["v"], 1.5),
    ],
)
def test_a_field_of_the_wrong_kind_damages_its_line(load, path, value):
    (problem,) = told(load(recording(take=7), change(path, value))[1])
    assert problem.startswith("2: P6403: this recording is not a recording: ")


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (2, "has format version 2, which is newer than this Proctor"),
        (99, "has format version 99, which is newer than this Proctor"),
        (10**100, f"has format version 1{'0' * 56}..., which is newer than this Proctor"),
        (0, "has format version 0, which does not exist"),
        (-1, "has format version -1, which does not exist"),
    ],
)
def test_another_format_version_is_named(load, version, said):
    assert told(load(change(["v"], version))[1]) == [f"1: P6403: this recording {said}"]


def test_a_newer_format_wants_a_newer_proctor(load):
    (newer,) = load(change(["v"], 2))[1]
    (damaged,) = load(change(["v"], 0))[1]
    assert newer.hint == "use a newer Proctor"
    assert damaged.hint.startswith("restore the line")


def test_a_newer_format_is_named_whatever_its_fields_are(load):
    assert told(load(b'{"v":2,"recording":[]}')[1]) == [
        "1: P6403: this recording has format version 2, which is newer than this Proctor"
    ]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"   ", "is empty"),
        (spelled(recording())[:-20], "is not JSON"),
        (spelled(recording()) + b"}", "has text after the JSON value"),
        (spelled(recording()) + spelled(recording()), "has text after the JSON value"),
        (b"\xef\xbb\xbf" + spelled(recording()), "starts with a byte order mark"),
        (spelled(recording()).replace(b"Sure", b"S\xfcre"), "is not UTF-8"),
        (spelled(recording()).replace(b'"v":1', b'"v":1,"v":1'), "has the key `v` twice"),
        (spelled(recording()).replace(b"0.00021", b"NaN"), "has `NaN`, which is not JSON"),
        (spelled(recording()).replace(b"0.00021", b"1e999"), "has a number beyond the range"),
        (b"<<<<<<< HEAD", "is not JSON"),
        (b"[]", "is not a recording: "),
        (b"null", "is not a recording: "),
        (b"[" * 100_000, "is nested deeper than 64"),
        (
            spelled(recording()).replace(b'"debug":null', b'"debug":' + b"[" * 65 + b"]" * 65),
            "is nested deeper than 64",
        ),
        (
            spelled(recording()).replace(
                b'"debug":null', b'"debug":' + b"[" * 100_000 + b"]" * 100_000
            ),
            "is nested deeper than 64",
        ),
        (
            spelled(recording()).replace(b'"debug":null', b'"debug":' + b"9" * 4_001),
            "has an integer of more than 4000 digits",
        ),
        (
            spelled(recording()).replace(b'"debug":null', b'"debug":' + b"9" * 5_000),
            "has an integer of more than 4000 digits",
        ),
        (json.dumps(recording()).encode("utf-16-le"), "is UTF-16, not UTF-8"),
    ],
)
def test_a_line_that_is_no_recording_is_damaged_and_not_missing(load, data, said):
    cassette, problems = load(data, recording(take=7))
    (problem,) = told(problems)
    assert problem.startswith(f"1: P6403: this recording {said}")
    assert len(cassette) == 1


def test_a_torn_last_line_is_damaged_but_a_missing_last_line_end_is_not(load):
    whole = spelled(recording(take=1)) + b"\n" + spelled(recording(take=2))
    assert load.bytes(whole)[1] == []
    assert [one.partition(": ")[0] for one in told(load.bytes(whole[:-1])[1])] == ["2"]


def test_dos_line_ends_are_read_and_change_the_digest_only(load):
    line = spelled(recording())
    cassette, problems = load.bytes(line + b"\r\n" + spelled(recording(take=2)) + b"\r\n")
    assert problems == []
    answered = replay(cassette).answer(call())
    assert answered.answer.text == "Sure."
    assert answered.recording == sha256(line + b"\r").hexdigest()


def test_every_damaged_line_is_told(load):
    _, problems = load(b"{", recording(), change(["take"], 9), b"", recording(take=2), b"[]")
    assert [one.where for one in problems] == [f"{SHOWN}:{n}" for n in (1, 3, 4, 6)]
    assert {one.code for one in problems} == {"P6403"}


def test_a_key_stands_once_in_a_cassette(load):
    twin = recording("Something else.", case="renamed")
    cassette, problems = load(recording(take=2), recording(), b"{}", twin, recording(take=2))
    assert told(problems)[1:] == [
        "4: P6404: this line has the same key as line 2",
        "5: P6404: this line has the same key as line 1",
    ]
    assert len(cassette) == 2


def test_a_line_that_is_too_long_ends_the_reading(load):
    long = b'"' + b"x" * 16 * 1024 * 1024 + b'"'
    _, problems = load(recording(), long, b"{}")
    assert told(problems) == ["2: P6403: this recording is longer than 16 MiB"]


def test_a_damaged_line_is_told_without_what_stands_in_it(load):
    secret = "sk-test-000111222333"  # noqa: S105 - a value that must not be shown
    lines = [
        change(["answer", "text"], [secret]),
        change(["answer", "finish"], secret),
        change(["recorded", "on"], secret),
        change(["call"], secret),
        f'{{"v":1,"text":"{secret}'.encode(),
    ]
    _, problems = load(*lines)
    assert len(problems) == 5
    assert secret not in str([(one.message, one.hint) for one in problems])
    assert problems[1].message == (
        "this recording is not a recording: "
        "a word that is not one of those allowed - at `$.answer.finish`"
    )


def test_a_damaged_line_is_told_briefly(load):
    (problem,) = load(recording() | {"x" * 100_000: 1})[1]
    assert len(problem.message) < 300


# The file


def test_no_cassette_is_no_problem_but_every_call_is_a_miss(tmp_path):
    cassette, problems = open_cassette(tmp_path / "nowhere", "quiz.jsonl", SHOWN)
    assert (len(cassette), cassette.is_missing, problems) == (0, True, [])
    with pytest.raises(CassetteError) as caught:
        replay(cassette).answer(call())
    assert caught.value.code == "P6402"
    assert caught.value.message == f"no recording: no cassette at {SHOWN}"
    assert caught.value.hint == "`proctor run quiz --cache record --max-cost USD` records it"
    cassette.close()


def test_an_empty_cassette_is_there_and_holds_no_case(load):
    cassette, problems = load()
    assert (len(cassette), cassette.is_missing, problems) == (0, False, [])
    assert explain_miss(cassette, subject(), call()) == f"this case is not in {SHOWN}"


def test_a_folder_pipe_or_link_in_place_of_a_cassette_is_a_problem(tmp_path):
    (tmp_path / "outside.jsonl").write_bytes(spelled(recording()))
    (tmp_path / "cassettes/folder.jsonl").mkdir(parents=True)
    os.mkfifo(tmp_path / "cassettes/pipe.jsonl")
    (tmp_path / "cassettes/link.jsonl").symlink_to(tmp_path / "outside.jsonl")
    (tmp_path / "linked").symlink_to(tmp_path / "cassettes")
    (tmp_path / "cassettes/quiz.jsonl").write_bytes(spelled(recording()))
    for path in ("cassettes/folder", "cassettes/pipe", "cassettes/link", "linked/quiz"):
        cassette, (problem,) = open_cassette(tmp_path, f"{path}.jsonl", SHOWN)
        assert (problem.code, problem.where) == ("P6805", SHOWN)
        assert len(cassette) == 0


def test_the_folder_of_a_cassette_may_be_spelled_in_any_way(tmp_path):
    (tmp_path / "evals/cassettes").mkdir(parents=True)
    (tmp_path / "evals/cassettes/quiz.jsonl").write_bytes(spelled(recording()))
    for path in ("./evals//cassettes/quiz.jsonl", "x/../evals/cassettes/quiz.jsonl"):
        cassette, problems = open_cassette(tmp_path, path, SHOWN)
        assert (len(cassette), problems) == (1, [])
        cassette.close()


def test_a_cassette_outside_the_folder_is_a_problem(tmp_path):
    cassette, (problem,) = open_cassette(tmp_path / "project", "../quiz.jsonl", SHOWN)
    assert problem.code == "P6805"
    assert len(cassette) == 0


def test_a_cassette_in_what_is_no_folder_is_damaged_and_not_missing(tmp_path):
    (tmp_path / "cassettes").write_bytes(b"")
    cassette, (problem,) = open_cassette(tmp_path, "cassettes/quiz.jsonl", SHOWN)
    assert problem.code == "P6403"
    assert problem.message == f"the cassette `{SHOWN}` cannot be read: not a directory"
    assert len(cassette) == 0


@pytest.mark.parametrize(
    "edit",
    [
        lambda data: data.replace(b"Sure.", b"Nope."),
        lambda data: data[:-10],
        lambda data: b"",
        lambda data: b"\n" + data,
    ],
)
def test_a_file_that_changes_while_it_is_used_is_noticed(good, tmp_path, edit):
    cassette = good(recording())
    data = (tmp_path / "quiz.jsonl").read_bytes()
    with (tmp_path / "quiz.jsonl").open("r+b") as file:
        file.truncate()
        file.write(edit(data))
    with pytest.raises(CassetteError) as caught:
        replay(cassette).answer(call())
    assert (caught.value.code, caught.value.where) == ("P6403", SHOWN)
    with pytest.raises(CassetteError):
        explain_miss(cassette, subject(), call(take=2))


def test_a_cassette_is_never_written(good, tmp_path):
    source = replay(good(recording()))
    before = (tmp_path / "quiz.jsonl").read_bytes()
    (tmp_path / "quiz.jsonl").chmod(0o400)
    source.answer(call())
    with pytest.raises(CassetteError):
        source.answer(call(take=2))
    assert (tmp_path / "quiz.jsonl").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["quiz.jsonl"]


def test_no_answer_is_kept_in_memory(good):
    cassette = good(*(recording(f"an answer that stands here only {n}", take=n) for n in (1, 2, 3)))
    replay(cassette).answer(call())
    explain_miss(cassette, subject(), call(take=9))
    gc.collect()
    held, seen = [cassette], set()
    while held:
        one = held.pop()
        if id(one) in seen or isinstance(one, type) or callable(one):
            continue
        seen.add(id(one))
        assert not isinstance(one, (Recording, Answer))
        assert not (isinstance(one, (str, bytes, bytearray)) and "stands here" in str(one))
        held += gc.get_referents(one)


def test_keys_of_very_many_subjects_are_all_proven(good):
    lines = [recording(parts={"params": {"seed": seed}}) for seed in (*range(300), *range(5))]
    cassette = good(*lines[:300])
    assert len(cassette) == 300
    for seed in (0, 255, 256, 299):
        assert replay(cassette, params={"seed": seed}).answer(call()).answer.text == "Sure."


# Why there is no recording


def miss(cassette, *, take=1, case="late-return", inputs=INPUTS, **changes):
    with pytest.raises(CassetteError) as caught:
        replay(cassette, **changes).answer(call(take, case, inputs))
    assert caught.value.code == "P6402"
    return caught.value.message.removeprefix("no recording: ")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"bundle": "c" * 64}, "prompt changed"),
        ({"inputs": "2" * 64}, "inputs changed"),
        ({"model": "openai/gpt-4o"}, f"model {MODEL} -> openai/gpt-4o"),
        ({"params": PARAMS | {"temperature": 0.7}}, "temperature 0 -> 0.7"),
        ({"params": PARAMS | {"seed": 1}}, "seed not set -> 1"),
        ({"params": {"maxTokens": 400}}, "temperature 0 -> not set"),
        ({"params": PARAMS | {"maxTokens": 24}}, "maxTokens 400 -> 24"),
        ({"params": PARAMS | {"stop": ["\n", "é"]}}, 'stop not set -> ["\\n","é"]'),
        ({"params": PARAMS | {"temperature": False}}, "temperature 0 -> false"),
        ({"params": PARAMS | {"temperature": None}}, "temperature 0 -> null"),
        ({"take": 2}, "recorded take 1, asked for 2"),
        ({"case": "unheard-of", "inputs": "2" * 64}, f"this case is not in {SHOWN}"),
        (
            {"bundle": "c" * 64, "params": {"maxTokens": 24, "top_p": 1}},
            "prompt changed, maxTokens 400 -> 24, temperature 0 -> not set, top_p not set -> 1",
        ),
        (
            {"bundle": "c" * 64, "inputs": "2" * 64, "model": "a/b", "take": 2},
            f"prompt changed, inputs changed, model {MODEL} -> a/b",
        ),
    ],
)
def test_a_miss_names_the_part_that_changed(good, changes, why):
    assert miss(good(recording()), **changes) == why


@pytest.mark.parametrize(
    ("takes", "asked", "why"),
    [
        ([1], 2, "recorded take 1, asked for 2"),
        ([1, 2, 3], 5, "recorded takes 1-3, asked for 5"),
        ([3, 1, 2], 4, "recorded takes 1-3, asked for 4"),
        ([2, 3], 1, "recorded takes 2-3, asked for 1"),
        ([1, 3], 2, "recorded takes 1, 3, asked for 2"),
        ([1, 2, 10**15], 3, "recorded takes 1, 2, 1000000000000000, asked for 3"),
        (range(1, 40, 2), 2, "recorded takes 1, 3, 5, 7, 9, 11, 13, 15 and 12 more, asked for 2"),
    ],
)
def test_a_miss_of_a_repeat_names_the_recorded_takes(good, takes, asked, why):
    assert miss(good(*(recording(take=take) for take in takes)), take=asked) == why


def test_a_miss_is_explained_by_the_nearest_recording_of_the_case(good):
    cassette = good(
        recording(parts={"prompt": "c" * 64, "params": {"maxTokens": 1}}),
        recording(parts={"params": PARAMS | {"seed": 1}}),
        recording(model="openai/gpt-4o", parts={"params": {}}),
        recording(case="another", take=2),
        recording(call="judge", parts={"params": PARAMS | {"x": 1}}),
    )
    assert miss(cassette) == "seed 1 -> not set"
    assert miss(cassette, model="openai/gpt-4o", params={"top_p": 1}) == "top_p not set -> 1"


def test_recordings_of_other_calls_and_cases_explain_nothing(good):
    cassette = good(recording(call="judge"), recording(case=None, take=2))
    assert miss(cassette, take=3) == f"this case is not in {SHOWN}"


def test_long_params_that_differ_at_their_end_are_not_taken_for_equal(good):
    cassette = good(recording(parts={"params": {"stop": "x" * 100 + "a"}}))
    why = miss(cassette, params={"stop": "x" * 100 + "b"})
    assert why.startswith('stop "xxx')
    assert " -> " in why


def test_a_miss_quotes_little_of_what_stands_in_a_cassette(good):
    params = {"n" * 100_000: 1, "stop": ["x" * 100_000]}
    cassette = good(recording(model="local/" + "m" * 100_000, parts={"params": params}))
    assert len(miss(cassette)) < 1_000


def test_an_index_by_case_is_made_of_places_only(good):
    cassette = good(recording(), recording(case="b", take=2), recording(case="b", take=3))
    assert [one.take for one in cassette.of_case(CallKind.ANSWER, "b")] == [2, 3]
    assert list(cassette.of_case(CallKind.BUILD, "b")) == []
