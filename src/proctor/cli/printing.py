"""Printing what was rendered, and the options that say how."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from proctor.cli.output import Output
from proctor.errors import FileError, UsageError
from proctor.safe_io import append_named, reason_of, write_whole

Command = TypeVar("Command", bound=Callable[..., Any])


def format_option(names: Sequence[str]) -> Callable[[Command], Command]:
    """`--format` with these names."""
    return click.option(
        "--format",
        "format_",
        type=click.Choice(names),
        default="text",
        show_default=True,
        help="What is printed.",
    )


def out_option(command: Command) -> Command:
    """`--out FILE`."""
    return click.option(
        "--out",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Also write it to a file.",
    )(command)


def print_rendered(
    chunks: Iterator[bytes], *, format_: str, out: Path | None, output: Output
) -> None:
    """Print what was rendered, and write it where that was asked for.

    Markdown is also appended to the summary of the step when GitHub names its file. A page that is
    written is not poured over a terminal as well.
    """
    if format_ == "markdown":
        chunks = _with_step_summary(chunks, output)
    if format_ == "html" and out is not None and output.is_terminal():
        write_whole(out, chunks)
        output.note(f"written: {out}")
        return
    copied = output.copied(chunks)
    if out is not None:
        write_whole(out, copied)
    for _ in copied:
        pass


def keep_inputs(out: Path, inputs: Sequence[Path]) -> None:
    """Refuse to write the output over what is read.

    Raises:
        UsageError: P6004 when it would.
    """
    if out.resolve() in {path.resolve() for path in inputs}:
        raise UsageError(
            f"`{out}` is a file that is read",
            code="P6004",
            hint="name another file for `--out`",
        )


def _with_step_summary(chunks: Iterator[bytes], output: Output) -> Iterator[bytes]:
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return chunks
    text = b"".join(chunks)
    try:
        append_named(Path(path), text)
    except (OSError, FileError) as error:
        # What was rendered is not in danger, and neither is what the exit code says.
        reason = error.message if isinstance(error, FileError) else reason_of(error)
        output.note(f"warning: the step summary cannot be written: {reason}")
    return iter([text])
