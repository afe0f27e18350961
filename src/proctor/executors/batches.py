"""What a run and its workers tell each other: calls in batches, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from proctor.strict_json import parse_json, typed

T = TypeVar("T")

Item = tuple[int, bytes | None]
"""The number of a call, and the call or what came of it as JSON.

None to a worker says that nobody waits for the call any more.
"""


class Batch(Struct, frozen=True):
    """What goes over at once.

    Args:
        items: Calls, or what came of them.
        notes: Lines for the reader; only workers have any.
    """

    items: list[Item]
    notes: list[str]


_decode_batch = msgspec.msgpack.Decoder(Batch).decode


def encode_batch(items: Sequence[Item], notes: Sequence[str] = ()) -> bytes:
    """A batch as it goes over."""
    # What UTF-8 cannot hold is spelled out: notes are for reading.
    said = [note.encode("utf-8", "backslashreplace").decode() for note in notes]
    return msgspec.msgpack.encode(Batch(list(items), said))


def decode_batch(data: bytes) -> tuple[list[Item], list[str]]:
    """The items of a batch, and its notes."""
    batch = _decode_batch(data)
    return batch.items, batch.notes


def decode_body(data: bytes, kind: type[T]) -> T:
    """What a body says. What is in it was a struct of this kind on the other side."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError:
        # Lone surrogates, which msgspec does not read.
        return typed(parse_json(data), kind)
