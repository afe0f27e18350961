"""The keyword arguments of `proctor.run` and `proctor.compare`, and reading them strictly."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, TypeVar

from msgspec import Meta, Struct

from proctor.asking_rules import AskingRules
from proctor.cassettes import CacheMode
from proctor.documents import Document, StructReader, fields_of
from proctor.errors import EvalInputError, UsageError
from proctor.records import MAX_REPEATS, JsonObject
from proctor.registry import did_you_mean
from proctor.report_comparing import ComparingOptions

if TYPE_CHECKING:
    from proctor.python_api.reports import Report

Texts = str | Sequence[str]
"""One text, or several."""
PathLike = str | os.PathLike[str]

Options = TypeVar("Options", bound=Struct)

Port = Annotated[int, Meta(ge=1, le=65_535)]


class RunKeywords(TypedDict, total=False):
    """What `proctor.run` takes by name; `proctor.run` says what each is."""

    root: PathLike | None
    cache: str
    cassettes: PathLike | None
    case: Texts
    tag: Texts
    model: Texts
    prompt: Texts
    tier: Texts
    filter: Texts
    exclude: Texts
    first: int | None
    failed_in: PathLike | Report | None
    repeats: int | None
    max_cases: int | None
    label: str | None
    max_cost: float | None
    allow_code: bool
    allow_local: bool
    allow_local_ports: Sequence[int]
    allow_hosts: Texts
    allow_keys: Texts
    concurrency: int | None
    timeout: float
    max_wait: float
    answers: bool
    store: bool


class CompareKeywords(TypedDict, total=False):
    """What `proctor.compare` takes by name; `proctor.compare` says what each is."""

    match: Mapping[str, str] | Texts
    tolerance: float | Fraction | Decimal
    strict: bool
    noise_aware: bool
    detect: float | Fraction | Decimal | None
    fail_on_regression: bool
    fail_on_missing: bool


class RunOptions(Struct, frozen=True, kw_only=True):
    """The options of a run that are not paths."""

    cache: CacheMode = CacheMode.REPLAY
    case: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    prompt: tuple[str, ...] = ()
    tier: tuple[str, ...] = ()
    filter: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    first: Annotated[int, Meta(ge=1)] | None = None
    repeats: Annotated[int, Meta(ge=1, le=MAX_REPEATS)] | None = None
    max_cases: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    label: str | None = None
    max_cost: Annotated[float, Meta(ge=0, le=1_000_000)] | None = None
    allow_code: bool = False
    allow_local: bool = False
    allow_local_ports: tuple[Port, ...] = ()
    allow_hosts: tuple[str, ...] = ()
    allow_keys: tuple[str, ...] = ()
    concurrency: Annotated[int, Meta(ge=1, le=1_024)] | None = None
    timeout: Annotated[float, Meta(ge=0.001, le=86_400)] = 120.0
    max_wait: Annotated[float, Meta(ge=0, le=86_400)] = 60.0
    answers: bool = True
    store: bool = False

    def rules(self) -> AskingRules:
        """Where answers come from, and what asking for them may do."""
        return AskingRules(
            cache=self.cache,
            max_cost_usd=self.max_cost,
            allow_hosts=self.allow_hosts,
            allow_local=self.allow_local,
            allow_local_ports=self.allow_local_ports,
            allow_keys=self.allow_keys,
            allow_code=self.allow_code,
            timeout_s=self.timeout,
            max_wait_s=self.max_wait,
        )

    def settings(self) -> JsonObject:
        """What they say in place of the project's settings."""
        return {"concurrency": self.concurrency, "max_cases": self.max_cases}


class RunRequest(Struct, frozen=True, kw_only=True):
    """What is to be run.

    Args:
        suites: The suites, all when empty.
        root: The project's folder; None for the nearest one upward from `start`.
        start: Where relative paths start.
        cassettes: Another folder of cassettes.
        failed_in: The cases that did not pass in a report, per suite, or the file of the report.
        options: The rest.
    """

    suites: tuple[str, ...]
    root: Path | None
    start: Path
    cassettes: Path | None
    failed_in: Path | Mapping[str, frozenset[str]] | None
    options: RunOptions


