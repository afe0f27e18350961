"""What a plan says it would ask for and what that costs at most, judges among it."""

from contextlib import closing

import pytest
from msgspec.structs import replace

from judged_support import PASS, RIGHT, TONE, Asked, JudgedProject
from live_support import YES, run_live
from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode
from proctor.config import Price, load_config
from proctor.errors import ProctorError
from proctor.evaluation import select
from proctor.pipeline import load_exam
from proctor.planning import PREAMBLE_TOKENS
from proctor.providers.pricing import ModelPrice
from proctor.records import CallKind
from proctor.selecting import Selection
from proctor.spending import PlannedCalls, Worst, planned_calls, require_cover
from proctor.targets.prompt import PromptTarget
from rubric_prompts import SYSTEM, USER

ANSWER, JUDGE = CallKind.ANSWER, CallKind.JUDGE
MAX_TOKENS = 16
"""Of an answer, as the prompt of the project says."""
BYTES_PER_TOKEN = 8
RUNS = 3
PRICED = {"model": "local/judge", "params": {"maxTokens": 50}}


@pytest.fixture
def project(tmp_path):
    project = JudgedProject(tmp_path)
    project.judged(judge=PRICED)
    project.named_cases("one")
    return project


def price(ref, usd=1.0):
    """A price per million tokens, the same in and out."""
    dearest = Price(input=usd, output=usd)
    return ModelPrice(ref=ref, source="project", dearest=dearest, tiers=())


PRICES = {"local/tiny": price("local/tiny", 1.0), "local/judge": price("local/judge", 2.0)}


def planned(project, mode="record", *, prices=PRICES, repeats=None):
    """The planned calls of the suite."""
    config = load_config(project.root, is_root=True, flags={}, environ={})
    folder = CassetteFolder(project.root, project.root, "evals/cassettes", "evals/cassettes")
    with closing(load_exam(config, (), repeats=repeats)) as exam:
        (selected,) = select(exam, Selection())
        return list(planned_calls(folder, selected, CacheMode(mode), prices))


def plan(project, *given, **options):
    """The same by what they are made for, when each is made to one model."""
    found = planned(project, *given, **options)
    assert [one.kind for one in found] == [ANSWER, JUDGE][: len(found)]
    return {one.kind: one for one in found}


def test_without_prices_calls_are_counted_and_no_request_is_made(project, monkeypatch):
    with_worst = planned(project, repeats=2)
    monkeypatch.setattr(PromptTarget, "request", None)
    without = planned(project, repeats=2, prices=None)
    assert [one.worst for one in without] == [None] * len(without)
    assert without == [replace(one, worst=None) for one in with_worst]


def test_the_request_of_a_case_is_made_once_however_often_it_is_repeated(project, monkeypatch):
    made, request = [], PromptTarget.request
    monkeypatch.setattr(
        PromptTarget, "request", lambda self, case: made.append(case.id) or request(self, case)
    )
    answers = plan(project, repeats=3)[ANSWER]
    assert made == ["one"]
    assert answers.worst.output_tokens == 3 * plan(project, repeats=1)[ANSWER].worst.output_tokens


def record(project, answer, judge=PASS):
    run_live(project, Asked(judge, answer))


def forget_votes(project):
    project.cassette(*(line for line in project.stored if line["call"] == "answer"))


def worst_of_a_judge_of(project, answer):
    """What three judges come to at most, once the answer is known."""
    record(project, answer)
    forget_votes(project)
    return plan(project)[JUDGE].worst


class TestWorstCase:
    def test_of_an_answer_it_is_every_byte_sent_and_the_longest_answer(self, project):
        worst = plan(project)[ANSWER].worst
        # The message and the contract of the answer, as JSON.
        sent = (
            '{"messages":[{"role":"user","content":"one"}],"schema":{"type":"object",'
            '"properties":{"label":{"type":"string"}},"required":["label"],'
            '"additionalProperties":false}}'
        )
        assert worst.input_tokens == len(sent) + PREAMBLE_TOKENS
        assert worst.output_tokens == MAX_TOKENS
        assert worst.usd == pytest.approx((worst.input_tokens + MAX_TOKENS) / 1e6)

    @pytest.mark.parametrize("shown", [1, 2])
    def test_of_a_judge_it_has_room_for_an_answer_that_is_not_known(self, project, shown):
        messages = [("system", SYSTEM), *[("user", USER)] * shown]
        project.rubric(messages=messages)
        unknown = plan(project)[JUDGE]
        assert (unknown.uses, unknown.calls, unknown.recorded, unknown.to_make) == (3, 3, 0, 3)
        template = worst_of_a_judge_of(project, "")
        room = RUNS * shown * MAX_TOKENS * BYTES_PER_TOKEN
        assert unknown.worst.input_tokens == template.input_tokens + room
        assert unknown.worst.output_tokens == template.output_tokens == RUNS * 50
        tokens = unknown.worst.input_tokens + unknown.worst.output_tokens
        assert unknown.worst.usd == pytest.approx(2 * tokens / 1e6)

    def test_it_is_exact_once_the_answer_is_recorded(self, project):
        empty = worst_of_a_judge_of(project, "")
        (project.root / "evals/cassettes/quiz.jsonl").unlink()
        some = worst_of_a_judge_of(project, "x" * 1_000)
        assert some.input_tokens == empty.input_tokens + RUNS * 1_000

    def test_a_model_without_a_price_has_no_cost_and_one_without_a_limit_no_worst(self, project):
        worst = plan(project, prices={"local/tiny": None, "local/judge": None})[JUDGE].worst
        assert (worst.usd, worst.output_tokens) == (None, RUNS * 50)
        project.judged()
        assert plan(project)[JUDGE].worst is None
        prompt = (project.root / "prompts/answer.prompt.yaml").read_text()
        project.write("prompts/answer.prompt.yaml", prompt.replace("maxTokens: 16, ", ""))
        project.judged(judge=PRICED)
        assert plan(project)[JUDGE].worst is None


