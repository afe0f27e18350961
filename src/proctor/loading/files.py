"""Finding and reading the hand-written files of a project: suites and prompts."""

from __future__ import annotations

import os
from pathlib import Path

from proctor.documents import Document
from proctor.errors import FileError, ProctorError
from proctor.loading.json_lines import parse_json_document
from proctor.loading.yaml import YamlProblem, parse_yaml
from proctor.safe_io import read_inside, reason_of
from proctor.strict_json import JsonProblem, decode_utf8


def list_files(root: Path, folder: str, endings: tuple[str, ...]) -> list[str]:
    """Files below a folder of the project whose name has one of these endings, in path order.

    Links to files are listed; hidden folders are passed over.

    Returns:
        Paths relative to the root. Empty when there is no such folder.

    Raises:
        FileError: P6805 when the folder is reached through a link, or one below is a link or
            cannot be read.
    """
    _refuse_links(root, folder)
    found: list[str] = []
    if not (root / folder).is_dir():
        return found
    for current, folders, names in os.walk(root / folder, onerror=_refuse_unread):
        folders[:] = [name for name in folders if not name.startswith(".")]
        below = Path(current).relative_to(root)
        for name in sorted(folders):
            # What is behind it would be missing, and nobody would notice.
            _refuse_links(root, (below / name).as_posix())
        found += [
            (below / name).as_posix()
            for name in (*names, *folders)
            if name.endswith(endings) and not name.startswith(".")
        ]
    return sorted(found)


def _refuse_links(root: Path, folder: str) -> None:
    path = root
    for part in Path(folder).parts:
        path /= part
        if path.is_symlink():
            raise FileError(
                f"`{folder}` goes through the link `{part}`",
                code="P6805",
                hint="put a real folder there",
                where=folder,
            )


def _refuse_unread(error: OSError) -> None:
    name = Path(error.filename).name
    raise FileError(
        f"the folder `{name}` cannot be read: {reason_of(error)}",
        code="P6805",
        hint="check its permissions",
        where=name,
    ) from error


def read_document(
    root: Path, path: str, *, error: type[ProctorError], code: str, where: str | None = None
) -> Document:
    """A YAML or JSON file of the project, by its ending.

    Args:
        root: The project's folder.
        path: The file, relative to the root.
        error: What to raise for a file that is not YAML or JSON.
        code: The code of that error.
        where: What refers to the file.

    Raises:
        ProctorError: Of the class and code given.
        FileError: P6805 for a link, folder, FIFO or device, or a file over 1 MiB.
    """
    data = _read(root, path, error=error, code=code, where=where)
    return parse_document(data, path, error=error, code=code)


def parse_document(data: bytes, path: str, *, error: type[ProctorError], code: str) -> Document:
    """The document that a YAML or JSON file holds, by its ending.

    Raises:
        ProctorError: Of the class and code given.
    """
    try:
        if path.endswith(".json"):
            return parse_json_document(data, path)
        return parse_yaml(data, path)
    except (YamlProblem, JsonProblem) as problem:
        place = path if problem.line is None else f"{path}:{problem.line}"
        raise error(
            f"`{path}` {problem.detail}", code=code, hint=_advice(problem.detail), where=place
        ) from None


def read_text(root: Path, path: str, *, error: type[ProctorError], code: str) -> str:
    """A UTF-8 text file of the project, without its byte order mark.

    Raises:
        ProctorError: Of the class and code given.
        FileError: P6805 for a link, folder, FIFO or device, or a file over 1 MiB.
    """
    return parse_text(_read(root, path, error=error, code=code, where=None), path, error, code)


def parse_text(data: bytes, path: str, error: type[ProctorError], code: str) -> str:
    """The text that a file holds, without its byte order mark.

    Raises:
        ProctorError: Of the class and code given, when it is not UTF-8.
    """
    try:
        return decode_utf8(data.removeprefix(b"\xef\xbb\xbf"))
    except JsonProblem as problem:
        place = path if problem.line is None else f"{path}:{problem.line}"
        raise error(
            f"`{path}` {problem.detail}", code=code, hint=_advice(problem.detail), where=place
        ) from None


def _read(
    root: Path, path: str, *, error: type[ProctorError], code: str, where: str | None
) -> bytes:
    try:
        return read_inside(root, path, where=where)
    except OSError as failure:
        raise error(
            f"`{path}` cannot be read: {reason_of(failure)}",
            code=code,
            hint="check the path and its permissions",
            where=where or path,
        ) from failure


def _advice(detail: str) -> str:
    if detail == "is empty":
        return "write the file, or delete it"
    if detail.endswith("not UTF-8"):
        return "save the file as UTF-8"
    return "mend this line"
