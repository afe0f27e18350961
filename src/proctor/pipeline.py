"""The stages put together: load, plan, run, aggregate. The only module that knows them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from proctor.config import Config
from proctor.errors import ProctorError, UsageError, raise_all
from proctor.loading.bundles import LoadedPrompt
from proctor.loading.datasets import Dataset, load_dataset
from proctor.loading.prompts import Prompts
from proctor.loading.rules import SuiteRules
from proctor.loading.suites import (
    LoadedSubject,
    SuiteDefinition,
    duplicate_names,
    find_suites,
    load_suite,
)
from proctor.records import Finding, Label, Warn
from proctor.records.targets import LoadedTarget
from proctor.registry import did_you_mean
from proctor.scanning.rules import scan_rules
from proctor.scanning.scanner import Scan, ScanOptions
from proctor.subjects import Loading, ReadySubject, ready_subjects

if TYPE_CHECKING:
    import regex

    from proctor.git_revisions import Revision

REGEX_TIMEOUT_S = 1.0


class ReadySuite(Struct, frozen=True):
    """A suite of which everything has been read and found in order.

    Args:
        definition: What its file says.
        dataset: Its cases.
        findings: What the safety scan found in its dataset and lets through.
        subjects: What sits the exam.
        warnings: What is to be known of it.
        labels: What people say of its answers, None when it names no file for that.
        places: The 0-based places of the cases that can be run, None for all.
    """

    definition: SuiteDefinition
    dataset: Dataset
    findings: list[Finding]
    subjects: list[ReadySubject]
    warnings: list[Warn]
    labels: list[Label] | None
    places: Sequence[int] | None = None


class Exam(Struct, frozen=True):
    """The suites of one run. Close it to close their datasets.

    Args:
        config: The project.
        suites: What is run.
        prompt_count: How many prompts the project has.
        served: What serves the prompts under test: the environment, its revision and the commit;
            None for the files of the project.
    """

    config: Config
    suites: list[ReadySuite]
    prompt_count: int
    served: str | None = None

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
    with_labels: bool = True,
    runs_sources: bool = True,
    label: str | None = None,
) -> Exam:
    """Read and check suites, prompts and datasets; nothing is run and no code is imported.

    Args:
        config: The project.
        wanted: Names of suites, or paths of their files; empty for all.
        every_prompt: Also check the prompts no suite uses.
        repeats: How often each row is repeated, instead of what the suites say.
        allow_code: Whether the assertions may run code of the project once they are prepared.
        with_labels: Whether to read what people say of answers.
        runs_sources: Whether plugins that make cases are run, where code is allowed.
        label: The environment whose prompts are under test, by the revision that the project names
            for it; None for those of the files.

    Raises:
        ProctorError: The problem, or all problems of all files together.
    """
    prompts = Prompts(config.root, config.values.prompts, config.values.project)
    revision = None if label is None else _revision(config, label)
    tested = prompts if revision is None else prompts.at(revision)
    paths = find_suites(config.root, config.values.evals, wanted)
    patterns, problems = scan_patterns(config)
    problems += duplicate_names(paths)
    loading = Loading(
        config, prompts, allow_code, REGEX_TIMEOUT_S, patterns, with_labels, runs_sources
    )
    suites: list[ReadySuite] = []
    for path in paths:
        definition, found = load_suite(config.root, path, tested, repeats=repeats)
        problems += found
        if definition is not None:
            suite, found = _ready_suite(definition, loading, is_whole=not found)
            problems += found
            suites += [] if suite is None else [suite]
    if every_prompt:
        for prompt_id in prompts.ids():
            prompts.load(prompt_id)
    problems = _unique([*prompts.problems, *tested.problems, *problems])
    served = None if revision is None else f"`{label}`: `{revision.name}`, {revision.commit}"
    exam = Exam(config, suites, len(prompts.ids()), served)
    if problems:
        exam.close()
    raise_all(problems)
    return exam


def _revision(config: Config, label: str) -> Revision:
    """The git revision that an environment serves.

    Raises:
        UsageError: P6002 when the project names none for it.
        SuiteError: P6206 when it cannot be read.
    """
    labels = config.values.labels
    if label not in labels:
        raise UsageError(
            f"the project has no label `{label}`",
            code="P6002",
            hint=did_you_mean(label, labels)
            or f'name its git revision in the configuration: `[labels]` with `{label} = "v1.0"`',
        )
    from proctor.git_revisions import Revision

    return Revision(config.root, labels[label])


def prepare_checks(suite: ReadySuite, subjects: Sequence[ReadySubject]) -> list[ProctorError]:
    """Get the assertions of a suite ready for its first row; what stands in the way of that.

    This imports the code of the project that they use.
    """
    definition = suite.definition
    where = {one.spec.id: one.where for one in definition.all_assertions}
    problems: list[ProctorError] = []
    for subject in subjects:
        for id_, problem in subject.prepare():
            problem.where = problem.where or where[id_]
            problems.append(problem)
    return _unique(problems)


def _ready_suite(
    definition: SuiteDefinition, loading: Loading, *, is_whole: bool
) -> tuple[ReadySuite | None, list[ProctorError]]:
    subjects, problems = ready_subjects(definition, loading)
    is_whole = is_whole and not problems
    prompts = _unique_prompts(definition.subjects)
    first = subjects[0] if subjects else None
    scan = _scan(definition, prompts, loading)
    rules = SuiteRules(
        prompts,
        None if first is None else first.needs,
        target=definition.target,
        build_needs=None if first is None else first.build_needs,
    )
    dataset, found = _dataset(definition, rules, scan, loading)
    problems += found
    labels = None
    # While an assertion is not right, labels of it would be called wrong.
    if loading.with_labels and is_whole:
        labels, found = _labels(definition, subjects, loading)
        problems += found
    if dataset is None:
        return None, problems
    warnings = [warning for loaded in prompts for warning in loaded.warnings]
    judged = [one for subject in subjects for one in subject.judged]
    warnings += _once(warning for one in judged for warning in one.warnings)
    warnings += [*dataset.warnings, *scan.warnings()]
    suite = ReadySuite(definition, dataset, scan.findings, subjects, warnings, labels)
    if definition.target is not None and definition.target.subject.kind == "outputs":
        return _answered(suite, definition.target, problems)
    return suite, problems


def _dataset(
    definition: SuiteDefinition, rules: SuiteRules, scan: Scan, loading: Loading
) -> tuple[Dataset | None, list[ProctorError]]:
    config, options, where = loading.config, definition.dataset, definition.dataset_where
    if options.source is not None:
        from proctor.loading.sources import load_source, unread_source

        if not loading.runs_sources:
            return unread_source(options, where), []
        return load_source(
            options,
            root=config.root,
            rules=rules,
            max_cases=config.values.max_cases,
            where=where,
            scan=scan,
            allow_code=loading.allow_code,
        )
    if not options.path:
        return None, []
    return load_dataset(
        config.root,
        options.path,
        rules=rules,
        max_cases=config.values.max_cases,
        where=where,
        scan=scan,
        delimiter=options.delimiter,
    )


def _answered(
    suite: ReadySuite, target: LoadedTarget, problems: list[ProctorError]
) -> tuple[ReadySuite | None, list[ProctorError]]:
    """A suite of answers that are there already, without the cases that have none."""
    from proctor.targets.outputs import answered_places

    dataset = suite.dataset
    cases = [dataset.case(place).id for place in range(len(dataset))]
    try:
        places, warnings = answered_places(target, cases)
    except ProctorError as problem:
        dataset.close()
        return None, [*problems, problem]
    return replace(suite, places=places, warnings=[*suite.warnings, *warnings]), problems


def _labels(
    definition: SuiteDefinition, subjects: Sequence[ReadySubject], loading: Loading
) -> tuple[list[Label] | None, list[ProctorError]]:
    if definition.labels is None or not subjects:
        return None, []
    from proctor.judging.labels import load_labels

    return load_labels(
        loading.config.root,
        definition.labels,
        subjects=[one.target.subject.id for one in subjects],
        assertions=[one.spec.id for one in subjects[0].checks.judged],
        where=definition.labels_where,
    )


def _scan(definition: SuiteDefinition, prompts: Sequence[LoadedPrompt], loading: Loading) -> Scan:
    """What looks at the cases of one suite."""
    settings, dataset = loading.config.values.scan, definition.dataset
    rules = scan_rules(loading.scan_patterns, timeout_s=loading.regex_timeout_s)
    reasons: dict[str, str] = {allowed.rule: allowed.reason for allowed in dataset.allow}
    if dataset.allow_pii is not None:
        reasons |= {rule.name: dataset.allow_pii.reason for rule in rules if rule.is_personal}
    options = ScanOptions(
        path=dataset.shown,
        levels=settings.levels(),
        reasons=reasons,
        inputs=frozenset(name for loaded in prompts for name in loaded.prompt.inputs),
        is_deep=settings.depth == "deep",
    )
    return Scan(rules, options)


def scan_patterns(config: Config) -> tuple[list[regex.Pattern[str]], list[ProctorError]]:
    """The patterns a project adds to the scan, compiled, and what is wrong with the others."""
    compiled: list[regex.Pattern[str]] = []
    problems: list[ProctorError] = []
    for number, pattern in enumerate(config.values.scan.patterns):
        from proctor.assertions.regex import compile_pattern

        try:
            compiled.append(compile_pattern(pattern, "i"))
        except ProctorError as problem:
            name = f"`scan.patterns[{number}]`"
            message = f"{name}: {problem.message}".replace(": `pattern`", "", 1)
            problems.append(
                UsageError(
                    message,
                    code="P6003",
                    hint=problem.hint,
                    where=config.origins["scan"],
                )
            )
    return compiled, problems


def _unique_prompts(subjects: Sequence[LoadedSubject]) -> list[LoadedPrompt]:
    return list({loaded.prompt.prompt.id: loaded.prompt for loaded in subjects}.values())


def _once(warnings: Iterable[Warn]) -> list[Warn]:
    """The warnings without those that several subjects have in common."""
    return list({(one.code, one.message, one.where): one for one in warnings}.values())


def _unique(problems: Sequence[ProctorError]) -> list[ProctorError]:
    """The problems without those that two suites, or two subjects, have in common."""
    seen = {(problem.where, problem.code, problem.message): problem for problem in problems}
    return list(seen.values())
