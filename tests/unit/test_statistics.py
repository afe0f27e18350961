import doctest
from collections import Counter
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from itertools import combinations
from math import nan, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa as cohens_kappa_of
from statsmodels.stats.proportion import proportion_confint

from proctor import statistics
from proctor.statistics import (
    Z_95,
    cohens_kappa,
    effective_rows,
    is_barely_passing,
    is_flaky,
    mean_score,
    pass_at_k,
    pass_hat_k,
    percent,
    wilson_interval,
)

rates = st.integers(1, 1_000_000).flatmap(
    lambda measured: st.tuples(st.integers(0, measured), st.just(measured))
)


def unit(most):
    """Passed and measured rows of a unit."""
    return st.integers(0, most).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


units_of_six = st.lists(unit(6), max_size=8)
units_of_many = st.lists(unit(40), min_size=1, max_size=30)


def test_examples_in_docstrings_hold():
    result = doctest.testmod(statistics)
    assert (result.attempted > 0, result.failed) == (True, 0)


# Intervals


@pytest.mark.parametrize(
    ("passed", "measured", "low", "high"),
    [
        (5, 10, 0.2366, 0.7634),
        (0, 100, 0, 0.0370),
        (3, 3, 0.4385, 1),
        (2, 3, 0.2077, 0.9385),
        (0, 0, 0, 1),
    ],
)
def test_wilson_interval_of_known_rates(passed, measured, low, high):
    assert wilson_interval(passed, measured) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("measured", [1, 3, 7, 100, 999_999])
def test_a_bound_that_cannot_be_passed_is_exact(measured):
    assert wilson_interval(0, measured)[0] == 0.0
    assert wilson_interval(measured, measured)[1] == 1.0


@given(rates)
def test_bounds_are_where_the_score_test_just_rejects(rate):
    passed, measured = rate
    for bound in wilson_interval(passed, measured):
        if 0 < bound < 1:
            error = sqrt(bound * (1 - bound) / measured)
            assert abs(passed / measured - bound) == pytest.approx(Z_95 * error, rel=1e-6)


@given(rates)
def test_interval_holds_the_rate_and_mirrors(rate):
    passed, measured = rate
    low, high = wilson_interval(passed, measured)
    assert 0 <= low <= passed / measured <= high <= 1
    mirrored = wilson_interval(measured - passed, measured)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-12)


@given(rates)
def test_rows_that_are_worth_what_they_are_change_nothing(rate):
    passed, measured = rate
    assert wilson_interval(passed, measured, rows=measured) == wilson_interval(passed, measured)


@given(rates, st.integers(1, 1_000))
def test_rows_of_which_each_says_the_same_as_others_widen_the_interval(rate, copies):
    passed, measured = rate
    copied = wilson_interval(passed * copies, measured * copies, rows=measured)
    assert copied == pytest.approx(wilson_interval(passed, measured), abs=1e-12)


@pytest.mark.parametrize(
    ("units", "worth", "low", "high"),
    [
        ([(5, 5), (5, 5), (0, 5), (4, 5)], 3.7059, 0.2558, 0.9406),
        ([(3, 3), (2, 3), (3, 3), (0, 3), (1, 3)], 6.3529, 0.2592, 0.8654),
        ([(5, 5)] * 10, 10, 0.7225, 1),
        ([(4, 5)] * 10, 50, 0.6696, 0.8876),
    ],
)
def test_repeats_of_a_unit_are_worth_fewer_rows_the_more_they_agree(units, worth, low, high):
    counted = Counter(units)
    rows = effective_rows(counted)
    assert rows == pytest.approx(worth, abs=5e-5)
    passed, measured = (sum(column) for column in zip(*units, strict=True))
    interval = wilson_interval(passed, measured, rows=rows)
    assert interval == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("units", "worth"),
    [
        ([], 0),
        ([(0, 0)], 0),
        ([(1, 1), (0, 1), (0, 0)], 2),
        # Without two rows of one unit there are no repeats, whatever the rate.
        ([(1, 1)] * 3, 3),
        # Units that all pass, or all fail, count once each; those without a row do not count.
        ([(5, 5), (1, 1), (0, 0)], 2),
        ([(0, 5), (0, 2)], 2),
        ([(5, 5)], 1),
        ([(0, 5)], 1),
        # One unit says nothing of how units differ.
        ([(2, 5)], 5),
        ([(2, 5), (0, 0)], 5),
        # Units that do not differ at all.
        ([(1, 2), (2, 4)], 6),
        # More than what was measured it never is: here p(1 - p)/v would be 32.
        ([(1, 4), (2, 4), (1, 4)], 12),
    ],
)
def test_what_rows_are_worth_at_the_edges(units, worth):
    assert effective_rows(Counter(units)) == worth


