import random

import pytest
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from proctor.evidence.preferences import FEWEST_DECIDED, preference_figures
from proctor.statistics import effective_rows


def single(a, b, ties=0):
    """Cases of one pair each."""
    wins = {(1, 0): a, (0, 1): b, (0, 0): ties}
    return preference_figures({won: cases for won, cases in wins.items() if cases})


@pytest.mark.parametrize("ties", [0, 7])
@pytest.mark.parametrize("a", [0, 1, 3, 6, 20, 400])
@pytest.mark.parametrize("b", [0, 1, 2, 6, 25, 390])
def test_single_pairs_are_as_scipy_and_statsmodels_say(a, b, ties):
    figures = single(a, b, ties)
    decided = a + b
    assert (figures.a_cases, figures.b_cases, figures.even_cases) == (a, b, ties)
    assert (figures.win_rate.passed, figures.win_rate.measured) == (a, decided)
    if not decided:
        assert (figures.win_rate.rate, figures.win_rate.interval, figures.p) == (None, (0, 1), 1)
        return
    assert figures.p == pytest.approx(binomtest(a, decided).pvalue, rel=1e-9)
    low, high = proportion_confint(a, decided, method="wilson")
    assert figures.win_rate.rate == a / decided
    assert figures.win_rate.interval == pytest.approx((low, high), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "p", "settled"),
    [
        (5, 0, 0.0625, False),
        (6, 0, 0.03125, True),
        (7, 1, 0.0703125, False),
        (8, 1, 0.0390625, True),
        (9, 2, 0.0654296875, False),
        (0, 6, 0.03125, True),
        (4, 4, 1.0, False),
        (0, 0, 1.0, False),
    ],
)
def test_a_lead_is_settled_when_chance_explains_it_in_at_most_one_of_twenty(a, b, p, settled):
    figures = single(a, b)
    assert (figures.p, figures.is_settled) == (p, settled)


def test_with_fewer_decided_cases_nothing_can_be_settled():
    fewest = min(n for n in range(1, 20) if single(n, 0).is_settled)
    assert fewest == FEWEST_DECIDED


def test_ties_change_neither_the_rate_nor_the_test():
    for ties in (0, 1, 100):
        figures = single(9, 3, ties)
        assert (figures.win_rate.rate, figures.p) == (0.75, single(9, 3).p)
        assert figures.win_rate.interval == single(9, 3).win_rate.interval


def test_the_test_counts_cases_however_often_each_was_answered():
    once, often = preference_figures({(1, 0): 6}), preference_figures({(5, 0): 6})
    assert once.p == often.p == 0.03125
    assert often.win_rate.measured == 30
    # Repeats that always agree say no more than one pair each would.
    assert often.win_rate.interval == once.win_rate.interval


def test_a_case_is_of_the_side_that_wins_more_of_its_pairs():
    figures = preference_figures({(3, 1): 2, (1, 2): 1, (2, 2): 4, (0, 0): 5})
    assert (figures.a_cases, figures.b_cases, figures.even_cases) == (2, 1, 9)
    assert (figures.win_rate.passed, figures.win_rate.measured) == (15, 27)


def test_the_interval_knows_what_repeats_are_worth():
    wins = {(3, 0): 4, (0, 3): 3, (2, 1): 2}
    rows = effective_rows({(3, 3): 4, (0, 3): 3, (2, 3): 2})
    assert rows < 27
    low, high = preference_figures(wins).win_rate.interval
    wide = proportion_confint(16 * rows / 27, rows, method="wilson")
    assert (low, high) == pytest.approx(wide, rel=1e-9)


def test_turning_the_sides_round_turns_the_figures_round():
    for seed in range(100):
        chance = random.Random(seed)  # noqa: S311
        wins = {}
        for _ in range(chance.randint(1, 30)):
            won = (chance.randint(0, 4), chance.randint(0, 4))
            wins[won] = wins.get(won, 0) + 1
        turned = {(b, a): cases for (a, b), cases in wins.items()}
        one, other = preference_figures(wins), preference_figures(turned)
        assert one.p == other.p
        assert (one.a_cases, one.b_cases) == (other.b_cases, other.a_cases)
        low, high = other.win_rate.interval
        assert one.win_rate.interval == pytest.approx((1 - high, 1 - low), abs=1e-12)
