"""What a run can only go on with, and the order of rows that were kept and others."""

import json
from types import SimpleNamespace

import pytest

from agent_support import AgentProject
from agent_support import case as agent_case
from journal_support import Loaded, head_of
from judged_support import RIGHT, TONE, JudgedProject
from proctor.journal_rows import JournaledRow
from proctor.journaling import JournaledSession, plan_sha256
from proctor.protocols import PlannedRow, RanRow
from proctor.records import Case, Outcome, RowResult
from proctor.selecting import Selection
from rubric_prompts import SYSTEM, USER

PARTS = [{"kind": "contains", "value": "yes"}, {"kind": "contains", "value": "no"}]
GROUP = {"id": "one", "kind": "any-of", "of": PARTS}


@pytest.fixture
def project(tmp_path):
    project = JudgedProject(tmp_path)
    project.named_cases("a", "b", "c")
    project.judged(RIGHT, TONE, GROUP)
    return project


def plan(project, **options):
    loaded = Loaded(project, **options)
    try:
        assert plan_sha256(loaded.selected) == head_of(project, mode="off", **options).plan_sha256
        return plan_sha256(loaded.selected)
    finally:
        loaded.close()


class TestThePlan:
    def test_it_is_the_same_wherever_the_project_and_its_lines_are(self, project, tmp_path):
        before = plan(project)
        suite = json.loads((project.root / "evals/quiz.eval.yaml").read_text())
        project.write("evals/quiz.eval.yaml", "# a comment\n\n" + json.dumps(suite, indent=4))
        assert plan(project) == before
        other = JudgedProject(tmp_path / "elsewhere")
        other.named_cases("a", "b", "c")
        other.judged(RIGHT, TONE, GROUP)
        assert plan(other) == before

    @pytest.mark.parametrize(
        "change",
        [
            lambda p: p.judged(RIGHT, TONE, GROUP, tiers=["pr"]),
            lambda p: p.judged(RIGHT, TONE),
            lambda p: p.judged(TONE, RIGHT, GROUP),
            lambda p: p.judged(RIGHT | {"severity": "warn"}, TONE, GROUP),
            lambda p: p.judged(RIGHT, TONE, GROUP | {"of": PARTS[:1]}),
            lambda p: p.judged(RIGHT, TONE, GROUP, judge={"model": "local/other"}),
            lambda p: p.judged(RIGHT, TONE, GROUP, thresholds={"passRate": 0.5}),
            lambda p: p.judged(RIGHT, TONE, GROUP, models=["local/x"]),
            lambda p: p.judged(RIGHT, TONE, GROUP, repeats=2),
            lambda p: p.rubric(messages=[("system", SYSTEM + " Be strict."), ("user", USER)]),
            lambda p: p.named_cases("a", "b", "d"),
        ],
    )
    def test_what_is_run_is_all_in_it(self, project, change):
        before = plan(project)
        change(project)
        assert plan(project) != before

    def test_so_are_the_cases_and_the_repeats_that_were_selected(self, project):
        plans = {
            plan(project),
            plan(project, selection=Selection(first=2)),
            plan(project, selection=Selection(cases=("a", "c"))),
            plan(project, repeats=2),
        }
        assert len(plans) == 4

    def test_and_what_is_asked_of_builds(self, tmp_path):
        project = AgentProject(tmp_path)
        project.cases(agent_case("a", expectations=["It is."]))
        before = plan(project)
        project.agent_suite(expectations={"rubric": "judge-build", "runs": 3})
        assert plan(project) != before
        project.agent_suite(target={"timeout": 3, "buildsPerLane": 1})
        assert plan(project) == before


class Answers:
    """A session that notes what it is given, and answers it in batches."""

    mode = "off"

    def __init__(self, *, batch=1, ahead=1, stop_before=None) -> None:
        self.given: list = []
        self._batch, self._ahead, self._stop = batch, ahead, stop_before

    def rows(self, suite, subject, rows, timed_out):
        rows, waiting = iter(rows), []
        while True:
            while len(waiting) < self._ahead and (row := next(rows, None)) is not None:
                self.given.append(row.key)
                waiting.append(row)
            if not waiting or waiting[0].key == self._stop:
                return
            batch, waiting = waiting[: self._batch], waiting[self._batch :]
            yield [RanRow(row, result(row), asked=True) for row in batch]


def result(row):
    return RowResult(
        None, row.repeat, Outcome.PASSED, None, None, None, None, [], None, None, None, None
    )


def given(done, session, *, rows=9):
    """The places of rows as they come, kept ones negative."""
    planned = [PlannedRow(place, Case(str(place), {}), 1) for place in range(rows)]
    kept = {
        row.key: JournaledRow(result(row), False, [], None, None, [])
        for row in planned
        if row.place in done
    }
    journal = SimpleNamespace(done=lambda suite, subject: kept)
    subject = SimpleNamespace(target=SimpleNamespace(subject=SimpleNamespace(id="s")))
    journaled = JournaledSession(journal, session)
    batches = journaled.rows("quiz", subject, iter(planned), set())
    return [(ran.planned.place, ran.asked) for batch in batches for ran in batch]


@pytest.mark.parametrize("ahead", [1, 3, 20])
@pytest.mark.parametrize("batch", [1, 2, 5])
@pytest.mark.parametrize(
    "done", [set(), {0}, {8}, {0, 1, 2}, {3, 5}, {0, 4, 8}, set(range(9)), {7, 8}, {1, 2, 6}]
)
def test_rows_come_in_the_order_of_the_plan_and_only_the_missing_are_run(done, batch, ahead):
    session = Answers(batch=batch, ahead=ahead)
    assert given(done, session) == [(place, place not in done) for place in range(9)]
    assert session.given == [(place, None, 1) for place in range(9) if place not in done]


def test_kept_rows_after_an_early_stop_are_given_all_the_same():
    session = Answers(stop_before=(4, None, 1))
    assert given({0, 1, 3, 7}, session) == [
        (0, False),
        (1, False),
        (2, True),
        (3, False),
        (7, False),
    ]