@given(units_of_many)
def test_rows_are_worth_what_the_variance_between_units_says(units):
    worth = effective_rows(Counter(units))
    seen = [(c, n) for c, n in units if n]
    total = sum(n for _, n in seen)
    if not total:
        assert worth == 0
        return
    p = Fraction(sum(c for c, _ in seen), total)
    if max(n for _, n in seen) > 1 and 0 < p < 1 and len(seen) > 1:
        squares = sum((c - p * n) ** 2 for c, n in seen)
        variance = Fraction(len(seen), len(seen) - 1) * squares / total**2
        if variance:
            assert worth == pytest.approx(float(min(total, p * (1 - p) / variance)), rel=1e-12)
    assert 0 < worth <= total


@given(units_of_many)
def test_failing_is_worth_as_much_as_passing(units):
    turned = [(measured - passed, measured) for passed, measured in units]
    assert effective_rows(Counter(units)) == effective_rows(Counter(turned))


@given(rates)
def test_interval_is_the_one_of_the_textbooks(rate):
    passed, measured = rate
    oracle = proportion_confint(passed, measured, alpha=0.05, method="wilson")
    assert wilson_interval(passed, measured) == pytest.approx(oracle, rel=1e-9, abs=1e-15)


# Scores


@pytest.mark.parametrize(
    ("scores", "mean", "known"),
    [
        ([0.8, nan, 0.9], 0.85, 2),
        ([nan, nan], None, 0),
        ([], None, 0),
        ([0.0, nan], 0.0, 1),
        ([0.1] * 10, 0.1, 10),
    ],
)
def test_a_score_that_is_no_number_is_left_out_and_counted(scores, mean, known):
    found = mean_score(scores)
    assert found == ((None if mean is None else pytest.approx(mean, rel=1e-15)), known)


# Agreement of two judges


def kappa(both, first, second, neither):
    return cohens_kappa(both=both, first=first, second=second, neither=neither)


@pytest.mark.parametrize(
    ("counts", "agreement", "expected"),
    [
        ((20, 5, 10, 15), 0.70, 0.40),
        ((45, 4, 1, 0), 0.90, -0.0331),
        ((95, 5, 0, 0), 0.95, 0),
        ((5, 0, 0, 0), 1, None),
        ((40, 2, 3, 5), 0.90, 0.6082),
        ((0, 0, 0, 5), 1, None),
    ],
)
def test_kappa_of_known_judgements(counts, agreement, expected):
    both, *_, neither = counts
    assert (both + neither) / sum(counts) == pytest.approx(agreement)
    found = kappa(*counts)
    assert found == (None if expected is None else pytest.approx(expected, abs=5e-5))


def test_full_agreement_on_five_cases_is_not_certain():
    assert wilson_interval(5, 5) == pytest.approx((0.5655, 1), abs=5e-5)


judged = st.integers(0, 200)


@given(judged, judged, judged, judged)
def test_kappa_is_the_one_of_the_textbooks(both, first, second, neither):
    found = kappa(both, first, second, neither)
    if found is not None:
        oracle = cohens_kappa_of([[both, first], [second, neither]], return_results=False)
        assert found == pytest.approx(oracle, rel=1e-9, abs=1e-12)
    else:
        # They say the same of every case, and the same of all of them.
        assert (first, second) == (0, 0)
        assert 0 in (both, neither)


# pass@k and pass^k


def values(found):
    return [each.value for each in found]


