"""Cassettes: the committed recordings of a suite, one JSON object a line.

Every line is proven when the cassette is opened: its format, its fields and its key, which must
follow from its own parts. What stays in memory is an index of keys; a recording is read again when
a row asks for it. A cassette is never written here.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterator
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

import msgspec

from proctor.canonical import FORMAT_VERSION, CallKeys
from proctor.errors import CassetteError, ProctorError
from proctor.protocols import Question
from proctor.records import (
    Answered,
    AnySubject,
    CallKind,
    Recording,
    Subject,
    encode_json,
)
from proctor.safe_io import MEBIBYTE, inside, open_inside, reason_of
from proctor.strict_json import MAX_DEPTH, MAX_DIGITS, JsonProblem, parse_json, typed

MAX_LINE = 16 * MEBIBYTE
MAX_KEY_MAKERS = 256
MAX_SHOWN = 60
MAX_REASON = 200

_ENUM_VALUE = re.compile(r"\AInvalid enum value '.*'", re.DOTALL)
_LONG_INTEGER = re.compile(rb"[0-9]{%d}" % (MAX_DIGITS + 1))
_decode_recording = msgspec.json.Decoder(Recording).decode
_encode_recording = msgspec.json.Encoder().encode


class CacheMode(StrEnum):
    """Where answers come from."""

    REPLAY = "replay"
    """Every call is answered from the cassette; nobody is asked and nothing is written."""
    RECORD = "record"
    """What has no recording is asked for and stored; what has one is replayed."""
    REFRESH = "refresh"
    """Everything is asked for, and replaces what was recorded."""
    OFF = "off"
    """Everything is asked for; nothing is read or stored."""


class Cassette:
    """The recordings of one suite.

    Args:
        shown: The file as messages name it.
        file: The file, open, or None when there is none; this object closes it.
    """

    def __init__(self, shown: str, file: BinaryIO | None) -> None:
        self.shown = shown
        self.is_missing = file is None
        self._file = file
        self._offsets = array("Q")
        self._lengths = array("Q")
        self._digests = bytearray()
        self._place_of_key: dict[bytes, int] = {}
        self._places_of_case: dict[tuple[CallKind, str | None], list[int]] | None = None

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, key: str, offset: int, raw: bytes) -> int | None:
        """Index a line; the place of the line that has this key already, or None."""
        key_bytes = bytes.fromhex(key)
        place = len(self._offsets)
        first = self._place_of_key.setdefault(key_bytes, place)
        if first != place:
            return first
        self._offsets.append(offset)
        self._lengths.append(len(raw))
        self._digests += sha256(raw).digest()
        return None

    def __contains__(self, key: str) -> bool:
        return bytes.fromhex(key) in self._place_of_key

    def find(self, key: str) -> Answered | None:
        """The recorded answer to a call, or None.

        Raises:
            CassetteError: P6403 when the line is no longer what it was.
        """
        place = self._place_of_key.get(bytes.fromhex(key))
        if place is None:
            return None
        return as_answered(self._raw(place), self._digest(place).hex())

    def of_case(self, call: CallKind, case: str) -> Iterator[Recording]:
        """Every recording labelled with a case, for explaining a miss."""
        if self._places_of_case is None:
            self._places_of_case = {}
            for place in range(len(self)):
                recording = self._read(place)
                label = (recording.call, recording.case)
                self._places_of_case.setdefault(label, []).append(place)
        for place in self._places_of_case.get((call, case), ()):
            yield self._read(place)

    def recordings(self) -> Iterator[tuple[Recording, bytes]]:
        """Every recording with its raw line, in the order of the file."""
        for place in range(len(self)):
            raw = self._raw(place)
            yield _decoded(raw), raw

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _digest(self, place: int) -> bytes:
        return bytes(self._digests[place * 32 : place * 32 + 32])

    def _read(self, place: int) -> Recording:
        return _decoded(self._raw(place))

    def _raw(self, place: int) -> bytes:
        assert self._file is not None  # noqa: S101 - there are no places without a file
        raw = os.pread(self._file.fileno(), self._lengths[place], self._offsets[place])
        if sha256(raw).digest() != self._digest(place):
            raise CassetteError(
                f"`{self.shown}` changed while it was being used",
                code="P6403",
                hint="run again",
                where=self.shown,
            )
        return raw


def as_answered(raw: bytes, digest: str) -> Answered:
    """The answer on a line that has been proven, with the SHA-256 of the line in hex."""
    recording = _decoded(raw)
    return Answered(
        recording.answer, digest, recording.usage, recording.cost_usd, recording.latency_ms
    )


def _decoded(raw: bytes) -> Recording:
    try:
        return _decode_recording(raw)
    except msgspec.DecodeError:
        # Lone surrogates, which msgspec does not read; the first pass has proven the rest.
        return typed(parse_json(raw), Recording)


def open_cassette(root: Path, path: str, shown: str) -> tuple[Cassette, list[ProctorError]]:
    """Open the cassette of a suite and prove every line of it.

    Args:
        root: The folder below which no link is followed.
        path: The file, relative to that folder.
        shown: The file as messages name it.

    Returns:
        The cassette, empty when there is no file, and every problem: P6403 for a damaged line,
        P6404 for a key that stands twice, P6805 for a link on the way or what is no file.
    """
    try:
        file = open_inside(root, inside(path), where=shown)
    except FileNotFoundError:
        return Cassette(shown, None), []
    except ProctorError as problem:
        return Cassette(shown, None), [problem]
    except OSError as error:
        unreadable = CassetteError(
            f"the cassette `{shown}` cannot be read: {reason_of(error)}",
            code="P6403",
            hint="check its permissions",
            where=shown,
        )
        return Cassette(shown, None), [unreadable]
    cassette = Cassette(shown, file)
    return cassette, list(_index(cassette, file))


def _index(cassette: Cassette, file: BinaryIO) -> Iterator[ProctorError]:
    keys = KeyCheck()
    line_of_place: list[int] = []
    offset = number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        start, offset = offset, offset + len(line)
        if len(line) > MAX_LINE:
            yield _damaged(cassette, number, "is longer than 16 MiB")
            return
        raw = line[:-1] if line.endswith(b"\n") else line
        try:
            recording = prove_recording(raw, keys)
        except DamagedRecording as damage:
            yield _damaged(cassette, number, str(damage), damage.hint)
            continue
        first = cassette.add(recording.key, start, raw)
        if first is None:
            line_of_place.append(number)
        else:
            yield CassetteError(
                f"this line has the same key as line {line_of_place[first]}",
                code="P6404",
                hint="delete one of the two lines",
                where=f"{cassette.shown}:{number}",
            )


class DamagedRecording(ValueError):
    """A line that is not a recording; the text says why, to follow `this recording`.

    Args:
        message: The text.
        hint: What to do, when it is something else than for any damage.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def answer_keys(subject: AnySubject) -> CallKeys:
    """Makes the keys of the answers of one subject."""
    return _keys(CallKind.ANSWER, subject)


