"""A program that is run once: in a process group of its own, killed whole, its output limited."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import IO

from msgspec import Struct

from proctor.safe_io import MEBIBYTE
from proctor.targets.calling import in_thread

MAX_OUTPUT = 16 * MEBIBYTE
"""Bytes of both outputs together."""

_CHUNK = 64 * 1_024


class Ended(Struct, frozen=True):
    """How a program ended.

    Args:
        status: Its exit status; the negative number of the signal that ended it.
        stdout: What it wrote.
        stderr: What it wrote there.
        is_cut: Whether it was killed because it wrote too much.
    """

    status: int
    stdout: bytes
    stderr: bytes
    is_cut: bool


async def run_program(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes
) -> Ended:
    """Run a program to its end, and kill what it leaves behind.

    It begins a session and a process group. When it has ended, when it writes too much, and when
    the caller is cancelled, every process of the group is killed.

    Args:
        argv: The program and its arguments; no shell reads them.
        cwd: Its folder. A program whose name has a `/` is looked for from there.
        env: All of its environment.
        stdin: What it can read.

    Raises:
        OSError: When it cannot be started.
    """
    with ExitStack() as stack:
        given = stack.enter_context(TemporaryFile())
        given.write(stdin)
        given.seek(0)
        outputs = _Outputs()
        stack.callback(outputs.close)
        group = _Group(_started(argv, cwd=cwd, env=env, stdin=given, outputs=outputs))
        try:
            with outputs.being_read(when_full=group.kill):
                status = await in_thread(group.wait)
        except BaseException:
            group.kill()
            raise
        outputs.drain()
        return Ended(status, bytes(outputs.stdout), bytes(outputs.stderr), outputs.is_full)


def _started(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: IO[bytes], outputs: _Outputs
) -> subprocess.Popen[bytes]:
    stdout, stderr = outputs.write_ends
    try:
        return subprocess.Popen(  # noqa: S603 - the command line has allowed it
            list(argv),
            cwd=cwd,
            env=dict(env),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
    finally:
        outputs.leave_writing()


class _Group:
    """A program that was started, and whatever it has started in its group."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lock = Lock()
        self._is_gone = False

    def wait(self) -> int:
        """Wait for the end of the program, kill the rest of its group, and say its status."""
        if hasattr(os, "waitid"):
            # Until it is reaped, nobody else can have its number.
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._process.wait()
        self.kill()
        with self._lock:
            self._is_gone = True
            return self._process.wait()

    def kill(self) -> None:
        """Kill every process of the group, unless all that is over."""
        with self._lock:
            if not self._is_gone:
                # Some systems refuse to signal what has ended.
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)


class _Outputs:
    """The two outputs of a program, read as they come and never waited for.

    A process that has left the group may keep an output open for ever.
    """

    def __init__(self) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.is_full = False
        pipes = os.pipe(), os.pipe()
        self.write_ends = [write for _, write in pipes]
        self._kept = {read: kept for (read, _), kept in zip(pipes, self._both(), strict=True)}
        for read in self._kept:
            os.set_blocking(read, False)

    def leave_writing(self) -> None:
        """Close our ends that the program writes to."""
        while self.write_ends:
            os.close(self.write_ends.pop())

    def close(self) -> None:
        """Close all that is still open."""
        self.leave_writing()
        for read in self._kept:
            os.close(read)

    @contextmanager
    def being_read(self, *, when_full: Callable[[], None]) -> Iterator[None]:
        """Read what comes meanwhile; `when_full` is called when that is enough."""
        loop = asyncio.get_running_loop()

        def read(end: int) -> None:
            if not self._read(end):
                loop.remove_reader(end)
            if self.is_full:
                when_full()

        for end in self._kept:
            loop.add_reader(end, read, end)
        try:
            yield
        finally:
            for end in self._kept:
                loop.remove_reader(end)

    def drain(self) -> None:
        """Read what is there and was not read yet."""
        for end in self._kept:
            while self._read(end):
                pass

    def _read(self, end: int) -> bool:
        """Read a piece; False when there is none now, or there will be none, or it is enough."""
        try:
            data = os.read(end, _CHUNK)
        except BlockingIOError:
            return False
        self._kept[end] += data
        self.is_full = self.is_full or sum(map(len, self._both())) > MAX_OUTPUT
        return bool(data) and not self.is_full

    def _both(self) -> tuple[bytearray, bytearray]:
        return self.stdout, self.stderr
