"""Datasets: validated in one pass, kept as an index, read again case by case.

The index holds the place, length and SHA-256 of each line, so memory does not grow with the size
of the cases, and a file that changes between the two readings is noticed.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Protocol

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from proctor.documents import Document, StructReader
from proctor.errors import DatasetError, ProctorError, SuiteError
from proctor.records import Case, Json, JsonObject
from proctor.safe_io import MEBIBYTE, open_inside, reason_of
from proctor.strict_json import JsonProblem, parse_json

ENDINGS = (".jsonl",)
MAX_LINE = 16 * MEBIBYTE
MAX_CASE = MEBIBYTE
SHOWN_PROBLEMS = 20

_BOMS = {
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


class CaseRules(Protocol):
    """What cases must fit, beside the shape of a case."""

    def faults(self, case: Case) -> Iterator[tuple[str, str]]:
        """Code and sentence of everything wrong with one case; quotes no value of it."""
        ...


class CaseFile(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A case as it stands in a dataset."""

    id: Annotated[str, Meta(pattern=r"\A[^\x00-\x1f\x7f-\x9f]{1,128}\Z")]
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
        self._file.seek(offset)
        raw = self._file.read(length)
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
            return msgspec.convert(parse_json(raw), Case)

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
    if not path.endswith(ENDINGS):
        problem = DatasetError(
            f"`{path}` is not a dataset that can be read",
            code="P6101",
            hint=f"datasets end in {' or '.join(ENDINGS)}",
            where=where,
        )
        return None, [problem]
    try:
        file = open_inside(root, path, where=where)
    except ProctorError as problem:
        return None, [problem]
    except OSError as error:
        problem = DatasetError(
            f"the dataset `{path}` cannot be read: {reason_of(error)}",
            code="P6101",
            hint="paths in a suite are relative to the suite's own folder",
            where=where,
        )
        return None, [problem]
    reading = _Reading(path, file, rules)
    reading.run()
    problems = reading.problems
    if reading.count == 0 and not problems:
        problems.append(
            SuiteError(
                f"the dataset `{path}` holds no cases, so the suite can never fail",
                code="P6202",
                hint="write one case per line",
                where=where,
            )
        )
    if reading.count > max_cases:
        problems.append(
            DatasetError(
                f"`{path}` holds {reading.count} cases, more than {max_cases}",
                code="P6102",
                hint=f"set `max_cases = {reading.count}` in the project's configuration",
                where=path,
            )
        )
    if problems:
        file.close()
        return None, _shortened(problems, path)
    return Dataset(path, file, reading.whole.hexdigest(), reading.index), []


class _Reading:
    """One pass over a dataset."""

    def __init__(self, path: str, file: BinaryIO, rules: CaseRules) -> None:
        self.index = _Index()
        self.problems: list[ProctorError] = []
        self.whole = sha256()
        self.count = 0
        self._path = path
        self._file = file
        self._rules = rules
        self._line_of_id: dict[str, int] = {}

    def run(self) -> None:
        offset = 0
        number = 0
        while True:
            line = self._file.readline(MAX_LINE + 1)
            if not line:
                return
            number += 1
            self.whole.update(line)
            start = offset
            offset += len(line)
            if len(line) > MAX_LINE:
                self._note("P6101", f"line {number} is longer than 16 MiB", number)
                return
            if number == 1:
                if line[:2] in _BOMS:
                    self._note("P6101", f"is {_BOMS[line[:2]]}, not UTF-8", number)
                    return
                if line.startswith(b"\xef\xbb\xbf"):
                    line = line[3:]
                    start += 3
            raw = line.rstrip(b"\r\n")
            if raw.strip(b" \t"):
                self._take(raw, start, number)

    def _take(self, raw: bytes, offset: int, number: int) -> None:
        self.count += 1
        if len(raw) > MAX_CASE:
            self._note("P6101", "a case is larger than 1 MiB", number)
            return
        try:
            value = parse_json(raw)
        except JsonProblem as problem:
            self._note("P6101", f"the line {problem.detail}", number)
            return
        try:
            read = msgspec.convert(value, CaseFile)
        except msgspec.ValidationError:
            self._explain(value, number)
            return
        first = self._line_of_id.setdefault(read.id, number)
        if first != number:
            self._note("P6103", f"the case id `{read.id}` is taken by line {first}", number)
        case = Case(read.id, read.inputs, read.expected)
        for code, fault in self._rules.faults(case):
            self._note(code, f"case `{read.id}`: {fault}", number)
        self.index.add(offset, raw)

    def _explain(self, value: Json, number: int) -> None:
        document = Document(self._path, value, {(): number})
        reader = StructReader(document, error=DatasetError, code="P6101")
        reader.read(CaseFile, value)
        self.problems += reader.problems

    def _note(self, code: str, message: str, number: int) -> None:
        kind: type[ProctorError] = SuiteError if code.startswith("P62") else DatasetError
        hint = "save the file as UTF-8" if "UTF-" in message else None
        where = f"{self._path}:{number}"
        self.problems.append(kind(message, code=code, hint=hint, where=where))


def _shortened(problems: list[ProctorError], path: str) -> list[ProctorError]:
    more = len(problems) - SHOWN_PROBLEMS
    if more <= 0:
        return problems
    rest: dict[str, Any] = {"code": problems[SHOWN_PROBLEMS].code, "where": path}
    return [
        *problems[:SHOWN_PROBLEMS],
        DatasetError(f"and {more} more problems in `{path}`", **rest),
    ]
