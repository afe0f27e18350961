"""The kind `number`: the first number of the answer is the expected one, or within a range.

Numbers are compared as decimals, so that 0.4 is within 0.1 of 0.3 and no digit of a large one is
lost.
"""

from __future__ import annotations

import math
import re
from decimal import Context, Decimal
from typing import ClassVar, Final, cast

from msgspec import UNSET, Struct, UnsetType

from proctor.assertions.answers import Failure
from proctor.assertions.base import AnswerAssertion, Expectation, ExpectingSpec, invalid
from proctor.pointers import MISSING
from proctor.protocols import Scope
from proctor.records import AssertionSpec, Case, Json

MAX_LENGTH: Final = 4_000
"""Characters of a number that is read."""

_BLANK: Final = r"[ \u00a0\u2007-\u200a\u202f\u205f]"
_GOES_ON: Final = rf"""
    [.,\u066b\u066c\uff0c\uff0e]\d | \.\.+\d | \.?[eE][-+\u2212]?\d    # `1,5`, `1..2`, `1e5e5`
    | \d | ['\u2019_:]\d                                     # `1'000`, `1_000`, `10:30`
    | (?<![0-9]{{4}}) (?:{_BLANK}|\\[,;: ])[0-9]{{3}}(?!\d)   # `1 000`
    | \{{,\}}\d | \}}\{{[-0-9]                               # `1{{,}}000`, `\frac{{1}}{{2}}`
    | {_BLANK}?[/\u2044\u2215\u00f7]{_BLANK}?\d              # `1/2`
    | [-{_BLANK[1:-1]}]\d++[/\u2044\u2215]\d                 # `1 1/2`
    | {_BLANK}?[\u00bc-\u00be\u2150-\u215f\u2189]            # `1½`
    | [\u00b2\u00b3\u00b9\u2070-\u207f]                      # `5²`
    | {_BLANK}?(?:\u00b1|\+/?-|\\pm\b){_BLANK}?[.\d]         # `5±1`
    | {_BLANK}?\^{_BLANK}?[({{]?[-+\u2212]?\d                # `10^5`
    | \*\*-?\d | {_BLANK}\*\*{_BLANK}-?\d                    # `10**5`, and not `**10** 5`
    | [xX*\u00b7\u00d7\u2022\u2219\u22c5]\d                  # `1x10`, `1·5`
    | {_BLANK}[xX*]{_BLANK}10(?!\d)                          # `1 x 10`
    | {_BLANK}?(?:[\u00b7\u00d7\u2219\u22c5]|\\times|\\cdot){_BLANK}?10(?!\d)
    | (?<=0)(?<![0-9]0)(?:[xX][0-9A-Fa-f]|[bB][01]|[oO][0-7])    # `0x10`
"""
"""How what follows a number can make another one of it, which this notation does not have."""

_NUMBER: Final = re.compile(
    rf"""
    (?<![A-Za-z0-9]) (?<![A-Za-z][-]) (?<![0-9][.,])    # not within `B2`, `GPT-4` or `v1.2`
    (?P<sign>[-+\u2212]?) [$\u20ac\u00a3]?
    (?P<digits>
        (?: [0-9]{{1,3}} (?:,[0-9]{{3}})++ (?![0-9]) | [0-9]++ ) (?:\.[0-9]++)?+
        | \.[0-9]++
    )
    (?P<exponent>[eE][-+]?[0-9]++)?+
    (?P<more>{_GOES_ON})?
    """,
    re.VERBOSE,
)
_CONTEXT: Final = Context(prec=60, traps=[])
"""Sixty digits: a difference is never rounded to nothing."""

Figure = int | float


class NumberSpec(ExpectingSpec, frozen=True, kw_only=True):
    """The fields of `number`.

    Args:
        abs: How far the number may be from the expected one.
        rel: The same as a share of the expected one; the wider of both holds.
        min: The least number that passes.
        max: The greatest number that passes.
    """

    abs: Figure | UnsetType = UNSET
    rel: Figure | UnsetType = UNSET
    min: Figure | UnsetType = UNSET
    max: Figure | UnsetType = UNSET


class Judged(Struct, frozen=True, gc=False):
    """The number of an answer, and what is wrong with it; true when nothing is."""

    number: Decimal
    fault: str | None

    def __bool__(self) -> bool:
        return self.fault is None


