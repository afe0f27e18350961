"""A session that answers every row from the cassettes, and calls nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import cache, partial
from typing import Final, NamedTuple

from msgspec.structs import replace

from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode, Cassette, JudgeKeys, answer_keys
from proctor.errors import ProctorError, raise_all
from proctor.evaluation import SelectedSuite
from proctor.executors.local import LocalExecutor
from proctor.loading.datasets import Dataset
from proctor.pipeline import ReadySubject
from proctor.planning import BYTES_OF_A_TOKEN, Plan, worst_tokens
from proctor.protocols import JudgedAssertion, PlannedRow, Question, RanRow
from proctor.recorded import Replay
from proctor.records import Answered, CallKind, Case, Check, Json, Subject
from proctor.running.row import ReplayedRows, RowChecks
from proctor.targets.prompt import PromptTarget


class Recorder(NamedTuple):
    """The command that records what a replay misses: its words, and options of its own."""

    words: str
    options: str = ""

    def spell(self, suite: str, folder: CassetteFolder) -> str:
        """The command for one suite."""
        return f"proctor {self.words} {suite} --cache record{folder.option}{self.options}"


RUN: Final = Recorder("run")


class ReplaySession:
    """Replays suites from a folder of cassettes, which are open until it is closed.

    Args:
        folder: Where the cassettes are.
        suites: The names of the suites.
        recorder: The command that would record what is missing.

    Raises:
        ProctorError: P6403 or P6404 for cassettes that cannot be used, all problems together.
    """

    mode: str = CacheMode.REPLAY.value

    def __init__(
        self, folder: CassetteFolder, suites: Sequence[str], *, recorder: Recorder = RUN
    ) -> None:
        self._folder = folder
        self._recorder = recorder
        self._cassettes: dict[str, Cassette] = {}
        problems: list[ProctorError] = []
        with ExitStack() as files:
            for suite in suites:
                cassette, found = folder.open(suite)
                files.callback(cassette.close)
                self._cassettes[suite] = cassette
                problems += found
            raise_all(problems)
            self._files = files.pop_all()

    def close(self) -> None:
        """Close the cassettes."""
        self._files.close()

    def rows(
        self, suite: str, subject: ReadySubject, rows: Iterable[PlannedRow], timed_out: set[str]
    ) -> Iterator[list[RanRow]]:
        """Answer the rows from the recordings and check them, a batch at a time."""
        command = self._recorder.spell(suite, self._folder)
        source = Replay(self._cassettes[suite], subject.target.subject, command)
        checks = RowChecks(subject.checks, timed_out, source)
        run_rows = ReplayedRows(subject.target, source, checks)
        for batch in LocalExecutor().run(rows, run_rows):
            if not subject.checks.judged:
                yield [RanRow(planned, result, asked=False) for planned, result in batch]
                continue
            yield [
                RanRow(
                    planned,
                    result,
                    asked=False,
                    judge_calls=checks.judge_calls(planned.case.id, planned.repeat),
                )
                for planned, result in batch
            ]


class PlannedCall(NamedTuple):
    """A call that a row makes.

    Args:
        kind: What it is made for.
        subject: Who is asked.
        key: None when it is not known yet, because it judges an answer that is not known.
        worst_tokens: How many tokens it takes in and brings out at most; None when nothing limits
            the answer, or when its messages are made by code that may not run.
    """

    kind: CallKind
    subject: Subject
    key: str | None
    worst_tokens: Callable[[], tuple[int, int] | None]


Find = Callable[[str], Answered | None]
"""Looks up the recorded answer under a key."""


def find_nothing(key: str) -> None:
    """What is recorded for who asks for everything."""


def subject_calls(
    subject: ReadySubject, dataset: Dataset, plan: Plan, find: Find
) -> Iterator[PlannedCall]:
    """Every call that the rows of one subject make, a shared one at each use.

    Args:
        subject: Who is under test.
        dataset: The cases.
        plan: Which of them, and how often.
        find: Looks up recorded answers, which decide what judges are asked.
    """
    target, judge_keys = subject.target, JudgeKeys()
    maker = answer_keys(target.subject)
    for place in plan.places:
        case = dataset.case(place)
        inputs = target.inputs_sha256(case)
        # The same for every take, and worked out only when somebody wants to know.
        worst = cache(partial(_worst_answer, target, case))
        for take in range(1, plan.repeats + 1):
            key = maker.key(inputs, take)
            yield PlannedCall(CallKind.ANSWER, target.subject, key, worst)
            if subject.checks.judged:
                yield from _judge_calls(subject, case, find(key), judge_keys)


def _judge_calls(
    subject: ReadySubject, case: Case, answered: Answered | None, keys: JudgeKeys
) -> Iterator[PlannedCall]:
    for assertion in subject.checks.judged:
        if answered is None:
            limit = subject.target.subject.model.params.get("maxTokens")
            for judge in assertion.judges:
                worst = partial(_worst_judge, assertion, case, limit, judge)
                yield PlannedCall(CallKind.JUDGE, judge, None, worst)
            continue
        asked = assertion.questions(answered, case)
        if isinstance(asked, Check):
            continue
        for question in asked:
            worst = partial(_worst_question, question)
            yield PlannedCall(CallKind.JUDGE, question.subject, keys.key(question), worst)


def _worst_answer(target: PromptTarget, case: Case) -> tuple[int, int] | None:
    return worst_tokens(target.request(case)) if target.is_prepared else None


def _worst_question(question: Question) -> tuple[int, int] | None:
    return worst_tokens(question.request())


def _worst_judge(
    assertion: JudgedAssertion, case: Case, limit: Json, judge: Subject
) -> tuple[int, int] | None:
    if not isinstance(limit, int):
        return None
    request, times = assertion.outline(case)
    request = replace(request, model=judge.model)
    return worst_tokens(request, more_bytes=times * limit * BYTES_OF_A_TOKEN)


def subject_keys(subject: ReadySubject, dataset: Dataset, plan: Plan, find: Find) -> set[str]:
    """The key of every call that the rows of one subject make, as far as it is known."""
    calls = subject_calls(subject, dataset, plan, find)
    return {call.key for call in calls if call.key is not None}


def subjects_to_ask(
    folder: CassetteFolder, selected: SelectedSuite, mode: CacheMode
) -> list[ReadySubject]:
    """The subjects of a suite for which a live run would ask for an answer.

    Raises:
        ProctorError: P6403 or P6404 when the cassette cannot be used.
    """
    if mode is not CacheMode.RECORD:
        return list(selected.subjects)
    cassette, problems = folder.open(selected.name)
    with closing(cassette):
        raise_all(problems)
        return [
            subject for subject in selected.subjects if _lacks_answers(subject, selected, cassette)
        ]


def _lacks_answers(subject: ReadySubject, selected: SelectedSuite, cassette: Cassette) -> bool:
    calls = subject_calls(subject, selected.suite.dataset, selected.plan, find_nothing)
    # Where nothing is found no judge's key is known, so those that are known are of answers.
    return any(call.key is not None and call.key not in cassette for call in calls)
