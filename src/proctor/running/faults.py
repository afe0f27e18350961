"""What went wrong with a call of a target, and who is to blame for the row.

An exception is classified by its type and its status first, along the whole chain of causes, and
by the text of that chain when neither says anything. What a tool inside the target reports is part
of what the target did: an error that speaks of a tool, and what it was raised from, are not read.
"""

from __future__ import annotations

import errno
import re
import socket
from asyncio import IncompleteReadError
from collections.abc import Awaitable, Iterator
from enum import StrEnum
from typing import NamedTuple, TypeVar

from proctor.errors import ProctorError, ProviderError, TargetError, TryAgain
from proctor.records import Outcome
from proctor.running.blame import Blame
from proctor.target_protocols import FaultKind

T = TypeVar("T")

_TRANSPORT, _OUTAGE, _TIMEOUT = FaultKind.TRANSPORT, FaultKind.OUTAGE, FaultKind.TIMEOUT
_TARGET, _FRAMEWORK = FaultKind.TARGET, FaultKind.FRAMEWORK

OUTAGES = frozenset([429, 500, 502, 503, 529])
"""Statuses of somebody who may answer later."""
_NOT_ABOUT_THE_CASE = frozenset([401, 403, 404, 405, 407, 408])
"""Other statuses below 500 that say nothing about what was asked."""

_OF_THE_TARGET = frozenset(["P6701", "P6702"])

_UNREACHABLE = frozenset(
    [
        errno.ECONNABORTED,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.ENETDOWN,
        errno.ENETRESET,
        errno.ENETUNREACH,
        errno.ETIMEDOUT,
    ]
)

_LIBRARIES = frozenset(
    [
        "aiohttp",
        "anthropic",
        "http",
        "httpcore",
        "httpcore2",
        "httpx",
        "httpx2",
        "openai",
        "requests",
    ]
)
_NAMES = {
    "APIConnectionError": _TRANSPORT,
    "APITimeoutError": _TIMEOUT,
    "ClientConnectionError": _TRANSPORT,
    "ClientPayloadError": _TRANSPORT,
    "ChunkedEncodingError": _TRANSPORT,
    "ConnectTimeout": _TRANSPORT,
    "ConnectionError": _TRANSPORT,
    "ConnectionTimeoutError": _TRANSPORT,
    "IncompleteRead": _TRANSPORT,
    "NetworkError": _TRANSPORT,
    "ProxyError": _TRANSPORT,
    "RemoteProtocolError": _TRANSPORT,
    "Timeout": _TIMEOUT,
    "TimeoutException": _TIMEOUT,
}
"""Exceptions of HTTP libraries by name, so that no library has to be loaded to know them."""

_TOOL = re.compile(r"\btools?\b", re.IGNORECASE)
_OUTAGE_TEXT = re.compile(
    r"\b(?:status|code|http(?:/[\d.]+)?|error)\b[^0-9/\n]{0,12}\b(?:429|500|502|503|529)\b"
    r"|\b(?:429|500|502|503|529) (?:too many|internal server|bad gateway|service unav|overload)"
    r"|too many requests|\brate[ _-]?limit|internal server error|bad gateway|service unavailable"
    r"|\boverloaded",
    re.IGNORECASE,
)
_TRANSPORT_TEXT = re.compile(
    r"connection (?:was |has been |is )?(?:refused|reset|aborted|closed|lost|timed out|error)"
    r"|connect(?:ion)? (?:timeout|failed)|failed to connect|cannot connect|connect call failed"
    r"|\be(?:connrefused|connreset|connaborted|pipe|notfound|ai_again|hostunreach|netunreach)\b"
    r"|broken pipe|socket hang up|server disconnected|remote end closed|fetch failed"
    r"|name or service not known|temporary failure in name resolution|getaddrinfo"
    r"|nodename nor servname|no address associated|network is unreachable|no route to host"
    r"|network error|\b(?:request|operation) was aborted|\baborterror\b",
    re.IGNORECASE,
)
_TIMEOUT_TEXT = re.compile(
    r"\btimed[ -]?out\b|\btime-?out\b|\btimeouterror\b|deadline exceeded", re.IGNORECASE
)
_TEXTS = ((_OUTAGE_TEXT, _OUTAGE), (_TRANSPORT_TEXT, _TRANSPORT), (_TIMEOUT_TEXT, _TIMEOUT))
_READ = 64 * 1_024
"""How much of the text of one error is looked at."""
_LONGEST_CHAIN = 32

