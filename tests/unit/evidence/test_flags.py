import doctest
from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb

import pytest
from divisions import families, family
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from proctor.evidence import flags
from proctor.evidence.flags import aggregate, flagged
from proctor.evidence.tables import Counted


def test_examples_in_docstrings_hold():
    result = doctest.testmod(flags)
    assert (result.attempted > 0, result.failed) == (True, 0)


# All units together


@pytest.mark.parametrize(
    ("units", "p"),
    [
        (["3/3->0/3"], 0.05),
        ([(2, "3/3->2/3")], 0.25),
        ([(5, "5/5->4/5")], 0.03125),
        ([(10, "5/5->4/5")], 0.0009765625),
        ([(3, "4/5->2/5")], 0.03537685),
        ([(5, "10/10->8/10")], 0.00074524),
        (["4/5->2/5", "3/3->1/2", "5/5->5/5", "2/4->3/4"], 0.30510204),
        ([(6, "1/1->0/1"), "0/1->1/1"], 0.0625),
        ([(5, "1/1->0/1")], 0.03125),
        ([(7, "5/5->0/5")], 1.5e-17),
        (["5/5->5/5", "0/5->0/5"], 1),
        ([], 1),
    ],
)
def test_aggregate_of_known_units(units, p):
    found = aggregate(family(*units))
    assert found.is_exact
    assert found.p == pytest.approx(p, abs=5e-19 if p < 1e-9 else 5e-9)


@pytest.mark.parametrize(
    ("units", "p"),
    [
        ([(10, "5/5->4/5")], 0.00221326),
        (["4/5->2/5", "3/3->1/2", "5/5->5/5", "2/4->3/4"], 0.30868290),
    ],
)
def test_many_units_take_the_normal_distribution(units, p, monkeypatch):
    monkeypatch.setattr(flags, "MOST_EXACT", 0)
    found = aggregate(family(*units))
    assert not found.is_exact
    assert found.p == pytest.approx(p, abs=5e-9)


def enumerated(units):
    """P(sum <= observed), by going through every division of every unit's passes."""
    ways, below = 0, 0
    observed = sum(one.now_passed for one in units)
    choices = [
        [(x, comb(one.passed, x) * comb(one.rows - one.passed, one.now_rows - x))
         for x in range(one.now_rows + 1)]
        for one in units
    ]  # fmt: skip
    for chosen in product(*choices):
        weight = 1
        for _, number in chosen:
            weight *= number
        ways += weight
        below += weight * (sum(x for x, _ in chosen) <= observed)
    return below / ways


@given(families)
def test_aggregate_is_the_share_of_all_divisions_with_no_more_passes(units):
    telling = [one for one in units.elements() if 0 < one.passed < one.rows]
    assert aggregate(units).p == pytest.approx(enumerated(telling) if telling else 1, rel=1e-9)


@given(st.integers(0, 40), st.integers(0, 40))
def test_with_one_row_a_side_it_is_the_sign_test_on_what_changed(worse, better):
    found = aggregate(family((worse, "1/1->0/1"), (better, "0/1->1/1")))
    oracle = binomtest(better, worse + better, 0.5, "less").pvalue if worse + better else 1
    assert found.p == pytest.approx(oracle, rel=1e-9)


def test_the_exact_distribution_is_used_up_to_two_thousand_steps_and_meets_the_normal_one():
    worse, better = 1_050, 950
    exact = aggregate(family((worse, "1/1->0/1"), (better, "0/1->1/1")))
    normal = aggregate(family((worse + 1, "1/1->0/1"), (better, "0/1->1/1")))
    assert (exact.is_exact, normal.is_exact) == (True, False)
    oracle = binomtest(better, worse + better, 0.5, "less").pvalue
    assert exact.p == pytest.approx(oracle, rel=1e-9)
    spread = ((worse + 1 + better) / 4) ** 0.5
    middle = (worse + 1 + better) / 2
    assert normal.p == pytest.approx(norm.cdf((better - middle + 0.5) / spread), rel=1e-9)
    oracle = binomtest(better, worse + 1 + better, 0.5, "less").pvalue
    assert normal.p == pytest.approx(oracle, rel=1e-3)


@given(families)
def test_the_order_of_units_does_not_matter(units):
    turned = Counter(dict(reversed(list(units.items()))))
    assert aggregate(units) == aggregate(turned)


