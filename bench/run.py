"""Measures whole runs of Proctor beside bare scripts and, where installed, other tools.

Usage: python bench/run.py [--rounds N] [--timeout S] [GROUP ...]

Every round runs each contestant of every group once, so that the load of the machine falls on
all alike. Results are printed as Markdown tables and kept under bench/out. A figure over its bar
is shown and fails nothing; a wrong verdict or a failed run ends with exit code 1.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from contestants import (
    BENCH,
    CANDIDATES,
    COMPARE,
    COMPARED,
    DATA,
    HOSTILE,
    HTTP,
    LIVE,
    SIZES,
    STARTUP,
    Contestant,
    Group,
    candidates,
    compare,
    compare_folder,
    data_file,
    hostile,
    hostile_folder,
    http,
    live,
    promptfoo_folder,
    replay,
    startup,
)
from measure import Usage, isolation, measure
from tables import render_group

OUT = BENCH / "out"
INHERITED = ("HOME", "LANG", "PATH", "TMPDIR")


class Session:
    """One invocation: the rounds, what they cost, and what went wrong.

    Args:
        groups: What to run.
        timeout_s: Seconds a single run may take.
    """

    def __init__(self, groups: list[Group], *, timeout_s: float) -> None:
        self._groups = groups
        self._timeout_s = timeout_s
        self._prefix = isolation()
        self._env = {name: os.environ[name] for name in INHERITED if name in os.environ}
        self._usages: dict[str, dict[str, list[Usage]]] = {
            group.name: defaultdict(list) for group in groups
        }
        self.faults: dict[str, dict[str, str]] = {group.name: {} for group in groups}

    def run_round(self, number: int) -> None:
        """Run every contestant that is still in, once."""
        for group in self._groups:
            with serving(group.server):
                for contestant in group.contestants:
                    out = contestant.name in self.faults[group.name]
                    if not out and (number == 1 or not contestant.once):
                        self._run(contestant, group, number)

    def _run(self, contestant: Contestant, group: Group, number: int) -> None:
        work = OUT / "work"
        for leftover in (work, contestant.report, *contestant.leftovers):
            if leftover is not None:
                remove(leftover)
        work.mkdir()
        printed = OUT / "stdout.log" if contestant.reader == "printed" else Path(os.devnull)
        messages = OUT / "stderr.log"
        usage = measure(
            # In a network of its own it would not reach the server.
            [*(() if group.server else self._prefix), *contestant.command],
            env={**self._env, **contestant.env},
            cwd=work,
            stdout=printed,
            stderr=messages,
            timeout_s=self._timeout_s,
        )
        fault = self._fault(contestant, group, usage, printed=printed)
        if fault is None:
            self._usages[group.name][contestant.name].append(usage)
        else:
            self.faults[group.name][contestant.name] = fault
        record = {"round": number, "group": group.name, "run": contestant.name, "fault": fault}
        with (OUT / "results.jsonl").open("a", encoding="utf-8") as results:
            results.write(json.dumps(record | asdict(usage)) + "\n")
        print(
            f"{number} {group.name:>8} {contestant.name:24} {usage.wall_s:8.3f} s"
            f" {usage.peak_mb:7.0f} MB {fault or ''}",
            file=sys.stderr,
            flush=True,
        )
        if fault is not None and not usage.timed_out:
            tail = messages.read_text(encoding="utf-8", errors="replace")[-2000:]
            print(tail, file=sys.stderr, flush=True)

    def _fault(
        self, contestant: Contestant, group: Group, usage: Usage, *, printed: Path
    ) -> str | None:
        if usage.timed_out:
            return f"over {self._timeout_s:g} s"
        if usage.exit_code != contestant.exit_code:
            return f"exit code {usage.exit_code}"
        if contestant.reader is None:
            return None
        source = printed if contestant.reader == "printed" else contestant.report
        reading = subprocess.run(
            [sys.executable, str(BENCH / "verdicts.py"), contestant.reader, str(source)],
            capture_output=True,
            text=True,
            check=False,
        )
        if reading.returncode != 0:
            return "no verdicts"
        if reading.stdout.split() != [str(group.cases), str(group.passed)]:
            return f"wrong verdicts: {reading.stdout.strip()}"
        return None

    def render(self) -> str:
        """All tables."""
        network = "loopback only" if self._prefix else "not cut off"
        head = (
            f"Python {platform.python_version()}, {os.cpu_count()} CPUs, network {network}; "
            f"medians (min-max) of n whole processes.\n"
        )
        tables = [
            render_group(group, self._usages[group.name], self.faults[group.name])
            for group in self._groups
        ]
        return "\n".join([head, *tables])


@contextmanager
def serving(command: tuple[str, ...]) -> Iterator[None]:
    """Have a server run, once it says that it listens; none without a command."""
    if not command:
        yield
        return
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None  # noqa: S101 - for the type checker
            server.stdout.readline()
            yield
        finally:
            server.kill()


def remove(path: Path) -> None:
    """Remove a file or a folder that may be there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def make_data(names: list[str], *, with_promptfoo: bool) -> None:
    """Write the data of every group anew, in processes of their own."""
    if not names:
        return
    if HOSTILE in names:
        write = [sys.executable, str(BENCH / "hostile.py"), str(hostile_folder())]
        subprocess.run(write, check=True)
    if COMPARE in names:
        write = [sys.executable, str(BENCH / "reports.py"), str(compare_folder()), str(COMPARED)]
        subprocess.run(write, check=True)
    names = [name for name in names if name not in (HOSTILE, COMPARE)]
    generate = [sys.executable, str(BENCH / "generate.py"), str(DATA), *names]
    subprocess.run(generate, check=True)
    if with_promptfoo:
        script = str(BENCH / "peers" / "promptfoo_project.py")
        env = os.environ | {"PYTHONPATH": str(BENCH)}
        for size in (int(name) for name in names if name not in (LIVE, HTTP)):
            command = [sys.executable, script, str(data_file(size)), str(promptfoo_folder(size))]
            subprocess.run(command, check=True, env=env)


