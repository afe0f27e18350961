"""Nothing that reaches standard error shows a key that was read."""

from __future__ import annotations

import pytest

from proctor.cli import main as entry
from proctor.cli import output as printing
from proctor.cli.output import Output
from proctor.errors import ManyProblems, ProviderError
from proctor.scrubbing import Scrubber

KEY = "sk-test/000111222333"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    """A key that the process has read."""
    scrubber = Scrubber()
    scrubber.add(KEY)
    monkeypatch.setattr(printing, "SECRETS", scrubber)


def exit_of(monkeypatch, capsys, error):
    """The exit code and standard error of a command that raises something."""

    def fails(**_):
        raise error

    monkeypatch.setattr(entry.cli, "main", fails)
    with pytest.raises(SystemExit) as stopped:
        entry.main(["run"])
    return stopped.value.code, capsys.readouterr().err


def test_the_traceback_of_a_fault_shows_no_key(monkeypatch, capsys):
    error = RuntimeError(f"asked with {KEY}")
    error.__cause__ = ValueError("GET /?key=sk-test%2F000111222333")
    error.add_note(f"Authorization: Bearer {KEY}")
    code, said = exit_of(monkeypatch, capsys, error)
    assert code == 70
    assert "RuntimeError: asked with [redacted]\n" in said
    assert "ValueError: GET /?key=[redacted]\n" in said
    assert "Authorization: Bearer [redacted]\n" in said
    assert "000111222333" not in said
    assert said.splitlines()[-1].startswith("this is a fault of Proctor")


def test_the_traceback_of_a_fault_cannot_command_a_terminal_or_a_runner(monkeypatch, capsys):
    error = RuntimeError("red \x1b[31m\n::error::forged\n##[error]forged")
    _, said = exit_of(monkeypatch, capsys, error)
    assert "red \\x1b[31m" in said
    assert "\x1b" not in said
    assert "forged" in said
    assert not any(line.lstrip().startswith(("::", "##[")) for line in said.splitlines())


@pytest.mark.parametrize("spelling", [KEY, "sk-test%2F000111222333", "sk-test\\/000111222333"])
def test_a_note_shows_no_key(capsys, spelling):
    Output().note(f"sending {spelling} away")
    assert capsys.readouterr().err == "sending [redacted] away\n"


def test_a_key_is_found_before_what_is_unseen_is_spelled_out(capsys, monkeypatch):
    scrubber = Scrubber()
    scrubber.add("key with \u200b in it")
    monkeypatch.setattr(printing, "SECRETS", scrubber)
    Output().note("the key with \u200b in it")
    assert capsys.readouterr().err == "the [redacted]\n"


def test_problems_show_no_key_in_message_place_or_hint(monkeypatch, capsys):
    problem = ProviderError(f"no {KEY}", code="P6312", hint=f"not {KEY}", where=f"x{KEY}")
    code, said = exit_of(monkeypatch, capsys, ManyProblems([problem, problem]))
    assert code == 2
    assert said.startswith("x[redacted]: P6312: no [redacted]\n    not [redacted]\n")
    assert "000111222333" not in said
