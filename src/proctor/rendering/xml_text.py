"""Making data safe for XML."""

from __future__ import annotations

import re

from proctor.rendering.escaping import terminal_text

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """Text as XML can hold it, not escaped yet: what XML has no character for is replaced."""
    return _NOT_IN_XML.sub("\ufffd", terminal_text(text))
