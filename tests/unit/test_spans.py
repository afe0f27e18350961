"""What takes time in a row is told to whoever follows the run, and changes nothing of it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agent_support import Agent, AgentProject, agent_session, ask_agent, case
from judged_support import PASS, JudgedProject
from live_support import YES, live_session
from proctor.drivers import langsmith
from proctor.evaluation import evaluate
from proctor.protocols import Heard
from proctor.records import Reply, RowResult
from proctor.records.targets import TargetAnswer
from tracker_support import FakeLangSmith, tracker_of

LANES = ["http://127.0.0.1:9001", "http://127.0.0.1:9002"]


class Noted:
    """A tracker that notes what is wrapped, in the order in which it ends."""

    def __init__(self) -> None:
        self.spans: list[tuple] = []
        self.came: dict[str, set[type]] = {}

    async def wrap(self, span, lane, fn):
        row, question = span.row, span.question
        about = (question.case, question.assertion) if row is None else (row.case.id, row.repeat)
        scenario = None if row is None or row.scenario is None else row.scenario.name
        came = None
        try:
            came = await fn()
        finally:
            self.spans.append((span.kind.value, *about, scenario, lane))
            self.came.setdefault(span.kind.value, set()).add(type(came))
        return came

    def of(self, kind: str) -> list[tuple]:
        return sorted(span[1:] for span in self.spans if span[0] == kind)


@pytest.fixture
def agents(tmp_path):
    return AgentProject(tmp_path)


def wrapped(session, tracker):
    session._means = replace(session._means, wrap=tracker.wrap)


def ask(project, agent, tracker, **options):
    with agent_session(project, agent, **options) as (config, selected, session):
        wrapped(session, tracker)
        return evaluate(config, selected, session)


class TestPrompts:
    def test_each_row_is_a_scenario_and_its_judges_are_asked_inside(self, tmp_path):
        project = JudgedProject(tmp_path)
        project.named_cases("one", "two")
        noted = Noted()

        def says(request, call):
            return PASS if "Judge the reply" in request.messages[0].content else YES

        with live_session(project, says) as (config, selected, session):
            wrapped(session, noted)
            evaluate(config, selected, session)
        assert noted.of("scenario") == [("one", 1, None, None), ("two", 1, None, None)]
        assert noted.of("judge") == [
            (name, "tone", None, None) for name in ("one", "two") for _ in range(3)
        ]
        assert noted.came == {"scenario": {RowResult}, "judge": {Heard}}
        for name in ("one", "two"):
            own = [span[0] for span in noted.spans if span[1] == name]
            assert own == ["judge"] * 3 + ["scenario"]


class TestAgents:
    def test_what_is_built_once_is_one_build_and_each_scenario_one_row(self, agents):
        agents.cases(case("a", "first", "second"))
        noted = Noted()
        ask(agents, Agent(), noted, repeats=2)
        assert [span[:2] for span in noted.of("build")] == [("a", 1), ("a", 2)]
        assert noted.of("agent_scenario") == [
            ("a", repeat, scenario, None) for repeat in (1, 2) for scenario in ("first", "second")
        ]
        assert noted.of("scenario") == []
        assert noted.came == {"build": {Reply}, "agent_scenario": {RowResult}}

    def test_an_agent_that_builds_nothing_has_scenarios(self, agents):
        agents.cases(case("a", "first"), case("b"))
        noted = Noted()
        ask(agents, Agent(build=None), noted)
        assert noted.of("scenario") == [("a", 1, "first", None), ("b", 1, None, None)]
        assert noted.came == {"scenario": {RowResult}}

    def test_what_is_expected_of_a_build_is_judged_inside_of_its_first_row(self, agents):
        agents.cases(case("a", "first", "second", expectations=["It is kind."]))
        noted = Noted()
        ask(agents, Agent(), noted)
        assert [span[:1] for span in noted.of("judge")] == [("a",)]
        kinds = [span[0] for span in noted.spans]
        assert kinds[0] == "build"
        assert kinds.index("judge") < kinds.index("agent_scenario")

    def test_a_build_and_the_rows_on_it_name_their_lane(self, agents):
        agents.agent_suite(target={"lanes": LANES})
        agents.cases(case("a", "first"), case("b", "first"))
        noted = Noted()
        ask(agents, Agent(), noted)
        built = {name: lane for name, _, _, lane in noted.of("build")}
        assert set(built.values()) == set(LANES)
        assert {name: lane for name, _, _, lane in noted.of("agent_scenario")} == built

    def test_each_attempt_of_a_build_is_one_and_one_that_fails_has_no_row(self, agents):
        def lost(case, repeat):
            raise ConnectionRefusedError("connection refused")

        agents.cases(case("a", "first"))
        noted = Noted()
        report = ask(agents, Agent(build=lost), noted)
        assert len(noted.of("build")) == 3
        assert noted.came == {"build": {type(None)}}
        assert report.head.suites[0].subjects[0].counts.errored == 1

    def test_the_report_has_the_same_bytes(self, agents, tmp_path):
        agents.cases(case("a", "first", "second", expectations=["It is kind."]), case("b"))
        other = AgentProject(tmp_path / "other")
        other.cases(case("a", "first", "second", expectations=["It is kind."]), case("b"))
        expected = ask_agent(other, Agent())
        noted = Noted()
        with agent_session(agents, Agent()) as (config, selected, session):
            wrapped(session, noted)
            report = evaluate(config, selected, session)
        from proctor.records import RenderOptions
        from proctor.rendering.report_json import render_json

        assert b"".join(render_json(report, RenderOptions())) == expected


class TestLangSmith:
    @pytest.fixture
    def told(self, agents, fake):
        """A LangSmith that is told of a run of two scenarios on one build, each in two repeats."""
        kept = FakeLangSmith(fake)
        agents.cases(case("a", "first", "second", expectations=["It is kind."]))
        tracker = tracker_of(fake)
        with agent_session(
            agents,
            Agent(),
            repeats=2,
            on_finished=lambda suite, subject, ran: tracker.finished(
                suite, subject.target.subject, ran
            ),
        ) as (config, selected, session):
            wrapped(session, tracker)
            report = evaluate(config, selected, session)
        tracker.reported(report, "a" * 64)
        tracker.close()
        assert tracker.fault is None
        return kept

    def test_rows_are_agent_scenarios_with_the_build_in_the_first(self, told):
        rows = [one for one in told.runs.values() if "parent_run_id" not in one]
        assert len(rows) == 4
        assert {one["name"] for one in rows} == {"agent_scenario"}
        builds, judges = told.children("build"), told.children("judge")
        assert (len(builds), len(judges)) == (2, 2)
        firsts = {one["id"] for one in rows if one["extra"]["metadata"]["scenario"] == "first"}
        assert {one["parent_run_id"] for one in [*builds, *judges]} == firsts
        assert told.said("a", scenario="second", repeat=2)["case_pass"] == 1

    def test_no_row_is_sent_twice(self, told):
        sent = [seen for seen in told.server.seen if seen.path == "/runs/multipart"]
        posted = [name for seen in sent for name in seen.text.split('name="post.')[1:]]
        assert len(posted) == len(told.runs) == 8


def test_turns_and_the_category_of_a_failure_are_feedback(agents, fake):
    """What `a` builds is used in three turns; `b` cannot be built, which is the target's fault."""

    def build(case, repeat):
        if case.id == "b":
            raise ValueError("no")
        return {}

    def answer(case, scenario, artifact, repeat):
        return TargetAnswer(text="a/first", turns=3)

    agents.cases(case("a", "first"), case("b", "first"))
    kept, tracker = FakeLangSmith(fake), tracker_of(fake)
    tracker.reported(ask(agents, Agent(build=build, answer=answer), Noted()), "a" * 64)
    tracker.close()
    assert kept.said("a", scenario="first")["turns"] == 3
    assert kept.said("a", scenario="first")["failure_category"] is None
    failed = kept.said("b", scenario="first")
    assert (failed["case_pass"], failed["failure_category"]) == (0, "build_failure")
    assert failed["turns"] is None


