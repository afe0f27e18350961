"""`proctor models`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

import click
import msgspec
from msgspec import Struct

from proctor.cli.output import Output
from proctor.cli.project import cwd_option, project_config, shape_option
from proctor.config import Config, ProviderConfig, is_key_variable, provider_config
from proctor.errors import ExitCode, ProctorError, UsageError, raise_all
from proctor.loading.prompts import Prompts
from proctor.loading.suites import find_suites, load_suite
from proctor.providers.addresses import address_of, is_official
from proctor.providers.keys import KEY_VARIABLES
from proctor.providers.pricing import INSTALL, Pricing
from proctor.records import encode_json

EXAMPLES = """
\b
Examples:
  proctor models                  who would be asked, with which key, at what price
  proctor models --format json
"""

_HEAD = ("model", "kind", "host", "key", "USD/M in", "USD/M out", "price", "SDK")


class Key(Struct, frozen=True):
    """The variable a provider's key is in, and whether it is set. Never the key."""

    variable: str
    is_set: bool


class Sdk(Struct, frozen=True):
    """The package that a provider needs."""

    name: str
    is_installed: bool


class PerMillion(Struct, frozen=True):
    """USD per million tokens of a small call, and where they come from."""

    input: float
    output: float
    source: str


class ModelFacts(Struct, frozen=True, kw_only=True):
    """What is known of a model, None for what is not."""

    model: str
    kind: str | None
    host: str | None
    key: Key | None
    price: PerMillion | None
    sdk: Sdk | None


@click.command("models", epilog=EXAMPLES)
@shape_option
@cwd_option
def command(format_: str, cwd: Path | None) -> int:
    """List the models of the project: where they are, and what they cost.

    These are the models of all suites and prompts. Nobody is asked, and of a key only is said
    whether it is set. A live run reserves the dearest price there is for a model, which may be
    higher than the usual one shown here.
    """
    output = Output()
    config = project_config(cwd, {})
    facts = list(_facts(config, output))
    if format_ == "json":
        found = {"models": facts}
        output.write(msgspec.json.format(encode_json(found), indent=2) + b"\n")
    else:
        _print(facts, output)
    missing = sorted({one.sdk.name for one in facts if one.sdk and not one.sdk.is_installed})
    if missing:
        output.note(f"not installed: {', '.join(missing)}; `{INSTALL}` brings what is needed")
    return ExitCode.OK


def _facts(config: Config, output: Output) -> Iterator[ModelFacts]:
    providers = config.values.providers
    pricing = Pricing(config.values.prices, providers)
    for ref in _models(config):
        name = ref.partition("/")[0]
        provider = provider_config(name, providers)
        address = address_of(provider)
        yield ModelFacts(
            model=ref,
            kind=None if provider is None else provider.kind,
            host=None if address is None else address.label,
            key=None if provider is None else _key(provider),
            price=_price(ref, pricing, output),
            sdk=None if provider is None else _sdk(provider.kind),
        )


def _models(config: Config) -> list[str]:
    """The models of all suites and prompts, sorted; no dataset is read."""
    prompts = Prompts(config.root, config.values.prompts, config.values.project)
    refs: set[str] = set()
    problems: list[ProctorError] = []
    for path in find_suites(config.root, config.values.evals, ()):
        suite, found = load_suite(config.root, path, prompts)
        problems += found
        if suite is not None:
            refs.update(loaded.subject.model.ref for loaded in suite.subjects)
    for prompt_id in prompts.ids():
        loaded = prompts.load(prompt_id)
        if loaded is not None and loaded.prompt.model is not None:
            refs.add(loaded.prompt.model.ref)
    raise_all([*prompts.problems, *problems])
    return sorted(refs)


def _price(ref: str, pricing: Pricing, output: Output) -> PerMillion | None:
    try:
        price = pricing.price(ref)
    except UsageError as problem:
        if problem.code != "P6501":
            output.problems(problem)
        return None
    usual = price.tiers[0]
    return PerMillion(float(usual.input), float(usual.output), price.source)


def _key(provider: ProviderConfig) -> Key | None:
    """The key a provider is given where that is allowed."""
    variable = provider.key_env
    if variable is None and is_official(provider):
        variable = KEY_VARIABLES[provider.kind]
    # What is no name of a variable may be the key itself, put there by mistake.
    if variable is None or not is_key_variable(variable):
        return None
    return Key(variable, bool(os.environ.get(variable)))


def _sdk(kind: str) -> Sdk | None:
    # The official packages are called like the kinds of provider.
    return None if kind == "scripted" else Sdk(kind, find_spec(kind) is not None)


def _print(facts: Iterable[ModelFacts], output: Output) -> None:
    rows = [_HEAD, *map(_cells, facts)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
        output.line("  ".join(cells).rstrip())


def _cells(one: ModelFacts) -> tuple[str, ...]:
    key, price, sdk = one.key, one.price, one.sdk
    return (
        one.model,
        one.kind or "-",
        one.host or "-",
        "-" if key is None else f"{key.variable} ({'set' if key.is_set else 'not set'})",
        *(("-", "-", "-") if price is None else _per_million(price)),
        "-" if sdk is None else sdk.name if sdk.is_installed else f"{sdk.name} (not installed)",
    )


def _per_million(price: PerMillion) -> tuple[str, str, str]:
    return f"{price.input:g}", f"{price.output:g}", price.source
