"""`proctor cassette`: look at recordings, check, prune and recover them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import click

from proctor.call_plans import subject_keys
from proctor.cassette_files import CassetteFolder, rewrite_cassette
from proctor.cassette_views import changes, summarise
from proctor.cassettes import Cassette, open_cassette
from proctor.cli.output import Output, counted
from proctor.cli.project import cassette_folder, cwd_option, from_start, project_config
from proctor.errors import CassetteError, ExitCode, ProctorError, raise_all
from proctor.evaluation import SelectedSuite, select
from proctor.pipeline import load_exam
from proctor.records import CallKind
from proctor.recovering import recover_alone
from proctor.run_folders import SuiteLock
from proctor.safe_io import reason_of
from proctor.selecting import Selection

EXAMPLES = """
\b
Examples:
  proctor cassette list               what each suite has recorded
  proctor cassette prune refund-reply what no row asks for any more
  proctor cassette diff OLD NEW       two cassettes, answer by answer
"""


class _Work(NamedTuple):
    """What a command works on: the cassettes, and each suite with its whole plan."""

    folder: CassetteFolder
    suites: list[SelectedSuite]


@click.group("cassette", epilog=EXAMPLES)
def command() -> None:
    """Look at recordings, check, prune and recover them."""


@command.command("list")
@click.argument("suites", nargs=-1, metavar="[SUITE]...")
@cwd_option
def list_(suites: tuple[str, ...], cwd: Path | None) -> int:
    """Show per suite the recordings, models, hosts, dates, and how many are unused."""
    output = Output()
    with _work(cwd, suites) as work:
        for one in work.suites:
            with _opened(work.folder, one.name) as cassette:
                found = summarise(cassette, _keys(one, cassette))
            dates = f"{found.first} to {found.last}" if found.first != found.last else found.first
            about = f", {', '.join(found.models)} from {', '.join(found.hosts)}, {dates}"
            output.line(
                f"{one.name}  {found.recordings} recordings, {found.unused} unused"
                f"{about if found.recordings else ''}"
            )
    return ExitCode.OK


@command.command("verify")
@cwd_option
@click.option("--cassettes", metavar="DIR", type=click.Path(path_type=Path), help="Another folder.")
def verify(cwd: Path | None, cassettes: Path | None) -> int:
    """Check every line of every cassette; damage is exit code 2."""
    output = Output()
    folder = cassette_folder(project_config(cwd, {}), cwd, cassettes)
    names = _cassette_names(folder)
    problems: list[ProctorError] = []
    total = 0
    for name in names:
        cassette, found = folder.open(name)
        cassette.close()
        total += len(cassette)
        problems += found
    raise_all(problems)
    output.line(f"ok: {counted(len(names), 'cassette')}, {counted(total, 'recording')}")
    return ExitCode.OK


@command.command("prune")
@click.argument("suites", nargs=-1, metavar="[SUITE]...")
@cwd_option
@click.option("--yes", is_flag=True, help="Drop them; without it they are only shown.")
def prune(suites: tuple[str, ...], cwd: Path | None, yes: bool) -> int:
    """Drop recordings that no row of a whole plan asks for, after showing them."""
    output = Output()
    dropped = 0
    with _work(cwd, suites) as work:
        for one in work.suites:
            lock = SuiteLock(work.folder.project, one.name) if yes else None
            try:
                unused = _show_unused(work.folder, one, output)
                dropped += len(unused)
                if unused and lock is not None:
                    rewrite_cassette(work.folder, one.name, new={}, drop=unused)
            finally:
                if lock is not None:
                    lock.release()
    done = "dropped" if yes else "unused; `--yes` drops them"
    output.line(f"{dropped} recordings {done}")
    return ExitCode.OK


@command.command("diff")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option("--cwd", metavar="DIR", type=click.Path(path_type=Path), help="Where paths start.")
def diff(old: Path, new: Path, cwd: Path | None) -> int:
    """Compare two cassettes answer by answer, JSON answers field by field."""
    output = Output()
    counts = {"changed": 0, "added": 0, "removed": 0}
    with _file(from_start(cwd, old)) as before, _file(from_start(cwd, new)) as after:
        for change in changes(before, after):
            counts[change.what] += 1
            label = change.label
            scenario = f" {label.scenario}" if label.scenario else ""
            assertion = f" {label.assertion}" if label.assertion else ""
            output.line(
                f"{change.what}  {label.case}{scenario}{assertion}  "
                f"({label.model}, {label.call} take {label.take})"
            )
            for detail in change.details:
                output.line(f"    {detail}")
    output.line(", ".join(f"{count} {what}" for what, count in counts.items()))
    return ExitCode.OK


@command.command("recover")
@click.argument("suites", nargs=-1, metavar="[SUITE]...")
@cwd_option
def recover_(suites: tuple[str, ...], cwd: Path | None) -> int:
    """Bring what killed runs received into the cassettes."""
    output = Output()
    with _work(cwd, suites) as work:
        for one in work.suites:
            found = recover_alone(work.folder, one.suite, one.plan)
            output.line(f"{one.name}  {found.taken} recordings recovered")
            for log, count in found.held_back.items():
                output.line(
                    f"    {count} held back in {log.relative_to(work.folder.project)}: "
                    "the present plan does not ask for them"
                )
    return ExitCode.OK


def _cassette_names(folder: CassetteFolder) -> list[str]:
    place = folder.root / folder.prefix
    try:
        names = [entry.name for entry in os.scandir(place)]
    except FileNotFoundError:
        names = []
    except OSError as error:
        raise CassetteError(
            f"the cassettes in `{folder.shown}` cannot be listed: {reason_of(error)}",
            code="P6403",
            hint="check that it is a folder that can be read",
            where=folder.shown,
        ) from error
    return sorted(name.removesuffix(".jsonl") for name in names if name.endswith(".jsonl"))


@contextmanager
def _work(cwd: Path | None, suites: Sequence[str]) -> Iterator[_Work]:
    config = project_config(cwd, {})
    # Nothing is judged, so no code runs whatever is allowed.
    with closing(load_exam(config, suites, allow_code=True)) as exam:
        from proctor.judge_checks import with_reversed

        # What `proctor judge check --order-check` asks is of use as well.
        selected = [with_reversed(one) for one in select(exam, Selection())]
        yield _Work(cassette_folder(config, cwd, None), selected)


@contextmanager
def _opened(folder: CassetteFolder, suite: str) -> Iterator[Cassette]:
    cassette, problems = folder.open(suite)
    with closing(cassette):
        raise_all(problems)
        yield cassette


@contextmanager
def _file(path: Path) -> Iterator[Cassette]:
    if not path.exists():
        raise CassetteError(f"there is no cassette `{path}`", code="P6403", hint="name a file")
    cassette, problems = open_cassette(path.parent, path.name, str(path))
    with closing(cassette):
        raise_all(problems)
        yield cassette


def _keys(selected: SelectedSuite, cassette: Cassette) -> set[str]:
    keys: set[str] = set()
    for subject in selected.subjects:
        keys |= subject_keys(subject, selected.suite.dataset, selected.plan, cassette.find)
    # Which pairs are compared only the reports know that are given to `proctor pairwise`.
    keys |= {one.key for one, _ in cassette.recordings() if one.call is CallKind.PAIRWISE}
    return keys


def _show_unused(folder: CassetteFolder, selected: SelectedSuite, output: Output) -> set[str]:
    unused: set[str] = set()
    with _opened(folder, selected.name) as cassette:
        wanted = _keys(selected, cassette)
        for recording, _ in cassette.recordings():
            if recording.key not in wanted:
                unused.add(recording.key)
                output.line(
                    f"{selected.name}  {recording.case or '-'}  "
                    f"({recording.model}, {recording.call.value} take {recording.take})"
                )
    return unused
