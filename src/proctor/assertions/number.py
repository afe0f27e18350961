"""The kind `number`: the first number of the answer is the expected one, or within a range.

Numbers are compared as decimals, so that 0.4 is within 0.1 of 0.3 and no digit of a large one is
lost.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal, InvalidOperation
from typing import Annotated, ClassVar, Final, cast

from msgspec import UNSET, Meta, Struct, UnsetType

from proctor.assertions.answers import Failure
from proctor.assertions.base import AnswerAssertion, Expectation, ExpectingSpec, invalid
from proctor.assertions.matching import MISSING, spell
from proctor.protocols import Scope
from proctor.records import AssertionSpec, Case, Json

MAX_LENGTH: Final = 4_000
"""Characters of a number that is read; the longest integer that JSON may have here."""

_NUMBER: Final = re.compile(
    r"""
    (?<![A-Za-z0-9])                        # `B2` and `v3` are words
    (?:(?<![A-Za-z0-9][-\u2212])            # in `GPT-4` the dash is no sign
       (?P<sign>[-+\u2212]?)[$\u20ac\u00a3]?)
    (?P<whole>[0-9]{1,3}(?:,[0-9]{3})++(?![0-9])|[0-9]++)?+
    (?P<fraction>\.[0-9]++)?+
    (?(whole)|(?(fraction)|(?!)))
    (?P<exponent>[eE][-+]?[0-9]++)?+
    """,
    re.VERBOSE,
)
