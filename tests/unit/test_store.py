"""The figures of earlier runs: kept, read while written, and made again when damaged."""

from __future__ import annotations

import sqlite3
import subprocess
import sys

import pytest
from sample_reports import case, check, facts, report, row, single, subject, wrong

from proctor.errors import FileError, UsageError
from proctor.records import RenderOptions
from proctor.rendering.report_json import render_json
from proctor.store import FILE, RunStore

FIRST, SECOND = "20261130t101500z-00000a", "20261201t101500z-00000b"


def two_rows(*, passed=1):
    rows = [[row(check() if place < passed else wrong())] for place in range(2)]
    return single([(case(f"c{place}"), each) for place, each in enumerate(rows)])


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path)


def database(root):
    return root / ".proctor" / FILE


def stored(root, run, made):
    """Put a report where runs keep theirs."""
    folder = root / ".proctor/runs" / run
    folder.mkdir(parents=True)
    (folder / "report.json").write_bytes(b"".join(render_json(made, RenderOptions())))


def test_runs_come_back_oldest_first_with_their_time_rate_and_cost(store):
    store.add(SECOND, two_rows(passed=2).head)
    store.add(FIRST, two_rows(passed=1).head)
    first, second = store.runs()
    assert (first.run, first.at, second.run) == (FIRST, "2026-11-30T10:15:00Z", SECOND)
    assert (first.suite, first.subject, first.verdict) == ("reviews", "brief@local/gemma", "failed")
    assert (first.passed, first.measured, first.planned, first.rate) == (1, 2, 2, 0.5)
    assert (second.rate, second.cost_usd, second.unknown_costs) == (1.0, 0.002, 0)
    assert store.notes == []


def test_a_cost_that_is_not_known_is_none_and_never_0(store):
    made = single([(case("one"), [row(check(), cost_usd=None)])])
    store.add(FIRST, made.head)
    (run,) = store.runs()
    assert (run.cost_usd, run.unknown_costs) == (None, 1)


def test_one_suite_can_be_asked_for_and_a_run_is_kept_once(store):
    cases = [(case("one"), [row(check())])]
    made = report((facts("a"), (subject(), cases)), (facts("b"), (subject(), cases)))
    store.add(FIRST, made.head)
    store.add(FIRST, made.head)
    assert [run.suite for run in store.runs()] == ["a", "b"]
    assert [run.suite for run in store.runs("b")] == ["b"]
    assert store.runs("'; DROP TABLE runs; --") == []
    assert len(store.runs()) == 2


def test_the_database_is_used_with_care(store, tmp_path):
    store.add(FIRST, two_rows().head)
    with store._opened() as opened:
        asked = ("trusted_schema", "cell_size_check", "mmap_size", "journal_mode")
        found = [opened.execute(f"PRAGMA {name}").fetchone()[0] for name in asked]
    assert found == [0, 1, 0, "wal"]
    assert database(tmp_path).parent.stat().st_mode & 0o077 == 0


def test_a_second_process_reads_while_one_writes(store, tmp_path):
    store.add(FIRST, two_rows().head)
    program = (
        "import sys; from pathlib import Path; from proctor.store import RunStore; "
        "print(len(RunStore(Path(sys.argv[1])).runs()))"
    )
    with store._opened() as writing:
        writing.execute("BEGIN IMMEDIATE")
        writing.execute("DELETE FROM runs")
        read = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path)], capture_output=True, check=True
        )
        writing.execute("COMMIT")
    assert read.stdout == b"1\n"
    assert store.runs() == []


def garbage(path):
    path.write_bytes(b"not a database, but long enough to be looked at" * 100)


def cut(path):
    """Lose the end of the file."""
    path.write_bytes(path.read_bytes()[:5000])


def other_schema(path):
    with sqlite3.connect(path) as opened:
        opened.execute("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END")
    opened.close()


def other_version(path):
    with sqlite3.connect(path) as opened:
        opened.execute("PRAGMA user_version = 2")
    opened.close()


def other_value(path):
    with sqlite3.connect(path) as opened:
        opened.execute("UPDATE runs SET passed = 'many'")
    opened.close()


def link(path):
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


@pytest.mark.parametrize("damage", [garbage, cut, other_schema, other_version, other_value, link])
def test_a_damaged_file_is_set_aside_named_and_made_again_from_stored_reports(tmp_path, damage):
    stored(tmp_path, FIRST, two_rows())
    (tmp_path / ".proctor").chmod(0o700)
    RunStore(tmp_path).add(SECOND, two_rows().head)
    damage(database(tmp_path))
    store = RunStore(tmp_path)
    assert [run.run for run in store.runs()] == [FIRST]
    (note,) = store.notes
    assert note.startswith(f"`.proctor/{FILE}` could not be used (")
    assert f"it is now `.proctor/{FILE}.damaged`" in note
    assert database(tmp_path).with_name(f"{FILE}.damaged").exists()
    garbage(database(tmp_path))
    assert "damaged-2`" in " ".join((again := RunStore(tmp_path)).runs() and again.notes)


def test_a_stored_report_that_contradicts_itself_is_left_out_and_named(tmp_path):
    for run in (FIRST, SECOND):
        stored(tmp_path, run, two_rows())
    forged = tmp_path / ".proctor/runs" / FIRST / "report.json"
    forged.write_bytes(forged.read_bytes().replace(b'"passed": 1', b'"passed": 2', 1))
    (tmp_path / ".proctor").chmod(0o700)
    store = RunStore(tmp_path)
    assert [run.run for run in store.runs()] == [SECOND]
    (note,) = store.notes
    assert note.startswith(f"the report of run `{FIRST}` is left out: `report.json` contradicts")


def test_a_database_that_somebody_else_keeps_locked_is_no_damage(store, tmp_path, monkeypatch):
    store.add(FIRST, two_rows().head)
    monkeypatch.setattr("proctor.store._WAIT_S", 0.0)
    with store._opened() as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UsageError, match=r"cannot be used: database is locked") as caught:
            store.add(SECOND, two_rows().head)
    assert caught.value.code == "P6004"
    assert [run.run for run in store.runs()] == [FIRST]
    assert store.notes == []


def test_a_folder_that_is_not_private_is_not_used(tmp_path):
    (tmp_path / ".proctor").mkdir(mode=0o755)
    with pytest.raises(FileError) as caught:
        RunStore(tmp_path)
    assert caught.value.code == "P6805"
