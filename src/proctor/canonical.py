"""Canonical JSON and SHA-256: the only maker of keys, digests and bindings.

Canonical JSON is UTF-8 with keys sorted by code point, separators `,` and `:`, nothing escaped
that need not be, floats in the shortest form that round-trips as Python spells it, and integral
floats below 2^53 as integers. One value has one spelling on every platform and in every process.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256

import msgspec

from proctor.records import CallKind, Json, JsonObject, Message

FORMAT_VERSION = 1
"""The `v` of keys and cassette lines."""

_INTEGRAL_LIMIT = 2.0**53
_encode = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
).encode
_encode_plain = msgspec.json.Encoder(order="sorted").encode


def canonical_json(value: Json) -> bytes:
    r"""The canonical spelling of a JSON value.

    A lone surrogate, which UTF-8 cannot hold, becomes its `\udxxx` escape.

    Raises:
        ValueError: For NaN or an infinity.
        TypeError: For what is not JSON, keys that are not strings among it.

    Example:
        >>> canonical_json({"b": 1.0, "a": [-0.0, 1e21, True]})
        b'{"a":[0,1e+21,true],"b":1}'
    """
    if _has_one_spelling(value):
        try:
            return _encode_plain(value)
        except UnicodeEncodeError:
            pass
    return _encode(_with_plain_integers(value)).encode("utf-8", "backslashreplace")


def _has_one_spelling(value: Json) -> bool:
    """Whether a value is of plain types without floats, which msgspec spells the same, faster."""
    kind = value.__class__
    if kind is dict:
        return all(
            key.__class__ is str and (member.__class__ is str or _has_one_spelling(member))
            for key, member in value.items()
        )
    if kind is list:
        return all(_has_one_spelling(member) for member in value)
    return kind is str or kind is int or kind is bool or value is None


def _with_plain_integers(value: Json) -> Json:
    if isinstance(value, float):
        if value.is_integer() and -_INTEGRAL_LIMIT < value < _INTEGRAL_LIMIT:
            return int(value)
        return value
    if isinstance(value, dict):
        return {_string(key): _with_plain_integers(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_plain_integers(member) for member in value]
    return value


def _string(key: Json) -> str:
    # The encoder would spell 1 and "1" alike, and two values would share a digest.
    if not isinstance(key, str):
        raise TypeError(f"a key must be a string, not {type(key).__name__}")
    return key


def sha256_hex(data: bytes) -> str:
    """SHA-256 in lower-case hex."""
    return sha256(data).hexdigest()


def digest(value: Json) -> str:
    """SHA-256, in hex, of the canonical JSON of a value."""
    return sha256(canonical_json(value)).hexdigest()


def bundle_sha256(messages: Iterable[Message], hashed: JsonObject) -> str:
    """The hash of a prompt: SHA-256 of canonical `{messages, tools, inputs, output}`.

    Args:
        messages: The raw templates.
        hashed: `inputs`, `output` and `tools` the way they count for it.
    """
    listed: Json = [{"role": one.role, "content": one.content} for one in messages]
    return digest({"tools": [], "output": None, **hashed, "messages": listed})


class CallKeys:
    """Makes the keys of calls that differ only in their inputs and their take.

    A key is the SHA-256 of canonical `{v, call, prompt, inputs, model, params, take}`. Everything
    but `inputs` and `take` is the same for all rows of a subject and is spelled once here.

    Args:
        call: What the call is made for.
        prompt: The bundle hash, 64 hex digits.
        model: The model reference, or `target:<kind>:<name>`.
        params: What is sent beside the messages.
    """

    def __init__(self, *, call: CallKind, prompt: str, model: str, params: JsonObject) -> None:
        fixed = canonical_json({"model": model, "params": params, "prompt": prompt})
        self._before_inputs = b'{"call":"%s","inputs":"' % call.value.encode()
        self._after_inputs = b'",' + fixed[1:-1] + b',"take":'

    def key(self, inputs_sha256: str, take: int) -> str:
        """The key of one call, in hex."""
        return sha256(
            b'%b%b%b%d,"v":%d}'
            % (
                self._before_inputs,
                inputs_sha256.encode(),
                self._after_inputs,
                take,
                FORMAT_VERSION,
            )
        ).hexdigest()


class RecordingsDigest:
    """The digest of a run's recordings: SHA-256 over their hex digests, each followed by LF."""

    def __init__(self) -> None:
        self._sha256 = sha256()

    def add(self, recording: str) -> None:
        """Add the next recording, in row order; one that is used twice is added twice."""
        self._sha256.update(recording.encode() + b"\n")

    def hex(self) -> str:
        """The digest of everything added so far."""
        return self._sha256.hexdigest()
