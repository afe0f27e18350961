"""Cases that a plugin yields: run once, kept in a temporary file, and read like a JSONL dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, cast

import msgspec

from proctor.canonical import canonical_json, sha256_hex
from proctor.errors import DatasetError, ProctorError, SuiteError
from proctor.loading.cases import CaseChecks, CaseRules, CaseScan
from proctor.loading.dataset_options import DatasetFile
from proctor.loading.datasets import Dataset, settled
from proctor.loading.jsonl_datasets import read_jsonl
from proctor.loading.yaml_datasets import HeldDataset
from proctor.project_code import guarded
from proctor.records import Case, Json, JsonObject, Warn
from proctor.registry import case_sources, did_you_mean

Load = Callable[[JsonObject, Path], Iterable[object]]
"""What a plugin has: it is given the options of the suite and the project's folder."""


def load_source(
    options: DatasetFile,
    *,
    root: Path,
    rules: CaseRules,
    max_cases: int,
    where: str,
    scan: CaseScan | None = None,
    allow_code: bool,
) -> tuple[Dataset | None, list[ProctorError]]:
    """The cases a plugin yields, checked like those of a file.

    What is read again and again is what it yielded once, as canonical JSON, one case a line; the
    digest of the dataset is over these lines, and a line number is the number of the case.

    Args:
        options: The dataset of a suite, which names a source.
        root: The project's folder.
        rules: What the cases must fit.
        max_cases: More cases than this are a problem, and are not asked for.
        where: The place in the suite that names the source.
        scan: What looks at the text of the cases.
        allow_code: Whether the command line allows it.

    Returns:
        The dataset, or None, and every problem: P6220 when it is not allowed, P6201 when there is
        no such plugin, P6101 when it fails, and what is wrong with the cases.
    """
    try:
        load = _find(options.source or "", allow_code=allow_code)
        file, count = _spooled(load, options, root, max_cases)
    except ProctorError as problem:
        problem.where = problem.where or where
        return None, [problem]
    if count > max_cases:
        file.close()
        return None, [_too_many(options.shown, max_cases, where)]
    checks = CaseChecks(options.shown, rules, scan)
    return settled(read_jsonl(file, checks), checks, max_cases=max_cases, where=where)


def unread_source(options: DatasetFile, where: str) -> Dataset:
    """What stands for the cases of a plugin where nothing is run: none, with a warning."""
    message = f"the cases of `{options.shown}` are not checked: that would run a plugin"
    dataset = HeldDataset(options.shown, sha256_hex(b""), (), {})
    dataset.warnings = (Warn(None, message, where),)
    return dataset


def _find(name: str, *, allow_code: bool) -> Load:
    if not allow_code:
        raise SuiteError(
            f"the cases come from the plugin `{name}`, which may not run",
            code="P6220",
            hint="look at what it does, then add `--allow-code`",
        )
    part = case_sources.get(name)
    if part is None:
        names = case_sources.every_name()
        raise SuiteError(
            f"no installed package brings the case source `{name}`",
            code="P6201",
            hint=did_you_mean(name, names) or "`proctor plugins` lists what there is",
        )
    return cast("Load", getattr(part, "load", part))


def _spooled(load: Load, options: DatasetFile, root: Path, max_cases: int) -> tuple[BinaryIO, int]:
    """A file with the cases at its start, one a line, and how many; at most one too many."""
    file = cast("BinaryIO", TemporaryFile())  # noqa: SIM115 - the dataset closes it
    count = 0

    def run() -> None:
        nonlocal count
        for case in load(deepcopy(options.options), root):
            count += 1
            file.write(_line(case, options.shown, count))
            if count > max_cases:
                break

    try:
        guarded(run, f"the source `{options.source}`", code="P6101")
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file, count


def _line(case: object, shown: str, number: int) -> bytes:
    value: Json = case
    if isinstance(case, Case):
        value = {key: part for key, part in msgspec.to_builtins(case).items() if key != "checked"}
    try:
        return canonical_json(value) + b"\n"
    except (TypeError, ValueError, RecursionError):
        raise DatasetError(
            f"case {number} is no JSON value",
            code="P6101",
            hint="yield objects like the lines of a dataset in JSONL",
            where=shown,
        ) from None


def _too_many(shown: str, max_cases: int, where: str) -> ProctorError:
    return DatasetError(
        f"`{shown}` yields more than {max_cases} cases",
        code="P6102",
        hint="raise `max_cases` in the project's configuration, or `--max-cases`",
        where=where,
    )
