"""The options and steps that commands on a project share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from proctor.cassette_files import CassetteFolder, chosen_folder
from proctor.config import Config, load_config
from proctor.records import JsonObject

Command = TypeVar("Command", bound=Callable[..., Any])


def cwd_option(command: Command) -> Command:
    """`--cwd DIR`."""
    said = "The project's folder. Default: the nearest one upward with a configuration."
    return _folder_option(said)(command)


def paths_option(command: Command) -> Command:
    """`--cwd DIR`, for commands that need no project."""
    return _folder_option("Where paths start. No project is needed there.")(command)


def _folder_option(said: str) -> Callable[[Command], Command]:
    return click.option(
        "--cwd",
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help=said,
    )


def shape_option(command: Command) -> Command:
    """`--format text|json`, for commands that print facts."""
    return click.option(
        "--format",
        "format_",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="How it is printed.",
    )(command)


def project_config(cwd: Path | None, flags: JsonObject) -> Config:
    """The configuration of the project the command is about."""
    return load_config(cwd or Path.cwd(), is_root=cwd is not None, flags=flags, environ=os.environ)


def from_start(cwd: Path | None, path: Path) -> Path:
    """A path given as an option: relative ones start at `--cwd`, or where the user is."""
    return (cwd or Path.cwd()) / path


def cassette_folder(config: Config, cwd: Path | None, given: Path | None) -> CassetteFolder:
    """Where cassettes are: the project's own folder, or the one given as `--cassettes`.

    Raises:
        UsageError: P6002 when the given folder is not there.
    """
    return chosen_folder(config, given, start=from_start(cwd, Path()))
