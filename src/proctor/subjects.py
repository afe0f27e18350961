"""What sits the exam of a suite: prompts on models, or a target, with their assertions compiled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

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
from proctor.records import Case, LoadedAssertion, Subject
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
    """

    target: PromptTarget | AgentTarget
    checks: CheckSet
    builds: BuildGrades | None = None
    is_exclusive: bool = False
    root: Path = Path()

    @property
    def judged(self) -> Sequence[JudgedAssertion]:
        """All for which judges are asked."""
        judge = None if self.builds is None else self.builds.judge
        return self.checks.judged if judge is None else [*self.checks.judged, judge]

    def needs(self, case: Case) -> Iterator[tuple[str, str]]:
        """The id of each assertion that cannot be asked about a case, and a sentence why.

        Of a case with scenarios it says nothing but what is wrong with its expectations: each
        scenario is a case of its own for that.
        """
        if case.expectations:
            yield from self._expects(case)
        elif not case.scenarios:
            yield from self.checks.needs(case)

    def _expects(self, case: Case) -> Iterator[tuple[str, str]]:
        if self.builds is None:
            yield EXPECTATIONS, "only what a target builds can be judged by `expectations`"
        elif self.builds.judge is None:
            yield EXPECTATIONS, "the suite names no rubric: write `expectations: {rubric: ...}`"
        else:
            for text in case.expectations:
                sentence = self.builds.judge.needs(case.stating(text))
                if sentence is not None:
                    yield EXPECTATIONS, sentence

    def prepare(self) -> Iterator[tuple[str, ProctorError]]:
        """Get the assertions ready; the id of each that cannot, and why."""
        yield from self.checks.prepare()
        if self.builds is not None and self.builds.checks is not None:
            yield from self.builds.checks.prepare()


EXPECTATIONS: Final = "expectations"
"""What stands for the id of an assertion where statements about a build are meant."""


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
    problems += _judged_builds(of_builds, definition)
    judge = None
    if definition.expectations is not None:
        judge, found = _expectations(definition, scope)
        problems += found
    target = AgentTarget(loaded)
    grades = BuildGrades(of_builds if definition.build_assertions else None, judge)
    subject = ReadySubject(target, checks, grades, definition.exclusive, loading.config.root)
    problems += _unsendable([], subject.judged, definition, loading)
    return [subject], problems


def _judged_builds(checks: CheckSet, definition: SuiteDefinition) -> Iterator[ProctorError]:
    where = {one.spec.id: one.where for one in definition.build_assertions}
    for one in checks.judged:
        yield SuiteError(
            f"`{one.spec.id}` asks judges, which assertions on builds do not",
            code="P6201",
            hint="write the statement among the `expectations` of a case",
            where=where[one.spec.id],
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
