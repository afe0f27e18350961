"""Which calls a plan makes, as far as that is known before any of them is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import cache, partial
from typing import Final, NamedTuple

from msgspec.structs import replace

from proctor.canonical import digest
from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode, Cassette, JudgeKeys, answer_keys, build_keys
from proctor.errors import ProctorError, raise_all
from proctor.evaluation import SelectedSuite
from proctor.loading.datasets import Dataset
from proctor.planning import BYTES_OF_A_TOKEN, Plan, planned_rows, worst_tokens
from proctor.protocols import JudgedAssertion, PlannedRow, Question
from proctor.records import Answered, AnySubject, CallKind, Case, Check, Json, Subject
from proctor.running.build_grades import (
    FailedBuild,
    as_checked,
    is_first_of_build,
    is_of_build_alone,
    with_build,
)
from proctor.subjects import ReadySubject
from proctor.targets.agent import AgentTarget
from proctor.targets.prompt import PromptTarget

ANSWER_TOKENS: Final = 8_192
"""How long an answer of a target is taken to be, in tokens, while it is not known.

Nothing limits it; what a judge of it may cost is known exactly before the judge is asked.
"""


class PlannedCall(NamedTuple):
    """A call that a row makes.

    Args:
        kind: What it is made for.
        subject: Who is asked.
        key: None when it is not known yet, because it judges an answer that is not known.
        worst_tokens: How many tokens it takes in and brings out at most; None when nothing limits
            the answer, or when its messages are made by code that may not run.
        worst_usd: What a call of a target costs at most; None when nobody says, and for models.
        is_sure: Whether the call is made; not, when a target may have nothing to build.
        is_anew: Whether it is made in spite of a recording: what an answer is asked of has to be
            built for that.
    """

    kind: CallKind
    subject: AnySubject
    key: str | None
    worst_tokens: Callable[[], tuple[int, int] | None]
    worst_usd: float | None = None
    is_sure: bool = True
    is_anew: bool = False


def _no_tokens() -> tuple[int, int]:
    return 0, 0


Find = Callable[[str], Answered | None]
"""Looks up the recorded answer under a key."""


def find_nothing(key: str) -> None:
    """What is recorded for who asks for everything."""


def subject_calls(
    subject: ReadySubject, dataset: Dataset, plan: Plan, find: Find, *, asks: bool = False
) -> Iterator[PlannedCall]:
    """Every call that the rows of one subject make, a shared one at each use.

    Args:
        subject: Who is under test.
        dataset: The cases.
        plan: Which of them, and how often.
        find: Looks up recorded answers, which decide what judges are asked.
        asks: Whether what is not recorded is asked for, for which a target may have to build anew.
    """
    target, judge_keys = subject.target, JudgeKeys()
    if not isinstance(target, PromptTarget):
        if target.kind == "outputs":
            yield from _calls_about_outputs(subject, target, planned_rows(dataset, plan))
            return
        calls = _AgentCalls(subject, target, find)
        if asks:
            calls.look_for_gaps(planned_rows(dataset, plan))
        for row in planned_rows(dataset, plan):
            yield from calls.of_row(row)
        return
    maker = answer_keys(target.subject)
    for row in planned_rows(dataset, plan):
        if row.repeat == 1:
            inputs = target.inputs_sha256(row)
            # The same for every take, and worked out only when somebody wants to know.
            worst = cache(partial(_worst_answer, target, row.case))
        key = maker.key(inputs, row.repeat)
        yield PlannedCall(CallKind.ANSWER, target.subject, key, worst)
        if subject.checks.judged:
            limit = target.subject.model.params.get("maxTokens")
            answered = find(key)
            for assertion in subject.checks.judged:
                yield from _judge_calls(assertion, row.case, answered, limit, judge_keys)


class _AgentCalls:
    """The calls of a target: its build with the first row of that, its answers, their judges."""

    def __init__(self, subject: ReadySubject, target: AgentTarget, find: Find) -> None:
        self._target, self._find = target, find
        self._judged = subject.checks.judged
        self._judge = None if subject.builds is None else subject.builds.judge
        self._is_sure = subject.is_sure_to_build
        self._judge_keys = JudgeKeys()
        self._answers, self._builds = answer_keys(target.subject), build_keys(target.subject)
        self._anew: set[str] = set()

    def look_for_gaps(self, rows: Iterable[PlannedRow]) -> None:
        """See for which builds something has to be asked, so that they are made anew."""
        for row in rows:
            key = self._build_key(row)
            built = None if key in self._anew else self._find(key)
            if built is None or is_of_build_alone(row) or FailedBuild.of(built) is not None:
                continue
            if self._find(self._answer_key(row)) is None:
                self._anew.add(key)

    def of_row(self, row: PlannedRow) -> Iterator[PlannedCall]:
        """The calls of one row."""
        key = self._build_key(row)
        built = None if key in self._anew else self._find(key)
        failed = built is not None and FailedBuild.of(built) is not None
        is_alone = is_of_build_alone(row)
        answer_key = None if is_alone else self._answer_key(row)
        answered = None if answer_key is None else self._find(answer_key)
        if is_first_of_build(row) and self._target.may_build:
            is_seen = built is not None or key in self._anew
            yield PlannedCall(
                CallKind.BUILD,
                self._target.subject,
                key,
                _no_tokens,
                self._target.max_cost_usd.get("build"),
                is_sure=self._is_sure or is_seen or (answered is None and self._says_what_it_costs),
                is_anew=key in self._anew,
            )
            if not failed:
                yield from self._judges_of_build(row.whole or row.case, built)
        if answer_key is None or failed:
            return
        usd = self._target.max_cost_usd.get("answer")
        yield PlannedCall(
            CallKind.ANSWER,
            self._target.subject,
            answer_key,
            _no_tokens,
            usd,
            is_anew=key in self._anew,
        )
        # What judges see of a build that is made anew is not known yet.
        shown = None
        if answered is not None and key not in self._anew:
            shown = with_build(answered, built)
        for assertion in self._judged:
            yield from _judge_calls(assertion, row.case, shown, ANSWER_TOKENS, self._judge_keys)

    def _judges_of_build(self, whole: Case, built: Answered | None) -> Iterator[PlannedCall]:
        if self._judge is None:
            return
        shown = None if built is None else as_checked(built)
        for text in whole.expectations:
            case = whole.stating(text)
            yield from _judge_calls(self._judge, case, shown, ANSWER_TOKENS, self._judge_keys)

    @property
    def _says_what_it_costs(self) -> bool:
        return "build" in self._target.max_cost_usd

    def _build_key(self, row: PlannedRow) -> str:
        whole = row.whole or row.case
        return self._builds.key(digest(self._target.key_inputs(whole, None)), row.repeat)

    def _answer_key(self, row: PlannedRow) -> str:
        return self._answers.key(self._target.inputs_sha256(row), row.repeat)


def _calls_about_outputs(
    subject: ReadySubject, target: AgentTarget, rows: Iterable[PlannedRow]
) -> Iterator[PlannedCall]:
    """The calls of judges about answers that are there already."""
    if not subject.checks.judged:
        return
    from proctor.targets.outputs import stored_answer

    keys = JudgeKeys()
    for row in rows:
        try:
            answered = stored_answer(target, subject.root, row)
        except ProctorError:
            # The row says so when it is run.
            continue
        for assertion in subject.checks.judged:
            yield from _judge_calls(assertion, row.case, answered, ANSWER_TOKENS, keys)


def _judge_calls(
    assertion: JudgedAssertion,
    case: Case,
    answered: Answered | None,
    limit: Json,
    keys: JudgeKeys,
) -> Iterator[PlannedCall]:
    if answered is None:
        for judge in assertion.judges:
            worst = partial(_worst_judge, assertion, case, limit, judge)
            yield PlannedCall(CallKind.JUDGE, judge, None, worst)
        return
    asked = assertion.questions(answered, case)
    if isinstance(asked, Check):
        return
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
    return any(call.is_sure and call.key is not None and call.key not in cassette for call in calls)
