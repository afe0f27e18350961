"""The project's configuration: flag over environment over project file over default.

The file is `proctor.toml`, its keys at the top level, or `pyproject.toml` with the same keys under
`[tool.proctor]`. What sends data, spends money or runs code is never read from it.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from proctor.documents import Document, StructReader, fields_of
from proctor.documents import Path as KeyPath
from proctor.errors import ProctorError, UsageError, raise_all
from proctor.records import Json, JsonObject
from proctor.safe_io import MAX_PROJECT_FILE, inside, open_regular, reason_of
from proctor.strict_json import JsonProblem, decode_utf8

FILE = "proctor.toml"
PYPROJECT = "pyproject.toml"

COMMAND_LINE_ONLY = frozenset(
    [
        "address",
        "allow_code",
        "allow_host",
        "allow_key",
        "allow_local",
        "cache",
        "driver",
        "engine",
        "max_cost",
        "otel",
        "otel_content",
        "tracker_content",
    ]
)

_TEXTS = ("project", "evals", "prompts", "langsmith_url")
_NUMBERS = ("max_cases", "concurrency")
_TABLE: dict[str, KeyPath] = {FILE: (), PYPROJECT: ("tool", "proctor")}

_MAX_DOTS = 500
"""In one line of a project file: the time TOML takes is quadratic in the parts of a key."""

_NAME = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[\w-]+)"""
_KEY = re.compile(rf"(\[*)\s*({_NAME}(?:\s*\.\s*{_NAME})*)")

ProjectId = Annotated[str, Meta(pattern=r"\A[a-z0-9-]{1,64}\Z")]
Usd = Annotated[float, Meta(ge=0, le=1e9)]


class ProviderConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a provider is.

    `key_env` names the variable that holds its key, never the key. `api` is which of OpenAI's two
    APIs is spoken. `structured_output` is how the output contract is sent: `json_schema`, the
    default; `json_object` (with the schema beside it, as llama-cpp-python takes it); `tool`, for
    models of Anthropic that know no schema; or not at all. `answers` is the script of a scripted
    provider, a path relative to the project's folder.
    """

    kind: Literal["anthropic", "openai", "scripted"]
    base_url: str | None = None
    key_env: str | None = None
    api: Literal["chat", "responses"] | None = None
    structured_output: Literal["json_schema", "json_object", "tool", "none"] | None = None
    answers: str | None = None

    def __post_init__(self) -> None:
        goes_with = {
            "api": ("openai",),
            "structured_output": ("anthropic", "openai"),
            "base_url": ("anthropic", "openai"),
            "key_env": ("anthropic", "openai"),
            "answers": ("scripted",),
        }
        for key, kinds in goes_with.items():
            if getattr(self, key) is not None and self.kind not in kinds:
                raise ValueError(f"`{key}` does not go with kind {self.kind}")
        wrong = {"openai": "tool", "anthropic": "json_object"}.get(self.kind)
        if self.structured_output is not None and self.structured_output == wrong:
            raise ValueError(f"`structured_output` {wrong} does not go with kind {self.kind}")


_KEY_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")


def is_key_variable(text: str) -> bool:
    """Whether a text is taken for the name of a variable that holds a key, like `GATEWAY_KEY`.

    Keys are spelled in other ways: what is none of these may be one, and is never shown.
    """
    return _KEY_VARIABLE.fullmatch(text) is not None


_BUILT_IN = {
    "anthropic": ProviderConfig(kind="anthropic"),
    "openai": ProviderConfig(kind="openai"),
}


def provider_config(name: str, configured: Mapping[str, ProviderConfig]) -> ProviderConfig | None:
    """What is known of a provider: what the project says, or else what needs no saying."""
    return configured.get(name) or _BUILT_IN.get(name)


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """USD per million tokens."""

    input: Usd
    output: Usd


ScanLevel = Literal["stop", "warn", "off"]


class ScanSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the safety scan of datasets reads, and what each of its rules does.

    `depth` is `deep` for strings at any depth, or `top`. `patterns` are blocked beside those of
    S005.
    """

    depth: Literal["deep", "top"] = "deep"
    patterns: list[str] = []
    s005: ScanLevel = field(default="stop", name="S005")
    s010: ScanLevel = field(default="warn", name="S010")
    s011: ScanLevel = field(default="stop", name="S011")
    s012: ScanLevel = field(default="warn", name="S012")
    s014: ScanLevel = field(default="stop", name="S014")

    def levels(self) -> dict[str, ScanLevel]:
        """The level of each rule, by its name."""
        return {
            "S005": self.s005,
            "S010": self.s010,
            "S011": self.s011,
            "S012": self.s012,
            "S014": self.s014,
        }


class GateConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked of the cases of a tier when that tier is run.

    `pass-at-k`: every unit passes at least once. `pass-rate`: at least `min` of all rows pass.
    `no-regression`: nothing is worse than in the baseline of the run. `detect` is a drop of the
    pass rate that must not go unnoticed; with too few rows to find it the gate cannot tell.
    """

    criterion: Literal["pass-at-k", "pass-rate", "no-regression"]
    min: Annotated[float, Meta(gt=0, le=1)] | None = None
    detect: Annotated[float, Meta(gt=0, le=1)] | None = None

    def __post_init__(self) -> None:
        if (self.criterion == "pass-rate") is (self.min is None):
            needs = "needs" if self.min is None else "is the only one that takes"
            raise ValueError(f"the criterion `pass-rate` {needs} `min`")


class ProjectFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a project file. `langsmith_url` is where LangSmith is, which a flag opens."""

    project: ProjectId
    evals: str = "evals"
    prompts: str = "prompts"
    langsmith_url: str = "https://api.smith.langchain.com"
    max_cases: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000
    concurrency: Annotated[int, Meta(ge=1, le=1_024)] = 8
    providers: dict[str, ProviderConfig] = {}
    prices: dict[str, Price] = {}
    scan: ScanSettings = ScanSettings()
    gates: dict[str, GateConfig] = {}
    labels: dict[str, str] = {}


class Config(Struct, frozen=True, kw_only=True):
    """A project: its folder, and every value with where it came from.

    Args:
        root: The project's folder, absolute.
        values: The values in force.
        origins: Per key the flag, variable or file it came from, or `default`. So are the keys of
            `scan` that a file with that table leaves out: `scan.depth`.
    """

    root: Path
    values: ProjectFile
    origins: Mapping[str, str]


