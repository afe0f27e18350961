"""What judges decide of the answers that people have labelled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from proctor.judging.boundary import response_sha256
from proctor.judging.labels import Agreement, JudgedAnswer, agreement
from proctor.judging.votes import Said
from proctor.protocols import Checks, JudgedAssertion
from proctor.records import Answered, Check, Label, Outcome, RowResult
from proctor.records.journal import LabelledVerdict


class LabelledAnswers:
    """Collects, row by row, the verdicts on labelled answers; the other answers are not held.

    Args:
        labels: The labels of one suite, each with its subject.
    """

    def __init__(self, labels: Sequence[Label]) -> None:
        self._labels = labels
        self._wanted = {(label.case, label.subject, label.repeat) for label in labels}
        self._judged: list[JudgedAnswer] = []

    def add(self, checks: Checks, *, subject: str, case: str, row: RowResult) -> None:
        """Look at the next row, in row order.

        Args:
            checks: The compiled assertions of the subject.
            subject: The id of the subject.
            case: The id of the case.
            row: The row, with its answer.
        """
        if (case, subject, row.repeat) in self._wanted:
            self._judged += _judged_answers(checks, subject, case, row)

    def verdicts(
        self, checks: Checks, *, subject: str, case: str, row: RowResult
    ) -> list[LabelledVerdict]:
        """What `add` would collect of a row, for who keeps it with the row."""
        if (case, subject, row.repeat) not in self._wanted:
            return []
        return [
            LabelledVerdict(one.assertion, one.verdict, one.answer_sha256)
            for one in _judged_answers(checks, subject, case, row)
        ]

    def take(
        self, verdicts: Iterable[LabelledVerdict], *, subject: str, case: str, repeat: int
    ) -> None:
        """Collect what was kept of the next row."""
        self._judged += [
            JudgedAnswer(
                case=case,
                subject=subject,
                repeat=repeat,
                assertion=one.assertion,
                verdict=one.verdict,
                answer_sha256=one.answer_sha256,
            )
            for one in verdicts
        ]

    def agreement(self, assertion: str | None = None) -> Agreement:
        """How far the judges agree with people.

        Args:
            assertion: The id of one assertion, None for all together.
        """
        return agreement(
            [one for one in self._labels if assertion in (None, one.assertion)],
            [one for one in self._judged if assertion in (None, one.assertion)],
        )


def verdict_of_judges(assertion: JudgedAssertion, check: Check) -> Said | None:
    """What the judges decided, before `negate` turned it round; None without a verdict."""
    if not check.votes or check.outcome not in (Outcome.PASSED, Outcome.FAILED):
        return None
    return "pass" if (check.outcome is Outcome.PASSED) is not assertion.spec.negate else "fail"


def _judged_answers(
    checks: Checks, subject: str, case: str, row: RowResult
) -> Iterator[JudgedAnswer]:
    if row.answer is None:
        return
    answered = Answered(row.answer, row.recording, row.usage, row.cost_usd, row.latency_ms)
    found = {check.id: check for check in row.checks}
    for assertion in checks.judged:
        check = found.get(assertion.spec.id)
        response = assertion.response(answered)
        # Without votes nobody was asked.
        if check is None or not check.votes or response is None:
            continue
        yield JudgedAnswer(
            case=case,
            subject=subject,
            repeat=row.repeat,
            assertion=assertion.spec.id,
            verdict=verdict_of_judges(assertion, check),
            answer_sha256=response_sha256(response),
            votes=check.votes,
        )
