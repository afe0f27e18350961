"""The entry point: parses the command line and turns every outcome into an exit code."""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

import click

from proctor.cli.output import Output
from proctor.errors import ExitCode, ProctorError
from proctor.version import VERSION

COMMANDS = {
    "cassette": "Look at recordings, check, prune and recover them.",
    "lint": "Check suites, prompts and datasets; run nothing.",
    "run": "Run suites and report what passed.",
}

EPILOG = "Start with `proctor run` in a folder with a proctor.toml."


class LazyGroup(click.Group):
    """Commands whose modules are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"proctor.cli.{cmd_name}").command
        return command


@click.group(
    cls=LazyGroup,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(VERSION, prog_name="proctor", message="%(prog)s %(version)s")
def cli() -> None:
    """Evaluate prompts: offline by default, the same bytes every time."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    # Nothing a run makes is part of a cycle, and the collector would look through all of it.
    gc.disable()
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    output = Output()
    try:
        result = cli.main(args=arguments, prog_name="proctor", standalone_mode=False)
        return output.finish(int(result or ExitCode.OK))
    except click.exceptions.Exit as stopped:
        return output.finish(stopped.exit_code)
    except click.ClickException as error:
        output.usage_error(error)
        return output.finish(ExitCode.CANNOT)
    except ProctorError as error:
        output.problems(error)
        return output.finish(ExitCode.CANNOT)
    except (KeyboardInterrupt, click.Abort):
        output.note("interrupted; nothing was written")
        return output.finish(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # Whoever was reading has enough. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except Exception:
        traceback.print_exc()
        output.note(
            "this is a fault of Proctor, not of your files. Please report it with the lines "
            "above and what you ran."
        )
        return output.finish(ExitCode.FAULT)
