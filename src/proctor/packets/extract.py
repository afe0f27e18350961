"""Taking a response out of the transcript of a chat."""

from __future__ import annotations

from typing import Final

from proctor.errors import FileError
from proctor.packets.formats import MAX_PACKET
from proctor.packets.outline import Block, outline
from proctor.packets.reading import malformed, parse_strictly
from proctor.strict_json import JsonFault, JsonProblem, decode_utf8, parse_json

MAX_TRANSCRIPT: Final = MAX_PACKET
"""A transcript may hold the whole packet."""


def extract_response(data: bytes, name: str) -> str:
    """The content of the only fenced JSON block of a transcript, as it stands there.

    A block is one of JSON when it is labelled `json`, or not labelled and one JSON object.

    Args:
        data: The bytes of the transcript.
        name: Its name, for messages.

    Raises:
        FileError: P6801 when there is no such block or more than one, when it is not closed, and
            when it is not strict JSON.
    """
    try:
        text = decode_utf8(data)
    except JsonProblem as problem:
        raise malformed(name, problem.fault, problem.detail, problem.line) from None
    blocks = [block for block in outline(text).blocks if _is_json(block)]
    if len(blocks) != 1:
        count = f"{len(blocks)} fenced JSON blocks" if blocks else "no fenced JSON block"
        raise FileError(
            f"`{name}` has {count}, and not exactly one",
            code="P6801",
            hint="leave the one block that is the answer, labelled `json`",
        )
    (block,) = blocks
    if not block.is_closed:
        raise malformed(name, JsonFault.NOT_JSON, "has a JSON block that is never closed", None)
    parse_strictly(block.content, name)
    return block.content


def _is_json(block: Block) -> bool:
    if block.label:
        return block.label.lower() == "json"
    try:
        return isinstance(parse_json(block.content), dict)
    except JsonProblem:
        return False
