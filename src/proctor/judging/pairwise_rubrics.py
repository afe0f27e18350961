"""Rubrics that say which of two answers to one case is better."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from proctor.contracts import Fields
from proctor.errors import ProctorError
from proctor.judging.rubrics import (
    TEXT,
    Rubric,
    RubricKind,
    bare,
    is_text,
    made_rubric,
    tool_faults,
    used_inputs,
)
from proctor.records import FieldSpec, Part, Prompt
from proctor.registry import did_you_mean

BOTH: Final = ("first", "second")
"""The inputs that hold the two answers."""

_MEANINGS = (*BOTH, "case_inputs", "expected", "boundary")
_OUTPUT = {
    "winner": FieldSpec(type="enum", options=["first", "second", "tie"]),
    "reason": TEXT,
}
_WANTED = "`output: {winner: {type: enum, options: [first, second, tie]}, reason: {type: string}}`"


def parse_pairwise_rubric(
    prompt: Prompt, templates: Sequence[list[Part]]
) -> tuple[Rubric | None, list[ProctorError]]:
    """A prompt as a rubric that compares, or None and everything why it cannot be one (P6211).

    Whether its messages keep what is judged apart from what they say is for `rubric_faults`.

    Args:
        prompt: The prompt.
        templates: The parsed templates of its messages.
    """
    faults = [*_output_faults(prompt), *_input_faults(prompt.inputs, used_inputs(templates))]
    return made_rubric(prompt, templates, RubricKind.PAIRWISE, faults)


def _output_faults(prompt: Prompt) -> Iterator[tuple[str, str]]:
    if bare(prompt.output) != _OUTPUT:
        yield "must ask for exactly `winner` and `reason`", f"write {_WANTED}"
    yield from tool_faults(prompt)


def _input_faults(inputs: Fields, used: frozenset[str]) -> Iterator[tuple[str, str]]:
    for name in BOTH:
        if name not in inputs:
            yield f"has no input `{name}`", f"declare `{name}: {{type: string}}`"
        elif name not in used:
            yield f"never shows `{name}` to the judge", f"write `{{{{input.{name}}}}}`"
    for name, field in inputs.items():
        if name not in _MEANINGS:
            known = f"inputs of a rubric that compares: {', '.join(_MEANINGS)}"
            sentence = f"has the input `{name}`, which nothing is given for"
            yield sentence, did_you_mean(name, _MEANINGS) or known
        elif not is_text(field, may_be_absent=name == "expected"):
            yield f"must have `{name}` as a string", f"declare `{name}: {{type: string}}`"
