"""Names to implementations, loaded when first asked for.

A registry holds `module:attribute` strings, so that listing the kinds costs no import, and a part
that nobody uses is never loaded. Only a name that is not built in is looked for in other packages:
finding out what is installed takes longer than everything else here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, cast

from proctor.errors import SuiteError
from proctor.protocols import AssertionKind
from proctor.records import AssertionSpec
from proctor.report_protocols import (
    ComparisonRenderer,
    PairwiseRenderer,
    Renderer,
    SideBySideRenderer,
)
from proctor.version import VERSION

if TYPE_CHECKING:
    from proctor.plugins import Plugin

Part = TypeVar("Part")


class Listed(NamedTuple):
    """A part that there is: its name, the package it comes from, and why it is refused."""

    name: str
    package: str
    version: str
    problem: str | None


class Registry(Generic[Part]):
    """The known implementations of one seam, by name.

    Args:
        noun: What the names stand for, in messages.
        entries: Name to `module:attribute`.
        group: The entry point group of other packages, when they may bring parts too.
        unfit: Why something they bring is no such part, as a sentence, or None.
    """

    def __init__(
        self,
        noun: str,
        entries: dict[str, str],
        *,
        group: str | None = None,
        unfit: Callable[[object], str | None] = lambda _: None,
    ) -> None:
        self.noun = noun
        self._entries = dict(entries)
        self._group = group
        self._unfit = unfit
        self._loaded: dict[str, Part] = {}

    def names(self) -> list[str]:
        """Every name that is built in, sorted."""
        return sorted(self._entries)

    def every_name(self) -> list[str]:
        """Every known name, those of other packages too, sorted."""
        return sorted({*self._entries, *(plugin.name for plugin in self._plugins())})

    def listed(self) -> list[Listed]:
        """Everything there is, sorted by name; no part is loaded."""
        built_in = [Listed(name, "proctor", VERSION, None) for name in self._entries]
        others = [
            Listed(plugin.name, plugin.package, plugin.version, self._clash(plugin))
            for plugin in self._plugins()
        ]
        return sorted([*built_in, *others], key=lambda one: (one.name, one.package))

    def get(self, name: str) -> Part | None:
        """The implementation called `name`, or None when there is none.

        Raises:
            SuiteError: P6201 when it is looked for in other packages, and one of them names a part
                that is built in, two bring it, or it cannot be loaded.
        """
        if name not in self._loaded:
            part = self._built_in(name) if name in self._entries else self._plugged_in(name)
            if part is None:
                return None
            self._loaded[name] = part
        return self._loaded[name]

    def _built_in(self, name: str) -> Part:
        module, _, attribute = self._entries[name].partition(":")
        return cast("Part", getattr(import_module(module), attribute))

    def _plugged_in(self, name: str) -> Part | None:
        found = None
        for plugin in self._plugins():
            if plugin.name in self._entries or plugin.name == name:
                clash = self._clash(plugin)
                if clash is not None:
                    raise SuiteError(clash, code="P6201", hint="uninstall one of them")
                found = plugin
        if found is None:
            return None
        from proctor.plugins import load_plugin, unusable

        part = load_plugin(found)
        why = self._unfit(part)
        if why is not None:
            raise unusable(found, why)
        return cast("Part", part)

    def _plugins(self) -> list[Plugin]:
        if self._group is None:
            return []
        from proctor.plugins import find_plugins

        return find_plugins(self._group)

    def _clash(self, plugin: Plugin) -> str | None:
        """Why a plugin is refused because of its name, or None."""
        if plugin.name in self._entries:
            return f"the plugin {plugin.label} has the {self.noun} `{plugin.name}`, a built-in one"
        labels = [other.label for other in self._plugins() if other.name == plugin.name]
        if len(labels) > 1:
            return f"the plugins {' and '.join(labels)} have the same {self.noun} `{plugin.name}`"
        return None


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A sentence that names the most similar known word, or None when nothing is similar."""
    from difflib import get_close_matches

    matches = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean `{matches[0]}`?" if matches else None


def _unfit_kind(part: object) -> str | None:
    spec = getattr(part, "Spec", None)
    if not (isinstance(spec, type) and issubclass(spec, AssertionSpec)):
        return "it has no `Spec` that is an `AssertionSpec`"
    return None if callable(getattr(part, "compile", None)) else "it has no `compile`"


assertion_kinds: Registry[AssertionKind] = Registry(
    "assertion kind",
    {
        "all-of": "proctor.assertions.groups:AllOf",
        "any-of": "proctor.assertions.groups:AnyOf",
        "choice": "proctor.assertions.choice:Choice",
        "contains": "proctor.assertions.contains:Contains",
        "cost": "proctor.assertions.figures:CostLimit",
        "ends-with": "proctor.assertions.affixes:EndsWith",
        "equals": "proctor.assertions.equals:Equals",
        "json-schema": "proctor.assertions.json_schema:JsonSchema",
        "latency": "proctor.assertions.figures:LatencyLimit",
        "length": "proctor.assertions.length:Length",
        "llm-judge": "proctor.assertions.judge:LlmJudge",
        "number": "proctor.assertions.number:Number",
        "one-of": "proctor.assertions.one_of:OneOf",
        "python": "proctor.assertions.python_function:PythonFunction",
        "regex": "proctor.assertions.regex:Regex",
        "similarity": "proctor.assertions.similarity:Similarity",
        "starts-with": "proctor.assertions.affixes:StartsWith",
        "tool-calls": "proctor.assertions.tool_calls:ToolCalls",
    },
    group="proctor.assertions",
    unfit=_unfit_kind,
)


def _unfit_source(part: object) -> str | None:
    return None if callable(getattr(part, "load", part)) else "it has no `load`"


case_sources: Registry[object] = Registry(
    "case source", {}, group="proctor.sources", unfit=_unfit_source
)

renderers: Registry[Renderer] = Registry(
    "format",
    {
        "html": "proctor.rendering.html.report:render_html",
        "json": "proctor.rendering.report_json:render_json",
        "junit": "proctor.rendering.junit:render_junit",
        "markdown": "proctor.rendering.markdown:render_markdown",
        "text": "proctor.rendering.text:render_text",
    },
)

pairwise_renderers: Registry[PairwiseRenderer] = Registry(
    "format",
    {
        "html": "proctor.rendering.html.pairwise:render_html_pairwise",
        "json": "proctor.rendering.pairwise_json:render_pairwise_json",
        "markdown": "proctor.rendering.pairwise_markdown:render_pairwise_markdown",
        "text": "proctor.rendering.pairwise_text:render_pairwise_text",
    },
)

comparison_renderers: Registry[ComparisonRenderer] = Registry(
    "format",
    {
        "json": "proctor.rendering.comparison_json:render_comparison_json",
        "markdown": "proctor.rendering.comparison_markdown:render_comparison_markdown",
        "text": "proctor.rendering.comparison_text:render_comparison_text",
    },
)

side_by_side_renderers: Registry[SideBySideRenderer] = Registry(
    "format", {"html": "proctor.rendering.html.report:render_html_comparison"}
)
"""Those that show the answers of both reports, which a comparison does not hold."""
