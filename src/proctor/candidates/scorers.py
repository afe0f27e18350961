"""Scorers that need no code: each is a definition, compiled once, that can be called.

They share their matching with the suites' assertions of the same names, but read an output as it
is: a string is never parsed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import dataclass, field, fields
from typing import ClassVar, Final

from proctor.assertions.matching import folding, json_equal
from proctor.candidates.outputs import plain, select, text_of
from proctor.candidates.schema_subset import MAX_ISSUES, compile_subset, find_issues
from proctor.candidates.values import ScorerResult, ScorerTarget
from proctor.canonical import canonical_json
from proctor.errors import EvalInputError, SuiteError
from proctor.pointers import MISSING, Tokens, parse_pointer
from proctor.records import Json, JsonObject

REGEX_TIMEOUT_S: Final = 1.0
MAX_EVIDENCE_BYTES: Final = 4_096

_FLAGS: Final = ("", "i", "m", "im")
_PASSED: Final = ScorerResult(1.0, True)
_MOST_KNOWN: Final = 256

Judge = Callable[[Json], ScorerResult]


@dataclass(frozen=True)
class DeterministicScorer(ABC):
    """A definition that was validated and compiled. It can be called with a target."""

    type: ClassVar[str]

    _judge: Judge = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_judge", self._compiled())

    def __call__(self, target: ScorerTarget) -> ScorerResult:
        """Score the output of a target."""
        return self._judge(target.output)

    @abstractmethod
    def _compiled(self) -> Judge:
        """Check the fields; return what judges an output.

        Raises:
            EvalInputError: P6005 when a field cannot be used.
        """


@dataclass(frozen=True)
class ContainsScorer(DeterministicScorer):
    """The selected output contains a string.

    Args:
        path: A JSON Pointer into the output; an empty one is the whole output.
        value: What is looked for.
        case_insensitive: Compare by `str.casefold`.
    """

    type: ClassVar[str] = "contains"

    path: str
    value: str
    case_insensitive: bool = False

    def _compiled(self) -> Judge:
        _check_type(self.value, str, "value")
        _check_type(self.case_insensitive, bool, "case_insensitive")
        if not self.value:
            raise EvalInputError("`value` is empty, which every text contains", field="value")
        fold = folding(trim=False, ignore_case=self.case_insensitive)
        if fold is None:
            value = self.value
            return _text_judge(self.path, lambda text: None if value in text else "not_found")
        folded = fold(self.value)
        return _text_judge(self.path, lambda text: None if folded in fold(text) else "not_found")


@dataclass(frozen=True)
class RegexScorer(DeterministicScorer):
    """The selected output matches a pattern, anywhere, within a second.

    Args:
        path: A JSON Pointer into the output; an empty one is the whole output.
        pattern: A regular expression.
        flags: `i` ignores case, `m` lets `^` and `$` match at every line; `im` does both.
    """

    type: ClassVar[str] = "regex"

    path: str
    pattern: str
    flags: str = ""

    def _compiled(self) -> Judge:
        from proctor.assertions.regex import compile_pattern, refuse_empty_matches

        _check_type(self.pattern, str, "pattern")
        if self.flags not in _FLAGS:
            raise EvalInputError("`flags` must be `i`, `m`, `im` or empty", field="flags")
        try:
            pattern = compile_pattern(self.pattern, self.flags)
            refuse_empty_matches(pattern)
        except SuiteError as problem:
            raise EvalInputError(problem.message, field="pattern", hint=problem.hint) from None

        def reason(text: str) -> str | None:
            try:
                # The limit is on the time of the whole process, so no other thread may run.
                found = pattern.search(text, timeout=REGEX_TIMEOUT_S, concurrent=False)
            except TimeoutError:
                return "timed_out"
            return None if found else "no_match"

        return _text_judge(self.path, reason)


@dataclass(frozen=True)
class AttributeEqualityScorer(DeterministicScorer):
    """Two parts of the output are deeply equal.

    Args:
        left_path: A JSON Pointer into the output.
        right_path: Another one.
    """

    type: ClassVar[str] = "attribute-equality"

    left_path: str
    right_path: str

    def _compiled(self) -> Judge:
        sides = [
            (path, _tokens(path, name))
            for path, name in ((self.left_path, "left_path"), (self.right_path, "right_path"))
        ]

        def judge(output: Json) -> ScorerResult:
            values = []
            for path, tokens in sides:
                value = select(output, tokens)
                if value is MISSING:
                    return _missing(path)
                values.append(plain(value))
            left, right = values
            return _PASSED if json_equal(left, right) else _failed(_sides(left, right))

        return judge


@dataclass(frozen=True)
class JsonSchemaScorer(DeterministicScorer):
    """The whole output fits a schema of a small subset of JSON Schema.

    Args:
        schema: A mapping, or a boolean. Of it, `type` (one type), `const`, `enum`, `properties`,
            `required` and `additionalProperties: false` are checked; all else is ignored.
        strict: Refuse a schema with anything that is not checked.
    """

    type: ClassVar[str] = "json-schema"

    schema: Json
    strict: bool = False

    def _compiled(self) -> Judge:
        _check_type(self.strict, bool, "strict")
        subset = compile_subset(self.schema, strict=self.strict)

        def judge(output: Json) -> ScorerResult:
            issues = find_issues(subset, output)
            if not issues:
                return _PASSED
            evidence: JsonObject = {
                "reason": "schema_validation_failed",
                "issues": issues[:MAX_ISSUES],
            }
            if len(issues) > MAX_ISSUES:
                evidence["issues_left_out"] = len(issues) - MAX_ISSUES
            return _failed(evidence)

        return judge


Definition = DeterministicScorer | Mapping[str, Json]

_KINDS: Final[dict[str, type[DeterministicScorer]]] = {
    kind.type: kind
    for kind in (ContainsScorer, RegexScorer, AttributeEqualityScorer, JsonSchemaScorer)
}
_known: dict[bytes, DeterministicScorer] = {}


def deterministic_scorer(definition: Definition) -> DeterministicScorer:
    """Make a scorer from its definition: `scorer=deterministic_scorer({"type": ...})`.

    Args:
        definition: `type` and the fields of the class for it, in camelCase or in snake_case; or
            what is a scorer already.

    Raises:
        EvalInputError: P6005 when the type or a field is unknown, missing or cannot be used.

    Example:
        >>> scorer = deterministic_scorer({"type": "contains", "path": "/title", "value": "Rome"})
        >>> scorer(ScorerTarget("where to?", {"title": "A day in Rome"}))
        ScorerResult(score=1.0, passed=True)
    """
    if isinstance(definition, DeterministicScorer):
        return definition
    written: object = definition
    if not isinstance(written, Mapping):
        kind = type(written).__name__
        raise EvalInputError(f"a definition is a mapping, not a `{kind}`", field="definition")
    given = dict(written)
    name = given.pop("type", None)
    if not isinstance(name, str) or name not in _KINDS:
        raise EvalInputError(
            f"`type` must be one of {', '.join(f'`{one}`' for one in _KINDS)}", field="type"
        )
    return _made(_KINDS[name], given)


def evaluate_deterministic_scorer(definition: Definition, target: ScorerTarget) -> ScorerResult:
    """Score one output by a definition.

    A mapping is compiled when it is first seen; `deterministic_scorer` finds what is wrong with
    it before there is an output.

    Args:
        definition: As for `deterministic_scorer`.
        target: Holds the output.

    Returns:
        Score 1 and passed, or score 0, not passed and the reason in `evidence`.

    Raises:
        EvalInputError: P6005 when the definition cannot be used.

    Example:
        >>> pages = {"type": "regex", "path": "/pages", "pattern": "^[0-9]+$"}
        >>> evaluate_deterministic_scorer(pages, ScorerTarget("how long?", {"pages": "many"}))
        ScorerResult(score=0.0, passed=False, evidence={'reason': 'no_match'})
    """
    if isinstance(definition, DeterministicScorer):
        return definition(target)
    try:
        key = canonical_json(definition)
    except (TypeError, ValueError):
        return deterministic_scorer(definition)(target)
    scorer = _known.get(key)
    if scorer is None:
        scorer = deterministic_scorer(definition)
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[key] = scorer
    return scorer(target)


def _made(kind: type[DeterministicScorer], given: dict[str, Json]) -> DeterministicScorer:
    """A scorer from the fields of its definition as they are written."""
    wanted = {one.name: one for one in fields(kind) if one.init}
    written_as = {_camel(name): name for name in wanted} | {name: name for name in wanted}
    arguments: dict[str, Json] = {}
    for written, value in given.items():
        name = written_as.get(written)
        if name is None:
            raise EvalInputError(
                f"`{kind.type}` has no field `{written}`",
                field=str(written),
                hint=f"fields: {', '.join(map(_camel, wanted))}",
            )
        if name in arguments:
            raise EvalInputError(f"`{name}` is given in both spellings", field=name)
        arguments[name] = value
    for name, one in wanted.items():
        if name not in arguments and one.default is NO_DEFAULT:
            raise EvalInputError(f"`{kind.type}` needs `{_camel(name)}`", field=name)
    return kind(**arguments)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def _check_type(value: object, kind: type, name: str) -> None:
    if not isinstance(value, kind):
        words = {str: "a string", bool: "a boolean"}
        raise EvalInputError(
            f"`{name}` must be {words[kind]}, not a `{type(value).__name__}`", field=name
        )


def _tokens(path: str, name: str) -> Tokens | None:
    _check_type(path, str, name)
    return parse_pointer(path)


def _text_judge(path: str, reason_against: Callable[[str], str | None]) -> Judge:
    """What judges the text that a pointer leads to; None from the reason lets it pass."""
    tokens = _tokens(path, "path")

    def judge(output: Json) -> ScorerResult:
        value = select(output, tokens)
        if value is MISSING:
            return _missing(path)
        text = text_of(value)
        reason = "not_text" if text is None else reason_against(text)
        return _PASSED if reason is None else _failed({"reason": reason})

    return judge


def _failed(evidence: Json) -> ScorerResult:
    return ScorerResult(0.0, False, evidence)


def _missing(path: str) -> ScorerResult:
    return _failed({"reason": "missing_pointer", "path": path})


def _sides(left: Json, right: Json) -> Json:
    """Two values as evidence, or why they are left out."""
    evidence = {"left": left, "right": right}
    try:
        size = len(canonical_json(evidence))
    except (TypeError, ValueError, RecursionError):
        return {"kind": "omitted", "reason": "not_json"}
    if size > MAX_EVIDENCE_BYTES:
        return {"kind": "omitted", "reason": "size_limit", "original_bytes": size}
    return evidence