CLAIMS = frozenset(["mock_issue", "verification_gap"])
"""Categories that an exception may name itself, in an attribute `category`."""


class Phase(StrEnum):
    """What was being done when something went wrong."""

    SETUP = "setup"
    BUILD = "build"
    PREPARE = "prepare"
    ANSWER = "answer"


class Raised(NamedTuple):
    """What a call raised."""

    error: Exception


class Told(Exception):
    """What a target raised in another process, as far as that process tells.

    Args:
        kind: What kind of fault it is.
        status: The HTTP status it carries, None when it has none.
        category: What it claims for itself, None when it claims nothing.
    """

    def __init__(self, kind: FaultKind, status: int | None, category: str | None) -> None:
        super().__init__()
        self.kind = kind
        self.status = status
        self.category = category


async def caught(call: Awaitable[T]) -> T | Raised:
    """What a call returned, or what it raised. A target is somebody else's: it may raise anything.

    A cancellation is nobody's fault, and passes.
    """
    try:
        return await call
    except Exception as error:
        return Raised(error)


def classify(error: BaseException, *, during: Phase) -> FaultKind:
    """What kind of fault an exception of a target stands for.

    Args:
        error: What was raised, with its causes.
        during: What the target was doing. What nothing is known of is the target's own failure
            while it builds and answers, and nobody's while it gets ready for that.
    """
    links = list(_links(error))
    if _claim(links) is not None:
        return _FRAMEWORK
    for link in links:
        kind = _by_type(link)
        if kind is not None:
            return kind
    text = "\n".join(str(link)[:_READ] for link in links if not _is_of_a_tool(link))
    for pattern, kind in _TEXTS:
        if pattern.search(text):
            return kind
    return _TARGET if during in (Phase.BUILD, Phase.ANSWER) else _FRAMEWORK


def claimed(error: BaseException) -> str | None:
    """The category that an exception, or one of its causes, claims for itself; None when none does.

    Only what is no fault of the target can be claimed: see `CLAIMS`.
    """
    return _claim(_links(error))


def status_of(error: BaseException) -> int | None:
    """The HTTP status of 400 or more that an exception carries, None when it has none."""
    response = getattr(error, "response", None)
    for owner, name in (
        (error, "status"),
        (error, "status_code"),
        (response, "status"),
        (response, "status_code"),
    ):
        status = getattr(owner, name, None)
        if type(status) is int and 400 <= status < 600:
            return status
    return None


