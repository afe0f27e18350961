"""What the page about targets shows works: its suites load, its code answers."""

import asyncio
import re
import shutil
import sys
from pathlib import Path

import pytest
from dataset_rules import AnyCase

from proctor.loading import sources
from proctor.loading.dataset_options import DatasetFile
from proctor.loading.prompts import Prompts
from proctor.loading.sources import load_source
from proctor.loading.suites import load_suite
from proctor.providers.access import Access
from proctor.providers.hosts import HostRules
from proctor.providers.keys import KeyRules
from proctor.records import Case, Scenario
from proctor.registry import Registry
from proctor.targets.agent import AgentTarget

GUIDE = Path(__file__).parents[3] / "docs" / "targets.md"
TEXT = GUIDE.read_text(encoding="utf-8")
SUITES = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
FILES = dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```', TEXT, re.MULTILINE | re.DOTALL))
ACCESS = Access(
    HostRules.of(["agent.example"], allow_local=False),
    KeyRules.of(["AGENT_KEY=agent.example", "AGENT_TOKEN=agent.example"]),
)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with the files of the page, whose modules are forgotten afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        path.chmod(0o755)
    for name in ("france-1.txt", "france-2.txt", "italy.json"):
        path = tmp_path / "evals/outputs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}", encoding="utf-8")
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("agents", "shop_orders"):
            del sys.modules[name]


@pytest.fixture
def load(project):
    """Load a suite of the page, with what it leaves out."""

    def load_text(text):
        rest = "" if "assertions:" in text else "assertions: [{id: a, kind: equals, value: x}]\n"
        rest += "" if "dataset:" in text else "dataset: cases.jsonl\n"
        if not re.search(r"^(target|outputs):", text, re.MULTILINE):
            rest += "target: {python: 'agents.shout:answer'}\n"
        (project / "evals/q.eval.yaml").write_text(text + rest, encoding="utf-8")
        definition, problems = load_suite(
            project, "evals/q.eval.yaml", Prompts(project, "prompts", "acme")
        )
        assert [one.message for one in problems] == []
        return definition

    return load_text


def opened(project, definition, notes):
    return AgentTarget(definition.target).open(
        project, allow_code=True, access=ACCESS, note=notes.append
    )


def of_kind(load, kind):
    found = [load(text) for text in SUITES]
    return next(one for one in found if one.target.subject.kind == kind)


@pytest.mark.parametrize("text", SUITES, ids=range(len(SUITES)))
def test_every_suite_of_the_page_can_be_used(load, text):
    assert load(text).target is not None


def test_the_page_shows_each_kind(load):
    kinds = [load(text).target.subject.kind for text in SUITES]
    assert {"python", "http", "command", "outputs"} <= set(kinds)


def test_the_class_of_the_page_builds_and_answers(project, load):
    target = opened(project, of_kind(load, "python"), [])
    case = Case("france", {"country": "France"})

    async def run():
        await target.setup(None)
        built = await target.build(case, 1, None)
        reply = await target.answer(case, Scenario("s"), built.artifact, 1, None)
        assert await target.cleanup(built.artifact, None) is True
        await target.teardown(None)
        return built.reply.answer, reply.answer

    built, answer = asyncio.run(run())
    assert (answer.text, answer.turns) == ('{"capital": "Paris"}', 1)
    assert answer.evidence == {"map": {"country": "France"}}
    assert built.transcript == ["looked at the map"]


def test_the_function_of_the_page_answers(project, load):
    target = opened(project, load("target: {python: 'agents.shout:answer'}\n"), [])
    reply = asyncio.run(target.answer(Case("a", {"question": "why?"}), None, None, 1, None))
    assert reply.answer.text == "WHY?"


@pytest.mark.skipif(shutil.which("sh") is None, reason="the page shows a shell script")
@pytest.mark.parametrize(
    ("question", "text", "evidence"),
    [("Why?", "Because.", {"rule": 7}), ("How?", "I do not know.", None)],
)
def test_the_program_of_the_page_answers(project, load, monkeypatch, question, text, evidence):
    monkeypatch.setenv("AGENT_TOKEN", "sk-agent-0001")
    target = opened(project, of_kind(load, "command"), [])
    answer = asyncio.run(target.answer(Case("a", {"question": question}), None, None, 1, None))
    assert (answer.answer.text, answer.answer.evidence) == (text, evidence)


def test_the_endpoint_of_the_page_needs_the_flags_that_the_page_shows(project, load, monkeypatch):
    monkeypatch.setenv("AGENT_KEY", "sk-agent-0001")
    monkeypatch.setenv("AGENT_TOKEN", "sk-agent-0002")
    notes = []
    opened(project, of_kind(load, "http"), notes)
    assert notes == ["sending AGENT_KEY to agent.example", "sending AGENT_TOKEN to agent.example"]
    assert "--allow-key AGENT_KEY=agent.example --allow-key AGENT_TOKEN=agent.example" in TEXT


def test_the_plugin_of_the_page_yields_cases(project, monkeypatch):
    registry = Registry("case source", {"shop-orders": "shop_orders:load"})
    monkeypatch.setattr(sources, "case_sources", registry)
    sys.path.append(str(project))
    dataset, problems = load_source(
        DatasetFile(source="shop-orders", options={"since": "2026-01-01"}),
        root=project,
        rules=AnyCase(),
        max_cases=10,
        where="here",
        allow_code=True,
    )
    assert problems == []
    assert dataset.case(1) == Case("order-2", {"since": "2026-01-01", "number": 2})
    dataset.close()
