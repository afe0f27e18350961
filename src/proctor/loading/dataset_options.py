"""`dataset` of a suite: the file, how it is read, and what the safety scan lets through."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from proctor.documents import StructReader
from proctor.errors import ProctorError
from proctor.loading.datasets import CSV
from proctor.records import (
    AllowedPii,
    AllowedRule,
    GroupSpec,
    JsonObject,
    LoadedAssertion,
    Severity,
)
from proctor.safe_io import inside

_SAY_NOTHING = ("cost", "latency", "llm-judge")
"""Kinds whose checks are not about what an answer says, or not the same every time."""

_NEVER_DELIMIT = '"\r\n\0'


class DatasetFile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`dataset` as a mapping.

    Args:
        path: The cases: a path relative to the suite's folder.
        source: A plugin that yields the cases, instead of `path`; it needs `--allow-code`.
        options: What that plugin is told.
        delimiter: What stands between the cells of a CSV file; by default the one of comma,
            semicolon and tab that its header has most of.
        allow: Rules of the safety scan that are let through.
        allow_pii: Lets personal data through.
    """

    path: str = ""
    source: str | None = None
    options: JsonObject = {}
    delimiter: str | None = None
    allow: list[AllowedRule] = []
    allow_pii: AllowedPii | None = None

    @property
    def shown(self) -> str:
        """What messages and reports call it."""
        return self.path if self.source is None else f"source:{self.source}"


def read_dataset_options(
    written: str | DatasetFile, assertions: Sequence[LoadedAssertion], reader: StructReader
) -> DatasetFile:
    """The dataset of a suite, its path relative to the root; what is wrong is noted in the reader.

    Args:
        written: What stands under `dataset`.
        assertions: The suite's.
        reader: Of the suite's document.

    Returns:
        The options; the path is empty when it cannot be used.
    """
    options = DatasetFile(path=written) if isinstance(written, str) else written
    _check_delimiter(options, reader)
    _check_reasons(options, reader)
    if options.allow and not any(_reads_answers(one) for one in assertions):
        reader.problem(
            "`allow` needs an assertion that tells whether the answer fell for it",
            ("dataset", "allow"),
            hint="add one of `severity: fail` that is not `llm-judge`, `latency` or `cost`",
            code="P6213",
        )
    where = reader.document.where(("dataset",))
    if not _has_one_origin(written, options, reader):
        return replace(options, path="", source=None)
    if options.source is not None:
        return options
    try:
        base = reader.document.name.rpartition("/")[0]
        return replace(options, path=inside(options.path, base=base, where=where))
    except ProctorError as problem:
        reader.problems.append(problem)
        return replace(options, path="")


def _has_one_origin(written: str | DatasetFile, options: DatasetFile, reader: StructReader) -> bool:
    before = len(reader.problems)
    if not isinstance(written, str) and (not options.path) == (options.source is None):
        reader.problem(
            "`dataset` needs exactly one of `path` and `source`",
            ("dataset",),
            hint="`path` names a file, `source` a plugin that yields cases",
        )
    elif options.options and options.source is None:
        reader.problem("`options` goes with `source` only", ("dataset", "options"))
    return len(reader.problems) == before


def _check_delimiter(options: DatasetFile, reader: StructReader) -> None:
    if options.delimiter is None:
        return
    place = ("dataset", "delimiter")
    if not options.path.endswith(CSV):
        reader.problem(f"`delimiter` goes with a dataset in `{CSV}` only", place)
    elif len(options.delimiter) != 1 or options.delimiter in _NEVER_DELIMIT:
        message = "`delimiter` must be one character, and no quote or line end"
        reader.problem(message, place, hint='write `";"`, or `"\\t"` for a tab')


def _check_reasons(options: DatasetFile, reader: StructReader) -> None:
    seen: set[str] = set()
    for index, allowed in enumerate(options.allow):
        place = ("dataset", "allow", index)
        if not allowed.reason.strip():
            reader.problem(f"`reason` must say why {allowed.rule} is let through", place)
        if allowed.rule in seen:
            reader.problem(f"the rule `{allowed.rule}` is let through twice", place)
        seen.add(allowed.rule)
    if options.allow_pii is not None and not options.allow_pii.reason.strip():
        message = "`reason` must say why personal data is let through"
        reader.problem(message, ("dataset", "allowPii"))


def _reads_answers(assertion: LoadedAssertion) -> bool:
    """Whether an assertion fails rows for what their answer is, in the same way every time."""
    spec = assertion.spec
    return spec.severity is Severity.FAIL and _is_about_answers(assertion)


def _is_about_answers(assertion: LoadedAssertion) -> bool:
    """The same, whatever its severity; of a group, when it is so whichever part decides."""
    spec = assertion.spec
    if isinstance(spec, GroupSpec):
        return all(_is_about_answers(part) for part in spec.of)
    is_of_tokens = spec.kind == "length" and getattr(spec, "unit", None) == "tokens"
    return spec.kind not in _SAY_NOTHING and not is_of_tokens
