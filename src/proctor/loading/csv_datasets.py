"""Datasets in CSV: a header that says what each column is for, one case a row.

A cell is text unless the prompts say what it is. An empty cell is absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from msgspec import UNSET, Struct, UnsetType

from proctor.contracts import MAX_SHOWN
from proctor.loading.cases import CaseChecks, CellTypes
from proctor.loading.csv_records import CsvRecords, Record, split_record
from proctor.loading.indexed import DigestedLines, Index, IndexedDataset
from proctor.records import Case, Json, JsonObject, Warn
from proctor.registry import did_you_mean
from proctor.strict_json import JsonProblem, parse_json

_WHOLE = ("id", "expected", "tags", "tiers")
_BOOLEANS = {"true": True, "false": False}
_NUMBERS = ("number", "integer")
_JSON: dict[str, tuple[type, str]] = {
    "array": (list, "a JSON list"),
    "list": (list, "a JSON list"),
    "object": (dict, "a JSON object"),
}
_TEXT_OR_OBJECT = "text or object"
_QUOTE = "quote a cell that holds quotes or the delimiter, and double each quote in it"


class Column(Struct, frozen=True):
    """What a column is for.

    Args:
        name: As it stands in the header.
        part: The part of a case it belongs to.
        key: The member of that part, None for all of it.
        type: What a cell becomes.
    """

    name: str
    part: str
    key: str | None = None
    type: str = "string"


class _CellProblem(ValueError):
    """A cell that is not what its column is for; the sentence quotes nothing of it."""

    def __init__(self, column: Column, detail: str, hint: str) -> None:
        super().__init__(detail)
        self.column = column
        self.detail = detail
        self.hint = hint


def read_csv(file: BinaryIO, checks: CaseChecks, *, delimiter: str | None = None) -> IndexedDataset:
    """Validate a dataset and index it; what is wrong with it is noted in `checks`.

    Args:
        file: The dataset, open at its start.
        checks: What is asked of each case.
        delimiter: What stands between two cells; by default what the header has most of.
    """
    lines = DigestedLines(file, checks)
    records = CsvRecords(lines, delimiter, checks)
    rows = iter(records)
    header = next(rows, None)
    columns = None if header is None else _read_header(header, checks)
    reading = _Reading(columns or (), checks)
    # Without a header that can be read, no row means anything.
    for row in rows if columns is not None else ():
        reading.take(row)
    where = checks.path if header is None else f"{checks.path}:{header.line}"

    def decode(raw: bytes, index: int) -> Case:
        cells = split_record(raw.decode("utf-8"), records.delimiter)
        return _case(reading.columns, cells, index + 1)

    return IndexedDataset(
        checks.path,
        file,
        lines.hexdigest(),
        reading.index,
        decode,
        shapes={},
        warnings=reading.warnings(where),
    )


class _Reading:
    """The first pass over the rows of a dataset."""

    def __init__(self, columns: Sequence[Column], checks: CaseChecks) -> None:
        self.columns = columns
        self.index = Index()
        self._checks = checks
        self._id = [place for place, column in enumerate(columns) if column.part == "id"]
        self._nameless = 0

    def take(self, row: Record) -> None:
        """Take the next row; one of nothing but empty cells is passed over."""
        cells = row.cells
        if not any(cells):
            return
        self._checks.count += 1
        number = self._checks.count
        here = f"row {number}"
        if len(cells) < len(self.columns) or any(cells[len(self.columns) :]):
            cells_text = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
            message = f"{here} has {cells_text}, but the header has {len(self.columns)}"
            self._checks.note("P6101", message, row.line, _QUOTE)
            return
        try:
            case = _case(self.columns, cells, number)
        except _CellProblem as problem:
            message = f"{here}: the cell of `{_shown(problem.column.name)}` {problem.detail}"
            self._checks.note("P6104", message, row.line, problem.hint)
            return
        if not any(cells[place] for place in self._id):
            self._nameless += 1
        self._checks.take(case, row.line, row.raw)
        self.index.add(row.offset, row.raw)

    def warnings(self, where: str) -> list[Warn]:
        """What to know about the file."""
        if not self._nameless:
            return []
        message = (
            "1 case without an `id` is called by its row"
            if self._nameless == 1
            else f"{self._nameless} cases without an `id` are called by their row"
        )
        return [Warn(None, f"{message}, like `row-1`", where)]


def _case(columns: Sequence[Column], cells: Sequence[str], number: int) -> Case:
    """The case of a row with enough cells.

    Raises:
        _CellProblem: For the first cell that is not what its column is for.
    """
    id_ = f"row-{number}"
    inputs: JsonObject = {}
    expected: Json | UnsetType = UNSET
    words: dict[str, list[str]] = {"tags": [], "tiers": []}
    for column, cell in zip(columns, cells, strict=False):
        if not cell:
            continue
        if column.part == "id":
            id_ = cell
        elif column.part in words:
            words[column.part] = [word.strip() for word in cell.split(";") if word.strip()]
        elif column.part == "inputs":
            inputs[column.key or ""] = _value(column, cell)
        elif column.key is None:
            expected = _value(column, cell)
        else:
            expected = {} if isinstance(expected, UnsetType) else expected
            expected[column.key] = _value(column, cell)
    return Case(id_, inputs, expected, words["tags"], words["tiers"])


def _value(column: Column, cell: str) -> Json:
    """What a cell becomes.

    Raises:
        _CellProblem: When it is not what its column is for.
    """
    kind = column.type
    if kind == _TEXT_OR_OBJECT:
        kind = "object" if cell.lstrip().startswith("{") else "string"
    if kind == "boolean":
        if cell.strip().lower() not in _BOOLEANS:
            raise _CellProblem(column, "is no boolean", "write `true` or `false`")
        return _BOOLEANS[cell.strip().lower()]
    if kind not in _NUMBERS and kind not in _JSON:
        return cell
    try:
        value = parse_json(cell.strip())
    except JsonProblem as problem:
        value, detail = None, problem.detail
    else:
        detail = ""
    if kind in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            hint = "write it like `-1234.5`: with a point, and without separators"
            raise _CellProblem(column, "is no number", hint)
        return value
    wanted, name = _JSON[kind]
    if not isinstance(value, wanted):
        raise _CellProblem(column, detail or f"is not {name}", f"write {name}; {_QUOTE}")
    return value


def _read_header(header: Record, checks: CaseChecks) -> list[Column] | None:
    """The columns of a file, or None after noting what is wrong with them."""
    names = [cell.strip() for cell in header.cells]
    while names and not names[-1]:
        names.pop()
    types = checks.rules.cell_types()
    columns: list[Column] = []
    is_right = True
    for place, name in enumerate(names, 1):
        column = _column(name, types)
        if column is not None:
            columns.append(column)
            continue
        is_right = False
        if not name:
            checks.note("P6101", f"column {place} has no name", header.line)
            continue
        known = [*_WHOLE, *(f"inputs.{one}" for one in types.inputs or ())]
        every = [*known, *(types.inputs or ())]
        hint = did_you_mean(name, every) or did_you_mean(name.lower(), every)
        message = f"unknown column `{_shown(name)}`"
        checks.note("P6101", message, header.line, hint or f"columns: {', '.join(known)}")
    for message in _clashes(columns):
        is_right = False
        checks.note("P6101", message, header.line)
    return columns if is_right else None


def _column(name: str, types: CellTypes) -> Column | None:
    """What a column of this name is for, None when nothing is."""
    if name == "expected" and types.answers_are_objects:
        return Column(name, name, type=_TEXT_OR_OBJECT)
    if name in _WHOLE:
        return Column(name, name)
    part, _, key = name.partition(".")
    if part == "expected" and key:
        return Column(name, part, key, types.expected.get(key, "string"))
    if part == "inputs" and key and types.inputs is None:
        return Column(name, part, key)
    for member in (key,) if part == "inputs" else (name,):
        if types.inputs is not None and member in types.inputs:
            return Column(name, "inputs", member, types.inputs[member])
    return Column(name, "inputs", name) if name and types.rest_is_inputs else None


def _clashes(columns: Sequence[Column]) -> list[str]:
    """Columns that are for the same."""
    found: list[str] = []
    first: dict[tuple[str, str | None], Column] = {}
    for column in columns:
        place = (column.part, column.key)
        if place in first:
            other = first[place].name
            found.append(f"the columns `{_shown(other)}` and `{_shown(column.name)}` are the same")
        first.setdefault(place, column)
    if ("expected", None) in first and any(part == "expected" and key for part, key in first):
        found.append("the column `expected` excludes columns of its parts")
    return found


def _shown(name: str) -> str:
    return name if len(name) <= MAX_SHOWN else f"{name[: MAX_SHOWN - 3]}..."
