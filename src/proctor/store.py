"""What became of earlier runs: their figures in SQLite, in the project's `.proctor/`.

The database is an index. Everything in it comes from the reports in `.proctor/runs/`, and when it
is damaged it is set aside and made again from them.
"""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from proctor.errors import ProctorError, UsageError
from proctor.records import ReportHead
from proctor.records.history import RUN_ID, StoredRun
from proctor.report_files import open_report
from proctor.run_folders import FOLDER, private_folder
from proctor.strict_json import typed

FILE = "history.sqlite"
_VERSION = 1
_APPLICATION = 0x50524354
_WAIT_S = 10.0
_TABLE = (
    "CREATE TABLE runs (run TEXT NOT NULL, suite TEXT NOT NULL, subject TEXT NOT NULL, "
    "verdict TEXT NOT NULL, passed INTEGER NOT NULL, measured INTEGER NOT NULL, "
    "planned INTEGER NOT NULL, cost_usd REAL, unknown_costs INTEGER NOT NULL, "
    "PRIMARY KEY (run, suite, subject)) WITHOUT ROWID"
)

T = TypeVar("T")


class _DamagedError(Exception):
    """The database is not one of ours; the text says why."""


class RunStore:
    """The figures of a project's runs. Several processes may use it at the same time.

    Args:
        root: The project's folder.

    Raises:
        FileError: P6805 when `.proctor/` must not be used.
    """

    def __init__(self, root: Path) -> None:
        self.notes: list[str] = []
        """What had to be done to the database, a sentence each."""
        self._folder = private_folder(root)
        self._path = self._folder / FILE

    def add(self, run: str, head: ReportHead) -> None:
        """Keep the figures of a run.

        Raises:
            UsageError: P6004 when they cannot be written.
        """
        self._with(lambda database: _insert(database, run, head))

    def runs(self, suite: str | None = None) -> list[StoredRun]:
        """What is known, oldest first, of one suite or of all.

        Raises:
            UsageError: P6004 when it cannot be read.
        """
        return self._with(lambda database: _select(database, suite))

    def _with(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            try:
                with self._opened() as database:
                    return work(database)
            except (_DamagedError, sqlite3.DatabaseError) as problem:
                # What is busy, full or not readable is no damage.
                if isinstance(problem, sqlite3.OperationalError):
                    raise
                self._set_aside(str(problem))
            with self._opened() as database:
                return work(database)
        except (sqlite3.Error, OSError) as error:
            raise UsageError(
                f"`{FOLDER}/{FILE}` cannot be used: {str(error).lower()}",
                code="P6004",
                hint="make room for it and try again; it can be deleted, and is made again from "
                f"the reports in `{FOLDER}/runs/`",
            ) from error

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        is_new = not self._exists()
        with closing(sqlite3.connect(self._path, timeout=_WAIT_S, isolation_level=None)) as found:
            found.execute("PRAGMA trusted_schema = OFF")
            found.execute("PRAGMA cell_size_check = ON")
            found.execute("PRAGMA mmap_size = 0")
            if is_new or not _is_made(found):
                self._make(found)
            _require_sound(found)
            yield found

    def _exists(self) -> bool:
        try:
            mode = self._path.lstat().st_mode
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(mode):
            raise _DamagedError("it is not a regular file")
        return True

    def _make(self, database: sqlite3.Connection) -> None:
        """Make the table and fill it from the reports that are stored."""
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("BEGIN IMMEDIATE")
        if not _is_made(database):
            database.execute(_TABLE)
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute(f"PRAGMA user_version = {_VERSION}")
            for run, head in self._stored():
                _insert(database, run, head)
        database.execute("COMMIT")

    def _stored(self) -> Iterator[tuple[str, ReportHead]]:
        """The reports of earlier runs, each proven from its rows."""
        for path in sorted(self._folder.glob("runs/*/report.json")):
            run = path.parent.name
            if RUN_ID.fullmatch(run) is None or path.parent.is_symlink():
                continue
            try:
                with open_report(path) as report:
                    for _ in report.cases():
                        pass
                    yield run, report.head
            except ProctorError as problem:
                self.notes.append(f"the report of run `{run}` is left out: {problem.message}")

    def _set_aside(self, why: str) -> None:
        number, aside = 1, self._path.with_name(f"{FILE}.damaged")
        while aside.exists() or aside.is_symlink():
            number += 1
            aside = self._path.with_name(f"{FILE}.damaged-{number}")
        self._path.replace(aside)
        for more in ("-wal", "-shm"):
            self._path.with_name(FILE + more).unlink(missing_ok=True)
        self.notes.append(
            f"`{FOLDER}/{FILE}` could not be used ({why}); it is now `{FOLDER}/{aside.name}`, and "
            "was made again from the stored reports"
        )


def _is_made(database: sqlite3.Connection) -> bool:
    """Whether there is anything in the database yet."""
    (count,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return bool(count)


def _require_sound(database: sqlite3.Connection) -> None:
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    tables = [sql for (sql,) in database.execute("SELECT sql FROM sqlite_master") if sql]
    if (application, version, tables) != (_APPLICATION, _VERSION, [_TABLE]):
        raise _DamagedError("it has another schema")
    (said,) = database.execute("PRAGMA quick_check(1)").fetchone()
    if said != "ok":
        raise _DamagedError("it is damaged")


def _insert(database: sqlite3.Connection, run: str, head: ReportHead) -> None:
    rows = []
    for suite in head.suites:
        for one in suite.subjects:
            known = sum(usd for usd in (one.cost.answers, one.cost.judges) if usd is not None)
            rate = one.pass_rate
            # Nothing that was judged costs 0, and says nothing of answers of unknown cost.
            cost = known if known or not one.cost.unknown else None
            figures = (rate.passed, rate.measured, one.counts.rows, cost, one.cost.unknown)
            rows.append((run, suite.suite, one.id, str(head.verdict), *figures))
    database.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def _select(database: sqlite3.Connection, suite: str | None) -> list[StoredRun]:
    found = database.execute(
        "SELECT run, suite, subject, verdict, passed, measured, planned, cost_usd, unknown_costs "
        "FROM runs WHERE suite = coalesce(?, suite) ORDER BY run, suite, subject",
        (suite,),
    )
    names = StoredRun.__struct_fields__
    try:
        return [typed(dict(zip(names, row, strict=True)), StoredRun) for row in found]
    except msgspec.ValidationError:
        raise _DamagedError("it holds a row that no run wrote") from None
