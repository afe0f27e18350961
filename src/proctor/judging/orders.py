"""The same rubric with what is judged in reverse order, to see whether the order decides."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from proctor.canonical import bundle_sha256
from proctor.judging.rubrics import Rubric
from proctor.records import Message
from proctor.templates import parse_template

_BOUNDARY = r"(?<!\\)\{\{\s*(?:input\.)?boundary\s*\}\}"
_FENCE = re.compile(rf"<(?P<tag>[^\W\d_][\w-]*)-{_BOUNDARY}>.*?</(?P=tag)-{_BOUNDARY}>", re.DOTALL)


def reverse_rubric(rubric: Rubric) -> Rubric | None:
    """The rubric with what is judged in reverse order, another prompt by its hash.

    Returns:
        None when the rubric has no order that could be reversed.
    """
    prompt = rubric.prompt
    messages = reverse_fences(prompt.messages)
    if messages is None:
        return None
    turned = replace(
        prompt, messages=messages, bundle_sha256=bundle_sha256(messages, prompt.hashed)
    )
    templates = [parse_template(one.content, prompt.inputs)[0] for one in messages]
    return Rubric(turned, templates, rubric.kind)


def reverse_fences(messages: Sequence[Message]) -> tuple[Message, ...] | None:
    """The messages with the fenced sections of all user messages in reverse order.

    A section is a fence together with the words that introduce it: the lines directly before it,
    or the paragraph before it when that ends in a colon. Everything else stays where it is.

    Args:
        messages: Raw templates, whose fences are paired.

    Returns:
        None when there are fewer than two sections, so that there is no order.
    """
    split = [_split(one.content) if one.role == "user" else ([one.content], []) for one in messages]
    backwards = [section for _, sections in split for section in sections][::-1]
    if len(backwards) < 2:
        return None
    left = iter(backwards)
    turned: list[Message] = []
    for message, (between, _) in zip(messages, split, strict=True):
        pieces = [between[0]]
        for rest in between[1:]:
            pieces += [next(left), rest]
        turned.append(Message(role=message.role, content="".join(pieces)))
    return tuple(turned)


def _split(text: str) -> tuple[list[str], list[str]]:
    """What stands before, between and behind the sections of a template, and the sections."""
    between: list[str] = []
    sections: list[str] = []
    end = 0
    for fence in _FENCE.finditer(text):
        gap = text[end : fence.start()]
        words = _introduction(gap)
        between.append(gap.removesuffix(words) if words else gap)
        sections.append(words + fence[0])
        end = fence.end()
    return [*between, text[end:]], sections


def _introduction(gap: str) -> str:
    """The end of a text that introduces what follows it."""
    lines = gap.splitlines(keepends=True)
    start = len(lines)
    # The fence may stand on a line of its own, or on that of its introduction.
    while start and not lines[start - 1].strip():
        start -= 1
    is_apart = "".join(lines[start:]).count("\n") > 0
    if is_apart and not "".join(lines[:start]).rstrip().endswith(":"):
        return ""
    while start and lines[start - 1].strip():
        start -= 1
    return "".join(lines[start:]).lstrip()
