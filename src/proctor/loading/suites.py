"""Suites: `evals/<name>.eval.yaml`, read and checked, up to the point where cases are needed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath
from pathlib import PurePosixPath
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from proctor.documents import Document, Path, StructReader
from proctor.errors import ProctorError, SuiteError, UsageError
from proctor.loading.assertions import read_assertions, read_build_assertions
from proctor.loading.bundles import LoadedPrompt, check_model_ref
from proctor.loading.dataset_options import DatasetFile, read_dataset_options
from proctor.loading.files import list_files, read_document
from proctor.loading.outputs import read_outputs
from proctor.loading.prompts import Prompts
from proctor.loading.targets import TargetFile, read_target
from proctor.loading.thresholds import ThresholdsFile, check_k, check_labels, read_thresholds
from proctor.records import (
    MAX_REPEATS,
    ExpectationSetup,
    Json,
    JsonObject,
    JudgeSetup,
    LoadedAssertion,
    ModelChoice,
    Subject,
    Thresholds,
)
from proctor.records.targets import LoadedTarget
from proctor.registry import did_you_mean
from proctor.safe_io import inside

ENDINGS = (".eval.yaml", ".eval.yml", ".eval.json")

UNDER_TEST = ("prompt", "prompts", "target", "outputs")
"""Keys of a suite that say who sits the exam, one of which there must be."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*\Z")