class Number(AnswerAssertion[Judged]):
    """The first number is within the tolerance of the expected one, and within `min` and `max`.

    There is an expected one when it is written, when there is a tolerance, or when there is
    neither a `min` nor a `max`.
    """

    Spec: ClassVar[type[AssertionSpec]] = NumberSpec

    def __init__(self, spec: NumberSpec) -> None:
        super().__init__(spec)
        self._expectation = Expectation.of_spec(spec)
        self._abs, self._rel = _decimal(spec.abs, "abs"), _decimal(spec.rel, "rel")
        self._min, self._max = _decimal(spec.min, "min"), _decimal(spec.max, "max")
        is_range = self._min is not None or self._max is not None
        self._tolerates = self._abs is not None or self._rel is not None
        written = spec.value is not UNSET or spec.expected is not UNSET
        self._compares = written or self._tolerates or not is_range
        self._given = None if spec.value is UNSET else number_of(spec.value)

    @staticmethod
    def compile(spec: AssertionSpec, scope: Scope) -> Number:
        """Make the assertion ready.

        Raises:
            SuiteError: P6201 when `value` has no number, `min` is above `max`, a limit is not
                finite, or a tolerance below 0.
        """
        spec = cast("NumberSpec", spec)
        number = Number(spec)
        if isinstance(number._given, Failure):
            raise invalid("`value` has no number that can be read", "write a number")
        for key, tolerance in (("abs", number._abs), ("rel", number._rel)):
            if tolerance is not None and tolerance < 0:
                raise invalid(f"`{key}` must be 0 or more")
        if number._min is not None and number._max is not None and number._min > number._max:
            raise invalid("`min` is above `max`, so no number passes")
        return number

    def needs(self, case: Case) -> str | None:
        """What this case lacks for the assertion to be asked, as a sentence, or None."""
        if not self._compares or self._given is not None:
            return None
        lacking = self._expectation.lacks(case)
        if lacking is not None:
            return lacking
        has_none = isinstance(number_of(self._expectation.of(case)), Failure)
        return "its expected value has no number that can be read" if has_none else None

    def match(self, value: Json, case: Case) -> Judged | Failure:
        """Whether the number is as asked."""
        number = number_of(value)
        if isinstance(number, Failure):
            evidence = self.evidence(got=value)
            return Failure(number.code, self.place, evidence)
        if self._compares:
            expected = self._given
            if expected is None:
                expected = number_of(self._expectation.of(case))
            if isinstance(expected, Failure) or not self._is_near(number, expected):
                return Judged(number, "outside_tolerance" if self._tolerates else "not_equal")
        if self._min is not None and number < self._min:
            return Judged(number, "below_min")
        if self._max is not None and number > self._max:
            return Judged(number, "above_max")
        return Judged(number, None)

    def explain(self, value: Json, case: Case, result: Judged) -> Failure:
        """What is wrong with the number, or that nothing is."""
        spec = cast("NumberSpec", self.spec)
        shown = {
            "outside_tolerance": ("abs", "rel"),
            "below_min": ("min",),
            "above_max": ("max",),
        }.get(result.fault or "", ())
        limits = {key: getattr(spec, key) for key in shown}
        expected = MISSING
        if result.fault in ("not_equal", "outside_tolerance"):
            expected = self._expectation.of(case)
        evidence = self.evidence(
            expected=expected,
            got=plain(result.number) if isinstance(value, str) else value,
            **{key: limit for key, limit in limits.items() if limit is not UNSET},
        )
        return Failure(result.fault or "within", self.place, evidence)

    def _is_near(self, number: Decimal, expected: Decimal) -> bool:
        if number == expected:
            return True
        distance = abs(_CONTEXT.subtract(number, expected))
        near = self._abs is not None and distance <= self._abs
        if self._rel is None:
            return near
        return near or distance <= abs(_CONTEXT.multiply(self._rel, expected))


def number_of(value: Json) -> Decimal | Failure:
    """A JSON number, or the first number of a text."""
    if isinstance(value, str):
        return first_number(value)
    if isinstance(value, (dict, list)):
        return Failure("not_text")
    if value is None or isinstance(value, bool):
        return Failure("no_number")
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def first_number(text: str) -> Decimal | Failure:
    """The first number of a text.

    Digits in groups of three with commas, a fraction, an exponent and a sign belong to it; a
    percent sign and everything else around it do not. A digit within a word is no number.

    Returns:
        The number. A failure `ambiguous_number` when it goes on as no number of this notation
        does (`1,5`, `1/2`, `1 000`), `out_of_range` when a float cannot hold it.

    Example:
        >>> [str(first_number(text)) for text in ("ANSWER: 60%", "**1,234.**", "GPT-4: -1.5e3")]
        ['60', '1234', '-1.5E+3']
        >>> first_number("1,5").code
        'ambiguous_number'
    """
    match = _NUMBER.search(text)
    if match is None:
        return Failure("no_number")
    if match["more"] is not None:
        return Failure("ambiguous_number")
    sign = "-" if match["sign"] in ("-", "\u2212") else ""
    written = f"{sign}{match['digits'].replace(',', '')}{match['exponent'] or ''}"
    size = float(written) if len(written) <= MAX_LENGTH else math.inf
    if not math.isfinite(size):
        return Failure("out_of_range")
    # A number too small for a float is 0, as it is in JSON.
    return Decimal(written) if size else Decimal(0)


def plain(number: Decimal) -> int | float:
    """A number of a text as JSON has it.

    Example:
        >>> plain(Decimal("60.0")), plain(Decimal("0.5"))
        (60, 0.5)
    """
    is_whole = number == number.to_integral_value() and number.adjusted() < _CONTEXT.prec
    return int(number) if is_whole else float(number)


def _decimal(figure: Figure | UnsetType, key: str) -> Decimal | None:
    if isinstance(figure, UnsetType):
        return None
    if not math.isfinite(figure):
        raise invalid(f"`{key}` must be a number")
    return Decimal(repr(figure)) if isinstance(figure, float) else Decimal(figure)
