"""`--otel`: spans in whatever this process traces."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest
from msgspec.structs import replace
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agent_support import Agent, AgentProject, agent_session, case
from judged_support import JudgedProject
from proctor.drivers.otel import OpenTelemetry
from proctor.evaluation import evaluate
from proctor.records import TargetSubject
from proctor.scrubbing import SECRETS
from proctor.tracker_protocols import Span, SpanKind
from support import Project
from tracker_support import CANARIES, EXPECTED, INPUT, REASON, SAID, called, refused

JSON_REPORT = ("--format", "json", "--out", "report.json")


@pytest.fixture
def provider(monkeypatch):
    """The tracer provider of this process, for one test."""
    provider = TracerProvider()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return provider


@pytest.fixture
def exported(provider):
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter.get_finished_spans


@pytest.fixture
def nothing_configured(monkeypatch):
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.delenv("OTEL_PYTHON_TRACER_PROVIDER", raising=False)


@pytest.fixture
def judged(tmp_path):
    project = JudgedProject(tmp_path)
    project.cases({"id": "one", "inputs": {"question": INPUT}, "expected": {"label": EXPECTED}})
    verdict = json.dumps({"verdict": "fail", "reason": REASON})
    project.says(verdict, answer=json.dumps({"label": SAID}))
    project.judged(
        {"id": "right", "kind": "equals", "field": "label", "severity": "warn"},
        {"id": "tone", "kind": "llm-judge", "rubric": "judge-tone"},
    )
    return project


def everything(spans) -> str:
    return "\n".join(span.to_json() for span in spans)


def report_of(project, *options: str) -> tuple[int, bytes]:
    code = called(project, "run", *JSON_REPORT, *options)
    return code, (project.root / "report.json").read_bytes()


def test_a_live_row_is_a_span_with_its_judges_inside(judged, exported):
    called(judged, "run", "--cache", "record", "--quiet", "--otel")
    *asked, row = exported()
    assert [span.name for span in asked] == ["judge"] * 3
    assert row.name == "scenario"
    assert {span.parent.span_id for span in asked} == {row.context.span_id}
    assert row.parent is None
    about = row.attributes
    assert about["gen_ai.operation.name"] == "chat"
    assert about["gen_ai.provider.name"] == "local"
    assert about["gen_ai.request.model"] == "tiny"
    assert tuple(about["gen_ai.response.finish_reasons"]) == ("stop",)
    assert (about["proctor.suite"], about["proctor.case"], about["proctor.repeat"]) == (
        "quiz",
        "one",
        1,
    )
    assert about["proctor.outcome"] == "failed"
    judge = asked[0].attributes
    assert judge["gen_ai.request.model"] == "judge"
    assert judge["gen_ai.evaluation.name"] == "tone"
    assert judge["proctor.replayed"] is False


def test_each_check_is_an_evaluation_result(judged, exported):
    called(judged, "run", "--cache", "record", "--quiet", "--otel")
    events = {event.attributes["gen_ai.evaluation.name"]: event for event in exported()[-1].events}
    assert {event.name for event in events.values()} == {"gen_ai.evaluation.result"}
    assert dict(events["tone"].attributes) == {
        "gen_ai.evaluation.name": "tone",
        "gen_ai.evaluation.score.label": "failed",
        "gen_ai.evaluation.score.value": 0.0,
    }
    assert set(events) == {"right", "tone"}


@pytest.mark.parametrize("content", [False, True])
def test_content_is_in_spans_with_its_flag_only(judged, exported, content):
    flags = ("--otel", "--otel-content") if content else ("--otel",)
    called(judged, "run", "--cache", "record", "--quiet", *flags)
    live = exported()
    called(judged, "run", *flags)
    replayed = exported()[len(live) :]
    for spans in (live, replayed):
        text = everything(spans)
        assert [one in text for one in CANARIES] == [content] * 4


def test_replayed_rows_are_spans_that_take_no_time(tmp_path, exported):
    project = Project(tmp_path)
    project.cases(*map(project.case, ("good", "gone")))
    project.cassette(project.recording("good", '{"label": "yes"}'))
    called(project, "run", "--otel")
    good, gone = exported()
    about = good.attributes
    assert (good.name, about["proctor.replayed"], about["proctor.outcome"]) == (
        "scenario",
        True,
        "passed",
    )
    assert (about["gen_ai.usage.input_tokens"], about["gen_ai.usage.output_tokens"]) == (10, 4)
    assert about["gen_ai.usage.cache_read.input_tokens"] == 0
    assert about["proctor.cost_usd"] == 0.001
    assert gone.attributes["error.type"] == "P6402"
    assert gone.status.status_code is trace.StatusCode.ERROR
    assert "gen_ai.usage.input_tokens" not in gone.attributes


def test_a_built_agent_has_its_build_and_its_scenarios(tmp_path, exported):
    agents = AgentProject(tmp_path)
    agents.agent_suite(target={"lanes": ["http://127.0.0.1:9001"]})
    agents.cases(case("a", "first", "second"))
    tracker = OpenTelemetry(content=False, note=pytest.fail)
    with agent_session(agents, Agent()) as (config, selected, session):
        session._means = replace(session._means, wrap=tracker.wrap)
        evaluate(config, selected, session)
    build, *rows = exported()
    assert build.name == "build"
    assert build.attributes["gen_ai.operation.name"] == "create_agent"
    assert [span.name for span in rows] == ["agent_scenario"] * 2
    for span in (build, *rows):
        assert span.attributes["gen_ai.agent.name"] == "agent"
        assert span.attributes["proctor.lane"] == "http://127.0.0.1:9001"
    assert {span.attributes["gen_ai.operation.name"] for span in rows} == {"invoke_agent"}
    assert {span.attributes["proctor.scenario"] for span in rows} == {"first", "second"}


def test_a_row_that_is_cancelled_ends_its_span(exported):
    tracker = OpenTelemetry(content=False, note=pytest.fail)
    subject = TargetSubject(kind="python", name="agent", bundle_sha256="b" * 64)

    async def run() -> bool:
        async def forever():
            await asyncio.get_running_loop().create_future()

        span = Span(kind=SpanKind.SCENARIO, subject=subject, suite="quiz")
        row = asyncio.create_task(tracker.wrap(span, None, forever))
        await asyncio.sleep(0)
        row.cancel()
        await asyncio.wait([row])
        return row.cancelled()

    assert asyncio.run(run())
    assert [span.name for span in exported()] == ["scenario"]


def test_a_build_that_fails_names_the_class_of_the_error(tmp_path, exported):
    def lost(case, repeat):
        raise ConnectionRefusedError(SAID)

    agents = AgentProject(tmp_path)
    agents.cases(case("a", "first"))
    tracker = OpenTelemetry(content=False, note=pytest.fail)
    with agent_session(agents, Agent(build=lost)) as (config, selected, session):
        session._means = replace(session._means, wrap=tracker.wrap)
        evaluate(config, selected, session)
    assert [span.attributes["error.type"] for span in exported()] == ["ConnectionRefusedError"] * 3
    assert SAID not in everything(exported())


def test_without_a_tracer_provider_nothing_happens_and_that_is_said(
    tmp_path, nothing_configured, capfd
):
    project = Project(tmp_path)
    project.exam({"one": "yes"})
    expected = report_of(project)
    capfd.readouterr()
    assert report_of(project, "--otel") == expected
    said = capfd.readouterr().err
    assert "no tracer provider is configured in this process" in said
    assert "opentelemetry-instrument proctor run" in said


class Broken(SimpleSpanProcessor):
    """A span processor that raises."""

    def __init__(self, at: str) -> None:
        super().__init__(InMemorySpanExporter())
        setattr(self, at, self._raise)

    def _raise(self, *args, **kwargs) -> None:
        raise RuntimeError(SAID)


@pytest.mark.parametrize("place", ["on_start", "on_end"])
def test_what_others_configured_may_fail(judged, provider, capfd, place):
    provider.add_span_processor(Broken(place))
    record = ("--cache", "refresh", "--quiet")
    expected = report_of(judged, *record)
    capfd.readouterr()
    assert report_of(judged, *record, "--otel") == expected
    said = capfd.readouterr().err
    assert said.count("warning: otel: making a span failed: RuntimeError") == 1
    assert SAID not in said


def test_keys_and_halves_of_characters_are_in_no_span(tmp_path, exported, monkeypatch):
    monkeypatch.setattr(SECRETS, "_values", SECRETS._values)
    monkeypatch.setattr(SECRETS, "_patterns", SECRETS._patterns)
    SECRETS.add("sk-canary-0099")
    project = Project(tmp_path)
    project.cases({**project.case("one"), "inputs": {"question": "\ud800 sk-canary-0099"}})
    called(project, "run", "--otel", "--otel-content")
    (span,) = exported()
    assert "sk-canary-0099" not in everything([span])
    span.attributes["proctor.inputs"].encode("utf-8")


def test_it_names_the_extra_that_installs_the_api(tmp_path, monkeypatch):
    project = Project(tmp_path)
    project.exam({"one": "yes"})
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    with refused("P6301") as problems:
        called(project, "run", "--otel")
    assert problems[0].hint == "install it with `pip install 'proctor[otel]'`"
