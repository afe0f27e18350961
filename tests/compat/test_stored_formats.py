"""Files of every version keep loading, and a replay of them gives the report of that version.

A folder here is never changed once its version is released. Only the report's `tool.version` may
differ from what is stored.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from proctor.version import VERSION
from support import proctor

VERSIONS = sorted(
    path for path in Path(__file__).parent.iterdir() if path.is_dir() and path.name[0].isdigit()
)


@pytest.fixture(params=VERSIONS, ids=lambda path: path.name)
def project(request, tmp_path):
    copy = tmp_path / request.param.name
    shutil.copytree(request.param, copy)
    return copy


def test_the_replay_gives_the_stored_report(project):
    result = proctor("run", "--format", "json", cwd=project)
    stored = (project / "report.json").read_bytes()
    now = result.out.replace(
        b'"version": "%b"' % VERSION.encode(), b'"version": "%b"' % project.name.encode(), 1
    )
    assert now == stored
    assert result.code == json.loads(stored)["exit_code"]


def test_every_stored_recording_is_read_and_used(project):
    assert proctor("cassette", "verify", cwd=project).code == 0
    assert "0 unused" in proctor("cassette", "list", cwd=project).text


def test_the_stored_report_can_be_read_again(project):
    result = proctor("run", "--format", "json", "--failed-in", "report.json", cwd=project)
    cases = json.loads(result.out)["suites"][0]["subjects"][0]["cases"]
    assert [case["id"] for case in cases] == ["plain"]


def test_the_stored_report_is_proven_and_can_be_compared(project):
    stored = (project / "report.json").read_bytes()
    assert proctor("report", "report.json", "--format", "json", cwd=project).out == stored
    result = proctor("compare", "report.json", "report.json", "--format", "json", cwd=project)
    assert json.loads(result.out)["verdict"] == "clean"


def test_the_stored_script_is_followed_and_gives_the_same_recordings(project):
    cassette = project / "evals/cassettes/quiz.jsonl"
    before = [json.loads(line) for line in cassette.read_text(encoding="utf-8").splitlines()]
    assert proctor("run", "--cache", "refresh", cwd=project).code == 0
    after = [json.loads(line) for line in cassette.read_text(encoding="utf-8").splitlines()]
    for line in (*before, *after):
        line["recorded"].pop("on")
    assert after == before
