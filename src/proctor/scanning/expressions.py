"""Regular expressions that are compiled when they are first needed.

Most runs need none of them, since the gates let nothing through, and all of them together take as
long to compile as a small run.
"""

from __future__ import annotations

import re
from functools import cached_property


class Expression:
    """A regular expression.

    Args:
        text: As it is written.
        flags: Those of `re`.
    """

    def __init__(self, text: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self._text = text
        self._flags = flags

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The same, compiled."""
        return re.compile(self._text, self._flags)
