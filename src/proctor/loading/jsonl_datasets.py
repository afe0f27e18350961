"""Datasets in JSONL: strict JSON, one case a line."""

from __future__ import annotations

from typing import BinaryIO

import msgspec

from proctor.documents import name_of
from proctor.loading.cases import MAX_CASE, CaseChecks
from proctor.loading.indexed import DigestedLines, Index, IndexedDataset
from proctor.records import Case
from proctor.strict_json import JsonFault, JsonProblem, parse_json, typed

_decode_case = msgspec.json.Decoder(Case).decode


def read_jsonl(file: BinaryIO, checks: CaseChecks) -> IndexedDataset:
    """Validate a dataset and index it; what is wrong with it is noted in `checks`.

    Args:
        file: The dataset, open at its start.
        checks: What is asked of each case.
    """
    reading = _Reading(checks)
    lines = DigestedLines(file, checks)
    for data, number, offset in lines:
        raw = data.rstrip(b"\r\n")
        if raw.strip(b" \t"):
            reading.take(raw, number, offset)
        if reading.is_foreign:
            break
    return IndexedDataset(
        checks.path, file, lines.hexdigest(), reading.index, _decode, shapes=checks.shapes
    )


def _decode(raw: bytes, index: int) -> Case:
    try:
        return _decode_case(raw)
    except msgspec.DecodeError:
        # Lone surrogates, which msgspec does not read; the first pass has proven the rest.
        return typed(parse_json(raw), Case)


class _Reading:
    """The first pass over a dataset."""

    def __init__(self, checks: CaseChecks) -> None:
        self.index = Index()
        self.is_foreign = False
        self._checks = checks

    def take(self, raw: bytes, number: int, offset: int) -> None:
        self._checks.count += 1
        if len(raw) > MAX_CASE:
            self._checks.note("P6101", "the case is larger than 1 MiB", number)
            return
        try:
            value = parse_json(raw)
        except JsonProblem as problem:
            self._refuse(problem, number)
            return
        if not isinstance(value, dict):
            message = f"a case must be an object, not {name_of(value)}"
            self._checks.note("P6101", message, number)
            return
        case = self._checks.case_of(value, {(): number})
        if case is not None:
            self._checks.take(case, number, raw)
            self.index.add(offset, raw)

    def _refuse(self, problem: JsonProblem, number: int) -> None:
        if problem.fault is not JsonFault.NOT_UTF8:
            self._checks.note("P6101", f"the line {problem.detail}", number)
            return
        # A first line in another encoding says what all of the file is.
        self.is_foreign = number == 1 and problem.detail != "is not UTF-8"
        self._checks.note_encoding(problem.detail, number, whole=self.is_foreign)
