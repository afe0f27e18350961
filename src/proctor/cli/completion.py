"""`proctor completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from proctor.cli.output import Output
from proctor.errors import ExitCode

EXAMPLES = """
\b
Examples:
  eval "$(proctor completion bash)"                               in ~/.bashrc
  eval "$(proctor completion zsh)"                                in ~/.zshrc
  proctor completion fish > ~/.config/fish/completions/proctor.fish
"""


@click.command("completion", epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "fish", "zsh"]))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print what makes a shell complete commands and options."""
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - click has these three
    completion = kind(context.find_root().command, {}, "proctor", "_PROCTOR_COMPLETE")
    # Not `source()`, which starts bash to ask for its version.
    script = completion.source_template % completion.source_vars()
    Output().write(script.strip().encode() + b"\n")
    return ExitCode.OK
