"""`--allow-local` with and without a port, and what it opens."""

import click
import pytest

from proctor.cli.main import cli
from proctor.cli.optional_values import attached
from proctor.errors import ProviderError
from proctor.providers.hosts import HostRules, open_endpoint, open_target


@pytest.mark.parametrize(
    ("given", "joined"),
    [
        ([], []),
        (["run", "quiz"], ["run", "quiz"]),
        (["run", "--allow-local"], ["run", "--allow-local="]),
        (["run", "--allow-local", "quiz"], ["run", "--allow-local=", "quiz"]),
        (["run", "--allow-local", "9001"], ["run", "--allow-local=9001"]),
        (["run", "--allow-local", "9001", "9002"], ["run", "--allow-local=9001", "9002"]),
        (["run", "--allow-local=9001", "7"], ["run", "--allow-local=9001", "7"]),
        (["--allow-local", "--quiet"], ["--allow-local=", "--quiet"]),
        (["--allow-local", "--", "9001"], ["--allow-local=", "--", "9001"]),
        (["--", "--allow-local", "9001"], ["--", "--allow-local", "9001"]),
    ],
)
def test_only_a_number_behind_it_is_its_value(given, joined):
    assert attached(given) == joined


@pytest.mark.parametrize("command", ["run"])
@pytest.mark.parametrize(
    ("given", "ports", "suites"),
    [
        ([], (), ()),
        (["--allow-local"], (None,), ()),
        (["--allow-local", "quiz"], (None,), ("quiz",)),
        (["quiz", "--allow-local", "9001", "--allow-local"], (9001, None), ("quiz",)),
        (["--allow-local=1", "--allow-local", "65535"], (1, 65535), ()),
    ],
)
def test_a_command_knows_the_ports(monkeypatch, command, given, ports, suites):
    seen = {}
    monkeypatch.setattr(cli.get_command(None, command), "callback", seen.update)
    cli.main(args=[command, *given], standalone_mode=False)
    assert (seen["allow_local"], seen["suites"]) == (ports, suites)


@pytest.mark.parametrize("value", ["0", "65536", "999999", "x", "-1", "80.0", "\u0661"])
def test_what_is_no_port_is_refused(monkeypatch, value):
    monkeypatch.setattr(cli.get_command(None, "run"), "callback", lambda **given: None)
    with pytest.raises(click.BadParameter, match="number of a port"):
        cli.main(args=["run", f"--allow-local={value}"], standalone_mode=False)


def is_open(opened, *arguments, **named):
    codes = []
    try:
        opened(*arguments, **named)
    except ProviderError as problem:
        codes.append(problem.code)
    assert codes in ([], ["P6307"])
    return not codes


@pytest.mark.parametrize(
    ("local", "ports", "provider", "target"),
    [
        (False, [], False, False),
        (True, [], True, False),
        (False, [9001], True, True),
        (False, [9002], False, False),
        (True, [9002], True, False),
    ],
)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.9.9.9", "[::1]"])
def test_a_port_opens_targets_and_the_bare_flag_only_providers(
    host, local, ports, provider, target
):
    rules = HostRules.of([], allow_local=local, ports=ports)
    url = f"http://{host}:9001/v1"
    assert is_open(open_endpoint, "local", "openai", url, rules) is provider
    assert is_open(open_target, "agent", url, rules, where="here") is target


def test_a_port_of_this_machine_opens_no_other_machine():
    rules = HostRules.of([], allow_local=True, ports=[443, 9001])
    for url in ("https://agent.example", "https://agent.example:9001", "https://192.0.2.1:9001"):
        assert not is_open(open_target, "agent", url, rules, where="here")


def test_an_endpoint_keeps_its_query_and_a_provider_has_none():
    rules = HostRules.of(["agent.example"], allow_local=False)
    opened = open_target("agent", "https://agent.example/a?v=2", rules, where="here")
    assert str(opened.url) == "https://agent.example/a?v=2"
    assert not is_open(open_endpoint, "x", "openai", "https://agent.example/a?v=2", rules)
