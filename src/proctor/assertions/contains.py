"""The kind `contains`: a text holds other texts, or a list holds values."""

from __future__ import annotations

from typing import ClassVar, Literal, cast

from msgspec import UNSET, Struct, UnsetType

from proctor.assertions.answers import Failure
from proctor.assertions.base import (
    AnswerAssertion,
    ComparingSpec,
    Expectation,
    cannot_fail,
    invalid,
)
from proctor.assertions.matching import json_equal, spell
from proctor.protocols import Scope
from proctor.records import AssertionSpec, Case, Json


class ContainsSpec(ComparingSpec, frozen=True, kw_only=True):
    """The fields of `contains`."""

    values: list[Json] | UnsetType = UNSET
    mode: Literal["all", "any"] = "all"


class Found(Struct, frozen=True, gc=False):
    """Which of the values are there; true when they are enough."""

    there: list[Json]
    enough: bool

    def __bool__(self) -> bool:
        return self.enough


_NOT_FOUND = Found([], enough=False)


class Contains(AnswerAssertion[Found]):
    """All (or any) of the values are in the answer, or in a part of it.

    In a list they are looked for as members, by equality; in everything else as text. A list as
    expected value stands for several values.
    """

    Spec: ClassVar[type[AssertionSpec]] = ContainsSpec

    def __init__(self, spec: ContainsSpec) -> None:
        super().__init__(spec)
        given = spec.value if isinstance(spec.values, UnsetType) else spec.values
        self._expectation = Expectation(given, spec.expected, field=spec.field)
        self._fold = spec.fold
        self._any = spec.mode == "any"
        self._given = None if given is UNSET else _listed(given)
        self._given_texts = None if self._given is None else self._spell_all(self._given)

    @staticmethod
    def compile(spec: AssertionSpec, scope: Scope) -> Contains:
        """Make the assertion ready.

        Raises:
            SuiteError: P6201 when more than one of `value`, `values` and `expected` is given;
                P6202 when there is nothing to look for, or an empty text, which is in every text.
        """
        spec = cast("ContainsSpec", spec)
        if spec.values is not UNSET and not (spec.value is UNSET and spec.expected is UNSET):
            other = "expected" if spec.value is UNSET else "value"
            raise invalid(f"`values` and `{other}` exclude each other")
        assertion = Contains(spec)
        if assertion._given is not None:
            fault = assertion._idle(assertion._given)
            if fault is not None:
                raise cannot_fail(f"the assertion {fault}", "write what the answer must hold")
        return assertion

    def needs(self, case: Case) -> str | None:
        """What this case lacks, or that it gives nothing that could fail."""
        return self._expectation.unfit(case, self._fault)

    def _fault(self, value: Json) -> str | None:
        fault = self._idle(_listed(value))
        return None if fault is None else f"it {fault}"

    def reads_json(self, case: Case) -> bool:
        """Whether a value is looked for that is not text."""
        return not all(isinstance(one, str) for one in self._wanted(case))

    def match(self, value: Json, case: Case) -> Found | Failure:
        """Which of the values are there, and whether they are enough."""
        wanted = self._wanted(case)
        if value.__class__ is str and self._fold is None and len(wanted) == 1:
            (one,) = wanted
            if one.__class__ is str:
                return Found(wanted, enough=True) if one in value else _NOT_FOUND
        if isinstance(value, list):
            fold = self._fold
            there = [one for one in wanted if any(json_equal(one, item, fold) for item in value)]
        else:
            text = self._spell(value)
            parts = self._given_texts if self._given is wanted else self._spell_all(wanted)
            if text is None or parts is None:
                return Failure("not_text", self.place, self.evidence())
            there = [one for one, part in zip(wanted, parts, strict=True) if part in text]
        return Found(there, bool(there) if self._any else len(there) == len(wanted))

    def explain(self, value: Json, case: Case, result: Found) -> Failure:
        """Which values are missing, or which are there."""
        if result.enough:
            return Failure("found", self.place, self.evidence(got=_single(result.there)))
        wanted = self._wanted(case)
        missing = [one for one in wanted if not any(one is there for there in result.there)]
        evidence = self.evidence(expected=_single(missing), got=value)
        return Failure("not_found", self.place, evidence)

    def _wanted(self, case: Case) -> list[Json]:
        return _listed(self._expectation.of(case)) if self._given is None else self._given

    def _spell_all(self, values: list[Json]) -> list[str] | None:
        """The values as text, None when one of them is not text."""
        texts = [self._spell(value) for value in values]
        return [text for text in texts if text is not None] if None not in texts else None

    def _spell(self, value: Json) -> str | None:
        text = spell(value)
        return text if text is None or self._fold is None else self._fold(text)

    def _idle(self, wanted: list[Json]) -> str | None:
        """Why looking for this can never fail, or None."""
        if not wanted:
            return "has nothing to look for"
        if any(self._spell(one) == "" for one in wanted):
            return "looks for an empty text, which is in every text"
        return None


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _single(values: list[Json]) -> Json:
    return values[0] if len(values) == 1 else values
