"""The kinds of checks: what each is told, and how it judges one value of a response.

A judge says with a short code why a value does not pass, and nothing when it does.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, NamedTuple

from msgspec import Meta, Struct

from proctor.assertions.base import cannot_fail, invalid
from proctor.assertions.matching import json_equal
from proctor.assertions.regex import compile_pattern, refuse_empty_matches
from proctor.canonical import canonical_json
from proctor.packets.contract import OPEN, value_faults
from proctor.packets.formats import MAX_CHECKS, ResponseField
from proctor.records import Identifier, Json

Judge = Callable[[Json], str | None]
Evidence = Mapping[str, str]

REGEX_TIMEOUT_S: Final = 1.0
MAX_TITLE: Final = 80
"""Characters of a text that `words-from` accepts."""

_TEXTS: Final = ("string", "enum")
_TITLE: Final = re.compile(r"[A-Za-z]+(?: [A-Za-z]+){0,7}")
_WORD: Final = re.compile(r"[^\W_]+")


class CheckFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every check says.

    Args:
        id: Unique in the case.
        field: What is checked: the name of a field, or a JSON Pointer when it starts with `/`.
    """

    id: Identifier
    kind: str
    field: str


class ValueCheck(CheckFile, frozen=True, kw_only=True):
    """A check against one value.

    Args:
        value: What is expected; null is a value.
    """

    value: Json


class TextCheck(CheckFile, frozen=True, kw_only=True):
    """A check against one text.

    Args:
        value: The expected text.
    """

    value: str


class ValuesCheck(CheckFile, frozen=True, kw_only=True):
    """A check against several values.

    Args:
        values: What is expected.
    """

    values: list[Json]


class RegexCheck(CheckFile, frozen=True, kw_only=True):
    """A check by a regular expression.

    Args:
        pattern: What must be found somewhere in the text, within a second.
        flags: Letters of `i`, `m`, `s` and `x`.
    """

    pattern: str
    flags: str = ""


class GroupCheck(CheckFile, frozen=True, kw_only=True):
    """Several checks as one.

    Args:
        of: The checks. One without `field` is on the field of the group, and one without `id` is
            called by its place.
    """

    of: Annotated[list[Json], Meta(max_length=MAX_CHECKS)]


class WordsCheck(CheckFile, frozen=True, kw_only=True):
    """A check by the words of an evidence text.

    Args:
        evidence: The name of the text.
    """

    evidence: Identifier


class Kind(NamedTuple):
    """What a kind is told, what it asks for, and what makes it ready to judge.

    `compile` raises a `SuiteError` for what can never fail (P6202), and for what cannot be asked
    or could never pass (P6201).
    """

    spec: type[CheckFile]
    about: str
    compile: Callable[[Any, ResponseField, Evidence], Judge]


def _equals(spec: ValueCheck, field: ResponseField, evidence: Evidence) -> Judge:
    _require_fit(field, spec.value, "value")
    return lambda found: None if json_equal(spec.value, found) else "not_equal"


def _exact_text(spec: TextCheck, field: ResponseField, evidence: Evidence) -> Judge:
    _require_fit(field, spec.value, "value")

    def judge(found: Json) -> str | None:
        if not isinstance(found, str):
            return "not_text"
        return None if found == spec.value else "not_equal"

    return judge


def _ordered_equals(spec: ValuesCheck, field: ResponseField, evidence: Evidence) -> Judge:
    _require_fit(field, spec.values, "values")

    def judge(found: Json) -> str | None:
        if not isinstance(found, list):
            return "not_a_list"
        if json_equal(spec.values, found):
            return None
        return "other_order" if _same_values(spec.values, found) else "other_values"

    return judge


def _set_equals(spec: ValuesCheck, field: ResponseField, evidence: Evidence) -> Judge:
    if _has_repeats(spec.values):
        raise invalid("`values` has a value twice, and a set has each once")
    _require_fit(field, spec.values, "values")

    def judge(found: Json) -> str | None:
        if not isinstance(found, list):
            return "not_a_list"
        if _has_repeats(found):
            return "repeated_value"
        return None if _same_values(spec.values, found) else "other_values"

    return judge


def _contains(spec: ValueCheck, field: ResponseField, evidence: Evidence) -> Judge:
    if spec.value == "" and field.type in _TEXTS:
        raise cannot_fail("an empty `value` is found in every text")
    return _search(spec, field, {True: None, False: "not_found"})


def _not_contains(spec: ValueCheck, field: ResponseField, evidence: Evidence) -> Judge:
    if spec.value == "" and field.type in _TEXTS:
        raise invalid("the check can never pass: an empty `value` is found in every text")
    return _search(spec, field, {True: "found", False: None})


def _search(
    spec: ValueCheck, field: ResponseField, reasons: Mapping[bool | None, str | None]
) -> Judge:
    _require_part(field, spec.value)
    every_reason = {None: "no_text_or_list", **reasons}
    return lambda found: every_reason[_is_within(spec.value, found)]