_TEXTS = frozenset(name for name, field in fields_of(RunOptions).items() if field.default == ())


_SELECTING = frozenset(["case", "tag", "model", "prompt", "tier", "filter"])
"""Options that select; one that a program worked out and that came out empty selects nothing."""


def read_run(suites: Sequence[PathLike], given: Mapping[str, Any]) -> RunRequest:
    """The request that a call of `proctor.run` makes.

    Raises:
        TypeError: For an argument there is none of.
        EvalInputError: P6005 for a value that cannot be used.
    """
    given = dict(given)
    root, cassettes, failed_in = (
        given.pop(name, None) for name in ("root", "cassettes", "failed_in")
    )
    start = Path.cwd() if root is None else as_path(root, "root")
    known = [*RunKeywords.__annotations__]
    values = {name: _texts(value) if name in _TEXTS else value for name, value in given.items()}
    for name in _SELECTING & values.keys():
        if values[name] == ():
            raise EvalInputError(
                f"`{name}` is empty, which selects nothing",
                field=name,
                hint="leave it out, or give None, to select everything",
            )
    if hasattr(failed_in, "cases_not_passed"):
        failed_in = failed_in.cases_not_passed()
    elif failed_in is not None:
        failed_in = start / as_path(failed_in, "failed_in")
    return RunRequest(
        suites=tuple(os.fspath(as_path(one, "suites")) for one in suites),
        root=None if root is None else start,
        start=start,
        cassettes=None if cassettes is None else as_path(cassettes, "cassettes"),
        failed_in=failed_in,
        options=_read(RunOptions, values, known, "run"),
    )


def read_compare(given: Mapping[str, Any]) -> ComparingOptions:
    """What a call of `proctor.compare` asks of the comparison.

    Raises:
        TypeError: For an argument there is none of.
        EvalInputError: P6005 for a value that cannot be used.
    """
    values = dict(given)
    match = values.get("match")
    if isinstance(match, Mapping):
        values["match"] = tuple(f"{old}={new}" for old, new in match.items())
    elif match is not None:
        values["match"] = _texts(match)
    for name in ("tolerance", "detect"):
        if values.get(name) is not None:
            values[name] = _share(values[name], name)
    return _read(ComparingOptions, values, [*CompareKeywords.__annotations__], "compare")


def _read(
    kind: type[Options], given: Mapping[str, Any], known: Sequence[str], function: str
) -> Options:
    """The options as a struct; None stands for the default everywhere."""
    fields = fields_of(kind)
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in fields:
            hint = did_you_mean(name, known)
            said = f"{function}() got an unexpected keyword argument '{name}'"
            raise TypeError(said if hint is None else f"{said}; {hint}")
        if value is None:
            continue
        if isinstance(value, Fraction):
            values[name] = value
            continue
        reader = StructReader(Document("", None, {}), error=UsageError, code="P6005")
        values[name] = reader.convert(fields[name].type, value, (name,))
        for problem in reader.problems:
            raise EvalInputError(problem.message, field=name, hint=problem.hint)
    return kind(**values)


def _texts(value: object) -> object:
    """Several texts, where one may be given by itself."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, (list, tuple)) else value


def _share(value: object, name: str) -> Fraction:
    """A share of 1, as exactly as it is written: 0.05 is 1/20."""
    is_number = isinstance(value, (int, float, Decimal, Fraction)) and not isinstance(value, bool)
    convert: Callable[[Any], Fraction] = Fraction if isinstance(value, Fraction) else _decimal
    try:
        share = convert(value) if is_number else Fraction(-1)
    except ValueError:
        share = Fraction(-1)
    if not 0 <= share <= 1:
        raise EvalInputError(f"`{name}` must be a number from 0 to 1", field=name)
    return share


def _decimal(value: object) -> Fraction:
    return Fraction(str(value))


def as_path(value: object, name: str) -> Path:
    """A path that was given.

    Raises:
        EvalInputError: P6005 for what is none.
    """
    try:
        return Path(os.fspath(value))  # type: ignore[call-overload] # it says so itself
    except TypeError:
        raise EvalInputError(
            f"`{name}` must be a path, not {type(value).__name__}", field=name
        ) from None
