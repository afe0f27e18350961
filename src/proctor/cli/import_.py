"""`proctor import`: what other programs have written, as files of a project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import click
from msgspec import Struct

from proctor.cli.output import Output, counted
from proctor.cli.project import from_start, paths_option, project_config
from proctor.config import Config, ProjectFile, ScanSettings, find_project
from proctor.datasets.files import ENDING
from proctor.errors import ExitCode, UsageError, raise_all
from proctor.importers.mapping import Mapping, parse_mapping
from proctor.importers.samples import Imported, ImportOptions, allowed_reasons, import_samples
from proctor.pipeline import REGEX_TIMEOUT_S, scan_patterns
from proctor.records import RuleName
from proctor.scanning.rules import scan_rules
from proctor.scanning.scanner import Scan, ScanOptions

EXAMPLES = """
\b
Examples:
  proctor import samples tickets.csv --out evals/datasets/tickets.jsonl
  proctor import samples logs/ --out evals/datasets/logs.jsonl \\
      --map inputs.message=/request/body --expected /label --sample 200
"""

_FILE = click.Path(path_type=Path)
_NAMES = {
    "email": "e-mail address",
    "card": "payment card number",
    "iban": "IBAN",
    "secret": "secret",
}
_SHOWN = 20
"""Fields that the summary names."""


class SampleOptions(Struct, frozen=True, kw_only=True):
    """What was given to `proctor import samples`, by the names of its options."""

    source: Path
    out: Path
    map: tuple[str, ...]
    id: str | None
    expected: str | None
    tag: tuple[str, ...]
    sample: int | None
    seed: int | None
    dedupe: bool
    allow: tuple[str, ...]
    reason: tuple[str, ...]
    cwd: Path | None


@click.group("import", epilog=EXAMPLES)
def command() -> None:
    """Make datasets of what other programs have written."""


@command.command("samples")
@click.argument("source", metavar="IN", type=_FILE)
@click.option(
    "--out", metavar="DATASET", type=_FILE, required=True, help="The new dataset, in JSONL."
)
@click.option(
    "--map",
    metavar="TARGET=FIELD",
    multiple=True,
    help="What becomes `inputs.NAME`, `expected`, `context` or `metadata.NAME`. FIELD is a JSON "
    "Pointer like /body/text, or names with dots between them. Default: every field is an input.",
)
@click.option("--id", metavar="FIELD", help="The id. Default: `id`, or `row-<n>`.")
@click.option("--expected", metavar="FIELD", help="What is expected.")
@click.option("--tag", metavar="FIELD", multiple=True, help="What becomes a tag, or several.")
@click.option("--sample", metavar="N", type=click.IntRange(1), help="Take only N of the records.")
@click.option("--seed", metavar="S", type=int, help="Which ones `--sample` takes. Default: 0.")
@click.option(
    "--dedupe",
    is_flag=True,
    help="Leave out what has the inputs, the context and the expected value of one before it.",
)
@click.option(
    "--allow",
    metavar="RULE",
    type=click.Choice(get_args(RuleName)),
    multiple=True,
    help="Let through what this rule of the safety scan finds.",
)
@click.option("--reason", metavar="TEXT", multiple=True, help="Why: one for all, or one for each.")
@paths_option
def samples(**given: Any) -> int:  # noqa: ANN401 - click hands over every option by name
    """Make a dataset of a file in JSONL, CSV, YAML or JSON, or of a folder of JSON files.

    E-mail addresses, card numbers, IBANs and keys with known beginnings become `[EMAIL-1]`,
    `[CARD-1]`, `[IBAN-1]` and `[SECRET-1]`, the same value always the same one. Names and postal
    addresses are not found. Exit code 2: something cannot be read, or the safety scan stops
    something; then nothing is written.
    """
    options = SampleOptions(**given)
    if options.out.suffix != ENDING:
        raise UsageError(
            f"`--out {options.out}` does not end in `{ENDING}`",
            code="P6002",
            hint="datasets are written as JSONL",
        )
    if options.seed is not None and options.sample is None:
        raise UsageError(
            "`--seed` says which records `--sample` takes",
            code="P6002",
            hint="add `--sample N`, or leave it out",
        )
    mapping = parse_mapping(options.map, id_=options.id, expected=options.expected, tag=options.tag)
    reasons = allowed_reasons(options.allow, options.reason)
    config = _config(options.cwd)
    imported = import_samples(
        ImportOptions(
            path=from_start(options.cwd, options.source),
            shown=str(options.source),
            out=from_start(options.cwd, options.out),
            mapping=mapping,
            sample=options.sample,
            seed=options.seed or 0,
            dedupe=options.dedupe,
        ),
        _scan(config, str(options.out), mapping, reasons),
    )
    _show(imported, options, Output())
    _show_next_steps(imported, options, config, Output())
    return ExitCode.OK


def _config(cwd: Path | None) -> Config | None:
    """The project's configuration, where there is a project."""
    if find_project(cwd or Path.cwd(), is_root=cwd is not None) is None:
        return None
    return project_config(cwd, {})


def _scan(config: Config | None, path: str, mapping: Mapping, reasons: dict[str, str]) -> Scan:
    """The scan that the project makes of its datasets, or the one without any settings."""
    settings = ScanSettings() if config is None else config.values.scan
    patterns, problems = ([], []) if config is None else scan_patterns(config)
    raise_all(problems)
    names = {one.path[1] for one in mapping.targets if one.path[0] == "inputs"}
    return Scan(
        scan_rules(patterns, timeout_s=REGEX_TIMEOUT_S),
        ScanOptions(
            path=path,
            levels=settings.levels(),
            reasons=reasons,
            inputs=frozenset(names),
            is_deep=settings.depth == "deep",
        ),
    )


def _show(imported: Imported, options: SampleOptions, output: Output) -> None:
    """Print what was done: counts, and no value."""
    left_out = f", {counted(imported.duplicates, 'duplicate')} left out" if options.dedupe else ""
    output.line(
        f"wrote {options.out}: {counted(imported.cases, 'case')} of "
        f"{counted(imported.records, 'record')}{left_out}"
    )
    for field, counts in list(imported.replaced.items())[:_SHOWN]:
        found = ", ".join(_found(count, kind) for kind, count in counts.items())
        output.line(f"replaced in {field}: {found}")
    more = len(imported.replaced) - _SHOWN
    if more > 0:
        output.line(f"and in {counted(more, 'more field')}")
    for warning in imported.warnings:
        output.note(f"{warning.where}: warning: {warning.code} {warning.message}")


def _found(count: int, kind: str) -> str:
    name = _NAMES[kind]
    return f"{count} {name}{'' if count == 1 else 'es' if name.endswith('s') else 's'}"


def _show_next_steps(
    imported: Imported, options: SampleOptions, config: Config | None, output: Output
) -> None:
    """What a suite needs to take the dataset as it is."""
    limit = (ProjectFile(project="none") if config is None else config.values).max_cases
    if imported.cases > limit:
        output.note(
            f"a run reads {limit} cases: raise `max_cases` to {imported.cases}, or import fewer "
            f"with `--sample {limit}`"
        )
    if options.allow:
        output.note(f"write into the suite's `dataset`: {_allow_line(options.allow)}")


def _allow_line(rules: Sequence[str]) -> str:
    listed = ", ".join(f"{{rule: {rule}, reason: ...}}" for rule in dict.fromkeys(rules))
    return f"allow: [{listed}]"
