import inspect
import math
from fractions import Fraction
from functools import partial

import msgspec
import pytest

from candidate_support import DOORS, Calls, awaited, candidates, compare, failing, items, sync
from proctor import (
    UNSET,
    CandidateRow,
    EvalInputError,
    EvalResultError,
    EvaluationItem,
    ProctorError,
    PromptCandidate,
    ScorerResult,
    ScorerTarget,
    evaluate_prompt_candidates,
)

every_door = pytest.mark.parametrize("door", DOORS)
concurrencies = pytest.mark.parametrize("concurrency", [1, 8])


class Odd(Exception):
    """Raised by callbacks."""


def fail(*_):
    raise AssertionError("called")


def refused(**changes):
    """The error that is raised before any callback."""
    with pytest.raises(EvalInputError) as caught:
        compare(**{"run_candidate": fail, "scorer": fail} | changes)
    assert caught.value.code == "P6005"
    return caught.value


@every_door
def test_calls_go_candidates_outer_items_inner_in_input_order(door):
    calls = Calls()
    compare(door, **calls.callbacks)
    assert calls.made == [
        *("b:1", "score b:1", "b:2", "score b:2"),
        *("a:1", "score a:1", "a:2", "score a:2"),
    ]


@every_door
@concurrencies
def test_every_pair_is_run_and_scored_once_whatever_the_concurrency(door, concurrency):
    calls = Calls()
    compare(door, **calls.callbacks, concurrency=concurrency)
    pairs = {"b:1", "b:2", "a:1", "a:2"}
    assert len(calls.made) == 8
    assert set(calls.made) == pairs | {f"score {pair}" for pair in pairs}


@every_door
@concurrencies
def test_figures_are_over_all_items_and_rows_in_their_order(door, concurrency):
    calls = Calls({"b:1": 0.25, "b:2": -2, "a:1": 3, "a:2": 1e6}, passes={"b:1"})
    best, other = compare(door, **calls.callbacks, concurrency=concurrency)
    assert (best.candidate_id, best.mean_score, best.pass_rate) == ("a", 500_001.5, 0.0)
    assert (other.candidate_id, other.mean_score, other.pass_rate) == ("b", -0.875, 0.5)
    assert (other.item_count, other.scorer_count, other.errored_count) == (2, 2, 0)
    assert other.rows == (CandidateRow("1", 0.25, True), CandidateRow("2", -2.0, False))


def test_score_and_passed_do_not_depend_on_each_other():
    calls = Calls({"a:1": 0, "b:1": 1}, passes={"a:1"})
    best, other = compare(**calls.callbacks, items=items("1"))
    assert (best.candidate_id, best.mean_score, best.pass_rate) == ("b", 1, 0)
    assert (other.candidate_id, other.mean_score, other.pass_rate) == ("a", 0, 1)


@pytest.mark.parametrize(
    ("scores", "mean"),
    [
        ([0.1] * 10, 0.1),
        ([1e16, 1.0, -1e16], 1 / 3),
        ([1.7e308, 1.7e308, 1.7e308], 1.7e308),
        ([Fraction(1, 2), 1], 0.75),
    ],
)
def test_the_mean_is_that_of_the_exact_sum(scores, mean):
    names = [str(at) for at in range(len(scores))]
    calls = Calls({f"a:{name}": score for name, score in zip(names, scores, strict=True)})
    (only,) = compare(**calls.callbacks, candidates=candidates("a"), items=items(*names))
    assert only.mean_score == mean


