import doctest
from collections import Counter
from math import comb, sqrt

import pytest
from divisions import any_counted, family
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.weightstats import DescrStatsW

from proctor.evidence import differences
from proctor.evidence.differences import (
    difference_interval,
    mcnemar_p,
    mean_difference,
    paired_interval,
    t_quantile,
)
from proctor.statistics import Z_95

changes = st.integers(0, 60)


def test_examples_in_docstrings_hold():
    result = doctest.testmod(differences)
    assert (result.attempted > 0, result.failed) == (True, 0)


# One row a side


@given(changes, changes)
def test_mcnemar_is_the_exact_two_sided_test(worse, better):
    if worse + better:
        oracle = mcnemar([[0, worse], [better, 0]], exact=True).pvalue
        assert mcnemar_p(worse, better) == pytest.approx(oracle, rel=1e-9)
    assert mcnemar_p(worse, better) == mcnemar_p(better, worse)


@pytest.mark.parametrize(("worse", "better"), [(0, 0), (3, 3), (1, 2), (25_000, 25_000)])
def test_changes_that_balance_say_nothing(worse, better):
    assert mcnemar_p(worse, better) == 1


@pytest.mark.parametrize(("worse", "better"), [(250, 180), (1_000, 901), (40_000, 39_000)])
def test_many_changes_lose_no_digit_that_matters(worse, better):
    changed = worse + better
    exact = sum(comb(changed, x) for x in range(better + 1)) if changed < 5_000 else None
    found = mcnemar_p(worse, better)
    if exact is not None:
        assert found == pytest.approx(2 * exact / 2**changed, rel=1e-9)
    else:
        # The normal distribution is close by now.
        z = (worse - better - 1) / sqrt(changed)
        assert found == pytest.approx(2 * t.sf(z, 10**9), rel=1e-2)


@given(changes, changes)
def test_fewer_than_six_changes_never_tell_anything(worse, better):
    if worse + better < differences.FEWEST_CHANGES:
        assert mcnemar_p(worse, better) > 0.05


@pytest.mark.parametrize(
    ("worse", "better", "units", "interval"),
    [
        (4, 0, 20, (-0.3864, 0.0228)),
        (5, 0, 20, (-0.4430, -0.0115)),
        (6, 1, 40, (-0.2543, 0.0162)),
    ],
)
def test_paired_interval_of_known_changes(worse, better, units, interval):
    assert paired_interval(worse, better, units) == pytest.approx(interval, abs=5e-5)


@given(changes, changes, st.integers(0, 100))
def test_paired_interval_holds_the_difference_and_mirrors(worse, better, same):
    units = worse + better + same
    if units == 0:
        assert paired_interval(worse, better, units) is None
        return
    low, high = paired_interval(worse, better, units)
    assert -1 <= low <= (better - worse) / (units + 2) <= high <= 1
    assert paired_interval(better, worse, units) == pytest.approx((-high, -low), abs=1e-12)


# With repeats


@pytest.mark.parametrize(("degrees", "quantile"), [(5, 2.547318), (9, 2.258395), (19, 2.092639)])
def test_t_by_its_expansion(degrees, quantile):
    assert t_quantile(degrees) == pytest.approx(quantile, abs=5e-7)


def test_the_expansion_comes_near_the_quantile_itself():
    for degrees in (5, 10, 40, 1_000):
        assert t_quantile(degrees) == pytest.approx(t.ppf(0.975, degrees), rel=1e-2)
    assert t_quantile(10**9) == pytest.approx(Z_95, rel=1e-8)


@pytest.mark.parametrize(
    "units",
    [
        [],
        [(5, "4/5->3/5")],
        # Six units, all of which fell alike, whatever their rows.
        [(3, "4/5->3/5"), (3, "8/10->6/10")],
        [(9, "5/5->5/5")],
    ],
)
def test_no_interval_where_nothing_is_known_of_how_units_differ(units):
    assert difference_interval(family(*units)) is None


@given(st.lists(any_counted(least=1), min_size=6, max_size=30))
def test_interval_is_students_over_units(units):
    found = difference_interval(Counter(units))
    values = [one.now_passed / one.now_rows - one.base_passed / one.base_rows for one in units]
    mean = sum(values) / len(values)
    assert mean_difference(Counter(units)) == pytest.approx(mean, abs=1e-12)
    if max(values) - min(values) < 1e-12:
        assert found is None
        return
    scale = t_quantile(len(units) - 1) / t.ppf(0.975, len(units) - 1)
    low, high = DescrStatsW(values).tconfint_mean()
    spread = (high - low) / 2 * scale
    wanted = (max(-1.0, mean - spread), min(1.0, mean + spread))
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def test_without_units_there_is_no_difference():
    assert mean_difference({}) is None
