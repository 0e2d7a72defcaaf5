"""By hand: the 97.5 % point of Student's t with 2 degrees of freedom is 4.302653, with 1 it is
12.706205."""

import math

import pytest

from fedbench.analysis.statistics import Estimate, estimate, p_value, paired_difference, t_factor


def test_three_seeds():
    # 1, 2, 6: mean 3, squares of deviations 4 + 1 + 9 = 14, std sqrt(7), half-width 4.302653 *
    # sqrt(7 / 3)
    result = estimate([1.0, 2.0, 6.0])
    assert (result.n, result.missing, result.mean) == (3, 0, 3.0)
    assert result.std == pytest.approx(math.sqrt(7))
    assert result.half_width == pytest.approx(4.302653 * math.sqrt(7 / 3), rel=1e-6)


def test_one_seed_has_no_interval():
    assert estimate([0.5]) == Estimate(1, 0, 0.5, None, None)


def test_missing_values_are_counted():
    assert estimate([None, 0.5, math.nan, math.inf]) == Estimate(1, 3, 0.5, None, None)
    assert estimate([]) == Estimate(0, 0, None, None, None)


def test_differences_are_paired_by_common_seed():
    # common seeds 1, 2: differences 1 and 3, mean 2, std sqrt(2), half-width 12.706205
    result = paired_difference({0: 9.0, 1: 2.0, 2: 5.0}, {1: 1.0, 2: 2.0, 3: 0.0})
    assert (result.n, result.mean) == (2, 2.0)
    assert result.half_width == pytest.approx(12.706205, rel=1e-6)


def test_p_value_of_a_known_t():
    # differences 1, 2, 3: t = 2 sqrt(3) with 2 degrees of freedom: p = 1 - t / sqrt(t^2 + 2)
    assert p_value(estimate([1.0, 2.0, 3.0])) == pytest.approx(1 - math.sqrt(12 / 14))


def test_no_p_value_where_the_scatter_is_not_known():
    assert p_value(estimate([0.25, 0.25, 0.25])) is None, "equal differences"
    assert p_value(estimate([0.0, 0.0, 0.0])) is None
    assert p_value(estimate([1.0, 3.0])) is None, "two seeds"
    assert p_value(estimate([0.5])) is None
    assert p_value(estimate([1.0, 2.0, 3.0, math.nan])) is None, "a seed without a value is not dropped in silence"


def test_a_higher_level_is_wider():
    assert t_factor(3) == pytest.approx(4.302653, rel=1e-6)
    assert t_factor(3, 0.99) == pytest.approx(9.924843, rel=1e-6)
