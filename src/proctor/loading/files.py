"""Finding and reading the hand-written files of a project: suites and prompts."""

from __future__ import annotations

import os
from pathlib import Path

from proctor.documents import Document
from proctor.errors import ProctorError
from proctor.loading.json_lines import parse_json_document
from proctor.loading.yaml import YamlProblem, parse_yaml
from proctor.safe_io import inside, read_inside, reason_of
from proctor.strict_json import JsonProblem


def list_files(root: Path, folder: str, endings: tuple[str, ...]) -> list[str]:
    """Files below a folder of the project whose name has one of these endings, in path order.

    Links are listed but not followed; hidden folders are passed over.

    Returns:
        Paths relative to the root. Empty when there is no such folder.
    """
    found: list[str] = []
    for current, folders, names in os.walk(root / folder, followlinks=False):
        folders[:] = [name for name in folders if not name.startswith(".")]
        below = Path(current).relative_to(root).as_posix()
        found += [
            inside(name, base=below)
            for name in (*names, *folders)
            if name.endswith(endings) and not name.startswith(".")
        ]
    return sorted(found)


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
    try:
        data = read_inside(root, path, where=where)
    except OSError as failure:
        raise error(
            f"`{path}` cannot be read: {reason_of(failure)}",
            code=code,
            hint="check the path and its permissions",
            where=where or path,
        ) from failure
    try:
        if path.endswith(".json"):
            return parse_json_document(data, path)
        return parse_yaml(data, path)
    except (YamlProblem, JsonProblem) as problem:
        place = path if problem.line is None else f"{path}:{problem.line}"
        raise error(
            f"`{path}` {problem.detail}", code=code, hint=_advice(problem.detail), where=place
        ) from None


def _advice(detail: str) -> str:
    if "empty" in detail:
        return "write the file, or delete it"
    if "UTF-" in detail:
        return "save the file as UTF-8"
    return "mend this line"
