"""`proctor import samples`: a dataset of what another program has written.

The records are read twice: once to choose among them and to see everything that is wrong, once to
write what was chosen, so that memory does not grow with them.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from proctor.canonical import digest
from proctor.datasets.choosing import rank
from proctor.datasets.files import case_line, checks_of
from proctor.errors import DatasetError, ProctorError, UsageError, raise_all
from proctor.importers.mapping import Mapping, NoCase, Source
from proctor.importers.placeholders import NamesClash, Placeholders
from proctor.importers.sources import Record, read_records
from proctor.loading.cases import MAX_CASE, CaseChecks, CaseFile, is_case_id
from proctor.pointers import MISSING
from proctor.records import Json, JsonObject, Warn
from proctor.safe_io import write_new
from proctor.scanning.scanner import Scan
from proctor.strict_json import typed

_COMPARED: Final = ("inputs", "expected", "context")
"""What two cases have in common that are one and the same."""

_MEMBERS: Final = ("inputs", "metadata")
"""Parts that are counted member by member."""


class ImportOptions(Struct, frozen=True, kw_only=True):
    """What is imported, and how.

    Args:
        path: A file, or a folder of JSON files.
        shown: How messages call it.
        out: The dataset, which must not be there yet.
        mapping: How records become cases.
        sample: How many cases are taken at most.
        seed: Which; the same seed takes the same ones.
        dedupe: Whether a case is left out that asks and expects what one before it does.
    """

    path: Path
    shown: str
    out: Path
    mapping: Mapping
    sample: int | None = None
    seed: int = 0
    dedupe: bool = False


class Imported(Struct, frozen=True, kw_only=True):
    """What an import did. Nothing in it is a value of a record.

    Args:
        records: How many were read.
        duplicates: How many of them were left out as such.
        cases: How many were written.
        replaced: How often what was replaced, by field.
        warnings: What the safety scan found and let through.
    """

    records: int
    duplicates: int
    cases: int
    replaced: dict[str, dict[str, int]]
    warnings: list[Warn]


def import_samples(options: ImportOptions, scan: Scan) -> Imported:
    """Write a dataset without personal data and secrets, whole or not at all.

    Args:
        options: What is imported, and how.
        scan: What looks at the cases, personal data already replaced.

    Raises:
        UsageError: P6002 for a part that no record has, P6004 when the dataset is there already
            or cannot be written.
        ProctorError: What is wrong with the records, and what the scan stops, all together.
    """
    writing = _Writing(options, scan)
    write_new(options.out, writing.lines())
    counts: dict[str, dict[str, int]] = {}
    for (field, kind), count in sorted(writing.placeholders.counts.items()):
        counts.setdefault(field, {})[kind] = count
    return Imported(
        records=writing.choice.records,
        duplicates=writing.choice.duplicates,
        cases=writing.cases,
        replaced=counts,
        warnings=scan.warnings(),
    )


class _Choice:
    """The first reading: which records are taken, and what is to be known before the second.

    Args:
        options: What is imported, and how.
    """

    def __init__(self, options: ImportOptions) -> None:
        self.records = 0
        self.duplicates = 0
        self.placeholders = Placeholders()
        self._options = options
        self._unused: list[Source] = options.mapping.sources()
        self._seen: set[str] = set()
        self._taken: list[tuple[bytes, int]] = []

    def make(self) -> frozenset[int] | None:
        """The numbers of the records that are taken; None for all.

        Raises:
            ProctorError: P6101 when there are none, P6002 for a part that none of them has.
        """
        options = self._options
        checks = checks_of(options.shown)
        for record, case in _cases(options, checks):
            self.records += 1
            self._unused = [one for one in self._unused if one.of(record.value) is MISSING]
            self.placeholders.keep_free(case_line(case).decode())
            self._consider(record, case)
        if not self.records and not checks.problems():
            raise DatasetError(
                f"`{options.shown}` holds no records",
                code="P6101",
                hint="name a file or folder with records",
                where=options.shown,
            )
        # What is wrong with single records is found again, and told with the rest.
        raise_all([_nowhere(one) for one in self._unused] if self.records else [])
        if options.sample is None and not options.dedupe:
            return None
        chosen = self._taken
        if options.sample is not None:
            chosen = heapq.nsmallest(options.sample, chosen)
        return frozenset(number for _, number in chosen)

    def _consider(self, record: Record, case: JsonObject) -> None:
        options = self._options
        if options.dedupe:
            same = digest({part: case[part] for part in _COMPARED if part in case})
            if same in self._seen:
                self.duplicates += 1
                return
            self._seen.add(same)
        if options.dedupe or options.sample is not None:
            self._taken.append((rank(options.seed, case["id"]), record.number))


def _nowhere(source: Source) -> ProctorError:
    return UsageError(
        f"no record has `{source.written}`",
        code="P6002",
        hint="look at a record: names have dots between them, or write a JSON Pointer",
    )


def _cases(options: ImportOptions, checks: CaseChecks) -> Iterator[tuple[Record, JsonObject]]:
    """Each record that makes a case, with the case as it is in the record."""
    for record in read_records(options.path, checks):
        try:
            case = options.mapping.case(record)
            typed(case, CaseFile)
        except NoCase as problem:
            checks.keep(_fault(str(problem), record))
        except msgspec.ValidationError as error:
            message = str(error)[:1].lower() + str(error)[1:]
            hint = "say what becomes what with `--map inputs.NAME=FIELD`"
            checks.keep(_fault(f"the record makes no case: {message}", record, hint=hint))
        else:
            yield record, case


def _fault(message: str, record: Record, *, hint: str | None = None) -> DatasetError:
    return DatasetError(message, code="P6101", hint=hint, where=record.where)


class _Writing:
    """The second reading: the cases as they are written.

    Args:
        options: What is imported, and how.
        scan: What looks at them.
    """

    def __init__(self, options: ImportOptions, scan: Scan) -> None:
        self.cases = 0
        self.choice = _Choice(options)
        self.placeholders = self.choice.placeholders
        self._options = options
        self._scan = scan
        self._checks = checks_of(options.shown)
        self._places: dict[str, str] = {}

    def lines(self) -> Iterator[bytes]:
        """The lines of the dataset.

        Raises:
            ProctorError: What is wrong with the records, all problems together.
        """
        chosen = self.choice.make()
        for record, case in _cases(self._options, self._checks):
            if chosen is None or record.number in chosen:
                yield from self._line(record, case)
        raise_all(self._checks.problems())

    def _line(self, record: Record, case: JsonObject) -> Iterator[bytes]:
        try:
            clean = {part: self._clean(part, value) for part, value in case.items()}
        except NamesClash:
            message = "two names of one object would become the same placeholder"
            self._checks.keep(_fault(message, record, hint="leave that object out with `--map`"))
            return
        line = case_line(clean)
        self._check_id(clean["id"], record)
        if len(line) > MAX_CASE:
            self._checks.keep(_fault("the case is larger than 1 MiB", record))
            return
        self.cases += 1
        made = self._checks.case_of(clean, {(): record.number})
        for problem in () if made is None else self._scan.stops(made, self.cases, line):
            problem.where = record.where
            problem.hint = "take it out, or let the rule through: `--allow RULE --reason TEXT`"
            self._checks.keep(problem)
        yield line

    def _clean(self, part: str, value: Json) -> Json:
        if part not in _MEMBERS or not isinstance(value, dict):
            return self.placeholders.in_value(value, part)
        members = {
            (clean := self.placeholders.in_text(name, part)): self.placeholders.in_value(
                member, f"{part}.{clean}"
            )
            for name, member in value.items()
        }
        if len(members) < len(value):
            raise NamesClash
        return members

    def _check_id(self, id_: str, record: Record) -> None:
        if not is_case_id(id_):
            message = "the id must have 1 to 128 characters, none of them a control character"
            self._checks.keep(_fault(message, record, hint="name another field with `--id`"))
        elif id_ in self._places:
            self._checks.keep(
                DatasetError(
                    f"the id `{id_}` is taken by {self._places[id_]}",
                    code="P6103",
                    hint="name another field with `--id`",
                    where=record.where,
                )
            )
        else:
            self._places[id_] = record.where


def allowed_reasons(rules: Sequence[str], reasons: Sequence[str]) -> dict[str, str]:
    """Why each rule is let through: one reason for all, or one for each in their order.

    Raises:
        UsageError: P6002 when reasons are missing, empty, or more than there are rules.
    """
    said = list(reasons) * max(1, len(rules)) if len(reasons) == 1 else list(reasons)
    if len(said) != len(rules) or not all(one.strip() for one in said):
        raise UsageError(
            "`--allow` and `--reason` go together",
            code="P6002",
            hint="give one reason for all rules, or one for each in their order",
        )
    return dict(zip(rules, said, strict=True))
