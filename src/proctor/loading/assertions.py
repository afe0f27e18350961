"""The assertions of a suite: read kind by kind, those within groups too."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from msgspec.structs import replace

from proctor.documents import Path, StructReader, name_of
from proctor.errors import ProctorError
from proctor.protocols import AssertionKind
from proctor.records import GroupSpec, Json, LoadedAssertion, Severity
from proctor.registry import assertion_kinds, did_you_mean

MAX_ASSERTIONS: Final = 20
"""In a suite, and in a group."""
MAX_NESTED: Final = 5
"""Groups within groups."""
MAX_TOTAL: Final = 200
"""In a suite, with all that stand in groups."""


def read_assertions(written: Json, reader: StructReader) -> tuple[LoadedAssertion, ...]:
    """The assertions of a suite; what is wrong with them is noted in the reader.

    Args:
        written: What stands under `assertions`.
        reader: Of the suite's document.

    Returns:
        Those that could be read.
    """
    if not isinstance(written, list):
        return ()
    if not written:
        reader.problem(
            "a suite without assertions can never fail",
            ("assertions",),
            hint="write at least one assertion",
            code="P6202",
        )
    if len(written) > MAX_ASSERTIONS:
        reader.problem(f"{len(written)} assertions are more than {MAX_ASSERTIONS}", ("assertions",))
    assertions = _Assertions(reader)
    read = [assertions.read(one, ("assertions", index)) for index, one in enumerate(written)]
    assertions.check_together()
    if written and all(one and one.spec.severity is Severity.WARN for one in read):
        reader.problem(
            "every assertion is `severity: warn`, so the suite can never fail",
            ("assertions",),
            hint="leave `severity` out of at least one",
            code="P6202",
        )
    return tuple(one for one in read if one is not None)


def read_build_assertions(
    written: Json, others: Sequence[LoadedAssertion], reader: StructReader
) -> tuple[LoadedAssertion, ...]:
    """The assertions on what a target builds; a failed one is a warning unless it says otherwise.

    Args:
        written: What stands under `buildAssertions`.
        others: The assertions on answers, whose ids are taken.
        reader: Of the suite's document.
    """
    if not isinstance(written, list):
        return ()
    if len(written) > MAX_ASSERTIONS:
        reader.problem(
            f"{len(written)} assertions are more than {MAX_ASSERTIONS}", ("buildAssertions",)
        )
    assertions = _Assertions(reader, {one.spec.id for one in others})
    warned = [{"severity": "warn", **one} if isinstance(one, dict) else one for one in written]
    read = [assertions.read(one, ("buildAssertions", place)) for place, one in enumerate(warned)]
    assertions.check_together()
    return tuple(one for one in read if one is not None)


class _Assertions:
    """Reads the assertions of one suite, and remembers their ids."""

    def __init__(self, reader: StructReader, taken: Collection[str] = ()) -> None:
        self._reader = reader
        self._taken = taken
        self._ids: list[tuple[str, Path]] = []

    def read(self, written: Json, path: Path, *, depth: int = 0) -> LoadedAssertion | None:
        """One assertion, or None after noting what is wrong with it."""
        if not isinstance(written, dict):
            self._reader.problem(
                f"an assertion must be a mapping with `id` and `kind`, not {name_of(written)}",
                path,
            )
            return None
        kind = self._kind(written.get("kind"), path)
        spec = None if kind is None else self._reader.read(kind.Spec, written, path)
        if spec is None:
            return None
        self._ids.append((spec.id, path))
        if isinstance(spec, GroupSpec):
            spec = self._group(spec, path, depth)
        return None if spec is None else LoadedAssertion(spec, self._reader.document.where(path))

    def check_together(self) -> None:
        """Note what is wrong with the assertions as a whole."""
        if len(self._ids) > MAX_TOTAL:
            self._reader.problem(
                f"{len(self._ids)} assertions, with those in groups, are more than {MAX_TOTAL}",
                ("assertions",),
            )
        seen = set(self._taken)
        for id_, path in self._ids:
            if id_ in seen:
                self._reader.problem(f"two assertions have the id `{id_}`", (*path, "id"))
            seen.add(id_)

    def _kind(self, name: Json, path: Path) -> AssertionKind | None:
        if not isinstance(name, str):
            self._reader.problem(
                "an assertion needs a `kind`",
                path,
                hint=f"kinds: {', '.join(assertion_kinds.every_name())}",
            )
            return None
        try:
            kind = assertion_kinds.get(name)
        except ProctorError as problem:
            problem.where = self._reader.document.where((*path, "kind"))
            self._reader.problems.append(problem)
            return None
        if kind is None:
            names = assertion_kinds.every_name()
            self._reader.problem(
                f"there is no assertion kind `{name}`",
                (*path, "kind"),
                hint=did_you_mean(name, names) or f"kinds: {', '.join(names)}",
            )
        return kind

    def _group(self, spec: GroupSpec, path: Path, depth: int) -> GroupSpec | None:
        """The group with its parts read, or None after noting what is wrong with one of them."""
        before = len(self._reader.problems)
        if not spec.of:
            self._reader.problem(
                f"`{spec.kind}` of no assertions decides nothing",
                (*path, "of"),
                hint="write at least one assertion",
                code="P6202",
            )
        if len(spec.of) > MAX_ASSERTIONS:
            self._reader.problem(
                f"{len(spec.of)} assertions in a group are more than {MAX_ASSERTIONS}",
                (*path, "of"),
            )
        if depth == MAX_NESTED:
            self._reader.problem(f"groups are nested deeper than {MAX_NESTED}", path)
            return None
        parts = [
            self._part(spec, place, (*path, "of", place), depth) for place in range(len(spec.of))
        ]
        return replace(spec, of=parts) if len(self._reader.problems) == before else None

    def _part(self, group: GroupSpec, place: int, path: Path, depth: int) -> LoadedAssertion | None:
        written = group.of[place]
        if isinstance(written, dict):
            if "severity" in written:
                self._reader.problem(
                    "an assertion in a group has no `severity` of its own",
                    (*path, "severity"),
                    hint=f"write it beside `kind: {group.kind}`",
                )
            written = {"id": f"{group.id}.{place + 1}", **written}
        return self.read(written, path, depth=depth + 1)
