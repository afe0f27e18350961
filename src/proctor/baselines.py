"""Named baselines: reports of the project, committed, that later runs are compared with."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from proctor.config import Config
from proctor.errors import ReportError, UsageError
from proctor.records import Outcome, Verdict
from proctor.registry import did_you_mean
from proctor.report_files import LoadedReport, load_digested
from proctor.report_protocols import Cases
from proctor.reporting import CaseSpool, RunReport, SpoolStore, without_content
from proctor.safe_io import reason_of

ENDING = ".json"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_SHOWN_CASES = 5
_MOST_ERRORED = 20
"""One row in so many may be errored in a baseline without a warning."""


def is_name(text: str) -> bool:
    """Whether a text names a baseline, and not the file of a report."""
    return _NAME.fullmatch(text) is not None and not text.endswith(ENDING)


def require_name(name: str) -> None:
    """Refuse what cannot be the name of a baseline.

    Raises:
        UsageError: P6002.
    """
    if not is_name(name):
        raise UsageError(
            f"`{name[:80]}` is not a name for a baseline",
            code="P6002",
            hint="use up to 64 lower-case letters, digits, dots, hyphens and underscores; what "
            f"ends in `{ENDING}` is a file",
        )


class Baselines:
    """The baselines of a project, `<evals>/baselines/<name>.json`.

    Args:
        config: The project.
    """

    def __init__(self, config: Config) -> None:
        self._root = config.root
        self.folder = f"{config.values.evals}/baselines"
        """Relative to the project."""

    def path(self, name: str) -> str:
        """The file of a baseline, relative to the project."""
        return f"{self.folder}/{name}{ENDING}"

    def names(self) -> list[str]:
        """Every baseline there is, sorted.

        Raises:
            ReportError: P6901 when their folder cannot be listed.
        """
        try:
            files = [entry.name for entry in os.scandir(self._root / self.folder)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ReportError(
                f"the baselines in `{self.folder}` cannot be listed: {reason_of(error)}",
                code="P6901",
                hint="check that it is a folder that can be read",
                where=self.folder,
            ) from error
        stems = (file.removesuffix(ENDING) for file in files if file.endswith(ENDING))
        return sorted(stem for stem in stems if is_name(stem))

    def load(self, name: str) -> LoadedReport:
        """A baseline, proven from its rows; no link below the project is followed.

        Raises:
            UsageError: P6002 when it is no name.
            ReportError: P6906 when there is none of this name, P6901 when it cannot be used.
            FileError: P6805 for a link, folder or device.
        """
        require_name(name)
        if not os.path.lexists(self._root / self.path(name)):
            known = self.names()
            raise ReportError(
                f"there is no baseline `{name}`",
                code="P6906",
                hint=did_you_mean(name, known)
                or f"write it with `proctor baseline promote REPORT --name {name}`",
                where=self.path(name),
            )
        return load_digested(Path(PurePosixPath(self.path(name))), root=self._root)


def bare_report(report: RunReport) -> RunReport:
    """The report without answers, inputs, expected values, evidence and reasons."""
    store = SpoolStore()
    spools: list[list[Cases]] = []
    for place, suite in enumerate(report.head.suites):
        spools.append([])
        for number in range(len(suite.subjects)):
            spool = CaseSpool(store)
            for case in report.cases(place, number):
                spool.add(without_content(case))
            spools[-1].append(spool)
    return RunReport(report.head, spools)


def doubts_about(report: RunReport) -> Iterator[str]:
    """Why a report makes a bad baseline, a sentence each."""
    head = report.head
    if head.partial or head.shards is not None or head.verdict is Verdict.INTERRUPTED:
        yield "the report is not of a whole run; what it lacks is compared with nothing"
    counts = [subject.counts for suite in head.suites for subject in suite.subjects]
    rows, errored = sum(one.rows for one in counts), sum(one.errored for one in counts)
    if errored * _MOST_ERRORED > rows:
        yield f"{errored} of {rows} rows are errored; what was not measured cannot regress"
    faulty = [
        f"`{case.id}`"
        for place, suite in enumerate(head.suites)
        for number in range(len(suite.subjects))
        for case in report.cases(place, number).having(Outcome.ERRORED)
        if all(row.outcome is Outcome.ERRORED for row in case.rows)
    ]
    if faulty:
        more = len(faulty) - _SHOWN_CASES
        shown = ", ".join(faulty[:_SHOWN_CASES]) + (f" and {more} more" if more > 0 else "")
        yield f"faults are all that is known of {shown}"