@pytest.mark.parametrize(
    ("ids", "score", "passes", "order", "ranks"),
    [
        ("xyz", {"x": 1, "y": 3, "z": 2}, "", "yzx", [1, 2, 3]),
        ("xyz", {"x": 1, "y": 1, "z": 1}, "yz", "yzx", [1, 1, 3]),
        ("aBé", {"a": 1, "B": 1, "é": 1}, "", "Baé", [1, 1, 1]),
        ("\uffff\U00010000", {"\uffff": 1, "\U00010000": 1}, "", "\uffff\U00010000", [1, 1]),
        ("xyz", {"x": -1, "y": 0.0, "z": -0.0}, "", "yzx", [1, 1, 3]),
    ],
    ids=["mean", "pass-rate", "code-point", "beyond-utf16", "negative"],
)
def test_the_order_is_mean_then_pass_rate_then_id_and_ties_share_a_rank(
    ids, score, passes, order, ranks
):
    calls = Calls({f"{one}:1": score[one] for one in ids}, {f"{one}:1" for one in passes})
    for given in (ids, ids[::-1]):
        scores = compare(**calls.callbacks, candidates=candidates(*given), items=items("1"))
        assert [one.candidate_id for one in scores] == list(order)
        assert [one.rank for one in scores] == ranks


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"candidates": [], "items": []}, "candidates", "`candidates` is empty"),
        ({"candidates": [], "items": items("")}, "candidates", "`candidates` is empty"),
        ({"items": [], "candidates": candidates("a", "a")}, "items", "`items` is empty"),
        ({"items": (), "signal": None, "concurrency": 0}, "items", "`items` is empty"),
        ({"candidates": candidates("a", "")}, "candidates", "`candidates[1]` needs an id"),
        ({"candidates": [PromptCandidate(7, "x")]}, "candidates", "`candidates[0]` needs an id"),
        ({"candidates": candidates("a", "b", "a")}, "candidates", "the id `a` twice"),
        ({"items": items("")}, "items", "`items[0]` needs an id"),
        ({"items": items("1", "1")}, "items", "the id `1` twice"),
        ({"items": ["1"]}, "items", "`items[0]` must be of the type `EvaluationItem`, not `str`"),
        ({"concurrency": 0}, "concurrency", "from 1 to 1,024"),
        ({"concurrency": 1_025}, "concurrency", "from 1 to 1,024"),
        ({"concurrency": True}, "concurrency", "from 1 to 1,024"),
        ({"on_error": "ignore"}, "on_error", "`raise` or `record`"),
        ({"signal": None}, "signal", "must be an `AbortSignal`, not a `NoneType`"),
    ],
)
@every_door
def test_what_cannot_be_used_is_refused_before_any_call(door, changes, field, says):
    problem = refused(door=door, **changes)
    assert problem.field == field
    assert says in problem.message


def test_the_signal_is_required():
    with pytest.raises(TypeError, match="signal"):
        evaluate_prompt_candidates(
            candidates=candidates("a"), items=items("1"), run_candidate=fail, scorer=fail
        )


def test_every_problem_is_a_proctor_error():
    assert isinstance(refused(items=[]), ProctorError)
    assert issubclass(EvalResultError, ProctorError)


def test_candidates_and_items_may_come_from_anything_that_can_be_iterated():
    scores = compare(candidates=iter(candidates("a")), items=(one for one in items("1", "2")))
    assert [row.item_id for row in scores[0].rows] == ["1", "2"]


@every_door
def test_a_candidate_sees_neither_the_answer_key_nor_the_context(door):
    seen = []
    item = EvaluationItem("1", "question", expected="KEY", context=["DOCUMENT"])

    def run(candidate, item, signal):
        seen.append(item)
        return "output"

    compare(door, candidates=candidates("a"), items=[item], run_candidate=run)
    assert seen == [EvaluationItem("1", "question")]
    assert seen[0].expected is UNSET
    assert repr(seen[0]) == "EvaluationItem(id='1', input='question')"


@pytest.mark.parametrize(
    ("given", "spelled"),
    [
        ({}, ""),
        ({"expected": None}, ", expected=None"),
        ({"context": []}, ", context=[]"),
        ({"expected": "x", "context": ["y"]}, ", expected='x', context=['y']"),
    ],
)
@every_door
def test_a_scorer_sees_what_was_set_and_none_is_not_unset(door, given, spelled):
    targets = []

    def scorer(target, signal):
        targets.append(target)
        return ScorerResult(1, True)

    item = EvaluationItem("1", "question", **given)
    compare(door, candidates=candidates("a"), items=[item], scorer=scorer)
    assert targets == [ScorerTarget("question", "a:1", **given)]
    assert repr(targets[0]) == f"ScorerTarget(input='question', output='a:1'{spelled})"


@every_door
def test_the_candidate_is_handed_over_as_it_was_given(door):
    given = PromptCandidate("a", "Do it.", {"temperature": 0})
    seen = []
    compare(
        door,
        candidates=[given],
        run_candidate=lambda candidate, item, signal: seen.append(candidate),
    )
    assert seen == [given, given]
    assert seen[0] is given


class Scorer:
    def __call__(self, target):
        return ScorerResult(len(target.output), True)

    def method(self, target, signal):
        return self(target)

    @staticmethod
    def anything(*arguments):
        return ScorerResult(len(arguments), True)

    @staticmethod
    def named(target, *, strict=False):
        return ScorerResult(float(strict), True)