def _regex(spec: RegexCheck, field: ResponseField, evidence: Evidence) -> Judge:
    _require_type(field, _TEXTS)
    pattern = compile_pattern(spec.pattern, spec.flags)
    refuse_empty_matches(pattern)

    def judge(found: Json) -> str | None:
        if not isinstance(found, str):
            return "not_text"
        try:
            is_found = pattern.search(found, timeout=REGEX_TIMEOUT_S) is not None
        except TimeoutError:
            return "timed_out"
        return None if is_found else "no_match"

    return judge


def _one_of(spec: ValuesCheck, field: ResponseField, evidence: Evidence) -> Judge:
    if not spec.values:
        raise invalid("the check can never pass: `values` is empty")
    for index, value in enumerate(spec.values):
        _require_fit(field, value, f"values[{index}]")

    def judge(found: Json) -> str | None:
        is_one = any(json_equal(value, found) for value in spec.values)
        return None if is_one else "not_one_of"

    return judge


def _is_null(spec: CheckFile, field: ResponseField, evidence: Evidence) -> Judge:
    if not field.nullable:
        raise invalid("the check can never pass: the field is not `nullable`")
    return lambda found: None if found is None else "not_null"


def _words_from(spec: WordsCheck, field: ResponseField, evidence: Evidence) -> Judge:
    _require_type(field, _TEXTS)
    if spec.evidence not in evidence:
        raise invalid(f"the case has no evidence `{spec.evidence}`")
    return words_from(evidence[spec.evidence])


def words_from(text: str) -> Judge:
    """Judges whether a text is made of 1 to 8 words of another one, parted by single spaces.

    A word is made of ASCII letters and is a whole word of the other text; case is ignored. It has
    at most 80 characters in all.
    """
    # A letter with a mark behind it is not the bare letter.
    normal = unicodedata.normalize("NFC", text)
    known = {word.lower() for word in _WORD.findall(normal) if word.isascii()}

    def judge(found: Json) -> str | None:
        if not isinstance(found, str):
            return "not_text"
        if len(found) > MAX_TITLE or not _TITLE.fullmatch(found):
            return "not_words"
        is_known = all(word in known for word in found.lower().split(" "))
        return None if is_known else "foreign_word"

    return judge


def _require_fit(field: ResponseField, value: Json, key: str) -> None:
    """Refuse an expected value that the contract does not let anybody answer."""
    if field is OPEN:
        return
    for place, fault in value_faults(field, value, key):
        raise invalid(f"the check can never pass: `{place}` {fault}")


def _require_part(field: ResponseField, value: Json) -> None:
    """Refuse to look for what cannot be in any value of the field."""
    _require_type(field, (*_TEXTS, "list"))
    if field is OPEN:
        return
    if field.type == "list":
        _require_fit(field.items or OPEN, value, "value")
    elif not isinstance(value, str):
        raise invalid("the check can never pass: only a text is found in a text")


def _require_type(field: ResponseField, types: tuple[str, ...]) -> None:
    if field is not OPEN and field.type not in types:
        raise invalid(f"the check can never pass: the field is of type {field.type}")


def _is_within(value: Json, found: Json) -> bool | None:
    """Whether a value is part of a text or a member of a list, None when it is neither."""
    if isinstance(found, str):
        return isinstance(value, str) and value in found
    if isinstance(found, list):
        return any(json_equal(value, member) for member in found)
    return None


def _same_values(some: list[Json], others: list[Json]) -> bool:
    """Whether two lists hold the same values, each as often, in whatever order."""
    return Counter(map(canonical_json, some)) == Counter(map(canonical_json, others))


def _has_repeats(values: list[Json]) -> bool:
    return len(set(map(canonical_json, values))) < len(values)


GROUP: Final = "all-of"
"""The one kind that is made ready of its parts, by `checks.py`."""

KINDS: Final[dict[str, Kind]] = {
    "equals": Kind(ValueCheck, "The same value, of the same type.", _equals),
    "exact-text": Kind(TextCheck, "The same text, white space at its ends included.", _exact_text),
    "ordered-equals": Kind(ValuesCheck, "A list of these values in this order.", _ordered_equals),
    "set-equals": Kind(
        ValuesCheck, "A list of these values, each once, in any order.", _set_equals
    ),
    "contains": Kind(ValueCheck, "A text or a list with the value in it.", _contains),
    "not-contains": Kind(ValueCheck, "A text or a list without the value in it.", _not_contains),
    "regex": Kind(RegexCheck, "A text in which the pattern is found.", _regex),
    "one-of": Kind(ValuesCheck, "One of these values.", _one_of),
    "is-null": Kind(CheckFile, "Null.", _is_null),
    "words-from": Kind(
        WordsCheck,
        "A text of 1 to 8 words that stand in an evidence text, parted by single spaces.",
        _words_from,
    ),
}


def listed_kinds() -> dict[str, tuple[type[CheckFile], str]]:
    """What each kind is told and what it asks for, by its name."""
    listed = {name: (kind.spec, kind.about) for name, kind in KINDS.items()}
    return {**listed, GROUP: (GroupCheck, "All of these checks.")}
