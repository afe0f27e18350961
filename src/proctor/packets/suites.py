"""Packet suites: `evals/packets/<name>.packet.yaml`, found, read and checked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from proctor.config import find_project
from proctor.documents import Document, StructReader
from proctor.errors import FileError, ProctorError, SuiteError, UsageError, raise_all
from proctor.loading.files import list_files, parse_document, read_document
from proctor.packets.checks import ReadyCheck, expectations_sha256, read_checks
from proctor.packets.contract import contract_faults
from proctor.packets.formats import (
    MAX_SOURCE,
    PacketCaseFile,
    PacketSuiteFile,
    ResponseFields,
    SourceFile,
)
from proctor.packets.outline import outline
from proctor.records import Json, JsonObject
from proctor.registry import did_you_mean
from proctor.safe_io import (
    MAX_PROJECT_FILE,
    inside,
    read_supplied,
    read_unchanged_inside,
    reason_of,
)
from proctor.strict_json import has_lone_surrogate

ENDINGS: Final = (".packet.yaml", ".packet.yml", ".packet.json")
FOLDER: Final = "packets"
"""Where packet suites stand, below the folder of the suites."""


class NoSuchSuite(UsageError):
    """There is no packet suite of that name or id (P6001)."""


class SourcePlace(Struct, frozen=True):
    """A source of a suite, which is not looked for before it is read.

    Args:
        written: What stands in the suite.
        folder: The suite's folder, absolute.
        where: The place in the suite.
    """

    written: SourceFile
    folder: Path
    where: str

    def read(self) -> bytes:
        """The bytes of the file, which stays below the suite's folder or else its project's.

        Raises:
            FileError: P6805 when its path is not safe or it is too large.
            OSError: When it is missing or cannot be read.
        """
        root, relative = self._below()
        return read_unchanged_inside(root, relative, limit=MAX_SOURCE, where=self.where)

    def _below(self) -> tuple[Path, str]:
        path, where = self.written.path, self.where
        try:
            return self.folder, inside(path, where=where)
        except FileError:
            project = find_project(self.folder)
            if project is None or not self.folder.is_relative_to(project):
                raise
            base = self.folder.relative_to(project).as_posix()
            return project, inside(path, base=base, where=where)


class SuiteCase(Struct, frozen=True):
    """A case of a packet suite.

    Args:
        contract: What stands under `response`, as it is written.
        fields: The same, read.
        checks: The checks, ready.
    """

    file: PacketCaseFile
    contract: JsonObject
    fields: ResponseFields
    checks: tuple[ReadyCheck, ...]


class PacketSuite(Struct, frozen=True):
    """A packet suite that has been read and is right."""

    id: str
    title: str
    name: str
    sources: tuple[SourcePlace, ...]
    cases: tuple[SuiteCase, ...]
    expectations_sha256: str


def load_suite_file(path: Path) -> PacketSuite:
    """The packet suite in a file that the command line names.

    Raises:
        SuiteError: P6201 or P6202, with everything that is wrong with it.
        FileError: P6805 when its path is not safe.
        NoSuchSuite: P6001 when there is no such file.
    """
    try:
        data = read_supplied(path, limit=MAX_PROJECT_FILE)
    except FileNotFoundError:
        raise NoSuchSuite(
            f"there is no packet suite `{path}`",
            code="P6001",
            hint="name a `*.packet.yaml`, or the id of one below `evals/packets/`",
        ) from None
    except OSError as error:
        raise SuiteError(
            f"`{path}` cannot be read: {reason_of(error)}",
            code="P6201",
            hint="check the path and its permissions",
        ) from error
    document = parse_document(data, str(path), error=SuiteError, code="P6201")
    # No component of the path is a link, so what is left out of it here was not needed.
    return _parse_suite(document, Path(os.path.abspath(path)).parent)  # noqa: PTH100 - see above


def load_suite_of_id(id_: str, root: Path, evals: str) -> PacketSuite:
    """The only packet suite of an id.

    Args:
        id_: The id.
        root: The project's folder, or where the user is.
        evals: The folder of the suites, relative to it.

    Raises:
        SuiteError: P6201 or P6202, with everything that is wrong with it.
        FileError: P6805 when its path is not safe.
        NoSuchSuite: P6001 when none has the id.
    """
    folder = f"{evals}/{FOLDER}"
    found: dict[str, list[Document]] = {}
    problems: list[ProctorError] = []
    for path in list_files(root, folder, ENDINGS):
        try:
            document = read_document(root, path, error=SuiteError, code="P6201")
        except ProctorError as problem:
            problems.append(problem)
            continue
        known = document.value.get("id") if isinstance(document.value, dict) else None
        found.setdefault(known if isinstance(known, str) else path, []).append(document)
    if id_ not in found:
        # The one that is meant may be among those that cannot be read.
        raise_all(problems)
        raise NoSuchSuite(
            f"0 of {len(found)} packet suites below `{folder}/` are called `{id_}`",
            code="P6001",
            hint=did_you_mean(id_, found) or f"write `{folder}/{id_}.packet.yaml`",
        )
    first, *others = found[id_]
    for other in others:
        raise SuiteError(
            f"the id `{id_}` of a packet suite is taken by `{first.name}`",
            code="P6201",
            hint="change one of them, or name the file instead of the id",
            where=other.where(("id",)),
        )
    return _parse_suite(first, (root / first.name).parent)


def _parse_suite(document: Document, folder: Path) -> PacketSuite:
    reader = StructReader(document, error=SuiteError, code="P6201")
    if has_lone_surrogate(document.value):
        reader.problem(
            "the file has a lone surrogate, which is no character",
            (),
            hint="write the character it is half of",
        )
    file = reader.read_known(PacketSuiteFile, document.value)
    for problem in reader.problems:
        if "`salt`" in problem.message:
            problem.hint = "make one: python3 -c 'import secrets; print(secrets.token_hex(16))'"
    if file is None:
        raise_all(reader.problems)
    assert file is not None  # noqa: S101 - raise_all has raised otherwise
    _refuse_same_ids([source.id for source in file.sources], "sources", reader)
    _refuse_same_ids([case.id for case in file.cases], "cases", reader)
    sources = list(_sources(file.sources, folder, reader))
    cases = [_case(case, index, reader) for index, case in enumerate(file.cases)]
    raise_all(reader.problems)
    return PacketSuite(
        id=file.id,
        title=file.title,
        name=document.name,
        sources=tuple(sources),
        cases=tuple(cases),
        expectations_sha256=expectations_sha256(
            file.salt, {case.id: case.checks for case in file.cases}
        ),
    )


def _refuse_same_ids(ids: Sequence[str], key: str, reader: StructReader) -> None:
    seen: set[str] = set()
    for index, id_ in enumerate(ids):
        if id_ in seen:
            reader.problem(f"the id `{id_}` stands twice in `{key}`", (key, index, "id"))
        seen.add(id_)


def _sources(
    written: Sequence[SourceFile], folder: Path, reader: StructReader
) -> Iterator[SourcePlace]:
    for index, source in enumerate(written):
        if source.section is not None and not _is_heading(source.section):
            reader.problem(
                f"`{source.section}` is not the line of a heading",
                ("sources", index, "section"),
                hint="write the whole line, like `## Claim rules`",
            )
        where = reader.document.where(("sources", index, "path"))
        yield SourcePlace(source, folder, where)


def _is_heading(line: str) -> bool:
    found = outline(line)
    return len(found.lines) == len(found.headings) == 1 and found.lines == [line.rstrip("\r\n")]


def _case(case: PacketCaseFile, index: int, reader: StructReader) -> SuiteCase:
    path = ("cases", index)
    contract = _written_contract(reader.document.value, index)
    for place, fault in contract_faults(case.response, case.evidence, (*path, "response")):
        reader.problem(fault, place)
    checks = read_checks(
        case.checks,
        fields=case.response,
        evidence=case.evidence,
        reader=reader,
        path=(*path, "checks"),
    )
    return SuiteCase(case, contract, case.response, tuple(checks))


def _written_contract(value: Json, index: int) -> JsonObject:
    contract: JsonObject = value["cases"][index]["response"]
    return contract
