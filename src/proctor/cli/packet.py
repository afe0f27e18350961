"""`proctor packet`: exams for a responder that Proctor cannot call."""

from __future__ import annotations

from pathlib import Path

import click

from proctor.cli.output import Output
from proctor.cli.project import paths_option, project_config
from proctor.config import find_project
from proctor.errors import ExitCode
from proctor.packets.build import build_packet, render_packet
from proctor.packets.check import CheckRequest, check_response
from proctor.packets.extract import MAX_TRANSCRIPT, extract_response
from proctor.packets.pages import filled_template, render_page
from proctor.packets.reading import load_packet, parse_packet, read_file
from proctor.packets.reports import (
    boundary_lines,
    render_packet_json,
    render_packet_text,
    verdict_line,
)
from proctor.packets.suites import PacketSuite, load_suite_file, load_suite_of_id
from proctor.rendering.report_json import indented

EXAMPLES = """
\b
Examples:
  proctor packet build wiki-notes > packet.json            seal what a suite asks
  proctor packet build wiki-notes --markdown > page.md     the same, to paste into a chat
  proctor packet extract chat.md > response.json           the answer, out of the chat
  proctor packet check response.json --packet packet.json  whether it is right
"""

FILE = click.Path(path_type=Path)


@click.group("packet", epilog=EXAMPLES)
def command() -> None:
    """Build sealed packets, and check what is answered to them."""


@command.command("build")
@click.argument("suite", metavar="SUITE")
@click.option("--markdown", is_flag=True, help="Print a page to paste into a chat instead.")
@paths_option
def build(suite: str, markdown: bool, cwd: Path | None) -> int:
    """Print the packet of a suite: what is asked, the sources, no expected value.

    SUITE is a `*.packet.yaml`, or the id of one below `evals/packets/`. The same files give the
    same bytes everywhere.
    """
    packet = build_packet(_suite(suite, cwd))
    if markdown:
        page = render_page(parse_packet(packet, suite), packet)
        Output().write(page.encode("utf-8"))
    else:
        Output().write(render_packet(packet))
    return ExitCode.OK


@command.command("template")
@click.argument("packet", metavar="PACKET", type=FILE)
@paths_option
def template(packet: Path, cwd: Path | None) -> int:
    """Print a blank response to a packet, bound to it.

    `{}`, or `[]` for an object, stands for each value; a blank that is left is never valid.
    """
    _, value = load_packet(_place(cwd, packet))
    Output().write(indented(filled_template(value)) + b"\n")
    return ExitCode.OK


@command.command("extract")
@click.argument("chat", metavar="CHAT", type=FILE)
@paths_option
def extract(chat: Path, cwd: Path | None) -> int:
    """Print the only fenced JSON block of a chat's transcript.

    None or several are refused, and nothing is repaired.
    """
    path = _place(cwd, chat)
    content = extract_response(read_file(path, MAX_TRANSCRIPT), str(path))
    Output().write(content.encode("utf-8"))
    return ExitCode.OK


@command.command("check")
@click.argument("response", metavar="RESPONSE", type=FILE)
@click.option(
    "--packet", metavar="PACKET", type=FILE, required=True, help="The packet that is answered."
)
@click.option(
    "--suite",
    metavar="FILE",
    type=str,
    help="The suite it was built from. Default: the one with that id below evals/packets/.",
)
@click.option(
    "--no-recheck",
    is_flag=True,
    help="Do not compare the sources on disk, only the suite: for an archive.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["json", "text"]),
    default="json",
    show_default=True,
    help="What is printed.",
)
@paths_option
def check(
    response: Path,
    packet: Path,
    suite: str | None,
    no_recheck: bool,
    format_: str,
    cwd: Path | None,
) -> int:
    """Check a response against its packet, and print a report.

    The expected values come from the suite, which must still be the one the packet was built from,
    as must its sources. Exit code 0: every check passed; 1: the response is valid and a check
    failed; 2: something malformed, stale or unsafe, and nothing was checked.
    """
    report = check_response(
        CheckRequest(
            packet=_place(cwd, packet),
            response=_place(cwd, response),
            find_suite=lambda id_: _suite(id_ if suite is None else suite, cwd),
            with_sources=not no_recheck,
        )
    )
    output = Output()
    if format_ == "text":
        output.write(render_packet_text(report))
        return report.exit_code
    output.write(render_packet_json(report))
    output.note(verdict_line(report))
    for line in boundary_lines(report):
        output.note(line)
    return report.exit_code


def _place(cwd: Path | None, path: Path) -> Path:
    """A path as it was given, from `--cwd` on: how it is written decides what is a link on it."""
    return path if cwd is None else cwd / path


def _suite(name: str, cwd: Path | None) -> PacketSuite:
    """A packet suite by its id, or by its file when the name has a dot or a slash in it."""
    if "." in name or "/" in name:
        return load_suite_file(_place(cwd, Path(name)))
    start = cwd or Path.cwd()
    if find_project(start, is_root=cwd is not None) is None:
        return load_suite_of_id(name, start.resolve(), "evals")
    config = project_config(cwd, {})
    return load_suite_of_id(name, config.root, config.values.evals)