class ModelOverride(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of a suite's `models`, with params that override the prompt's.

    Args:
        ref: `<provider>/<name>`.
        params: Sent beside the messages; `maxTokens` limits the answer.
    """

    ref: str
    params: JsonObject = {}


class JudgeFile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Who judges, and how often.

    Args:
        model: The model that judges, `<provider>/<name>`. Default: the model of each rubric.
        panel: Several models instead, one run of each: 1, 3 or 5.
        runs: How often one model judges each answer.
        params: Sent to the judges, over those of the rubric.
        skip_after_failure: Do not judge an answer whose row has failed already.
    """

    model: str | None = None
    panel: list[str] | None = None
    runs: Literal[1, 3, 5] | None = None
    params: JsonObject = {}
    skip_after_failure: bool = False


class ExpectationsFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who judges what cases expect of what is built for them.

    Args:
        rubric: The prompt that judges: `<prompt id>` or `<project id>/<prompt id>`. It is given
            each statement as `expected`.
        runs: How often one model judges each statement. Default: that of `judge`.
    """

    rubric: str
    runs: Literal[1, 3, 5] | None = None


class SuiteFile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A suite as it stands in its file. Assertions are read kind by kind.

    Args:
        dataset: The cases: a path relative to the suite's folder, or a mapping with more to say.
        assertions: What every answer must pass, 1 to 20.
        schema_: A relative path, for editors; ignored at run time.
        description: For people.
        prompt: The prompt under test: `<prompt id>`, `<project id>/<prompt id>` or
            `python:package.module:function`.
        prompts: Several variants of a prompt, instead of `prompt`.
        target: What answers instead of a prompt on a model: an object of the project, an endpoint
            or a program.
        outputs: Answers that are there already, instead: per case its files, relative to the
            suite's folder, one repeat after the other.
        models: Who is asked: `<provider>/<name>`, or that as `ref` with `params`. Default: the
            model of the prompt.
        repeats: How often each row is repeated.
        judge: Who judges, for assertions of kind `llm-judge` and for expectations.
        expectations: Who judges what cases expect of what a target builds for them.
        build_assertions: What is checked of each build of a target, once; by default a failed one
            is a warning.
        labels: What people say of answers: a path relative to the suite's folder.
        thresholds: What the run must reach.
        tiers: Free-form names for selection.
        exclusive: Run one row at a time.
    """

    dataset: str | DatasetFile
    assertions: list[Json]
    schema_: str | None = msgspec.field(default=None, name="$schema")
    description: str | None = None
    prompt: str | None = None
    prompts: Annotated[list[str], Meta(min_length=1, max_length=8)] | None = None
    target: TargetFile | None = None
    outputs: dict[str, list[str]] | None = None
    models: Annotated[list[Json], Meta(min_length=1, max_length=8)] | None = None
    repeats: Annotated[int, Meta(ge=1, le=MAX_REPEATS)] = 1
    judge: JudgeFile | None = None
    expectations: ExpectationsFile | None = None
    build_assertions: list[Json] = []
    labels: str | None = None
    thresholds: ThresholdsFile = ThresholdsFile()
    tiers: Annotated[tuple[str, ...], Meta(min_length=1)] = ("full",)
    exclusive: bool = False


class LoadedSubject(Struct, frozen=True):
    """A subject with the prompt's parsed templates."""

    subject: Subject
    prompt: LoadedPrompt


class SuiteDefinition(Struct, frozen=True, kw_only=True):
    """A suite that has been read: everything but its cases and the compiled assertions.

    What could not be read is missing, with a problem noted; the rest is still checked. Paths are
    relative to the project root.
    """

    name: str
    path: str
    tiers: tuple[str, ...]
    subjects: tuple[LoadedSubject, ...]
    target: LoadedTarget | None
    dataset: DatasetFile
    dataset_where: str
    assertions: tuple[LoadedAssertion, ...]
    repeats: int
    judge: JudgeSetup
    expectations: ExpectationSetup | None
    build_assertions: tuple[LoadedAssertion, ...]
    labels: str | None
    labels_where: str
    thresholds: Thresholds
    exclusive: bool

    @property
    def all_assertions(self) -> tuple[LoadedAssertion, ...]:
        """Those on answers, then those on builds."""
        return (*self.assertions, *self.build_assertions)

    @property
    def folder(self) -> str:
        """The folder that paths in the suite are relative to."""
        return self.path.rpartition("/")[0]


def suite_name(path: str) -> str:
    """The name of the suite in this file: the file's name without its ending."""
    name = path.rpartition("/")[2]
    return next(name.removesuffix(ending) for ending in ENDINGS if name.endswith(ending))


def find_suites(root: FilePath, folder: str, wanted: Sequence[str]) -> list[str]:
    """The suite files of a project, in path order.

    Args:
        root: The project's folder.
        folder: Where suites are, relative to the root.
        wanted: Names of suites, or paths of their files; empty for all.

    Raises:
        UsageError: P6001 when there are none, or a wanted one is not there.
    """
    paths = list_files(root, folder, ENDINGS)
    if not paths:
        raise UsageError(
            f"0 suites: there is no `*.eval.yaml` under `{folder}/`",
            code="P6001",
            hint=f"write `{folder}/<name>.eval.yaml`",
        )
    if not wanted:
        return paths
    found: list[str] = []
    for want in wanted:
        file = PurePosixPath(want).as_posix()
        matching = [path for path in paths if want == suite_name(path) or file == path]
        if not matching:
            names = [suite_name(path) for path in paths]
            raise UsageError(
                f"0 of {len(paths)} suites are called `{want}`",
                code="P6001",
                hint=did_you_mean(want, names) or f"suites: {', '.join(names[:8])}",
            )
        found += matching
    return [path for path in paths if path in found]


def load_suite(
    root: FilePath, path: str, prompts: Prompts, *, repeats: int | None = None
) -> tuple[SuiteDefinition | None, list[ProctorError]]:
    """Read one suite, and every problem with it.

    Args:
        root: The project's folder.
        path: The suite's file, relative to the root.
        prompts: The prompts of the project.
        repeats: How often each row is repeated, instead of what the suite says.
    """
    try:
        document = read_document(root, path, error=SuiteError, code="P6201")
    except ProctorError as problem:
        return None, [problem]
    reader = StructReader(document, error=SuiteError, code="P6201")
    name = suite_name(path)
    if not _NAME.match(name):
        reader.problem(
            f"`{name}` is not a suite name",
            (),
            hint="rename the file with lower-case letters, digits and dashes",
        )
    file = reader.read_known(SuiteFile, document.value)
    written = document.value.get("assertions") if isinstance(document.value, dict) else None
    assertions = read_assertions(written, reader)
    references = _references(document.value)
    if file is None:
        for reference, place in references:
            prompts.get(reference, document.where(place))
        return None, reader.problems
    dataset = read_dataset_options(file.dataset, assertions, reader)
    thresholds = read_thresholds(file.thresholds, reader)
    check_k(thresholds, of_suite=file.repeats, asked=repeats, reader=reader)
    check_labels(thresholds, file.labels, reader)
    definition = SuiteDefinition(
        name=name,
        path=path,
        tiers=file.tiers,
        subjects=tuple(_subjects(file, references, prompts, reader)),
        target=_target(file, reader, root, name),
        dataset=dataset,
        dataset_where=document.where(("dataset",)),
        assertions=assertions,
        repeats=repeats or file.repeats,
        judge=_judge(file.judge, reader),
        expectations=_expectations(file, reader),
        build_assertions=_build_assertions(document.value, assertions, reader),
        labels=_labels(file.labels, document, reader),
        labels_where=document.where(("labels",)),
        thresholds=thresholds,
        exclusive=file.exclusive,
    )
    return definition, reader.problems


def _judge(file: JudgeFile | None, reader: StructReader) -> JudgeSetup:
    if file is None:
        return JudgeSetup()
    panel = tuple(file.panel or ())
    if file.model is not None:
        check_model_ref(file.model, ("judge", "model"), reader)
    for place, ref in enumerate(panel):
        check_model_ref(ref, ("judge", "panel", place), reader)
    if file.panel is not None and len(panel) not in (1, 3, 5):
        reader.problem(
            f"a panel has 1, 3 or 5 models, not {len(panel)}",
            ("judge", "panel"),
            hint="an even number could be split in halves",
        )
    for key, other in (("model", file.model), ("runs", file.runs)):
        if file.panel is not None and other is not None:
            reader.problem(
                f"`panel` and `{key}` exclude each other: each model of a panel is asked once",
                ("judge", key),
            )
    _check_max_tokens(file.params, ("judge", "params", "maxTokens"), reader)
    return JudgeSetup(
        model=file.model,
        panel=panel,
        runs=file.runs or JudgeSetup().runs,
        params=file.params,
        skip_after_failure=file.skip_after_failure,
    )


def _expectations(file: SuiteFile, reader: StructReader) -> ExpectationSetup | None:
    if file.expectations is None:
        return None
    if file.target is None:
        reader.problem("`expectations` are of what a `target` builds", ("expectations",))
    where = reader.document.where(("expectations",))
    return ExpectationSetup(file.expectations.rubric, file.expectations.runs, where)


def _build_assertions(
    value: Json, assertions: Sequence[LoadedAssertion], reader: StructReader
) -> tuple[LoadedAssertion, ...]:
    if not isinstance(value, dict) or "buildAssertions" not in value:
        return ()
    if "target" not in value:
        reader.problem("`buildAssertions` are of what a `target` builds", ("buildAssertions",))
    return read_build_assertions(value["buildAssertions"], assertions, reader)


def _labels(written: str | None, document: Document, reader: StructReader) -> str | None:
    if written is None:
        return None
    try:
        return inside(
            written, base=document.name.rpartition("/")[0], where=document.where(("labels",))
        )
    except ProctorError as problem:
        reader.problems.append(problem)
        return None


def duplicate_names(paths: Sequence[str]) -> Iterator[ProctorError]:
    """A problem for each suite whose name another file has already."""
    first: dict[str, str] = {}
    for path in paths:
        name = suite_name(path)
        if name in first:
            yield SuiteError(
                f"the suite name `{name}` is taken by `{first[name]}`",
                code="P6201",
                hint="rename one of the files",
                where=path,
            )
        first.setdefault(name, path)


def _references(value: Json) -> list[tuple[str, Path]]:
    """The prompts a suite names and where, also of a suite that has other problems."""
    if not isinstance(value, dict):
        return []
    written: list[tuple[Json, Path]] = [(value.get("prompt"), ("prompt",))]
    several = value.get("prompts")
    if isinstance(several, list):
        written += [(name, ("prompts", index)) for index, name in enumerate(several)]
    return [(name, path) for name, path in written if isinstance(name, str)]


def _subjects(
    file: SuiteFile, references: list[tuple[str, Path]], prompts: Prompts, reader: StructReader
) -> Iterator[LoadedSubject]:
    given = [key for key in UNDER_TEST if getattr(file, key) is not None]
    if len(given) != 1:
        reader.problem(
            "a suite needs exactly one of `prompt`, `prompts`, `target` and `outputs`",
            (given[1],) if given else (),
            hint="name one prompt with `prompt`, several with `prompts`, or what else answers",
        )
        return
    overrides = _models(file, reader)
    seen: set[str] = set()
    for reference, path in references:
        loaded = prompts.get(reference, reader.document.where(path))
        if loaded is None:
            continue
        if loaded.prompt.id in seen:
            reader.problem(f"the prompt `{loaded.prompt.id}` is named twice", path)
            continue
        seen.add(loaded.prompt.id)
        for model in _models_of(loaded, overrides, path, reader):
            yield LoadedSubject(Subject(prompt=loaded.prompt, model=model), loaded)


def _target(
    file: SuiteFile, reader: StructReader, root: FilePath, suite: str
) -> LoadedTarget | None:
    if file.target is None and file.outputs is None:
        return None
    if file.models is not None:
        reader.problem("`models` goes with a prompt only", ("models",))
    if file.target is not None:
        return read_target(file.target, reader)
    return read_outputs(file.outputs or {}, reader, root=root, suite=suite)


def _models_of(
    loaded: LoadedPrompt,
    overrides: list[ModelOverride] | None,
    path: Path,
    reader: StructReader,
) -> Iterator[ModelChoice]:
    own = loaded.prompt.model
    if overrides is None:
        if own is None:
            reader.problem(
                f"the prompt `{loaded.prompt.id}` has no model, and the suite names none",
                path,
                hint="write `model` in the prompt, or `models` in the suite",
            )
        else:
            yield own
        return
    params = loaded.params
    for override in overrides:
        yield ModelChoice(ref=override.ref, params={**params, **override.params})


def _models(file: SuiteFile, reader: StructReader) -> list[ModelOverride] | None:
    if file.models is None:
        return None
    overrides: list[ModelOverride] = []
    seen: set[str] = set()
    for index, written in enumerate(file.models):
        path: Path = ("models", index)
        mapping = {"ref": written} if isinstance(written, str) else written
        override = reader.read(ModelOverride, mapping, path)
        if override is None:
            continue
        check_model_ref(override.ref, (*path, "ref"), reader)
        _check_max_tokens(override.params, (*path, "params", "maxTokens"), reader)
        if override.ref in seen:
            reader.problem(f"the model `{override.ref}` is named twice", path)
        seen.add(override.ref)
        overrides.append(override)
    return overrides


def _check_max_tokens(params: JsonObject, path: Path, reader: StructReader) -> None:
    limit = params.get("maxTokens", 1)
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        reader.problem("`maxTokens` must be a whole number of 1 or more", path)
