"""By hand: the 97.5 % point of Student's t with 2 degrees of freedom is 4.302653, with 1 it is 12.706205."""

import math

import pytest

from fedbench.analysis.statistics import Estimate, estimate, paired_difference, standings


def test_three_seeds():
    # 1, 2, 6: mean 3, squares of deviations 4 + 1 + 9 = 14, std sqrt(7), half-width 4.302653 * sqrt(7 / 3)
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


def test_standings_pair_away_what_seeds_share():
    # seeds differ by 0.1, the algorithms by 0.01 at each seed: unpaired intervals overlap, the paired one is [0.01, 0.01]
    a, b = {0: 0.7, 1: 0.8, 2: 0.9}, {0: 0.71, 1: 0.81, 2: 0.91}
    assert standings({"a": a, "b": b}, higher_is_better=True) == {"a": "behind", "b": "best"}
    assert standings({"a": a, "b": b}, higher_is_better=False) == {"a": "best", "b": "behind"}


def test_tied_when_the_interval_includes_no_difference():
    # differences to the best -0.03, 0, 0.01: mean -0.0067, half-width 4.303 * 0.0208 / sqrt(3) = 0.052
    best, other = {0: 0.80, 1: 0.80, 2: 0.80}, {0: 0.77, 1: 0.80, 2: 0.81}
    assert standings({"best": best, "other": other}, higher_is_better=True) == {"best": "best", "other": "tied"}


def test_equal_values_are_tied():
    same = {0: 0.5, 1: 0.6}
    assert standings({"a": same, "b": dict(same)}, higher_is_better=True) == {"a": "best", "b": "tied"}


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"alone": {0: 1.0, 1: 2.0}},
        {"one seed": {0: 1.0}, "another": {0: 2.0}},
        {"no common seed": {0: 1.0, 1: 1.0}, "other": {2: 2.0, 3: 2.0}},
    ],
)
def test_nothing_is_claimed_without_two_common_seeds(values):
    assert set(standings(values, higher_is_better=True).values()) <= {"unknown"}
