import asyncio
import errno
import http.client
import socket
import ssl
import urllib.error
from itertools import product

import httpx2
import openai
import pytest

from proctor.errors import (
    ProctorError,
    ProviderError,
    SuiteError,
    TargetError,
    TargetStatus,
    TryAgain,
)
from proctor.records import Outcome
from proctor.running.blame import Blame, answered_blame
from proctor.running.faults import (
    Lost,
    Phase,
    Raised,
    caught,
    claimed,
    classify,
    row_blame,
    status_of,
)
from proctor.target_protocols import FaultKind
from virtual_time import in_no_time

TRANSPORT, OUTAGE, TIMEOUT = FaultKind.TRANSPORT, FaultKind.OUTAGE, FaultKind.TIMEOUT
TARGET, FRAMEWORK = FaultKind.TARGET, FaultKind.FRAMEWORK
CALLS = [Phase.BUILD, Phase.ANSWER]
GETTING_READY = [Phase.SETUP, Phase.PREPARE]

REQUEST = httpx2.Request("POST", "http://127.0.0.1:9001/")


class WithStatus(Exception):
    """An error of somebody else that has a status."""

    def __init__(self, status, *, name="status", text=""):
        super().__init__(text)
        setattr(self, name, status)


class ToolCallError(Exception):
    """An error of a tool that the target called."""

    status = 503


class Claiming(Exception):
    def __init__(self, category):
        super().__init__("HTTP status 503")
        self.category = category


def raised(error, *, cause=None, context=None):
    """An exception as it is when it was raised from, or while handling, another one."""
    try:
        if context is not None:
            try:
                raise context
            except BaseException:
                raise error  # noqa: B904 - this is what is tested
        raise error from cause
    except BaseException as error:
        return error


def url_error(reason):
    return raised(urllib.error.URLError(reason), context=reason)


BY_TYPE = [
    (ConnectionRefusedError(111, "no"), TRANSPORT),
    (ConnectionResetError(), TRANSPORT),
    (ConnectionAbortedError(), TRANSPORT),
    (BrokenPipeError(), TRANSPORT),
    (ConnectionError("any"), TRANSPORT),
    (http.client.RemoteDisconnected("gone"), TRANSPORT),
    (http.client.IncompleteRead(b"half", 4), TRANSPORT),
    (socket.gaierror(-2, "who"), TRANSPORT),
    (OSError(errno.ENETUNREACH, "far"), TRANSPORT),
    (OSError(errno.EHOSTUNREACH, "far"), TRANSPORT),
    (TimeoutError(errno.ETIMEDOUT, "connecting"), TRANSPORT),
    (asyncio.IncompleteReadError(b"", 4), TRANSPORT),
    (url_error(ConnectionRefusedError()), TRANSPORT),
    (url_error(TimeoutError()), TIMEOUT),
    (TimeoutError(), TIMEOUT),
    (httpx2.ConnectError("x", request=REQUEST), TRANSPORT),
    (httpx2.ReadError("x", request=REQUEST), TRANSPORT),
    (httpx2.WriteError("x", request=REQUEST), TRANSPORT),
    (httpx2.CloseError("x", request=REQUEST), TRANSPORT),
    (httpx2.RemoteProtocolError("x", request=REQUEST), TRANSPORT),
    (httpx2.ProxyError("x", request=REQUEST), TRANSPORT),
    (httpx2.ConnectTimeout("x", request=REQUEST), TRANSPORT),
    (httpx2.ReadTimeout("x", request=REQUEST), TIMEOUT),
    (httpx2.WriteTimeout("x", request=REQUEST), TIMEOUT),
    (httpx2.PoolTimeout("x", request=REQUEST), TIMEOUT),
    (openai.APIConnectionError(request=REQUEST), TRANSPORT),
    (openai.APITimeoutError(request=REQUEST), TIMEOUT),
    (TryAgain("x", code="P6309", status=429), OUTAGE),
    (TryAgain("x", code="P6312", status=503), OUTAGE),
    (TryAgain("x", code="P6309"), OUTAGE),
    (TryAgain("x", code="P6310"), TRANSPORT),
    (TryAgain("x", code="P6312"), TRANSPORT),
    (ProviderError("no reply within 5 s", code="P6310"), TIMEOUT),
    (ProviderError("connection refused", code="P6308"), FRAMEWORK),
    (ProviderError("status 503", code="P6312"), FRAMEWORK),
    (ProviderError("x", code="P6307"), FRAMEWORK),
    (SuiteError("timed out", code="P6220"), FRAMEWORK),
    (TargetError("the program ended with status 503: timed out"), TARGET),
    (TargetError("the answer holds a key", code="P6312"), TARGET),
    (TargetStatus("replied 503", status=503), OUTAGE),
    (TargetStatus("replied 401", status=401), FRAMEWORK),
    (TargetStatus("replied 422", status=422), TARGET),
    (TargetStatus("replied 302", status=302), TARGET),
]


