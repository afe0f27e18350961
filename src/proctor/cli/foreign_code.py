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
    sys.stdout.flush()
    stdout, end, process = os.dup(1), os._exit, os.getpid()

    def ended(status: int) -> NoReturn:
        # A child that was forked may well end like this.
        if os.getpid() == process:
            os.write(2, _ENDED)
            status = ExitCode.FAULT
        end(status)

    os.dup2(2, 1)
    os._exit = ended
    try:
        yield
    finally:
        os._exit = end
        sys.stdout.flush()
        os.dup2(stdout, 1)
        os.close(stdout)
