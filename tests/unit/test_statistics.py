from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.statistics import Z_95, wilson_interval

rates = st.integers(1, 1_000_000).flatmap(
    lambda measured: st.tuples(st.integers(0, measured), st.just(measured))
)


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
