"""The stages put together: load, plan, run, aggregate. The only module that knows them all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from proctor.aggregating import SubjectTally, SuiteFacts, SuiteTally, case_result, report_head
from proctor.assertions.checks import CheckSet
from proctor.cassettes import Cassette, Replay, open_cassette
from proctor.config import Config
from proctor.errors import ProctorError, raise_all
from proctor.executors.local import LocalExecutor
from proctor.loading.datasets import Dataset, load_dataset
from proctor.loading.prompts import LoadedPrompt, Prompts
from proctor.loading.rules import SuiteRules
from proctor.loading.scope import SuiteScope
from proctor.loading.suites import (
    LoadedAssertion,
    LoadedSubject,
    SuiteDefinition,
    duplicate_names,
    find_suites,
    load_suite,
)
from proctor.planning import Plan, plan_rows, worst_cost_usd
from proctor.protocols import PlannedRow
from proctor.records import DatasetReport, Warn
from proctor.registry import assertion_kinds
from proctor.reporting import CaseSpool, RunReport, SpoolStore
from proctor.running.row import SubjectRunner
from proctor.targets.prompt import PromptTarget
from proctor.version import VERSION

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
    regex_timeout_s: float = REGEX_TIMEOUT_S,
) -> Exam:
    """Read and check suites, prompts and datasets; nothing is run.

    Args:
        config: The project.
        wanted: Names of suites, or paths of their files; empty for all.
        every_prompt: Also check the prompts no suite uses.
        regex_timeout_s: How long one match of a regular expression may take.

    Raises:
        ProctorError: The problem, or all problems of all files together.
    """
    prompts = Prompts(config.root, config.values.prompts, config.values.project)
    paths = find_suites(config.root, config.values.evals, wanted)
    problems = list(duplicate_names(paths))
    suites: list[ReadySuite] = []
    for path in paths:
        definition, found = load_suite(config.root, path, prompts)
        problems += found
        if definition is not None:
            suite, found = _ready_suite(config, definition, regex_timeout_s)
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


def replay(exam: Exam, *, cassettes: Path | None = None, shown: str | None = None) -> RunReport:
    """Answer every row from the cassettes, check the answers and make the report.

    Args:
        exam: What `load_exam` returned.
        cassettes: A folder to take recordings from instead of the project's own.
        shown: That folder as messages name it.

    Returns:
        The report, whatever its verdict.

    Raises:
        ProctorError: P6403 or P6404 for a cassette that cannot be used; nothing has been run.
    """
    folder = f"{exam.config.values.evals}/cassettes"
    with ExitStack() as files:
        opened: list[Cassette] = []
        problems: list[ProctorError] = []
        for suite in exam.suites:
            name = suite.definition.name
            cassette, found = open_cassette(
                cassettes or exam.config.root,
                f"{name}.jsonl" if cassettes else f"{folder}/{name}.jsonl",
                f"{shown or folder}/{name}.jsonl",
            )
            files.callback(cassette.close)
            opened.append(cassette)
            problems += found
        raise_all(problems)
        command = "" if shown is None else f" --cassettes {shown}"
        store = SpoolStore()
        finished = [
            _replay_suite(exam.config, suite, cassette, command=command, store=store)
            for suite, cassette in zip(exam.suites, opened, strict=True)
        ]
    head = report_head(
        [tally.finish() for tally, _ in finished],
        project=exam.config.values.project,
        version=VERSION,
    )
    return RunReport(head, [spools for _, spools in finished])


def _ready_suite(
    config: Config, definition: SuiteDefinition, regex_timeout_s: float
) -> tuple[ReadySuite | None, list[ProctorError]]:
    problems: list[ProctorError] = []
    subjects: list[ReadySubject] = []
    for loaded in definition.subjects:
        scope = SuiteScope(
            config.root,
            definition.folder,
            prompt=loaded.subject.prompt,
            regex_timeout_s=regex_timeout_s,
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


def _replay_suite(
    config: Config, suite: ReadySuite, cassette: Cassette, *, command: str, store: SpoolStore
) -> tuple[SuiteTally, list[CaseSpool]]:
    definition, dataset = suite.definition, suite.dataset
    plan = plan_rows(suite=definition.name, subjects=len(suite.subjects), cases=len(dataset))
    tally = SuiteTally(
        SuiteFacts(
            suite=definition.name,
            tiers=list(definition.tiers),
            repeats=plan.repeats,
            dataset=DatasetReport(
                path=dataset.path,
                sha256=dataset.sha256,
                cases=len(dataset),
                selected=len(dataset),
                allow=[],
                allow_pii=None,
                findings=[],
            ),
            assertion_ids=tuple(one.spec.id for one in definition.assertions),
            thresholds=definition.thresholds,
            warnings=suite.warnings,
        )
    )
    record = f"proctor run {definition.name} --cache record --max-cost USD{command}"
    spools = [
        _replay_subject(
            config,
            suite,
            subject,
            plan=plan,
            tally=tally.subject(subject.target.subject),
            source=Replay(cassette, subject.target.subject, record),
            spool=CaseSpool(store),
        )
        for subject in suite.subjects
    ]
    return tally, spools


def _replay_subject(
    config: Config,
    suite: ReadySuite,
    subject: ReadySubject,
    *,
    plan: Plan,
    tally: SubjectTally,
    source: Replay,
    spool: CaseSpool,
) -> CaseSpool:
    price = config.values.prices.get(subject.target.subject.model.ref)
    cost_matters = suite.definition.thresholds.max_cost_usd is not None
    run_row = SubjectRunner(
        target=subject.target, source=source, checks=subject.checks, timed_out=tally.timed_out
    )
    rows = []
    for planned, row in LocalExecutor().run(_planned_rows(plan, suite.dataset), run_row):
        worst = None
        if cost_matters and row.cost_usd is None:
            worst = worst_cost_usd(subject.target.request(planned.case), price)
        rows.append(tally.add(row, worst_cost_usd=worst))
        if len(rows) == plan.repeats:
            spool.add(case_result(planned.case, index=planned.place, rows=rows))
            rows = []
    return spool


def _planned_rows(plan: Plan, dataset: Dataset) -> Iterator[PlannedRow]:
    for place, repeat in plan.rows_of_subject():
        yield PlannedRow(place, dataset.case(place), repeat)
