"""Rubrics: prompts of the project that judge answers.

What a rubric asks for decides its kind. What it is told comes from a fixed set of inputs, each with
a meaning of its own. Those that say which of two answers is better are in `pairwise_rubrics`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import UNSET, Struct
from msgspec.structs import replace

from proctor.contracts import Fields
from proctor.errors import ProctorError, SuiteError
from proctor.records import FieldSpec, JsonObject, Message, Part, Placeholder, Prompt, Warn
from proctor.registry import did_you_mean
from proctor.templates import render


class RubricKind(StrEnum):
    """What a rubric asks for.

    One verdict, one for each rule that the case brings, or which of two answers is better.
    """

    VERDICT = "verdict"
    CRITERIA = "criteria"
    PAIRWISE = "pairwise"


TEXT = FieldSpec(type="string")
_RULES = (FieldSpec(type="list"), FieldSpec(type="list", items=TEXT))
_OF_EVERY_ANSWER = ("response", "case_inputs", "boundary")
_OF_SOME = ("expected", "context", "evidence", "artifact", "transcript")
_RULE_NAMES = ("dos", "donts")
_MEANINGS = (*_OF_EVERY_ANSWER, *_OF_SOME, *_RULE_NAMES)

_RULED = FieldSpec(
    type="list", items=FieldSpec(type="object", fields={"rule": TEXT, "reason": TEXT})
)
_OUTPUTS = {
    RubricKind.VERDICT: {
        "verdict": FieldSpec(type="enum", options=["fail", "pass"]),
        "reason": TEXT,
    },
    RubricKind.CRITERIA: {"violations": _RULED, "passes": _RULED},
}


class Rubric(Struct, frozen=True):
    """A prompt that judges answers, checked: its templates, one list of parts a message."""

    prompt: Prompt
    templates: Sequence[list[Part]]
    kind: RubricKind

    @property
    def used(self) -> frozenset[str]:
        """The inputs that its messages hold."""
        return used_inputs(self.templates)

    def messages(self, inputs: JsonObject) -> tuple[Message, ...]:
        """What a judge is sent.

        Args:
            inputs: The `values` that `judge_inputs` made.
        """
        return tuple(
            Message(role=message.role, content=render(parts, inputs))
            for message, parts in zip(self.prompt.messages, self.templates, strict=True)
        )


def parse_rubric(
    prompt: Prompt, templates: Sequence[list[Part]]
) -> tuple[Rubric | None, list[ProctorError]]:
    """A prompt as a rubric, or None and everything why it cannot be one (P6211).

    Whether its messages keep what is judged apart from what they say is for `rubric_faults`.

    Args:
        prompt: The prompt.
        templates: The parsed templates of its messages.
    """
    kind = next((one for one, output in _OUTPUTS.items() if bare(prompt.output) == output), None)
    faults = [*_output_faults(prompt, kind), *_input_faults(prompt.inputs)]
    faults += _unused(kind, prompt.inputs, used_inputs(templates))
    return made_rubric(prompt, templates, kind, faults)


def made_rubric(
    prompt: Prompt,
    templates: Sequence[list[Part]],
    kind: RubricKind | None,
    faults: Iterable[tuple[str, str]],
) -> tuple[Rubric | None, list[ProctorError]]:
    """A prompt as a rubric of this kind, or None and everything why it cannot be one (P6211).

    Args:
        prompt: The prompt.
        templates: The parsed templates of its messages.
        kind: What it asks for; None when that is nothing a rubric asks for, which is a fault.
        faults: What is wrong with it: the sentence that goes on after its name, and a hint.
    """
    if prompt.function is not None:
        sentence = "is a function, so nobody can see beforehand what it tells a judge"
        return None, [refused(prompt, "P6211", sentence, "write it as `<id>.prompt.yaml`")]
    problems = [refused(prompt, "P6211", sentence, hint) for sentence, hint in faults]
    if kind is None or problems:
        return None, problems
    return Rubric(prompt, templates, kind), []


def self_judging(
    rubric: Rubric, judges: Iterable[str], subjects: Iterable[str], *, where: str | None
) -> list[Warn]:
    """A warning (P6215) for each model that would judge what it answered itself.

    Args:
        rubric: What it judges by.
        judges: The models that judge, by reference.
        subjects: The models under test.
        where: The place of the assertion.
    """
    tested = set(subjects)
    return [
        Warn(
            code="P6215",
            message=f"`{model}` judges its own answers by the rubric `{rubric.prompt.id}`",
            where=where,
        )
        for model in dict.fromkeys(judges)
        if model in tested
    ]


def refused(prompt: Prompt, code: str, sentence: str, hint: str | None) -> ProctorError:
    """A problem with a rubric; `sentence` goes on after its name."""
    message = f"the rubric `{prompt.id}` {sentence}"
    return SuiteError(message, code=code, hint=hint, where=prompt.path)


def used_inputs(templates: Sequence[list[Part]]) -> frozenset[str]:
    """The inputs that some messages hold."""
    return frozenset(
        part.path[0] for parts in templates for part in parts if isinstance(part, Placeholder)
    )


def _output_faults(prompt: Prompt, kind: RubricKind | None) -> Iterator[tuple[str, str]]:
    if kind is None:
        yield (
            "must ask for exactly `verdict` and `reason`, or for `violations` and `passes`",
            "write `output: {verdict: {type: enum, options: [pass, fail]}, "
            "reason: {type: string}}`",
        )
    yield from tool_faults(prompt)


def tool_faults(prompt: Prompt) -> Iterator[tuple[str, str]]:
    """Tools, which no rubric may offer."""
    if prompt.tools:
        yield "offers tools, and a judge that calls one gives no verdict", "take `tools` out"


def _input_faults(inputs: Fields) -> Iterator[tuple[str, str]]:
    if "response" not in inputs:
        yield "has no input `response`", "declare `response: {type: string}`"
    for name, field in inputs.items():
        if name not in _MEANINGS:
            known = f"inputs of a rubric: {', '.join(_MEANINGS)}"
            sentence = f"has the input `{name}`, which nothing is given for"
            yield sentence, did_you_mean(name, _MEANINGS) or known
        elif name in _RULE_NAMES and bare_field(field) not in _RULES:
            wanted = "{type: list, items: {type: string}}"
            yield f"must have `{name}` as a list of strings", f"declare `{name}: {wanted}`"
        elif name not in _RULE_NAMES and not is_text(field, may_be_absent=name in _OF_SOME):
            yield f"must have `{name}` as a string", f"declare `{name}: {{type: string}}`"


def is_text(field: FieldSpec, *, may_be_absent: bool) -> bool:
    """Whether a field is a string, and always given unless it may be absent."""
    found = bare_field(field)
    if may_be_absent:
        found = replace(found, optional=False, default=UNSET)
    return found == TEXT


def _unused(
    kind: RubricKind | None, inputs: Fields, used: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """What has to be shown to a judge, who could not judge otherwise, and is not."""
    needed = _RULE_NAMES if kind is RubricKind.CRITERIA else ()
    for name in needed:
        if name not in inputs:
            wanted = "{type: list, items: {type: string}}"
            yield f"judges by rules but has no input `{name}`", f"declare `{name}: {wanted}`"
    for name in ("response", *needed):
        if name in inputs and name not in used:
            yield f"never shows `{name}` to the judge", f"write `{{{{input.{name}}}}}`"


def bare(fields: Fields | None) -> Fields | None:
    """A contract without its descriptions, the options of an enum in one order."""
    if fields is None:
        return None
    return {name: bare_field(field) for name, field in fields.items()}


def bare_field(field: FieldSpec) -> FieldSpec:
    """A field of a contract likewise."""
    return replace(
        field,
        description=None,
        options=None if field.options is None else sorted(field.options),
        items=None if field.items is None else bare_field(field.items),
        fields=bare(field.fields),
    )
