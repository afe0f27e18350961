"""Datasets in YAML: a list of cases, read whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import BinaryIO

from proctor.documents import Document, Path, name_of
from proctor.loading.cases import MAX_CASE, CaseChecks
from proctor.loading.yaml import YamlProblem, parse_yaml
from proctor.protocols import Shape
from proctor.records import Case, Json, Warn
from proctor.safe_io import MAX_PROJECT_FILE

_NODE_BYTES = 2
"""What a value takes beside its text: a comma or a colon, and a bracket."""


class HeldDataset:
    """The cases of a dataset, all in memory.

    Args:
        path: The file, relative to the project root.
        digest: The SHA-256 of all its bytes.
        cases: The cases.
        shapes: The rows of those cases that have not just one.
    """

    warnings: Sequence[Warn] = ()

    def __init__(
        self, path: str, digest: str, cases: Sequence[Case], shapes: Mapping[int, Shape]
    ) -> None:
        self.shapes = shapes
        self.path = path
        self.sha256 = digest
        self._cases = cases

    def __len__(self) -> int:
        return len(self._cases)

    def case(self, index: int) -> Case:
        """One case, by its 0-based place."""
        return self._cases[index]

    def close(self) -> None:
        """There is nothing left to close."""


def read_yaml(file: BinaryIO, checks: CaseChecks) -> HeldDataset:
    """Validate a dataset; what is wrong with it is noted in `checks`.

    Args:
        file: The dataset, open at its start; closed afterwards.
        checks: What is asked of each case.
    """
    with file:
        data = file.read(MAX_PROJECT_FILE + 1)
    cases: list[Case] = []
    if len(data) > MAX_PROJECT_FILE:
        hint = "write a dataset of this size as JSONL or CSV"
        checks.note("P6101", "the file is larger than 1 MiB", None, hint)
    else:
        document = _parse(data, checks)
        if document is not None:
            cases += _read_cases(document, checks)
    return HeldDataset(checks.path, sha256(data).hexdigest(), cases, checks.shapes)


def _parse(data: bytes, checks: CaseChecks) -> Document | None:
    try:
        return parse_yaml(data, checks.path)
    except YamlProblem as problem:
        if problem.detail.endswith("not UTF-8"):
            whole = problem.detail != "is not UTF-8"
            checks.note_encoding(problem.detail, problem.line or 1, whole=whole)
        elif problem.detail != "is empty":
            checks.note("P6101", f"the file {problem.detail}", problem.line)
        return None


def _read_cases(document: Document, checks: CaseChecks) -> list[Case]:
    written = document.value
    if not isinstance(written, list):
        message = f"a dataset must be a list of cases, not {name_of(written)}"
        checks.note("P6101", message, document.lines.get(()))
        return []
    lines = _lines_by_case(document)
    cases: list[Case] = []
    for index, value in enumerate(written):
        checks.count += 1
        line = lines[index][()]
        if not isinstance(value, dict):
            checks.note("P6101", f"a case must be a mapping, not {name_of(value)}", line)
        elif _is_large(value):
            checks.note("P6101", "the case is larger than 1 MiB", line)
        else:
            case = checks.case_of(value, lines[index])
            if case is not None:
                checks.take(case, line)
                cases.append(case)
    return cases


def _lines_by_case(document: Document) -> dict[int, dict[Path, int]]:
    """Per case the line of each of its parts; a case that is an alias has the alias's."""
    lines: dict[int, dict[Path, int]] = {}
    for path, line in document.lines.items():
        if path and isinstance(path[0], int):
            lines.setdefault(path[0], {})[path[1:]] = line
    return lines


def _is_large(value: Json) -> bool:
    """Whether a case would be a line of more than 1 MiB; an alias counts as what it stands for."""
    size = 0
    left = [value]
    while left:
        one = left.pop()
        size += _NODE_BYTES
        if isinstance(one, str):
            size += len(one.encode("utf-8", "surrogatepass"))
        elif isinstance(one, dict):
            left += one
            left += one.values()
        elif isinstance(one, list):
            left += one
        if size > MAX_CASE:
            return True
    return False
