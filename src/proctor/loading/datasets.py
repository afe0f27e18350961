"""Datasets: the cases of a suite, in one of several formats that end up the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol

from proctor.errors import DatasetError, ProctorError, SuiteError
from proctor.loading.cases import CaseChecks, CaseRules, CaseScan
from proctor.loading.csv_datasets import read_csv
from proctor.loading.jsonl_datasets import read_jsonl
from proctor.loading.yaml_datasets import read_yaml
from proctor.protocols import CaseSource
from proctor.records import Warn
from proctor.safe_io import open_inside, reason_of

CSV = ".csv"
ENDINGS = (".jsonl", CSV, ".yaml", ".yml")


class Dataset(CaseSource, Protocol):
    """The cases of a dataset. Close it after use."""

    warnings: Sequence[Warn]

    def close(self) -> None:
        """Close the file the cases are read from."""
        ...


def load_dataset(
    root: Path,
    path: str,
    *,
    rules: CaseRules,
    max_cases: int,
    where: str,
    scan: CaseScan | None = None,
    delimiter: str | None = None,
) -> tuple[Dataset | None, list[ProctorError]]:
    """Validate a dataset, so that its cases can be read one by one.

    Args:
        root: The project's folder.
        path: The dataset, relative to the root.
        rules: What the cases must fit.
        max_cases: More cases than this are a problem, never a silent cut.
        where: The place in the suite that names the dataset.
        scan: What looks at the text of the cases.
        delimiter: What stands between the cells of a table, when it is not to be found out.

    Returns:
        The dataset, or None, and every problem: the first 20 and a count of the others.
    """
    try:
        file = _open(root, path, where)
    except ProctorError as problem:
        return None, [problem]
    checks = CaseChecks(path, rules, scan)
    dataset = _reader(path, delimiter)(file, checks)
    return settled(dataset, checks, max_cases=max_cases, where=where)


def settled(
    dataset: Dataset, checks: CaseChecks, *, max_cases: int, where: str
) -> tuple[Dataset | None, list[ProctorError]]:
    """A dataset that was read, unless something is wrong with it: then it is closed."""
    path, problems = checks.path, checks.problems()
    if checks.count > max_cases:
        problems.insert(0, _too_many(path, checks.count, max_cases))
    if checks.count == 0 and not problems:
        problems.append(_no_cases(path, where))
    if problems:
        dataset.close()
        return None, problems
    return dataset, []


def _reader(path: str, delimiter: str | None) -> Callable[[BinaryIO, CaseChecks], Dataset]:
    if path.endswith(CSV):
        return partial(read_csv, delimiter=delimiter)
    return read_jsonl if path.endswith(".jsonl") else read_yaml


def _open(root: Path, path: str, where: str) -> BinaryIO:
    if PurePosixPath(path).suffix not in ENDINGS:
        raise DatasetError(
            f"`{path}` is not a dataset that can be read",
            code="P6101",
            hint=f"datasets end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}",
            where=where,
        )
    try:
        return open_inside(root, path, where=where)
    except OSError as error:
        raise DatasetError(
            f"the dataset `{path}` cannot be read: {reason_of(error)}",
            code="P6101",
            hint="paths in a suite are relative to the suite's own folder",
            where=where,
        ) from error


def _no_cases(path: str, where: str) -> ProctorError:
    return SuiteError(
        f"the dataset `{path}` holds no cases, so the suite can never fail",
        code="P6202",
        hint="write at least one case into it",
        where=where,
    )


def _too_many(path: str, count: int, max_cases: int) -> ProctorError:
    return DatasetError(
        f"`{path}` holds {count} cases, more than {max_cases}",
        code="P6102",
        hint=f"raise `max_cases` to {count} in the project's configuration, or `--max-cases`",
        where=path,
    )
