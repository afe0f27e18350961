"""The records of a file or folder that some other program has written, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from proctor.documents import name_of
from proctor.errors import DatasetError, UsageError
from proctor.loading.cases import CaseChecks
from proctor.loading.csv_records import CsvRecords
from proctor.loading.files import list_files
from proctor.loading.indexed import MAX_LINE, DigestedLines
from proctor.loading.yaml import YamlProblem, parse_yaml
from proctor.records import Json, JsonObject
from proctor.safe_io import MAX_PROJECT_FILE, open_inside, open_regular, reason_of
from proctor.strict_json import JsonFault, JsonProblem, parse_json

_BOM: Final = b"\xef\xbb\xbf"
_NESTED: Final = ("inputs", "expected")
"""Parts of a case that a column may be a member of."""
_WORDS: Final = ("tags", "tiers")
"""Columns that hold several words."""


class Record(NamedTuple):
    """A record, its 1-based place among all of them, and where it stands."""

    value: JsonObject
    number: int
    where: str


def read_records(path: Path, checks: CaseChecks) -> Iterator[Record]:
    """Each record of a file, or of the JSON files below a folder, by the ending of its name.

    What cannot be read is noted in `checks`, whose `path` messages give, and passed over.

    Raises:
        UsageError: P6002 when the ending says nothing.
        DatasetError: P6101 when the file is not there.
        FileError: P6805 for a link, FIFO or device, and for a link in a folder.
    """
    if path.is_dir():
        placed = _of_folder(path, checks)
    else:
        read = _READERS.get(path.suffix)
        if read is None:
            raise UsageError(
                f"`{checks.path}` is not a file that can be imported",
                code="P6002",
                hint=f"name a file that ends in {', '.join(_READERS)}, or a folder of JSON files",
            )
        placed = _of_file(path, read, checks)
    for number, (value, where) in enumerate(placed, 1):
        if isinstance(value, dict):
            yield Record(value, number, where)
        else:
            message = f"a record must be an object, not {name_of(value)}"
            checks.keep(DatasetError(message, code="P6101", where=where))


Placed = Iterator[tuple[Json, str]]
"""Values with the place of each."""

Reader = Callable[[BinaryIO, CaseChecks], Placed]


def _of_file(path: Path, read: Reader, checks: CaseChecks) -> Placed:
    try:
        file = open_regular(path)
    except OSError as error:
        raise _unreadable(checks.path, error) from error
    with file:
        yield from read(file, checks)


def _of_folder(folder: Path, checks: CaseChecks) -> Placed:
    for name in list_files(folder, "", (".json",)):
        shown = f"{checks.path.rstrip('/')}/{name}"
        try:
            file = open_inside(folder, name)
        except OSError as error:
            raise _unreadable(shown, error) from error
        with file:
            yield from _of_json_file(file, shown, checks)


def _unreadable(shown: str, error: OSError) -> DatasetError:
    return DatasetError(
        f"`{shown}` cannot be read: {reason_of(error)}",
        code="P6101",
        hint="check the path and its permissions",
        where=shown,
    )


def _of_json(file: BinaryIO, checks: CaseChecks) -> Placed:
    return _of_json_file(file, checks.path, checks)


def _of_json_file(file: BinaryIO, shown: str, checks: CaseChecks) -> Placed:
    """The objects of a list, or the one value that the file holds."""
    data = file.read(MAX_LINE + 1)
    if len(data) > MAX_LINE:
        checks.keep(DatasetError("the file is larger than 16 MiB", code="P6101", where=shown))
        return
    try:
        value = parse_json(data.removeprefix(_BOM))
    except JsonProblem as problem:
        where = shown if problem.line is None else f"{shown}:{problem.line}"
        checks.keep(DatasetError(f"the file {problem.detail}", code="P6101", where=where))
        return
    if isinstance(value, list):
        yield from ((one, f"{shown}[{place}]") for place, one in enumerate(value))
    else:
        yield value, shown


def _of_jsonl(file: BinaryIO, checks: CaseChecks) -> Placed:
    for data, number, _ in DigestedLines(file, checks):
        raw = data.rstrip(b"\r\n")
        if not raw.strip(b" \t"):
            continue
        try:
            yield parse_json(raw), f"{checks.path}:{number}"
        except JsonProblem as problem:
            if problem.fault is not JsonFault.NOT_UTF8:
                checks.note("P6101", f"the line {problem.detail}", number)
                continue
            whole = number == 1 and problem.detail != "is not UTF-8"
            checks.note_encoding(problem.detail, number, whole=whole)
            if whole:
                return


def _of_yaml(file: BinaryIO, checks: CaseChecks) -> Placed:
    data = file.read(MAX_PROJECT_FILE + 1)
    if len(data) > MAX_PROJECT_FILE:
        hint = "write a file of this size as JSONL or CSV"
        checks.note("P6101", "the file is larger than 1 MiB", None, hint)
        return
    try:
        document = parse_yaml(data, checks.path)
    except YamlProblem as problem:
        checks.note("P6101", f"the file {problem.detail}", problem.line)
        return
    if not isinstance(document.value, list):
        message = f"the file must be a list of records, not {name_of(document.value)}"
        checks.note("P6101", message, document.lines.get(()))
        return
    yield from ((one, document.where((place,))) for place, one in enumerate(document.value))


def _of_csv(file: BinaryIO, checks: CaseChecks) -> Placed:
    rows = iter(CsvRecords(DigestedLines(file, checks), None, checks))
    header = next(rows, None)
    if header is None:
        return
    names = [cell.strip() for cell in header.cells]
    while names and not names[-1]:
        names.pop()
    if "" in names or len(set(names)) < len(names):
        checks.note("P6101", "each column needs a name of its own", header.line)
        return
    for row in rows:
        cells = row.cells
        if not any(cells):
            continue
        if len(cells) < len(names) or any(cells[len(names) :]):
            message = f"a row has {len(cells)} cells, but the header has {len(names)}"
            hint = "quote a cell that holds quotes or the delimiter, and double each quote in it"
            checks.note("P6101", message, row.line, hint)
            continue
        yield _row(dict(zip(names, cells, strict=False))), f"{checks.path}:{row.line}"


def _row(cells: Mapping[str, str]) -> JsonObject:
    """A row without its empty cells, its columns read as those of a dataset where they can be."""
    record: JsonObject = {}
    for name, cell in cells.items():
        part, dot, key = name.partition(".")
        if not cell:
            continue
        if name in _WORDS:
            record[name] = [word.strip() for word in cell.split(";") if word.strip()]
        elif dot and key and part in _NESTED and part not in cells:
            record.setdefault(part, {})[key] = cell
        else:
            record[name] = cell
    return record


_READERS: Final[dict[str, Reader]] = {
    ".jsonl": _of_jsonl,
    ".csv": _of_csv,
    ".yaml": _of_yaml,
    ".yml": _of_yaml,
    ".json": _of_json,
}
