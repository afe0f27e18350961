"""What is sent where is said on the command line, and nowhere else."""

from __future__ import annotations

import pytest

from live_support import LiveProject

ASK = ("run", "--cache", "record", "--max-cost", "1")
GATEWAY = """\
project = "tests"
[providers.local]
kind = "openai"
base_url = "https://gateway.example/v1"
key_env = "GATEWAY_KEY"
[prices."local/tiny"]
input = 1
output = 1
"""
OPEN_HOST = ("--allow-host", "gateway.example")
OPEN_BOTH = (*OPEN_HOST, "--allow-key", "GATEWAY_KEY=gateway.example")


@pytest.fixture
def project(tmp_path):
    project = LiveProject(tmp_path)
    project.write("proctor.toml", GATEWAY)
    project.named_cases("a")
    return project


@pytest.mark.parametrize(
    ("flags", "code", "next_step"),
    [
        ((), "P6307", "`--allow-host gateway.example`"),
        (OPEN_HOST, "P6307", "`--allow-key GATEWAY_KEY=gateway.example`"),
        (OPEN_BOTH, "P6306", "export"),
    ],
)
def test_no_variable_and_no_env_file_opens_a_host_or_holds_a_key(project, flags, code, next_step):
    allowing = {
        "PROCTOR_ALLOW_HOST": "gateway.example",
        "PROCTOR_ALLOW_LOCAL": "1",
        "PROCTOR_ALLOW_KEY": "GATEWAY_KEY=gateway.example",
    }
    lines = [f"{name}={value}\n" for name, value in allowing.items()]
    project.write(".env", "".join([*lines, "GATEWAY_KEY=sk-test-000111222333\n"]))
    result = project.proctor(*ASK, *flags, env=allowing)
    assert result.code == 2
    assert f"{code}: " in result.err
    assert next_step in result.err
    assert "000111222333" not in result.err


@pytest.mark.parametrize(
    "flags",
    [
        ("--allow-host", "*"),
        ("--allow-host", "127.0.0.1:8080"),
        ("--allow-key", "gateway.example"),
        ("--allow-key", "GATEWAY_KEY=*"),
    ],
)
def test_a_flag_that_names_no_host_stops_the_run(project, flags):
    result = project.proctor(*ASK, *flags)
    assert result.code == 2
    assert "P6002: " in result.err
    assert f"`{flags[0]}`" in result.err


def test_a_url_with_a_password_is_refused_without_being_shown(project):
    config = GATEWAY.replace("https://", "https://user:sk-test-000111222333@")
    project.write("proctor.toml", config)
    result = project.proctor(*ASK, *OPEN_BOTH)
    assert result.code == 2
    assert "providers.local.base_url: P6307: " in result.err
    assert "000111222333" not in result.err
