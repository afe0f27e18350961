"""What is to be said of judges: the facts that `proctor judge check` shows."""

from __future__ import annotations

from msgspec import Struct

from proctor.judging.labels import AgreementFigures, Disagreement
from proctor.judging.votes import Said
from proctor.records import ThresholdReport, Verdict


class Flip(Struct, frozen=True, kw_only=True):
    """An answer on which the verdict depends on the order in which things are shown."""

    case: str
    subject: str
    repeat: int
    verdict: Said
    reversed: Said


class OrderFindings(Struct, frozen=True, kw_only=True):
    """What came of judging again in reverse order.

    Args:
        compared: Answers with a verdict either way.
        not_compared: Judged answers that lack one.
        flips: Those of the first on which the verdicts differ.
    """

    compared: int
    not_compared: int
    flips: list[Flip]


class AssertionFindings(Struct, frozen=True, kw_only=True):
    """What is to be said of the judges of one assertion.

    Args:
        id: The assertion.
        agreement: How far they agree with people.
        disagreements: Where they do not.
        order: None when nobody asked, or when its rubric has no order.
    """

    id: str
    agreement: AgreementFigures
    disagreements: list[Disagreement]
    order: OrderFindings | None


class RowErrors(Struct, frozen=True, kw_only=True):
    """Rows of which something could not be asked or replayed, for one reason."""

    code: str
    message: str
    rows: int


class JudgeFindings(Struct, frozen=True, kw_only=True):
    """What is to be said of the judges of one suite.

    Args:
        suite: Its name.
        subjects: The ids of what sits the exam.
        repeats: How often each row is repeated.
        verdict: Failed when a threshold on agreement is not met, unmeasured when one is not
            available or rows have errors, interrupted when rows are missing.
        thresholds: Those on agreement.
        assertions: Each that is judged.
        errors: Why rows have errors.
    """

    suite: str
    subjects: list[str]
    repeats: int
    verdict: Verdict
    thresholds: list[ThresholdReport]
    assertions: list[AssertionFindings]
    errors: list[RowErrors]