def group(name: str, peers: Path | None) -> Group:
    """The group of a name on the command line."""
    if name == STARTUP:
        return startup(peers, OUT)
    if name == HOSTILE:
        return hostile()
    if name == CANDIDATES:
        return candidates()
    if name == COMPARE:
        return compare()
    if name in (LIVE, HTTP):
        return live(OUT) if name == LIVE else http(OUT)
    return replay(int(name), peers, OUT)


def main() -> int:
    """Measure what the command line asks for."""
    names = [STARTUP, *map(str, SIZES), LIVE, HTTP, HOSTILE, CANDIDATES, COMPARE]
    parser = argparse.ArgumentParser(description="Measure whole runs of Proctor.")
    parser.add_argument("--rounds", type=int, default=3, help="how often each runs (3)")
    parser.add_argument("--timeout", type=float, default=300, help="seconds a run may take (300)")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(names)} (all)")
    options = parser.parse_args()
    wanted = options.groups or names
    if unknown := sorted(set(wanted) - set(names)):
        parser.error(f"unknown group: {', '.join(unknown)}; there are {', '.join(names)}")

    peers = Path(os.environ["PEERS"]).resolve() if os.environ.get("PEERS") else None
    groups = [group(name, peers) for name in wanted]
    remove(OUT)
    OUT.mkdir(parents=True)
    data = [name for name in wanted if name not in (STARTUP, CANDIDATES)]
    make_data(data, with_promptfoo=peers is not None)

    session = Session(groups, timeout_s=options.timeout)
    for number in range(1, options.rounds + 1):
        session.run_round(number)
    tables = session.render()
    (OUT / "results.md").write_text(tables, encoding="utf-8")
    print(tables)
    return 1 if any(session.faults.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
