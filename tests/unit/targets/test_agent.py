"""What is known of a target without running anything of it."""

import sys
from hashlib import sha256

import pytest

from proctor.canonical import digest
from proctor.errors import ProviderError
from proctor.providers.access import Access
from proctor.providers.hosts import HostRules
from proctor.providers.keys import KeyRules
from proctor.records import BUILD_ONLY, Case, Scenario, TargetSubject
from proctor.records.targets import CommandCall, HttpCall, LoadedTarget, PythonCall, StoredOutputs
from proctor.targets.agent import AgentTarget

NOBODY = Access(HostRules.of([], allow_local=False), KeyRules.of([]))
CASE = Case("a", {"b": 1.0, "a": "é"}, expected=1, tags=["t"])
HTTP = HttpCall(url="https://agent.example/a", method="POST", headers={})


def agent(how=PythonCall("agents:Agent"), kind="python", **more):  # noqa: B008 - it is frozen
    subject = TargetSubject(kind=kind, name="agent", bundle_sha256="0" * 64)
    return AgentTarget(LoadedTarget(subject=subject, how=how, where="here", **more))


@pytest.mark.parametrize(
    ("scenario", "canonical"),
    [
        (None, '{"inputs":{"a":"é","b":1},"scenario":null}'),
        (
            Scenario("s", {"n": 2}, expected=3, assertions=["x"], resources=["r"]),
            '{"inputs":{"a":"é","b":1},"scenario":{"inputs":{"n":2},"name":"s"}}',
        ),
        (Scenario("s"), '{"inputs":{"a":"é","b":1},"scenario":{"inputs":{},"name":"s"}}'),
        (Scenario(BUILD_ONLY), '{"inputs":{"a":"é","b":1},"scenario":null}'),
    ],
)
def test_a_recording_is_known_by_the_inputs_and_the_scenario(scenario, canonical):
    inputs = agent().key_inputs(CASE, scenario)
    assert digest(inputs) == sha256(canonical.encode()).hexdigest()


def test_what_was_said_before_is_part_of_it_where_there_is_any():
    said = Case("a", {"b": 1}, conversation=[{"role": "user", "text": "Hi"}])
    canonical = '{"conversation":[{"role":"user","text":"Hi"}],"inputs":{"b":1},"scenario":null}'
    assert digest(agent().key_inputs(said, None)) == sha256(canonical.encode()).hexdigest()


def test_what_the_suite_says_of_it_is_there():
    target = agent(
        lanes=("https://a.example",), builds_per_lane=2, timeout_s=9.0, max_cost_usd={"build": 1.0}
    )
    assert (target.subject.id, target.kind) == ("target:python:agent", "python")
    assert (target.lanes, target.builds_per_lane) == (("https://a.example",), 2)
    assert (target.timeout_s, target.max_cost_usd) == (9.0, {"build": 1.0})


def test_other_lanes_change_nothing_else():
    target = agent(lanes=("https://a.example",), builds_per_lane=2)
    other = target.with_lanes(["https://b.example"])
    assert (other.lanes, other.builds_per_lane, other.subject) == (
        ("https://b.example",),
        2,
        target.subject,
    )
    assert target.with_lanes([]) is target


@pytest.mark.parametrize(
    ("how", "kind", "needs"),
    [
        (PythonCall("a:b"), "python", True),
        (CommandCall(("a",), ()), "command", True),
        (HTTP, "http", False),
        (StoredOutputs({}), "outputs", False),
    ],
)
def test_only_code_has_to_be_allowed(how, kind, needs):
    assert agent(how, kind).needs_code is needs


def test_an_endpoint_without_an_http_client_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.delitem(sys.modules, "proctor.targets.http", raising=False)
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(ProviderError) as caught:
        agent(HTTP, "http").open(tmp_path, allow_code=False, access=NOBODY, note=print)
    assert (caught.value.code, caught.value.hint) == (
        "P6301",
        "install it with `pip install 'proctor[live]'`",
    )
    assert caught.value.message == "the target `agent` needs `httpx2`, which is not installed"


@pytest.mark.parametrize(
    ("how", "kind", "code"),
    [
        (PythonCall("a:b"), "python", "P6220"),
        (CommandCall(("a",), ()), "command", "P6220"),
        (HTTP, "http", "P6307"),
    ],
)
def test_each_kind_is_opened_only_when_that_is_allowed(tmp_path, how, kind, code):
    from proctor.errors import ProctorError

    with pytest.raises(ProctorError) as caught:
        agent(how, kind).open(tmp_path, allow_code=False, access=NOBODY, note=print)
    assert caught.value.code == code


def test_every_kind_is_a_live_target_when_it_is_open(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.delitem(sys.modules, "opened_agents", raising=False)
    (tmp_path / "opened_agents.py").write_text("def agent(case): return 1\n", encoding="utf-8")
    every = Access(HostRules.of(["agent.example"], allow_local=False), KeyRules.of([]))
    names = "builds setup teardown health build prepare answer cleanup aclose".split()  # noqa: SIM905
    for how, kind in (
        (PythonCall("opened_agents:agent"), "python"),
        (CommandCall((sys.executable,), ()), "command"),
        (HTTP, "http"),
    ):
        opened = agent(how, kind).open(
            tmp_path, allow_code=True, access=every, note=lambda text: None
        )
        assert all(hasattr(opened, name) for name in names), kind
        assert opened.builds is False
    sys.modules.pop("opened_agents")
