"""The entry point: parses the command line and turns every outcome into an exit code."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword
from pathlib import Path

import click

from proctor.cli.optional_values import attached
from proctor.cli.output import Output
from proctor.errors import ExitCode, ProctorError
from proctor.version import VERSION

COMMANDS = {
    "baseline": "Keep reports that runs are compared with.",
    "cassette": "Look at recordings, check, prune and recover them.",
    "compare": "Compare two reports, case by case.",
    "completion": "Print what makes a shell complete commands and options.",
    "config": "Print each value of the configuration and where it came from.",
    "dataset": "Count what a dataset holds, and split it.",
    "cost": "Show what the answers and judges of reports cost.",
    "explain": "Print what a code means, or all codes.",
    "import": "Make datasets of what other programs have written.",
    "history": "Show the pass rate and the cost of earlier runs.",
    "init": "Write a small project that passes at once.",
    "judge": "Compare judges with people, and ask people.",
    "lint": "Check suites, prompts and datasets; run nothing.",
    "merge": "Make one report of the parts of a run.",
    "models": "List the models of the project: where they are, and what they cost.",
    "packet": "Build sealed packets, and check what is answered to them.",
    "pairwise": "Compare the answers of two subjects pair by pair, by judges.",
    "plugins": "List the kinds of assertion and the sources of cases, and who brings them.",
    "power": "Say how many rows it takes to find a drop of the pass rate.",
    "publish": "Send a stored report to a tracker.",
    "recover": "Make a report of a run that was killed.",
    "report": "Render a stored report again.",
    "run": "Run suites and report what passed.",
    "schema": "Print the JSON Schema of a kind of file.",
    "shards": "Print the parts that a run is split into, for a CI matrix.",
}

EPILOG = """
\b
Start with:
  proctor init    a small project in an empty folder
  proctor run     what it comes to

Every problem has a code; `proctor explain CODE` says more about it.
"""


class LazyGroup(click.Group):
    """Commands whose modules are imported when they are used."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments, of all commands."""
        return super().parse_args(ctx, attached(args))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name."""
        if cmd_name not in COMMANDS:
            return None
        module = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = import_module(f"proctor.cli.{module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands with a sentence each, none of them imported."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])


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
    _replace_closed_streams()
    sys.exit(_run(arguments))


def _replace_closed_streams() -> None:
    """Give a program that was started without stdout or stderr (`>&-`) one that goes nowhere.

    Otherwise the next file that is opened would get its number, and be written to.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115


def _run(arguments: Sequence[str] | None) -> int:
    output = Output()
    try:
        result = cli.main(args=arguments, prog_name="proctor", standalone_mode=False)
        return output.finish(int(result or ExitCode.OK))
    except click.exceptions.Exit as stopped:
        return output.finish(stopped.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        output.help(error)
        return output.finish(ExitCode.CANNOT)
    except click.ClickException as error:
        output.usage_error(error)
        return output.finish(ExitCode.CANNOT)
    except ProctorError as error:
        output.problems(error)
        return output.finish(ExitCode.CANNOT)
    except (KeyboardInterrupt, click.Abort):
        output.note("interrupted")
        return output.finish(ExitCode.INTERRUPTED)
    except SystemExit:
        # Whoever was reading has enough: click ends the program when its own output is refused.
        return ExitCode.OK
    except OSError as error:
        output.system_error(error)
        return output.finish(ExitCode.CANNOT)
    except Exception as error:
        output.fault(error)
        return output.finish(ExitCode.FAULT)
