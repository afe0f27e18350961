"""Answers that are there already, scored as if a target had just given them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from proctor.canonical import sha256_hex
from proctor.errors import SuiteError, UsageError
from proctor.protocols import PlannedRow
from proctor.records import Answered, Reply, Warn
from proctor.records.targets import LoadedTarget, OutputFile, StoredOutputs
from proctor.safe_io import read_inside
from proctor.strict_json import decode_utf8
from proctor.targets.agent import AgentTarget
from proctor.targets.replies import reply_of_text

_SHOWN = 20
"""How many cases a warning names."""


class OutputsTarget(AgentTarget):
    """A `ReadyTarget` whose answers are read from files, which are never changed or removed.

    Nothing of it is recorded, and it answers in every mode.

    Args:
        loaded: What the suite says of it.
    """

    def reply(self, root: Path, case: str, repeat: int) -> Reply:
        """The answer to a case; repeats take its files in turn.

        Args:
            root: The project's folder.
            case: The id of a case that has files.
            repeat: The repeat, from 1.

        Raises:
            SuiteError: P6201 when the file is no longer what it was when the suite was loaded.
            TargetError: When it holds an answer that cannot be used.
        """
        files = _files(self.loaded)[case]
        file = files[(repeat - 1) % len(files)]
        try:
            data = read_inside(root, file.path)
        except OSError:
            data = None
        if data is None or sha256_hex(data) != file.sha256:
            raise SuiteError(
                f"`{file.path}` changed while it was being used", code="P6201", hint="run again"
            )
        return reply_of_text(decode_utf8(data.removeprefix(b"\xef\xbb\xbf")))


def stored_answer(target: AgentTarget, root: Path, row: PlannedRow) -> Answered:
    """The answer to a row that is there already; it costs nothing unless it says so.

    Args:
        target: One of kind `outputs`.
        root: The project's folder.
        row: Which answer.

    Raises:
        ProctorError: When its file changed, or holds no answer.
    """
    reply = OutputsTarget(target.loaded).reply(root, row.case.id, row.repeat)
    cost_usd = 0.0 if reply.cost_usd is None else reply.cost_usd
    return Answered(reply.answer, None, reply.usage, cost_usd, reply.latency_ms)


def answered_places(target: LoadedTarget, cases: Sequence[str]) -> tuple[list[int], list[Warn]]:
    """Which cases have answers, and what is to be known of the others.

    Args:
        target: One of kind `outputs`.
        cases: The ids of the cases, in dataset order.

    Returns:
        The 0-based places of the cases that have answers, and warnings: one for cases without
        any, which are left out, and one for answers to cases that there are not.

    Raises:
        UsageError: P6001 when no case has answers.
    """
    files = _files(target)
    places = [place for place, case in enumerate(cases) if case in files]
    if not places:
        raise UsageError(
            f"0 of {len(cases)} cases have an answer among `outputs`",
            code="P6001",
            hint="`outputs` maps the ids of cases to lists of files",
            where=target.where,
        )
    warnings: list[Warn] = []
    missing = [case for case in cases if case not in files]
    if missing:
        message = f"left out, without an answer among `outputs`: {_named(missing)}"
        warnings.append(Warn(None, message, target.where))
    known = frozenset(cases)
    unknown = [case for case in files if case not in known]
    if unknown:
        message = (
            f"`outputs` has answers to cases that the dataset does not have: {_named(unknown)}"
        )
        warnings.append(Warn(None, message, target.where))
    return places, warnings


def _files(target: LoadedTarget) -> dict[str, tuple[OutputFile, ...]]:
    assert isinstance(target.how, StoredOutputs)  # noqa: S101 - the caller knows the kind
    return target.how.files


def _named(cases: Sequence[str]) -> str:
    """All of them by name, up to a few, and how many more."""
    named = ", ".join(f"`{case}`" for case in cases[:_SHOWN])
    return named if len(cases) <= _SHOWN else f"{named} and {len(cases) - _SHOWN} more"
