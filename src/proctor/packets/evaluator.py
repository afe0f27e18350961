"""What checked a response: a digest of the code that reads, compares and judges."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from proctor.packets.formats import Evaluator
from proctor.version import VERSION

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_FOLDER: Final = "packets"
SHARED: Final = (
    "assertions/base.py",
    "assertions/matching.py",
    "assertions/regex.py",
    "canonical.py",
    "contracts.py",
    "documents.py",
    "loading/files.py",
    "loading/json_lines.py",
    "loading/yaml.py",
    "pointers.py",
    "safe_io.py",
    "strict_json.py",
)
"""What the package shares with others and what decides about a response, too."""


def evaluator() -> Evaluator:
    """The version of Proctor and the digest of the checker, the same wherever it is installed."""
    return Evaluator(VERSION, evaluator_sha256(files("proctor")))


def evaluator_sha256(package: Traversable) -> str:
    """SHA-256 over the checker's modules in the order of their paths.

    Of each its path within the package, a zero byte, its size in decimal digits, a zero byte and
    its bytes.

    Args:
        package: The folder of the package, which may be in an archive.
    """
    digest = sha256()
    for path, module in sorted(_modules(package)):
        digest.update(f"{path}\0{len(module)}\0".encode() + module)
    return digest.hexdigest()


def _modules(package: Traversable) -> Iterator[tuple[str, bytes]]:
    for module in (package / _FOLDER).iterdir():
        if module.name.endswith(".py"):
            yield f"{_FOLDER}/{module.name}", module.read_bytes()
    for path in SHARED:
        yield path, package.joinpath(*path.split("/")).read_bytes()
