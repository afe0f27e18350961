"""What there is to know of the judges of a suite.

Whether they agree with people, and whether the order in which they are shown things decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from proctor.evaluation import SelectedSuite
from proctor.judging.findings import (
    AssertionFindings,
    Flip,
    JudgeFindings,
    OrderFindings,
    RowErrors,
)
from proctor.labelled_answers import LabelledAnswers, verdict_of_judges
from proctor.protocols import JudgedAssertion
from proctor.records import LoadedAssertion, RowResult, ThresholdReport, Verdict
from proctor.reporting import RunReport
from proctor.subjects import ReadySubject
from proctor.verdicts import AGREEMENT


def with_reversed(selected: SelectedSuite) -> SelectedSuite:
    """The suite with its judges asked a second time, shown things in reverse order."""
    turned = {id(one): _turned(one) for one in selected.suite.subjects}
    definition = selected.suite.definition
    where = {one.spec.id: one.where for one in definition.assertions}
    more = [
        LoadedAssertion(again.spec, where[one.spec.id])
        for one in selected.suite.subjects[0].checks.judged
        if (again := one.reversed()) is not None
    ]
    suite = replace(
        selected.suite,
        definition=replace(definition, assertions=(*definition.assertions, *more)),
        subjects=list(turned.values()),
    )
    return SelectedSuite(suite, [turned[id(one)] for one in selected.subjects], selected.plan)


def _turned(subject: ReadySubject) -> ReadySubject:
    return replace(subject, checks=subject.checks.with_reversed())


def check_judges(
    selected: SelectedSuite, report: RunReport, place: int, *, in_both_orders: bool
) -> JudgeFindings:
    """Look at the rows of one suite.

    Args:
        selected: The suite as it was selected.
        report: The report of the run, with answers.
        place: The place of the suite in it.
        in_both_orders: Whether `with_reversed` was run in its place.
    """
    labelled = LabelledAnswers(selected.suite.labels or [])
    judged = selected.subjects[0].checks.judged
    orders = {
        one.spec.id: _Order(one, again)
        for one in judged
        if in_both_orders and (again := one.reversed()) is not None
    }
    errors: dict[tuple[str, str], int] = {}
    for number, subject in enumerate(selected.subjects):
        name = subject.target.subject.id
        for case in report.cases(place, number):
            for row in case.rows:
                labelled.add(subject.checks, subject=name, case=case.id, row=row)
                for order in orders.values():
                    order.add(row, case=case.id, subject=name)
                if row.error is not None:
                    why = (row.error.code, row.error.message)
                    errors[why] = errors.get(why, 0) + 1
    head = report.head.suites[place]
    thresholds = [one for one in head.thresholds if one.name.startswith(AGREEMENT)]
    is_stopped = any(subject.counts.not_run for subject in head.subjects)
    return JudgeFindings(
        suite=selected.name,
        subjects=[subject.target.subject.id for subject in selected.subjects],
        repeats=head.repeats,
        verdict=_verdict(thresholds, has_errors=bool(errors), is_stopped=is_stopped),
        thresholds=thresholds,
        assertions=list(_assertions(judged, labelled, orders)),
        errors=[RowErrors(code=code, message=said, rows=n) for (code, said), n in errors.items()],
    )


def _assertions(
    judged: Sequence[JudgedAssertion], labelled: LabelledAnswers, orders: dict[str, _Order]
) -> Iterator[AssertionFindings]:
    for one in judged:
        found = labelled.agreement(one.spec.id)
        order = orders.get(one.spec.id)
        yield AssertionFindings(
            id=one.spec.id,
            agreement=found.figures,
            disagreements=found.disagreements,
            order=None if order is None else order.findings(),
        )


def _verdict(
    thresholds: Sequence[ThresholdReport], *, has_errors: bool, is_stopped: bool
) -> Verdict:
    if is_stopped:
        return Verdict.INTERRUPTED
    if any(one.met is False for one in thresholds):
        return Verdict.FAILED
    if has_errors or any(one.met is None for one in thresholds):
        return Verdict.UNMEASURED
    return Verdict.PASSED


class _Order:
    """Sets the verdicts on each answer side by side.

    Args:
        assertion: The assertion.
        again: The same, in reverse order.
    """

    def __init__(self, assertion: JudgedAssertion, again: JudgedAssertion) -> None:
        self._assertion = assertion
        self._again = again
        self._compared = self._not_compared = 0
        self._flips: list[Flip] = []

    def add(self, row: RowResult, *, case: str, subject: str) -> None:
        """Look at the next row; one that was not judged twice says nothing."""
        found = {check.id: check for check in row.checks}
        first, second = found.get(self._assertion.spec.id), found.get(self._again.spec.id)
        if first is None or second is None or not (first.votes and second.votes):
            return
        verdict = verdict_of_judges(self._assertion, first)
        turned = verdict_of_judges(self._again, second)
        if verdict is None or turned is None:
            self._not_compared += 1
            return
        self._compared += 1
        if verdict != turned:
            self._flips.append(
                Flip(
                    case=case, subject=subject, repeat=row.repeat, verdict=verdict, reversed=turned
                )
            )

    def findings(self) -> OrderFindings:
        """What came of it."""
        return OrderFindings(
            compared=self._compared, not_compared=self._not_compared, flips=self._flips
        )
