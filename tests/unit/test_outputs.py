"""Outputs that could not be written, noticed before any work."""

from __future__ import annotations

import os

import pytest

from proctor.cli.outputs import check_named_folder, check_whole
from proctor.errors import UsageError


@pytest.mark.parametrize(
    ("check", "name"),
    [(check_whole, "report.txt"), (check_named_folder, "."), (check_named_folder, "new/reports")],
)
def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path, monkeypatch, check, name):
    path = tmp_path / name
    check(path)
    asked = []

    def access(folder, mode):
        asked.append((folder, mode))
        return False

    monkeypatch.setattr(os, "access", access)
    with pytest.raises(UsageError) as caught:
        check(path)
    assert caught.value.code == "P6004"
    assert "permission denied" in caught.value.message
    assert asked == [(tmp_path, os.W_OK | os.X_OK)]
    assert list(tmp_path.iterdir()) == []
