"""What sits the exam of a suite: prompts on models, or a target, with their assertions compiled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from proctor.assertions.checks import CheckSet
from proctor.config import Config
from proctor.errors import ProctorError, SuiteError
from proctor.loading.prompts import Prompts
from proctor.loading.scope import SuiteScope
from proctor.loading.suites import SuiteDefinition
from proctor.protocols import JudgedAssertion
from proctor.providers.params import unsendable
from proctor.records import EXPECTATIONS, Case, LoadedAssertion, Subject
from proctor.registry import assertion_kinds
from proctor.running.build_grades import BuildGrades
from proctor.targets.agent import AgentTarget
from proctor.targets.prompt import PromptTarget

if TYPE_CHECKING:
    import regex


class ReadySubject(Struct, frozen=True):
    """A subject with its assertions compiled.

    Args:
        target: What is under test.
        checks: What its answers must pass.
        builds: What is asked of what it builds; None for a prompt, which builds nothing.
        is_exclusive: Whether its rows are run one at a time.
        root: The project's folder.
        names_rubric: Whether the suite says who judges expectations, even if that cannot be used.
    """

    target: PromptTarget | AgentTarget
    checks: CheckSet
    builds: BuildGrades | None = None
    is_exclusive: bool = False
    root: Path = Path()
    names_rubric: bool = False

    @property
    def takes_lanes(self) -> bool:
        """Whether its rows can be spread over several backends."""
        return isinstance(self.target, AgentTarget) and self.target.kind != "outputs"

    @property
    def is_sure_to_build(self) -> bool:
        """Whether a target must have something to build, because something is asked of that."""
        return self.builds is not None and self.builds.are_asked

    @property
    def judged(self) -> Sequence[JudgedAssertion]:
        """All for which judges are asked."""
        judge = None if self.builds is None else self.builds.judge
        return self.checks.judged if judge is None else [*self.checks.judged, judge]

    def needs(self, case: Case) -> Iterator[tuple[str, str]]:
        """The id of each assertion that cannot be asked about an answer, and a sentence why.

        Args:
            case: The case as it is answered: as one of its scenarios has it, if it has any.
        """
        yield from self.checks.needs(case)

    def build_needs(self, case: Case) -> Iterator[str]:
        """Everything that cannot be asked about what is built for a case, as sentences."""
        if self.builds is not None and self.builds.checks is not None:
            for id_, sentence in self.builds.checks.needs(case):
                yield f"the assertion `{id_}` cannot be asked about its build: {sentence}"
        if case.expectations:
            why = self._expects(case)
            if why is not None:
                yield f"its `expectations` cannot be judged: {why}"

    def _expects(self, case: Case) -> str | None:
        """Why what is expected of a build cannot be judged; None when it can."""
        if self.builds is None:
            return "only a `target` in Python builds something that they could be about"
        judge = self.builds.judge
        if judge is None:
            missing = "the suite names no rubric for them; write `expectations: {rubric: ...}`"
            return None if self.names_rubric else missing
        sentences = (judge.needs(case.stating(text)) for text in case.expectations)
        return next((sentence for sentence in sentences if sentence is not None), None)

    def prepare(self) -> Iterator[tuple[str, ProctorError]]:
        """Get the assertions ready; the id of each that cannot, and why."""
        yield from self.checks.prepare()
        if self.builds is not None and self.builds.checks is not None:
            yield from self.builds.checks.prepare()


class Loading(NamedTuple):
    """What all suites of an exam are loaded with."""

    config: Config
    prompts: Prompts
    allow_code: bool
    regex_timeout_s: float
    scan_patterns: list[regex.Pattern[str]]
    with_labels: bool
    runs_sources: bool


def ready_subjects(
    definition: SuiteDefinition, loading: Loading
) -> tuple[list[ReadySubject], list[ProctorError]]:
    """The subjects of a suite, and every problem with their assertions."""
    if definition.target is not None:
        return _ready_target(definition, loading)
    problems: list[ProctorError] = []
    subjects: list[ReadySubject] = []
    root = loading.config.root
    for loaded in definition.subjects:
        scope = _scope(definition, loading, loaded.subject)
        checks, found = _compile(definition.assertions, scope)
        problems += found
        problems += _unsendable([loaded.subject], checks.judged, definition, loading)
        target = PromptTarget(loaded.subject, loaded.prompt.templates)
        subjects.append(ReadySubject(target, checks, None, definition.exclusive, root))
    return subjects, problems


def _ready_target(
    definition: SuiteDefinition, loading: Loading
) -> tuple[list[ReadySubject], list[ProctorError]]:
    loaded = definition.target
    assert loaded is not None  # noqa: S101 - the caller has looked
    scope = _scope(definition, loading, None)
    checks, problems = _compile(definition.assertions, scope)
    of_builds, found = _compile(definition.build_assertions, scope)
    problems += found
    problems += [*_judged_builds(of_builds, definition), *_taken_ids(definition)]
    judge = None
    if definition.expectations is not None:
        judge, found = _expectations(definition, scope)
        problems += found
    target = AgentTarget(loaded)
    problems += _built_by_nobody(target, definition)
    grades = None
    if target.may_build:
        grades = BuildGrades(of_builds if definition.build_assertions else None, judge)
    subject = ReadySubject(
        target,
        checks,
        grades,
        definition.exclusive,
        loading.config.root,
        names_rubric=definition.expectations is not None,
    )
    problems += _unsendable([], subject.judged, definition, loading)
    return [subject], problems


def _built_by_nobody(target: AgentTarget, definition: SuiteDefinition) -> Iterator[ProctorError]:
    if target.may_build or target.kind == "outputs":
        return
    asked = [("buildAssertions", one.where) for one in definition.build_assertions[:1]]
    if definition.expectations is not None:
        asked.append((EXPECTATIONS, definition.expectations.where))
    for key, where in asked:
        yield SuiteError(
            f"`{key}` are of what a target builds, and `{target.subject.id}` builds nothing",
            code="P6201",
            hint=f"leave `{key}` out, or name a `python` target that has a `build`",
            where=where,
        )


def _judged_builds(checks: CheckSet, definition: SuiteDefinition) -> Iterator[ProctorError]:
    where = {one.spec.id: one.where for one in definition.build_assertions}
    for one in checks.judged:
        yield SuiteError(
            f"`{one.spec.id}` asks judges, which assertions on builds do not",
            code="P6201",
            hint="write the statement among the `expectations` of a case",
            where=where[one.spec.id],
        )


def _taken_ids(definition: SuiteDefinition) -> Iterator[ProctorError]:
    for one in definition.all_assertions if definition.expectations is not None else ():
        if one.spec.id == EXPECTATIONS:
            yield SuiteError(
                f"an assertion has the id `{EXPECTATIONS}`, under which a report counts those of "
                "the cases",
                code="P6201",
                hint="give the assertion another id",
                where=one.where,
            )


def _expectations(
    definition: SuiteDefinition, scope: SuiteScope
) -> tuple[JudgedAssertion | None, list[ProctorError]]:
    from proctor.assertions.expectations import compile_expectations

    setup = definition.expectations
    assert setup is not None  # noqa: S101 - the caller has looked
    if setup.runs is not None:
        scope = scope.judged_by(replace(scope.judge, runs=setup.runs))
    try:
        return compile_expectations(setup.rubric, scope), []
    except ProctorError as problem:
        problem.where = problem.where or setup.where
        return None, [problem]


def _scope(definition: SuiteDefinition, loading: Loading, subject: Subject | None) -> SuiteScope:
    return SuiteScope(
        loading.config.root,
        definition.folder,
        subject=subject,
        prompts=loading.prompts,
        judge=definition.judge,
        regex_timeout_s=loading.regex_timeout_s,
        allow_code=loading.allow_code,
    )


def _unsendable(
    asked: Sequence[Subject],
    judged: Sequence[JudgedAssertion],
    definition: SuiteDefinition,
    loading: Loading,
) -> Iterator[ProctorError]:
    for one in [*asked, *(judge for each in judged for judge in each.judges)]:
        yield from unsendable(one, loading.config.values.providers, where=definition.path)


def _compile(
    assertions: Iterable[LoadedAssertion], scope: SuiteScope
) -> tuple[CheckSet, list[ProctorError]]:
    compiled = []
    problems: list[ProctorError] = []
    for loaded in assertions:
        kind = assertion_kinds.get(loaded.spec.kind)
        if kind is None:
            continue
        try:
            compiled.append(kind.compile(loaded.spec, scope))
        except ProctorError as problem:
            problem.where = problem.where or loaded.where
            problems.append(problem)
    return CheckSet(compiled), problems