class TestTypes:
    @pytest.mark.parametrize("during", Phase)
    @pytest.mark.parametrize(("error", "kind"), BY_TYPE, ids=lambda value: repr(value)[:60])
    def test_the_type_says_what_it_is_whatever_was_being_done(self, error, kind, during):
        assert classify(error, during=during) is kind

    @pytest.mark.parametrize(("error", "kind"), BY_TYPE, ids=lambda value: repr(value)[:60])
    def test_so_does_the_type_of_a_cause(self, error, kind):
        wrapped = raised(RuntimeError("the agent gave up"), cause=error)
        assert classify(wrapped, during=Phase.BUILD) is kind
        handled = raised(RuntimeError("the agent gave up"), context=error)
        assert classify(raised(KeyError("x"), cause=handled), during=Phase.ANSWER) is kind

    def test_the_outer_type_counts_before_the_inner(self):
        error = raised(TimeoutError(), cause=ConnectionResetError())
        assert classify(error, during=Phase.ANSWER) is TIMEOUT

    def test_a_context_that_was_taken_away_is_not_read(self):
        error = raised(ValueError("bad plan"), context=ConnectionResetError())
        assert classify(error, during=Phase.BUILD) is TRANSPORT
        error.__suppress_context__ = True
        assert classify(error, during=Phase.BUILD) is TARGET

    def test_a_chain_that_bites_its_tail_has_an_end(self):
        first, second = ValueError("one"), ValueError("two")
        first.__cause__, second.__cause__ = second, first
        assert classify(first, during=Phase.BUILD) is TARGET

    def test_an_error_of_ours_that_stands_for_another_is_what_that_is(self):
        for code, cause, kind in [
            ("P6701", ConnectionResetError(), TRANSPORT),
            ("P6702", TimeoutError(), TIMEOUT),
            ("P6701", None, TARGET),
            ("P6701", RuntimeError("HTTP 503"), OUTAGE),
        ]:
            error = raised(ProctorError("it failed", code=code), cause=cause)
            assert classify(error, during=Phase.ANSWER) is kind

    @pytest.mark.parametrize("kind", FaultKind)
    def test_what_was_classified_already_stays_what_it_is(self, kind):
        lost = Lost(TimeoutError(), kind, during=Phase.BUILD, lane=None, attempts=1)
        assert classify(lost, during=Phase.ANSWER) is kind

    def test_a_library_of_another_name_is_not_known_by_its_names(self):
        ours = type("NetworkError", (Exception,), {"__module__": "agents.workflow"})
        assert classify(ours("x"), during=Phase.BUILD) is TARGET
        theirs = type("NetworkError", (Exception,), {"__module__": "httpx._exceptions"})
        assert classify(theirs("x"), during=Phase.BUILD) is TRANSPORT


class TestStatuses:
    @pytest.mark.parametrize("name", ["status", "status_code"])
    @pytest.mark.parametrize("status", range(400, 600))
    def test_five_of_them_are_outages_and_few_are_the_targets_own(self, status, name):
        kind = classify(WithStatus(status, name=name), during=Phase.BUILD)
        if status in (429, 500, 502, 503, 529):
            assert kind is OUTAGE
        elif status in (401, 403, 404, 405, 407, 408) or status >= 500:
            assert kind is FRAMEWORK
        else:
            assert kind is TARGET

    @pytest.mark.parametrize("status", [None, True, 0, 200, 302, 399, 600, "503", 503.0])
    def test_what_is_no_status_of_an_error_is_not_read_as_one(self, status):
        assert classify(WithStatus(status), during=Phase.ANSWER) is TARGET
        assert status_of(WithStatus(status)) is None

    def test_a_status_in_the_response_counts(self):
        reply = httpx2.Response(502, request=REQUEST)
        error = httpx2.HTTPStatusError("x", request=REQUEST, response=reply)
        assert status_of(error) == 502
        assert classify(error, during=Phase.ANSWER) is OUTAGE
        error = openai.RateLimitError(
            "x", response=httpx2.Response(429, request=REQUEST), body=None
        )
        assert classify(error, during=Phase.BUILD) is OUTAGE

    def test_a_status_counts_before_the_text(self):
        error = WithStatus(422, text="connection refused, 503 Service Unavailable")
        assert classify(error, during=Phase.BUILD) is TARGET

    def test_the_error_of_urllib_has_one(self):
        with urllib.error.HTTPError("http://x/", 503, "no", {}, None) as error:
            assert classify(error, during=Phase.ANSWER) is OUTAGE


