"""Looking, before any work, whether its output can be written after it."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from proctor.errors import UsageError
from proctor.safe_io import mode_to_write, reason_of, unwritten


def check_named_folder(folder: Path) -> None:
    """See to it, before any work, that `make_named_folder` has a chance, and files in it too.

    Raises:
        UsageError: P6004 when it has none.
    """
    existing = folder
    while not os.path.lexists(existing):
        existing = existing.parent
    try:
        _require_room(existing)
    except OSError as error:
        raise UsageError(
            f"the folder `{folder}` cannot be written to: {reason_of(error)}",
            code="P6004",
            hint="name a folder that can be written to",
        ) from error


def check_whole(path: Path, *, folder_comes: bool = False) -> None:
    """See to it, before any work, that `write_whole` has a chance.

    Args:
        path: The file.
        folder_comes: Whether its folder is made before it is written.

    Raises:
        UsageError: P6004 when it has none.
    """
    try:
        mode_to_write(path)
        if not folder_comes:
            _require_room(path.parent)
    except OSError as error:
        raise unwritten(path, error) from error


def _require_room(folder: Path) -> None:
    """Refuse, as the system would, what is no folder that files can be made in."""
    if not stat.S_ISDIR(folder.stat().st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