def build_keys(subject: AnySubject) -> CallKeys:
    """Makes the keys of what one subject builds."""
    return _keys(CallKind.BUILD, subject)


class JudgeKeys:
    """Makes the keys of judge calls; those of one judge share what is the same."""

    def __init__(self) -> None:
        self._makers: dict[tuple[int, CallKind], tuple[Subject, CallKeys]] = {}

    def key(self, question: Question) -> str:
        """The key of one question."""
        judge = question.subject
        place = (id(judge), question.kind)
        known = self._makers.get(place)
        if known is None:
            # The judge is kept with its maker, so that no other one gets its place in memory.
            known = self._makers[place] = judge, _keys(question.kind, judge)
        return known[1].key(question.inputs_sha256, question.take)


def _keys(call: CallKind, subject: AnySubject) -> CallKeys:
    return CallKeys(
        call=call,
        prompt=subject.bundle_sha256,
        model=subject.model.ref,
        params=subject.model.params,
    )


class KeyCheck:
    """Makes keys from a recording's own parts; those of one subject share what is the same."""

    def __init__(self) -> None:
        self._makers: dict[tuple[str, str, str, bytes], CallKeys] = {}

    def key(self, recording: Recording) -> str:
        """The key that follows from a recording's parts."""
        parts = recording.parts
        same = (recording.call.value, parts.prompt, recording.model, encode_json(parts.params))
        maker = self._makers.get(same)
        if maker is None:
            if len(self._makers) == MAX_KEY_MAKERS:
                self._makers.clear()
            maker = self._makers[same] = CallKeys(
                call=recording.call,
                prompt=parts.prompt,
                model=recording.model,
                params=parts.params,
            )
        return maker.key(parts.inputs, recording.take)


def prove_recording(raw: bytes, keys: KeyCheck) -> Recording:
    """The recording on one line, when everything about the line is in order.

    Raises:
        DamagedRecording: Saying what is not.
    """
    recording = _as_we_write_it(raw) or _read_strictly(raw)
    if recording.key != keys.key(recording):
        raise DamagedRecording("has a key that does not follow from its parts")
    return recording


def _as_we_write_it(raw: bytes) -> Recording | None:
    """The recording when its line is, to the byte, how Proctor writes one, else None.

    Such a line has every key once and in place, so nothing else about it needs to be looked at.
    """
    if raw.count(b"{") + raw.count(b"[") > MAX_DEPTH:
        return None
    if len(raw) > MAX_DIGITS and _LONG_INTEGER.search(raw):
        return None
    try:
        recording = _decode_recording(raw)
        same = _encode_recording(recording) == raw
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    return recording if same and recording.v == FORMAT_VERSION else None


def _read_strictly(raw: bytes) -> Recording:
    try:
        value = parse_json(raw)
    except JsonProblem as problem:
        raise DamagedRecording(problem.detail) from None
    version = value.get("v") if isinstance(value, dict) else None
    if isinstance(version, int) and version > FORMAT_VERSION:
        shown = shortened(str(version))
        raise DamagedRecording(
            f"has format version {shown}, which is newer than this Proctor",
            hint="use a newer Proctor",
        )
    try:
        recording = typed(value, Recording)
    except msgspec.ValidationError as error:
        raise DamagedRecording(f"is not a recording: {_unquoted(str(error))}") from None
    if version != FORMAT_VERSION:
        raise DamagedRecording(f"has format version {version}, which does not exist")
    return recording


def _unquoted(message: str) -> str:
    """What msgspec says, without the value it quotes when a word is not one of an enum."""
    message = _ENUM_VALUE.sub("a word that is not one of those allowed", message)
    return f"{message[:1].lower()}{shortened(message[1:], MAX_REASON)}"


def _damaged(cassette: Cassette, number: int, what: str, hint: str | None = None) -> CassetteError:
    return CassetteError(
        f"this recording {what}",
        code="P6403",
        hint=hint or "restore the line from version control, or delete it and record again",
        where=f"{cassette.shown}:{number}",
    )


def shortened(text: str, limit: int = MAX_SHOWN) -> str:
    """A text of at most `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
