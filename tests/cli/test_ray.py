"""Runs whose calls are made by workers on a Ray cluster of this machine."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from live_support import LiveProject
from proctor.asking_rules import WorkerRules
from proctor.errors import ProviderError, UsageError
from worker_support import Following, run

TWO = WorkerRules(count=2)
CASES = 40


def asked(root) -> LiveProject:
    project = LiveProject(root)
    project.named_cases(*(f"case-{number:02}" for number in range(CASES)))
    project.script(
        {"case": "case-05", "text": '{"label": "no"}', "latency_ms": 5},
        project.says_yes(latency_ms=20),
    )
    return project


def processes() -> dict[int, tuple[int, str]]:
    """Every process: its parent, and how it calls itself."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                status = (folder / "stat").read_text("utf-8", "replace")
                line = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            parent = int(status.rpartition(")")[2].split()[1])
            found[int(folder.name)] = (parent, line.decode("utf-8", "replace"))
    return found


def below(pid: int) -> dict[int, str]:
    """The processes that a process and those below it have started."""
    there = processes()
    found: dict[int, str] = {}
    for one, (parent, line) in there.items():
        while parent in there:
            if parent == pid:
                found[one] = line
                break
            parent = there[parent][0]
    return found


def workers() -> list[int]:
    return sorted(pid for pid, line in below(os.getpid()).items() if "CallWorker" in line)


def listening(pids) -> set[str]:
    """The addresses that processes listen at, as the system writes them."""
    sockets = set()
    for pid in pids:
        for file in Path(f"/proc/{pid}/fd").iterdir():
            try:
                name = str(file.readlink())
            except OSError:
                continue
            if name.startswith("socket:["):
                sockets.add(name[8:-1])
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text("utf-8").splitlines()[1:]:
            parts = line.split()
            if parts[3] == "0A" and parts[9] in sockets:
                found.add(parts[1].partition(":")[0])
    return found


# Looked for and not imported: Ray reads the environment when it is.
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")


@pytest.mark.ray
@needs_ray
def test_the_report_is_the_same_with_a_worker_killed_on_the_way(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    local = asked(tmp_path / "local")
    expected = run(local)
    seen: dict[str, object] = {}
    killed: list[int] = []

    def kill_one(rows: int) -> None:
        if rows == 1:
            seen["listening"] = listening(below(os.getpid()))
            seen["workers"] = workers()
        if rows == 10:
            killed.append(workers()[0])
            os.kill(killed[0], signal.SIGKILL)

    following = Following(row_done=kill_one)
    project = asked(tmp_path / "ray")
    report = run(project, workers=TWO, following=following)
    assert report == expected
    assert project.files() == local.files()
    assert len(seen["workers"]) == 2
    # 127.0.0.1, as itself and as an address of version 6.
    assert seen["listening"] == {"0100007F", "0000000000000000FFFF00000100007F"}
    assert [note for note in following.notes if note.startswith("a worker was lost: ")]
    assert not set(workers()) & set(seen["workers"])
    assert not (tmp_path / ".ray").exists()


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_a_cluster_that_is_not_there(tmp_path, scheme):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        address = f"{scheme}127.0.0.1:{listening.getsockname()[1]}"
    with pytest.raises(ProviderError) as caught:
        run(asked(tmp_path), workers=WorkerRules(address=address))
    assert caught.value.code == "P6301"
    assert f"the Ray cluster `{address}` cannot be used" in caught.value.message


@pytest.mark.parametrize("address", ["auto", "ray://", "ray://host", "host:0", "host:99999", ":1"])
def test_what_is_no_address(tmp_path, address):
    with pytest.raises(UsageError) as caught:
        run(asked(tmp_path), workers=WorkerRules(address=address))
    assert caught.value.code == "P6002"


def test_without_ray(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ProviderError) as caught:
        run(asked(tmp_path), workers=TWO)
    assert caught.value.code == "P6301"
    assert caught.value.hint == "install it with `pip install 'proctor[ray]'`"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--engine", "ray"], "a replay makes none"),
        (["--cache", "record", "--address", "ray://h:1"], "`--engine` is not `ray`"),
    ],
)
def test_options_that_contradict_each_other(tmp_path, arguments, said):
    result = asked(tmp_path).proctor("run", *arguments)
    assert result.code == 2
    assert "P6002" in result.err
    assert said in result.err


@pytest.mark.parametrize("key", ["engine", "address"])
def test_a_project_file_does_not_say_where_calls_are_made(tmp_path, key):
    project = asked(tmp_path)
    project.write("proctor.toml", f'project = "tests"\n{key} = "ray"\n')
    result = project.proctor("run")
    assert result.code == 2
    assert "P6003" in result.err
    assert f"`{key}` is read from the command line only" in result.err


def test_a_run_that_asks_nobody_starts_no_cluster(tmp_path):
    project = asked(tmp_path)
    recorded = project.proctor("run", "--cache", "record", "--format", "json", "--exit-zero")
    assert json.loads(recorded.out)["suites"][0]["cache"]["recorded"] == CASES
    again = project.proctor("run", "--cache", "record", "--engine", "ray", "--exit-zero")
    assert again.code == 0
    assert "workers:" not in again.err
