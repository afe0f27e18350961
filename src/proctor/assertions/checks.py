"""The compiled assertions of one subject, asked together."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from proctor.assertions.answers import AnswerView
from proctor.errors import ProctorError
from proctor.protocols import Assertion, JudgedAssertion, Preparing
from proctor.records import Answered, Case, Check, Outcome


class CheckSet:
    """Assertions in the order of the suite; they share what they read of an answer."""

    def __init__(self, assertions: Iterable[Assertion | JudgedAssertion]) -> None:
        self._assertions = tuple(assertions)
        self.judged: Sequence[JudgedAssertion] = [
            one for one in self._assertions if isinstance(one, JudgedAssertion)
        ]
        self._asked = [
            (one.spec.id, one.check)
            for one in self._assertions
            if not isinstance(one, JudgedAssertion)
        ]
        self._place = {one.spec.id: place for place, one in enumerate(self._assertions)}
        self._skipped = {
            one.spec.id: Check(
                one.spec.id,
                one.spec.kind,
                Outcome.FAILED,
                one.spec.severity,
                "timed_out",
                {"skipped": True},
            )
            for one in self._assertions
        }

    def with_reversed(self) -> CheckSet:
        """The same, judged a second time with what is judged in reverse order."""
        again = (one.reversed() for one in self.judged)
        return CheckSet([*self._assertions, *(one for one in again if one is not None)])

    def needs(self, case: Case) -> Iterator[tuple[str, str]]:
        """The id of each assertion that cannot be asked about a case, and a sentence why."""
        unknown = {*(case.checked or ())}.difference(self._place)
        for id_ in sorted(unknown):
            yield id_, "the suite has no assertion of this id"
        for assertion in self._assertions:
            if case.checked is not None and assertion.spec.id not in case.checked:
                continue
            sentence = assertion.needs(case)
            if sentence is not None:
                yield assertion.spec.id, sentence

    def prepare(self) -> Iterator[tuple[str, ProctorError]]:
        """Get ready for the first row; the id of each assertion that cannot, and why."""
        for assertion in self._assertions:
            if isinstance(assertion, Preparing):
                for problem in assertion.prepare():
                    yield assertion.spec.id, problem

    def run(
        self, answered: Answered, case: Case, timed_out: Container[str] = frozenset()
    ) -> list[Check]:
        """One check per assertion that asks no judge, in order.

        Args:
            answered: The answer.
            case: The case it answers, of which `needs` said nothing.
            timed_out: Ids of assertions that ran out of time in an earlier row; they fail without
                being run.
        """
        view = AnswerView.of(answered)
        if case.checked is not None:
            return [
                self._skipped[id_] if id_ in timed_out else check(view, case)
                for id_, check in self._asked
                if id_ in case.checked
            ]
        return [
            self._skipped[id_] if id_ in timed_out else check(view, case)
            for id_, check in self._asked
        ]

    def in_order(self, checks: list[Check]) -> list[Check]:
        """Checks of both sorts in the order of the suite."""
        return sorted(checks, key=lambda check: self._place[check.id])
