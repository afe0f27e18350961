"""Who judges by a rubric, and what each of them is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from proctor.contracts import answer_schema
from proctor.errors import SuiteError
from proctor.judging.boundary import JudgeInputs
from proctor.judging.rubrics import Rubric
from proctor.records import CallKind, JudgeSetup, ModelChoice, Request, Subject


class JudgeQuestion(Struct, frozen=True, gc=False):
    """One run of a judge on one answer; a `Question`."""

    rubric: Rubric
    subject: Subject
    inputs: JudgeInputs
    take: int
    case: str
    assertion: str
    kind: CallKind = CallKind.JUDGE

    @property
    def inputs_sha256(self) -> str:
        """What identifies the rubric's inputs in the key."""
        return self.inputs.sha256

    def request(self) -> Request:
        """What would be sent."""
        return Request(
            model=self.subject.model,
            messages=self.rubric.messages(self.inputs.values),
            output_schema=answer_schema(self.rubric.prompt),
        )


def judges(rubric: Rubric, setup: JudgeSetup) -> tuple[Subject, ...]:
    """The rubric on each model that judges, one for each run.

    Raises:
        SuiteError: P6201 when neither the suite nor the rubric names a model.
    """
    own = rubric.prompt.model
    params = {} if own is None else own.params
    refs: Sequence[str] = setup.panel
    if not refs:
        ref = setup.model or (None if own is None else own.ref)
        if ref is None:
            raise SuiteError(
                f"nobody is named who judges by the rubric `{rubric.prompt.id}`",
                code="P6201",
                hint="write `judge: {model: <provider>/<name>}` in the suite, or `model` in the "
                "rubric; there is no default judge",
            )
        refs = [ref] * setup.runs
    choices = {ref: ModelChoice(ref=ref, params={**params, **setup.params}) for ref in refs}
    subjects = {ref: Subject(prompt=rubric.prompt, model=choices[ref]) for ref in choices}
    return tuple(subjects[ref] for ref in refs)


def questions(
    rubric: Rubric,
    asked: Sequence[Subject],
    inputs: JudgeInputs,
    *,
    case: str,
    assertion: str,
) -> list[JudgeQuestion]:
    """What each judge is asked, in the order of the runs."""
    takes: Counter[str] = Counter()
    made: list[JudgeQuestion] = []
    for subject in asked:
        takes[subject.model.ref] += 1
        take = takes[subject.model.ref]
        made.append(JudgeQuestion(rubric, subject, inputs, take, case, assertion))
    return made