TEXTS = [
    (TRANSPORT, "Connection refused"),
    (TRANSPORT, "dial tcp 127.0.0.1:9001: connect: connection refused"),
    (TRANSPORT, "read ECONNRESET"),
    (TRANSPORT, "connect ECONNREFUSED 127.0.0.1:80"),
    (TRANSPORT, "getaddrinfo ENOTFOUND agents.example"),
    (TRANSPORT, "[Errno -2] Name or service not known"),
    (TRANSPORT, "Temporary failure in name resolution"),
    (TRANSPORT, "socket hang up"),
    (TRANSPORT, "TypeError: fetch failed"),
    (TRANSPORT, "Server disconnected without sending a response."),
    (TRANSPORT, "Remote end closed connection without response"),
    (TRANSPORT, "This operation was aborted"),
    (TRANSPORT, "AbortError"),
    (TRANSPORT, "connection timed out"),
    (TRANSPORT, "no route to host"),
    (OUTAGE, "HTTP 503"),
    (OUTAGE, "Error code: 429 - slow down"),
    (OUTAGE, "request failed with status code 500"),
    (OUTAGE, "status=502"),
    (OUTAGE, "503 Service Unavailable"),
    (OUTAGE, "502 Bad Gateway: upstream connection refused"),
    (OUTAGE, "Too Many Requests"),
    (OUTAGE, "rate_limit_error"),
    (OUTAGE, "Rate limit reached"),
    (OUTAGE, "overloaded_error"),
    (OUTAGE, "The model is overloaded"),
    (TIMEOUT, "Request timed out."),
    (TIMEOUT, "timeout of 30000ms exceeded"),
    (TIMEOUT, "context deadline exceeded"),
    (TARGET, "expected 500 items, found 429"),
    (TARGET, "the order 503 is unknown"),
    (TARGET, "line 502: no such node"),
    (TARGET, "HTTP 404"),
    (TARGET, "POST http://a:503/ was not understood"),
    (OUTAGE, "HTTP/1.1 503"),
    (TARGET, "the answer has no field `label`"),
    (TARGET, "a connection between two nodes is missing"),
    (TARGET, "the plan was aborted by the agent"),
    (TARGET, ""),
]


class TestTexts:
    @pytest.mark.parametrize(("kind", "text"), TEXTS)
    def test_the_text_says_what_it_is_when_nothing_else_does(self, kind, text):
        assert classify(RuntimeError(text), during=Phase.BUILD) is kind

    @pytest.mark.parametrize(("kind", "text"), TEXTS)
    def test_so_does_the_text_of_any_cause(self, kind, text):
        error = raised(ValueError("outer"), cause=raised(KeyError("x"), context=RuntimeError(text)))
        assert classify(error, during=Phase.ANSWER) is kind

    @pytest.mark.parametrize("during", CALLS)
    def test_what_nothing_is_known_of_is_the_targets_own_failure(self, during):
        assert classify(KeyError("plan"), during=during) is TARGET

    @pytest.mark.parametrize("during", GETTING_READY)
    def test_while_getting_ready_it_is_nobodys(self, during):
        assert classify(KeyError("plan"), during=during) is FRAMEWORK

    def test_a_very_long_text_is_read_to_a_limit_only(self):
        assert classify(RuntimeError("x " * 40_000 + "HTTP 503"), during=Phase.BUILD) is TARGET


class TestTools:
    @pytest.mark.parametrize("during", CALLS)
    @pytest.mark.parametrize(
        "error",
        [
            RuntimeError("the tool `weather` replied with status 503"),
            RuntimeError("tools: connection refused"),
            raised(RuntimeError("the tool failed"), cause=WithStatus(503)),
            raised(RuntimeError("the tool failed"), cause=ConnectionRefusedError()),
            raised(RuntimeError("the agent stopped"), cause=ToolCallError("HTTP 503")),
            raised(
                RuntimeError("the agent stopped"),
                cause=raised(RuntimeError("a tool failed"), cause=TimeoutError()),
            ),
            ToolCallError("connection refused"),
        ],
        ids=str,
    )
    def test_what_a_tool_of_the_target_reports_is_the_targets_own(self, error, during):
        assert classify(error, during=during) is TARGET

    def test_a_model_that_is_away_is_an_outage_though_tools_are_spoken_of(self):
        error = WithStatus(529, text="overloaded while streaming a tool call")
        assert classify(error, during=Phase.BUILD) is OUTAGE

    def test_a_word_that_only_looks_like_a_tool_is_none(self):
        assert classify(RuntimeError("toolbox: HTTP 503"), during=Phase.BUILD) is OUTAGE


