"""Choosing cases by a seed: the same ones on every machine, whatever else is in the file."""

from __future__ import annotations

from hashlib import sha256


def rank(seed: int, key: str) -> bytes:
    """Where something stands in the order that a seed gives; keys that are alike stand together.

    Source: the order of the SHA-256 of `<seed>:<key>`.

    Example:
        >>> sorted(["a", "b", "c"], key=lambda key: rank(1, key))
        ['c', 'b', 'a']
    """
    return sha256(f"{seed}:{key}".encode("utf-8", "surrogatepass")).digest()
