"""Targets that are programs: started once per row, told the case as JSON, and never by a shell."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from proctor.errors import ProviderError, SuiteError, TargetError
from proctor.project_code import not_allowed
from proctor.records import Case, Reply, Scenario, encode_json
from proctor.records.targets import CommandCall, LoadedTarget
from proctor.safe_io import reason_of
from proctor.scrubbing import SECRETS
from proctor.strict_json import JsonProblem, decode_utf8
from proctor.targets.plain import PlainTarget, asked
from proctor.targets.processes import Ended, run_program
from proctor.targets.replies import reply_of_text

GIVEN = ("PATH", "HOME", "LANG", "TMPDIR")
"""Variables that every program is given, where they are set."""

MAX_STDERR = 16 * 1_024
"""How much of what a program writes on stderr is kept, from its end, in characters."""

_SHOWN = 200


def open_command(
    root: Path,
    target: LoadedTarget,
    how: CommandCall,
    *,
    allow_code: bool,
    note: Callable[[str], None],
) -> CommandTarget:
    """Make sure that a program can be started.

    Args:
        root: The project's folder, which is its own too.
        target: The target.
        how: The program and what it is given.
        allow_code: Whether the command line allows it.
        note: Told of each variable the program is given, and of what it writes when it fails.

    Raises:
        SuiteError: P6220 when it is not allowed, P6203 when there is no such program.
        ProviderError: P6306 for a variable that is not set.
    """
    program = how.argv[0]
    if not allow_code:
        raise not_allowed(program)
    environ = _environment(how, os.environ)
    if _found(program, root, environ) is None:
        raise SuiteError(
            f"there is no program `{program}` that can be started",
            code="P6203",
            hint="name one on PATH, or write its path from the project's folder with a `/` in it",
            where=target.where,
        )
    for name in how.env:
        SECRETS.add(environ[name])
    given = [name for name in (*GIVEN, *how.env) if name in environ]
    note(f"giving the command `{program}` {', '.join(dict.fromkeys(given)) or 'no variables'}")
    return CommandTarget(root, how, environ, note)


def _environment(how: CommandCall, environ: Mapping[str, str]) -> dict[str, str]:
    unset = [name for name in how.env if name not in environ]
    if unset:
        raise ProviderError(
            f"the variable `{unset[0]}` is not set",
            code="P6306",
            hint="export it in your shell, or take it out of `env` of the target",
        )
    return {name: environ[name] for name in (*GIVEN, *how.env) if name in environ}


def _found(program: str, root: Path, environ: Mapping[str, str]) -> str | None:
    if "/" in program:
        return shutil.which(root / program)
    return shutil.which(program, path=environ.get("PATH", os.defpath))


class CommandTarget(PlainTarget):
    """A `LiveTarget` that starts a program for each row.

    Args:
        root: The project's folder.
        how: The program.
        environ: All of its environment.
        note: Told once what it writes when it fails.
    """

    def __init__(
        self,
        root: Path,
        how: CommandCall,
        environ: Mapping[str, str],
        note: Callable[[str], None],
    ) -> None:
        self._root = root
        self._how = how
        self._environ = environ
        self._note = note
        self._has_told = False

    async def answer(
        self,
        case: Case,
        scenario: Scenario | None,
        artifact: object,
        repeat: int,
        lane: str | None,
    ) -> Reply:
        """Run the program once.

        Raises:
            TargetError: When it cannot be started, fails, writes too much, or writes no answer.
        """
        told = encode_json({**asked(case, scenario, repeat), "lane": lane}) + b"\n"
        program = self._how.argv[0]
        try:
            ended = await run_program(self._how.argv, cwd=self._root, env=self._environ, stdin=told)
        except OSError as error:
            raise TargetError(f"`{program}` cannot be started: {reason_of(error)}") from error
        stderr = _tail(ended.stderr)
        fault = _fault(ended)
        if fault is None:
            try:
                text = decode_utf8(ended.stdout)
            except JsonProblem:
                fault = "wrote an answer that is not UTF-8"
        if fault is not None:
            self._tell(stderr)
            debug = {"stderr": stderr} if stderr else None
            raise TargetError(f"`{program}` {fault}", debug=debug)
        return reply_of_text(text.removesuffix("\n").removesuffix("\r"), stderr=stderr)

    def _tell(self, stderr: str) -> None:
        """Say once what the report does not."""
        line = stderr.strip().rpartition("\n")[2].strip()
        if line and not self._has_told:
            self._has_told = True
            self._note(f"`{self._how.argv[0]}` wrote: {line[:_SHOWN]}")


def _fault(ended: Ended) -> str | None:
    if ended.is_cut:
        return "wrote more than 16 MiB, and was killed"
    if ended.status < 0:
        return f"was ended by signal {-ended.status}"
    return f"ended with status {ended.status}" if ended.status else None


def _tail(stderr: bytes) -> str:
    """The end of what was written there, without keys."""
    return SECRETS.scrub(stderr.decode("utf-8", "replace"))[-MAX_STDERR:]
