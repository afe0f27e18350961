"""From the name of a provider to somebody who can be asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from proctor.clock import Clock
from proctor.config import ProviderConfig
from proctor.errors import ProctorError, ProviderError, raise_all
from proctor.protocols import Provider
from proctor.providers.scripted import ScriptedProvider, load_script


def open_providers(
    names: Iterable[str],
    configured: Mapping[str, ProviderConfig],
    *,
    root: Path,
    clock: Clock,
) -> dict[str, Provider]:
    """The providers that a run asks, by name.

    Args:
        names: The first parts of the model references.
        configured: The project's `providers`.
        root: The project's folder.
        clock: Where waiting comes from.

    Raises:
        ProctorError: P6301 for each provider that cannot be asked, or what is wrong with a script.
    """
    providers: dict[str, Provider] = {}
    problems: list[ProctorError] = []
    for name in sorted(set(names)):
        try:
            providers[name] = _open(name, configured.get(name), root, clock)
        except ProctorError as problem:
            problems.append(problem)
    raise_all(problems)
    return providers


def _open(name: str, config: ProviderConfig | None, root: Path, clock: Clock) -> Provider:
    if config is None:
        raise ProviderError(
            f"there is no provider `{name}` in the project's configuration",
            code="P6301",
            hint=f"declare it under `providers.{name}`, or replay what is recorded",
        )
    if config.kind != "scripted":
        raise ProviderError(
            f"the provider `{name}` is of kind {config.kind}, which this version cannot ask",
            code="P6301",
            hint="replay what is recorded, or use a provider of kind scripted",
        )
    if config.answers is None:
        raise ProviderError(
            f"the scripted provider `{name}` has no script",
            code="P6301",
            hint=f"name a JSONL file with `providers.{name}.answers`",
        )
    script = load_script(root, config.answers, where=f"providers.{name}.answers")
    return ScriptedProvider(script, clock=clock)