def test_rows_that_only_the_report_knows_are_sent_at_the_end(tmp_path, fake):
    """Of a run that goes on, rows of the time before are in the report alone."""
    project = JudgedProject(tmp_path)
    project.named_cases("one", "two")
    kept, tracker = FakeLangSmith(fake), tracker_of(fake)

    def says(request, call):
        return PASS if "Judge the reply" in request.messages[0].content else YES

    told = []

    def finished(suite, subject, ran):
        if ran.planned.case.id == "two":
            told.append(ran)
            tracker.finished(suite, subject.target.subject, ran)

    with live_session(project, says) as (config, selected, session):
        session._options = replace(session._options, on_finished=finished)
        report = evaluate(config, selected, session)
    tracker.reported(report, "a" * 64)
    tracker.close()
    assert (len(told), len(kept.runs)) == (1, 2)
    assert kept.said("one")["check.tone"] == kept.said("two")["check.tone"] == 1


class TestPatience:
    def test_it_is_five_seconds(self):
        assert langsmith.PATIENCE_S == 5.0

    def test_what_was_waited_before_the_run_is_not_waited_again(self, fake):
        fake.does(fake.hang)
        tracker = tracker_of(fake, patience_s=0.05)
        assert tracker.newest("main/") is None
        tracker.close()
        assert tracker.fault.message == "it was not done within 0.05 s"

    def test_a_tracker_that_is_never_told_anything_asks_nothing(self, fake):
        tracker_of(fake).close()
        assert not fake.seen

    def test_after_the_end_nothing_is_sent(self, fake):
        tracker = tracker_of(fake)
        tracker.close()
        tracker.close()
        assert not fake.seen
