"""Percentile intervals, stratified by scenario."""

from __future__ import annotations

import numpy as np
import pytest

from fedbench.analysis.bootstrap import Floats, Strata, estimate
from fedbench.errors import UsageError

BOARDS = 600


def mean_of_scenarios(means: Strata) -> Floats:
    return np.asarray(np.mean([*means.values()], axis=0))


def test_scipy_says_the_same_of_one_scenario() -> None:
    from scipy.stats import bootstrap

    values = np.random.default_rng(0).normal(3, 1, 40)
    _, low, high = estimate({"base": values}, mean_of_scenarios, draws=4000)
    other = bootstrap((values,), np.mean, method="percentile", n_resamples=4000, rng=np.random.default_rng(1)).confidence_interval
    assert (low, high) == pytest.approx((other.low, other.high), abs=0.02)


def test_scenarios_are_not_mixed() -> None:
    """Two scenarios without scatter of their own: their mean has none, however far they are
    apart."""
    assert estimate({"a": np.full(10, 1.0), "b": np.full(4, 9.0)}, mean_of_scenarios) == (5.0, 5.0, 5.0)


def test_what_belongs_to_a_seed_is_drawn_together() -> None:
    """The difference of two columns that move together has no scatter."""
    common = np.random.default_rng(0).normal(size=20)
    values = np.stack([common + 2, common], axis=1)
    _, low, high = estimate({"a": values}, lambda means: means["a"][:, 0] - means["a"][:, 1])
    assert low == pytest.approx(2)
    assert high == pytest.approx(2)


@pytest.mark.parametrize("seeds", [5, 10])
def test_coverage_of_a_mean_over_three_scenarios(seeds: int) -> None:
    """600 boards whose seeds have an effect of their own in all scenarios: intervals hold at their
    level, with few seeds too."""
    generator = np.random.default_rng(7)
    held = 0
    for board in range(BOARDS):
        of_seed = generator.normal(0, 1, seeds)
        strata = {
            name: centre + of_seed + generator.normal(0, 1, seeds) for name, centre in (("a", 0.0), ("b", 3.0), ("c", -1.0))
        }
        _, low, high = estimate(strata, mean_of_scenarios, draws=2000, seed=board)
        held += low <= 2 / 3 <= high
    assert held / BOARDS == pytest.approx(0.95, abs=3 * (0.95 * 0.05 / BOARDS) ** 0.5)


def test_the_same_seed_gives_the_same_interval() -> None:
    strata = {"a": np.random.default_rng(1).normal(size=10)}
    assert estimate(strata, mean_of_scenarios, seed=4) == estimate(strata, mean_of_scenarios, seed=4)
    assert estimate(strata, mean_of_scenarios, seed=4) != estimate(strata, mean_of_scenarios, seed=5)
    with pytest.raises(UsageError, match="scenario a has 1 seeds"):
        estimate({"a": np.zeros(1)}, mean_of_scenarios)