class TestCounting:
    @pytest.mark.parametrize(
        ("mode", "recorded", "to_make"),
        [("replay", 3, 0), ("record", 3, 0), ("refresh", 0, 3), ("off", 0, 3)],
    )
    def test_what_is_recorded_is_asked_for_when_its_answer_is(
        self, project, mode, recorded, to_make
    ):
        record(project, YES)
        calls = plan(project, mode)[JUDGE]
        assert (calls.uses, calls.calls, calls.recorded) == (3, 3, recorded)
        assert calls.to_make == to_make

    def test_runs_panels_assertions_and_repeats_are_all_counted(self, project):
        mood = {**TONE, "id": "mood", "negate": True}
        project.judged(RIGHT, TONE, mood, judge={"panel": ["local/judge"] * 5})
        calls = plan(project, repeats=2)
        assert (calls[ANSWER].uses, calls[JUDGE].uses) == (2, 20)

    def test_judges_that_may_be_skipped_are_counted(self, project):
        project.judged(judge={**PRICED, "skipAfterFailure": True})
        assert plan(project)[JUDGE].to_make == RUNS
        record(project, '{"label": "no"}')
        assert not project.stored_votes
        assert plan(project)[JUDGE].to_make == RUNS

    def test_who_shares_a_recording_makes_one_call(self, project):
        same = {"inputs": {"question": "same"}}
        project.cases(*({**project.case(name), **same} for name in ("a", "b", "c")))
        record(project, YES)
        calls = plan(project)[JUDGE]
        assert (calls.uses, calls.calls, calls.recorded, calls.to_make) == (9, 3, 3, 0)
        forget_votes(project)
        calls = plan(project)[JUDGE]
        assert (calls.uses, calls.calls, calls.recorded, calls.to_make) == (9, 3, 0, 3)

    def test_an_answer_that_is_not_there_is_not_judged(self, project):
        project.judged({**TONE, "field": "label"}, judge=PRICED)
        record(project, "no JSON")
        assert list(plan(project)) == [ANSWER]

    def test_models_that_judge_are_counted_apart(self, project):
        project.judged(judge={"panel": ["local/a", "local/b", "local/a"]})
        assert [(one.model, one.kind, one.uses) for one in planned(project)] == [
            ("local/tiny", ANSWER, 1),
            ("local/a", JUDGE, 2),
            ("local/b", JUDGE, 1),
        ]


def calls(kind=ANSWER, usd=1.0, *, to_make=1, suite="quiz", model="local/tiny", unlimited=False):
    worst = None if unlimited else Worst(10, 10, usd)
    return PlannedCalls(
        suite=suite,
        kind=kind,
        model=model,
        uses=1,
        calls=1,
        recorded=0,
        to_make=to_make,
        worst=worst,
    )


class TestCover:
    def refusals(self, *planned, limit_usd=1.0):
        with pytest.raises(ProctorError) as caught:
            require_cover(planned, limit_usd)
        return [(one.code, one.message, one.hint) for one in caught.value.problems()]

    def test_answers_and_judges_must_fit_together(self):
        require_cover([calls(usd=0.25), calls(JUDGE, 0.75)], 1.0)
        ((code, message, _),) = self.refusals(calls(usd=0.25), calls(JUDGE, 0.875))
        assert code == "P6503"
        assert message == "the plan may cost up to $1.125, more than the limit of $1"

    def test_a_judge_that_nothing_limits_is_told_where_to_write_it(self):
        found = self.refusals(calls(), calls(JUDGE, model="local/judge", unlimited=True))
        assert found == [
            (
                "P6204",
                "the suite `quiz` asks `local/judge`, whose answers nothing limits",
                "write `maxTokens` beside the rubric's model, or under `params` of the suite's "
                "`judge`",
            )
        ]

    def test_a_judge_is_not_blamed_for_answers_that_nothing_limits(self):
        found = self.refusals(
            calls(unlimited=True),
            calls(JUDGE, model="local/judge", unlimited=True),
            calls(JUDGE, suite="other", model="local/judge", unlimited=True),
        )
        assert [message for _, message, _ in found] == [
            "the suite `quiz` asks `local/tiny`, whose answers nothing limits",
            "the suite `other` asks `local/judge`, whose answers nothing limits",
        ]

    def test_what_is_not_asked_for_needs_no_limit(self):
        require_cover([calls(to_make=0, unlimited=True)], 0)
