"""What the command line prints: reports on stdout, everything else on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from proctor.errors import ExitCode, ProctorError, UsageError
from proctor.rendering.escaping import terminal_line, terminal_text
from proctor.safe_io import reason_of
from proctor.scrubbing import SECRETS

if TYPE_CHECKING:
    import click

USAGE = "P6002"
"""The code of a wrong command line, which the help explains better."""


class Output:
    """Standard output and standard error as bytes, so that no locale changes a report."""

    def __init__(self) -> None:
        self._stdout_is_closed = False
        self._write_note: Callable[[str], None] = _write_to_stderr

    def is_terminal(self) -> bool:
        """Whether somebody reads stdout as it comes."""
        return sys.stdout.isatty()

    def colour(self) -> bool:
        """Whether stdout is a terminal whose reader wants colours."""
        return (
            self.is_terminal()
            and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM") != "dumb"
        )

    def write(self, chunk: bytes) -> None:
        """Write to stdout; a reader that has gone away is no fault."""
        if self._stdout_is_closed:
            return
        try:
            sys.stdout.buffer.write(chunk)
        except BrokenPipeError:
            self._close_stdout()
        except OSError as error:
            self._close_stdout()
            raise UsageError(
                f"the output cannot be written: {reason_of(error)}",
                code="P6004",
                hint="make room, or write it somewhere else",
            ) from error

    def copied(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The chunks, each written to stdout on the way."""
        for chunk in chunks:
            self.write(chunk)
            yield chunk

    def line(self, text: str) -> None:
        """One line on stdout."""
        self.write(terminal_line(text).encode("utf-8") + b"\n")

    def note(self, text: str) -> None:
        """One line on stderr, without any key that was read."""
        # Whoever does not want to hear it changes nothing about what happened.
        with suppress(OSError):
            self._write_note(terminal_line(terminal_text(SECRETS.scrub(text))))

    @contextmanager
    def notes_through(self, write_line: Callable[[str], None]) -> Iterator[None]:
        """Meanwhile, lines for stderr are written by who draws something else there."""
        before, self._write_note = self._write_note, write_line
        try:
            yield
        finally:
            self._write_note = before

    def problems(self, error: ProctorError) -> None:
        """Every problem with its place and its hint."""
        problems = list(error.problems())
        for problem in problems:
            place = f"{problem.where}: " if problem.where else ""
            self.note(f"{place}{problem.code}: {problem.message}")
            if problem.hint:
                self.note(f"    {problem.hint}")
        if len(problems) > 1:
            self.note(f"{len(problems)} problems; nothing was run")
        if error.code != USAGE:
            self.note(f"`proctor explain {error.code}` says more")

    def usage_error(self, error: click.ClickException) -> None:
        """What is wrong with the command line."""
        self.note(f"{USAGE}: {' '.join(error.format_message().split())}")
        context = getattr(error, "ctx", None)
        if context is not None:
            self.note(f"    see `{context.command_path} --help`")

    def help(self, error: click.UsageError) -> None:
        """The help of a command that was given nothing to do."""
        for line in error.format_message().splitlines():
            self.note(line)

    def system_error(self, error: OSError) -> None:
        """Something the system refused that no command expects, like a name that is too long."""
        name = "" if error.filename is None else f": `{os.fsdecode(error.filename)[:200]}`"
        self.note(f"P6004: the system refused, {reason_of(error)}{name}")
        self.note("    name another file or folder")

    def fault(self, error: Exception) -> None:
        """The traceback of a fault of Proctor, and what to do with it."""
        for line in SECRETS.format_exception(error).splitlines():
            self.note(line)
        self.note(
            "this is a fault of Proctor, not of your files. Please report it with the lines "
            "above and what you ran."
        )

    def finish(self, code: int) -> int:
        """Flush stdout and return the exit code: 2 when the output did not get there."""
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            self._close_stdout()
        except OSError as error:
            self._close_stdout()
            self.note(f"P6004: the output cannot be written: {reason_of(error)}")
            return ExitCode.CANNOT
        return code

    def _close_stdout(self) -> None:
        self._stdout_is_closed = True
        # What Python still has buffered goes nowhere, instead of failing again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write_to_stderr(line: str) -> None:
    sys.stderr.write(line + "\n")


def counted(number: int, noun: str) -> str:
    """A number of things, in words: `1 suite`, `2 suites`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
