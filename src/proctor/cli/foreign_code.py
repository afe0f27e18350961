"""Code of the project, kept from writing to the stdout of the program, and from ending it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from proctor.errors import ExitCode

_ENDED = b"code of the project ended the program; what was received until then is kept\n"


@contextmanager
def foreign_code() -> Iterator[None]:
    """Meanwhile, what the process and its children write to stdout goes to stderr.

    And whoever ends the process at once ends it as a fault, for there is no verdict then.
    """
    end, process = os._exit, os.getpid()

    def ended(status: int) -> NoReturn:
        # A child that was forked may well end like this.
        if os.getpid() == process:
            os.write(2, _ENDED)
            status = ExitCode.FAULT
        end(status)

    os._exit = ended
    try:
        with _stdout_aside():
            yield
    finally:
        os._exit = end


@contextmanager
def _stdout_aside() -> Iterator[None]:
    try:
        os.fstat(2)
        stdout = os.dup(1)
    except OSError:
        # Without one of them there is nothing to keep clean, or nowhere else to write.
        yield
        return
    try:
        _flush()
        os.dup2(2, 1)
        yield
    finally:
        _flush()
        os.dup2(stdout, 1)
        os.close(stdout)


def _flush() -> None:
    # A program that was started without a stdout has none here either.
    if sys.stdout is not None:
        sys.stdout.flush()
