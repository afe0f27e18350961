"""The same exam gives the same bytes, wherever and however it is run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import EXAMPLES, proctor

REPORT = ("run", "--format", "json")


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    root = tmp_path_factory.mktemp("stable") / "review-sentiment"
    shutil.copytree(EXAMPLES / "review-sentiment", root)
    return root


@pytest.fixture(scope="module")
def reference(example):
    return proctor(*REPORT, cwd=example).out


@pytest.mark.parametrize(
    "env",
    [
        {"TZ": "Pacific/Kiritimati"},
        {"LC_ALL": "C", "LANG": "C"},
        {"LC_ALL": "C.UTF-8"},
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "2"},
        {"PYTHONUTF8": "0", "LC_ALL": "POSIX"},
        {"COLUMNS": "20"},
    ],
    ids=lambda env: "-".join(env.values()),
)
def test_the_report_does_not_depend_on_the_environment(example, reference, env):
    assert proctor(*REPORT, cwd=example, env=env).out == reference


@pytest.mark.parametrize("concurrency", ["1", "16"])
def test_the_report_does_not_depend_on_concurrency(example, reference, concurrency):
    assert proctor(*REPORT, "--concurrency", concurrency, cwd=example).out == reference


def test_the_report_does_not_depend_on_the_working_directory(example, reference, tmp_path):
    assert proctor(*REPORT, "--cwd", str(example), cwd=tmp_path).out == reference
    assert proctor(*REPORT, cwd=example / "evals" / "datasets").out == reference


def test_the_report_names_no_path_of_the_machine(example, reference):
    assert str(example).encode() not in reference
    assert bytes(Path.home()) + b"/" not in reference


def test_a_replay_needs_no_network_at_all(example, reference):
    unshare = shutil.which("unshare")
    alone = [unshare, "-rn"] if os.getuid() else [unshare, "-n"]
    if unshare is None or subprocess.run([*alone, "true"], check=False).returncode != 0:
        pytest.skip("this system has no network namespaces")
    done = subprocess.run(
        [*alone, sys.executable, "-m", "proctor", *REPORT],
        cwd=example,
        capture_output=True,
        check=False,
    )
    assert done.stdout == reference


def test_a_replay_works_in_a_read_only_checkout_and_writes_nothing(example, reference, tmp_path):
    checkout = tmp_path / "checkout"
    shutil.copytree(example, checkout)
    before = sorted(path for path in checkout.rglob("*"))
    for path in (checkout, *before):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert proctor(*REPORT, cwd=checkout).out == reference
        assert sorted(path for path in checkout.rglob("*")) == before
    finally:
        for path in (checkout, *before):
            path.chmod(0o755)
