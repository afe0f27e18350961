"""Keeping the figures of a run, which `proctor history` shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from proctor.clock import Clock
from proctor.errors import ProctorError
from proctor.records import RenderOptions
from proctor.rendering.report_json import render_json
from proctor.reporting import RunReport
from proctor.run_folders import RunFolder, new_run_folder
from proctor.safe_io import write_whole
from proctor.store import RunStore


def store_run(root: Path, run: RunFolder, report: RunReport, note: Callable[[str], None]) -> None:
    """Keep a report in the folder of its run, and its figures."""
    write_whole(run.folder / "report.json", render_json(report, RenderOptions()))
    store_figures(root, run, report, note)


def store_figures(
    root: Path, run: RunFolder, report: RunReport, note: Callable[[str], None]
) -> None:
    """Keep the figures of a run whose report has been written.

    What goes wrong with them is said and stops nothing: they can be made again.
    """
    store = RunStore(root)
    try:
        store.add(run.id, report.head)
    except ProctorError as problem:
        store.notes.append(problem.message)
    for said in store.notes:
        note(f"warning: {said}")


def store_replay(root: Path, report: RunReport, note: Callable[[str], None]) -> None:
    """Keep a report of a replay, which has no folder until now.

    Raises:
        FileError: P6805 when `.proctor/` must not be used.
        UsageError: P6004 when it cannot be written.
    """
    store_run(root, new_run_folder(root, Clock()), report, note)
