"""Datasets as files that the command line names: read without a suite, and written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from proctor.errors import DatasetError, raise_all
from proctor.loading.cases import CaseChecks, CellTypes
from proctor.loading.csv_records import CsvRecords
from proctor.loading.datasets import CSV, Dataset, load_dataset
from proctor.loading.indexed import DigestedLines
from proctor.records import Case, JsonObject
from proctor.safe_io import open_regular

ENDING = ".jsonl"
"""Of datasets that are written, unless they are parts of one in CSV."""

MAX_CASES = 1_000_000

_ALWAYS = ("id", "inputs")
_BLANK = Case("", {})


class AnyCase:
    """Rules that every case fits: there is no suite that would ask for anything."""

    def faults(self, case: Case) -> Iterator[tuple[str, str]]:
        """Nothing is wrong with a case."""
        return iter(())

    def cell_types(self) -> CellTypes:
        """Every cell is text, and every column that is for nothing else an input."""
        return CellTypes(inputs=None, expected={}, answers_are_objects=False, rest_is_inputs=True)


def checks_of(path: str) -> CaseChecks:
    """What is asked of the cases of a dataset that no suite uses, and no scan looks at."""
    return CaseChecks(path, AnyCase(), None)


def open_dataset(path: Path) -> Dataset:
    """A dataset by itself. Close it after use.

    Args:
        path: The file; messages give its name.

    Raises:
        ProctorError: What is wrong with it, all problems together.
    """
    dataset, problems = load_dataset(
        path.parent, path.name, rules=AnyCase(), max_cases=MAX_CASES, where=path.name
    )
    raise_all([one if one.code != "P6202" else _empty(path.name) for one in problems])
    assert dataset is not None  # noqa: S101 - without a dataset there were problems
    return dataset


def ending_of_parts(path: Path) -> str:
    """How the files of the parts of a dataset end.

    Without a suite nobody knows what the cells of a table are, so its rows stay rows.
    """
    return CSV if path.suffix == CSV else ENDING


def part_lines(path: Path, dataset: Dataset, places: Sequence[int]) -> Iterator[bytes]:
    """The file of a part of a dataset.

    Args:
        path: The dataset's own file.
        dataset: The dataset.
        places: The 0-based places of the part's cases, in order.
    """
    if path.suffix != CSV:
        yield from (case_line(case_object(dataset.case(place))) for place in places)
        return
    wanted = set(places)
    with open_regular(path) as file:
        checks = checks_of(path.name)
        rows = iter(CsvRecords(DigestedLines(file, checks), None, checks))
        yield next(rows).raw + b"\n"
        cases = (row for row in rows if any(row.cells))
        yield from (row.raw + b"\n" for place, row in enumerate(cases) if place in wanted)


def _empty(name: str) -> DatasetError:
    return DatasetError(
        f"`{name}` holds no cases", code="P6101", hint="name a dataset with cases", where=name
    )


def cases_of(dataset: Dataset) -> Iterator[Case]:
    """Each case, in order."""
    return (dataset.case(index) for index in range(len(dataset)))


def case_object(case: Case) -> JsonObject:
    """A case as it stands in a dataset, without what it does not have."""
    members = {name: getattr(case, name) for name in case.__struct_fields__}
    return {
        name: member
        for name, member in members.items()
        if name in _ALWAYS or member != getattr(_BLANK, name)
    }


def case_line(value: JsonObject) -> bytes:
    """A case as a line of JSONL, every value as it is; a lone surrogate as its escape."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
