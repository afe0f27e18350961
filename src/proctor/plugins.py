"""Parts that other installed packages bring, found by their entry points.

They are looked for in site directories only: what merely is on `sys.path`, like the current folder
or a project, was not installed by anybody.
"""

from __future__ import annotations

import configparser
import re
import site
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import Distribution, distributions

from msgspec import Struct

from proctor.errors import SuiteError

_REFERENCE = re.compile(r"([\w.]+)\s*:\s*([\w.]+)\s*(?:\[.*\])?\Z")


class Plugin(Struct, frozen=True, order=True):
    """One part: its name, the package that brings it, and where in it the part is."""

    name: str
    package: str
    version: str
    reference: str

    @property
    def label(self) -> str:
        """The package as messages name it."""
        return f"`{self.package} {self.version}`"


@cache
def find_plugins(group: str) -> list[Plugin]:
    """What installed packages have under an entry point group, sorted; nothing is imported."""
    found: list[Plugin] = []
    seen: set[str] = set()
    for distribution in distributions(path=_site_directories()):
        entries = list(_entries(distribution, group))
        name = distribution.metadata["Name"] if entries else None
        if not name:
            continue
        # Of a package that is installed twice, Python imports the one that comes first.
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key not in seen:
            seen.add(key)
            version = distribution.metadata["Version"] or "?"
            found += [Plugin(part, name, version, reference) for part, reference in entries]
    return sorted(found)


def load_plugin(plugin: Plugin) -> object:
    """Import a part.

    Raises:
        SuiteError: P6201 when that does not work.
    """
    match = _REFERENCE.match(plugin.reference)
    if match is None:
        raise unusable(plugin, f"`{plugin.reference}` is not `module:name`")
    try:
        part: object = import_module(match[1])
        for attribute in match[2].split("."):
            part = getattr(part, attribute)
    except (Exception, SystemExit) as error:
        # What an import raises holds no data of a run, and a missing module is worth its name.
        said = f": {error}" if isinstance(error, (ImportError, AttributeError)) else ""
        raise unusable(plugin, f"{type(error).__name__}{said}") from error
    return part


def unusable(plugin: Plugin, why: str) -> SuiteError:
    """P6201: a part was asked for that its package does not bring in order."""
    return SuiteError(
        f"the plugin {plugin.label} cannot give `{plugin.name}`: {why}",
        code="P6201",
        hint=f"install another version of `{plugin.package}`",
    )


class _EntryPointsParser(configparser.RawConfigParser):
    """Reads `entry_points.txt`, in which the case of names matters."""

    def optionxform(self, optionstr: str) -> str:
        """A name as it is written."""
        return optionstr


def _site_directories() -> list[str]:
    folders = site.getsitepackages()
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    return list(dict.fromkeys(folders))


def _entries(distribution: Distribution, group: str) -> Iterator[tuple[str, str]]:
    """Name and reference of each entry point of a group; none of a file that cannot be read."""
    text = distribution.read_text("entry_points.txt")
    if text is None or group not in text:
        return
    parser = _EntryPointsParser(delimiters=("=",), strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    if parser.has_section(group):
        yield from parser.items(group)