class _File(Struct, frozen=True):
    """A project file that configures Proctor: its table and who owns it."""

    root: Path
    name: str
    text: str
    table: JsonObject
    owner: int


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
        FileError: P6805 when its file is a link or no file, or names a folder outside.
    """
    file = _find(directory, is_root=is_root)
    if file is None:
        raise UsageError(
            "there is no Proctor project here" + ("" if is_root else " or in a folder above"),
            code="P6003",
            hint=f"start one with `proctor init`, or name the folder of a `{FILE}` with `--cwd`",
        )
    document = Document(file.name, file.table, _lines(file))
    problems = _forbidden(document)
    values = {key: value for key, value in file.table.items() if not _is_forbidden(key)}
    given = _given(flags, environ)
    origins = dict.fromkeys(ProjectFile.__struct_fields__, "default")
    origins.update(dict.fromkeys(values, file.name))
    scan = values.get("scan")
    if isinstance(scan, dict):
        unset = fields_of(ScanSettings).keys() - scan.keys()
        origins |= dict.fromkeys((f"scan.{name}" for name in unset), "default")
    for key, (value, origin) in given.items():
        values[key], origins[key] = value, origin
    reader = StructReader(document, error=UsageError, code="P6003")
    read = reader.read(ProjectFile, values)
    for problem in reader.problems:
        for key in given:
            if problem.message.startswith(f"`{key}`:"):
                problem.where = origins[key]
    raise_all([*problems, *reader.problems])
    assert read is not None  # noqa: S101 - raise_all has raised otherwise
    folders = {
        key: inside(
            getattr(read, key),
            where=origins[key] if key in given else document.where((key,)),
            folder=True,
        )
        for key in ("evals", "prompts")
    }
    return Config(root=file.root, values=replace(read, **folders), origins=origins)


def configures(folder: Path) -> str | None:
    """The file that makes a folder a project, None when there is none.

    Raises:
        UsageError: P6003 when a file cannot be read that might.
        FileError: P6805 when it is a link or no file.
    """
    return next((name for name in _TABLE if _read(folder, name) is not None), None)


def _given(flags: JsonObject, environ: Mapping[str, str]) -> dict[str, tuple[str | int, str]]:
    """What flags and variables set, with where it came from; a flag wins."""
    given: dict[str, tuple[str | int, str]] = {}
    for key in (*_TEXTS, *_NUMBERS):
        variable = f"PROCTOR_{key.upper()}"
        if variable in environ:
            text = environ[variable]
            value = _number_or_text(text) if key in _NUMBERS else text
            given[key] = (value, f"environment {variable}")
        if flags.get(key) is not None:
            given[key] = (flags[key], f"flag --{key.replace('_', '-')}")
    return given


def _number_or_text(text: str) -> int | str:
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else text


def find_project(directory: Path, *, is_root: bool = False) -> Path | None:
    """The folder of the project that a folder belongs to, None when it belongs to none.

    Args:
        directory: Where to look.
        is_root: As for `load_config`.

    Raises:
        UsageError: P6003 when a file that might configure one cannot be used.
        FileError: P6805 when it is a link or no file.
    """
    file = _find(directory, is_root=is_root)
    return None if file is None else file.root


def _find(directory: Path, *, is_root: bool) -> _File | None:
    start = directory.resolve()
    for folder in (start,) if is_root else (start, *start.parents):
        files = [file for name in _TABLE if (file := _read(folder, name)) is not None]
        if len(files) == 2:
            raise UsageError(
                f"both `{FILE}` and `[tool.proctor]` in `{PYPROJECT}` configure this project",
                code="P6003",
                hint="keep one of them",
                where=FILE,
            )
        for file in files:
            if not is_root:
                _require_own(file)
            return file
        if (folder / ".git").exists():
            break
    return None


def _read(folder: Path, name: str) -> _File | None:
    """A file that configures Proctor; None when it is not there or is about something else."""
    try:
        with open_regular(folder / name, where=name) as file:
            owner = os.fstat(file.fileno()).st_uid
            data = file.read(MAX_PROJECT_FILE + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(
            f"`{name}` cannot be read: {reason_of(error)}", code="P6003", where=name
        ) from error
    if name == PYPROJECT and b"proctor" not in data:
        return None
    if len(data) > MAX_PROJECT_FILE:
        raise UsageError(f"`{name}` is larger than 1 MiB", code="P6003", where=name)
    text, table = _parse_toml(data, name)
    own: Json = table
    if name == PYPROJECT:
        tool = table.get("tool")
        if not isinstance(tool, dict) or "proctor" not in tool:
            return None
        own = tool["proctor"]
    if not isinstance(own, dict):
        raise UsageError(
            "`tool.proctor` must be a table",
            code="P6003",
            hint="write `[tool.proctor]` and the keys below it",
            where=name,
        )
    if name == FILE and "tool" in own:
        raise UsageError(
            f"`{FILE}` has the table `tool`",
            code="P6003",
            hint=f"in `{FILE}` keys stand at the top level, without `[tool.proctor]`",
            where=name,
        )
    return _File(folder, name, text, own, owner)


def _parse_toml(data: bytes, name: str) -> tuple[str, JsonObject]:
    line: int | None = None
    try:
        text = decode_utf8(data.removeprefix(b"\xef\xbb\xbf"))
        line = _line_of_many_dots(text.split("\n"))
        if line is None:
            return text, tomllib.loads(text)
        detail = f"has more than {_MAX_DOTS} dots in one line"
    except JsonProblem as problem:
        detail, line = problem.detail, problem.line
    except tomllib.TOMLDecodeError as error:
        detail = f"is not TOML: {error}"
        place = re.search(r"\(at line (\d+), column \d+\)\Z", str(error))
        line = int(place.group(1)) if place else text.rstrip("\n").count("\n") + 1
    except RecursionError:
        detail = "is nested too deep"
    except ValueError:
        detail = "has a number of too many digits"
    raise UsageError(
        f"`{name}` {detail}",
        code="P6003",
        hint="mend this line" if line else "mend this file",
        where=f"{name}:{line}" if line else name,
    )


def _line_of_many_dots(lines: Iterable[str]) -> int | None:
    counts = ((number, line.count(".")) for number, line in enumerate(lines, 1))
    return next((number for number, dots in counts if dots > _MAX_DOTS), None)


def _require_own(file: _File) -> None:
    if file.owner != os.getuid():
        raise UsageError(
            f"`{file.name}` belongs to another user",
            code="P6003",
            hint="name its folder with `--cwd` if you trust it",
            where=file.name,
        )


def _is_forbidden(key: str) -> bool:
    return key.replace("-", "_") in COMMAND_LINE_ONLY


def _forbidden(document: Document) -> list[ProctorError]:
    return [
        UsageError(
            f"`{key}` is read from the command line only",
            code="P6003",
            hint=f"take it out, and give `--{key.replace('_', '-')}` when you run",
            where=document.where((key,)),
        )
        for key in document.value
        if _is_forbidden(key)
    ]


def _lines(file: _File) -> dict[KeyPath, int]:
    """The line of each table and key, three names deep, as far as the beginnings of lines tell."""
    ours = _TABLE[file.name]
    lines: dict[KeyPath, int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(file.text.split("\n"), 1):
        match = _KEY.match(line.lstrip())
        if match is None:
            continue
        key = tuple(name.strip("\"'") for name in re.findall(_NAME, match.group(2)))
        path = key if match.group(1) else (*table, *key)
        if match.group(1):
            table = key
        if path[: len(ours)] == ours:
            own = path[len(ours) :]
            for depth in range(0 if ours else 1, 4):
                lines.setdefault(own[:depth], number)
    return lines
