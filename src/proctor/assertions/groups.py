"""The kinds `all-of` and `any-of`: an assertion made of others.

`not all-of` is `any-of` with each part negated, and the other way round. So a part that fails also
when it is negated, because there is nothing to judge, cannot make a negated group pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Self, cast

from msgspec.structs import replace

from proctor.assertions.answers import AnswerView, Failure, NotRun, NoVerdict
from proctor.assertions.base import CompiledAssertion, invalid
from proctor.errors import ProctorError, raise_all
from proctor.outcomes import TIMED_OUT, ran_out_of_time
from proctor.protocols import Assertion, AssertionKind, JudgedAssertion, Preparing, Scope
from proctor.records import (
    Answered,
    AssertionSpec,
    Case,
    Check,
    GroupSpec,
    JsonObject,
    LoadedAssertion,
    Outcome,
)
from proctor.registry import assertion_kinds

_PASSED, _FAILED = Outcome.PASSED, Outcome.FAILED


class _Group(CompiledAssertion):
    """The parts are asked in their order. What did not pass is explained in the evidence."""

    Spec: ClassVar[type[AssertionSpec]] = GroupSpec
    NEEDS_ALL: ClassVar[bool]

    def __init__(self, spec: GroupSpec, parts: Sequence[Assertion], places: Sequence[str]) -> None:
        super().__init__(spec)
        self._parts = tuple(parts)
        self._places = tuple(places)
        self._needs_all = self.NEEDS_ALL is not spec.negate

    @classmethod
    def compile(cls, spec: AssertionSpec, scope: Scope) -> Self:
        """Make the parts ready.

        Raises:
            ProctorError: What is wrong with the parts, each problem with its place.
        """
        group = cast("GroupSpec", spec)
        parts: list[Assertion] = []
        problems: list[ProctorError] = []
        for loaded in cast("list[LoadedAssertion]", group.of):
            part = loaded.spec
            if spec.negate:
                part = replace(part, negate=not part.negate)
            kind = cast("AssertionKind", assertion_kinds.get(part.kind))
            try:
                compiled = kind.compile(part, scope)
                if isinstance(compiled, JudgedAssertion):
                    raise invalid(
                        f"`{part.id}` asks a judge, which no part of a group may",
                        "write it as an assertion of its own",
                    )
                parts.append(compiled)
            except ProctorError as problem:
                problem.where = problem.where or loaded.where
                problems.append(problem)
        raise_all(problems)
        return cls(group, parts, [loaded.where for loaded in group.of])

    def needs(self, case: Case) -> str | None:
        """What this case lacks for a part to be asked, as a sentence, or None."""
        for part in self._parts:
            sentence = part.needs(case)
            if sentence is not None:
                return f"in `{part.spec.id}`, {sentence}"
        return None

    def prepare(self) -> Iterator[ProctorError]:
        """What stands in the way of asking the parts."""
        for part, place in zip(self._parts, self._places, strict=True):
            if isinstance(part, Preparing):
                for problem in part.prepare():
                    problem.where = problem.where or place
                    yield problem

    def check(self, answered: Answered, case: Case) -> Check:
        """Judge one answer.

        A part that runs out of time fails the group, so that later rows do not wait for it again.
        """
        view = AnswerView.of(answered)
        checks: list[Check] = []
        for part in self._parts:
            check = part.check(view, case)
            if ran_out_of_time(check):
                return self.failed(view, Failure(TIMED_OUT, evidence=_explained([check])))
            if check.outcome is _PASSED and not self._needs_all:
                return self.passed(view)
            checks.append(check)
        outcomes = {check.outcome for check in checks}
        if outcomes == {_PASSED}:
            return self.passed(view)
        kinds = [Failure, NotRun, NoVerdict] if self._needs_all else [NotRun, NoVerdict, Failure]
        kind = next(kind for kind in kinds if kind.outcome in outcomes)
        reason = self._reason() if kind is Failure else "undecided"
        return self.failed(view, kind(reason, evidence=_explained(checks)))

    def _reason(self) -> str:
        if self._needs_all:
            return "one_passed" if self.spec.negate else "not_all_passed"
        return "all_passed" if self.spec.negate else "none_passed"


class AllOf(_Group):
    """Every part passes.

    One that fails decides; else one that could not be run, else one without a verdict.
    """

    NEEDS_ALL: ClassVar[bool] = True


class AnyOf(_Group):
    """A part passes; the parts after it are not asked.

    When none does, one that could not be run or has no verdict leaves it open.
    """

    NEEDS_ALL: ClassVar[bool] = False


def _explained(checks: Sequence[Check]) -> JsonObject:
    """What the parts that did not pass say."""
    return {"issues": [_issue(check) for check in checks if check.outcome is not _PASSED]}


def _issue(check: Check) -> JsonObject:
    reason = check.reason or check.outcome.value
    issue: JsonObject = {
        "id": check.id,
        "kind": check.kind,
        "outcome": check.outcome.value,
        "reason": reason,
        "message": f"`{check.id}`: {reason.replace('_', ' ')}",
    }
    if check.evidence is not None:
        issue["evidence"] = check.evidence
    return issue
