import pytest
from asking import answered, assertion, case, refusal

from proctor.records import Outcome


def asked(kind, figure, text="a", **fields):
    figures = {"latency_ms" if kind == "latency" else "cost_usd": figure}
    return assertion(kind, **fields).check(answered(text, **figures), case())


@pytest.mark.parametrize("kind", ["latency", "cost"])
@pytest.mark.parametrize("text", ["a", "", None])
@pytest.mark.parametrize(
    ("figure", "reason"), [(0, None), (99.5, None), (100, None), (100.5, "above_max")]
)
def test_a_recorded_figure_is_within_the_limit_whatever_the_text(kind, text, figure, reason):
    assert asked(kind, figure, text, max=100).reason == reason


@pytest.mark.parametrize("kind", ["latency", "cost"])
@pytest.mark.parametrize("negate", [False, True])
def test_a_figure_that_was_not_recorded_gives_no_verdict(kind, negate):
    result = asked(kind, None, max=100, negate=negate)
    assert (result.outcome, result.reason) == (Outcome.UNMEASURED, f"unknown_{kind}")


@pytest.mark.parametrize("kind", ["latency", "cost"])
def test_negated_a_figure_above_the_limit_passes(kind):
    assert asked(kind, 101, max=100, negate=True).reason is None
    result = asked(kind, 100, max=100, negate=True)
    assert (result.outcome, result.reason) == (Outcome.FAILED, "within")


def test_evidence_shows_the_figure_and_the_limit():
    assert asked("cost", 0.25, max=0.1).evidence == {"got": 0.25, "max": 0.1}


@pytest.mark.parametrize("kind", ["latency", "cost"])
@pytest.mark.parametrize("limit", [-1, float("inf"), float("nan")])
def test_a_limit_that_is_none_is_refused(kind, limit):
    assert refusal(kind, max=limit) == "P6201 `max` must be 0 or more"
    assert assertion(kind, max=0)
