"""`proctor.run` and `proctor.run_async`: suites from Python, by the same path as `proctor run`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.cassette_files import chosen_folder
from proctor.clock import Clock
from proctor.config import load_config
from proctor.errors import ProctorError
from proctor.evaluation import select
from proctor.pipeline import load_exam
from proctor.protocols import Progress
from proctor.python_api.options import PathLike, RunRequest, read_run
from proctor.python_api.reports import Report
from proctor.python_api.wording import explained
from proctor.records import Outcome
from proctor.report_files import cases_not_passed
from proctor.selecting import Selection
from proctor.suite_runs import recorder_of, run_selected

if TYPE_CHECKING:
    from typing import Unpack

    from proctor.python_api.options import RunKeywords
    from proctor.running.engine import Stop


def run(*suites: PathLike, **options: Unpack[RunKeywords]) -> Report:
    """Run suites and return the report; nothing is printed, and the verdict raises nothing.

    Works in a notebook and within a running event loop, which waits meanwhile. A live run has a
    thread of its own: Ctrl-C lets its calls in flight finish for 10 seconds, stores what came, and
    is raised as `KeyboardInterrupt` then.

    Args:
        suites: Names of suites, or paths of their files relative to the root; all when none is
            given.
        options: What `proctor run` takes, by the same names. None stands for the default.

            - `root`: the project's folder; the nearest one upward from where the program is.
              Relative paths start there, or where the program is.
            - `cache`: `"replay"`, the default, asks nobody; `"record"`, `"refresh"`, `"off"`.
            - `cassettes`: another folder of recordings.
            - `case` (globs of ids), `tag`, `model`, `prompt`, `tier`, `filter` and `exclude` (parts
              of the suite's name or the case's id): a text or a sequence of them. `first`: the
              first cases of each suite. `failed_in`: a report, or the path of one.
            - `repeats`, `max_cases`, `label`.
            - `max_cost` in USD, `allow_local`, `allow_local_ports`, `allow_hosts`, `allow_keys`,
              `allow_code`: what a live run may do.
            - `concurrency`, `timeout` and `max_wait` in seconds.
            - `answers`: whether the report holds answers, inputs, expected values and evidence.
            - `store`: whether a replay is kept for `proctor history`, as live runs always are.

    Raises:
        ProctorError: What `proctor run` would exit with 2 for: no such suite, a suite or dataset
            that is not right, a limit that does not cover the plan. Several problems are one
            exception, whose `problems()` gives each.
        TypeError: For an argument there is none of.
    """
    with _explaining():
        asked = read_run(suites, options)
        if not asked.options.rules().is_live and not _is_in_event_loop():
            return _perform(asked, None)
        from proctor.python_api.threads import wait_for

        return wait_for(lambda stop: _perform(asked, stop))


async def run_async(*suites: PathLike, **options: Unpack[RunKeywords]) -> Report:
    """Run suites as `proctor.run` does, in a thread of their own, while the event loop goes on.

    Cancelling it does what Ctrl-C does to `proctor run`: calls in flight have 10 seconds, what came
    is stored, and then it is cancelled. Cancelled twice, it is at once, and the thread ends by
    itself.

    Args:
        suites: As for `proctor.run`.
        options: As for `proctor.run`.

    Raises:
        ProctorError: As `proctor.run`.
        TypeError: For an argument there is none of.
    """
    with _explaining():
        asked = read_run(suites, options)
        from proctor.python_api.threads import wait_without_blocking

        return await wait_without_blocking(lambda stop: _perform(asked, stop))


@contextmanager
def _explaining() -> Iterator[None]:
    """Problems leave the package with their codes, places and hints."""
    try:
        yield
    except ProctorError as problem:
        explained(problem)
        raise


def _is_in_event_loop() -> bool:
    # Whoever has a loop has imported what makes one.
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _perform(asked: RunRequest, stop: Stop | None) -> Report:
    options, notes = asked.options, []
    config = load_config(
        asked.start,
        is_root=asked.root is not None,
        flags=options.settings(),
        environ=os.environ,
    )
    selection = _selection(asked)
    exam = load_exam(
        config,
        asked.suites,
        repeats=options.repeats,
        allow_code=options.allow_code,
        label=options.label,
    )
    with closing(exam):
        if exam.served is not None:
            notes.append(f"prompts under test as {exam.served}")
        selected = select(exam, selection)
        rules = options.rules()
        report = run_selected(
            rules,
            selected,
            folder=chosen_folder(config, asked.cassettes, start=asked.start),
            config=config,
            watch=QuietWatch(stop, notes),
            answers=options.answers,
            recorder=recorder_of(options.repeats, options.label),
        )
    if options.store and not rules.is_live:
        from proctor.stored_runs import store_replay

        store_replay(config.root, report, notes.append)
    return Report(report, notes)


def _selection(asked: RunRequest) -> Selection:
    options = asked.options
    failed = asked.failed_in
    if isinstance(failed, Path):
        failed = cases_not_passed(failed)
    return Selection(
        cases=options.case,
        tags=options.tag,
        models=options.model,
        prompts=options.prompt,
        tiers=options.tier,
        include=options.filter,
        exclude=options.exclude,
        first=options.first,
        failed=failed,
    )


class QuietWatch:
    """Prints nothing and keeps the lines that are for the reader.

    Args:
        stop: What ends the run early, None when nobody can.
        notes: Where the lines go.
    """

    def __init__(self, stop: Stop | None, notes: list[str]) -> None:
        self.stop = stop
        self._notes = notes

    def note(self, text: str) -> None:
        """Keep a line."""
        from proctor.scrubbing import SECRETS

        self._notes.append(SECRETS.scrub(text))

    @contextmanager
    def asking(self, stop: Stop, rows: int, clock: Clock) -> Iterator[Progress]:
        """Show nothing while it asks."""
        yield _Unseen(self)


class _Unseen:
    """Progress that nobody watches."""

    def __init__(self, watch: QuietWatch) -> None:
        self._watch = watch

    def row_done(self, outcome: Outcome) -> None:
        """Nothing is shown."""

    def money(self, spent_usd: float, remaining_usd: float | None) -> None:
        """Nothing is shown."""

    def waiting(self, provider: str, wait_s: float, attempt: int, reason: str) -> None:
        """Nothing is shown."""

    def note(self, text: str) -> None:
        """Keep a line."""
        self._watch.note(text)
