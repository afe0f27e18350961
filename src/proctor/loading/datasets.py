"""Datasets: validated in one pass, kept as an index, read again case by case.

The index holds the place, length and SHA-256 of each line, so memory does not grow with the size
of the cases, and a file that changes between the two readings is noticed.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec
from msgspec import UNSET, Struct, UnsetType

from proctor.documents import Document, StructReader, name_of
from proctor.errors import DatasetError, ProctorError, SuiteError
from proctor.records import Case, Json, JsonObject
from proctor.safe_io import MEBIBYTE, open_inside, reason_of
from proctor.strict_json import JsonFault, JsonProblem, parse_json, typed

ENDINGS = (".jsonl",)
MAX_LINE = 16 * MEBIBYTE
MAX_CASE = MEBIBYTE
MAX_ID = 128
SHOWN_PROBLEMS = 20

_CASE_ID = re.compile(rf"[^\x00-\x1f\x7f-\x9f]{{1,{MAX_ID}}}\Z")
_AS_UTF8 = "save the file as UTF-8"
_UTF8_BOM = b"\xef\xbb\xbf"


class CaseRules(Protocol):
    """What cases must fit, beside the shape of a case."""

    def faults(self, case: Case) -> Iterator[tuple[str, str]]:
        """Code and sentence of everything wrong with one case; quotes no value of it."""
        ...


class CaseFile(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A case as it stands in a dataset.

    Args:
        id: Unique in the dataset, 1 to 128 characters.
        inputs: Values for the inputs of the prompts; nothing undeclared.
        expected: What assertions compare with; any JSON.
        tags: Words for selection and reports.
        tiers: Tiers of this case, instead of the suite's.
        metadata: Kept with the case, sent nowhere.
    """

    id: str
    inputs: JsonObject
    expected: Json | UnsetType = UNSET
    tags: list[str] = []
    tiers: list[str] = []
    metadata: JsonObject | None = None


class Dataset:
    """The cases of a dataset, read one at a time.

    Args:
        path: The file, relative to the project root.
        file: The file, open; this object closes it.
        sha256: Over all its bytes.
        index: Where the cases are.
    """

    def __init__(self, path: str, file: BinaryIO, digest: str, index: _Index) -> None:
        self.path = path
        self.sha256 = digest
        self._file = file
        self._index = index

    def __len__(self) -> int:
        return len(self._index.offsets)

    def case(self, index: int) -> Case:
        """Read one case again, by its 0-based place.

        Raises:
            DatasetError: P6101 when its line is no longer what it was.
        """
        offset, length = self._index.offsets[index], self._index.lengths[index]
        raw = os.pread(self._file.fileno(), length, offset)
        if sha256(raw).digest() != self._index.digest(index):
            raise DatasetError(
                f"`{self.path}` changed while it was being used",
                code="P6101",
                hint="run again",
                where=self.path,
            )
        try:
            return _decode_case(raw)
        except msgspec.DecodeError:
            # Lone surrogates, which msgspec does not read; the first pass has proven the rest.
            return typed(parse_json(raw), Case)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _Index:
    def __init__(self) -> None:
        self.offsets = array("Q")
        self.lengths = array("Q")
        self._digests = bytearray()

    def add(self, offset: int, raw: bytes) -> None:
        self.offsets.append(offset)
        self.lengths.append(len(raw))
        self._digests += sha256(raw).digest()

    def digest(self, index: int) -> bytes:
        return bytes(self._digests[index * 32 : index * 32 + 32])


_decode_case = msgspec.json.Decoder(Case).decode


def load_dataset(
    root: Path, path: str, *, rules: CaseRules, max_cases: int, where: str
) -> tuple[Dataset | None, list[ProctorError]]:
    """Validate a dataset and index it.

    Args:
        root: The project's folder.
        path: The dataset, relative to the root.
        rules: What the cases must fit.
        max_cases: More cases than this are a problem, never a silent cut.
        where: The place in the suite that names the dataset.

    Returns:
        The dataset, or None, and every problem: the first 20 and a count of the others.
    """
    try:
        file = _open(root, path, where)
    except ProctorError as problem:
        return None, [problem]
    reading = _Reading(path, file, rules)
    reading.run()
    problems = reading.all_problems()
    if reading.count > max_cases:
        problems.insert(0, _too_many(path, reading.count, max_cases))
    if reading.count == 0 and not problems:
        problems.append(_no_cases(path, where))
    if problems:
        file.close()
        return None, problems
    return Dataset(path, file, reading.whole.hexdigest(), reading.index), []