@pytest.mark.parametrize(
    ("scorer", "score"),
    [
        (lambda: ScorerResult(7, True), 7),
        (lambda target: ScorerResult(len(target.output), True), 3),
        (lambda target, signal=None: ScorerResult(2 if signal else 1, True), 2),
        (Scorer(), 3),
        (Scorer().method, 3),
        (Scorer.anything, 2),
        (Scorer.named, 0),
        (partial(Scorer.named, strict=True), 1),
        (partial(Scorer.anything, "first"), 3),
    ],
)
def test_a_callback_gets_as_many_arguments_as_it_accepts(scorer, score):
    assert compare(scorer=scorer)[0].mean_score == score


@pytest.mark.parametrize(
    ("run", "output"),
    [
        (lambda: "none", "none"),
        (lambda candidate: candidate.id, "a"),
        (lambda candidate, item: candidate.id + item.id, "a1"),
        (lambda candidate, item, signal, more="x": f"{signal.aborted} {more}", "False x"),
    ],
)
def test_so_does_the_one_that_runs_candidates(run, output):
    (score,) = compare_one(run_candidate=run)
    assert score.rows[0].output == output


def test_a_callback_that_does_not_say_what_it_accepts_gets_everything():
    with pytest.raises(ValueError, match="no signature"):
        inspect.signature(slice)
    (score,) = compare_one(run_candidate=slice)
    output = score.rows[0].output
    assert (output.start.id, output.stop.id, output.step.aborted) == ("a", "1", False)


def compare_one(**changes):
    return compare(candidates=candidates("a"), items=items("1"), keep_outputs=True, **changes)


def test_how_many_arguments_a_callback_accepts_is_read_once():
    class Counting:
        def __init__(self):
            self.read = 0

        @property
        def __signature__(self):
            self.read += 1
            return inspect.signature(lambda target: None)

        def __call__(self, target):
            return ScorerResult(1, True)

    scorer = Counting()
    compare(scorer=scorer)
    assert scorer.read == 1


@pytest.mark.parametrize("name", ["run_candidate", "scorer"])
@pytest.mark.parametrize(
    ("callback", "says"),
    [
        (None, "must be a function, not a `NoneType`"),
        (lambda a, b, c, d: fail(), "needs 4 arguments"),
        (lambda a, *, strict: fail(), "needs `strict`"),
    ],
)
@pytest.mark.parametrize("door", [sync, awaited])
def test_a_callback_that_cannot_be_called_is_a_type_error_before_any_call(
    door, name, callback, says
):
    callbacks = {"run_candidate": fail, "scorer": fail} | {name: callback}
    with pytest.raises(TypeError, match=f"`{name}` {says}"):
        compare(door, **callbacks)


@every_door
@concurrencies
@pytest.mark.parametrize("where", ["b:2", "score b:2"])
def test_an_exception_propagates_itself_with_the_ids_as_a_note(door, concurrency, where):
    error = Odd("own words")
    calls = Calls(hooks={where: failing(error)})
    with pytest.raises(Odd) as caught:
        compare(door, **calls.callbacks, concurrency=concurrency)
    assert caught.value is error
    assert error.__notes__ == ["candidate `b`, item `2`"]


@every_door
def test_nothing_is_called_after_an_exception(door):
    calls = Calls(hooks={"b:2": failing(Odd())})
    with pytest.raises(Odd):
        compare(door, **calls.callbacks)
    assert calls.made == ["b:1", "score b:1", "b:2"]


def test_a_stop_iteration_of_a_callback_is_an_exception_like_any_other():
    calls = Calls(hooks={"b:1": failing(StopIteration("mine"))})
    with pytest.raises(StopIteration, match="mine"):
        compare(**calls.callbacks)


@every_door
@concurrencies
@pytest.mark.parametrize("where", ["b:2", "score b:2"])
def test_a_recorded_exception_is_counted_named_and_never_leaves_the_denominator(
    door, concurrency, where
):
    calls = Calls({"b:1": 0.5}, hooks={where: failing(Odd("secret words"))})
    best, other = compare(door, **calls.callbacks, on_error="record", concurrency=concurrency)
    assert (best.candidate_id, best.scorer_count, best.errored_count) == ("a", 2, 0)
    assert (other.item_count, other.scorer_count, other.errored_count) == (2, 1, 1)
    assert (other.mean_score, other.pass_rate) == (0.25, 0.5)
    assert other.rows == (CandidateRow("1", 0.5, True), CandidateRow("2", 0.0, False, "Odd"))
    assert "secret" not in repr(other)


@every_door
def test_candidates_without_a_single_result_have_figures_and_their_errors(door):
    calls = Calls(hooks={f"{pair}": failing(Odd()) for pair in ("a:1", "a:2", "b:1", "b:2")})
    scores = compare(door, **calls.callbacks, on_error="record")
    assert [one.candidate_id for one in scores] == ["a", "b"]
    for one in scores:
        assert (one.mean_score, one.pass_rate, one.rank) == (0.0, 0.0, 1)
        assert (one.item_count, one.scorer_count, one.errored_count) == (2, 0, 2)


