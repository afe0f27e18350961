"""What calls raise on a worker reads and counts the same in the run."""

from __future__ import annotations

import errno

import pytest

from proctor.asking_rules import AskingRules, WorkerRules
from proctor.canonical import digest
from proctor.cassettes import CacheMode
from proctor.errors import (
    DatasetError,
    FileError,
    ProctorError,
    ProviderError,
    RunError,
    SuiteError,
    TargetError,
    TargetStatus,
    TryAgain,
    UsageError,
)
from proctor.executors.batches import decode_body
from proctor.records import (
    Call,
    Case,
    Message,
    ModelChoice,
    Reply,
    Request,
    Scenario,
    Usage,
    encode_json,
    model_answer,
)
from proctor.running.faults import Lost, Phase, classify, status_of
from proctor.worker_messages import (
    AnyCall,
    BuiltThere,
    Failure,
    Job,
    JobSuite,
    Problem,
    ProviderCall,
    Replied,
    Result,
    Said,
    TargetCall,
)


class ToolBroke(Exception):
    pass


class WithStatus(Exception):
    status_code = 503


class Gap(Exception):
    category = "verification_gap"


def caused(error, cause):
    error.__cause__ = cause
    return error


RAISED = [
    ProviderError("no", code="P6312", hint="try", free=True),
    ProviderError("no reply", code="P6310"),
    TryAgain("wait", code="P6309", wait_s=2.5, slow_down=True, status=429),
    TryAgain("broke", code="P6310"),
    TargetError("it returned nothing", hint="return a text", debug={"a": 1}),
    TargetError("it holds a key", code="P6312"),
    TargetStatus("it replied 404", status=404),
    TargetStatus("it replied 500", status=500, hint="look"),
    SuiteError("gone", code="P6203", where="a.yaml:3"),
    ProctorError("raised something", code="P6701"),
    caused(ProctorError("raised something", code="P6701"), ConnectionResetError()),
    UsageError("no", code="P6002"),
    ConnectionRefusedError(errno.ECONNREFUSED, "refused"),
    OSError(errno.EHOSTUNREACH, "no route"),
    TimeoutError(),
    ValueError("a secret of the case"),
    RuntimeError("429 too many requests"),
    ToolBroke("503 from a tool"),
    WithStatus(),
    Gap("not looked at"),
    caused(ValueError("wrapped"), BrokenPipeError()),
]


@pytest.mark.parametrize("during", [Phase.BUILD, Phase.PREPARE, Phase.ANSWER])
@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_an_error_counts_the_same_on_both_sides(error, during):
    told = encode_json(Failure.of(error, during))
    with pytest.raises(Exception) as caught:  # noqa: PT011 - what is raised is what is asked here
        decode_body(told, Result).throw()
    again = caught.value
    here, there = (
        Lost(each, classify(each, during=during), during=during, lane="l", attempts=1)
        for each in (error, again)
    )
    assert there.kind is here.kind
    assert there.blame == here.blame
    assert (there.code, there.message, there.hint, there.where) == (
        here.code,
        here.message,
        here.hint,
        here.where,
    )
    assert status_of(again) == status_of(error)


@pytest.mark.parametrize("error", RAISED[:4], ids=lambda error: error.message)
def test_what_a_provider_refuses_is_tried_again_and_charged_the_same(error):
    with pytest.raises(ProviderError) as caught:
        decode_body(encode_json(Failure.of(error, Phase.ANSWER)), Result).throw()
    again = caught.value
    assert type(again) is type(error)
    assert again.free == error.free
    if isinstance(error, TryAgain):
        assert (again.wait_s, again.slow_down, again.status) == (
            error.wait_s,
            error.slow_down,
            error.status,
        )


def test_the_text_of_somebody_elses_error_does_not_go_over():
    assert b"secret" not in encode_json(Failure.of(ValueError("a secret"), Phase.ANSWER))


def test_what_a_target_wrote_beside_its_answer_goes_over():
    told = Failure.of(RAISED[4], Phase.ANSWER)
    with pytest.raises(TargetError) as caught:
        told.throw()
    assert caught.value.debug == {"a": 1}


@pytest.mark.parametrize(
    "error", [DatasetError, FileError, ProviderError, RunError, SuiteError, UsageError]
)
def test_a_problem_is_the_same_problem_again(error):
    made = error("what", code="P6001", hint="next", where="there:1")
    again = decode_body(encode_json(Problem.of(made)), Problem).error()
    assert type(again) is error
    assert (again.message, again.code, again.hint, again.where) == (
        "what",
        "P6001",
        "next",
        "there:1",
    )


CASE = Case(
    id="a",
    inputs={"question": "\ud800?", "n": 12345678901234567890, "x": 0.1},
    expected=None,
    scenarios=[Scenario(name="one", inputs={"y": [1, {}]})],
    complexity="complex",
)
CALLS = [
    ProviderCall(
        "local",
        Request(
            model=ModelChoice(ref="local/tiny", params={"maxTokens": 5, "temperature": 0.5}),
            messages=(Message(role="user", content="Is \ud800 it?"),),
            output_schema={"type": "object"},
        ),
        Call("a", digest({}), 2, "one"),
    ),
    TargetCall(suite="quiz", method="answer", case=CASE, scenario=CASE.scenarios[0], repeat=3),
    TargetCall(suite="quiz", method="answer", case=Case(id="b", inputs={}), artifact=4, lane="l"),
    TargetCall(suite="quiz", method="teardown"),
]


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_a_call_is_the_same_on_the_other_side(call):
    assert decode_body(encode_json(call), AnyCall) == call


REPLY = Reply(
    model_answer('"\ud800"'), Usage(input=1, output=2, cached=0), 0.1 + 0.2, 1.5, "m-1", 7
)


@pytest.mark.parametrize("result", [Replied(REPLY), BuiltThere(3, REPLY), Said(is_fine=False)])
def test_a_reply_is_the_same_on_the_other_side(result):
    assert decode_body(encode_json(result), Result) == result


def test_a_job_is_the_same_on_the_other_side():
    job = Job(
        version="1",
        root="/somewhere",
        settings={"evals": "evals"},
        rules=AskingRules(
            cache=CacheMode.REFRESH,
            max_cost_usd=1.5,
            allow_hosts=("a:1",),
            lanes=("http://127.0.0.1:1",),
            workers=WorkerRules(address="ray://h:1", label="prod"),
        ),
        suites=[JobSuite("quiz", ["answer@local/tiny"], [0, 2], 3)],
        plan_sha256="p",
        config_sha256="c",
        providers=["local"],
        targets=[],
    )
    assert decode_body(encode_json(job), Job) == job
