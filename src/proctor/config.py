"""The project's configuration: flag over environment over project file over default.

The file is `proctor.toml`, its keys at the top level, or `pyproject.toml` with the same keys under
`[tool.proctor]`. What sends data, spends money or runs code is never read from it.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from proctor.documents import Document, StructReader
from proctor.errors import ProctorError, UsageError, raise_all
from proctor.records import JsonObject
from proctor.safe_io import MAX_PROJECT_FILE, inside, reason_of

FILE = "proctor.toml"
PYPROJECT = "pyproject.toml"

COMMAND_LINE_ONLY = frozenset(
    "cache max_cost allow_host allow_local allow_code allow_key driver otel otel_content "
    "tracker_content engine address".split()
)

ProjectId = Annotated[str, Meta(pattern=r"\A[a-z0-9-]{1,64}\Z")]
Usd = Annotated[float, Meta(ge=0)]


class ProviderConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a provider is. `key_env` names the variable that holds its key, never the key."""

    kind: Literal["anthropic", "openai"]
    base_url: str | None = None
    key_env: str | None = None


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """USD per million tokens."""

    input: Usd
    output: Usd


class ProjectFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a project file."""

    project: ProjectId
    evals: str = "evals"
    prompts: str = "prompts"
    max_cases: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000
    concurrency: Annotated[int, Meta(ge=1, le=1_024)] = 8
    providers: dict[str, ProviderConfig] = {}
    prices: dict[str, Price] = {}


class Config(Struct, frozen=True, kw_only=True):
    """A project: its folder, and every value with where it came from.

    Args:
        root: The project's folder, absolute.
        values: The values in force.
        origins: Per key the flag, variable or file it came from, or `default`.
    """

    root: Path
    values: ProjectFile
    origins: Mapping[str, str]


def load_config(
    directory: Path, *, is_root: bool, flags: JsonObject, environ: Mapping[str, str]
) -> Config:
    """Find and read the configuration of a project.

    Args:
        directory: Where to look.
        is_root: Look in `directory` only; otherwise also in the folders above it, up to the top
            of the git work tree.
        flags: Values given on the command line, by key.
        environ: The environment; `PROCTOR_<KEY>` of a plain key counts.

    Raises:
        UsageError: P6003 when there is no project, or its file cannot be used.
    """
    root, name, table = _find(directory, is_root=is_root)
    document = Document(name, table, _toml_lines(root / name, table))
    problems = _forbidden(document)
    values = {key: value for key, value in table.items() if key not in COMMAND_LINE_ONLY}
    origins = dict.fromkeys(ProjectFile.__struct_fields__, "default")
    origins.update(dict.fromkeys(values, name))
    for key in ("project", "evals", "prompts", "max_cases", "concurrency"):
        variable = f"PROCTOR_{key.upper()}"
        if variable in environ:
            values[key] = _number_or_text(environ[variable])
            origins[key] = f"environment {variable}"
        if flags.get(key) is not None:
            values[key] = flags[key]
            origins[key] = f"flag --{key.replace('_', '-')}"
    reader = StructReader(document, error=UsageError, code="P6003")
    read = reader.read(ProjectFile, values)
    raise_all([*problems, *_with_origins(reader.problems, origins)])
    assert read is not None  # noqa: S101 - raise_all has raised otherwise
    for folder in ("evals", "prompts"):
        inside(getattr(read, folder), where=f"{name}: {folder}")
    return Config(root=root, values=read, origins=origins)


def _find(directory: Path, *, is_root: bool) -> tuple[Path, str, JsonObject]:
    start = directory.resolve()
    for folder in (start,) if is_root else (start, *start.parents):
        tables = {
            name: table
            for name in (FILE, PYPROJECT)
            if (table := _read_table(folder / name)) is not None
        }
        if len(tables) == 2:
            raise UsageError(
                f"both `{FILE}` and `[tool.proctor]` in `{PYPROJECT}` configure this project",
                code="P6003",
                hint="keep one of them",
                where=FILE,
            )
        for name, table in tables.items():
            if not is_root:
                _require_own(folder / name)
            return folder, name, table
        if (folder / ".git").exists():
            break
    raise UsageError(
        "there is no Proctor project here" + ("" if is_root else " or in a folder above"),
        code="P6003",
        hint=f'write `{FILE}` with a line like `project = "my-project"`, or name the folder '
        "with `--cwd`",
    )


def _read_table(path: Path) -> JsonObject | None:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_PROJECT_FILE + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(
            f"`{path.name}` cannot be read: {reason_of(error)}", code="P6003", where=path.name
        ) from error
    if path.name == PYPROJECT and b"proctor" not in data:
        return None
    if len(data) > MAX_PROJECT_FILE:
        raise UsageError(f"`{path.name}` is larger than 1 MiB", code="P6003", where=path.name)
    try:
        table: Any = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        line = re.search(r"at line (\d+)", str(error))
        raise UsageError(
            f"`{path.name}` is not TOML: {error}",
            code="P6003",
            hint="mend this line",
            where=path.name if line is None else f"{path.name}:{line.group(1)}",
        ) from None
    if path.name == PYPROJECT:
        tool = table.get("tool")
        table = tool.get("proctor") if isinstance(tool, dict) else None
        return table if isinstance(table, dict) else None
    if "tool" in table:
        raise UsageError(
            f"`{FILE}` has the table `tool`",
            code="P6003",
            hint=f"in `{FILE}` keys stand at the top level, without `[tool.proctor]`",
            where=FILE,
        )
    return dict(table)


def _require_own(path: Path) -> None:
    if path.stat().st_uid != os.getuid():
        raise UsageError(
            f"`{path.name}` belongs to another user",
            code="P6003",
            hint="name its folder with `--cwd` if you trust it",
            where=path.name,
        )


def _forbidden(document: Document) -> list[ProctorError]:
    return [
        UsageError(
            f"`{key}` is read from the command line only",
            code="P6003",
            hint=f"take it out, and give `--{key.replace('_', '-')}` when you run",
            where=document.where((key,)),
        )
        for key in document.value
        if key.replace("-", "_") in COMMAND_LINE_ONLY
    ]


def _with_origins(problems: list[ProctorError], origins: Mapping[str, str]) -> list[ProctorError]:
    """The problems, each placed at the flag or variable its value came from."""
    for problem in problems:
        key = problem.message.split("`")[1] if "`" in problem.message else ""
        origin = origins.get(key, "")
        if origin.startswith(("flag", "environment")):
            problem.where = origin
    return problems


def _number_or_text(text: str) -> int | str:
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else text


def _toml_lines(path: Path, table: JsonObject) -> dict[tuple[str | int, ...], int]:
    """The line of each top-level key, found in the text; deeper ones take their table's."""
    text = path.read_text(encoding="utf-8", errors="replace")
    lines: dict[tuple[str | int, ...], int] = {}
    ours = path.name == FILE
    for number, line in enumerate(text.splitlines(), 1):
        ours = ours or "tool.proctor" in line
        match = re.match(r"\s*\[?\s*(?:tool\.proctor\.)?([\w-]+)", line)
        if ours and match and match.group(1) in table:
            lines.setdefault((match.group(1),), number)
    return lines
