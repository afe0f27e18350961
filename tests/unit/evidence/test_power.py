import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.power import normal_sample_size_one_tail

from proctor.evidence import power
from proctor.evidence.power import cases_needed, rows_to_find


def test_examples_in_docstrings_hold():
    result = doctest.testmod(power)
    assert (result.attempted > 0, result.failed) == (True, 0)


@pytest.mark.parametrize(
    ("rate", "drop", "rows", "cases"),
    [
        (0.9, 0.1, 218.5058, [219, 73, 44, 22]),
        (0.8, 0.3, 44.90, [45, 15, 9, 5]),
        (0.9, 0.3, None, [38]),
        (1, 0.3, None, [28]),
        (0.46, 0.1, None, [399]),
    ],
)
def test_rows_to_find_known_drops(rate, drop, rows, cases):
    needed = rows_to_find(rate, drop)
    if rows is not None:
        assert needed == pytest.approx(rows, abs=5e-3 if rows == 44.90 else 5e-5)
    assert [cases_needed(needed, repeats) for repeats in (1, 3, 5, 10)][: len(cases)] == cases


@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_a_rate_may_fall_to_nothing(rate):
    assert rows_to_find(rate, rate) > 1


@given(st.floats(0.05, 1), st.floats(0.02, 0.9))
def test_it_is_the_usual_sample_size_corrected_for_continuity(rate, share):
    drop = rate * share
    after = rate - drop
    middle = (rate + after) / 2
    usual = normal_sample_size_one_tail(
        drop,
        0.8,
        0.025,
        std_null=(2 * middle * (1 - middle)) ** 0.5,
        std_alternative=(rate * (1 - rate) + after * (1 - after)) ** 0.5,
    )
    corrected = usual / 4 * (1 + (1 + 4 / (usual * drop)) ** 0.5) ** 2
    assert rows_to_find(rate, drop) == pytest.approx(corrected, rel=1e-9)


def test_a_whole_number_of_cases_is_not_rounded_up():
    assert cases_needed(20 * (1 + 1e-12), 5) == 4
    assert cases_needed(20.001, 5) == 5
