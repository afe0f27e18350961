"""What a run asks its workers, and what they say: structs that go over as JSON.

A key never does: workers read keys from their own environment.
"""

from __future__ import annotations

from typing import Literal, NoReturn

from msgspec import Struct

from proctor.asking_rules import AskingRules
from proctor.errors import (
    CassetteError,
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
from proctor.records import Call, Case, Json, JsonObject, Reply, Request, Scenario
from proctor.running.faults import Phase, Told, claimed, classify, status_of
from proctor.target_protocols import FaultKind

_CLASSES = {
    one.__name__: one
    for one in (CassetteError, DatasetError, FileError, RunError, SuiteError, UsageError)
}


class JobSuite(Struct, frozen=True):
    """What is run of a suite: the ids of subjects, the 0-based places of cases, and repeats."""

    name: str
    subjects: list[str]
    places: list[int]
    repeats: int


class Job(Struct, frozen=True, kw_only=True):
    """What a worker has to be ready for.

    Args:
        version: The version of Proctor that asks.
        root: The project's folder, which has to be there on every machine.
        settings: The plain settings in force, whatever a worker's environment says.
        rules: What asking may do.
        suites: What is run.
        plan_sha256: Over what is run.
        config_sha256: Over the project's configuration.
        providers: Who is asked, by the first part of a model reference.
        targets: The names of suites whose target is asked.
    """

    version: str
    root: str
    settings: JsonObject
    rules: AskingRules
    suites: list[JobSuite]
    plan_sha256: str
    config_sha256: str
    providers: list[str]
    targets: list[str]


class Problem(Struct, frozen=True):
    """An error of ours as it goes over."""

    type: str
    code: str
    message: str
    hint: str | None
    where: str | None

    @classmethod
    def of(cls, error: ProctorError) -> Problem:
        """An error to be told."""
        name = type(error).__name__
        return cls(name, error.code, error.message, error.hint, error.where)

    def error(self) -> ProctorError:
        """The error again."""
        kind = ProviderError if self.type == "ProviderError" else _CLASSES.get(self.type)
        return (kind or ProctorError)(
            self.message, code=self.code, hint=self.hint, where=self.where
        )


class OpenedProvider(Struct, frozen=True):
    """A provider that a worker can ask, and the variable whose key it is given."""

    kind: str
    host: str | None
    key: str | None


class OpenedTarget(Struct, frozen=True):
    """Whether a target has something to build, and something to get ready for a scenario."""

    builds: bool
    prepares: bool


class Welcome(Struct, frozen=True, kw_only=True):
    """That a worker is ready, or what stands in the way of it.

    Args:
        providers: Those that it can ask, by name.
        targets: Those that it can ask, by the names of their suites.
        notes: Lines for the reader.
        problems: What stands in the way.
    """

    providers: dict[str, OpenedProvider] = {}
    targets: dict[str, OpenedTarget] = {}
    notes: list[str] = []
    problems: list[Problem] = []


class ProviderCall(Struct, frozen=True, tag="provider"):
    """A call to a model."""

    provider: str
    request: Request
    call: Call


class TargetCall(Struct, frozen=True, kw_only=True, tag="target"):
    """A call of a method of a target.

    Args:
        suite: Whose target.
        method: Which method.
        lane: On which lane.
        case: The case, where the method is told one.
        scenario: Its scenario.
        repeat: The repeat.
        artifact: The number of what this worker has built; None for nothing.
    """

    suite: str
    method: Literal[
        "setup", "teardown", "health", "build", "prepare", "answer", "cleanup", "aclose"
    ]
    lane: str | None = None
    case: Case | None = None
    scenario: Scenario | None = None
    repeat: int = 1
    artifact: int | None = None


AnyCall = ProviderCall | TargetCall


class Replied(Struct, frozen=True, tag="replied"):
    """The reply to a call."""

    reply: Reply


class BuiltThere(Struct, frozen=True, tag="built"):
    """What was built: its number on the worker that has it, and what is recorded of it."""

    artifact: int
    reply: Reply


class Said(Struct, frozen=True, tag="said"):
    """What a method says that has no more to say than whether all is well."""

    is_fine: bool


class Failure(Struct, frozen=True, kw_only=True, tag="failed"):
    """What a call raised.

    Args:
        name: The name of its class.
        problem: What it says; None when it is none of ours, for its text may hold data.
        kind: What kind of fault it is.
        category: What it claims for itself.
        status: The HTTP status that it carries.
        free: Whether it is certain that nothing was charged.
        wait_s: How long the provider asks to wait.
        slow_down: Whether it says that too much is asked of it at once.
        debug: What a target wrote beside its answer.
    """

    name: str
    problem: Problem | None
    kind: FaultKind
    category: str | None = None
    status: int | None = None
    free: bool = False
    wait_s: float | None = None
    slow_down: bool = False
    debug: Json = None

    @classmethod
    def of(cls, error: Exception, during: Phase) -> Failure:
        """An exception to be told.

        Args:
            error: The exception.
            during: What was being done.
        """
        return cls(
            name=type(error).__name__,
            problem=Problem.of(error) if isinstance(error, ProctorError) else None,
            kind=classify(error, during=during),
            category=claimed(error),
            status=status_of(error),
            free=isinstance(error, ProviderError) and error.free,
            wait_s=error.wait_s if isinstance(error, TryAgain) else None,
            slow_down=isinstance(error, TryAgain) and error.slow_down,
            debug=error.debug if isinstance(error, TargetError) else None,
        )

    def throw(self) -> NoReturn:
        """Raise what stands for it here: it reads the same, and is classified the same."""
        cause = Told(self.kind, self.status, self.category)
        if self.problem is None:
            # What is told of it is the name of its class.
            raise type(self.name, (Told,), {})(self.kind, self.status, self.category)
        raise self._ours(self.problem) from cause

    def _ours(self, said: Problem) -> ProctorError:
        message, code, hint = said.message, said.code, said.hint
        if self.name == "TargetStatus" and self.status is not None:
            return TargetStatus(message, status=self.status, hint=hint)
        if self.name in ("TargetError", "TargetStatus"):
            return TargetError(message, code=code, hint=hint, debug=self.debug)
        if self.name == "TryAgain":
            return TryAgain(
                message,
                code=code,
                hint=hint,
                wait_s=self.wait_s,
                slow_down=self.slow_down,
                free=self.free,
                status=self.status,
            )
        if self.name == "ProviderError":
            return ProviderError(message, code=code, hint=hint, where=said.where, free=self.free)
        return said.error()


Result = Replied | BuiltThere | Said | Failure
