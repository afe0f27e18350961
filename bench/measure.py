"""Runs one command and reads what it cost from the kernel's accounting.

The peak memory of a child counts what its parent held when it was forked, so whatever imports
this module stays small: standard library only, and no report is read here.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LOOPBACK_ONLY = ("unshare", "-n", "sh", "-c", 'ip link set lo up 2>/dev/null; exec "$@"', "sh")


@dataclass(frozen=True)
class Usage:
    """What one run of a command cost."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    exit_code: int
    timed_out: bool


def isolation() -> tuple[str, ...]:
    """What to put before a command so that it sees no network but loopback.

    Returns:
        Words of a command line; none where the system does not allow it.
    """
    if shutil.which("unshare") is None:
        return ()
    probe = subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False)
    return _LOOPBACK_ONLY if probe.returncode == 0 else ()


def measure(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    stdout: Path,
    stderr: Path,
    timeout_s: float,
) -> Usage:
    """Run a command to its end, or kill it with its children at the time limit.

    Args:
        command: Program and arguments.
        env: The whole environment.
        cwd: Where it runs.
        stdout: The file that takes what it prints.
        stderr: The file that takes its messages.
        timeout_s: Seconds after which it is killed.
    """
    timed_out = threading.Event()
    with stdout.open("wb") as out, stderr.open("wb") as err:
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=env,
            cwd=cwd,
            start_new_session=True,
        )

        def kill() -> None:
            timed_out.set()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(timeout_s, kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - start
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return Usage(
        wall_s=wall_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_mb=usage.ru_maxrss / 1024,
        exit_code=process.returncode,
        timed_out=timed_out.is_set(),
    )
