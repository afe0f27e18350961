"""The kind `regex`: a pattern is found in the answer, or in a part of it.

The pattern is somebody else's and so is the answer, so both compiling and matching are bounded:
the library writes a counted repeat out when it compiles, and backtracks when it matches.
"""

from __future__ import annotations

import re
from typing import ClassVar, Final, cast

import regex

from proctor.assertions.answers import Failure
from proctor.assertions.base import AnswerAssertion, SelectingSpec, cannot_fail, invalid
from proctor.assertions.matching import spell
from proctor.protocols import Scope
from proctor.records import AssertionSpec, Case, Json

MAX_PATTERN: Final = 4_096
MAX_NESTED_GROUPS: Final = 100
MAX_WRITTEN_OUT: Final = 100_000
"""Elements of a pattern with its counted repeats written out."""

_FLAGS: Final = {"i": regex.I, "m": regex.M, "s": regex.S, "x": regex.X}
_CLASS = r"\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*+\]"
_GROUPING = re.compile(rf"\\.|{_CLASS}|\(\?#[^)]*\)|[()]", re.DOTALL)
_GROUPING_VERBOSE = re.compile(rf"#[^\n]*|{_GROUPING.pattern}", re.DOTALL)
_CALL = re.compile(r"\\.|(\(\?(?:R|[-+]?\s*[0-9]|&|P(?:\s|#[^\n]*\n)*+>))", re.DOTALL)
_ABOUT_PLACE = re.compile(r"[\^$]|\\[bBAZGmMK]|\(\?<?(?:\s|#[^\n]*\n)*+[=!]|\(\?\(|\(\*")
"""What may make an empty match depend on where in a text it stands."""

_COUNTED = re.compile(r"\\.|\{([0-9]+)[,}]", re.DOTALL)
_SPACED_COUNT = re.compile(r"\\.|(\{[0-9,]*[\s#])", re.DOTALL)
_INLINE_VERBOSE = re.compile(r"\(\?[a-zA-Z0-9]*x")
_INLINE_FULL_CASE = re.compile(r"\(\?[a-zA-Z0-9]*?(f|V1)")
"""Full case folding searches without looking at the clock; `V1` switches it on too."""


class RegexSpec(SelectingSpec, frozen=True, kw_only=True):
    """The fields of `regex`."""

    pattern: str
    flags: str = ""


class Regex(AnswerAssertion[regex.Match[str] | None]):
    """The pattern is found anywhere in the text. Running out of time fails, also when negated."""

    Spec: ClassVar[type[AssertionSpec]] = RegexSpec

    def __init__(self, spec: RegexSpec, pattern: regex.Pattern[str], timeout_s: float) -> None:
        super().__init__(spec)
        self._written = spec.pattern
        self._search = pattern.search
        self._timeout_s = timeout_s

    @staticmethod
    def compile(spec: AssertionSpec, scope: Scope) -> Regex:
        """Make the assertion ready.

        Raises:
            SuiteError: P6201 when the pattern or its flags cannot be used, P6202 when the pattern
                is found in every text.
        """
        spec = cast("RegexSpec", spec)
        pattern = compile_pattern(spec.pattern, spec.flags)
        refuse_empty_matches(pattern)
        return Regex(spec, pattern, scope.regex_timeout_s)

    def match(self, value: Json, case: Case) -> regex.Match[str] | Failure | None:
        """The first match."""
        text = spell(value)
        if text is None:
            return Failure("not_text", self.place, self.evidence())
        try:
            return self._search(text, timeout=self._timeout_s)
        except TimeoutError:
            return Failure("timed_out", evidence=self.evidence(limit_s=self._timeout_s))

    def explain(self, value: Json, case: Case, result: regex.Match[str] | None) -> Failure:
        """That nothing matches, or what does."""
        if result is None:
            evidence = self.evidence(pattern=self._written, got=value)
            return Failure("no_match", self.place, evidence)
        return Failure("match", self.place, self.evidence(pattern=self._written, got=result[0]))


