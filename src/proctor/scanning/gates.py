"""Gates: one look at a text that tells whether a rule could find anything in it.

Nearly every text of a dataset has nothing to be found, so this look is what the scan costs. The
expressions of all rules are one pattern for the automaton of jsonschema-rs, which reads each
character once however many rules there are; ours would take ten times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

Gate = Callable[[str], bool]
"""False when there is certainly nothing in a text."""

ESCAPED = r"\\u"
"""In JSON, what may hide any character."""


@cache
def open_gate(expressions: tuple[str, ...]) -> Gate:
    """A gate for all these regular expressions on lower-case text; without look-around."""
    import jsonschema_rs

    # The empty class is for no expressions at all, which let nothing through.
    pattern = "|".join([r"[^\s\S]", *expressions])
    is_valid = jsonschema_rs.validator_for(
        {"pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions()
    ).is_valid

    def gate(text: str) -> bool:
        low = text.lower()
        try:
            return is_valid(low)
        except UnicodeEncodeError:
            # Lone surrogates; no rule looks for one.
            return is_valid(low.encode("utf-8", "replace").decode("utf-8"))

    return gate
