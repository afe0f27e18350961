r"""Making data safe to print, on a terminal and in the log of a CI job.

What cannot be seen or moves the cursor is spelled out, like `\x1b`. A CI runner takes commands
from the output of a step, and not only at the start of a line: GitHub's reads `::` after any white
space and `##[` anywhere, Azure's `##vso[` anywhere. So a leading space alone stops neither, and
the first character of such a mark is spelled out as well.
"""

from __future__ import annotations

import re

_SPELLED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

_UNSAFE = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # controls
    "\u2028\u2029"  # line and paragraph separators
    # What draws nothing or changes the direction of what follows: the default-ignorable code
    # points of Unicode, zero-width and bidi characters among them, and interlinear marks.
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\ud800-\udfff"
    "]"
    r"|#(?=#(?i:vso|teamcity)?\[)"  # the start of a runner's command
)


def terminal_text(text: str) -> str:
    r"""Data as one piece of a line: nothing in it acts, hides or ends the line.

    Example:
        >>> print(terminal_text("red \x1b[31m\n"))
        red \x1b[31m\n
    """
    if text.isascii() and text.isprintable() and "##" not in text:
        return text
    return _UNSAFE.sub(_spell, text)


def terminal_line(line: str) -> str:
    r"""A whole line of output that no terminal and no CI runner acts upon.

    A line that would start with a runner's command gets a leading space, and its mark is broken.

    Example:
        >>> print(terminal_line("::error::forged"))
         \x3a:error::forged
    """
    text = terminal_text(line)
    rest = text.lstrip()
    if rest.startswith("::"):
        return f" {text[: len(text) - len(rest)]}\\x3a{rest[1:]}"
    return f" {text}" if rest.startswith("\\x23#") else text


def _spell(match: re.Match[str]) -> str:
    character = match[0]
    spelled = _SPELLED.get(character)
    if spelled is not None:
        return spelled
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