def test_a_quota_that_runs_out_leaves_the_rest_errored_and_the_first_measured():
    names = [str(number) for number in range(50)]
    calls = Calls(hooks={f"a:{name}": failing(Odd("429")) for name in names[30:]})
    (only,) = compare(
        **calls.callbacks, candidates=candidates("a"), items=items(*names), on_error="record"
    )
    assert (only.scorer_count, only.errored_count, only.mean_score) == (30, 20, 0.6)
    assert [row.item_id for row in only.rows if row.error_kind] == names[30:]


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (ScorerResult(math.nan, True), "`score` is not a finite number"),
        (ScorerResult(math.inf, True), "`score` is not a finite number"),
        (ScorerResult(-math.inf, True), "`score` is not a finite number"),
        (ScorerResult(10**400, True), "`score` is not a finite number"),
        (ScorerResult(True, True), "`score` is not a finite number"),
        (ScorerResult("1", True), "`score` is not a finite number"),
        (ScorerResult(None, True), "`score` is not a finite number"),
        (ScorerResult(1j, True), "`score` is not a finite number"),
        (ScorerResult(1, 1), "`passed` is not a bool"),
        (ScorerResult(1, None), "`passed` is not a bool"),
        (None, "returned a `NoneType`, not a `ScorerResult`"),
        (1.0, "returned a `float`, not a `ScorerResult`"),
        ({"score": 1, "passed": True}, "returned a `dict`, not a `ScorerResult`"),
    ],
)
def test_what_is_no_result_is_an_error_that_names_candidate_and_item(result, says):
    def scorer(target):
        return result if target.output == "b:2" else ScorerResult(1, True)

    with pytest.raises(EvalResultError) as caught:
        compare(scorer=scorer)
    assert caught.value.code == "P6006"
    assert caught.value.message.startswith("candidate `b`, item `2`: the scorer")
    assert says in caught.value.message
    assert (caught.value.candidate_id, caught.value.item_id) == ("b", "2")

    best, other = compare(scorer=scorer, on_error="record")
    assert (best.candidate_id, best.errored_count) == ("a", 0)
    assert other.rows[1] == CandidateRow("2", 0.0, False, "EvalResultError")


CANARIES = {name: f"CANARY-{name}" for name in ("prompt", "input", "expected", "context", "output")}


def compare_canaries(**changes):
    item = EvaluationItem(
        "1",
        {"text": CANARIES["input"]},
        expected=CANARIES["expected"],
        context=[CANARIES["context"]],
    )

    def scorer(target):
        return ScorerResult(1, True, {"quoted": target.output})

    return compare(
        candidates=[PromptCandidate("a", CANARIES["prompt"], {"note": CANARIES["prompt"]})],
        items=[item],
        run_candidate=lambda: CANARIES["output"],
        **{"scorer": scorer} | changes,
    )


def test_results_hold_no_text_of_anything_that_went_in_or_came_out():
    def scorer(target):
        raise Odd(*CANARIES.values())

    for scores in (compare_canaries(), compare_canaries(scorer=scorer, on_error="record")):
        assert "CANARY" not in repr(scores)
        assert b"CANARY" not in msgspec.json.encode(scores)


def test_keeping_outputs_keeps_evidence_too_and_nothing_else():
    (score,) = compare_canaries(keep_outputs=True)
    output = CANARIES["output"]
    assert score.rows == (CandidateRow("1", 1, True, None, output, {"quoted": output}),)
    for name in ("prompt", "input", "expected", "context"):
        assert CANARIES[name] not in repr(score)


def test_an_output_that_could_not_be_scored_is_kept_when_asked_for():
    calls = Calls(hooks={"score b:1": failing(Odd()), "a:1": failing(Odd())})
    other, best = compare(**calls.callbacks, items=items("1"), on_error="record", keep_outputs=True)
    assert (other.candidate_id, other.rows[0].output) == ("a", UNSET)
    assert (best.candidate_id, best.rows[0].output) == ("b", "b:1")


def test_rows_as_json_leave_out_what_was_not_kept():
    (score,) = compare(candidates=candidates("a"), items=items("1"))
    assert msgspec.json.decode(msgspec.json.encode(score)) == {
        "candidate_id": "a",
        "mean_score": 1.0,
        "pass_rate": 1.0,
        "item_count": 1,
        "scorer_count": 1,
        "errored_count": 0,
        "rows": [{"item_id": "1", "score": 1.0, "passed": True, "error_kind": None}],
        "rank": 1,
    }
