"""The stages put together: load, plan, run, aggregate. The only module that knows them all."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from proctor.assertions.checks import CheckSet
from proctor.config import Config
from proctor.errors import ProctorError, raise_all
from proctor.loading.bundles import LoadedPrompt
from proctor.loading.datasets import Dataset, load_dataset
from proctor.loading.prompts import Prompts
from proctor.loading.rules import SuiteRules
from proctor.loading.scope import SuiteScope
from proctor.loading.suites import (
    LoadedSubject,
    SuiteDefinition,
    duplicate_names,
    find_suites,
    load_suite,
)
from proctor.records import LoadedAssertion, Warn
from proctor.registry import assertion_kinds
from proctor.targets.prompt import PromptTarget

REGEX_TIMEOUT_S = 1.0


class ReadySubject(Struct, frozen=True):
    """A subject with its assertions compiled."""

    target: PromptTarget
    checks: CheckSet


class ReadySuite(Struct, frozen=True):
    """A suite of which everything has been read and found in order."""

    definition: SuiteDefinition
    dataset: Dataset
    subjects: list[ReadySubject]
    warnings: list[Warn]


class Exam(Struct, frozen=True):
    """The suites of one run. Close it to close their datasets."""

    config: Config
    suites: list[ReadySuite]
    prompt_count: int

    def close(self) -> None:
        """Close the files that are read case by case."""
        for suite in self.suites:
            suite.dataset.close()


def load_exam(
    config: Config,
    wanted: Sequence[str] = (),
    *,
    every_prompt: bool = False,
    repeats: int | None = None,
    allow_code: bool = False,
    regex_timeout_s: float = REGEX_TIMEOUT_S,
) -> Exam:
    """Read and check suites, prompts and datasets; nothing is run and no code is imported.

    Args:
        config: The project.
        wanted: Names of suites, or paths of their files; empty for all.
        every_prompt: Also check the prompts no suite uses.
        repeats: How often each row is repeated, instead of what the suites say.
        allow_code: Whether the assertions may run code of the project once they are prepared.
        regex_timeout_s: How long one match of a regular expression may take.

    Raises:
        ProctorError: The problem, or all problems of all files together.
    """
    prompts = Prompts(config.root, config.values.prompts, config.values.project)
    paths = find_suites(config.root, config.values.evals, wanted)
    problems = list(duplicate_names(paths))
    suites: list[ReadySuite] = []
    for path in paths:
        definition, found = load_suite(config.root, path, prompts, repeats=repeats)
        problems += found
        if definition is not None:
            suite, found = _ready_suite(config, definition, regex_timeout_s, allow_code=allow_code)
            problems += found
            suites += [] if suite is None else [suite]
    if every_prompt:
        for prompt_id in prompts.ids():
            prompts.load(prompt_id)
    problems = _unique([*prompts.problems, *problems])
    exam = Exam(config, suites, len(prompts.ids()))
    if problems:
        exam.close()
    raise_all(problems)
    return exam


def prepare_checks(suite: ReadySuite, subjects: Sequence[ReadySubject]) -> list[ProctorError]:
    """Get the assertions of a suite ready for its first row; what stands in the way of that.

    This imports the code of the project that they use.
    """
    where = {one.spec.id: one.where for one in suite.definition.assertions}
    problems: list[ProctorError] = []
    for subject in subjects:
        for id_, problem in subject.checks.prepare():
            problem.where = problem.where or where[id_]
            problems.append(problem)
    return _unique(problems)


def _ready_suite(
    config: Config, definition: SuiteDefinition, regex_timeout_s: float, *, allow_code: bool
) -> tuple[ReadySuite | None, list[ProctorError]]:
    problems: list[ProctorError] = []
    subjects: list[ReadySubject] = []
    for loaded in definition.subjects:
        scope = SuiteScope(
            config.root,
            definition.folder,
            prompt=loaded.subject.prompt,
            regex_timeout_s=regex_timeout_s,
            allow_code=allow_code,
        )
        checks, found = _compile(definition.assertions, scope)
        problems += found
        target = PromptTarget(loaded.subject, loaded.prompt.templates)
        subjects.append(ReadySubject(target, checks))
    prompts = _unique_prompts(definition.subjects)
    needs = subjects[0].checks.needs if subjects else None
    dataset = None
    if definition.dataset:
        dataset, found = load_dataset(
            config.root,
            definition.dataset,
            rules=SuiteRules(prompts, needs),
            max_cases=config.values.max_cases,
            where=definition.dataset_where,
        )
        problems += found
    if dataset is None:
        return None, problems
    warnings = [warning for loaded in prompts for warning in loaded.warnings]
    return ReadySuite(definition, dataset, subjects, warnings), problems


def _compile(
    assertions: Sequence[LoadedAssertion], scope: SuiteScope
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


def _unique_prompts(subjects: Sequence[LoadedSubject]) -> list[LoadedPrompt]:
    return list({loaded.prompt.prompt.id: loaded.prompt for loaded in subjects}.values())


def _unique(problems: Sequence[ProctorError]) -> list[ProctorError]:
    """The problems without those that two suites, or two subjects, have in common."""
    seen = {(problem.where, problem.code, problem.message): problem for problem in problems}
    return list(seen.values())
