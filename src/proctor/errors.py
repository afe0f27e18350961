"""What Proctor raises on purpose, and the exit codes it maps to.

    ProctorError                  code, message, hint, where
    ├── UsageError         P60xx  what was asked for cannot be carried out
    │   └── EvalInputError P6005  a function of the Python API was given what it cannot use
    ├── EvalResultError    P6006  a scorer returned what is no result
    ├── AbortError         P6007  the caller stopped an evaluation
    ├── DatasetError       P61xx  a dataset or one of its cases
    ├── SuiteError         P62xx  a suite, a prompt or a rubric
    ├── ProviderError      P63xx  who was asked did not answer
    │   ├── TryAgain              and may answer when asked again
    │   └── LostCall              nobody knows whether they did
    ├── CassetteError      P64xx  the recordings of a suite
    ├── RunError           P67xx  a run, its journal, or the parts it was split into
    ├── TargetError        P6701  a target did something else than answer
    │   └── TargetStatus          and replied with a status that says so
    ├── ReportError        P69xx  a report
    ├── FileError          P68xx  a file that is malformed or must not be opened
    └── ManyProblems              several of the above, found before the first call

An exception stops the run. What spoils one row only is a value in the report instead.
`cli/main.py` is the one place that turns an exception into an exit code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum


class ExitCode(IntEnum):
    """What the process says to the shell."""

    OK = 0
    """Every threshold holds."""
    FAILED = 1
    """Measured, and a threshold does not hold."""
    CANNOT = 2
    """The request cannot be carried out; nothing was run."""
    UNMEASURED = 3
    """Nothing failed, but something could not be measured."""
    FAULT = 70
    """A fault of Proctor itself."""
    INTERRUPTED = 130
    """Stopped from the keyboard, or told to end."""


class ProctorError(Exception):
    """Base of everything Proctor raises on purpose.

    Args:
        message: What happened, names in backticks. Never a secret, never a value of a dataset.
        code: The documented code, like `P6201`.
        hint: The next step for the reader, or None.
        where: The place, as `file` or `file:line`, or None.
    """

    def __init__(
        self, message: str, *, code: str, hint: str | None = None, where: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint
        self.where = where

    def problems(self) -> Iterator[ProctorError]:
        """Each single problem this error stands for; itself, unless it is a collection."""
        yield self


class UsageError(ProctorError):
    """What was asked for cannot be carried out (P60xx)."""


class EvalInputError(UsageError):
    """A function of the Python API was given what it cannot use (P6005).

    Args:
        message: As for every problem.
        field: The argument, or the field of a definition.
        hint: As for every problem.
    """

    def __init__(self, message: str, *, field: str, hint: str | None = None) -> None:
        super().__init__(message, code="P6005", hint=hint)
        self.field = field


class EvalResultError(ProctorError):
    """A scorer returned what is no result (P6006).

    Args:
        message: As for every problem.
        candidate_id: The candidate whose output was scored.
        item_id: The item it was scored on.
        hint: As for every problem.
    """

    def __init__(
        self, message: str, *, candidate_id: str, item_id: str, hint: str | None = None
    ) -> None:
        super().__init__(message, code="P6006", hint=hint)
        self.candidate_id = candidate_id
        self.item_id = item_id


class AbortError(ProctorError):
    """The caller stopped an evaluation (P6007)."""

    def __init__(self, message: str = "the evaluation was aborted") -> None:
        super().__init__(message, code="P6007")


class DatasetError(ProctorError):
    """A dataset, or one of its cases, cannot be used (P61xx)."""


class SuiteError(ProctorError):
    """A suite, prompt or rubric cannot be used (P62xx)."""


class ProviderError(ProctorError):
    """A provider did not answer, or cannot be asked (P63xx).

    Args:
        message: As for every problem.
        code: As for every problem.
        hint: As for every problem.
        where: As for every problem.
        free: Whether it is certain that nothing was charged for the attempt.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        hint: str | None = None,
        where: str | None = None,
        free: bool = False,
    ) -> None:
        super().__init__(message, code=code, hint=hint, where=where)
        self.free = free


class TryAgain(ProviderError):
    """A provider did not answer this time, and may when it is asked again.

    Args:
        message: As for every problem.
        code: As for every problem.
        hint: As for every problem.
        wait_s: How long the provider asks to wait, None when it does not say.
        slow_down: Whether it says that too much is asked of it at once.
        free: Whether it is certain that nothing was charged for the attempt.
        status: The HTTP status it replied with, None when it did not.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        hint: str | None = None,
        wait_s: float | None = None,
        slow_down: bool = False,
        free: bool = False,
        status: int | None = None,
    ) -> None:
        super().__init__(message, code=code, hint=hint, free=free)
        self.wait_s = wait_s
        self.slow_down = slow_down
        self.status = status


class LostCall(ProviderError):
    """Who made a call is gone. Whether it was made and charged is not known."""


class CassetteError(ProctorError):
    """The recordings of a suite cannot be used (P64xx)."""


class RunError(ProctorError):
    """A run cannot go on, or what is left of one cannot be put together (P67xx)."""


class TargetError(ProctorError):
    """A target did something else than answer (P6701), or answered what is not kept (P6312).

    Args:
        message: As for every problem; never anything that the target said.
        code: As for every problem.
        hint: As for every problem.
        debug: What it wrote beside its answer, for people; any JSON, without secrets.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "P6701",
        hint: str | None = None,
        debug: object = None,
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.debug = debug


class TargetStatus(TargetError):
    """A target replied over HTTP with a status that is no success.

    Args:
        message: As for every problem.
        status: The status.
        hint: As for every problem.
    """

    def __init__(self, message: str, *, status: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class ReportError(ProctorError):
    """A report cannot be used, or is not what it should be (P69xx)."""


class FileError(ProctorError):
    """A file is malformed, or must not be opened (P68xx)."""


class ManyProblems(ProctorError):
    """Several problems found before the first call, to be listed together."""

    def __init__(self, problems: Sequence[ProctorError]) -> None:
        first = problems[0]
        super().__init__(first.message, code=first.code, hint=first.hint, where=first.where)
        self._problems = tuple(problems)

    def problems(self) -> Iterator[ProctorError]:
        """Each problem, in the order it was found."""
        for problem in self._problems:
            yield from problem.problems()


def raise_all(problems: Sequence[ProctorError]) -> None:
    """Raise what was collected: nothing, the one problem, or all of them together."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise ManyProblems(problems)


@contextmanager
def noting(problems: list[ProctorError]) -> Iterator[None]:
    """Note what goes wrong, so that all of it can be said together."""
    try:
        yield
    except ProctorError as problem:
        problems.append(problem)
