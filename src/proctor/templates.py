r"""Prompt templates: `{{input.name}}` is replaced once, and nothing else is special.

`{{name}}` is a shorthand and `{{input.a.b}}` reads a field of an object. `\{{` stands for a
literal `{{`. What is inserted is never looked at again, so text in the data that looks like a
placeholder comes out as it went in.
"""

from __future__ import annotations

import re

from proctor.canonical import canonical_json
from proctor.records import FieldSpec, Json, JsonObject, Part, Placeholder
from proctor.registry import did_you_mean

_BRACES = re.compile(r"\\\{\{|\{\{([^{}]*)\}\}|\{\{")
_NAME = re.compile(r"\s*([A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*)\s*\Z", re.ASCII)
_MAX_PROBLEMS = 20
_MAX_SHOWN = 60


class TemplateProblem(ValueError):
    """A template that cannot be used.

    Args:
        detail: A sentence.
        line: The 0-based line within the template.
        hint: What to do about it.
    """

    def __init__(self, detail: str, line: int, hint: str | None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.line = line
        self.hint = hint


class MissingValue(ValueError):
    """A placeholder has no value in a case. `path` is spelled with dots."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def parse_template(
    text: str, inputs: dict[str, FieldSpec]
) -> tuple[list[Part], list[TemplateProblem]]:
    """A template as literal text and placeholders, and what is wrong with it.

    A template with more than 20 problems is not read to its end.

    Args:
        text: The template.
        inputs: The declared inputs that placeholders may name.
    """
    parts: list[Part] = []
    problems: list[TemplateProblem] = []
    end = line = counted = 0
    for match in _BRACES.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        parts.append(text[end : match.start()])
        end = match.end()
        if match.group().startswith("\\"):
            parts.append("{{")
            continue
        try:
            parts.append(_placeholder(match.group(1), inputs))
        except _Unknown as unknown:
            if len(problems) == _MAX_PROBLEMS:
                more = "there are more placeholders that cannot be used"
                problems.append(TemplateProblem(more, line, None))
                break
            problems.append(TemplateProblem(str(unknown), line, unknown.hint))
    parts.append(text[end:])
    return [part for part in parts if part != ""], problems


def parse_open_template(text: str) -> tuple[list[Part], list[TemplateProblem]]:
    """The same for a template without a contract, whose placeholders may name any input.

    Example:
        >>> parse_open_template("{{input.a.b}}!")
        ([Placeholder(path=('a', 'b')), '!'], [])
    """
    return parse_template(text, {name: FieldSpec(type="object") for name in names_in(text)})


def names_in(text: str) -> list[str]:
    """The inputs that the placeholders of a template name, in the order of their first use.

    Example:
        >>> names_in("{{input.b}} {{a}} {{b}}")
        ['b', 'a']
    """
    names: dict[str, None] = {}
    for match in _BRACES.finditer(text):
        name = _NAME.match(match.group(1) or "")
        if name is not None:
            names[_steps(name.group(1))[0]] = None
    return list(names)


def render(parts: list[Part], values: JsonObject) -> str:
    """The template with its values: strings as they are, everything else as canonical JSON.

    Raises:
        MissingValue: When a placeholder has no value.
    """
    return "".join(
        part if isinstance(part, str) else _spell(value_at(part, values)) for part in parts
    )


def value_at(placeholder: Placeholder, values: JsonObject) -> Json:
    """The value a placeholder stands for.

    Raises:
        MissingValue: When the values have none.
    """
    value: Json = values
    for name in placeholder.path:
        if not isinstance(value, dict) or name not in value:
            raise MissingValue(".".join(placeholder.path))
        value = value[name]
    return value


class _Unknown(ValueError):
    def __init__(self, detail: str, hint: str | None) -> None:
        super().__init__(detail)
        self.hint = hint


def _placeholder(body: str | None, inputs: dict[str, FieldSpec]) -> Placeholder:
    shown = "{{" if body is None else "{{" + _shortened(body) + "}}"
    name = None if body is None else _NAME.match(body)
    if name is None:
        raise _Unknown(
            f"`{shown}` is not a placeholder",
            "placeholders are written {{input.name}}; write \\{{ for two literal braces",
        )
    path = _steps(name.group(1))
    _require_declared(path, inputs, shown)
    return Placeholder(path)


def _steps(name: str) -> tuple[str, ...]:
    """The path a placeholder's name stands for; `input.` before it says nothing."""
    path = tuple(name.split("."))
    return path[1:] if path[0] == "input" and len(path) > 1 else path


def _require_declared(path: tuple[str, ...], inputs: dict[str, FieldSpec], shown: str) -> None:
    fields: dict[str, FieldSpec] | None = inputs
    for depth, name in enumerate(path):
        if fields is None:
            return
        if name not in fields:
            holder = f"`{'.'.join(path[:depth])}` has no field" if depth else "there is no input"
            declared = ", ".join(sorted(fields)[:8]) or "none"
            raise _Unknown(
                f"the placeholder `{shown}` names nothing: {holder} `{_shortened(name)}`",
                did_you_mean(name, fields) or f"declared: {declared}",
            )
        field = fields[name]
        if field.type != "object" and depth < len(path) - 1:
            raise _Unknown(
                f"the placeholder `{shown}` reads a field of `{name}`, "
                f"which is of type {field.type}",
                "only an object has fields",
            )
        fields = field.fields


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


def _spell(value: Json) -> str:
    return value if isinstance(value, str) else canonical_json(value).decode("utf-8")
