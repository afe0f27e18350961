"""What every case of a suite must fit: the prompts' contracts, the templates, the assertions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import UNSET

from proctor.contracts import Fields, answer_schema, input_faults, with_defaults
from proctor.loading.bundles import LoadedPrompt
from proctor.loading.cases import CellTypes
from proctor.records import Case, Json, JsonObject, Placeholder
from proctor.records.targets import HttpCall, LoadedTarget
from proctor.templates import MissingValue, value_at

Needs = Callable[[Case], Iterable[tuple[str, str]]]
"""Per assertion that a case gives too little for: its id and a sentence."""
BuildNeeds = Callable[[Case], Iterable[str]]
"""What cannot be asked about what is built for a case, as sentences."""


class SuiteRules:
    """The rules of one suite.

    Args:
        prompts: The prompts under test. A function takes any inputs.
        needs: What the assertions need of a case.
        target: What is under test instead of prompts. It takes any inputs, and must be given
            those that the template of its body uses.
        build_needs: What is asked of what is built for a case, and needs something of that.
    """

    def __init__(
        self,
        prompts: Sequence[LoadedPrompt],
        needs: Needs | None,
        target: LoadedTarget | None = None,
        build_needs: BuildNeeds | None = None,
    ) -> None:
        self._contracts = [
            (loaded.prompt.inputs, _open_placeholders(loaded), _label(loaded, prompts))
            for loaded in prompts
            if loaded.prompt.function is None
        ]
        self._needs = needs
        self._build_needs = build_needs
        self._prompts = prompts
        how = None if target is None else target.how
        self._placeholders = how.placeholders if isinstance(how, HttpCall) else ()

    def cell_types(self) -> CellTypes:
        """What cells of a table are to become, by the first prompt that says something of them."""
        inputs: dict[str, str] = {}
        for fields, _, _ in self._contracts:
            inputs = {name: field.type for name, field in fields.items()} | inputs
        expected: dict[str, str] = {}
        schemas = [answer_schema(loaded.prompt) or {} for loaded in self._prompts]
        for schema in schemas:
            expected = _types_of_members(schema.get("properties")) | expected
        return CellTypes(
            inputs=inputs if self._contracts else None,
            expected=expected,
            answers_are_objects=any(schema.get("type") == "object" for schema in schemas),
        )

    def faults(self, case: Case) -> Iterator[tuple[str, str]]:
        """Code and sentence of everything wrong with one case; quotes no value of it."""
        for scenario in case.scenarios:
            of_scenario = case.in_scenario(scenario)
            for code, fault in (*self._inputs(of_scenario), *self._asked(of_scenario)):
                yield code, f"scenario `{scenario.name}`: {fault}"
        if not case.scenarios:
            yield from self._inputs(case)
            if not case.expectations:
                yield from self._asked(case)
        if self._build_needs is not None:
            for sentence in self._build_needs(case):
                yield "P6104", sentence

    def _inputs(self, case: Case) -> Iterator[tuple[str, str]]:
        for fields, placeholders, label in self._contracts:
            fits = True
            for place, fault in input_faults(fields, case.inputs):
                fits = False
                yield "P6104", f"`{place}` {fault}{label}"
            if placeholders and fits:
                inputs = with_defaults(fields, case.inputs)
                yield from _missing_values(placeholders, inputs, label)
        yield from _missing_values(self._placeholders, case.inputs, "")

    def _asked(self, case: Case) -> Iterator[tuple[str, str]]:
        if self._needs is not None:
            for assertion, sentence in self._needs(case):
                yield "P6104", f"the assertion `{assertion}` cannot be asked: {sentence}"


def _types_of_members(properties: Json) -> dict[str, str]:
    """The JSON types of the members of an object, as far as a schema names one for each."""
    if not isinstance(properties, dict):
        return {}
    return {
        name: schema["type"]
        for name, schema in properties.items()
        if isinstance(schema, dict) and isinstance(schema.get("type"), str)
    }


def _missing_values(
    placeholders: Sequence[Placeholder], inputs: JsonObject, label: str
) -> Iterator[tuple[str, str]]:
    for placeholder in placeholders:
        try:
            value_at(placeholder, inputs)
        except MissingValue as missing:
            yield "P6104", f"the template uses `{missing.path}`, which this case lacks{label}"


def _label(loaded: LoadedPrompt, prompts: Sequence[LoadedPrompt]) -> str:
    return f" (prompt `{loaded.prompt.id}`)" if len(prompts) > 1 else ""


def _open_placeholders(loaded: LoadedPrompt) -> list[Placeholder]:
    """Placeholders that a case within the contract may still have no value for."""
    return [one for one in loaded.placeholders() if _may_lack(one, loaded.prompt.inputs)]


def _may_lack(placeholder: Placeholder, inputs: Fields) -> bool:
    fields: Fields | None = inputs
    for name in placeholder.path:
        if fields is None:
            return True
        field = fields[name]
        if field.optional and field.default is UNSET:
            return True
        fields = field.fields
    return False