@pytest.mark.parametrize(
    ("passed", "measured", "expected"),
    [
        (1, 3, [0.3333, 0.6667, 1]),
        (2, 3, [0.6667, 1, 1]),
        (3, 10, [0.3, 0.5333, 0.7083, 0.8333, 0.9167, 0.9667, 0.9917, 1, 1, 1]),
        (0, 3, [0, 0, 0]),
        (3, 3, [1, 1, 1]),
    ],
)
def test_pass_at_k_of_one_unit(passed, measured, expected):
    found = pass_at_k({(passed, measured): 1}, measured)
    assert [each.k for each in found] == list(range(1, measured + 1))
    assert values(found) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("passed", "measured", "expected"),
    [
        (1, 3, [0.3333, 0, 0]),
        (2, 3, [0.6667, 0.3333, 0]),
        (4, 5, [0.8, 0.6, 0.4, 0.2, 0]),
        (3, 10, [0.3, 0.0667, 0.0083, 0, 0, 0, 0, 0, 0, 0]),
        (0, 2, [0, 0]),
        (2, 2, [1, 1]),
    ],
)
def test_pass_hat_k_of_one_unit(passed, measured, expected):
    found = pass_hat_k({(passed, measured): 1}, measured)
    assert values(found) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("at_k", [pass_at_k, pass_hat_k])
def test_a_unit_with_too_few_rows_is_not_available_and_counted(at_k):
    found = at_k({(3, 3): 2, (0, 2): 1, (0, 0): 4}, 4)
    assert [(each.k, each.units, each.not_available) for each in found] == [
        (1, 3, 4),
        (2, 3, 4),
        (3, 2, 5),
        (4, 0, 7),
    ]
    assert values(found) == [2 / 3, 2 / 3, 1.0, None]


@pytest.mark.parametrize("at_k", [pass_at_k, pass_hat_k])
def test_without_units_there_is_nothing_to_say(at_k):
    assert [(each.value, each.units, each.not_available) for each in at_k({}, 2)] == [
        (None, 0, 0),
        (None, 0, 0),
    ]


def drawn(units, k, wanted):
    """The mean over units of the share of all draws of k rows that are as wanted, exactly."""
    shares = []
    for passed, measured in units:
        draws = list(combinations([True] * passed + [False] * (measured - passed), k))
        if draws:
            shares.append(Fraction(sum(map(wanted, draws)), len(draws)))
    return float(sum(shares) / len(shares)) if shares else None


@given(units_of_six)
def test_both_are_the_share_of_all_draws_of_k_rows(units):
    counted = Counter(units)
    assert values(pass_at_k(counted, 7)) == [drawn(units, k, any) for k in range(1, 8)]
    assert values(pass_hat_k(counted, 7)) == [drawn(units, k, all) for k in range(1, 8)]


@given(st.lists(st.integers(0, 12), min_size=1, max_size=20))
def test_more_tries_help_once_and_hurt_always(passes):
    counted = Counter((passed, 12) for passed in passes)
    at, hat = values(pass_at_k(counted, 12)), values(pass_hat_k(counted, 12))
    assert at[0] == hat[0] == float(Fraction(sum(passes), 12 * len(passes)))
    assert at == sorted(at)
    assert hat == sorted(hat, reverse=True)
    assert at[-1] == sum(passed > 0 for passed in passes) / len(passes)
    assert hat[-1] == sum(passed == 12 for passed in passes) / len(passes)


def test_a_thousand_repeats_lose_no_digit():
    found = pass_hat_k({(999, 1_000): 1}, 1_000)
    assert [each.value for each in found] == [(1_000 - k) / 1_000 for k in range(1, 1_001)]


# Words for units and repeats


@pytest.mark.parametrize(
    ("passed", "measured", "flaky", "barely"),
    [
        (0, 0, False, False),
        (0, 5, False, False),
        (1, 5, True, True),
        (2, 5, True, True),
        (2, 4, True, False),
        (3, 5, True, False),
        (5, 5, False, False),
        (1, 1, False, False),
    ],
)
def test_a_unit_is_flaky_between_always_and_never_and_barely_below_half(
    passed, measured, flaky, barely
):
    assert (is_flaky(passed, measured), is_barely_passing(passed, measured)) == (flaky, barely)


@pytest.mark.parametrize(
    ("passed", "measured", "expected"),
    [
        (11, 30, 37),
        (12, 30, 40),
        (1, 8, 13),
        (1, 200, 1),
        (1, 201, 0),
        (199, 200, 100),
        (0, 3, 0),
        (3, 3, 100),
        (0, 0, None),
    ],
)
def test_percent_rounds_halves_up(passed, measured, expected):
    assert percent(passed, measured) == expected


@given(rates)
def test_percent_is_what_decimal_arithmetic_gives(rate):
    passed, measured = rate
    exact = Decimal(100 * passed) / Decimal(measured)
    assert percent(passed, measured) == int(exact.quantize(Decimal(1), ROUND_HALF_UP))
