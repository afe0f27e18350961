import doctest
from collections import Counter
from itertools import combinations

import pytest
from divisions import any_counted, counted
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact, hypergeom

from proctor.evidence import labels
from proctor.evidence.labels import Pair, is_hard, label_of, labels_by_chance, left_p
from proctor.evidence.tables import Counted, table_of
from proctor.records.comparison import Label

HARD, SOFT, IMPROVEMENT, WATCH, UNRELIABLE, STABLE, INSUFFICIENT = Label


def pair(now, base, *, now_planned=None, base_planned=None):
    """A unit, every row of which was measured unless more were planned."""
    one = counted(now, base)
    return Pair(one, base_planned or one.base_rows, now_planned or one.now_rows)


def test_examples_in_docstrings_hold():
    result = doctest.testmod(labels)
    assert (result.attempted > 0, result.failed) == (True, 0)


# The chance of a division of passes


@given(any_counted(least=1, most=60))
def test_each_chance_is_that_of_the_hypergeometric_distribution(one):
    oracle = hypergeom(one.rows, one.passed, one.now_rows)
    table = one.table
    for x, chance in enumerate(table.chances, table.least):
        assert chance == pytest.approx(oracle.pmf(x), rel=1e-9)
    assert len(table.chances) == min(one.passed, one.now_rows) - table.least + 1
    assert table.at_least(table.least) == pytest.approx(1, rel=1e-9)


@given(any_counted(least=1, most=40))
def test_both_tails_are_those_of_fishers_exact_test(one):
    failed = (one.now_rows - one.now_passed, one.base_rows - one.base_passed)
    square = [[one.now_passed, one.base_passed], failed]
    less, greater = (fisher_exact(square, alternative=side).pvalue for side in ("less", "greater"))
    assert one.table.at_most(one.now_passed) == pytest.approx(less, rel=1e-9)
    assert one.table.at_least(one.now_passed) == pytest.approx(greater, rel=1e-9)


@given(any_counted(least=1, most=5))
def test_a_chance_is_the_share_of_all_ways_the_passes_can_fall(one):
    ways = Counter(
        sum(row < one.now_rows for row in passes)
        for passes in combinations(range(one.rows), one.passed)
    )
    total = sum(ways.values())
    exact = {x: count / total for x, count in ways.items()}
    table = one.table
    assert dict(enumerate(table.chances, table.least)) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("repeats", [500, 1_000])
