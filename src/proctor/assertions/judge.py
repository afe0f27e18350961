"""The kind `llm-judge`: models judge the answer by a rubric of the project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self, cast

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from proctor.assertions.answers import AnswerView, Failure
from proctor.assertions.base import (
    CheckMaker,
    SelectingSpec,
    invalid,
    select_value,
    selected_part,
)
from proctor.errors import ProctorError, raise_all
from proctor.judging.boundary import Judged, answer_needs, as_text, case_needs, judge_inputs
from proctor.judging.fences import rubric_faults, rubric_warnings
from proctor.judging.orders import reverse_rubric
from proctor.judging.questions import JudgeQuestion, judges, questions
from proctor.judging.rubrics import Rubric, parse_rubric, self_judging
from proctor.judging.votes import Ballot, decide, read_vote
from proctor.protocols import Scope
from proctor.records import (
    Answered,
    AssertionSpec,
    Case,
    Check,
    Json,
    JsonObject,
    Outcome,
    Placeholder,
    Request,
    Subject,
    Vote,
)

_TURNED = {Outcome.PASSED: Outcome.FAILED, Outcome.FAILED: Outcome.PASSED}
_NO_REPLY = "no_reply"


class LlmJudgeSpec(SelectingSpec, frozen=True, kw_only=True):
    """Fields of `llm-judge`.

    Args:
        rubric: The prompt that judges: `<prompt id>` or `<project id>/<prompt id>`.
        allow_unfenced: Why the rubric may show what it judges outside of a fence.
    """

    rubric: str
    allow_unfenced: str | UnsetType = UNSET


class LlmJudge:
    """More than half of the runs say pass.

    Args:
        spec: The assertion as written.
        rubric: What is judged by.
        asked: The rubric on each model that judges, one for each run.
        scope: The suite.
    """

    Spec: ClassVar[type[AssertionSpec]] = LlmJudgeSpec

    def __init__(
        self, spec: LlmJudgeSpec, rubric: Rubric, asked: Sequence[Subject], scope: Scope
    ) -> None:
        self.spec: AssertionSpec = spec
        self._spec = spec
        self._scope = scope
        self.judges = tuple(asked)
        self.skips_after_failure = scope.judge.skip_after_failure
        self.warnings = rubric_warnings(rubric)
        if scope.model is not None:
            refs = [one.model.ref for one in asked]
            self.warnings += self_judging(rubric, refs, [scope.model.ref], where=rubric.prompt.path)
        self._rubric = rubric
        self._part = selected_part(spec.field, "field")
        self._checks = CheckMaker(spec)
        self._checks.place = "" if self._part is None else self._part.place
        self._checks.extracts = spec.extract is not UNSET

    @classmethod
    def compile(cls, spec: AssertionSpec, scope: Scope) -> Self:
        """Make the rubric ready.

        Raises:
            ProctorError: P6203 when there is no such prompt, P6211, P6212 or P6216 when it is no
                rubric that can be relied on, P6201 when nobody is named who judges, or when it
                uses what the answer of a model never has.
        """
        written = cast("LlmJudgeSpec", spec)
        if isinstance(written.allow_unfenced, str) and not written.allow_unfenced.strip():
            raise invalid("`allowUnfenced` has no reason", "say why, or leave it out")
        rubric, problems = parse_rubric(*scope.rubric(written.rubric))
        raise_all(problems)
        assert rubric is not None  # noqa: S101 - without a rubric there were problems
        reason = written.allow_unfenced
        raise_all(
            rubric_faults(rubric, allow_unfenced=None if isinstance(reason, UnsetType) else reason)
        )
        if scope.model is not None:
            lacking = answer_needs(rubric, Judged(response="", case_inputs={}))
            if lacking is not None:
                raise invalid(f"{lacking}: a model gives none", "take it out of the rubric")
        return cls(written, rubric, judges(rubric, scope.judge), scope)

    def needs(self, case: Case) -> str | None:
        """What this case lacks for the judges to be asked, as a sentence, or None."""
        return case_needs(self._rubric, _judged("", case, None))

    def response(self, answered: Answered) -> str | None:
        """The text that is judged; None when the answer does not have it."""
        response = self._response(AnswerView.of(answered))
        return None if isinstance(response, Failure) else as_text(response)

    def questions(self, answered: Answered, case: Case) -> list[JudgeQuestion] | Check:
        """What the judges are asked about one answer; a check when nobody has to be asked."""
        view = AnswerView.of(answered)
        response = self._response(view)
        if isinstance(response, Failure):
            return self._checks.failed(view, response)
        judged = _judged(response, case, answered)
        lacking = answer_needs(self._rubric, judged)
        if lacking is not None:
            return self._checks.failed(view, Failure("not_judgeable", evidence={"why": lacking}))
        inputs = judge_inputs(self._rubric, judged)
        return questions(self._rubric, self.judges, inputs, case=case.id, assertion=self.spec.id)

    def outline(self, case: Case) -> tuple[Request, int]:
        """What a judge would be sent about an empty answer, and how often the answer is in it."""
        inputs = judge_inputs(self._rubric, _judged("", case, None))
        (first, *_) = questions(
            self._rubric, self.judges, inputs, case=case.id, assertion=self.spec.id
        )
        shown = [
            part
            for parts in self._rubric.templates
            for part in parts
            if isinstance(part, Placeholder) and part.path[0] == "response"
        ]
        return first.request(), len(shown)

    def judge(
        self, replies: Sequence[Answered | ProctorError], answered: Answered, case: Case
    ) -> Check:
        """What the judges decide together; a reply that is missing leaves the check errored.

        It does so whatever the others say: a replay must not decide otherwise than the run that
        was recorded.
        """
        ballots = [self._ballot(reply, case) for reply in replies]
        missing = next((one for one in replies if isinstance(one, ProctorError)), None)
        if missing is None:
            outcome, reason, evidence = self._decided(ballots)
        else:
            outcome, reason, evidence = Outcome.ERRORED, f"{_NO_REPLY}: {missing.code}", None
        view = AnswerView.of(answered)
        if self._checks.extracts:
            # So that the check says from where.
            view.extracted()
        check = self._checks.checked(view, outcome, reason, evidence)
        votes = [
            _vote(ballot, judge, reply)
            for ballot, judge, reply in zip(ballots, self.judges, replies, strict=True)
        ]
        return replace(check, votes=votes)

    def reversed(self) -> Self | None:
        """The same, asking with what is judged in reverse order; None where there is no order."""
        rubric = reverse_rubric(self._rubric)
        if rubric is None:
            return None
        spec = replace(self._spec, id=f"{self._spec.id} (reversed)")
        return type(self)(spec, rubric, judges(rubric, self._scope.judge), self._scope)

    def _response(self, view: AnswerView) -> Json | Failure:
        return select_value(view, self._part, extracts=self._checks.extracts)

    def _ballot(self, reply: Answered | ProctorError, case: Case) -> Ballot:
        if isinstance(reply, ProctorError):
            return Ballot(None, f"{_NO_REPLY}: {reply.code}")
        return read_vote(self._rubric, reply.answer, dos=case.dos, donts=case.donts)

    def _decided(self, ballots: Sequence[Ballot]) -> tuple[Outcome, str | None, JsonObject]:
        decision = decide(ballots, len(self.judges))
        outcome, reason = decision.outcome, decision.reason
        if self.spec.negate and outcome in _TURNED:
            outcome = _TURNED[outcome]
            reason = None if outcome is Outcome.PASSED else "judged_pass"
        evidence: JsonObject = {
            "passed": decision.passed,
            "failed": decision.failed,
            "invalid": decision.invalid,
        }
        credits = [ballot.credit for ballot in ballots if ballot.credit is not None]
        if credits:
            evidence["credit"] = sum(credits) / len(credits)
        return outcome, reason, evidence


def _judged(response: Json, case: Case, answered: Answered | None) -> Judged:
    answer = None if answered is None else answered.answer
    return Judged(
        response=response,
        case_inputs=case.inputs,
        expected=case.expected,
        context=case.context,
        dos=case.dos,
        donts=case.donts,
        evidence=None if answer is None else answer.evidence,
        artifact=None if answer is None else answer.artifact,
        transcript=None if answer is None else answer.transcript,
    )


def _vote(ballot: Ballot, judge: Subject, reply: Answered | ProctorError) -> Vote:
    recording = None if isinstance(reply, ProctorError) else reply.recording
    return Vote(ballot.verdict, ballot.reason, judge.model.ref, recording)