def _open(root: Path, path: str, where: str) -> BinaryIO:
    if not path.endswith(ENDINGS):
        raise DatasetError(
            f"`{path}` is not a dataset that can be read",
            code="P6101",
            hint=f"datasets end in {' or '.join(ENDINGS)}",
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
        hint="write one case per line",
        where=where,
    )


def _too_many(path: str, count: int, max_cases: int) -> ProctorError:
    return DatasetError(
        f"`{path}` holds {count} cases, more than {max_cases}",
        code="P6102",
        hint=f"raise `max_cases` to {count} in the project's configuration, or `--max-cases`",
        where=path,
    )


class _Reading:
    """One pass over a dataset. Of the problems only those that are shown are kept."""

    def __init__(self, path: str, file: BinaryIO, rules: CaseRules) -> None:
        self.index = _Index()
        self.whole = sha256()
        self.count = 0
        self._path = path
        self._file = file
        self._rules = rules
        self._line_of_id: dict[str, int] = {}
        self._problems: list[ProctorError] = []
        self._more = 0
        self._code_of_more = ""
        self._is_foreign = False

    def run(self) -> None:
        end = 0
        number = 0
        while line := self._file.readline(MAX_LINE + 1):
            number += 1
            self.whole.update(line)
            start, end = end, end + len(line)
            if len(line) > MAX_LINE:
                self._note("P6101", "the line is longer than 16 MiB", number)
                return
            if number == 1 and line.startswith(_UTF8_BOM):
                line = line.removeprefix(_UTF8_BOM)
                start += len(_UTF8_BOM)
            raw = line.rstrip(b"\r\n")
            if raw.strip(b" \t"):
                self._take(raw, start, number)
            if self._is_foreign:
                return

    def all_problems(self) -> list[ProctorError]:
        """The first problems, and a count of the others."""
        if not self._more:
            return self._problems
        message = f"and {self._more} more problem{'' if self._more == 1 else 's'}"
        more = DatasetError(message, code=self._code_of_more, where=self._path)
        return [*self._problems, more]

    def _take(self, raw: bytes, offset: int, number: int) -> None:
        self.count += 1
        if len(raw) > MAX_CASE:
            self._note("P6101", "the case is larger than 1 MiB", number)
            return
        try:
            value = parse_json(raw)
        except JsonProblem as problem:
            self._refuse(problem, number)
            return
        try:
            read = typed(value, CaseFile)
        except msgspec.ValidationError:
            self._explain(value, number)
            return
        self._check(Case(read.id, read.inputs, read.expected), number)
        self.index.add(offset, raw)

    def _check(self, case: Case, number: int) -> None:
        if not _CASE_ID.match(case.id):
            wanted = f"1 to {MAX_ID} characters, none of them a control character"
            self._note("P6101", f"the case id must have {wanted}", number)
            return
        first = self._line_of_id.setdefault(case.id, number)
        if first != number:
            self._note("P6103", f"the case id `{case.id}` is taken by line {first}", number)
        for position, (code, fault) in enumerate(self._rules.faults(case)):
            if position == SHOWN_PROBLEMS:
                self._note(code, f"case `{case.id}` has more problems than these", number)
                break
            self._note(code, f"case `{case.id}`: {fault}", number)

    def _refuse(self, problem: JsonProblem, number: int) -> None:
        if problem.fault is not JsonFault.NOT_UTF8:
            self._note("P6101", f"the line {problem.detail}", number)
        elif problem.detail == "is not UTF-8":
            message = "the line is not UTF-8, but perhaps Latin-1 or Windows-1252"
            self._note("P6101", message, number, _AS_UTF8)
        else:
            self._is_foreign = number == 1
            what = "file" if self._is_foreign else "line"
            self._note("P6101", f"the {what} {problem.detail}", number, _AS_UTF8)

    def _explain(self, value: Json, number: int) -> None:
        if not isinstance(value, dict):
            self._note("P6101", f"a case must be an object, not {name_of(value)}", number)
            return
        document = Document(self._path, value, {(): number})
        reader = StructReader(document, error=DatasetError, code="P6101")
        reader.read(CaseFile, value)
        for problem in reader.problems:
            self._keep(problem)

    def _note(self, code: str, message: str, number: int, hint: str | None = None) -> None:
        where = f"{self._path}:{number}"
        self._keep(DatasetError(message, code=code, hint=hint, where=where))

    def _keep(self, problem: ProctorError) -> None:
        if len(self._problems) < SHOWN_PROBLEMS:
            self._problems.append(problem)
            return
        self._more += 1
        self._code_of_more = self._code_of_more or problem.code
