"""Judging whether statements about what was built are true."""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from proctor.assertions.judge import LlmJudge, LlmJudgeSpec
from proctor.judging.questions import JudgeQuestion
from proctor.protocols import JudgedAssertion, Scope
from proctor.records import EXPECTATIONS, Answered, CallKind, Case, Check


class ExpectationJudge(LlmJudge):
    """Judges what was built by one statement, which the rubric is given as `expected`."""

    def questions(self, answered: Answered, case: Case) -> list[JudgeQuestion] | Check:
        """What the judges are asked about one build; a check when nobody has to be asked."""
        asked = super().questions(answered, case)
        if isinstance(asked, Check):
            return asked
        return [replace(one, kind=CallKind.EXPECTATION) for one in asked]


def compile_expectations(rubric: str, scope: Scope) -> JudgedAssertion:
    """Make ready who judges what is expected of builds.

    Args:
        rubric: The prompt that judges.
        scope: The suite.

    Raises:
        ProctorError: As for an assertion of the kind `llm-judge`.
    """
    spec = LlmJudgeSpec(id=EXPECTATIONS, kind="llm-judge", rubric=rubric)
    return cast("JudgedAssertion", ExpectationJudge.compile(spec, scope))
