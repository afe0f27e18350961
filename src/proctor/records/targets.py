"""Targets: what a suite says of them, and what one of the project hands back."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from proctor.records.exam import Placeholder, TargetSubject
from proctor.records.recording import ToolCall, Usage
from proctor.records.words import Finish, Json


class HeaderSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A header whose value is read from the environment when a request is made.

    Args:
        env: The variable.
        prefix: What stands before its value, like `Bearer ` with a space.
    """

    env: str
    prefix: str = ""


class PythonCall(Struct, frozen=True):
    """An object of the project that answers: `package.module:attribute`."""

    reference: str


class HttpCall(Struct, frozen=True, kw_only=True):
    """An endpoint that answers.

    Args:
        url: Where it is; a lane stands in for its scheme, host and port.
        method: How it is asked.
        headers: What is sent beside the body, by the names of the headers.
        body: The template of what is sent; the case itself when there is none.
        placeholders: Those in `body`.
        answer: A JSON Pointer to the answer in the reply; None for all of the reply.
    """

    url: str
    method: str
    headers: dict[str, HeaderSpec]
    body: Json | UnsetType = UNSET
    placeholders: tuple[Placeholder, ...] = ()
    answer: str | None = None


class CommandCall(Struct, frozen=True):
    """A program that answers: its arguments, and the variables it is given beside the usual."""

    argv: tuple[str, ...]
    env: tuple[str, ...]


class OutputFile(Struct, frozen=True):
    """A file of an answer: its path relative to the project's folder, and what it held."""

    path: str
    sha256: str


class StoredOutputs(Struct, frozen=True):
    """Answers that are there already: the files of each case, one repeat after the other."""

    files: dict[str, tuple[OutputFile, ...]]


Answering = PythonCall | HttpCall | CommandCall | StoredOutputs
"""How a target answers."""


class LoadedTarget(Struct, frozen=True, kw_only=True):
    """A target of a suite, as far as it is known without running anything of it.

    Args:
        subject: What reports and recordings call it.
        how: How it answers.
        where: The place that describes it.
        lanes: The URLs of its backends.
        builds_per_lane: How many builds a lane takes at once.
        timeout_s: How long one call may take, None when the suite does not say.
        max_cost_usd: What one call of the kind `build` or `answer` may cost at most; without what
            the suite does not say.
    """

    subject: TargetSubject
    how: Answering
    where: str
    lanes: tuple[str, ...] = ()
    builds_per_lane: int = 4
    timeout_s: float | None = None
    max_cost_usd: dict[str, float] = {}


class TargetAnswer(Struct, frozen=True, kw_only=True):
    """What a target answers, when it is more than a text.

    Args:
        text: The answer; None when there is none beside the calls of tools.
        tool_calls: Calls of tools, in their order.
        finish: Why it ended.
        evidence: What it did, for judges; any JSON.
        transcript: What was said on the way; any JSON.
        context: What it knew; any JSON.
        debug: For people; any JSON.
        turns: How many turns it took.
        usage: Tokens it took, None when that is not known.
        cost_usd: What it cost, None when that is not known.
    """

    text: str | None = None
    tool_calls: list[ToolCall] = []
    finish: Finish = Finish.STOP
    evidence: Json = None
    transcript: Json = None
    context: Json = None
    debug: Json = None
    turns: int | None = None
    usage: Usage | None = None
    cost_usd: float | None = None


class Build(Struct, frozen=True):
    """What a target built for a case, and how.

    Args:
        artifact: What the scenarios of the case are run on; any object. Where it is JSON, it is
            also recorded, judged and checked.
        transcript: What was said on the way; any JSON.
        context: What it knew; any JSON.
        debug: For people; any JSON.
        usage: Tokens it took, None when that is not known.
        turns: How many turns it took.
        cost_usd: What it cost, None when that is not known.
    """

    artifact: object
    transcript: Json = None
    context: Json = None
    debug: Json = None
    usage: Usage | None = None
    turns: int | None = None
    cost_usd: float | None = None
