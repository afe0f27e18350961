"""Code of the project: the file a reference names, and importing it where that was allowed.

A reference is `package.module:attribute`. Its file is read and hashed like any other; it is
imported only when the person at the command line has allowed it. The project's folder joins
`sys.path` last, so that nothing in it can stand in for a module that is installed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TextIO

from msgspec import Struct

from proctor.errors import ProctorError, SuiteError
from proctor.safe_io import read_inside, reason_of

_REFERENCE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)\Z", re.ASCII)


class CodeFile(Struct, frozen=True):
    """The file of a module of the project: its path relative to the root, and its bytes."""

    path: str
    data: bytes


def split_reference(reference: str) -> tuple[str, str] | None:
    """Module and attribute of `package.module:attribute`; None when it is written otherwise."""
    match = _REFERENCE.match(reference)
    return None if match is None else (match.group(1), match.group(2))


def read_module(root: Path, module: str, *, where: str) -> CodeFile:
    """The file of a module below the project's root, read and never imported.

    Args:
        root: The project's folder.
        module: The module's dotted name.
        where: What refers to it.

    Raises:
        SuiteError: P6203 when there is none.
        FileError: P6805 for a link, folder, FIFO or device, or a file over 1 MiB.
    """
    stem = module.replace(".", "/")
    # In the order in which Python looks.
    for path in (f"{stem}/__init__.py", f"{stem}.py"):
        try:
            return CodeFile(path, read_inside(root, path, where=where))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise SuiteError(
                f"`{path}` cannot be read: {reason_of(error)}",
                code="P6203",
                hint="check its permissions",
                where=where,
            ) from error
    raise SuiteError(
        f"there is no module `{module}` in the project",
        code="P6203",
        hint=f"write `{stem}.py`; the path starts at the project's folder",
        where=where,
    )


def import_function(
    root: Path, reference: str, *, file: str | None = None, allow_code: bool
) -> Callable[..., object]:
    """Import a function, or another callable, of the project.

    Args:
        root: The project's folder; it joins `sys.path`, last.
        reference: `package.module:function`.
        file: The file the module must come from, relative to the root; any when None.
        allow_code: Whether the command line allows it.

    Raises:
        SuiteError: P6220 when it is not allowed; P6203 when the module or the function cannot be
            had, or the module is another file than `file`.
    """
    function = _imported(root, reference, file=file, allow_code=allow_code)
    if not callable(function):
        raise _not_there(reference, "function ")
    return function


def import_object(root: Path, reference: str, *, allow_code: bool) -> object:
    """The same for anything that a module has, which is not None.

    Raises:
        SuiteError: As `import_function`.
    """
    part = _imported(root, reference, allow_code=allow_code)
    if part is None:
        raise _not_there(reference)
    return part


def _imported(root: Path, reference: str, *, file: str | None = None, allow_code: bool) -> object:
    if not allow_code:
        raise not_allowed(reference)
    names = split_reference(reference)
    if names is None:
        raise SuiteError(f"`{reference}` is not a reference to a function", code="P6203")
    module, attribute = names
    if str(root) not in sys.path:
        sys.path.append(str(root))
    imported = guarded(lambda: import_module(module), f"importing `{module}`", code="P6203")
    found = getattr(imported, "__file__", None)
    if file is not None and (not found or Path(found).resolve() != (root / file).resolve()):
        raise SuiteError(
            f"importing `{module}` gives another module than `{file}`",
            code="P6203",
            hint="rename the module: an installed one has the same name",
        )
    part: object = getattr(imported, attribute, None)
    return part


def _not_there(reference: str, noun: str = "") -> SuiteError:
    module, _, attribute = reference.partition(":")
    return SuiteError(
        f"`{module}` has no {noun}`{attribute}`",
        code="P6203",
        hint="check the name after the colon",
    )


def not_allowed(reference: str) -> SuiteError:
    """P6220: code of the project would have to run, and the command line does not allow it."""
    return SuiteError(
        f"`{reference}` is code of the project, which may not run",
        code="P6220",
        hint="read it, then add `--allow-code`",
    )


class _Redirected:
    """How many calls of project code print to stderr now, and what stdout was before."""

    calls = 0
    before: TextIO | None = None
    lock = Lock()


@contextmanager
def printing_to_stderr() -> Iterator[None]:
    """Send what is printed to stderr, for stdout may be a report.

    Unlike `redirect_stdout`, it may begin and end in any order, and in any thread.
    """
    with _Redirected.lock:
        if not _Redirected.calls:
            _Redirected.before, sys.stdout = sys.stdout, sys.stderr
        _Redirected.calls += 1
    try:
        yield
    finally:
        with _Redirected.lock:
            _Redirected.calls -= 1
            if not _Redirected.calls and _Redirected.before is not None:
                sys.stdout, _Redirected.before = _Redirected.before, None


def guarded(call: Callable[[], object], what: str, *, code: str) -> object:
    """What `call` returns; an exception of the project's code becomes one of ours.

    What the code prints goes to stderr, for stdout may be a report.

    Args:
        call: Runs code of the project.
        what: What it is doing, for the message.
        code: The code of the error.

    Raises:
        SuiteError: Naming the class of the exception, never its text, which may hold data.
    """
    try:
        with printing_to_stderr():
            return call()
    except ProctorError:
        raise
    except (Exception, SystemExit) as error:
        raise SuiteError(
            f"{what} failed: {type(error).__name__}", code=code, hint="run it in Python to see why"
        ) from error
