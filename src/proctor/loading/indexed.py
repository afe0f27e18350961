"""Files of many cases: read once line by line, indexed, and read again case by case.

The index holds the place, length and SHA-256 of each case, so memory does not grow with the size
of the cases, and a file that changes between the two readings is noticed.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import BinaryIO, NamedTuple

from proctor.errors import DatasetError
from proctor.loading.cases import CaseChecks
from proctor.protocols import Shape
from proctor.records import Case, Warn
from proctor.safe_io import MEBIBYTE

MAX_LINE = 16 * MEBIBYTE

_UTF8_BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """A line with its end, its 1-based number and where it starts."""

    data: bytes
    number: int
    offset: int


class Index:
    """Where cases are in a file, and what they were."""

    def __init__(self) -> None:
        self._offsets = array("Q")
        self._lengths = array("Q")
        self._digests = bytearray()

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, offset: int, raw: bytes) -> None:
        """Remember the next case."""
        self._offsets.append(offset)
        self._lengths.append(len(raw))
        self._digests += sha256(raw).digest()

    def read(self, file: BinaryIO, index: int) -> bytes | None:
        """Read a case again, by its 0-based place; None when it is not what it was."""
        raw = os.pread(file.fileno(), self._lengths[index], self._offsets[index])
        same = sha256(raw).digest() == self._digests[index * 32 : index * 32 + 32]
        return raw if same else None


class IndexedDataset:
    """The cases of a dataset, read one at a time.

    Args:
        path: The file, relative to the project root.
        file: The file, open; this object closes it.
        digest: The SHA-256 of all its bytes.
        index: Where the cases are.
        decode: Makes a case of its bytes and its 0-based place.
        shapes: The rows of those cases that have not just one.
        warnings: What to know about the file.
    """

    def __init__(
        self,
        path: str,
        file: BinaryIO,
        digest: str,
        index: Index,
        decode: Callable[[bytes, int], Case],
        *,
        shapes: Mapping[int, Shape],
        warnings: Sequence[Warn] = (),
    ) -> None:
        self.path = path
        self.sha256 = digest
        self.warnings = warnings
        self.shapes = shapes
        self._file = file
        self._index = index
        self._decode = decode

    def __len__(self) -> int:
        return len(self._index)

    def case(self, index: int) -> Case:
        """Read one case again, by its 0-based place.

        Raises:
            DatasetError: P6101 when its bytes are no longer what they were.
        """
        raw = self._index.read(self._file, index)
        if raw is None:
            raise DatasetError(
                f"`{self.path}` changed while it was being used",
                code="P6101",
                hint="run again",
                where=self.path,
            )
        return self._decode(raw, index)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class DigestedLines:
    """The lines of a file from its start, without a byte order mark, and a digest of all of it.

    Args:
        file: The file, at its start.
        checks: Where a line that is too long is noted; no line follows it.
    """

    def __init__(self, file: BinaryIO, checks: CaseChecks) -> None:
        self._file = file
        self._checks = checks
        self._whole = sha256()

    def __iter__(self) -> Iterator[Line]:
        end = 0
        number = 0
        while data := self._file.readline(MAX_LINE + 1):
            number += 1
            self._whole.update(data)
            start, end = end, end + len(data)
            if len(data) > MAX_LINE:
                self._checks.note("P6101", "the line is longer than 16 MiB", number)
                return
            if number == 1 and data.startswith(_UTF8_BOM):
                data = data.removeprefix(_UTF8_BOM)
                start += len(_UTF8_BOM)
            yield Line(data, number, start)

    def hexdigest(self) -> str:
        """The SHA-256 of what has been read."""
        return self._whole.hexdigest()