def _links(error: BaseException) -> Iterator[BaseException]:
    """An exception and what it was raised from, down to what a tool of the target reported."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen and len(seen) < _LONGEST_CHAIN:
        yield link
        seen.add(id(link))
        if _is_of_a_tool(link):
            return
        hidden = link.__suppress_context__
        link = link.__cause__ or (None if hidden else link.__context__)


def _claim(links: Iterator[BaseException] | list[BaseException]) -> str | None:
    for link in links:
        category = getattr(link, "category", None)
        if isinstance(category, str) and category in CLAIMS:
            return category
    return None


def _is_of_a_tool(link: BaseException) -> bool:
    """Whether an error says that a tool of the target reported it, and has no other origin."""
    if "Tool" in type(link).__name__:
        return True
    return _by_type(link) is None and _TOOL.search(str(link)[:_READ]) is not None


def _by_type(error: BaseException) -> FaultKind | None:
    """What the type or the status of one exception says; None when they say nothing."""
    if isinstance(error, (Lost, Told)):
        return error.kind
    if "Tool" in type(error).__name__:
        return None
    status = status_of(error)
    if status is not None:
        return _of_status(status)
    if isinstance(error, ProctorError):
        return _of_ours(error)
    # Python itself tells a connection that never came about from a wait that was given up.
    if isinstance(error, OSError) and error.errno in _UNREACHABLE:
        return _TRANSPORT
    if isinstance(error, TimeoutError):
        return _TIMEOUT
    if isinstance(error, (ConnectionError, socket.gaierror, IncompleteReadError)):
        return _TRANSPORT
    for known in type(error).__mro__:
        if known.__module__.partition(".")[0] in _LIBRARIES and known.__name__ in _NAMES:
            return _NAMES[known.__name__]
    return None


def _of_status(status: int) -> FaultKind:
    if status in OUTAGES:
        return _OUTAGE
    # A wrong key or address, and a server that gave up, are no verdict on what was asked.
    return _FRAMEWORK if status >= 500 or status in _NOT_ABOUT_THE_CASE else _TARGET


def _of_ours(error: ProctorError) -> FaultKind | None:
    if isinstance(error, TargetError):
        return _TARGET
    if isinstance(error, TryAgain):
        return _OUTAGE if error.code == "P6309" else _TRANSPORT
    if isinstance(error, ProviderError) and error.code == "P6310":
        return _TIMEOUT
    # Ours may only stand for what a target raised; then its cause says more.
    return None if error.code in _OF_THE_TARGET else _FRAMEWORK


_NO_ANSWER = {
    (Phase.BUILD, _TARGET): Blame("build_failure", "target", Outcome.FAILED),
    (Phase.BUILD, _TIMEOUT): Blame("build_timeout", "target", Outcome.FAILED),
    (Phase.ANSWER, _TARGET): Blame("framework_issue", "target", Outcome.ERRORED),
    (Phase.ANSWER, _TIMEOUT): Blame("timeout", "target", Outcome.ERRORED),
}
_OWNERS = {_TRANSPORT: "lane", _OUTAGE: "provider"}


def row_blame(kind: FaultKind, during: Phase, claim: str | None = None) -> Blame:
    """Who is to blame for a row that has no answer.

    | what went wrong | category | attribution | outcome |
    |---|---|---|---|
    | a claim of the exception itself | what it claims | `suite` | errored |
    | build, of the target itself | `build_failure` | `target` | failed |
    | build, the time was up | `build_timeout` | `target` | failed |
    | answer, of the target itself | `framework_issue` | `target` | errored |
    | answer, the time was up | `timeout` | `target` | errored |
    | anything, lost on the way | `framework_issue` | `lane` | errored |
    | anything, an outage | `framework_issue` | `provider` | errored |
    | anything else | `framework_issue` | `framework` | errored |

    A build that fails is the verdict on its rows. An answer that never came is none: a row whose
    target raised something was not measured, whoever is to blame for that.

    Args:
        kind: What went wrong.
        during: What was being done.
        claim: What `claimed` says of the exception.
    """
    if claim is not None:
        return Blame(claim, "suite", Outcome.ERRORED)
    blame = _NO_ANSWER.get((during, kind))
    return blame or Blame("framework_issue", _OWNERS.get(kind, "framework"), Outcome.ERRORED)


_DOING = {
    Phase.SETUP: "getting the target ready",
    Phase.BUILD: "building",
    Phase.PREPARE: "preparing the scenario",
    Phase.ANSWER: "answering",
}
_HINTS = {
    _TRANSPORT: "see that the target runs and can be reached, then run it again",
    _OUTAGE: "run it again later",
    _TIMEOUT: "find out what the target waits for, or give it a longer `timeout`",
}


class Lost(ProctorError):
    """A call of a target that is not tried again.

    It says what an error of ours says. Of anything else it names the class only, for the text may
    hold data.

    Args:
        error: What it came to at last.
        kind: What kind of fault that is.
        during: What was being done.
        lane: Where it was tried last, None for a target without lanes.
        attempts: How often it was tried in all.
    """

    def __init__(
        self, error: Exception, kind: FaultKind, *, during: Phase, lane: str | None, attempts: int
    ) -> None:
        if isinstance(error, ProctorError):
            super().__init__(error.message, code=error.code, hint=error.hint, where=error.where)
        else:
            super().__init__(
                f"{_DOING[during]} failed: {type(error).__name__}",
                code="P6702" if during is Phase.BUILD else "P6701",
                hint=_HINTS.get(kind),
            )
        self.kind = kind
        self.during = during
        self.lane = lane
        self.attempts = attempts
        self.blame = row_blame(kind, during, claimed(error))