class TestCaught:
    @in_no_time
    async def test_what_a_call_returns_comes_back(self):
        async def call():
            return 3

        assert await caught(call()) == 3

    @in_no_time
    async def test_what_a_call_raises_is_a_value(self):
        error = ssl.SSLError("x")

        async def call():
            raise error

        assert await caught(call()) == Raised(error)

    @in_no_time
    async def test_a_cancellation_passes(self):
        async def call():
            raise asyncio.CancelledError

        with pytest.raises(asyncio.CancelledError):
            await caught(call())


FAILED, ERRORED, UNMEASURED = Outcome.FAILED, Outcome.ERRORED, Outcome.UNMEASURED

BLAMES = {
    (Phase.BUILD, TARGET): Blame("build_failure", "target", FAILED),
    (Phase.BUILD, TIMEOUT): Blame("build_timeout", "target", FAILED),
    (Phase.ANSWER, TARGET): Blame("framework_issue", "target", ERRORED),
    (Phase.ANSWER, TIMEOUT): Blame("timeout", "target", ERRORED),
    **{(during, TRANSPORT): Blame("framework_issue", "lane", ERRORED) for during in Phase},
    **{(during, OUTAGE): Blame("framework_issue", "provider", ERRORED) for during in Phase},
    **{(during, FRAMEWORK): Blame("framework_issue", "framework", ERRORED) for during in Phase},
    **{
        (during, kind): Blame("framework_issue", "framework", ERRORED)
        for during in GETTING_READY
        for kind in (TARGET, TIMEOUT)
    },
}


class TestBlame:
    @pytest.mark.parametrize(("during", "kind"), list(product(Phase, FaultKind)))
    def test_a_row_without_an_answer(self, during, kind):
        assert row_blame(kind, during) == BLAMES[during, kind]

    @pytest.mark.parametrize(("during", "kind"), list(product(Phase, FaultKind)))
    def test_only_a_build_of_the_target_itself_fails_a_row_that_has_no_answer(self, during, kind):
        fails = row_blame(kind, during).outcome is FAILED
        assert fails == (during is Phase.BUILD and kind in (TARGET, TIMEOUT))

    @pytest.mark.parametrize("category", ["mock_issue", "verification_gap"])
    def test_an_exception_may_say_that_it_is_no_fault_of_the_target(self, category):
        error = raised(RuntimeError("x"), cause=Claiming(category))
        assert claimed(error) == category
        assert classify(error, during=Phase.BUILD) is FRAMEWORK
        lost = Lost(error, FRAMEWORK, during=Phase.BUILD, lane=None, attempts=1)
        assert lost.blame == Blame(category, "suite", ERRORED)

    @pytest.mark.parametrize("category", ["builder_issue", "passed", "", 3, None, ["mock_issue"]])
    def test_it_may_say_nothing_else(self, category):
        assert claimed(Claiming(category)) is None
        assert classify(Claiming(category), during=Phase.BUILD) is OUTAGE

    def test_a_row_that_was_answered(self):
        for outcome, more, category, attribution in [
            (Outcome.PASSED, {}, None, None),
            (Outcome.PASSED, {"expectations": True}, None, None),
            (FAILED, {}, "builder_issue", "target"),
            (FAILED, {"expectations": True}, "expectations_failed", "target"),
            (ERRORED, {}, "verification_failure", "judge"),
            (UNMEASURED, {}, "verification_failure", "judge"),
            (UNMEASURED, {"judged": False}, "verification_gap", "suite"),
        ]:
            assert answered_blame(outcome, **more) == (category, attribution, outcome)


class TestLost:
    @pytest.mark.parametrize(
        ("during", "code", "message"),
        [
            (Phase.SETUP, "P6701", "getting the target ready failed: ValueError"),
            (Phase.BUILD, "P6702", "building failed: ValueError"),
            (Phase.PREPARE, "P6701", "preparing the scenario failed: ValueError"),
            (Phase.ANSWER, "P6701", "answering failed: ValueError"),
        ],
    )
    def test_it_names_the_class_of_an_error_and_never_its_text(self, during, code, message):
        error = ValueError("the data of a case")
        lost = Lost(error, TARGET, during=during, lane="http://127.0.0.1:9001", attempts=1)
        assert (lost.code, lost.message, lost.hint) == (code, message, None)

    @pytest.mark.parametrize("kind", [TRANSPORT, OUTAGE, TIMEOUT])
    def test_what_may_pass_comes_with_a_next_step(self, kind):
        lost = Lost(OSError(), kind, during=Phase.ANSWER, lane=None, attempts=1)
        assert lost.hint

    def test_an_error_of_ours_says_what_it_says(self):
        error = ProviderError("the budget is used up", code="P6503", hint="raise it")
        lost = Lost(error, FRAMEWORK, during=Phase.BUILD, lane=None, attempts=1)
        assert (lost.message, lost.code, lost.hint) == (error.message, "P6503", "raise it")
