"""Names to implementations, loaded when first asked for.

A registry holds `module:attribute` strings, so that listing the kinds costs no import, and a part
that nobody uses is never loaded.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Generic, TypeVar, cast

from proctor.protocols import AssertionKind, Renderer

Part = TypeVar("Part")


class Registry(Generic[Part]):
    """The known implementations of one seam, by name.

    Args:
        noun: What the names stand for, in messages.
        entries: Name to `module:attribute`.
    """

    def __init__(self, noun: str, entries: dict[str, str]) -> None:
        self.noun = noun
        self._entries = dict(entries)
        self._loaded: dict[str, Part] = {}

    def names(self) -> list[str]:
        """Every known name, sorted."""
        return sorted(self._entries)

    def get(self, name: str) -> Part | None:
        """The implementation called `name`, or None when there is none."""
        if name not in self._loaded:
            if name not in self._entries:
                return None
            module, _, attribute = self._entries[name].partition(":")
            self._loaded[name] = cast("Part", getattr(import_module(module), attribute))
        return self._loaded[name]


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A sentence that names the most similar known word, or None when nothing is similar."""
    from difflib import get_close_matches

    matches = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean `{matches[0]}`?" if matches else None


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
        "number": "proctor.assertions.number:Number",
        "one-of": "proctor.assertions.one_of:OneOf",
        "python": "proctor.assertions.python_function:PythonFunction",
        "regex": "proctor.assertions.regex:Regex",
        "similarity": "proctor.assertions.similarity:Similarity",
        "starts-with": "proctor.assertions.affixes:StartsWith",
        "tool-calls": "proctor.assertions.tool_calls:ToolCalls",
    },
)

renderers: Registry[Renderer] = Registry(
    "format",
    {
        "json": "proctor.rendering.report_json:render_json",
        "text": "proctor.rendering.text:render_text",
    },
)