def test_a_thousand_rows_a_side_lose_no_digit_that_matters(repeats):
    oracle = hypergeom(2 * repeats, repeats, repeats)
    table = table_of(repeats, 2 * repeats, repeats)
    for x in (repeats // 2 - 80, repeats // 2, repeats // 2 + 10):
        assert table.at_most(x) == pytest.approx(oracle.cdf(x), rel=1e-9)


# Labels


@pytest.mark.parametrize(
    ("now", "base", "label", "p"),
    [
        ("0/3", "3/3", HARD, 0.05),
        ("1/3", "3/3", SOFT, 0.2),
        ("2/3", "3/3", STABLE, 0.5),
        ("0/3", "10/10", HARD, 0.0035),
        ("1/3", "10/10", HARD, 0.03846),
        ("2/3", "10/10", STABLE, 0.2308),
        ("1/3", "8/10", WATCH, 0.2028),
        ("0/10", "4/10", UNRELIABLE, 0.0433),
        ("0/10", "1/10", STABLE, 0.5),
        ("9/10", "10/10", STABLE, 0.5),
        ("7/10", "10/10", SOFT, 0.1053),
        ("6/10", "10/10", HARD, 0.0433),
        ("5/10", "8/10", SOFT, 0.1749),
        ("5/10", "7/10", STABLE, 0.325),
        ("8/10", "0/10", IMPROVEMENT, 1),
        ("3/3", "0/3", IMPROVEMENT, 1),
        ("2/3", "0/3", WATCH, 1),
        ("0/2", "2/2", SOFT, 0.1667),
        ("1/2", "2/2", WATCH, 0.5),
        ("0/1", "1/1", WATCH, 0.5),
        ("16/40", "28/40", HARD, 0.00646),
        # Hard by its p and drop, but from 60%; and from below 50% see 0/10 v 4/10.
        ("1/10", "6/10", SOFT, 0.0286),
        # All the same on both sides: nothing can differ.
        ("3/3", "3/3", STABLE, 1),
        ("0/3", "0/3", STABLE, 1),
        # A single row on one side says as little as on both.
        ("0/1", "10/10", WATCH, 1 / 11),
        ("1/1", "7/10", STABLE, 1),
        ("1/1", "0/1", WATCH, 1),
    ],
)
def test_label_of_known_divisions(now, base, label, p):
    found, chance = label_of(pair(now, base))
    assert found is label
    assert chance == pytest.approx(p, abs=5e-5)


@pytest.mark.parametrize(
    ("now", "base", "planned", "label"),
    [
        # 8 of 10 are enough, 7 are not, on either side.
        ("8/8", "10/10", {"now_planned": 10}, STABLE),
        ("7/7", "10/10", {"now_planned": 10}, INSUFFICIENT),
        ("10/10", "8/8", {"base_planned": 10}, STABLE),
        ("10/10", "7/7", {"base_planned": 10}, INSUFFICIENT),
        ("4/4", "5/5", {"now_planned": 5}, STABLE),
        ("2/2", "3/3", {"now_planned": 3}, INSUFFICIENT),
        ("0/0", "3/3", {"now_planned": 3}, INSUFFICIENT),
        ("3/3", "0/0", {"base_planned": 3}, INSUFFICIENT),
        ("0/0", "0/0", {"now_planned": 3, "base_planned": 3}, INSUFFICIENT),
    ],
)
def test_a_unit_of_which_little_was_measured_says_nothing(now, base, planned, label):
    assert label_of(pair(now, base, **planned))[0] is label


@given(any_counted())
def test_rates_at_a_limit_are_compared_as_whole_numbers(one):
    """30 points and 70% are kept exactly where the quotient of floats would be a bit below."""
    if not one.base_rows or not one.now_rows:
        return
    fell = 10 * (one.base_passed * one.now_rows - one.now_passed * one.base_rows)
    assert is_hard(one) == (
        fell >= 3 * one.base_rows * one.now_rows and 10 * one.base_passed >= 7 * one.base_rows
    )


def test_a_drop_of_just_thirty_points_from_just_seventy_percent_is_hard():
    assert 0.7 - 0.4 < 0.3  # what floats would make of it
    assert is_hard(counted("40/100", "70/100"))
    assert label_of(pair("40/100", "70/100"))[0] is HARD


@given(any_counted())
def test_a_unit_and_itself_are_stable(one):
    if one.base_rows:
        same = Counted(one.base_passed, one.base_rows, one.base_passed, one.base_rows)
        assert label_of(Pair(same, one.base_rows, one.base_rows))[0] is STABLE


@given(any_counted(least=2))
def test_what_is_called_a_regression_is_none_the_other_way_round(one):
    turned = Counted(one.now_passed, one.now_rows, one.base_passed, one.base_rows)
    there, _ = label_of(Pair(one, one.base_rows, one.now_rows))
    back, _ = label_of(Pair(turned, one.now_rows, one.base_rows))
    if there in (HARD, SOFT, UNRELIABLE):
        assert back in (IMPROVEMENT, WATCH, STABLE)


# What chance alone would give


@given(st.lists(any_counted(), max_size=8))
def test_every_unit_has_some_label_by_chance(units):
    expected = labels_by_chance(Counter(Pair(one, 10, 10) for one in units))
    assert list(expected) == list(Label)
    assert sum(expected.values()) == pytest.approx(len(units), rel=1e-9)


@given(any_counted(least=1, most=5))
def test_by_chance_is_the_share_of_all_ways_that_get_the_label(one):
    seen = Counter()
    for passes in combinations(range(one.rows), one.passed):
        now = sum(row < one.now_rows for row in passes)
        division = Counted(one.passed - now, one.base_rows, now, one.now_rows)
        seen[label_of(Pair(division, one.base_rows, one.now_rows))[0]] += 1
    expected = labels_by_chance({Pair(one, one.base_rows, one.now_rows): 1})
    for label in Label:
        assert expected[label] == pytest.approx(seen[label] / seen.total(), rel=1e-9, abs=1e-15)


def test_by_chance_depends_on_the_margins_only():
    one, other = pair("0/3", "3/3"), pair("3/3", "0/3")
    assert labels_by_chance({one: 1}) == labels_by_chance({other: 1})
    # Of the 20 ways three passes fall on six rows, one is 0/3 and one is 3/3 now.
    assert labels_by_chance({one: 40})[HARD] == pytest.approx(2)
    assert labels_by_chance({one: 40})[IMPROVEMENT] == pytest.approx(2)


def test_a_side_that_was_not_measured_leaves_the_chance_at_one():
    assert left_p(counted("0/0", "3/3")) == left_p(counted("3/3", "0/0")) == 1