@pytest.mark.parametrize(
    ("units", "tolerance", "red"),
    [
        ([(10, "5/5->4/5")], "0", True),
        # 50/50 to 40/50 is a drop of exactly 0.2: as much as is tolerated, and no more.
        ([(10, "5/5->4/5")], "0.2", False),
        ([(10, "5/5->4/5")], "0.1999999999999999", True),
        # Units that always pass dilute no drop: they are not looked at.
        ([(10, "5/5->4/5"), (90, "5/5->5/5")], "0.19", True),
        ([(5, "5/5->4/5")], "0", False),
        # p is 1/40, exactly the half of alpha.
        (["3/3->0/3", "1/1->0/1"], "0", True),
        # Each unit fell, but the easy one has most rows now: over all of them the rate rose.
        (["20/20->80/100", "40/200->0/20"], "0", False),
        ([], "0", False),
    ],
)
def test_red_takes_both_a_small_chance_and_a_drop(units, tolerance, red):
    assert aggregate(family(*units)).is_red(Fraction(tolerance)) is red


def test_a_p_just_at_the_limit_is_red():
    assert aggregate(family("3/3->0/3", "1/1->0/1")).p == pytest.approx(0.025, rel=1e-12)


# One unit by itself


@pytest.mark.parametrize(
    ("units", "found"),
    [
        (["5/5->0/5", (39, "5/5->5/5")], ["5/5->0/5"]),
        (["3/3->0/3", (39, "3/3->3/3")], []),
        (["3/3->0/3"], []),
        (["4/4->0/4", (39, "4/4->4/4")], ["4/4->0/4"]),
        ([(2, "4/4->0/4")], []),
        ([(6, "5/5->0/5")], ["5/5->0/5"]),
        ([(7, "5/5->0/5")], []),
        ([(3, "7/7->0/3")], ["7/7->0/3"]),
        ([(4, "7/7->0/3")], []),
        (["10/10->4/10", "10/10->5/10", "9/10->9/10", "8/10->7/10"], ["10/10->4/10"]),
        (["5/5->0/5", "5/5->1/5", "5/5->3/5", "4/5->5/5"], ["5/5->0/5", "5/5->1/5"]),
        # It fell as surely, but from below 70%, or by less than 30 points.
        (["65/100->10/100"], []),
        (["1000/1000->800/1000"], []),
        ([], []),
        (["5/5->5/5", "0/3->0/3"], []),
    ],
)
def test_units_flagged_among_known_ones(units, found):
    assert flagged(family(*units)) == set(family(*found))


def test_an_exact_tie_with_the_limit_is_flagged():
    """3 of 7/7->0/3 have p = 1/120 each, which is 0.025/3."""
    assert Counted(7, 7, 0, 3).table.at_most(0) * 3 == pytest.approx(0.025, rel=1e-12)


def test_seven_units_too_many_to_flag_are_seen_together():
    units = family((7, "5/5->0/5"))
    assert not flagged(units)
    assert aggregate(units).is_red(Fraction(0))


@pytest.mark.parametrize(("repeats", "can"), [(1, False), (2, False), (3, False), (4, True)])
def test_a_single_unit_takes_four_rows_a_side(repeats, can):
    found = flagged({Counted(repeats, repeats, 0, repeats): 1})
    assert bool(found) is can


def slowly_flagged(units):
    """The same procedure, each unit by itself and each k in turn, in exact fractions."""
    left, found = list(units.elements()), set()
    alpha = Fraction(1, 40)

    def chances(one):
        whole = comb(one.rows, one.now_rows)
        return {
            x: Fraction(comb(one.passed, x) * comb(one.rows - one.passed, one.now_rows - x), whole)
            for x in range(max(0, one.passed - one.base_rows), min(one.passed, one.now_rows) + 1)
        }

    def least(one):
        return Fraction(1) if one.passed in (0, one.rows) else min(chances(one).items())[1]

    def p(one):
        return sum(chance for x, chance in chances(one).items() if x <= one.now_passed)

    while True:
        k = next(k for k in range(1, 99) if sum(least(one) <= alpha / k for one in left) <= k)
        fallen = {
            one
            for one in left
            if p(one) <= alpha / k
            and Fraction(one.base_passed, one.base_rows) >= Fraction(7, 10)
            and Fraction(one.base_passed, one.base_rows) - Fraction(one.now_passed, one.now_rows)
            >= Fraction(3, 10)
        }
        if not fallen:
            return found
        found |= fallen
        left = [one for one in left if one not in fallen]


fallen_units = st.lists(
    st.tuples(
        st.sampled_from(
            ["5/5->0/5", "5/5->1/5", "6/6->1/6", "7/7->0/3", "9/10->3/10", "4/4->0/4", "3/4->3/4"]
        ),
        st.integers(1, 4),
    ),
    max_size=5,
).map(lambda drawn: family(*((count, text) for text, count in drawn)))


@given(fallen_units)
def test_flags_are_those_of_the_procedure_step_by_step(units):
    assert flagged(units) == slowly_flagged(units)


@given(families)
def test_small_units_are_flagged_by_the_same_procedure(units):
    assert flagged(units) == slowly_flagged(units)
