"""`proctor config`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from proctor.cli.output import Output
from proctor.cli.project import cwd_option, project_config, shape_option
from proctor.config import Config, is_key_variable
from proctor.errors import ExitCode
from proctor.records import Json, encode_json

EXAMPLES = """
\b
Examples:
  proctor config                  what holds here, and why
  proctor config --format json
"""


@click.command("config", epilog=EXAMPLES)
@shape_option
@cwd_option
def command(format_: str, cwd: Path | None) -> int:
    """Print each value of the configuration and where it came from.

    A flag counts before the environment, that before the project file, and that before the
    default.
    """
    output = Output()
    config = project_config(cwd, {})
    if format_ == "json":
        values = {key: {"value": value, "origin": origin} for key, value, origin in _values(config)}
        found = {"root": str(config.root), "values": values}
        output.write(msgspec.json.format(encode_json(found), indent=2) + b"\n")
        return ExitCode.OK
    rows = [("root", json.dumps(str(config.root)), "")]
    rows += [
        (place, json.dumps(leaf, ensure_ascii=False), config.origins.get(place, origin))
        for key, value, origin in _values(config)
        for place, leaf in _leaves(key, value)
    ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for place, leaf, origin in rows:
        output.line(f"{place:<{widths[0]}}  {leaf:<{widths[1]}}  {origin}".rstrip())
    return ExitCode.OK


def _values(config: Config) -> Iterator[tuple[str, Json, str]]:
    """Key, value and origin of everything that can be configured."""
    for key, value in msgspec.to_builtins(config.values).items():
        if key == "providers":
            value = _shown(value)
        elif key == "langsmith_url":
            value = _shown_url(value)
        yield key, value, config.origins[key]


def _shown(providers: Json) -> Json:
    """The providers without what may be a key that was written where none belongs."""
    shown = {}
    for name, provider in providers.items():
        variable, url = provider["key_env"], provider["base_url"]
        if variable is not None and not is_key_variable(variable):
            variable = "[not the name of a variable]"
        shown[name] = {**provider, "key_env": variable, "base_url": _shown_url(url)}
    return shown


def _shown_url(url: str | None) -> str | None:
    if url is not None and set(url) & set("@?#"):
        return "[a URL with a user name, a query or a fragment]"
    return url


def _leaves(place: str, value: Json) -> Iterator[tuple[str, Json]]:
    """A table as one line per key, without keys that are not set."""
    if not isinstance(value, dict) or not value:
        yield place, value
        return
    for key, member in value.items():
        if member is not None:
            yield from _leaves(f"{place}.{key}", member)