def compile_pattern(pattern: str, flags: str) -> regex.Pattern[str]:
    """Compile a pattern after making sure that this takes little time and memory.

    Args:
        pattern: As written in a suite.
        flags: Letters of `i m s x`, each at most once.

    Raises:
        SuiteError: P6201 when a limit is passed or the pattern is not a regular expression,
            P6202 when it is empty.
    """
    _check_flags(flags)
    if not (pattern.strip() if "x" in flags else pattern):
        raise cannot_fail("the pattern is empty, which is found in every text")
    if len(pattern) > MAX_PATTERN:
        raise invalid(f"`pattern` has {len(pattern):,} characters; the limit is {MAX_PATTERN:,}")
    if nested_groups(pattern, verbose="x" in flags) > MAX_NESTED_GROUPS:
        raise invalid(f"`pattern` has groups nested deeper than {MAX_NESTED_GROUPS}")
    _refuse_costly(pattern)
    if "x" in flags or _INLINE_VERBOSE.search(pattern):
        _refuse_spaced_counts(pattern)
    if written_out(pattern) > MAX_WRITTEN_OUT:
        raise invalid(
            f"`pattern` repeats too much: written out it has over {MAX_WRITTEN_OUT:,} elements",
            "lower the counts in `{...}`, or use `+` or `*`",
        )
    combined = 0
    for letter in flags:
        combined |= _FLAGS[letter]
    try:
        return regex.compile(pattern, combined)
    except regex.error as error:
        raise invalid(f"`pattern` is not a regular expression: {error}") from None
    except (RecursionError, OverflowError, MemoryError, ValueError) as error:
        raise invalid(f"`pattern` cannot be compiled: {type(error).__name__}") from None


def nested_groups(pattern: str, *, verbose: bool) -> int:
    r"""How deep groups are nested in a pattern.

    Example:
        >>> nested_groups(r"(a(b)[(]\()", verbose=False)
        2
    """
    deepest = depth = 0
    for token in (_GROUPING_VERBOSE if verbose else _GROUPING).finditer(pattern):
        if token[0] == "(":
            depth += 1
            deepest = max(deepest, depth)
        elif token[0] == ")":
            depth -= 1
    return deepest


def written_out(pattern: str) -> int:
    """An upper bound on the elements of a pattern with its counted repeats written out.

    Every count after a group is taken to be around everything else. That is more than there is
    when groups stand side by side, but no class or comment can hide a count from it.

    Example:
        >>> written_out("[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
        201
    """
    elements, around = len(pattern), 1
    for token in _COUNTED.finditer(pattern):
        count = int(token[1] or 1)
        if count > 1:
            before = pattern[: token.start()][-1:]
            if before == ")" or before.isspace():
                around *= count
            else:
                elements += count
    return elements * around


def _refuse_costly(pattern: str) -> None:
    """Refuse what takes time or memory that nothing bounds."""
    full_case = _INLINE_FULL_CASE.search(pattern)
    if full_case is not None:
        raise invalid(f"`pattern` has the inline flag `{full_case[1]}`, which is not supported")
    if any(token[1] for token in _CALL.finditer(pattern)):
        raise invalid("`pattern` calls a part of itself; recursion is not supported")


def _refuse_spaced_counts(pattern: str) -> None:
    """Refuse `{1 0}`, which is ten where whitespace is ignored and escapes `written_out`."""
    if any(token[1] for token in _SPACED_COUNT.finditer(pattern)):
        raise invalid("`pattern` has a space or comment in a `{...}` while whitespace is ignored")


def refuse_empty_matches(compiled: regex.Pattern[str]) -> None:
    """Refuse a pattern that is found in every text, at its end if not before.

    What matches the empty text without asking about its place matches there as well.

    Raises:
        SuiteError: P6202 when it is.
    """
    if _ABOUT_PLACE.search(compiled.pattern) is not None:
        return
    try:
        is_empty = compiled.fullmatch("", timeout=1.0) is not None
    except TimeoutError:
        return
    if is_empty:
        raise cannot_fail(
            "the pattern matches an empty text, so it is found in every text",
            "let it match at least one character, or write `^` and `$` around it",
        )


def _check_flags(flags: str) -> None:
    for at, letter in enumerate(flags):
        if letter not in _FLAGS:
            raise invalid(f"`flags`: `{letter}` is not one of i, m, s, x")
        if letter in flags[:at]:
            raise invalid(f"`flags`: `{letter}` stands twice")
