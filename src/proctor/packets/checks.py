"""The checks of a packet suite: read, sealed by a digest, and asked of a response."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from proctor.assertions.base import cannot_fail, invalid, selected_part
from proctor.canonical import canonical_json, sha256_hex
from proctor.documents import Path, StructReader, name_of
from proctor.errors import ProctorError, SuiteError
from proctor.packets.contract import field_at, grammars
from proctor.packets.formats import PacketCheck, ResponseFields
from proctor.packets.kinds import (
    KINDS,
    CheckFile,
    Evidence,
    GroupCheck,
    Judge,
    WordsCheck,
    listed_kinds,
    words_from,
)
from proctor.pointers import MISSING, descend
from proctor.records import Json, JsonObject, Outcome
from proctor.registry import did_you_mean

EXPECTATIONS: Final = b"proctor.packet-expectations.v1\n"
MAX_NESTED: Final = 5
"""Groups within groups."""


class ReadyCheck(Struct, frozen=True):
    """A check that is ready to judge the values of a case.

    Args:
        field: What it is on, as written.
        reason: Says of the values of a case with a short code why they do not pass; None when they
            do.
    """

    id: str
    kind: str
    field: str
    reason: Callable[[JsonObject], str | None]

    def check(self, values: JsonObject) -> PacketCheck:
        """What becomes of the values of a case."""
        reason = self.reason(values)
        outcome = Outcome.PASSED if reason is None else Outcome.FAILED
        return PacketCheck(self.id, self.kind, self.field, outcome, reason)


def expectations_sha256(salt: str, checks: Mapping[str, Sequence[Json]]) -> str:
    """The digest that seals what is expected.

    Args:
        salt: The salt of the suite.
        checks: The checks of each case as they are written, in their order.
    """
    sealed = {"salt": salt, "cases": {case: list(written) for case, written in checks.items()}}
    return sha256_hex(EXPECTATIONS + canonical_json(sealed))


def read_checks(
    written: Sequence[Json],
    *,
    fields: ResponseFields,
    evidence: Evidence,
    reader: StructReader,
    path: Path,
) -> list[ReadyCheck]:
    """The checks of a case, ready; what is wrong with them is noted in the reader.

    A grammar of the contract that no check asks about is asked about too.

    Args:
        written: What stands under `checks`.
        fields: The contract of the case.
        evidence: Its named texts.
        reader: Of the suite's document.
        path: Where the checks stand.
    """
    if not written:
        reader.problem(
            "a case without checks can never fail",
            path,
            hint="write at least one check",
            code="P6202",
        )
    checks = _Checks(fields, evidence, reader)
    ready = [checks.read(one, (*path, index)) for index, one in enumerate(written)]
    checks.refuse_same_ids()
    return [*(one for one in ready if one is not None), *checks.of_grammars()]


class _Checks:
    """Reads the checks of one case, and remembers their ids and what they ask about."""

    def __init__(self, fields: ResponseFields, evidence: Evidence, reader: StructReader) -> None:
        self._fields = fields
        self._evidence = evidence
        self._reader = reader
        self._ids: list[tuple[str, Path]] = []
        self._asked: set[tuple[tuple[str, ...], str]] = set()
        """Steps to a field, and the evidence its words are to come from."""

    def read(self, written: Json, path: Path, *, depth: int = 0) -> ReadyCheck | None:
        """One check, or None after noting what is wrong with it."""
        if not isinstance(written, dict):
            what = name_of(written)
            wanted = "a mapping with `id`, `kind` and `field`"
            self._reader.problem(f"a check must be {wanted}, not {what}", path)
            return None
        kind = self._kind(written.get("kind"), path)
        spec = None if kind is None else self._reader.read(kind, written, path)
        if spec is None:
            return None
        self._ids.append((spec.id, path))
        try:
            return self._ready(spec, path, depth)
        except ProctorError as problem:
            problem.where = self._reader.document.where(path)
            self._reader.problems.append(problem)
            return None

    def refuse_same_ids(self) -> None:
        """Note each id that another check of the case has already."""
        seen: set[str] = set()
        for id_, path in self._ids:
            if id_ in seen:
                self._reader.problem(f"two checks have the id `{id_}`", (*path, "id"))
            seen.add(id_)

    def of_grammars(self) -> Iterator[ReadyCheck]:
        """A check for each grammar of the contract that none of those read asks about.

        Null has no words, where the contract lets it stand.
        """
        for steps, grammar in grammars(self._fields):
            text = self._evidence.get(grammar.words_from)
            if text is None or (steps, grammar.words_from) in self._asked:
                continue
            field = steps[0] if len(steps) == 1 else "".join(f"/{step}" for step in steps)
            reason = _reason(steps, words_from(text), is_optional=True)
            yield ReadyCheck(f"grammar:{field}", "words-from", field, reason)

    def _kind(self, name: Json, path: Path) -> type[CheckFile] | None:
        known = listed_kinds()
        if isinstance(name, str) and name in known:
            spec, _ = known[name]
            return spec
        if isinstance(name, str):
            message, place = f"there is no kind of check `{name}`", (*path, "kind")
            hint = did_you_mean(name, known)
        else:
            message, place, hint = "a check needs a `kind`", path, None
        self._reader.problem(message, place, hint=hint or f"kinds: {', '.join(sorted(known))}")
        return None

    def _ready(self, spec: CheckFile, path: Path, depth: int) -> ReadyCheck | None:
        part = selected_part(spec.field, "field")
        assert part is not None  # noqa: S101 - a check has a field
        field = field_at(self._fields, part.tokens)
        if field is None:
            raise SuiteError(
                f"the contract of the case has no `{spec.field}`",
                code="P6201",
                hint=did_you_mean(spec.field, self._fields),
            )
        if isinstance(spec, GroupCheck):
            return self._group(spec, path, depth)
        if isinstance(spec, WordsCheck):
            self._asked.add((part.tokens, spec.evidence))
        judge = KINDS[spec.kind].compile(spec, field, self._evidence)
        return ReadyCheck(spec.id, spec.kind, spec.field, _reason(part.tokens, judge))

    def _group(self, spec: GroupCheck, path: Path, depth: int) -> ReadyCheck | None:
        if not spec.of:
            raise cannot_fail("a group of no checks can never fail", "write at least one check")
        if depth == MAX_NESTED:
            raise invalid(f"groups are nested deeper than {MAX_NESTED}")
        parts = [
            self.read(_inherited(spec, place), (*path, "of", place), depth=depth + 1)
            for place in range(len(spec.of))
        ]
        ready = [part for part in parts if part is not None]
        return ReadyCheck(spec.id, spec.kind, spec.field, _all_of(ready)) if ready else None


def _inherited(group: GroupCheck, place: int) -> Json:
    """A part of a group with what it takes from the group, if it is written as a check is."""
    written = group.of[place]
    if not isinstance(written, dict):
        return written
    return {"id": f"{group.id}.{place + 1}", "field": group.field, **written}


def _reason(
    steps: Sequence[str], judge: Judge, *, is_optional: bool = False
) -> Callable[[JsonObject], str | None]:
    def reason(values: JsonObject) -> str | None:
        found = descend(values, steps)
        if is_optional and (found is MISSING or found is None):
            return None
        return "missing_field" if found is MISSING else judge(found)

    return reason


def _all_of(parts: Sequence[ReadyCheck]) -> Callable[[JsonObject], str | None]:
    def reason(values: JsonObject) -> str | None:
        for part in parts:
            why = part.reason(values)
            if why is not None:
                return f"{part.id}: {why}"
        return None

    return reason
