"""Percentile intervals, stratified by scenario."""

from __future__ import annotations

import numpy as np
import pytest

from fedbench.analysis.bootstrap import estimate, mean_of_scenarios
from fedbench.errors import UsageError


def test_scipy_says_the_same_of_one_scenario() -> None:
    from scipy.stats import bootstrap

    values = np.random.default_rng(0).normal(3, 1, 40)
    _, low, high = estimate({"base": values}, mean_of_scenarios, draws=4000)
    other = bootstrap((values,), np.mean, method="percentile", n_resamples=4000, rng=np.random.default_rng(1)).confidence_interval
    assert (low, high) == pytest.approx((other.low, other.high), abs=0.02)


def test_scenarios_are_not_mixed() -> None:
    """Two scenarios without scatter of their own: their mean has none, however far they are apart."""
    assert estimate({"a": np.full(10, 1.0), "b": np.full(4, 9.0)}, mean_of_scenarios) == (5.0, 5.0, 5.0)


def test_what_belongs_to_a_seed_is_drawn_together() -> None:
    """The difference of two columns that move together has no scatter."""
    common = np.random.default_rng(0).normal(size=20)
    values = np.stack([common + 2, common], axis=1)
    _, low, high = estimate({"a": values}, lambda means: means["a"][:, 0] - means["a"][:, 1])
    assert low == pytest.approx(2)
    assert high == pytest.approx(2)


def test_coverage_of_the_mean_of_three_scenarios() -> None:
    """300 boards with 10 seeds: the percentile bootstrap of a mean covers somewhat less than its level, here at least 88 %."""
    generator = np.random.default_rng(7)
    held = 0
    for board in range(300):
        strata = {name: generator.normal(centre, 1, 10) for name, centre in (("a", 0.0), ("b", 3.0), ("c", -1.0))}
        _, low, high = estimate(strata, mean_of_scenarios, draws=300, seed=board)
        held += low <= 2 / 3 <= high
    assert held / 300 >= 0.88


def test_the_same_seed_gives_the_same_interval() -> None:
    strata = {"a": np.random.default_rng(1).normal(size=10)}
    assert estimate(strata, mean_of_scenarios, seed=4) == estimate(strata, mean_of_scenarios, seed=4)
    assert estimate(strata, mean_of_scenarios, seed=4) != estimate(strata, mean_of_scenarios, seed=5)
    with pytest.raises(UsageError, match="scenario a has 1 seeds"):
        estimate({"a": np.zeros(1)}, mean_of_scenarios)
