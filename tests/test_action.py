"""The action of GitHub: what it refuses, and what it asks of the program."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
SHELL = {step["name"]: step for step in STEPS if "run" in step}
PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")


def shell(name, folder, *, inputs=None, **env):
    """Run a step as the runner does; `python` and `proctor` list what they are given."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    for tool in ("python", "proctor"):
        fake = tools / tool
        fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
        fake.chmod(0o755)
    given = {key: one["default"] for key, one in ACTION["inputs"].items()} | (inputs or {})
    step = SHELL[name]
    passed = {
        variable: given[re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) \}\}", value)[1]]
        for variable, value in step["env"].items()
    }
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env={
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_OUTPUT": str(folder / "output"),
            "GITHUB_ACTION_PATH": "/action",
            "RUNNER_TEMP": str(folder),
            **passed,
            **env,
        },
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=60,
    )


def looked_at(folder, event, cache):
    return shell(
        "Look at what started this", folder, inputs={"cache": cache}, GITHUB_EVENT_NAME=event
    )


def ran(folder, **inputs):
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    done = shell("Run", folder, inputs=given)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("cache", ["record", "refresh", "off"])
@pytest.mark.parametrize("event", ["pull_request", "pull_request_review"])
def test_pull_requests_may_only_replay(tmp_path, event, cache):
    refused = looked_at(tmp_path, event, cache)
    assert refused.returncode == 2
    assert f"on {event} only cache: replay is allowed" in refused.stdout
    assert looked_at(tmp_path, event, "replay").returncode == 0


@pytest.mark.parametrize("cache", ["replay", "off"])
@pytest.mark.parametrize("event", ["pull_request_target", "workflow_run"])
def test_events_with_secrets_and_code_of_strangers_are_stopped(tmp_path, event, cache):
    stopped = looked_at(tmp_path, event, cache)
    assert (stopped.returncode, f"::error title=Proctor::{event} has" in stopped.stdout) == (
        2,
        True,
    )


@pytest.mark.parametrize("cache", ["replay", "record", "refresh", "off"])
@pytest.mark.parametrize("event", ["push", "schedule", "workflow_dispatch"])
def test_other_events_may_ask(tmp_path, event, cache):
    assert looked_at(tmp_path, event, cache).returncode == 0


@pytest.mark.parametrize("cache", ["", "false", "replay --cache off", "replay\noff"])
def test_no_other_mode_gets_through(tmp_path, cache):
    assert looked_at(tmp_path, "push", cache).returncode == 2


def test_it_looks_before_anything_is_installed_or_run():
    assert STEPS[0]["name"] == "Look at what started this"


def test_inputs_reach_the_shell_through_its_environment_only():
    for step in SHELL.values():
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
    used = {value for step in SHELL.values() for value in step["env"].values()}
    elsewhere = {"working-directory", "python-version"}
    assert used == {f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"].keys() - elsewhere}


def test_without_inputs_everything_is_replayed(tmp_path):
    comment = tmp_path / "proctor-comment.md"
    assert ran(tmp_path) == ["run", "--cache=replay", "--format=markdown", f"--out={comment}", "--"]
    assert (tmp_path / "output").read_text(encoding="utf-8") == f"comment={comment}\n"


def test_inputs_become_options(tmp_path):
    words = ran(
        tmp_path, suites="one two", cache="off", max_cost="1.5", baseline="main", tier="pr",
        report_dir="reports",
    )  # fmt: skip
    assert words[1] == "--cache=off"
    assert words[4:] == [
        "--max-cost=1.5",
        "--tier=pr",
        "--report-dir=reports",
        "--baseline=main",
        "--fail-on-regression",
        "--",
        "one",
        "two",
    ]
    assert "--fail-on-regression" not in ran(tmp_path, baseline="main", fail_on_regression="false")


HOSTILE = '$(touch pwned) `touch pwned` "; touch pwned; #'


@pytest.mark.parametrize("name", ["suites", "max_cost", "baseline", "tier", "report_dir"])
def test_nothing_in_an_input_is_a_command_or_another_option(tmp_path, name):
    words = ran(tmp_path, **{name: HOSTILE})
    assert not (tmp_path / "pwned").exists()
    option = f"--{name.replace('_', '-')}={HOSTILE}"
    assert option in words or words[words.index("--") + 1 :] == HOSTILE.split()
    words = ran(tmp_path, suites="--cache=off")
    assert words.index("--cache=off") > words.index("--")


def test_what_asks_models_is_installed_only_where_they_are_asked(tmp_path):
    words = [
        shell("Install", tmp_path, inputs={"cache": cache}).stdout.splitlines()
        for cache in ("replay", "off")
    ]
    assert [one[-1] for one in words] == ["/action", "/action[live]"]


# The recipes


def workflows():
    blocks = re.findall(r"^```yaml\n(name: .*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return [yaml.load(block, Loader=yaml.BaseLoader) for block in blocks]


def test_the_recipes_ask_for_reading_only_and_use_inputs_that_there_are():
    found = workflows()
    assert [one["name"] for one in found] == ["evals", "evals-live"]
    for one in found:
        assert one["permissions"] == {"contents": "read"}
        (job,) = one["jobs"].values()
        used = job["steps"][-1]
        assert used["with"].keys() <= ACTION["inputs"].keys()
        is_live = used["with"].get("cache", "replay") != "replay"
        assert ("pull_request" in one["on"]) is not is_live
        assert ("secrets." in str(one)) is is_live


def test_the_page_says_in_bold_that_no_key_goes_to_code_of_a_pull_request():
    assert "**Never give a key to pull-request code.**" in PAGE
