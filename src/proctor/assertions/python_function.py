"""The kind `python`: a function of the project judges the answer.

It is imported once, before the first row and only when the command line allows it; compiling the
assertion reads nothing.
"""

from __future__ import annotations

import inspect
import math
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from copy import deepcopy
from pathlib import Path
from typing import ClassVar, Final, cast

from proctor.assertions.answers import NO_ANSWER, AnswerView, Failure, NotRun, NoVerdict
from proctor.assertions.base import CompiledAssertion, cannot_fail, invalid, shortened
from proctor.errors import ProctorError
from proctor.project_code import import_function, not_allowed, split_reference
from proctor.protocols import Scope
from proctor.records import (
    Answer,
    Answered,
    AssertionSpec,
    Case,
    Check,
    JsonObject,
    Outcome,
    encode_json,
)
from proctor.strict_json import parse_json

_TOLERANCE: Final = 1e-9
_NEGATED: Final = {Outcome.PASSED: Outcome.FAILED, Outcome.FAILED: Outcome.PASSED}


class PythonSpec(AssertionSpec, frozen=True, kw_only=True):
    """The fields of `python`.

    Args:
        function: `package.module:name`, from the project's folder or installed.
        min: The least number it returns for an answer that passes.
    """

    function: str
    min: float = 1.0


class PythonFunction(CompiledAssertion):
    """`name(answer, case)` returns a boolean, a number or a `Check`.

    It gets copies, and what it prints goes to stderr. An exception leaves the check errored; the
    first one is shown on stderr, since no report holds its message.
    """

    Spec: ClassVar[type[AssertionSpec]] = PythonSpec

    def __init__(self, spec: PythonSpec, root: Path) -> None:
        super().__init__(spec)
        self._reference = spec.function
        self._min = spec.min
        self._root = root
        self._function: Callable[[Answer, Case], object] | None = None
        self._has_told = False

    @staticmethod
    def compile(spec: AssertionSpec, scope: Scope) -> PythonFunction:
        """Make the assertion ready to be prepared; nothing is imported.

        Raises:
            SuiteError: P6220 when code of the project may not run, P6201 when `function` is no
                reference or `min` not finite, P6202 when `min` is 0 or less.
        """
        spec = cast("PythonSpec", spec)
        if split_reference(spec.function) is None:
            raise invalid(
                f"`function`: `{spec.function}` is not a reference to a function",
                "write `package.module:name`",
            )
        if not math.isfinite(spec.min):
            raise invalid("`min` must be a number")
        if spec.min <= 0:
            raise cannot_fail("a score of 0 is at least `min`", "write a `min` above 0")
        if not scope.allow_code:
            raise not_allowed(spec.function)
        return PythonFunction(spec, scope.root)

    def prepare(self) -> Iterator[ProctorError]:
        """Import the function; yield the problem when it cannot be had."""
        try:
            function = import_function(self._root, self._reference, allow_code=True)
        except ProctorError as problem:
            yield invalid(f"`function`: {problem.message}", problem.hint)
        else:
            if inspect.iscoroutinefunction(function):
                yield invalid(
                    f"`function`: `{self._reference}` is `async`, and is not awaited",
                    "write it as a plain `def`",
                )
            self._function = function

    def check(self, answered: Answered, case: Case) -> Check:
        """Judge one answer."""
        view = AnswerView.of(answered)
        if _is_nothing(view.answer):
            return self.failed(view, NO_ANSWER)
        if self._function is None:
            return self.failed(view, NotRun("not_prepared"))
        try:
            with redirect_stdout(sys.stderr):
                result = self._function(deepcopy(view.answer), deepcopy(case))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._tell(error)
            return self.failed(view, NotRun("crashed", type(error).__name__))
        if isinstance(result, Check):
            return self._of_check(view, result)
        if isinstance(result, bool):
            return self._of_match(view, result, f"returned_{str(result).lower()}")
        if isinstance(result, (int, float)):
            return self._of_score(view, result)
        if inspect.iscoroutine(result):
            result.close()
        return self.failed(view, NotRun("returned", type(result).__name__))

    def _tell(self, error: BaseException) -> None:
        if self._has_told:
            return
        self._has_told = True
        name = type(error).__name__
        try:
            message = str(error)
        except Exception:
            message = "its message cannot be had"
        where = _raised_at(error, self._root)
        said = f"{name}: {_safe(shortened(message))}" if message else name
        place = f" ({_safe(where)})" if where else ""
        sys.stderr.write(f"{_safe(self.spec.id)}: {said}{place}\n")

    def _of_match(
        self, view: AnswerView, is_match: bool, code: str, evidence: JsonObject | None = None
    ) -> Check:
        if is_match is self.spec.negate:
            return self.failed(view, Failure(code, evidence=evidence))
        return self.passed(view)

    def _of_score(self, view: AnswerView, score: float) -> Check:
        try:
            score = float(score)
        except OverflowError:
            score = math.inf
        if not math.isfinite(score):
            code = "not_a_number" if math.isnan(score) else "not_finite"
            return self.failed(view, NoVerdict(code))
        is_enough = score >= self._min - _TOLERANCE * self._min
        code = "reaches_min" if is_enough else "below_min"
        return self._of_match(view, is_enough, code, {"got": score, "min": self._min})

    def _of_check(self, view: AnswerView, check: Check) -> Check:
        """The check of this assertion with the verdict, reason and evidence of another one."""
        # Nobody has looked at what a function of the project put into it.
        reason: object = check.reason
        evidence: object = {}
        try:
            outcome = Outcome(check.outcome)
            if check.evidence is not None:
                evidence = parse_json(encode_json(check.evidence))
        except (TypeError, ValueError, OverflowError, RecursionError):
            return self.failed(view, NotRun("returned", "Check"))
        if not isinstance(reason, str | None) or not isinstance(evidence, dict):
            return self.failed(view, NotRun("returned", "Check"))
        if self.spec.negate:
            outcome = _NEGATED.get(outcome, outcome)
        if reason is not None and reason.partition(":")[0] == "timed_out":
            # In our own reasons this means that the later rows are not asked at all.
            reason = f"function_{reason}"
        return self.checked(view, outcome, reason and shortened(reason), evidence)


def _raised_at(error: BaseException, root: Path) -> str:
    """The last line of the project that was running, else the last line; empty when none was."""
    # The first frame is the one here that called the function.
    frames = traceback.extract_tb(error.__traceback__)[1:]
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(root)]
    return next((f"{one.filename}:{one.lineno}" for one in reversed(own or frames)), "")


def _safe(text: str) -> str:
    """Text as a part of a line: nothing in it acts on a terminal or on the runner of a CI job."""
    printable = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
    return printable.replace("::", ":\\x3a").replace("##", "#\\x23")


def _is_nothing(answer: Answer) -> bool:
    parts = (answer.text, answer.artifact, answer.evidence, answer.transcript)
    return not answer.tool_calls and all(part is None for part in parts)
